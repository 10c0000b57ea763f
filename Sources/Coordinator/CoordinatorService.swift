package import ContentStorage
import Digest
import FarmAPI
import FarmModel
package import Jobs
package import Logging
package import Wire

/// The coordinator: serves workers and clients, and carries out what the store decides. It keeps nothing that must not
/// be lost, so any number of coordinators can serve one store.
package actor CoordinatorService {
  nonisolated let store: any JobStore
  package nonisolated let content: ContentLocator
  nonisolated let results: ResultCache
  nonisolated let notes: ResultNotes
  nonisolated let configuration: CoordinatorConfiguration
  nonisolated let logger: Logger
  /// Signalled whenever something may have changed.
  nonisolated let changes = ChangeSignal()
  /// What happens, for the log and for whoever watches.
  nonisolated let events: FarmEvents
  nonisolated let facts: TaskFacts
  nonisolated let reports = TaskReports()
  nonisolated let inputs: DamagedInputs
  nonisolated let availableBytes: @Sendable () throws -> Int64
  /// Names this process where it plans.
  nonisolated let planner: String
  private nonisolated let start = ContinuousClock.now

  // The workers, in CoordinatorService+workers.swift.
  var workers: [WorkerID: WorkerConnectionHandler] = [:]
  var pauses: [WorkerID: String] = [:]
  var claimBatcher = ClaimBatcher()
  var renewals = RenewalQueue()
  var left = LeftWorkers()
  var mustRegister = false
  /// Whether a worker has connected that is not registered yet.
  var hasJoined = false
  var disconnected: [WorkerID: Holder] = [:]
  var isRegistering = false

  // What goes on by itself, in CoordinatorService+upkeep.swift.
  var disk: DiskSpace
  var freed = FreedMemory()
  var uploads = WaitingUploads()
  var outage = StoreOutage()
  var plannings = Plannings()
  var isLookingForPlans = false
  var mustPlanAgain = false
  var isDraining = false
  /// The jobs whose end was reported.
  var endings = ReportedEnds()
  /// Of the calls that end leases, which are made once a second.
  var storeCalls = DurationHistogram()

  private var clients: [Int: Task<Void, any Error>] = [:]
  private var nextClient = 0
  private var statusReader: StatusReader?
  private var jobWatches: JobWatches?

  /// - Parameter availableBytes: Of the disk of the content store. Nil: they are measured.
  package init(
    store: any JobStore, content: ContentLocator, configuration: CoordinatorConfiguration, logger: Logger,
    availableBytes: (@Sendable () throws -> Int64)? = nil
  ) {
    self.availableBytes = availableBytes ?? { try content.store.availableBytes() }
    planner = "\(configuration.name) \(JobSubmission.freshName())"
    self.store = store
    self.content = content
    results = ResultCache(content.store)
    notes = ResultNotes(content.store)
    self.configuration = configuration
    self.logger = logger
    events = FarmEvents(logger: logger)
    facts = TaskFacts(store: store)
    inputs = DamagedInputs(store: store, content: content, events: events, logger: logger)
    disk = DiskSpace(minimum: configuration.minimumFree)
  }

  /// Time since the service was made.
  nonisolated var now: Duration { clock() }
  /// `now`, for what the service keeps and what does not keep the service.
  private nonisolated var clock: @Sendable () -> Duration { { [start] in start.duration(to: .now) } }

  /// Reads the statuses of jobs.
  var status: StatusReader {
    if let statusReader { return statusReader }
    let made = StatusReader(
      store: store, notes: notes, now: clock,
      // The service keeps the reader.
      disk: { [weak self] in await self?.disk.notice })
    statusReader = made
    return made
  }

  /// The jobs that clients watch.
  var watches: JobWatches {
    if let jobWatches { return jobWatches }
    let made = JobWatches(reader: status, changes: changes, now: clock)
    jobWatches = made
    return made
  }

  /// What holds up the whole farm, for a person.
  var notices: [String] { [disk.notice, uploads.notice(now: now)].compactMap(\.self) }

  /// Serves until it is cancelled or drained.
  package func run(_ server: WireServer) async throws {
    let watches = watches
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.followChanges() }
      group.addTask { await self.keepTime() }
      group.addTask { await self.keepUp() }
      group.addTask { await self.retain() }
      group.addTask { await watches.run() }
      group.addTask { await self.serve(server) }
      // Only the server ends by itself: when it is stopped and its connections are closed.
      await group.next()
      group.cancelAll()
    }
    await reports.stop()
    if let failure { throw failure }
  }

  private var failure: (any Error)?

  private func serve(_ server: WireServer) async {
    do {
      try await server.run(
        maximumConnections: configuration.maximumConnections,
        admit: { hello in self.configuration.admit(hello) },
        session: { connection, hello in try await self.serve(connection, hello) })
    } catch {
      failure = error
    }
  }

  /// Stops granting tasks, lets what workers have reported reach the store for at most `configuration.grace`, then
  /// refuses every connection as shutting down. Tasks that run go on: their workers connect to another coordinator, or
  /// to the next one at this address.
  package func drain(_ server: WireServer) async {
    isDraining = true
    hold()
    server.stop()
    let limit = now + configuration.grace
    await endPlannings(by: limit)
    while now < limit, await reports.count > 0 {
      _ = await changes.wait(since: changes.count, atMost: .milliseconds(50))
    }
    await withDiscardingTaskGroup { group in
      for worker in workers.values { group.addTask { await worker.refuseAsShuttingDown() } }
    }
    for client in clients.values { client.cancel() }
  }

  /// This process ends on purpose: another one begins these plans, and none of them counts as lost.
  private func endPlannings(by limit: Duration) async {
    let jobs = plannings.running.keys
    let ending = Task {
      for job in jobs {
        try await abandonable { [store, planner] in try await store.endPlanning(job, by: planner) }
      }
    }
    let limiting = Task {
      try await Task.sleep(for: limit - now)
      ending.cancel()
    }
    do { try await ending.value } catch let error as JobStoreError {
      report(error, "attempts to plan not ended")
    } catch {
      // Not in time: they run out.
    }
    limiting.cancel()
  }

  private func serve(_ connection: WireConnection, _ hello: Sheaf_Hello) async throws {
    // One that was admitted just before the drain began, which has ended all that it found.
    if isDraining { throw Self.shuttingDown }
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
    if isDraining { throw Self.shuttingDown }
  }

  private static var shuttingDown: WireError {
    WireError(.refused(.shuttingDown), "the coordinator is shutting down")
  }
}
