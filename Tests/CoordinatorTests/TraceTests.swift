import CompositionModel
import Digest
import FarmAPI
import FarmModel
import Foundation
import Jobs
import Testing
import Wire

@testable import Coordinator

/// The trace of a job, from its submission to the worker.
@Suite(.timeLimit(.minutes(10))) struct JobTraceTests {
  private static let id = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let header = "00-\(id)-00f067aa0ba902b7-01"
  private static let document = #"{"sheaf": 1, "tracks": [], "export": {"to": "film.mkv", "video": {"codec": "ffv1"}}}"#

  private static func submission(_ traceparent: String?, id: String = "") -> Submission {
    var submission = Submission(document: Data(document.utf8), assets: [])
    submission.traceparent = traceparent
    submission.id = id
    return submission
  }

  @Test(
    arguments: [
      (header, true), ("  \(header)", true), ("cc-\(id)-00f067aa0ba902b7-01-what-the-future-will-be-like", true),
      ("cc-\(id)-00f067aa0ba902b7-01", true), ("00-\(id)-00f067aa0ba902b7-01-more", false),
      ("ff-\(id)-00f067aa0ba902b7-01", false), ("00-\(id)-0000000000000000-01", false),
      ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
      ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false), ("00-\(id)-00f067aa0ba902b7", false),
      ("00-\(id)-00f067aa0ba902b7-1", false), ("00-\(id)-00f067aa0ba902b7-01, \(header)", false), ("", false),
      ("cc-\(id)-00f067aa0ba902b7-01.x", false), ("0-\(id)-00f067aa0ba902b7-01", false),
      ("00_\(id)_00f067aa0ba902b7_01", false), ("00-\(id.dropLast())g-00f067aa0ba902b7-01", false),
    ] as [(String, Bool)])
  func `a traceparent is read as the specification says`(header: String, isValid: Bool) {
    let trace = TraceContext(header)
    #expect((trace != nil) == isValid)
    guard let trace else { return }
    #expect(trace.traceID == Self.id && trace.parentID == "00f067aa0ba902b7" && trace.flags == "01")
    #expect(trace.description == Self.header)
    let child = trace.child()
    #expect(child.traceID == trace.traceID && child.flags == trace.flags && child.parentID != trace.parentID)
    #expect(TraceContext(child.description) == child)
  }

  @Test func `a job without a trace begins one`() {
    let (one, other) = (TraceContext.fresh(), TraceContext.fresh())
    #expect(one.traceID != other.traceID && TraceContext(one.description) == one)
  }

  @Test func `the trace of a submission is in the status and in each line of the log about the job`() async throws {
    try await TestCoordinator.run { coordinator in
      let farm = FarmService(coordinator.service)
      for header in [Self.header, nil, "no trace"] {
        let reply = try await farm.submit(Self.submission(header))
        let job = JobID(try #require(reply.job))
        let status = try #require(try await farm.status(of: job))
        let trace = try #require(status.trace)
        #expect((trace == Self.id) == (header == Self.header))
        let stored = try #require(try await coordinator.store.job(job))
        let kept = try #require(try JobRequest(encoded: stored.request).traceparent.flatMap { TraceContext($0) })
        #expect(kept.traceID == trace && kept.parentID != "00f067aa0ba902b7")
        _ = try await farm.cancel(job)
        let lines = (coordinator.logs.all("job submitted") + coordinator.logs.all("job cancelled"))
          .filter { $0.metadata["job"] == job.description }
        #expect(lines.count == 2 && lines.allSatisfy { $0.metadata["trace"] == trace })
      }
    }
  }

  @Test func `a submission that is repeated is the same whatever its span, and one of another kind is not`()
    async throws
  {
    try await TestCoordinator.run { coordinator in
      let farm = FarmService(coordinator.service)
      let first = try await farm.submit(Self.submission(Self.header, id: "key"))
      let again = try await farm.submit(Self.submission("00-\(Self.id)-1111111111111111-01", id: "key"))
      let without = try await farm.submit(Self.submission(nil, id: "key"))
      #expect(again.isRepeated && again.job == first.job && without.job == first.job)
      #expect(try await farm.status(of: JobID(try #require(first.job)))?.trace == Self.id)
      var other = Self.submission(Self.header, id: "key")
      other.options.strict = true
      await #expect(throws: FarmError.self) { try await farm.submit(other) }
    }
  }

  @Test func `many grants of a job that is not known share one look`() async throws {
    // No coordinator uses it.
    let store = ObstructedStore(MemoryJobStore { .zero })
    var request = JobRequest(document: "{}", output: "")
    request.traceparent = Self.header
    let id = JobID("traced")
    _ = try await store.submit(NewJob(id: id, name: "", priority: 0, request: request.encoded(), tasks: []))
    let traces = JobTraces(store: store)
    store.hang([.reading])
    let found = Task {
      await withTaskGroup(of: TraceContext?.self) { group in
        for _ in 0..<200 { group.addTask { await traces.trace(of: id) } }
        return await group.reduce(into: [String?]()) { $0.append($1?.traceID) }
      }
    }
    try await eventually("the store is asked") { store.calls(.reading) > 0 }
    store.free()
    #expect(await found.value == [String?](repeating: Self.id, count: 200))
    #expect(store.calls(.reading) == 1)
    #expect(await traces.trace(of: JobID("absent")) == nil)
  }

  @Test func `a grant has the job's trace, and its fingerprint does not depend on it`() async throws {
    try await TestCoordinator.run { coordinator in
      // The job of another coordinator, which this one has not seen.
      try await coordinator.render()
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        #expect(try await worker.grant().traceparent == "")
      }
      var request = JobRequest(document: "{}", output: "")
      request.traceparent = Self.header
      let probe = NewTask(
        kind: .probe, label: "probe", payload: [1], inputs: [], fingerprint: .of("p".utf8), cost: 1, work: 0)
      _ = try await coordinator.store.submit(
        NewJob(id: JobID("traced"), name: "", priority: 9, request: request.encoded(), tasks: [probe]))
      try await ManualWorker.run(coordinator.hello(.worker, worker: "w2", slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        let grant = try await worker.grant()
        #expect(grant.traceparent == Self.header && grant.payload == Data([1]))
        try await eventually("the grant is logged") {
          coordinator.logs.all("task started").contains { $0.metadata["trace"] == Self.id }
        }
      }
      #expect(try await coordinator.store.tasks(of: JobID("traced")).first?.fingerprint == .of("p".utf8))
    }
  }
}

