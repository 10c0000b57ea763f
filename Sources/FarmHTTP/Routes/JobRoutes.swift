import CompositionModel
import Coordinator
import EditDocument
import FarmAPI
import FarmModel
import FoundationEssentials
import HTTPTypes
import HummingbirdCore
import Runtime
import Synchronization

/// Jobs: made, listed, shown, stopped, taken up again, deleted.
struct JobRoutes: Sendable {
  private let bodies: BodyReader
  private let keys = KeysUnderWay()

  init(_ bodies: BodyReader) {
    self.bodies = bodies
  }

  var routes: [Route] {
    [
      Route(.post, "/v1/jobs", for: .submit) { try await submit($0) },
      Route(.get, "/v1/jobs", for: .see, query: ["state", "name", "since", "before", "after", "limit", "pool"]) {
        try await list($0)
      },
      Route(.post, "/v1/jobs/cancel", for: .submit) { call in
        try await forEach(call, where: { !$0.hasEnded }) { try await call.farm.cancelOne($0) }
      },
      Route(.post, "/v1/jobs/retry", for: .submit) { call in
        try await forEach(call, where: { $0 == .failed || $0 == .cancelled }) { try await call.farm.retryOne($0) }
      },
      Route(.post, "/v1/jobs/delete", for: .submit) { call in
        try await forEach(call, where: \.hasEnded) { try await call.farm.deleteOne($0) }
      },
      Route(.get, "/v1/jobs/{job}", for: .see) { try await Response(json: status($0, withTasks: false)) },
      Route(.get, "/v1/jobs/{job}/tasks", for: .see) {
        try await Response(json: TaskList(tasks: status($0, withTasks: true).tasks))
      },
      Route(.post, "/v1/jobs/{job}/cancel", for: .submit) { call in
        try await call.farm.cancelOne(call.job)
        return try await Response(json: status(call, withTasks: false))
      },
      Route(.post, "/v1/jobs/{job}/retry", for: .submit) { call in
        try await call.farm.retryOne(call.job)
        return try await Response(json: status(call, withTasks: false))
      },
      Route(.post, "/v1/jobs/{job}/pause", for: .submit, query: ["now"]) { call in
        let stops = try call.query.text("now") ?? "false"
        guard ["true", "false"].contains(stops) else {
          throw ProblemDetails(.badRequest, "now is true or false, not \"\(stops.prefix(64))\"")
        }
        try Self.requireOpen(call.job, try await call.farm.pause(call.job, stopping: stops == "true"))
        return try await Response(json: status(call, withTasks: false))
      },
      Route(.post, "/v1/jobs/{job}/resume", for: .submit) { call in
        try Self.requireOpen(call.job, try await call.farm.resume(call.job))
        return try await Response(json: status(call, withTasks: false))
      },
      Route(.patch, "/v1/jobs/{job}", for: .submit) { call in
        try await bodies.run(call, as: JobChange.self, limit: BodyReader.longestPlainBody) { body in
          try await change(call.job, body.value, call.farm)
          return try await Response(json: status(call, withTasks: false))
        }
      },
      Route(.delete, "/v1/jobs/{job}", for: .submit) { call in
        try await call.farm.deleteOne(call.job)
        return Response(status: .noContent)
      },
    ]
  }

  private struct TaskList: Encodable {
    var tasks: [TaskStatus]
  }

  /// What is changed of a job.
  private struct JobChange: RequestBody {
    static let keys = ["priority", "pool"]

    var priority: Int?
    /// Empty: none.
    var pool: String?
  }

  private func change(_ job: JobID, _ change: JobChange, _ farm: FarmService) async throws {
    let priority = try change.priority.map { number throws(ProblemDetails) in try SubmissionBody.priority(number) }
    let pool = change.pool.flatMap { $0.isEmpty ? nil : $0 }
    let state: JobState?
    switch (priority, change.pool) {
    case (let priority?, _?): state = try await farm.change(job, priority: priority, pool: pool)
    case (let priority?, nil): state = try await farm.setPriority(of: job, to: priority)
    case (nil, _?): state = try await farm.setPool(of: job, to: pool)
    case (nil, nil): throw ProblemDetails(.invalid, "give the job's new priority or pool")
    }
    try Self.requireOpen(job, state)
  }

