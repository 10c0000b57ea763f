package import ContentStorage
import FarmAPI
import FarmModel
import Glibc
package import Jobs
package import Logging
import Runtime
import TLS
package import Wire

/// The coordinator: serves workers and clients, and carries out what the store decides. It keeps nothing that must not
/// be lost, so any number of coordinators can serve one store.
///
/// Its parts do the work: `ConnectedWorkers` and `TaskClaims` for the workers, `JobPlanning`, `Housekeeping` and
/// `Retention` for what goes on by itself, and `FarmService` for what clients ask. Here they are put together, started
/// and stopped.
package actor CoordinatorService {
  nonisolated let store: any JobStore
  package nonisolated let content: ContentLocator
  nonisolated let configuration: CoordinatorConfiguration
  nonisolated let logger: Logger
  /// Signalled whenever something may have changed.
  nonisolated let changes = ChangeSignal()
  /// What happens, for the log and for whoever watches.
  nonisolated let events: FarmEvents
  nonisolated let counts: WorkCounts
  nonisolated let traces: JobTraces
  nonisolated let films = FilmFiles()
  nonisolated let watchedPieces = WatchedPieces()
  nonisolated let authentication: Authentication
  /// Nil: this farm's workers need none.
  nonisolated let certificates: WorkerCertificates?
  nonisolated let openAccess: OpenAccess
  nonisolated let audit: Audit

  nonisolated let results: ResultCache
  nonisolated let standings: WorkerStandings
  nonisolated let notes: ResultNotes
  nonisolated let facts: TaskFacts
  nonisolated let paces: RenderPaces
  nonisolated let inputs: DamagedInputs
  nonisolated let ends: JobEnds
  nonisolated let availability: StoreAvailability
  nonisolated let storage: StorageWatch
  nonisolated let memory: UsedMemory
  /// Reads the statuses of jobs.
  nonisolated let status: StatusReader
  /// The jobs that clients watch.
  nonisolated let watches: JobWatches

  private nonisolated let reports: TaskReports
  private nonisolated let claims: TaskClaims
  private nonisolated let workerParts: WorkerConnectionHandler.Parts
  private nonisolated let connections = WorkerConnections()
  private nonisolated let planning: JobPlanning
  private nonisolated let housekeeping: Housekeeping
  private nonisolated let retention: Retention
  private nonisolated let start: ContinuousClock.Instant

  private var clients: [Int: Task<Void, any Error>] = [:]
  private var nextClient = 0
  private(set) var isDraining = false
  private var failure: (any Error)?

  /// - Parameter availableBytes: Measures the free bytes of the content store's disk. Nil: the disk is asked.
  package init(
    store: any JobStore, content: ContentLocator, configuration: CoordinatorConfiguration, logger: Logger,
    availableBytes: (@Sendable () throws -> Int64)? = nil
  ) {
    self.store = store
    self.content = content
    self.configuration = configuration
    let traces = JobTraces(store: store)
    self.traces = traces
    // Every line about a job or a task has the job's trace.
    let logger = TracedLogHandler.logger(logger, traces)
    self.logger = logger
    authentication = Authentication(
      store: store, token: configuration.token, workerToken: configuration.workerToken)
    certificates = configuration.authority.map { authority in
      WorkerCertificates(
        authority: authority, lifetime: configuration.certificateLifetime, store: store,
        ownToken: configuration.workerToken ?? configuration.token)
    }
    openAccess = OpenAccess(store: store, logger: logger)
    audit = Audit(store: store, isOn: configuration.audits, logger: logger)
    let start = ContinuousClock.now
    self.start = start
    let now: @Sendable () -> Duration = { start.duration(to: .now) }
    events = FarmEvents(logger: logger)
    counts = WorkCounts(now: now)
    results = ResultCache(content.store)
    notes = ResultNotes(content.store)
    facts = TaskFacts(store: store)
    paces = RenderPaces(notes: notes, logger: logger)
    inputs = DamagedInputs(store: store, content: content, events: events, logger: logger)
    ends = JobEnds(store: store, facts: facts, traces: traces, events: events, counts: counts)
    availability = StoreAvailability(logger: logger, now: now)
    storage = StorageWatch(
      store: content.store, minimumFree: configuration.minimumFree,
      availableBytes: availableBytes ?? { try content.store.availableBytes() }, changes: changes, logger: logger,
      now: now)
    memory = UsedMemory(now: now)
    status = StatusReader(
      store: store, notes: notes, traces: traces, forecasts: Forecasts(store: store, paces: paces, now: now), now: now
    ) { [storage] in storage.diskNotice }
    watches = JobWatches(reader: status, changes: changes, now: now)
    standings = WorkerStandings(
      store: store, results: results, facts: facts, ends: ends, connections: connections, events: events,
      changes: changes, availability: availability, logger: logger)
    reports = TaskReports(
      store: store, contents: content.store, connections: connections, results: results, notes: notes,
      standings: standings, facts: facts,
      inputs: inputs, ends: ends, availability: availability, events: events, counts: counts, paces: paces,
      comparedShare: configuration.policy.comparedShare, logger: logger, now: now)
    claims = TaskClaims(
      store: store, connections: connections, reports: reports, availability: availability, now: now)
    let workers = ConnectedWorkers(
      store: store, connections: connections, claims: claims, reports: reports, changes: changes, events: events,
      counts: counts, availability: availability, configuration: configuration, now: now)
    workerParts = WorkerConnectionHandler.Parts(
      workers: workers, claims: claims, reports: reports, facts: facts, storage: storage, content: content,
      configuration: configuration, events: events, counts: counts, traces: traces, logger: logger, now: now)
    let attempts = PlanningAttempts(
      store: store, planner: "\(configuration.name) \(JobSubmission.freshName())",
      renewal: configuration.policy.lease / 3, logger: logger)
    planning = JobPlanning(
      planner: Planner(
        store: store, content: content, results: results, standings: standings, notes: notes, facts: facts,
        inputs: inputs,
        waitsForCompositors: configuration.waitsForCompositors, segments: configuration.segments, attempts: attempts,
        traces: traces, events: events,
        logger: logger),
      changes: changes, storage: storage, ends: ends, memory: memory, availability: availability)
    housekeeping = Housekeeping(
      store: store, claims: claims, workers: workers, reports: reports, standings: standings, facts: facts, ends: ends,
      storage: storage,
      memory: memory, availability: availability, changes: changes, events: events,
      counts: counts)
    retention = Retention(
      store: store, content: content.store, configuration: configuration, availability: availability,
      counts: counts, logger: logger)
  }

  /// The connections of workers and of clients that are open.
  var openConnections: (workers: Int, clients: Int) { (connections.all.count, clients.count) }

  /// Time since the service was made.
  nonisolated var now: Duration { start.duration(to: .now) }

  /// Serves until it is cancelled or drained.
  package func run(_ server: WireServer) async throws {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.housekeeping.run() }
      group.addTask { await self.planning.run() }
      group.addTask { await self.retention.run() }
      group.addTask { await self.watches.run() }
      group.addTask { await self.openAccess.run() }
      group.addTask { await self.serve(server) }
      // Only the server ends by itself: when it is stopped and its connections are closed.
      await group.next()
      group.cancelAll()
    }
    await reports.stop()
    if let failure { throw failure }
  }

  private func serve(_ server: WireServer) async {
    audit.follow(server.refusals)
    do {
      try await server.run(
        maximumConnections: configuration.maximumConnections,
        admit: { hello, origin in await self.admit(hello, from: origin) },
        session: { connection, hello, admitted in try await self.serve(connection, hello, admitted) })
    } catch {
      failure = error
    }
  }

  /// Stops granting tasks, lets what workers have reported reach the store for at most `configuration.grace`, then
  /// refuses every connection as shutting down. Tasks that run go on: their workers connect to another coordinator, or
  /// to the next one at this address.
  package func drain(_ server: WireServer) async {
    isDraining = true
    claims.hold(.draining, true)
    server.stop()
    let limit = now + configuration.grace
    await planning.drain(atMost: configuration.grace)
    while now < limit, await reports.count > 0 {
      _ = await changes.wait(since: changes.count, atMost: .milliseconds(50))
    }
    await withDiscardingTaskGroup { group in
      for worker in connections.close() { group.addTask { await worker.refuseAsShuttingDown() } }
    }
    for client in clients.values { client.cancel() }
    server.refusals.flush()
    await audit.flush()
  }

  /// Who was let in.
  private struct Admitted: Sendable {
    var caller: Caller
    /// Until when its certificate is valid, in seconds since 1970. Nil: it has none.
    var expires: Int?
    /// Whether it has the certificate for which it came, and connects again with that.
    var hasCertificate = false
  }

  private nonisolated func admit(
    _ hello: Sheaf_Hello, from origin: WireServer.Origin
  ) async -> Result<(Sheaf_Welcome, Admitted), WireError> {
    do throws(FarmError) {
      let isWorker = hello.role == .worker
      guard isWorker, let certificates else {
        let caller = try await authentication.caller(
          presenting: hello.token, as: isWorker ? .worker : .client, from: origin.address)
        if isWorker { try requirePools(hello, of: caller) }
        return configuration.welcome(hello).map { ($0, Admitted(caller: caller)) }
      }
      let caller =
        if let certificate = origin.certificate {
          try await certificates.caller(presenting: certificate, as: hello.workerName, from: origin.address)
        } else {
          try await authentication.caller(presenting: hello.token, as: .worker, from: origin.address)
        }
      try requirePools(hello, of: caller)
      guard origin.certificate != nil || !hello.certificateRequest.isEmpty else { throw WorkerCertificates.required }
      var admitted = Admitted(caller: caller, expires: origin.certificate?.expires)
      switch configuration.welcome(hello) {
      case .failure(let error): return .failure(error)
      case .success(var welcome):
        guard !hello.certificateRequest.isEmpty else { return .success((welcome, admitted)) }
        welcome.certificate = try certificates.sign([UInt8](hello.certificateRequest), for: caller, hello.workerName)
        let detail = origin.certificate == nil ? "the worker joins" : "renewed"
        do {
          try await audit.recordOnce(AuditEntry(.certificateIssued, by: caller, of: hello.workerName, detail: detail))
        } catch {
          throw FarmError(error)
        }
        admitted.hasCertificate = true
        return .success((welcome, admitted))
      }
    } catch {
      let code: WireError.Code = error.code == .unavailable ? .refused(.unavailable) : .refused(.token)
      return .failure(WireError(code, error.message))
    }
  }

  /// Throws `.forbidden`, and records it, if a worker asks for a pool that its token does not allow.
  private nonisolated func requirePools(_ hello: Sheaf_Hello, of caller: Caller) throws(FarmError) {
    do {
      _ = try caller.pools(asking: hello.pools)
    } catch {
      audit.recordRefusal(AuditEntry(.refused, by: caller, of: "", detail: error.description))
      throw FarmError(.forbidden, error.description)
    }
  }

  private func serve(_ connection: WireConnection, _ hello: Sheaf_Hello, _ admitted: Admitted) async throws {
    if admitted.hasCertificate { return }
    let caller = admitted.caller
    let number = await openAccess.add(caller) {
      Task { await connection.refuse(.token, "the token was revoked, or is past its time") }
    }
    let expiring = admitted.expires.map { end in
      Task {
        try await Task.sleep(for: .seconds(max(end - time(nil), 0)))
        await connection.refuse(.unavailable, "the worker's certificate has expired")
      }
    }
    defer { expiring?.cancel() }
    do {
      try await serveUntilClosed(connection, hello, caller)
      await openAccess.remove(number)
    } catch {
      await openAccess.remove(number)
      throw error
    }
  }

  private func serveUntilClosed(_ connection: WireConnection, _ hello: Sheaf_Hello, _ caller: Caller) async throws {
    // One that was admitted just before the drain began, which has ended all that it found.
    if isDraining { throw Self.shuttingDown }
    if hello.role == .worker {
      try await WorkerConnectionHandler(workerParts, connection: connection, hello: hello, caller: caller).run()
      return
    }
    let client = Task { try await ClientConnectionHandler(service: self, connection: connection, caller: caller).run() }
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
