/// The farm's state in PostgreSQL, shared by any number of coordinators.
///
/// Operations run one after another on one connection, on a thread of their own. Where that connection is lost the
/// operation throws `.unavailable` and the next one connects again, at most as often as `ReconnectRest` lets it.
package actor PostgresJobStore: JobStore {
  let policy: LeasePolicy
  private let url: String
  private let thread: SerialThread
  private let listener: WakeListener
  private let streams: WakeStreams
  private var connection: Connection?
  private var rest = ReconnectRest()
  private var lastFailure: (error: JobStoreError, until: ContinuousClock.Instant)?
  private var isClosed = false

  package nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  /// Connects, and brings the database's schema up to this version's.
  ///
  /// - Parameter url: what libpq takes: `postgres://user:password@host:port/database`, or `key=value` pairs. Whatever it
  ///   leaves out comes from the `PG…` environment.
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
    let streams = WakeStreams()
    self.streams = streams
    thread = try SerialThread()
    do {
      listener = try WakeListener(url: url, streams: streams)
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

  /// Ends every `wakes()` and gives up the connections; operations after it throw `.closed`.
  package func close() {
    isClosed = true
    connection = nil
    listener.stop()
    streams.finish()
  }

  package nonisolated func wakes() -> AsyncStream<Void> { streams.add() }

  /// Runs an operation, again if PostgreSQL asks for that: two transactions were in each other's way, and one of them
  /// was undone.
  func perform<Value>(
    _ operation: (Connection) throws(JobStoreError) -> Value
  ) throws(JobStoreError) -> Value {
    var attempt = 1
    while true {
      let connection = try connected()
      do {
        return try operation(connection)
      } catch {
        let mayStay = !connection.isBroken && error.condition != "25006"
        guard mayStay, (try? connection.abandonTransaction()) != nil else {
          self.connection = nil
          throw JobStoreError(.unavailable, error.message, condition: error.condition)
        }
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
      rest = ReconnectRest()
      return connection
    } catch {
      lastFailure = (error, .now + .milliseconds(rest.next()))
      throw error
    }
  }
}
