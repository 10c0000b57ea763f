import CMemory

/// When the memory that documents and plans have taken is returned to the kernel: some time after they were last used,
/// so that of many only the last is followed by it. Pure but for `release`.
struct FreedMemory: Sendable {
  /// After the first use that is not followed yet.
  private static let delay = Duration.seconds(4)

  private var firstUse: Duration?

  /// Something was read, checked or planned that takes much memory.
  mutating func used(now: Duration) {
    firstUse = firstUse ?? now
  }

  mutating func isDue(now: Duration) -> Bool {
    guard let use = firstUse, now - use >= Self.delay else { return false }
    firstUse = nil
    return true
  }

  /// Takes some milliseconds.
  static func release() {
    memory_trim()
  }
}