  /// - Parameter state: Of a job that was to be changed. Nil: there is none.
  private static func requireOpen(_ job: JobID, _ state: JobState?) throws(ProblemDetails) {
    guard let state else { throw absent(job) }
    if state.hasEnded { throw ProblemDetails(.conflict, "job \(job) has ended: it is \(state.rawValue)") }
  }

  // MARK: Making

  // Its name is a constant that is valid.
  private static let traceparent = HTTPField.Name("traceparent")!

  private func submit(_ call: Call) async throws -> Response {
    let key = try IdempotencyKey(call.header(IdempotencyKey.header))
    guard let key else { return try await submitBody(call, id: "") }
    // Of each owner it is another one.
    return try await keys.run("\(call.farm.caller.owner ?? "") \(key.text)") {
      try await submitBody(call, id: key.text)
    }
  }

  private func submitBody(_ call: Call, id: String) async throws -> Response {
    try await bodies.run(call, as: SubmissionBody.self) { body in
      let (document, output) = try await Self.document(body)
      let text = SubmittedText(document, output: output)
      let (assets, missing) = try await call.farm.assets(of: text, try body.value.assets.sources)
      var submission = Submission(document: Data(document), assets: assets)
      submission.name = body.value.name ?? ""
      submission.priority = try body.value.jobPriority
      submission.pool = body.value.pool
      submission.schedule = try body.value.schedule
      submission.options = body.value.options
      submission.output = output
      submission.id = id
      submission.traceparent = call.header(Self.traceparent)
      let reply: SubmissionReply
      if missing.isEmpty {
        reply = try await submitOnce(submission, text, call.farm)
      } else {
        // The document's other problems are reported with those of its files.
        let examined = try await call.farm.problems(of: submission, text)
        reply = SubmissionReply(
          problems: examined.filter { problem in
            !missing.contains { $0.pointer == problem.pointer }
          } + missing)
      }
      guard reply.problems.isEmpty, let job = reply.job else {
        let problems = reply.problems
        throw ProblemDetails(problems: try await BlockingWork.run(.planning) { problems.located(in: document) })
      }
      guard let status = try await call.farm.status(of: JobID(job)) else {
        throw ProblemDetails(.notFound, "job \(job) was deleted meanwhile")
      }
      var response = Response(json: status, status: reply.isRepeated ? .ok : .created)
      response.headers[.location] = "/v1/jobs/\(job)"
      return response
    }
  }

  private static let soundName = "sound.wav"

  /// The document that the job renders, and its output: those of the request, or those of the sound alone.
  private static func document(
    _ body: DecodedBody<SubmissionBody>
  ) async throws -> (document: [UInt8], output: String) {
    let document = try body.document
    guard let sound = body.value.sound else { return (document, body.value.output ?? "") }
    guard body.value.output == nil else {
      throw ProblemDetails(.invalid, "with 'sound' the film is a WAVE file: leave out 'output'")
    }
    return try await BlockingWork.run(.planning) {
      do throws(DocumentError) {
        return (try Document.ofSound(document, track: sound.track, output: soundName), soundName)
      } catch {
        throw ProblemDetails(problems: error.problems.located(in: document))
      }
    }
  }

  private func submitOnce(
    _ submission: Submission, _ text: SubmittedText, _ farm: FarmService
  ) async throws -> SubmissionReply {
    do {
      return try await farm.submit(submission, text)
    } catch let error as FarmError where error.code == .conflict {
      throw ProblemDetails(.keyReused, error.message)
    }
  }

  // MARK: Showing

  private struct Page: Encodable {
    var jobs: [JobStatus]
    var notices: [String]
    /// The `after` of the next page. Nil: there is none.
    var next: String?
  }

