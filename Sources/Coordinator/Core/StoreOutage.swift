import Jobs
import Logging
import Synchronization

/// Whether the job store answers, as far as the coordinator's calls have seen, so that an outage is logged once when it
/// begins and once when it ends: pure. `now` is the time since any fixed moment.
struct StoreOutage: Sendable {
  enum Change: Sendable, Hashable {
    case began
    /// With how long it lasted.
    case ended(Duration)
  }

  /// An outage is over when nothing has failed for this long: the store's connections come back one after the other.
  private static let quiet = Duration.milliseconds(1500)
  /// The same if a lock was the cause: what needs the locked table waits for up to 8 s before it fails again, while
  /// everything else succeeds.
  private static let quietAfterLock = Duration.seconds(12)

  private var began: Duration?
  private var lastFailure: Duration = .zero
  private var isLocked = false
  /// When a call succeeded first after the last failure.
  private var answered: Duration?

  /// Whether the store is unavailable.
  var isUnderWay: Bool { began != nil }

  /// A call has failed because the store is unavailable.
  /// - Parameter isLocked: Whether the store answers, and a lock is the cause.
  mutating func failed(isLocked: Bool = false, now: Duration) -> Change? {
    (lastFailure, self.isLocked, answered) = (now, isLocked, nil)
    guard began == nil else { return nil }
    began = now
    return .began
  }

  /// A call has succeeded.
  mutating func succeeded(now: Duration) -> Change? {
    guard let began else { return nil }
    let back = answered ?? now
    answered = back
    guard now - lastFailure >= (isLocked ? Self.quietAfterLock : Self.quiet) else { return nil }
    self.began = nil
    return .ended(back - began)
  }
}

/// Logs calls of the store that fail, an outage only when it begins and when it ends.
final class StoreAvailability: Sendable {
  private let logger: Logger
  private let now: @Sendable () -> Duration
  private let state = Mutex(StoreOutage())

  /// - Parameter now: Time since any fixed moment.
  init(logger: Logger, now: @escaping @Sendable () -> Duration) {
    self.logger = logger
    self.now = now
  }

  /// Logs a call that failed.
  func report(_ error: JobStoreError, _ message: Logger.Message) {
    switch error.code {
    case .unavailable: failed(error)
    // This process has closed it, because it ends.
    case .closed: break
    default:
      logger.error(message, metadata: ["error": "\(error)"])
    }
  }

  /// The store is unavailable.
  func failed(_ error: JobStoreError) {
    guard state.withLock({ $0.failed(isLocked: error.isAboutLocks, now: now()) }) == .began else { return }
    logger.error("job store unavailable; running tasks go on", metadata: ["error": "\(error)"])
  }

  /// A call has succeeded.
  func answered() {
    guard case .ended(let duration)? = state.withLock({ $0.succeeded(now: now()) }) else { return }
    logger.notice("job store available again", metadata: ["seconds": "\(duration.roundedSeconds)"])
  }
}
