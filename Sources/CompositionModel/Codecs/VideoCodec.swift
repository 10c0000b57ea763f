/// A codec for the output's video. The raw value is the codec's name in documents and tasks.
///
/// "A codec" in `docs/architecture.md` has the steps.
public enum VideoCodec: String, Sendable, Hashable, Codable, CaseIterable {
  case h264, hevc, prores422, prores4444, vp9, av1, ffv1, gif, apng, webp

  /// The codec of a document that names none: the container's first, or that of most films if it is not known or has
  /// none.
  package static func standard(in container: Container?) -> VideoCodec { container?.videoCodecs.first ?? .h264 }

  /// Every fact about the codec.
  package var definition: any VideoCodecDefinition {
    switch self {
    case .h264: H264()
    case .hevc: HEVC()
    case .prores422: ProRes.prores422
    case .prores4444: ProRes.prores4444
    case .vp9: VP9()
    case .av1: AV1()
    case .ffv1: FFV1()
    case .gif: GIF()
    case .apng: APNG()
    case .webp: WebP()
    }
  }
}

/// Every fact about one video codec. The document, the planner, the encoder and the stitcher use the definition, and no
/// other place depends on which codec it is.
package protocol VideoCodecDefinition: Sendable {
  /// libavcodec's name of the codec, which the header of a piece carries.
  var name: String { get }
  /// The containers that can store it.
  var containers: [Container] { get }
  /// The pixel formats that it can encode.
  var pixelFormats: [PixelFormat] { get }
  /// What a document may give as `quality`. Nil: the codec has no such setting.
  var qualities: ClosedRange<Double>? { get }
  /// What a document may give as `bitRate`, in bits a second. Nil: the codec has no such setting.
  var bitRates: ClosedRange<Int>? { get }
  /// What a document may give as `preset`, the fastest first. Empty: the codec has no such setting.
  var presets: [String] { get }
  /// The preset of a document that gives none. Nil if there are no presets.
  var defaultPreset: String? { get }
  /// What a document may give as `profile`. Empty: the codec has no such setting.
  var profiles: [String] { get }
  /// What a document may give as `level`, rising. Empty: the codec has no such setting.
  var levels: [String] { get }
  /// What a document may give as `maxBitRate`, in bits a second. Nil: the codec has no such setting.
  var maxBitRates: ClosedRange<Int>? { get }

  /// Whether every frame is a keyframe, whatever the settings are.
  var isIntraOnly: Bool { get }

  /// How pictures that are stored can be copied between those that are encoded. Nil: they cannot.
  var smartRendering: SmartRendering? { get }

  /// Whether its pictures are red, green and blue in the colours of screens (sRGB), and nothing states others.
  var isOfScreens: Bool { get }
  /// What a document may give as `dither`. Empty: the codec has no such setting.
  var ditherings: [Dithering] { get }

  /// The pixel format of a document that gives none.
  /// - Parameters:
  ///   - source: the format that stores the first clip with the least change.
  ///   - isHDR: whether the first clip has a high dynamic range (PQ or HLG).
  func defaultPixelFormat(source: PixelFormat, isHDR: Bool) -> PixelFormat

  /// The rate control of a document that gives `quality`, `bitRate` or neither.
  func rateControl(quality: Double?, bitRate: Int?) -> VideoSettings.RateControl

  /// A reason why no encoder can follow the settings: a key of `export.video`, and a message for the document's author.
  /// Nil if there is none.
  func problem(with settings: VideoSettings) -> (key: String, message: String)?

  /// A reason why no encoder can store frames of a size that the pixel format can store, for the document's author. Nil
  /// if there is none.
  func problem(with size: PixelSize, _ pixelFormat: PixelFormat) -> String?

  /// A reason why the settings' level, or any level, cannot hold the film's pictures or bits: a key of `export.video`,
  /// and a message for the document's author. Nil if there is none.
  func problem(
    with settings: VideoSettings, size: PixelSize, frameDuration: MediaTime
  ) -> (key: String, message: String)?

  /// The settings with the limit of bits that follows from their level, or the level that follows from their limit.
  /// Settings with neither are returned as they are.
  func completed(_ settings: VideoSettings, size: PixelSize, frameDuration: MediaTime)
    -> VideoSettings

  /// How libavcodec's encoder is set up.
  /// - Parameter size: the size of a frame. Both sides are positive.
  func encoderSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup

  /// The four characters by which QuickTime files name the codec. Nil: the muxer's own choice.
  func quickTimeTag(_ settings: VideoSettings) -> String?

  /// How bits are predicted for a film with an average bit rate. Nil: the codec has no such setting.
  func bitRateModel(_ settings: VideoSettings) -> BitRateModel?
  /// How much is lost at a quality. Nil: no quality can be asked for by what is lost.
  var qualityModel: QualityModel? { get }

  /// How libavcodec's encoder is set up to measure a segment: faster than the real one, with the same lookahead, so
  /// that its frames have the same types. The settings' rate control is a quality.
  func measuringSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup

  /// How many frames the encoder begins after one before it returns that one's packet, because it encodes several at
  /// once.
  func lateFrames(_ settings: VideoSettings) -> Int

  /// How many frames the encoder has at a time, from the one that it looks ahead to, to the oldest that it refers to.
  func heldFrames(_ settings: VideoSettings) -> Int

  /// What the encoder takes for a pixel if the settings state no bit rate. Nil: they do.
  func expectedBits(_ settings: VideoSettings) -> ExpectedBits?

  /// The estimated work to encode one pixel. The unit is one pixel through x264's preset `medium`.
  func costPerPixel(_ settings: VideoSettings) -> Double
}

