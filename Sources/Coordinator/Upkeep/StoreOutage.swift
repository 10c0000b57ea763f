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

  private var began: Duration?
  private var lastFailure: Duration = .zero

  /// Whether the store is unavailable.
  var isUnderWay: Bool { began != nil }

  /// A call has failed because the store is unavailable.
  mutating func failed(now: Duration) -> Change? {
    lastFailure = now
    guard began == nil else { return nil }
    began = now
    return .began
  }

  /// A call has succeeded.
  mutating func succeeded(now: Duration) -> Change? {
    guard let began, now - lastFailure >= Self.quiet else { return nil }
    self.began = nil
    return .ended(now - began)
  }
}