/// What is kept of documents, so that they are read once.
@Suite(.timeLimit(.minutes(10))) struct ReadOnceTests {
  @Test func `a submission that names its assets is read once`() async throws {
    try await TestCoordinator.run { coordinator in
      let farm = FarmService(coordinator.service)
      let document = #"{"sheaf": 1, "tracks": [], "export": {"to": "film.mkv", "video": {"codec": "ffv1"}}}"#
      let text = SubmittedText(Array(document.utf8), output: "")
      let (assets, problems) = try await farm.assets(of: text, [])
      #expect(assets.isEmpty && problems.isEmpty)
      let (request, found) = try await JobSubmission(coordinator.service, owner: nil).read(
        Data(document.utf8), assets, options: RenderOptions(), output: "", text.text)
      #expect(found.isEmpty && request.document.reading === text.text.reading)
      #expect(request.document.text == document)
    }
  }

  @Test func `the files of a film are found once for all its ranges`() async throws {
    try await TestCoordinator.run { coordinator in
      let film = try coordinator.keep([1, 2, 3])
      var request = JobRequest(document: #"{"sheaf": 1}"#, output: "out/beach.mp4")
      request.traceparent = nil
      let id = JobID("film")
      _ = try await coordinator.store.submit(
        NewJob(id: id, name: "", priority: 0, request: request.encoded(), tasks: []))
      let task = { (kind: TaskKind) in
        NewTask(
          kind: kind, payload: [], inputs: [], fingerprint: .of("\(kind)".utf8), cost: 1, work: 1, cached: film)
      }
      _ = try await coordinator.store.plan(id, build: "build", tasks: [task(.video), task(.stitch)])
      let farm = FarmService(coordinator.service)
      #expect(coordinator.service.films.files(of: id, film) == nil)
      let files = try await farm.films(of: id)
      #expect(files.map(\.name) == ["beach.mp4"] && coordinator.service.films.files(of: id, film) == files)
      #expect(try await farm.films(of: id) == files)
      // After the job was made again.
      #expect(coordinator.service.films.files(of: id, try coordinator.keep([4])) == nil)
      _ = try await coordinator.store.delete(id)
      await #expect(throws: FarmError.self) { try await farm.films(of: id) }
    }
  }
}