extension VideoCodecDefinition {
  package func problem(with size: PixelSize, _ pixelFormat: PixelFormat) -> String? { nil }
  package func bitRateModel(_ settings: VideoSettings) -> BitRateModel? { nil }
  package var qualityModel: QualityModel? { nil }
  package func lateFrames(_ settings: VideoSettings) -> Int { 0 }
  package func heldFrames(_ settings: VideoSettings) -> Int { 4 }
  package var isIntraOnly: Bool { false }
  package var smartRendering: SmartRendering? { nil }
  package var isOfScreens: Bool { false }
  package var ditherings: [Dithering] { [] }
  package var levels: [String] { [] }
  package var maxBitRates: ClosedRange<Int>? { nil }

  package func problem(
    with settings: VideoSettings, size: PixelSize, frameDuration: MediaTime
  ) -> (key: String, message: String)? { nil }

  package func completed(
    _ settings: VideoSettings, size: PixelSize, frameDuration: MediaTime
  ) -> VideoSettings { settings }

  package func quickTimeTag(_ settings: VideoSettings) -> String? { nil }

  package func measuringSetup(_ settings: VideoSettings, size: PixelSize) -> VideoEncoderSetup {
    encoderSetup(settings, size: size)
  }

  /// The keys of `export.video` for settings that not every codec has.
  package var settingKeys: [String] {
    [
      ("quality", qualities != nil), ("targetQuality", qualityModel != nil), ("bitRate", bitRates != nil),
      ("preset", !presets.isEmpty),
      ("profile", !profiles.isEmpty), ("level", !levels.isEmpty),
      ("maxBitRate", maxBitRates != nil),
      ("bufferDuration", maxBitRates != nil), ("dither", !ditherings.isEmpty),
    ].filter(\.1).map(\.0)
  }
}

/// How stored pictures of a codec follow encoded ones in one track, so that one decoder reads both.
package enum SmartRendering: Sendable {
  /// Each picture by itself.
  case pictures
  /// From a keyframe on. It sets all that later pictures depend on.
  case groups
  /// From a keyframe on, if all pictures refer to the same parameter sets: the headers of encoded ones are made to
  /// refer to those of the copied ones.
  case sharedParameterSets
}

/// How an encoder of libavcodec is set up for a codec and its settings. The bytes of a piece depend on every part of
/// it.
package struct VideoEncoderSetup: Sendable {
  /// libavcodec's name of the encoder.
  package var encoder: String
  /// The most frames from one keyframe to the next. 1: every frame is a keyframe.
  package var keyframeInterval: Int
  /// Bits a second. Nil: the encoder is not given any.
  package var bitRate: Int?
  /// The codec's level or version. Nil: the encoder's own choice.
  package var level: Int?
  /// libavcodec's number of the codec's profile, for encoders that are not given it as an option and do not state it.
  /// Nil: the encoder's own.
  package var profile: Int?
  /// How many frames are decoded ahead of their presentation at most, for encoders that do not state it. Nil: as the
  /// encoder states.
  package var reorderDepth: Int?
  /// Slices in a frame. Nil: the encoder's own choice.
  package var slices: Int?
  /// Whether a process can have only one of these encoders at a time.
  package var isAlone = false
  /// How often the last frame is sent again after the segment's end, behind a keyframe. The packets of these frames are
  /// dropped. Without them, an encoder that gives a picture bits for what later ones take from it would give too few to
  /// the last ones, because it does not know that the film goes on.
  package var framesAfterEnd = 0
  /// The pictures that it takes. Nil: the film's as they are.
  package var pictures: EncoderPictures?
  /// What of its packets is stored.
  package var packets = EncoderPackets.whole
  /// The encoder's own options, in the order in which they are set.
  package var options: [(key: String, value: String)]
}
