import CompositionModel
import ContentStorage
import Digest
import EditDocument
import FarmAPI
import FarmModel
import FoundationEssentials
import Jobs
import Runtime

/// Turns what a client submits into a job.
struct JobSubmission: Sendable {
  private static let maximumName = 256

  private let service: CoordinatorService
  private let owner: String?

  /// - Parameter owner: Whose the job is. Nil: nobody's.
  init(_ service: CoordinatorService, owner: String?) {
    self.service = service
    self.owner = owner
  }

  /// Answers with the job, or with every problem of the document that can be found without its media. A submission that
  /// is repeated is answered with the job that it made.
  /// - Parameter text: The document, if it may have been read already. Nil: that of the submission.
  func submit(_ submission: Submission, _ text: DocumentText? = nil) async throws -> SubmissionReply {
    guard submission.id.utf8.count <= 64, submission.id.utf8.allSatisfy({ (33...126).contains($0) }) else {
      throw FarmError(.invalid, "a submission must be named by 1 to 64 visible ASCII characters, or not at all")
    }
    if let pool = submission.pool, !PoolName.isValid(pool) {
      throw FarmError(.invalid, "a job's pool is \(PoolName.rule)")
    }
    let before = submission.schedule.after
    guard before.count <= NewJob.mostBefore, before.allSatisfy({ JobID($0).isWellFormed }) else {
      throw FarmError(.invalid, "a job comes after at most \(NewJob.mostBefore) jobs, each named by its id")
    }
    var (request, problems) = try await read(
      submission.document, submission.assets, options: submission.options, output: submission.output, text)
    guard problems.isEmpty else { return SubmissionReply(problems: problems) }
    let trace = submission.traceparent.flatMap { TraceContext($0)?.child() } ?? .fresh()
    request.traceparent = trace.description
    request.priority = submission.priority == 0 ? nil : submission.priority
    request.pool = submission.pool
    request.schedule = submission.schedule == JobSchedule() ? nil : submission.schedule
    let (tasks, encoded) = try await BlockingWork.run { [results = service.results, request] in
      (try ProbeTasks.make(request, results: results), try request.encoded())
    }
    let name = String(submission.name.prefix(Self.maximumName))
    let new = JobID(Self.freshName())
    var job = NewJob(
      id: new, submission: submission.id.isEmpty ? nil : key(submission.id), name: name, owner: owner,
      pool: submission.pool, purpose: .render, priority: submission.priority, request: encoded, tasks: tasks)
    let schedule = submission.schedule
    (job.isPaused, job.after) = (schedule.isPaused, schedule.after.map { JobID($0) })
    job.hold = schedule.holdUntil.map { max(.zero, $0.since1970 - .seconds(Date.now.timeIntervalSince1970)) }
    try await StorageQuota(store: service.store, content: service.content.store)
      .requireRoom(for: owner, adding: request.assets.map { try $0.content })
    let id = try await service.store.submit(job)
    service.memory.used()
    if id == new {
      service.traces.keep(trace, of: id)
      service.events.emit(
        .jobSubmitted(job: id.description, name: name, files: tasks.count, priority: submission.priority))
    } else if let known = try await service.store.job(id) {
      guard request.isSame(as: known.request), known.name == name else {
        throw FarmError(
          .conflict, "the id \"\(submission.id)\" was used before, for another submission: it made job \(id)")
      }
    }
    return SubmissionReply(job: id.description, isRepeated: id != new)
  }

  /// The same id means another submission of another owner, who does not learn of this one.
  private func key(_ id: String) -> String {
    guard let owner else { return id }
    return SHA256Digest.of(Array("\(owner) \(id)".utf8)).hex
  }

  /// The request, and the document's problems. An empty document has none: it requests descriptions only. Throws
  /// `.invalid` if the document is too long or an asset is not available.
  func read(
    _ document: Data, _ assets: [SubmittedAsset], options: RenderOptions, output: String, _ text: DocumentText? = nil
  ) async throws -> (request: JobRequest, problems: [Problem]) {
    // It may read files under the media root for their digests, unless `FindMissing` was asked for them before.
    let read = try await BlockingWork.run(.hashing) { [self] in
      Result { try examine(document, assets, options: options, output: output, text) }
    }
    service.memory.used()
    return try read.get()
  }

  private func examine(
    _ document: Data, _ assets: [SubmittedAsset], options: RenderOptions, output: String, _ text: DocumentText?
  ) throws -> (request: JobRequest, problems: [Problem]) {
    guard document.count <= Submission.longestDocument else {
      throw FarmError(
        .invalid, "a document of \(document.count) bytes is longer than the limit of \(Submission.longestDocument)")
    }
    var request = JobRequest(
      text ?? DocumentText(String(decoding: document, as: UTF8.self), output: output), options: options)
    for asset in assets {
      guard service.content.has(asset.content, hint: asset.file) else {
        throw FarmError(.invalid, "asset \"\(asset.id)\" (\(asset.content.digest)) was not uploaded")
      }
      request.assets.append(.init(id: asset.id, path: asset.path, content: asset.content))
    }
    if document.isEmpty { return (request, []) }
    do {
      // Bytes that are no UTF-8 are reported where they are.
      let isText = String(validating: document, as: UTF8.self) != nil
      let parsed =
        isText
        ? try request.document.read() : try Document.examine([UInt8](document), output: request.document.output)
      let names = Set(parsed.compositors.map(\.compositor.name)).sorted()
      if !names.isEmpty { request.compositors = names }
      request.outputs = parsed.severalFiles
      let submitted = Set(assets.map(\.id))
      let absent = parsed.assetPaths.filter { !submitted.contains($0.id) }.map {
        Problem(pointer: $0.pointer, message: "the file \($0.path) was not submitted")
      }
      return (request, parsed.problems + absent)
    } catch {
      return (request, error.problems)
    }
  }

  /// Twelve random letters and digits: hard to guess and easy to type.
  static func freshName() -> String {
    let letters = Array("0123456789abcdefghijklmnopqrstuvwxyz")
    return String((0..<12).map { _ in letters[Int.random(in: letters.indices)] })
  }
}
