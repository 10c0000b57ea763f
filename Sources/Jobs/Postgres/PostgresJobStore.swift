package import Digest
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

extension PostgresJobStore {
  @discardableResult
  package func submit(_ job: NewJob) async throws(JobStoreError) -> JobID { throw JobStoreError(.internal, "not yet") }

  package func jobsToPlan() async throws(JobStoreError) -> [JobID] { throw JobStoreError(.internal, "not yet") }

  package func inspections(olderThan age: Duration) async throws(JobStoreError) -> [JobID] { throw JobStoreError(.internal, "not yet") }

  package func plan(_ job: JobID, build: String, tasks: [NewTask]) async throws(JobStoreError) -> Bool { throw JobStoreError(.internal, "not yet") }

  package func jobsToRebind() async throws(JobStoreError) -> [JobID] { throw JobStoreError(.internal, "not yet") }

  package func replan(_ job: JobID) async throws(JobStoreError) -> Bool { throw JobStoreError(.internal, "not yet") }

  package func retry(_ job: JobID) async throws(JobStoreError) -> JobState? { throw JobStoreError(.internal, "not yet") }

  package func fail(_ job: JobID, failure: JobFailure) async throws(JobStoreError) -> Bool { throw JobStoreError(.internal, "not yet") }

  package func cancel(_ job: JobID) async throws(JobStoreError) -> JobState? { throw JobStoreError(.internal, "not yet") }

  package func delete(_ job: JobID) async throws(JobStoreError) -> Bool { throw JobStoreError(.internal, "not yet") }

  package func deleteJobs(endedBefore age: Duration, limit: Int) async throws(JobStoreError) -> Int { throw JobStoreError(.internal, "not yet") }

  package func markFetched(_ job: JobID) async throws(JobStoreError) { throw JobStoreError(.internal, "not yet") }

  package func contentsInUse(keepingResults: Duration) async throws(JobStoreError) -> [SHA256Digest] { throw JobStoreError(.internal, "not yet") }

  package func job(_ id: JobID) async throws(JobStoreError) -> Job? { throw JobStoreError(.internal, "not yet") }

  package func summary(of job: JobID) async throws(JobStoreError) -> JobSummary? { throw JobStoreError(.internal, "not yet") }

  package func summaries(_ purpose: JobPurpose, limit: Int) async throws(JobStoreError) -> [JobSummary] { throw JobStoreError(.internal, "not yet") }

  package func tasks(of job: JobID, payloads: Bool) async throws(JobStoreError) -> [RenderTask] { throw JobStoreError(.internal, "not yet") }

  package func claim(build: String, slots: [Holder]) async throws(JobStoreError) -> [Grant] { throw JobStoreError(.internal, "not yet") }

  package func renew(_ renewals: [Renewal]) async throws(JobStoreError) -> [Renewal] { throw JobStoreError(.internal, "not yet") }

  package func publish(_ lease: Lease, holder: Holder, result: Content) async throws(JobStoreError) -> PublishOutcome { throw JobStoreError(.internal, "not yet") }

  package func fail(_ lease: Lease, holder: Holder, failure: TaskFailure) async throws(JobStoreError) -> Bool { throw JobStoreError(.internal, "not yet") }

  package func disconnect(_ holder: Holder) async throws(JobStoreError) -> Int { throw JobStoreError(.internal, "not yet") }

  package func expire() async throws(JobStoreError) -> [Lease] { throw JobStoreError(.internal, "not yet") }

  package func register(_ workers: [WorkerRecord]) async throws(JobStoreError) { throw JobStoreError(.internal, "not yet") }

  package func workers() async throws(JobStoreError) -> [WorkerRecord] { throw JobStoreError(.internal, "not yet") }

  package func contentStore(_ identity: String, replacing: Bool) async throws(JobStoreError) -> String { throw JobStoreError(.internal, "not yet") }
}
