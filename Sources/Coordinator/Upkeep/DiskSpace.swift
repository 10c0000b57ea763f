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

/// A number of bytes for people.
enum ByteCount {
  /// Such as `512 bytes`, `0.4 GiB` or `20 GiB`: in GiB from 0.1 GiB, else in MiB or KiB. Rounded down, so that what is
  /// below a limit never reads as the limit.
  static func text(_ bytes: Int64) -> String {
    let units: [(name: String, size: Int64)] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
    guard let unit = units.first(where: { bytes >= $0.size / 10 }), bytes < 1 << 59 else { return "\(bytes) bytes" }
    let tenths = bytes * 10 / unit.size
    return tenths % 10 == 0 ? "\(tenths / 10) \(unit.name)" : "\(tenths / 10).\(tenths % 10) \(unit.name)"
  }
}
