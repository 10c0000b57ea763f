import Digest
import SystemSupport

/// The uploads for which the content store's disk has no room, and which their senders try again: pure. `now` is the
/// time since any fixed moment.
struct WaitingUploads: Sendable {
  /// A sender tries again within seconds. One that has not done so for this long has given up.
  static let patience = Duration.seconds(30)
  /// More are not shown.
  private static let maximumCount = 1000

  private struct Upload {
    var size: Int64
    var reason: String
    var since: Duration
    var triedAt: Duration
  }

  private var uploads: [SHA256Digest: Upload] = [:]

  /// An upload was refused for this reason. Returns whether it did not wait before.
  mutating func refused(_ content: Content, _ reason: String, now: Duration) -> Bool {
    uploads = uploads.filter { now - $0.value.triedAt <= Self.patience }
    let known = uploads[content.digest]
    guard known != nil || uploads.count < Self.maximumCount else { return false }
    uploads[content.digest] = Upload(
      size: content.size, reason: reason, since: known?.since ?? now, triedAt: now)
    return known == nil
  }

  /// An upload has begun, or the store has its content. Returns whether it has waited.
  mutating func begun(_ digest: SHA256Digest) -> Bool { uploads.removeValue(forKey: digest) != nil }

  /// What a person needs to know: how many wait, and why the first of them does. Nil if none waits.
  func notice(now: Duration) -> String? {
    let waiting = uploads.values.filter { now - $0.triedAt <= Self.patience }
    guard let first = waiting.min(by: { ($0.since, $0.size) < ($1.since, $1.size) }) else { return nil }
    let who = waiting.count == 1 ? "an upload waits" : "\(waiting.count) uploads wait; the first one waits"
    return "\(who) for room on the coordinator's disk: \(first.reason)"
  }
}
