/// Sound that is taken in order, a block at a time, and never ends: silence follows what there is.
protocol SampleStream: AnyObject {
  /// Fills `range` of every channel of `block` with the next samples.
  func read(into block: SampleBlock, _ range: SampleRange) throws(RenderError)
}

/// A track's sound on its own sample grid, in its own channels.
protocol SampleSource: AnyObject {
  /// Samples a second.
  var sampleRate: Int { get }
  var channels: Int { get }

  /// Fills `range` of every channel of `block` with the samples from `position` on, where 0 is time zero of the asset's
  /// timeline; silence where the track has none. Going back is slow: it seeks.
  func read(at position: Int64, into block: SampleBlock, _ range: SampleRange) throws(RenderError)
}

/// Samples of a source as they are, from one position on.
final class CopiedSound: SampleStream {
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
