import Media

/// A track's samples in the opposite order: its sample at position p is the track's sample at -1 - p.
///
/// Decoders go forwards only, so samples are read in parts, each from its start, and kept. Most codecs give their
/// samples only from the head of the file on, so the parts are long.
final class ReversedTrack: SampleSource {
  /// The most bytes of the samples that are kept: three minutes of stereo at 48 kHz.
  private static let greatestSize = 1 << 26

  private let track: any SampleSource
  /// The track's samples from `start` on, of which there are `count`.
  private let kept: SampleBlock
  private var start: Int64 = 0
  private var count = 0
  /// The track's last sample that is read, at the earliest: nothing before it is kept.
  private let first: Int64

  /// - Parameters:
  ///   - first: the track's first sample that is needed; those before it can be read, but are not read ahead.
  ///   - count: about how many samples are needed.
  ///   - limit: the most bytes of the samples that are kept; nil: as many as a task may use.
  init(_ track: any SampleSource, from first: Int64, count: Int64, limit: Int? = nil) {
    self.track = track
    self.first = first
    let most = max(1, (limit ?? Self.greatestSize) / (4 * max(1, track.channels)))
    kept = SampleBlock(channels: track.channels, capacity: Int(min(Int64(most), max(4096, count))))
  }

  var sampleRate: Int { track.sampleRate }
  var channels: Int { track.channels }

  func read(at position: Int64, into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    var filled = 0
    while filled < range.count {
      let last = -1 - (position + Int64(filled))
      if last < start || last >= start + Int64(count) { try keep(through: last) }
      let available = Int(min(Int64(range.count - filled), last - start + 1))
      for channel in 0..<channels {
        let (to, from) = (block.row(channel) + range.start + filled, kept.row(channel) + Int(last - start))
        for index in 0..<available { to[index] = (from - index).pointee }
      }
      filled += available
    }
  }

  /// Reads the samples up to one.
  private func keep(through last: Int64) throws(RenderError) {
    start = last - Int64(kept.capacity) + 1
    if first <= last { start = max(start, first) }
    count = Int(last - start + 1)
    try track.read(at: start, into: kept, SampleRange(start: 0, count: count))
  }
}
