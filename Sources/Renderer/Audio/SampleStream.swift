import Media

/// Samples that are read in order, a part of a block at a time. A stream never ends: after its last sample it is silent.
protocol SampleStream: AnyObject {
  /// Fills `range` of every channel of `block` with the next samples.
  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError)
}

/// A track's samples at the track's own rate and channels.
protocol SampleSource: AnyObject {
  /// Samples a second.
  var sampleRate: Int { get }
  var channels: Int { get }

  /// Fills `range` of every channel of `block` with the samples from `position` on, where 0 is time zero of the asset's
  /// timeline, and with silence where the track has none. A position before the last one read is slow: it seeks.
  func read(at position: Int64, into block: SampleBlock, _ range: SampleRange) throws(RenderError)
}

/// A part of a block.
struct SampleRange {
  var start: Int
  var count: Int
}

/// A source's samples as they are, from one position on.
final class CopiedStream: SampleStream {
  private let source: any SampleSource
  private var position: Int64

  init(_ source: any SampleSource, from position: Int64) {
    self.source = source
    self.position = position
  }

  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError) {
    try source.read(at: position, into: block, range)
    position += Int64(range.count)
  }
}