  private func list(_ call: Call) async throws -> Response {
    var query = JobQuery()
    let limit = try call.query.number("limit", in: 1...JobQuery.mostLimit) ?? JobQuery.defaultLimit
    query.states = try call.query.values("state")
    query.name = try call.query.text("name") ?? ""
    query.since = try call.query.time("since")
    query.before = try call.query.time("before")
    query.after = try call.query.text("after")
    query.pool = try call.query.text("pool")
    // One more says whether there is a next page.
    query.limit = min(limit + 1, JobQuery.mostLimit)
    let list = try await call.farm.jobs(query)
    let shown = list.jobs.prefix(limit)
    let isFull = list.jobs.count > limit || limit == JobQuery.mostLimit && list.jobs.count == limit
    let page = Page(jobs: Array(shown), notices: list.notices, next: isFull ? shown.last?.job : nil)
    return Response(json: page)
  }

  private func status(_ call: Call, withTasks: Bool) async throws -> JobStatus {
    let id = call.job
    guard var status = try await call.farm.status(of: id, withTasks: withTasks) else { throw Self.absent(id) }
    status.notices = call.farm.notices
    return status
  }

  static func absent(_ job: JobID) -> ProblemDetails { ProblemDetails(.notFound, "there is no job \(job)") }

  // MARK: Several

  /// What was done to several jobs.
  private struct Outcome: Encodable {
    var jobs: [String]
    /// There are more jobs of the selection: the same request goes on.
    var hasMore: Bool
  }

  /// Carries out an operation on the jobs of a selection. Those that it does not fit any more are passed over.
  /// - Parameter fits: Whether the operation is one for the jobs in a state.
  private func forEach(
    _ call: Call, where fits: @escaping @Sendable (JobState) -> Bool,
    by operation: @Sendable @escaping (JobID) async throws -> Void
  ) async throws -> Response {
    try call.farm.requireChange()
    return try await bodies.run(call, as: SelectionBody.self, limit: BodyReader.longestPlainBody) { body in
      let ids: [JobID]
      var hasMore = false
      if let named = body.value.jobs {
        guard !body.value.hasFilters, named.count <= JobQuery.mostLimit else {
          throw ProblemDetails(
            .invalid,
            "a selection is at most \(JobQuery.mostLimit) jobs by their ids, or states, name, since and before")
        }
        ids = try named.enumerated().map { index, name throws(ProblemDetails) in
          guard JobID.isValid(name) else {
            let problem = Problem(
              pointer: "/jobs/\(index)", message: "a job's id is 1 to 64 characters of 0-9, a-z and -")
            throw ProblemDetails(.invalid, "\(problem)", problems: [problem])
          }
          return JobID(name)
        }
      } else {
        var query = try body.value.query
        query.limit = JobQuery.mostLimit
        // Jobs that it does not fit would be selected again and again.
        query.states = (query.states.isEmpty ? JobState.allCases : query.states).filter(fits)
        let jobs = query.states.isEmpty ? [] : try await call.farm.jobs(query).jobs
        ids = jobs.map { JobID($0.job) }
        hasMore = jobs.count == query.limit
      }
      var done: [String] = []
      for id in ids {
        try Task.checkCancellation()
        do {
          try await operation(id)
          done.append(id.description)
        } catch let error as ProblemDetails where error.kind == .conflict || error.kind == .notFound {
          // It has ended, goes on again, or is deleted: others use the farm too.
        }
      }
      return Response(json: Outcome(jobs: done, hasMore: hasMore))
    }
  }
}

// What one request asks of one job, or of each of several. They throw `.notFound`, or `.conflict` if its state does
// not allow it.
extension FarmService {
  fileprivate func cancelOne(_ job: JobID) async throws {
    guard let state = try await cancel(job) else { throw JobRoutes.absent(job) }
    guard state == .cancelled else {
      throw ProblemDetails(.conflict, "job \(job) had ended before: it is \(state.rawValue)")
    }
  }

  fileprivate func deleteOne(_ job: JobID) async throws {
    let reply = try await delete(job)
    if reply.isDeleted { return }
    guard let state = reply.state else { throw JobRoutes.absent(job) }
    throw ProblemDetails(.conflict, "job \(job) has not ended: it is \(state.rawValue); cancel it first")
  }

