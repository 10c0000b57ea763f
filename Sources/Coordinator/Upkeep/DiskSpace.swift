import SystemSupport

/// Whether the disk of the content store has room for results: pure.
struct DiskSpace: Sendable {
  /// Below this many bytes nothing is granted.
  let minimum: Int64
  /// Nil: not measured yet.
  private(set) var free: Int64?

  /// - Parameter minimum: 0: there is always room.
  init(minimum: Int64) {
    self.minimum = minimum
  }

  var isLow: Bool { free.map { $0 < minimum } ?? false }

  /// What a person needs to know if the disk is low.
  var notice: String? {
    guard isLow, let free else { return nil }
    return """
      the coordinator's disk has \(ByteCount.text(free)) free; below \(ByteCount.text(minimum)) no task is granted
      """
  }

  /// Returns whether it has become low, or has room again.
  mutating func measured(_ bytes: Int64) -> Bool {
    let wasLow = isLow
    free = bytes
    return isLow != wasLow
  }
}
