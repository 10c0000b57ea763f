import FarmModel
import Jobs
import Synchronization
import SystemSupport

/// One of a store's connections, on a thread of its own. Its operations run one after another.
///
/// If the connection is lost, or the server does not answer on it, the operation throws `.unavailable`, and the next
/// one connects again, not more often than `ReconnectDelay` allows. An operation that finds its connection lost before
/// it has sent anything connects again at once.
///
/// While a table or the whole database is locked, each operation waits for the lock, and those behind it wait for it.
/// One that has waited in the lane for as long as for a lock, and behind one that did not get its lock, is not begun.
actor DatabaseLane {
  private let url: String
  private let limits: Connection.Limits
  private let outage: ConnectFailure
  private let cutoff: Cutoff
  private let thread: SerialThread
  private let durations = Mutex(DurationHistogram(bounds: DurationHistogram.calls))
  private var connection: Connection?
  /// The last operation that waited for a lock for too long.
  private var blocked: (error: JobStoreError, at: ContinuousClock.Instant)?

  nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

  init(url: String, limits: Connection.Limits, outage: ConnectFailure) throws(JobStoreError) {
    self.url = url
    self.limits = limits
    self.outage = outage
    cutoff = try Cutoff()
    do {
      thread = try SerialThread()
    } catch {
      throw JobStoreError(error)
    }
  }

  deinit { thread.stop() }

  /// Ends what runs now, also if the server does not answer; it and what follows throw `.closed`.
  nonisolated func close() {
    cutoff.cut()
    // The connection itself is closed by its thread, which is soon free.
    Task { await self.disconnect() }
  }

  /// How long the operations took that have succeeded, without their waits for their turns.
  nonisolated var calls: DurationHistogram { durations.withLock(\.self) }

  private func disconnect() {
    connection = nil
  }

  /// Runs an operation. Repeats it if PostgreSQL requires that, because two transactions were in conflict and one of
  /// them was undone.
  nonisolated func perform<Value: Sendable>(
    _ operation: @Sendable (Connection) throws(JobStoreError) -> Value
  ) async throws(JobStoreError) -> Value {
    try await perform(operation, since: .now)
  }

  private func perform<Value: Sendable>(
    _ operation: @Sendable (Connection) throws(JobStoreError) -> Value, since start: ContinuousClock.Instant
  ) throws(JobStoreError) -> Value {
    if let blocked, blocked.at > start, .now - start >= Connection.lockTimeout { throw blocked.error }
    var attempt = 1
    let begin = ContinuousClock.now
    while true {
      let connection = try connected()
      do {
        let value = try operation(connection)
        durations.withLock { $0.add(.now - begin) }
        return value
      } catch {
        guard !cutoff.isCut else {
          self.connection = nil
          throw Cutoff.closed
        }
        // 25006: the server has become a standby, so another server takes writes now.
        let isUsable = !connection.isBroken && error.condition != "25006"
        // A connection whose transaction cannot be abandoned is closed; `error` has the first cause.
        guard isUsable, (try? connection.abandonTransaction()) != nil else {
          self.connection = nil
          throw JobStoreError(.unavailable, error.message, condition: error.condition)
        }
        if error.condition == JobStoreError.lockNotAvailable { blocked = (error, .now) }
        // 40001: serialization failure. 40P01: deadlock.
        guard error.condition == "40001" || error.condition == "40P01", attempt < 6 else { throw error }
        attempt += 1
      }
    }
  }

  private func connected() throws(JobStoreError) -> Connection {
    guard !cutoff.isCut else { throw Cutoff.closed }
    if let connection, !connection.isClosedByServer { return connection }
    connection = nil
    try outage.throwIfRecent()
    do {
      let connection = try Connection(url: url, limits: limits, cutoff: cutoff, outage: outage)
      try Schema.update(connection)
      self.connection = connection
      outage.end()
      return connection
    } catch {
      guard !cutoff.isCut else { throw Cutoff.closed }
      outage.record(error)
      throw error
    }
  }
}

/// Why the last attempt to connect failed. Until the next attempt every operation fails with it at once, instead of
/// waiting for a server that is not there.
final class ConnectFailure: Sendable {
  private struct State {
    var last: (error: JobStoreError, until: ContinuousClock.Instant)?
    var delay = ReconnectDelay()
    /// When the last attempt began that was not answered.
    var unanswered: ContinuousClock.Instant?
  }

  private let state = Mutex(State())

  func throwIfRecent() throws(JobStoreError) {
    if let last = state.withLock({ $0.last }), last.until > .now { throw last.error }
  }

  func record(_ error: JobStoreError) {
    state.withLock { state in state.last = (error, .now + .milliseconds(state.delay.next())) }
  }

  /// The server has not answered an attempt that began then.
  func recordNoAnswer(since start: ContinuousClock.Instant) { state.withLock { $0.unanswered = start } }

  /// Whether an attempt that began after this moment was not answered, and none has succeeded after it. A server that
  /// is only slow with a long statement answers new connections.
  func isUnanswered(since start: ContinuousClock.Instant) -> Bool {
    state.withLock { $0.unanswered }.map { $0 >= start } ?? false
  }

  func end() { state.withLock { $0 = State() } }
}
