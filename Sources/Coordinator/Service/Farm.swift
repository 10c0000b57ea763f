import Digest
import Jobs
import Logging
import Wire

/// The coordinator's service: what stands between connections, the store and the vault. It keeps nothing that matters:
/// any number of them serve one store (DESIGN 3).
actor Farm {
  struct Configuration: Sendable {
    /// How `sheaf workers` names this coordinator.
    var name: String
    /// Nil: anybody who can connect may.
    var token: String?
    var maximumConnections = 1024
    var policy = LeasePolicy()
    /// How long workers may go on with what they have when the coordinator is to stop.
    /// Less than what container engines wait before they kill.
    var grace: Duration = .seconds(8)
  }

  nonisolated let store: any JobStore
  nonisolated let library: Library
  nonisolated let configuration: Configuration
  nonisolated let logger: Logger
  /// Rung whenever something may have changed.
  nonisolated let bell = Bell()
  private nonisolated let start = ContinuousClock.now
  private var scheduler = Scheduler()
  private var links: [WorkerID: WorkerLink] = [:]
  private var clients: [Int: Task<Void, any Error>] = [:]
  private var nextClient = 0
  private var strikes = StrikeCount()
  private var isDraining = false
  private var isPlanning = false
  private var mustPlanAgain = false

  init(store: any JobStore, library: Library, configuration: Configuration, logger: Logger) {
    self.store = store
    self.library = library
    self.configuration = configuration
    self.logger = logger
  }

  nonisolated var now: Duration { start.duration(to: .now) }

  /// Serves until it is cancelled or drained.
  func run(_ server: WireServer) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await self.listenForWakes() }
      group.addTask { await self.tick() }
      group.addTask {
        try await server.run(
          maximumConnections: self.configuration.maximumConnections,
          admit: { hello in self.configuration.admit(hello) },
          session: { connection, hello in try await self.serve(connection, hello) })
      }
      // The server is the one that ends by itself, when it was stopped and its connections are closed.
      try await group.next()
      group.cancelAll()
    }
  }

  /// Grants nothing more, lets workers finish what they have for a time, then says farewell to everybody.
  func drain(_ server: WireServer) async {
    isDraining = true
    server.stop()
    let limit = now + configuration.grace
    while now < limit, await hasLeases() {
      _ = await bell.wait(since: bell.count, atMost: .milliseconds(100))
    }
    await withDiscardingTaskGroup { group in
      for link in links.values { group.addTask { await link.sayFarewell() } }
    }
    for client in clients.values { client.cancel() }
  }

  private func hasLeases() async -> Bool {
    for link in links.values where await link.hasLeases { return true }
    return false
  }

  private func serve(_ connection: WireConnection, _ hello: Sheaf_Hello) async throws {
    if hello.role == .worker {
      let link = WorkerLink(farm: self, connection: connection, hello: hello)
      try await link.run()
      return
    }
    let client = Task { try await ClientLink(farm: self, connection: connection).run() }
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

  /// Registers a worker's connection; one that it had before is closed, and its leases are free, when this returns.
  func join(_ link: WorkerLink) async {
    while let old = links[link.worker] {
      old.connection.close()
      await old.ended()
    }
    links[link.worker] = link
    await note(link)
    claim(scheduler.handle(.joined(link.worker, slots: link.slots)))
  }

  func leave(_ link: WorkerLink) async {
    await release(link.worker)
    if links[link.worker] === link { links[link.worker] = nil }
    claim(scheduler.handle(.left(link.worker)))
    await bell.ring()
  }

  private func release(_ worker: WorkerID) async {
    do throws(JobStoreError) {
      _ = try await store.release(worker: worker)
    } catch {
      logger.error("leases not released; they will run out", metadata: ["error": "\(error)"])
    }
  }

  func changeRoom(of worker: WorkerID, to room: Int) {
    claim(scheduler.handle(.room(worker, room)))
  }

  private func claim(_ claims: [Scheduler.Claim]) {
    for claim in claims {
      Task { await self.carryOut(claim) }
    }
  }

  private func carryOut(_ claim: Scheduler.Claim) async {
    var grants: [Grant] = []
    if let link = links[claim.worker], !isDraining {
      do throws(JobStoreError) {
        grants = try await store.claim(worker: claim.worker, build: link.build, limit: claim.limit)
      } catch {
        logger.error("no tasks claimed", metadata: ["error": "\(error)"])
      }
    }
    var room = 0
    if let link = links[claim.worker] {
      room = await link.grant(grants)
    } else if !grants.isEmpty {
      // The worker left while the store was asked.
      await release(claim.worker)
    }
    self.claim(
      scheduler.handle(.claimed(claim.worker, asked: claim.limit, got: grants.count, room: isDraining ? 0 : room)))
  }

  /// Notes an infrastructure failure; at the one too many the job fails, unless another worker goes on with the task:
  /// one that is idle and has a full disk is given a slow picture's second lease again and again.
  func strike(_ lease: Lease, message: String) async {
    guard strikes.add(lease.task) else { return }
    do throws(JobStoreError) {
      let tasks = try await store.tasks(of: lease.task.job, payloads: false)
      let task = tasks.first { $0.id == lease.task }
      if let task, task.state == .leased, task.twin != nil || task.epoch != lease.epoch { return }
      let inputs = task?.kind == .stitch ? tasks.compactMap(\.result) : task?.inputs ?? []
      let damaged = await removeDamaged(inputs)
      _ = try await store.fail(
        lease.task.job,
        error: "task \(lease.task) was given up \(StrikeCount.maximum) times, at last because: \(message)"
          + (damaged == 0 ? "" : " (\(damaged) damaged in the vault and removed from it: render it again)"))
    } catch {
      logger.error("job not failed", metadata: ["error": "\(error)"])
    }
  }

  /// Before a job fails for want of whole inputs: with the damaged ones gone the next one makes them anew. Returns how
  /// many they were.
  private func removeDamaged(_ inputs: [Content]) async -> Int {
    do {
      return try await BlockingWork.run { [vault = library.vault] in
        try inputs.compactMap { SHA256Digest(hex: $0.digest) }.count { try vault.removeIfDamaged($0) }
      }
    } catch {
      logger.error("the vault's objects cannot be looked at", metadata: ["error": "\(error)"])
      return 0
    }
  }

  func clearStrikes(_ task: TaskID) {
    strikes.clear(task)
  }

  private func note(_ link: WorkerLink) async {
    let record = WorkerRecord(
      id: link.worker, name: link.name, slots: Int32(link.slots), build: link.build, coordinator: configuration.name)
    do throws(JobStoreError) {
      try await store.note(record)
    } catch {
      logger.error("worker not noted", metadata: ["error": "\(error)"])
    }
  }

  // MARK: Time

  private func listenForWakes() async {
    for await _ in store.wakes() { await woke() }
  }

  private func woke() async {
    claim(scheduler.handle(.woke))
    await bell.ring()
    // Beside everything else: planning a long film takes a while, and wakes must not wait for it.
    mustPlanAgain = true
    if !isPlanning {
      isPlanning = true
      Task { await planWhatIsReady() }
    }
  }

  /// Wakes are hints; this is the truth (DESIGN 4).
  private func tick() async {
    var ticks = 0
    while !Task.isCancelled {
      do throws(JobStoreError) {
        _ = try await store.expire()
      } catch {
        logger.error("the store does not answer", metadata: ["error": "\(error)"])
      }
      for worker in links.keys.sorted() {
        guard let link = links[worker] else { continue }
        await link.tick()
        if ticks % 4 == 0 { await note(link) }
      }
      await woke()
      ticks += 1
      do { try await Task.sleep(for: .seconds(1)) } catch { return }
    }
  }

  // MARK: Planning

  private func planWhatIsReady() async {
    defer { isPlanning = false }
    let planner = Planner(store: store, library: library, logger: logger)
    while mustPlanAgain {
      mustPlanAgain = false
      do throws(JobStoreError) {
        for job in try await store.jobsToPlan() { try await planner.plan(job) }
      } catch {
        logger.error("nothing planned", metadata: ["error": "\(error)"])
      }
    }
  }
}
