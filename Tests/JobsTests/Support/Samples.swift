import Digest
import FarmModel

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
    _ kind: TaskKind, _ number: Int = 0, cost: Double = 1, work: Int64? = nil, memory: Int64 = 0,
    inputs: [Content] = [], cached: Content? = nil
  ) -> NewTask {
    NewTask(
      kind: kind, label: "label \(number)", boundary: kind == .video ? "boundary \(number)\0" : "",
      payload: Array("\(kind.rawValue) \(number)".utf8), inputs: inputs,
      fingerprint: digest(0xf000 + number), cost: cost, work: work ?? (kind == .stitch ? 0 : 100),
      duration: kind == .video ? .microseconds(4_004_000) : .zero, memory: memory, cached: cached)
  }
}

extension [NewTask] {
  static func videos(_ count: Int) -> [NewTask] { (0..<count).map { .sample(.video, $0) } }
}

extension NewJob {
  static func sample(
    _ id: String, submission: String? = nil, owner: String? = nil, purpose: JobPurpose = .render, priority: Int32 = 0,
    tasks: [NewTask] = []
  ) -> NewJob {
    NewJob(
      id: JobID(id), submission: submission, name: "film \(id)", owner: owner, purpose: purpose, priority: priority,
      request: [1, 0, 255], tasks: tasks)
  }
}

extension WorkerID {
  static let anna = WorkerID("anna")
  static let bert = WorkerID("bert")
  static let carl = WorkerID("carl")

  /// The worker in its first connection.
  var holder: Holder { holder(in: 1) }

  func holder(in session: Int64) -> Holder { Holder(worker: self, session: SessionID(session)) }
}

extension WorkerRecord {
  static func sample(
    _ id: WorkerID, session: Int64 = 1, name: String = "n", slots: Int32 = 2, memory: Int64 = .max, build: String = "b1"
  ) -> WorkerRecord {
    WorkerRecord(
      id: id, session: SessionID(session), name: name, slots: slots, memory: memory, build: build, coordinator: "c")
  }
}

extension JobFailure {
  static let sample = JobFailure(reason: .farm, message: "the plan cannot be read")
}

extension ProcessEnd {
  static let sample = ProcessEnd(
    exitCode: 0, signal: 9, cpuMilliseconds: 1_250, peakBytes: 3 << 30, log: "decoding\nout of memory")
}

extension AttemptUsage {
  static func sample(_ number: Int64) -> AttemptUsage {
    var usage = AttemptUsage()
    (usage.wait, usage.fetch) = (.microseconds(number), .milliseconds(20 + number))
    (usage.render, usage.upload) = (.microseconds(3_000_001), .milliseconds(4))
    usage.cpu = .milliseconds(5_555 * number)
    (usage.peakBytes, usage.fetchedBytes, usage.uploadedBytes) = (6 << 20 + number, 7_777 * number, 8)
    return usage
  }
}

extension JobStore {
  /// A job that is rendering: tasks of the plan, then a stitch task.
  func submitRendering(_ id: String, priority: Int32 = 0, tasks: [NewTask], build: String = "b1") async throws {
    try await submit(.sample(id, priority: priority))
    guard try await plan(JobID(id), build: build, tasks: tasks + [.sample(.stitch)]) else {
      throw JobStoreError(.internal, "the sample job \(id) was not planned")
    }
  }

  /// Claims for so many free slots of one worker.
  func claim(worker: WorkerID, session: Int64 = 1, build: String, limit: Int) async throws -> [Grant] {
    try await claim(build: build, slots: Array(repeating: worker.holder(in: session), count: limit))
  }

  func claimOne(_ worker: WorkerID = .anna, build: String = "b1") async throws -> Grant? {
    try await claim(worker: worker, build: build, limit: 1).first
  }

  func publish(_ lease: Lease, worker: WorkerID, result: Content) async throws -> PublishOutcome {
    try await publish(lease, holder: worker.holder, result: result)
  }

  func publish(_ lease: Lease, holder: Holder, result: Content) async throws -> PublishOutcome {
    try await publish(lease, holder: holder, result: result, usage: nil)
  }

  func fail(_ lease: Lease, worker: WorkerID, failure: TaskFailure) async throws -> Bool {
    try await fail(lease, holder: worker.holder, failure: failure)
  }

  /// Reports all leases of a worker as released. Returns how many there were.
  func release(worker: WorkerID) async throws -> Int {
    var count = 0
    for job in try await jobs(.render, limit: 99) + jobs(.inspection, limit: 99) {
      for task in try await tasks(of: job.id) {
        for lease in task.leases where lease.worker == worker {
          let failure = TaskFailure(end: .released, message: "shutdown of \(worker)")
          let holder = Holder(worker: worker, session: lease.session)
          guard try await fail(Lease(task: task.id, epoch: lease.epoch), holder: holder, failure: failure) else {
            throw JobStoreError(.internal, "\(worker) does not hold \(lease)")
          }
          count += 1
        }
      }
    }
    return count
  }

  /// Renews leases without movement but of `done`. Returns those that the worker does not hold.
  func renew(worker: WorkerID, session: Int64 = 1, leases: [Lease], done: Int64 = 0) async throws -> [Lease] {
    let holder = worker.holder(in: session)
    return try await renew(leases.map { Renewal(lease: $0, holder: holder, done: done, moved: 0) }).map(\.lease)
  }

  /// Renews one lease. Returns it if the worker does not hold it, else nothing.
  func lost(_ lease: Lease, of worker: WorkerID, done: Int64 = 0) async throws -> [Lease] {
    try await renew(worker: worker, leases: [lease], done: done)
  }

  func register(_ worker: WorkerRecord) async throws { try await register([worker]) }

  /// The jobs of one purpose, newest first, with their requests.
  func jobs(_ purpose: JobPurpose, limit: Int) async throws -> [Job] {
    var jobs: [Job] = []
    for summary in try await summaries(purpose, limit: limit) {
      if let job = try await job(summary.job.id) { jobs.append(job) }
    }
    return jobs
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
  /// The leases, whatever their age.
  var held: [HeldLease] {
    leases.map { lease in
      var lease = lease
      (lease.ran, lease.grantedAt) = (.zero, .zero)
      return lease
    }
  }

  /// The attempts that ended without a result, whenever they ended.
  var past: [Attempt] {
    attempts.map { attempt in
      var attempt = attempt
      attempt.endedAt = nil
      return attempt
    }
  }

  /// The messages of the attempts that ended without a result.
  var messages: [String] { attempts.map(\.message) }
}

// Of a worker that was never registered, whose name is its id.

extension Attempt {
  init(
    epoch: Int64, worker: WorkerID, end: AttemptEnd, message: String, process: ProcessEnd? = nil,
    ran: Duration = .zero
  ) {
    self.init(
      epoch: epoch, worker: worker, workerName: worker.description, end: end, message: message, process: process,
      ran: ran)
  }
}

extension HeldLease {
  init(
    epoch: Int64, worker: WorkerID, session: Int64 = 1, isAway: Bool = false, isBackup: Bool = false,
    progress: Int64 = 0
  ) {
    self.init(
      epoch: epoch, worker: worker, workerName: worker.description, session: SessionID(session), isAway: isAway,
      isBackup: isBackup, progress: progress)
  }
}
