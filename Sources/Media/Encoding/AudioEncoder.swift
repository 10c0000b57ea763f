package import Composition

/// Encodes sound in one thread.
package final class AudioEncoder {
  /// How samples are handed over.
  package enum SampleLayout: Sendable, Hashable {
    /// A row of 32-bit floats for each channel: AAC.
    case planarFloat
    /// One row, channels side by side: PCM and FLAC of 16 bits.
    case interleavedInt16
    /// One row, channels side by side, the 24 bits in the upper part of 32: PCM and FLAC of 24 bits.
    case interleavedInt32
  }

  /// What the piece's packets need; its timebase is one sample.
  package let header: PieceHeader
  package let sampleLayout: SampleLayout
  /// The most samples of each channel that `send` takes at once; all but the last must have exactly so many.
  package let frameSize: Int

  package init(_ settings: AudioSettings) throws(MediaError) {
    throw MediaError(.unsupported, operation: "encoding", subject: settings.codec.rawValue, message: "not there yet")
  }

  /// Takes the next `count` samples of each channel, which `fill` writes into the rows that it is given: one for each
  /// channel where the layout is planar, else one. The first sample sent is heard at time zero.
  package func send(count: Int, fill: ([UnsafeMutableRawPointer]) -> Void) throws(MediaError) {}

  /// No more sound comes; `receive` gives what is left.
  package func finish() throws(MediaError) {}

  /// The next packet, pts in samples (the first is minus the initial padding); nil when it wants more, or after the last.
  package func receive() throws(MediaError) -> Packet? { nil }
}
