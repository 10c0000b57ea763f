package import Composition

/// The frames of one video track, decoded in one thread, in order of presentation, as `ffmpeg` decodes them.
package final class VideoReader {
  /// - Parameters:
  ///   - name: What messages call the file.
  ///   - track: The stream's index in the file.
  ///   - codec: What the track was described as; another is refused.
  ///   - timebase: The described track's.
  ///   - decodeFrom: Where decoding starts; nil is the head of the file.
  ///   - wanted: A stored timestamp: the first frame given is the last at or before it, or the track's (or keyframe's)
  ///     first where all are later. Nil gives every frame from `decodeFrom` on.
  package init(
    source: any ByteSource, name: String, track: Int, codec: String, timebase: MediaTime, decodeFrom: Keyframe?,
    wanted: Int64?
  ) throws(MediaError) {
    throw MediaError(.unsupported, operation: "decoding", subject: name, message: "not there yet")
  }

  /// The next frame; its `pts` is the stored one that `FrameTimes` lists, rising from frame to frame. Nil after the last.
  /// The frame may share its planes with the decoder: call `makeWritable` before changing it.
  package func next() throws(MediaError) -> Frame? { nil }
}
