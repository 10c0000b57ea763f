import SystemSupport

/// A farm's state in PostgreSQL, shared by any number of coordinators.
///
/// The operations run one after another on one connection, on a thread of their own. If that connection is lost the
/// operation throws `.unavailable`, and the next one connects again, not more often than `ReconnectDelay` allows.
package actor PostgresJobStore: JobStore {
  let policy: LeasePolicy
  private let url: String
  private let thread: SerialThread
  private let listener: ChangeListener
  private let streams: ChangeStreams
  private var connection: Connection?
  private var delay = ReconnectDelay()
  private var lastFailure: (error: JobStoreError, until: ContinuousClock.Instant)?
  private var isClosed = false

  package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  /// Connects, and brings the database's schema up to this version's.
  ///
  /// - Parameter url: What libpq takes: `postgres://user:password@host:port/database`, or `key=value` pairs. The
  ///   environment variables `PG…` supply what it leaves out.
  package static func connect(
    url: String, policy: LeasePolicy = LeasePolicy()
  ) async throws(JobStoreError) -> PostgresJobStore {
    let store = try PostgresJobStore(url: url, policy: policy)
    do {
      try await store.perform { (_) throws(JobStoreError) in }
    } catch {
      await store.close()
      throw error
    }
    return store
  }

  private init(url: String, policy: LeasePolicy) throws(JobStoreError) {
    self.url = url
    self.policy = policy
    let streams = ChangeStreams()
    self.streams = streams
    do {
      thread = try SerialThread()
    } catch {
      throw JobStoreError(error)
    }
    do {
      listener = try ChangeListener(url: url, streams: streams)
    } catch {
      thread.stop()
      throw error
    }
  }

  deinit {
    streams.finish()
    listener.stop()
    thread.stop()
  }

  /// Ends every stream of `changes()` and closes the connections. Operations after it throw `.closed`.
  package func close() {
    isClosed = true
    connection = nil
    listener.stop()
    streams.finish()
  }

  package nonisolated func changes() -> AsyncStream<Void> { streams.add() }

  /// Runs an operation. Repeats it if PostgreSQL requires that, because two transactions were in conflict and one of
  /// them was undone.
  func perform<Value>(
    _ operation: (Connection) throws(JobStoreError) -> Value
  ) throws(JobStoreError) -> Value {
    var attempt = 1
    while true {
      let connection = try connected()
      do {
        return try operation(connection)
      } catch {
        // 25006: the server has become a standby, so another server takes writes now.
        let isUsable = !connection.isBroken && error.condition != "25006"
        // A connection whose transaction cannot be abandoned is closed; `error` has the first cause.
        guard isUsable, (try? connection.abandonTransaction()) != nil else {
          self.connection = nil
          throw JobStoreError(.unavailable, error.message, condition: error.condition)
        }
        // 40001: serialization failure. 40P01: deadlock.
        guard error.condition == "40001" || error.condition == "40P01", attempt < 6 else { throw error }
        attempt += 1
      }
    }
  }

  private func connected() throws(JobStoreError) -> Connection {
    guard !isClosed else { throw JobStoreError(.closed, "the job store is closed") }
    if let connection { return connection }
    if let lastFailure, lastFailure.until > .now { throw lastFailure.error }
    do {
      let connection = try Connection(url: url)
      try Schema.update(connection)
      self.connection = connection
      lastFailure = nil
      delay = ReconnectDelay()
      return connection
    } catch {
      lastFailure = (error, .now + .milliseconds(delay.next()))
      throw error
    }
  }
}

extension JobStoreError {
  /// An error of this machine, not of the database.
  init(_ error: SystemError) {
    self.init(.internal, "\(error)")
  }
}

// MARK: - Workers

extension PostgresJobStore {
  package func register(_ worker: WorkerRecord) throws(JobStoreError) {
    try worker.validate()
    try perform { (connection) throws(JobStoreError) in
      _ = try connection.run(
        .register,
        [
          .text(worker.id.description), .text(worker.session.description), .text(worker.name.withoutNul),
          .int(worker.slots), .text(worker.build.withoutNul), .text(worker.coordinator.withoutNul),
          .long(policy.lease.microseconds),
        ])
    }
  }

  package func workers() throws(JobStoreError) -> [WorkerRecord] {
    let workers = try perform { (connection) throws(JobStoreError) in
      try connection.run(.workers, [.long(policy.lease.microseconds)])
        .map { (fields) throws(JobStoreError) in
          WorkerRecord(
            id: WorkerID(try fields.text()), session: SessionID(try fields.text()), name: try fields.text(),
            slots: try fields.int(), build: try fields.text(), coordinator: try fields.text(),
            busy: try fields.int(), connected: .microseconds(try fields.long()))
        }
    }
    return workers.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }
}

extension Statement {
  fileprivate static let register = Statement(
    "register",
    """
    INSERT INTO sheaf.worker (id, session, name, slots, build, coordinator, registered_at, last_seen)
    VALUES ($1, $2, $3, $4, $5, $6, sheaf.now(), sheaf.now())
    ON CONFLICT (id) DO UPDATE SET session = excluded.session, name = excluded.name, slots = excluded.slots,
      build = excluded.build, coordinator = excluded.coordinator, last_seen = excluded.last_seen,
      registered_at = CASE
        WHEN worker.session <> excluded.session
          OR worker.last_seen < sheaf.now() - $7 * interval '1 microsecond' THEN excluded.registered_at
        ELSE worker.registered_at END
    """)

  fileprivate static let workers = Statement(
    "workers",
    """
    SELECT id, session, name, slots, build, coordinator,
      (SELECT count(*)::integer FROM sheaf.lease WHERE lease.worker = worker.id),
      (extract(epoch FROM sheaf.now() - registered_at) * 1000000)::bigint
    FROM sheaf.worker WHERE last_seen >= sheaf.now() - $1 * interval '1 microsecond'
    """)
}
