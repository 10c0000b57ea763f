import CMemory
import Runtime
import Synchronization

/// When the memory that documents and plans have taken is returned to the kernel: some time after they were last used,
/// so that of many only the last is followed by it. Pure but for `release`.
struct FreedMemory: Sendable {
  /// After the last use, and, while one follows another, after the first.
  private static let (delay, longest) = (Duration.seconds(4), Duration.seconds(30))

  /// The times of the first and of the last of the uses that are not followed yet. Nil: there are none.
  private var uses: (first: Duration, last: Duration)?

  /// Something was read, checked or planned that took much memory.
  mutating func used(now: Duration) {
    uses = (uses?.first ?? now, now)
  }

  mutating func isDue(now: Duration) -> Bool {
    guard let (first, last) = uses, now - last >= Self.delay || now - first >= Self.longest else { return false }
    uses = nil
    return true
  }

  /// Takes some milliseconds.
  static func release() {
    memory_trim()
  }
}

/// Returns memory to the kernel some time after documents were read or planned.
final class UsedMemory: Sendable {
  private let now: @Sendable () -> Duration
  private let freed = Mutex(FreedMemory())

  /// - Parameter now: Time since any fixed moment.
  init(now: @escaping @Sendable () -> Duration) {
    self.now = now
  }

  /// A document was read or planned.
  func used() { freed.withLock { $0.used(now: now()) } }

  func releaseIfDue() async {
    guard freed.withLock({ $0.isDue(now: now()) }) else { return }
    do {
      try await BlockingWork.run(.planning) { FreedMemory.release() }
    } catch {
      // Cancelled: the service stops.
    }
  }
}
