import Digest

@testable import Jobs

/// One call of a store, or a step of its clock.
enum Operation: Sendable {
  case submit(NewJob)
  case plan(JobID, build: String, tasks: [NewTask])
  case claim(WorkerID, SessionID, build: String, limit: Int)
  case renew(WorkerID, [LeaseProgress])
  case publish(Lease, WorkerID, Content)
  case failLease(Lease, WorkerID, TaskFailure)
  case failJob(JobID, JobFailure)
  case release(WorkerID, SessionID)
  case expire
  case cancel(JobID)
  case register(WorkerRecord)
  case advance(Duration)

  func run(on farm: Farm) async throws -> Outcome {
    do throws(JobStoreError) {
      switch self {
      case .submit(let job):
        try await farm.store.submit(job)
        return .plain("submitted")
      case .plan(let job, let build, let tasks):
        return .plain("planned \(try await farm.store.plan(job, build: build, tasks: tasks))")
      case .claim(let worker, let session, let build, let limit):
        return .granted(
          try await farm.store.claim(worker: worker, session: session, build: build, limit: limit))
      case .renew(let worker, let leases):
        return .lost(try await farm.store.renew(worker: worker, leases: leases))
      case .publish(let lease, let worker, let result):
        return .plain("\(try await farm.store.publish(lease, worker: worker, result: result))")
      case .failLease(let lease, let worker, let failure):
        return .plain("failed task \(try await farm.store.fail(lease, worker: worker, failure: failure))")
      case .failJob(let job, let failure):
        return .plain("failed job \(try await farm.store.fail(job, failure: failure))")
      case .release(let worker, let session):
        let count = try await farm.store.release(worker: worker, session: session)
        return .plain("released \(count > 0): \(count)")
      case .expire: return .lost(try await farm.store.expire())
      case .cancel(let job):
        return .plain("cancelled, now \(try await farm.store.cancel(job).map(\.rawValue) ?? "absent")")
      case .register(let worker):
        try await farm.store.register(worker)
        return .plain("registered")
      case .advance: break
      }
    } catch {
      return .plain("rejected: \(error.code.rawValue): \(error.message)")
    }
    if case .advance(let time) = self { try farm.advance(time) }
    return .plain("advanced")
  }

  enum Outcome: Equatable {
    case plain(String)
    case granted([Grant])
    case lost([Lease])

    /// For counting what happens in a trace.
    var label: String {
      switch self {
      case .plain(let text): text.prefix { $0 != ":" }.description
      case .granted(let grants): grants.isEmpty ? "granted nothing" : "granted"
      case .lost(let leases): leases.isEmpty ? "lost nothing" : "lost"
      }
    }
  }
}

/// Everything that a store returns: its jobs, tasks, leases, attempts and workers.
struct Visible: Equatable {
  /// Newest first within each purpose.
  var jobs: [Job]
  var tasks: [[RenderTask]]
  var toPlan: [JobID]
  var inspections: [JobID]
  var workers: [WorkerRecord]

  init(of store: any JobStore) async throws {
    jobs = []
    for purpose in JobPurpose.allCases { jobs += try await store.jobs(purpose, limit: 1_000) }
    tasks = []
    for job in jobs {
      tasks.append(try await store.tasks(of: job.id))
      let one = try await store.job(job.id)
      guard one == job else { throw JobStoreError(.internal, "\(String(describing: one)) is listed as \(job)") }
    }
    toPlan = try await store.jobsToPlan()
    inspections = try await store.inspections(olderThan: .seconds(30))
    workers = try await store.workers()
  }

  /// All leases that are held, by task, then by epoch.
  var leases: [(lease: Lease, held: HeldLease)] {
    tasks.joined().flatMap { task in task.leases.map { (Lease(task: task.id, epoch: $0.epoch), $0) } }
  }

  /// What happened to leases and attempts since an earlier state, for counting what happens in a trace.
  func changes(since earlier: Visible) -> [String] {
    var changes: [String] = []
    // Jobs and tasks are never removed.
    let before = Dictionary(uniqueKeysWithValues: earlier.tasks.joined().map { ($0.id, $0) })
    for task in tasks.joined() {
      guard let old = before[task.id] else { continue }
      changes += task.attempts.dropFirst(old.attempts.count).map { "attempt \($0.end.rawValue)" }
      guard old.leases != task.leases else { continue }
      if old.leases.count < 2 {
        if task.leases.count == 2 { changes.append("backup granted") }
        continue
      }
      let backup = old.leases[1].epoch
      switch task.state {
      case .running where task.leases.count == 2: changes.append("backup renewed")
      case .running: changes.append(task.leases[0].epoch == backup ? "backup went on alone" : "backup lost")
      case .done: changes.append(task.publishedEpoch == backup ? "backup won" : "backup was too late")
      case .ready: changes.append("both lost")
      case .failed: changes.append("failed with both")
      case .waiting: changes.append("both removed")
      }
    }
    return changes
  }

  /// The first thing that differs, for a message that is not too long.
  func difference(from other: Visible) -> String {
    for (left, right) in zip(tasks.joined(), other.tasks.joined()) where left != right { return "\(left)\n\(right)" }
    for (left, right) in zip(jobs, other.jobs) where left != right { return "\(left)\n\(right)" }
    return "\(self)\n\(other)"
  }
}
