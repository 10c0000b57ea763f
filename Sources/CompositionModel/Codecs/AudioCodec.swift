/// A codec for the output's audio. The raw value is the codec's name in documents and tasks.
///
/// "A codec" in `docs/architecture.md` has the steps.
public enum AudioCodec: String, Sendable, Hashable, Codable, CaseIterable {
  case aac, opus, mp3, flac, alac, pcm

  /// The codec of a document that names none: the container's first, or that of most films if it is not known.
  package static func standard(in container: Container?) -> AudioCodec { container?.audioCodecs.first ?? .aac }

  /// Every fact about the codec.
  package var definition: any AudioCodecDefinition {
    switch self {
    case .aac: AAC()
    case .opus: Opus()
    case .mp3: MP3()
    case .alac: ALAC()
    case .flac: FLAC()
    case .pcm: PCM()
    }
  }
}

/// Every fact about one audio codec. The document, the encoder and the stitcher use the definition, and no other place
/// depends on which codec it is.
package protocol AudioCodecDefinition: Sendable {
  /// The containers that can store it.
  var containers: [Container] { get }
  /// What a document may give as `sampleRate`, in samples a second, rising.
  var sampleRates: [Int] { get }
  /// The sample rate of a document that gives none.
  var defaultSampleRate: Int { get }
  /// What a document may give as `channels`, rising: those of `AudioSettings.channelCounts` that the codec can store.
  var channelCounts: [Int] { get }
  /// What a document may give as `bitRate`, in bits a second. Nil: the codec is lossless and has no such setting.
  var bitRates: ClosedRange<Int>? { get }
  /// What a document may give as `bitDepth`, in bits a sample. Empty: the codec has no such setting.
  var bitDepths: [Int] { get }
  /// How parts of a sound are encoded by themselves so that their packets follow one another. Nil: they cannot be.
  var joins: EncodedJoins? { get }

  /// The bit rate of a document that gives none. Nil: the codec has no such setting.
  func defaultBitRate(sampleRate: Int, channels: Int) -> Int?

  /// The highest bit rate that the codec can use. Nil: any of `bitRates`.
  func greatestBitRate(sampleRate: Int, channels: Int) -> Int?

  /// A reason why no encoder can follow the settings: a key of `export.audio`, and a message for the document's author.
  /// Nil if there is none.
  func problem(with settings: AudioSettings) -> (key: String, message: String)?

  /// How libavcodec's encoder is set up for samples of a bit depth. Nil: the codec cannot store them.
  func encoderSetup(bitDepth: Int) -> AudioEncoderSetup?
}

extension AudioCodecDefinition {
  var defaultSampleRate: Int { 44100 }
  var channelCounts: [Int] { AudioSettings.channelCounts }
  var joins: EncodedJoins? { nil }

  func greatestBitRate(sampleRate: Int, channels: Int) -> Int? { nil }

  /// The keys of `export.audio` for settings that not every codec has.
  package var settingKeys: [String] {
    [("bitRate", bitRates != nil), ("bitDepth", !bitDepths.isEmpty)].filter(\.1).map(\.0)
  }
}

/// A lossless codec that stores integers of 16 or 24 bits, of any rate and number of channels.
protocol LosslessAudioCodecDefinition: AudioCodecDefinition {}

extension LosslessAudioCodecDefinition {
  var sampleRates: [Int] { AudioSettings.commonSampleRates + [176_400, 192_000] }
  var bitRates: ClosedRange<Int>? { nil }
  var bitDepths: [Int] { [16, 24] }

  func defaultBitRate(sampleRate: Int, channels: Int) -> Int? { nil }

  func problem(with settings: AudioSettings) -> (key: String, message: String)? { nil }
}

/// What an encoder hears before and after a part of a sound, so that the part's packets follow those of the part before
/// as if one encoder had made both.
package struct EncodedJoins: Sendable, Hashable {
  /// The samples of a packet.
  package var frameSize: Int
  /// The packets before the part that are encoded and dropped.
  package var runUp: Int
  /// The same after it.
  package var lookAhead: Int
}

/// How an encoder of libavcodec is set up for a codec and a bit depth.
package struct AudioEncoderSetup: Sendable, Hashable {
  /// libavcodec's name of the encoder.
  package var encoder: String
  /// libavcodec's name of the codec, which the header of a piece carries.
  package var name: String
  /// How samples are passed to the encoder.
  package var layout: AudioSampleLayout
  /// Bits a sample as stored. 0 for a codec that stores no samples.
  package var bitDepth: Int
}

/// How samples are passed to an encoder: the type of a sample, in one row for each channel or in one row for all.
package struct AudioSampleLayout: Sendable, Hashable {
  package enum SampleType: Sendable, Hashable {
    /// 32-bit floats within -1...1.
    case float32
    case int16
    /// 32-bit integers, of which the upper 24 bits are the sample.
    case int32
  }

  package var type: SampleType
  /// Whether each channel has a row of its own. Otherwise there is one row, in which the channels of a sample follow
  /// one another.
  package var isPlanar: Bool

  static func planar(_ type: SampleType) -> Self { Self(type: type, isPlanar: true) }
  static func interleaved(_ type: SampleType) -> Self { Self(type: type, isPlanar: false) }

  /// The number of rows.
  package func rowCount(channels: Int) -> Int { isPlanar ? channels : 1 }

  /// Where a channel's samples are: its row, the index there of its first sample, and the distance from each to the
  /// next.
  package func place(ofChannel channel: Int, of channels: Int) -> (row: Int, first: Int, stride: Int) {
    isPlanar ? (channel, 0, 1) : (0, channel, channels)
  }
}

extension AudioSampleLayout.SampleType {
  /// The type for integers of 16 or 24 bits. Nil for any other depth.
  init?(integerBits: Int) {
    switch integerBits {
    case 16: self = .int16
    case 24: self = .int32
    default: return nil
    }
  }
}

extension AudioSettings {
  /// Samples a second that every codec takes.
  static let commonSampleRates = [
    8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 64000, 88200, 96000,
  ]

  /// The channel layouts that the mix can make: mono, stereo, 5.1 and 7.1.
  package static let channelCounts = [1, 2, 6, 8]

  /// The settings of a document that does not give them.
  package static let standard = (channels: 2, bitDepth: 16)

  /// libavcodec's name of the codec, which the header of a piece with these settings carries.
  package var codecName: String { codec.definition.encoderSetup(bitDepth: bitDepth)?.name ?? codec.rawValue }
}
