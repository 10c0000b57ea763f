import CMemory

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
