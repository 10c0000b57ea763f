@testable import Jobs

/// One call of a store, and what came back as text.
enum Operation: Sendable {
  case submit(NewJob)
  case plan(JobID, build: String, tasks: [NewTask])
  case claim(WorkerID, build: String, limit: Int)
  case renew(WorkerID, [LeaseProgress])
  case publish(Lease, Content)
  case failLease(Lease, WorkerID, TaskFailure)
  case failJob(JobID, String)
  case release(WorkerID)
  case expire
  case cancel(JobID)
  case note(WorkerRecord)
  case advance(Duration)

  func run(on farm: Farm) async throws -> Outcome {
    do throws(JobStoreError) {
      switch self {
      case .submit(let job):
        try await farm.store.submit(job)
        return .plain("submitted")
      case .plan(let job, let build, let tasks):
        return .plain("planned \(try await farm.store.plan(job, build: build, tasks: tasks))")
      case .claim(let worker, let build, let limit):
        return .granted(try await farm.store.claim(worker: worker, build: build, limit: limit))
      case .renew(let worker, let leases):
        return .lost(try await farm.store.renew(worker: worker, leases: leases))
      case .publish(let lease, let result):
        return .plain("\(try await farm.store.publish(lease, result: result))")
      case .failLease(let lease, let worker, let failure):
        return .plain("failed task \(try await farm.store.fail(lease, worker: worker, failure: failure))")
      case .failJob(let job, let error):
        return .plain("failed job \(try await farm.store.fail(job, error: error))")
      case .release(let worker): return .plain("released \(try await farm.store.release(worker: worker) > 0)")
      case .expire: return .lost(try await farm.store.expire())
      case .cancel(let job):
        return .plain("cancelled, now \(try await farm.store.cancel(job).map(\.rawValue) ?? "absent")")
      case .note(let worker):
        try await farm.store.note(worker)
        return .plain("noted")
      case .advance: break
      }
    } catch {
      return .plain("refused: \(error.code.rawValue): \(error.message)")
    }
    if case .advance(let time) = self { try farm.advance(time) }
    return .plain("advanced")
  }

  enum Outcome: Equatable {
    case plain(String)
    case granted([Grant])
    case lost([Lease])

    /// For counting what a trace has seen.
    var label: String {
      switch self {
      case .plain(let text): text.prefix { $0 != ":" }.description
      case .granted(let grants): grants.isEmpty ? "granted nothing" : "granted"
      case .lost(let leases): leases.isEmpty ? "lost nothing" : "lost"
      }
    }
  }
}

/// All that can be seen of a store.
struct Visible: Equatable {
  var jobs: [Job]
  var tasks: [[RenderTask]]
  var toPlan: [JobID]
  var workers: [WorkerRecord]

  init(of store: any JobStore) async throws {
    jobs = try await store.jobs(limit: 1_000)
    tasks = []
    for job in jobs {
      tasks.append(try await store.tasks(of: job.id))
      let one = try await store.job(job.id)
      guard one == job else { throw JobStoreError(.internal, "\(String(describing: one)) is listed as \(job)") }
    }
    toPlan = try await store.jobsToPlan()
    workers = try await store.workers()
  }

  /// All that are held, a task's first one before its twin.
  var leases: [(lease: Lease, worker: WorkerID)] {
    tasks.joined().flatMap { task in
      let first = task.worker.map { (lease: Lease(task: task.id, epoch: task.epoch), worker: $0) }
      let twin = task.twin.map { (lease: Lease(task: task.id, epoch: $0.epoch), worker: $0.worker) }
      return [first, twin].compactMap(\.self)
    }
  }

  /// What became of second leases since an earlier state, for counting what a trace has seen.
  func twinChanges(since earlier: Visible) -> [String] {
    var changes: [String] = []
    // Jobs and their tasks are never taken away, and new jobs stand first.
    let before = Dictionary(uniqueKeysWithValues: earlier.tasks.joined().map { ($0.id, $0) })
    for task in tasks.joined() {
      guard let old = before[task.id], old.twin != task.twin else { continue }
      guard let twin = old.twin else {
        changes.append("twin granted")
        continue
      }
      switch task.state {
      case .leased where task.twin != nil: if task.epoch == old.epoch { changes.append("twin moved") }
      case .leased: changes.append(task.epoch == twin.epoch ? "twin took over" : "twin lost")
      case .done: changes.append(task.epoch == twin.epoch ? "twin won" : "twin was too late")
      case .ready: changes.append("both lost")
      case .failed: changes.append("twin failed")
      case .waiting: changes.append("twin taken back")
      }
    }
    return changes
  }

  /// The first thing that differs, for a message of bearable length.
  func difference(from other: Visible) -> String {
    for (left, right) in zip(tasks.joined(), other.tasks.joined()) where left != right { return "\(left)\n\(right)" }
    for (left, right) in zip(jobs, other.jobs) where left != right { return "\(left)\n\(right)" }
    return "\(self)\n\(other)"
  }
}
