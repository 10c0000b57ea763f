/// Samples of several channels as 32-bit floats, a row for each channel.
package final class SampleBlock {
  package let channels: Int
  /// Samples of each channel.
  package let capacity: Int
  private let storage: UnsafeMutablePointer<Float>
  private let rows: UnsafeMutablePointer<UnsafeMutablePointer<Float>?>

  /// A block of silence.
  package init(channels: Int, capacity: Int) {
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

  /// One channel's samples. The pointer is valid as long as the block exists.
  package func row(_ channel: Int) -> UnsafeMutablePointer<Float> { storage + channel * capacity }

  /// The rows as C takes them, each from sample `start` on. The pointer is valid inside `body` only.
  package func withRows<Result>(
    from start: Int, _ body: (UnsafeMutablePointer<UnsafeMutablePointer<Float>?>) -> Result
  ) -> Result {
    for channel in 0..<channels { rows[channel] = row(channel) + start }
    return body(rows)
  }

  /// The rows from their first sample, for reading. The pointer is valid inside `body` only.
  package func withConstantRows<Result>(_ body: (UnsafePointer<UnsafePointer<Float>?>) -> Result) -> Result {
    withRows(from: 0) { rows in
      rows.withMemoryRebound(to: UnsafePointer<Float>?.self, capacity: max(1, channels)) { body($0) }
    }
  }

  /// Sets `count` samples of each channel to silence, from `start` on.
  package func clear(_ start: Int, _ count: Int) {
    for channel in 0..<channels { (row(channel) + start).update(repeating: 0, count: count) }
  }

  /// Some of the samples, in a block of their own unless they are all.
  func part(_ range: Range<Int>) -> SampleBlock {
    if range == 0..<capacity { return self }
    let part = SampleBlock(channels: channels, capacity: range.count)
    part.copy(self, from: range.lowerBound, to: 0, count: range.count)
    return part
  }

  /// Copies `count` samples of each channel, from `source` of `other` to `target` here. Both have the same channels.
  package func copy(_ other: SampleBlock, from source: Int, to target: Int, count: Int) {
    for channel in 0..<channels { (row(channel) + target).update(from: other.row(channel) + source, count: count) }
  }
}

/// Consecutive samples of a track.
package struct AudioBlock {
  /// The first sample's number, counted from time zero of the asset's timeline.
  package let position: Int64
  /// Full to its capacity.
  package let samples: SampleBlock

  /// The number after the last sample's.
  package var end: Int64 { position + Int64(samples.capacity) }
}
