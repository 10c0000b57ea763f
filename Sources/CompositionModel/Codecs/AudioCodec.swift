/// A codec for the output's audio. The raw value is the codec's name in documents and tasks.
///
/// To add a codec, write its definition in a file of its own, add a case here with its row in `definition`, take its
/// name out of `notYet`, and describe it in `docs/document.md`. No other source file names a codec.
public enum AudioCodec: String, Sendable, Hashable, Codable, CaseIterable {
  case aac, flac, pcm

  /// The codec of a document that names none.
  static let standard = AudioCodec.aac

  /// Codecs of the document's language that this version cannot encode.
  static let notYet = ["alac", "opus", "mp3"]

  /// Every fact about the codec.
  package var definition: any AudioCodecDefinition {
    switch self {
    case .aac: AAC()
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
  /// What a document may give as `bitRate`, in bits a second. Nil: the codec is lossless and has no such setting.
  var bitRates: ClosedRange<Int>? { get }
  /// What a document may give as `bitDepth`, in bits a sample. Empty: the codec has no such setting.
  var bitDepths: [Int] { get }

  /// The bit rate of a document that gives none. Nil: the codec has no such setting.
  func defaultBitRate(sampleRate: Int, channels: Int) -> Int?

  /// A reason why no encoder can follow the settings: a key of `export.audio`, and a message for the document's author.
  /// Nil if there is none.
  func problem(with settings: AudioSettings) -> (key: String, message: String)?

  /// How libavcodec's encoder is set up for samples of a bit depth. Nil: the codec cannot store them.
  func encoderSetup(bitDepth: Int) -> AudioEncoderSetup?
}

extension AudioCodecDefinition {
  /// The keys of `export.audio` for settings that not every codec has.
  var settingKeys: [String] { [("bitRate", bitRates != nil), ("bitDepth", !bitDepths.isEmpty)].filter(\.1).map(\.0) }
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

/// How samples are passed to an encoder.
package enum AudioSampleLayout: Sendable, Hashable {
  /// A row of 32-bit floats for each channel.
  case planarFloat
  /// One row of 16-bit integers. The channels of a sample follow one another.
  case interleavedInt16
  /// One row of 32-bit integers, of which the upper 24 bits are the sample. The channels of a sample follow one
  /// another.
  case interleavedInt32

  /// The layout of integers of 16 or 24 bits. Nil for any other depth.
  init?(integerBits: Int) {
    switch integerBits {
    case 16: self = .interleavedInt16
    case 24: self = .interleavedInt32
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
  static let channelCounts = [1, 2, 6, 8]

  /// The settings of a document that does not give them.
  static let standard = (sampleRate: 44100, channels: 2, bitDepth: 16)

  /// libavcodec's name of the codec, which the header of a piece with these settings carries.
  package var codecName: String { codec.definition.encoderSetup(bitDepth: bitDepth)?.name ?? codec.rawValue }
}
