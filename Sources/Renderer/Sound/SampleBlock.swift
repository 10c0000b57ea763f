import CMedia

/// Samples of several channels, each in a row of its own: room for `capacity` of each, 32-bit float.
final class SampleBlock {
  let channels: Int
  let capacity: Int
  private let storage: UnsafeMutablePointer<Float>
  private let rows: UnsafeMutablePointer<UnsafeMutablePointer<Float>?>

  init(channels: Int, capacity: Int) {
    self.channels = channels
    self.capacity = capacity
    storage = .allocate(capacity: max(1, channels * capacity))
    storage.initialize(repeating: 0, count: max(1, channels * capacity))
    rows = .allocate(capacity: max(1, channels))
    for channel in 0..<channels { (rows + channel).initialize(to: storage + channel * capacity) }
  }

  deinit {
    storage.deallocate()
    rows.deallocate()
  }

  /// One channel's samples. The pointer is good as long as the block is.
  func row(_ channel: Int) -> UnsafeMutablePointer<Float> { storage + channel * capacity }

  /// The rows as C wants them, each from sample `start` on.
  func withRows<Result>(
    from start: Int, _ body: (UnsafeMutablePointer<UnsafeMutablePointer<Float>?>) -> Result
  ) -> Result {
    for channel in 0..<channels { rows[channel] = row(channel) + start }
    return body(rows)
  }

  /// The rows from their first sample, to be read.
  func withConstantRows<Result>(_ body: (UnsafePointer<UnsafePointer<Float>?>) -> Result) -> Result {
    withRows(from: 0) { rows in
      rows.withMemoryRebound(to: UnsafePointer<Float>?.self, capacity: max(1, channels)) { body($0) }
    }
  }

  /// Silence from `start`, `count` samples long.
  func clear(_ start: Int, _ count: Int) {
    for channel in 0..<channels { (row(channel) + start).update(repeating: 0, count: count) }
  }

  /// Copies `count` samples of each channel, from `source` of `other` to `target` here.
  func copy(_ other: SampleBlock, from source: Int, to target: Int, count: Int) {
    for channel in 0..<channels { (row(channel) + target).update(from: other.row(channel) + source, count: count) }
  }
}

/// A part of a block that is to be filled.
struct SampleRange {
  var start: Int
  var count: Int
}
