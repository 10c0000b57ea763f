/// The output file: its container, codecs and metadata, with every default filled in (FEATURES F26, F50, F51, F57).
public struct ExportSettings: Sendable, Hashable, Codable {
  /// The output's path as the document gives it; nil where only the command line names one.
  public var path: String?
  public var container: Container
  /// Nil: no picture in the output.
  public var video: VideoSettings?
  /// Nil: no sound in the output.
  public var audio: AudioSettings?
  /// Whether the index comes first in the file.
  public var optimizeForNetworkUse: Bool
  public var metadata: [String: String]

  public init(
    path: String?, container: Container, video: VideoSettings?, audio: AudioSettings?,
    optimizeForNetworkUse: Bool = true, metadata: [String: String] = [:]
  ) {
    self.path = path
    self.container = container
    self.video = video
    self.audio = audio
    self.optimizeForNetworkUse = optimizeForNetworkUse
    self.metadata = metadata
  }
}

public enum Container: String, Sendable, Hashable, Codable, CaseIterable {
  case mp4, mov, mkv
}

public struct VideoSettings: Sendable, Hashable, Codable {
  public enum Codec: String, Sendable, Hashable, Codable, CaseIterable {
    case h264, ffv1
  }

  public enum RateControl: Sendable, Hashable, Codable {
    /// x264's constant rate factor, 0…51; lower is better.
    case quality(Double)
    /// Bits a second, on average over each segment.
    case averageBitRate(Int)
    /// FFV1 loses nothing.
    case lossless
  }

  public var codec: Codec
  public var rateControl: RateControl
  /// x264's preset, such as `medium`. Nil for codecs without presets.
  public var preset: String?
  /// Such as `high`. Nil: the encoder's choice for the pixel format.
  public var profile: String?
  /// The most frames from one keyframe to the next. Positive.
  public var keyframeInterval: Int
  public var pixelFormat: PixelFormat
  /// What the output says of its colours; pictures are brought to this matrix and range.
  public var colour: ColourTags

  public init(
    codec: Codec, rateControl: RateControl, preset: String?, profile: String?, keyframeInterval: Int,
    pixelFormat: PixelFormat, colour: ColourTags
  ) {
    self.codec = codec
    self.rateControl = rateControl
    self.preset = preset
    self.profile = profile
    self.keyframeInterval = keyframeInterval
    self.pixelFormat = pixelFormat
    self.colour = colour
  }
}

/// The formats that compositing works in: planar Y'CbCr.
public enum PixelFormat: String, Sendable, Hashable, Codable, CaseIterable {
  case yuv420p, yuv422p, yuv444p, yuv420p10, yuv422p10, yuv444p10

  /// 8 or 10.
  public var bitDepth: Int {
    switch self {
    case .yuv420p, .yuv422p, .yuv444p: 8
    case .yuv420p10, .yuv422p10, .yuv444p10: 10
    }
  }

  /// Powers of two by which chroma planes are narrower and lower than luma.
  public var chromaShift: (horizontal: Int, vertical: Int) {
    switch self {
    case .yuv420p, .yuv420p10: (1, 1)
    case .yuv422p, .yuv422p10: (1, 0)
    case .yuv444p, .yuv444p10: (0, 0)
    }
  }
}

public struct AudioSettings: Sendable, Hashable, Codable {
  public enum Codec: String, Sendable, Hashable, Codable, CaseIterable {
    case aac, flac, pcm
  }

  public var codec: Codec
  /// Bits a second; nil for codecs that lose nothing.
  public var bitRate: Int?
  /// Samples a second of each channel.
  public var sampleRate: Int
  /// 1 mono, 2 stereo, 6 5.1, 8 7.1.
  public var channels: Int
  /// 16 or 24; for PCM and FLAC.
  public var bitDepth: Int

  public init(codec: Codec, bitRate: Int?, sampleRate: Int, channels: Int, bitDepth: Int = 16) {
    self.codec = codec
    self.bitRate = bitRate
    self.sampleRate = sampleRate
    self.channels = channels
    self.bitDepth = bitDepth
  }
}
