public import CompositionModel
public import SheafCompositing

// What takes the samples of a track of a film that is written.

extension AssetWriter {
  /// Takes the pictures of a track.
  public struct VideoInput: Sendable {
    let writer: AssetWriter
    let track: Int
    /// Makes pictures of the film's size and format.
    public let pool: PixelBufferPool

    /// Appends a picture. Times rise, and may have any distance: each frame of the film shows the last picture that is
    /// not later, and a frame before all pictures the first one. Returns when the picture is taken, so that a fast
    /// source waits for the encoder.
    public func append(_ sample: VideoSample) async throws(SheafError) {
      try await writer.append(sample, to: track)
    }

    /// Appends a picture that is shown until the next.
    public func append(_ buffer: PixelBuffer, at time: MediaTime) async throws(SheafError) {
      try await append(VideoSample(presentationTime: time, duration: .zero, buffer: buffer))
    }
  }

  /// Takes the sound of a track.
  public struct AudioInput: Sendable {
    let writer: AssetWriter
    let track: Int

    /// Appends samples. Before a later position there is silence; what overlaps earlier samples is left out.
    public func append(_ sample: AudioSample) async throws(SheafError) { try await writer.append(sample, to: track) }
  }

  /// Takes the stored samples of a track.
  public struct StoredInput: Sendable {
    let writer: AssetWriter
    let track: Int
    /// That of every sample.
    public let format: StoredFormat

    /// Appends a sample as it is, in order of decoding. Its times are kept, to the nearest tick of the format. To join
    /// the samples of several files, append them one after the other, later by the duration of those before: their
    /// formats must be equal.
    public func append(_ sample: StoredSample) async throws(SheafError) {
      try await writer.append(sample, to: track)
    }
  }

  /// A text that is shown over a range of time: AVFoundation's `AVCaption`.
  public struct Caption: Sendable, Hashable {
    /// Lines are separated by line feeds.
    public var text: String
    /// Of what is appended, as the times of pictures. Rounded to milliseconds.
    public var timeRange: MediaTimeRange

    public init(_ text: String, timeRange: MediaTimeRange) {
      (self.text, self.timeRange) = (text, timeRange)
    }
  }

  /// Takes the captions of a text track.
  public struct CaptionInput: Sendable {
    let writer: AssetWriter
    let track: Int

    /// Appends a caption. What is outside of the session or after the film's end is left out.
    public func append(_ caption: Caption) async throws(SheafError) { try await writer.append(caption, to: track) }
  }

  /// Takes the timed metadata of a track: AVFoundation's `AVAssetWriterInputMetadataAdaptor`.
  public struct TimedMetadataInput: Sendable {
    let writer: AssetWriter
    let track: Int

    /// Appends the values of a range of time. Ranges rise and do not overlap; between them there are no values. What is
    /// outside of the session or after the film's end is left out.
    public func append(_ group: TimedMetadataGroup) async throws(SheafError) {
      try await writer.append(group, to: track)
    }
  }
}
