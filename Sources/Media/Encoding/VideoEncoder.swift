package import Composition

/// Encodes one segment's pictures in one thread: closed groups, an IDR first, parameter sets that depend on the settings
/// alone, so that pieces of one film fit behind one another.
package final class VideoEncoder {
  /// What the piece's packets need; known before the first frame. Its timebase is the frame duration.
  package let header: PieceHeader

  /// - Throws: `.unsupported` where the settings do not go together (profile and pixel format, an odd size in 4:2:0).
  package init(
    _ settings: VideoSettings, size: PixelSize, frameDuration: MediaTime, pixelAspect: AspectRatio = .square
  ) throws(MediaError) {
    throw MediaError(.unsupported, operation: "encoding", subject: settings.codec.rawValue, message: "not there yet")
  }

  /// Takes the next picture, which must have the settings' size and pixel format. The frame is shared, not copied, and
  /// not changed: the encoder may look at it until `receive` has given its packet. `pts` counts frames from 0.
  package func send(_ frame: Frame, pts: Int64) throws(MediaError) {}

  /// No more pictures come; `receive` gives what is left.
  package func finish() throws(MediaError) {}

  /// The next packet, pts and dts in ticks of the frame duration; nil when it wants another frame, or after the last.
  package func receive() throws(MediaError) -> Packet? { nil }
}