  fileprivate func retryOne(_ job: JobID) async throws {
    let reply = try await retry(job)
    guard reply.state != nil else { throw JobRoutes.absent(job) }
    if let refusal = reply.refusal {
      throw ProblemDetails(.conflict, "job \(job) cannot be taken up again: \(refusal)")
    }
  }
}

extension Call {
  /// The job that the path names.
  var job: JobID { JobID(parameter("job")) }
}

extension JobID {
  /// Whether a text can be the id of a job.
  fileprivate static func isValid(_ text: String) -> Bool {
    (1...64).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
          || byte == UInt8(ascii: "-")
      }
  }
}

/// Which jobs a request is about.
private struct SelectionBody: RequestBody {
  static let keys = ["jobs", "states", "name", "since", "before"]

  /// By id. Nil: those that all of the rest select.
  var jobs: [String]?
  var states: [String]?
  /// A part of the name.
  var name: String?
  var since: String?
  var before: String?

  var hasFilters: Bool { states != nil || name != nil || since != nil || before != nil }

  /// Throws `.invalid` if nothing is selected: a request about every job says so.
  var query: JobQuery {
    get throws {
      guard hasFilters, name != "" else {
        throw ProblemDetails(.invalid, "select jobs by their ids, or by states, name, since or before")
      }
      var query = JobQuery()
      query.states = try selectedStates
      query.name = name ?? ""
      query.since = try time(since, "since")
      query.before = try time(before, "before")
      return query
    }
  }

  private func time(_ text: String?, _ key: String) throws(ProblemDetails) -> Timestamp? {
    guard let text else { return nil }
    if let time = Timestamp(text) { return time }
    let problem = Problem(pointer: "/\(key)", message: "\"\(text.prefix(64))\" is not \(Timestamp.form)")
    throw ProblemDetails(.invalid, "\(problem)", problems: [problem])
  }

  /// Empty: any.
  private var selectedStates: [JobState] {
    get throws {
      guard let states else { return [] }
      guard !states.isEmpty else { throw ProblemDetails(.invalid, "name at least one state, or leave out states") }
      return try states.map { name in
        guard let state = JobState(rawValue: name) else {
          let names = JobState.allCases.map(\.rawValue).joined(separator: ", ")
          throw ProblemDetails(.invalid, "\"\(name.prefix(64))\" is no state of a job; the states are \(names)")
        }
        return state
      }
    }
  }
}

/// The `Idempotency-Key` of a request: what makes one job of a request that is sent again.
struct IdempotencyKey: Sendable, Hashable {
  // Its name is a constant that is valid.
  static let header = HTTPField.Name("Idempotency-Key")!

  let text: String

  /// Nil if there is none. Throws `.badRequest` unless it is 1 to 64 visible characters, which may be in quotation
  /// marks.
  init?(_ header: String?) throws(ProblemDetails) {
    guard let header else { return nil }
    let isQuoted = header.count >= 2 && header.hasPrefix("\"") && header.hasSuffix("\"")
    text = isQuoted ? String(header.dropFirst().dropLast()) : header
    guard (1...64).contains(text.utf8.count), text.utf8.allSatisfy({ (33...126).contains($0) }) else {
      throw ProblemDetails(.badRequest, "an Idempotency-Key is 1 to 64 visible ASCII characters")
    }
  }
}

/// The keys of the requests that are being carried out.
private final class KeysUnderWay: Sendable {
  private let keys = Mutex<Set<String>>([])

  /// Throws `.conflict` if a request of the key is under way.
  func run(_ key: String, _ body: () async throws -> Response) async throws -> Response {
    guard keys.withLock({ $0.insert(key).inserted }) else {
      throw ProblemDetails(.conflict, "a request with this Idempotency-Key is under way; repeat it when it is answered")
    }
    defer { keys.withLock { _ = $0.remove(key) } }
    return try await body()
  }
}
