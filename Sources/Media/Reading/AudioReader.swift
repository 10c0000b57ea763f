package import Composition

/// The sound of one audio track, decoded in one thread to 32-bit float at its own rate and layout: the samples that
/// `ffmpeg` gives for that range, at exact positions on the asset's timeline.
package final class AudioReader {
  /// Samples a second of each channel.
  package let sampleRate: Int
  package let channels: Int
  /// libavutil's description of the layout.
  package let layout: String

  /// - Parameters:
  ///   - track: The stream's index in the file.
  ///   - timebase: The described track's, and `origin` its stored timestamp of the asset's time zero.
  ///   - format: What the track was described as.
  ///   - position: The first sample wanted, counted from time zero of the asset's timeline.
  package init(
    source: any ByteSource, name: String, track: Int, timebase: MediaTime, origin: Int64, format: AudioFormat,
    from position: Int64
  ) throws(MediaError) {
    throw MediaError(.unsupported, operation: "decoding", subject: name, message: "not there yet")
  }

  /// The next samples, none before the position asked for; positions rise, and where one does not follow the last
  /// sample of the block before, there is a gap (silence) in the track. Nil after the last.
  package func next() throws(MediaError) -> SoundBlock? { nil }
}
