import SystemSupport

/// Whether the content store can take results: it is there, and its disk has room. Pure.
struct DiskSpace: Sendable {
  /// Below this many bytes nothing is granted.
  let minimum: Int64
  /// Nil: not measured yet.
  private(set) var free: Int64?
  /// Why the store is away; nil if it is there.
  private(set) var absence: String?

  /// - Parameter minimum: 0: there is always room.
  init(minimum: Int64) {
    self.minimum = minimum
  }

  var isLow: Bool { free.map { $0 < minimum } ?? false }

  /// Whether no task may be granted.
  var holdsTasks: Bool { isLow || absence != nil }

  /// What a person needs to know if no task may be granted.
  var notice: String? {
    if let absence { return "\(absence); until it is back no task is granted" }
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

  /// Returns whether the store has gone away, or has come back.
  mutating func looked(_ absence: String?) -> Bool {
    defer { self.absence = absence }
    return (absence == nil) != (self.absence == nil)
  }
}
