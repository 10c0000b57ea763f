import Jobs
import Logging

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
