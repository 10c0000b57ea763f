/// Consecutive samples of every channel, 32-bit float, a row for each channel.
package final class SoundBlock {
  /// Of the first sample, counted in samples from time zero of the asset's timeline.
  package let position: Int64
  /// Samples of each channel.
  package let count: Int
  package let channels: Int
  private let samples: UnsafeMutablePointer<Float>

  init(position: Int64, count: Int, channels: Int) {
    self.position = position
    self.count = count
    self.channels = channels
    samples = .allocate(capacity: max(1, count * channels))
  }

  deinit {
    samples.deallocate()
  }

  /// One channel's samples; good as long as the block is.
  package func channel(_ index: Int) -> UnsafePointer<Float> { UnsafePointer(samples + index * count) }

  func mutableChannel(_ index: Int) -> UnsafeMutablePointer<Float> { samples + index * count }
}
