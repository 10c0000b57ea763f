package import ContentStorage
import Digest
package import Jobs
package import Logging
package import Wire

/// The coordinator: serves workers and clients, and carries out what the store decides. It keeps nothing that must not be
/// lost, so any number of coordinators can serve one store.
package actor CoordinatorService {
  nonisolated let store: any JobStore
  package nonisolated let content: ContentLocator
  nonisolated let results: ResultCache
  nonisolated let configuration: CoordinatorConfiguration
  nonisolated let logger: Logger
  /// Signalled whenever something may have changed.
  nonisolated let changes = ChangeSignal()
  private nonisolated let start = ContinuousClock.now
  private var scheduler = Scheduler()
  private var workers: [WorkerID: WorkerConnectionHandler] = [:]
  private var clients: [Int: Task<Void, any Error>] = [:]
  private var nextClient = 0
  private var releases = ReleaseCounter()
  private var isDraining = false
  private var isPlanning = false
  private var mustPlanAgain = false

  package init(
    store: any JobStore, content: ContentLocator, configuration: CoordinatorConfiguration, logger: Logger
  ) {
    self.store = store
    self.content = content
    results = ResultCache(content.store)
    self.configuration = configuration
    self.logger = logger
  }

  /// Time since the service was made.
  nonisolated var now: Duration { start.duration(to: .now) }

  /// Serves until it is cancelled or drained.
  package func run(_ server: WireServer) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await self.followChanges() }
      group.addTask { await self.tick() }
      group.addTask {
        try await server.run(
          maximumConnections: self.configuration.maximumConnections,
          admit: { hello in self.configuration.admit(hello) },
          session: { connection, hello in try await self.serve(connection, hello) })
      }
      // Only the server ends by itself: when it is stopped and its connections are closed.
      try await group.next()
      group.cancelAll()
    }
  }

  /// Stops granting tasks, lets workers finish what they have for `configuration.grace`, then refuses every connection as
  /// shutting down.
  package func drain(_ server: WireServer) async {
    isDraining = true
    server.stop()
    let limit = now + configuration.grace
    while now < limit, await hasLeases() {
      _ = await changes.wait(since: changes.count, atMost: .milliseconds(100))
    }
    await withDiscardingTaskGroup { group in
      for worker in workers.values { group.addTask { await worker.refuseAsShuttingDown() } }
    }
    for client in clients.values { client.cancel() }
  }

  private func hasLeases() async -> Bool {
    for worker in workers.values where await worker.hasLeases { return true }
    return false
  }

  private func serve(_ connection: WireConnection, _ hello: Sheaf_Hello) async throws {
    if hello.role == .worker {
      try await WorkerConnectionHandler(service: self, connection: connection, hello: hello).run()
      return
    }
    let client = Task { try await ClientConnectionHandler(service: self, connection: connection).run() }
    let number = nextClient
    nextClient += 1
    clients[number] = client
    defer { clients[number] = nil }
    try await withTaskCancellationHandler {
      try await client.value
    } onCancel: {
      client.cancel()
    }
    if isDraining { throw WireError(.refused(.shuttingDown), "the coordinator is shutting down") }
  }

  // MARK: Workers

  /// Adds a worker's connection. If the worker has an older connection, that one is closed first and its leases are free
  /// when this returns.
  func join(_ worker: WorkerConnectionHandler) async {
    while let old = workers[worker.worker] {
      old.connection.close()
      await old.ended()
    }
    workers[worker.worker] = worker
    await register(worker)
    claim(scheduler.handle(.joined(worker.worker, slots: worker.slots)))
  }

  func leave(_ worker: WorkerConnectionHandler) async {
    await release(worker)
    if workers[worker.worker] === worker { workers[worker.worker] = nil }
    claim(scheduler.handle(.left(worker.worker)))
    await changes.signal()
  }

  private func release(_ worker: WorkerConnectionHandler) async {
    do throws(JobStoreError) {
      _ = try await store.release(worker: worker.worker, session: worker.session)
    } catch {
      logger.error("leases not released before they run out", metadata: worker.metadata(error))
    }
  }

  func setCapacity(of worker: WorkerID, to capacity: Int) {
    claim(scheduler.handle(.capacity(worker, capacity)))
  }

  private func claim(_ claims: [Scheduler.Claim]) {
    for claim in claims {
      Task { await self.carryOut(claim) }
    }
  }

  private func carryOut(_ claim: Scheduler.Claim) async {
    let worker = isDraining ? nil : workers[claim.worker]
    var grants: [Grant] = []
    if let worker {
      do throws(JobStoreError) {
        grants = try await store.claim(
          worker: worker.worker, session: worker.session, build: worker.build, limit: claim.limit)
      } catch {
        logger.error("no tasks claimed", metadata: worker.metadata(error))
      }
    }
    let granted = grants.count
    if let worker, workers[claim.worker] !== worker, granted > 0 {
      // The connection was closed during the claim, after its leases were released.
      await release(worker)
      grants = []
    }
    let capacity = await workers[claim.worker]?.grant(grants) ?? 0
    self.claim(
      scheduler.handle(
        .claimed(claim.worker, requested: claim.limit, granted: granted, capacity: isDraining ? 0 : capacity)))
  }

  private func register(_ worker: WorkerConnectionHandler) async {
    let record = WorkerRecord(
      id: worker.worker, session: worker.session, name: worker.name, slots: Int32(worker.slots), build: worker.build,
      coordinator: configuration.name)
    do throws(JobStoreError) {
      try await store.register(record)
    } catch {
      logger.error("worker not registered", metadata: worker.metadata(error))
    }
  }

  // MARK: Tasks released because of their workers' surroundings

  /// Counts a failure of a worker's surroundings. When the task has been released `ReleaseCounter.maximum` times, its
  /// job fails, unless another worker still has the task: an idle worker whose disk is full may be granted the backup lease of a slow task again
  /// and again.
  func countRelease(_ lease: Lease, message: String) async {
    guard releases.add(lease.task) else { return }
    do throws(JobStoreError) {
      let tasks = try await store.tasks(of: lease.task.job, payloads: false)
      let task = tasks.first { $0.id == lease.task }
      if let task, task.leases.contains(where: { $0.epoch != lease.epoch }) { return }
      let inputs = task?.kind == .stitch ? tasks.compactMap(\.result) : task?.inputs ?? []
      let damaged = await removeDamaged(inputs)
      let text =
        "task \(lease.task) was released \(ReleaseCounter.maximum) times, the last time because: \(message)"
        + (damaged == 0
          ? "" : " (\(damaged) inputs were damaged and were removed from the content store: render again)")
      _ = try await store.fail(lease.task.job, failure: JobFailure(reason: .farm, message: text))
    } catch {
      logger.error("job not failed", metadata: ["job": "\(lease.task.job)", "error": "\(error)"])
    }
  }

  func clearReleases(of task: TaskID) {
    releases.clear(task)
  }

  /// Removes damaged inputs of a task whose job is about to fail, so that the next job makes them again. Returns how many
  /// there were.
  private func removeDamaged(_ inputs: [Content]) async -> Int {
    do {
      return try await BlockingWork.run { [store = content.store] in
        try inputs.count { try store.removeIfDamaged($0.digest) }
      }
    } catch {
      logger.error("inputs not checked for damage", metadata: ["error": "\(error)"])
      return 0
    }
  }

  // MARK: Time and changes

  private func followChanges() async {
    for await _ in store.changes() { await changed() }
  }

  private func changed() async {
    claim(scheduler.handle(.changed))
    await changes.signal()
    // In a task of its own: planning a long film takes a while, and changes must not wait for it.
    mustPlanAgain = true
    if !isPlanning {
      isPlanning = true
      Task { await planWhatIsReady() }
    }
  }

  /// The store's changes are hints and may be lost, so everything is checked once a second.
  private func tick() async {
    var ticks = 0
    while !Task.isCancelled {
      do throws(JobStoreError) {
        _ = try await store.expire()
      } catch {
        logger.error("leases not expired", metadata: ["error": "\(error)"])
      }
      for id in workers.keys.sorted() {
        guard let worker = workers[id] else { continue }
        await worker.tick()
        if ticks % 4 == 0 { await register(worker) }
      }
      if ticks % 8 == 0 { await cancelAbandonedInspections() }
      await changed()
      ticks += 1
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
    }
  }

  /// Ends inspections whose client or coordinator went away.
  private func cancelAbandonedInspections() async {
    do throws(JobStoreError) {
      for job in try await store.inspections(olderThan: Inspection.longest) { _ = try await store.cancel(job) }
    } catch {
      logger.error("inspections not cancelled", metadata: ["error": "\(error)"])
    }
  }

  private func planWhatIsReady() async {
    defer { isPlanning = false }
    let planner = Planner(store: store, content: content, results: results, logger: logger)
    while mustPlanAgain {
      mustPlanAgain = false
      do throws(JobStoreError) {
        for job in try await store.jobsToPlan() { try await planner.plan(job) }
      } catch {
        logger.error("jobs not planned", metadata: ["error": "\(error)"])
      }
    }
  }
}

/// Counts how often workers have released a task because of their surroundings (a full disk, no memory). Such failures
/// are not counted against the task, so a farm on which every disk is full would try forever. After `maximum` of one task
/// its job fails. Connections that closed and leases that ran out are not counted here. The counts are in memory: a
/// coordinator that restarts counts anew.
struct ReleaseCounter: Sendable {
  static let maximum = 4
  private static let maximumTasks = 10_000

  private var counts: [TaskID: Int] = [:]

  /// Returns whether the task has now been released `maximum` times or more.
  mutating func add(_ task: TaskID) -> Bool {
    if counts.count > Self.maximumTasks { counts = [:] }
    counts[task, default: 0] += 1
    return counts[task, default: 0] >= Self.maximum
  }

  mutating func clear(_ task: TaskID) {
    counts[task] = nil
  }
}
