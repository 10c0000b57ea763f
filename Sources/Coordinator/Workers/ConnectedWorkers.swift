import FarmAPI
import FarmModel
import Jobs
import Logging
import Wire

/// The workers as the farm knows them: their coming and going, their pauses, and their rows in the store.
actor ConnectedWorkers {
  private let store: any JobStore
  private let connections: WorkerConnections
  private let claims: TaskClaims
  private let reports: TaskReports
  private let changes: ChangeSignal
  private let events: FarmEvents
  private let counts: WorkCounts
  private let availability: StoreAvailability
  private let configuration: CoordinatorConfiguration
  private let now: @Sendable () -> Duration

  /// Why a worker takes no tasks for now, for a person.
  private var pauses: [WorkerID: String] = [:]
  private var left = LeftWorkers()
  /// Connections that were closed and that the store does not know to be closed yet.
  private var disconnected: [WorkerID: Holder] = [:]
  private var mustRegister = false
  /// Whether a worker has connected that is not registered yet.
  private var hasJoined = false
  private var isRegistering = false

  init(
    store: any JobStore, connections: WorkerConnections, claims: TaskClaims, reports: TaskReports,
    changes: ChangeSignal, events: FarmEvents, counts: WorkCounts, availability: StoreAvailability,
    configuration: CoordinatorConfiguration, now: @escaping @Sendable () -> Duration
  ) {
    self.store = store
    self.connections = connections
    self.claims = claims
    self.reports = reports
    self.changes = changes
    self.events = events
    self.counts = counts
    self.availability = availability
    self.configuration = configuration
    self.now = now
  }

  // MARK: Coming and going

  /// Adds a worker's connection in place of an earlier one, which is closed. Throws a refusal if the worker has a later
  /// connection, or this one already.
  func join(_ worker: WorkerConnectionHandler) throws {
    let holder = worker.holder
    do {
      if let old = try connections.add(worker) {
        claims.left(old.holder)
        old.connection.close()
      }
    } catch {
      switch error {
      case .closed: throw WireError(.refused(.shuttingDown), "the coordinator is shutting down")
      case .notLater(let open):
        throw WireError(
          .refused(.unavailable),
          "connection \(holder.session) of worker \(holder.worker) is not later than \(open), which is open")
      }
    }
    pauses[holder.worker] = nil
    events.emit(.workerConnected(worker.asEvent))
    claims.joined(worker)
    mustRegister = true
    hasJoined = true
    register()
  }

  /// The connection is closed. Its leases go on until they run out, because the worker may connect again.
  func leave(_ worker: WorkerConnectionHandler) async {
    let holder = worker.holder
    let leases = await worker.leases
    if connections.remove(worker) {
      pauses[holder.worker] = nil
      events.emit(.workerDisconnected(worker.asEvent))
      left.add(holder, leases, now: now())
      counts.lost(leases)
      claims.left(holder)
    }
    // The worker goes on at another coordinator, or here when this one has been started again. If its leases counted as
    // those of a worker that is away, others would be given the same tasks at once.
    if connections.isClosed { return }
    let known = disconnected[holder.worker]
    if known.map({ $0.session < holder.session }) ?? true { disconnected[holder.worker] = holder }
    register()
  }

  /// The first heartbeat of a worker's connection lists these leases. Those that its last connection had and that are
  /// not listed never reached the worker, or it has dropped them: they are free at once.
  func returned(_ holder: Holder, with leases: Set<Lease>) async {
    counts.returned(leases)
    for lease in left.take(holder.worker) where !leases.contains(lease) {
      await reports.neverReached(lease, holder)
    }
  }

  /// - Parameter reason: Empty: the worker takes tasks again.
  func setPause(of holder: Holder, to reason: String) {
    guard connections.of(holder) != nil else { return }
    pauses[holder.worker] = reason.isEmpty ? nil : reason
    mustRegister = true
    register()
  }

  // MARK: Rows in the store

  /// What is due once a second.
  /// - Parameter refreshes: Whether all workers are registered again, so that their rows do not run out.
  func tick(refreshes: Bool) async {
    if refreshes { mustRegister = true }
    register()
    for worker in connections.all { await worker.tick() }
    left.forget(olderThan: configuration.policy.lease * 4, now: now())
  }

  /// Registers all workers and reports closed connections to the store, one call at a time, so that a worker that has
  /// left is not registered again by an earlier call. What the store does not carry out is tried again at the next
  /// tick.
  private func register() {
    guard !isRegistering, mustRegister || !disconnected.isEmpty else { return }
    isRegistering = true
    Task { await self.carryOutRegistrations() }
  }

  private func carryOutRegistrations() async {
    defer { isRegistering = false }
    do throws(JobStoreError) {
      while mustRegister || !disconnected.isEmpty {
        if mustRegister {
          mustRegister = false
          let isNew = hasJoined
          hasJoined = false
          try await store.register(connections.all.map(record).sorted { $0.id < $1.id })
          // A job may have waited for a worker to be planned for.
          if isNew {
            claims.changed()
            await changes.signal()
          }
        }
        while let holder = disconnected.first?.value {
          _ = try await store.disconnect(holder)
          if disconnected[holder.worker] == holder { disconnected[holder.worker] = nil }
        }
      }
    } catch {
      mustRegister = true
      availability.report(error, "workers not registered")
    }
  }

  private func record(_ worker: WorkerConnectionHandler) -> WorkerRecord {
    WorkerRecord(
      id: worker.holder.worker, session: worker.holder.session, name: worker.name, slots: Int32(worker.slots),
      memory: worker.taskMemory, build: worker.build, pools: worker.pools,
      coordinator: configuration.name, account: worker.account, paused: pauses[worker.holder.worker] ?? "")
  }
}

/// The leases of workers whose connections have closed, for a worker that connects again to this coordinator.
private struct LeftWorkers: Sendable {
  private static let maximum = 4096

  private var workers: [WorkerID: (leases: [Lease], at: Duration)] = [:]

  mutating func add(_ holder: Holder, _ leases: [Lease], now: Duration) {
    guard !leases.isEmpty else { return }
    if workers.count >= Self.maximum { workers = [:] }
    workers[holder.worker] = (leases, now)
  }

  /// Removes and returns what is known of a worker's leases.
  mutating func take(_ worker: WorkerID) -> [Lease] {
    workers.removeValue(forKey: worker)?.leases ?? []
  }

  /// Forgets the workers that left more than `age` ago: their leases have run out.
  mutating func forget(olderThan age: Duration, now: Duration) {
    workers = workers.filter { now - $0.value.at <= age }
  }
}
