import Digest

@testable import Jobs

func digest(_ number: Int) -> SHA256Digest {
  let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  guard let digest = SHA256Digest(bytes: [UInt8](repeating: 0, count: 24) + bytes) else {
    preconditionFailure("24 and 8 bytes are 32")
  }
  return digest
}

func content(_ number: Int, size: Int64 = 10) -> Content { Content(digest: digest(number), size: size) }

extension NewTask {
  static func sample(
    _ kind: TaskKind, _ number: Int = 0, cost: Double = 1, work: Int64 = 100, inputs: [Content] = [],
    cached: Content? = nil
  ) -> NewTask {
    NewTask(
      kind: kind, payload: Array("\(kind.rawValue) \(number)".utf8), inputs: inputs,
      fingerprint: digest(0xf000 + number), cost: cost, work: work, cached: cached)
  }
}

extension [NewTask] {
  static func videos(_ count: Int) -> [NewTask] { (0..<count).map { .sample(.video, $0) } }
}

extension NewJob {
  static func sample(
    _ id: String, purpose: JobPurpose = .render, priority: Int32 = 0, tasks: [NewTask] = []
  ) -> NewJob {
    NewJob(
      id: JobID(id), name: "film \(id)", purpose: purpose, priority: priority, request: [1, 0, 255], tasks: tasks)
  }
}

extension WorkerID {
  static let anna = WorkerID("anna")
  static let bert = WorkerID("bert")
  static let carl = WorkerID("carl")

  /// The session of a worker that has one connection.
  var session: SessionID { SessionID("\(self)-1") }
}

extension WorkerRecord {
  static func sample(_ id: WorkerID, session: SessionID? = nil, name: String = "n", slots: Int32 = 2) -> WorkerRecord {
    WorkerRecord(
      id: id, session: session ?? id.session, name: name, slots: slots, build: "b1", coordinator: "c")
  }
}

extension JobFailure {
  static let sample = JobFailure(reason: .farm, message: "the plan cannot be read")
}

extension ProcessEnd {
  static let sample = ProcessEnd(
    exitCode: 0, signal: 9, cpuMilliseconds: 1_250, peakBytes: 3 << 30, log: "decoding\nout of memory")
}

extension JobStore {
  /// A job that is rendering: tasks of the plan, then a stitch task.
  func submitRendering(_ id: String, priority: Int32 = 0, tasks: [NewTask], build: String = "b1") async throws {
    try await submit(.sample(id, priority: priority))
    guard try await plan(JobID(id), build: build, tasks: tasks + [.sample(.stitch)]) else {
      throw JobStoreError(.internal, "the sample job \(id) was not planned")
    }
  }

  func claim(worker: WorkerID, build: String, limit: Int) async throws -> [Grant] {
    try await claim(worker: worker, session: worker.session, build: build, limit: limit)
  }

  func claimOne(_ worker: WorkerID = .anna, build: String = "b1") async throws -> Grant? {
    try await claim(worker: worker, build: build, limit: 1).first
  }

  func release(worker: WorkerID) async throws -> Int {
    try await release(worker: worker, session: worker.session)
  }

  /// Renews one lease. Returns it if the worker does not hold it, else nothing.
  func lost(_ lease: Lease, of worker: WorkerID, done: Int64 = 0) async throws -> [Lease] {
    try await renew(worker: worker, leases: [LeaseProgress(lease: lease, done: done)])
  }

  func task(_ job: String, _ ordinal: Int) async throws -> RenderTask {
    let tasks = try await tasks(of: JobID(job))
    guard tasks.indices.contains(ordinal) else {
      throw JobStoreError(.internal, "job \(job) has no task \(ordinal), but \(tasks.count) tasks")
    }
    return tasks[ordinal]
  }

  func state(_ job: String) async throws -> JobState? { try await self.job(JobID(job))?.state }
}

extension Grant {
  var name: String { "\(lease.task)" }
}

extension RenderTask {
  /// The messages of the attempts that ended without a result.
  var messages: [String] { attempts.map(\.message) }
}
