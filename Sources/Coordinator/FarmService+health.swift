import ContentStorage
package import FarmAPI
import FarmModel
import Jobs
import Runtime

// Whether a coordinator can work, and how much there is to do.
extension FarmService {
  /// Whether this coordinator can do its work: its job store answers, its content store is there, and it does not end.
  package func health() async -> FarmHealth {
    var storeProblem: String?
    do {
      // Any call that reads little.
      _ = try await withStore { try await coordinator.store.workers() }
    } catch {
      storeProblem = "\(error)"
    }
    // Cancelled: nobody waits for the answer.
    let absence = try? await BlockingWork.run { [store = coordinator.content.store] in store.absence }
    let isDraining = await coordinator.isDraining
    return FarmHealth([
      .init(name: "jobStore", message: storeProblem),
      .init(name: "contentStore", message: absence ?? nil),
      .init(name: "draining", message: isDraining ? "the coordinator is shutting down" : nil),
    ])
  }

  /// How many of everything the farm has. Throws `.unavailable` if the job store does not answer.
  package func counts() async throws -> FarmCounts {
    try require(.measure)
    var counts = FarmCounts()
    let stored = try await withStore { try await coordinator.store.counts() }
    counts.jobs = stored.jobs
    counts.tasks = stored.tasks.map { .init(kind: $0.key.kind, state: $0.key.state, count: $0.value) }
    counts.oldestReadySeconds = stored.oldestReady.map { Double($0.milliseconds) / 1000 }
    counts.oldestHeldEventSeconds = stored.oldestHeldEvent.map { Double($0.milliseconds) / 1000 }
    counts.oldestLostSeconds = stored.oldestLost.map { Double($0.milliseconds) / 1000 }
    counts.pendingMessages = try await pendingMessages()
    counts.workers = try await asked(by: .ownProcess).workers()
    counts.demand = WorkerDemand(stored, counts.workers)
    return counts
  }

  /// How many workers the work at hand needs. Throws `.unavailable` if the job store does not answer.
  /// - Parameter pool: Only the jobs of this pool and its workers are counted; empty: the jobs without a pool, and the
  ///   workers without one. Nil: all are.
  package func demand(ofPool pool: String? = nil) async throws -> WorkerDemand {
    guard let pool else { return try await counts().demand }
    try require(.measure)
    let stored = try await withStore { try await coordinator.store.counts(ofPool: pool) }
    let workers = try await asked(by: .ownProcess).workers()
    return WorkerDemand(stored, workers.filter { pool.isEmpty ? $0.pools.isEmpty : $0.pools.contains(pool) })
  }

  /// What this coordinator has measured by itself.
  package func ownCounts() async -> CoordinatorCounts {
    var counts = coordinator.counts.counts
    counts.storeCalls = coordinator.store.calls
    counts.storage.minimumFree = coordinator.configuration.minimumFree
    counts.storage.limit = coordinator.configuration.storeLimit
    // Nil if the store is away.
    let disk = try? await BlockingWork.run(.files) { [storage = coordinator.storage, content = coordinator.content] in
      (free: try? storage.availableBytes(), size: try? content.store.diskBytes())
    }
    counts.storage.freeBytes = disk?.free
    counts.storage.diskBytes = disk?.size
    (counts.workerConnections, counts.clientConnections) = await coordinator.openConnections
    counts.isDraining = await coordinator.isDraining
    return counts
  }

  /// Whether the coordinator ends: it takes no more connections.
  package var isDraining: Bool { get async { await coordinator.isDraining } }
}

extension WorkerDemand {
  fileprivate init(_ counts: StoreCounts, _ workers: [WorkerStatus]) {
    self.init()
    for (group, count) in counts.tasks {
      if group.state == .ready { ready += count }
      if group.state == .running { running += count }
    }
    ready += counts.inspections[.ready] ?? 0
    // Without a worker a job is not planned, and has no other task that would be counted. Where there are workers it
    // is, unless it waits for one with another build.
    if workers.isEmpty { ready += counts.unplanned }
    running += counts.inspections[.running] ?? 0
    measured = counts.pacedTasks
    measuredSeconds = counts.pacedWork / 1_000_000
    self.workers = Int64(workers.count)
    slots = workers.reduce(0) { $0 + Int64($1.slots) }
  }
}
