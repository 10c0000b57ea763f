/// What the document says of a codec's half of the output.
enum Choice<Settings: Sendable>: Sendable {
  /// Nothing: there is one where the composition has something for it.
  case automatic
  /// `false`.
  case none
  case settings(Settings)

  var settings: Settings? { if case .settings(let settings) = self { settings } else { nil } }
}

/// `export` as written.
struct ExportEntry: Sendable {
  var to: String?
  var video: Choice<VideoEntry> = .automatic
  var audio: Choice<AudioEntry> = .automatic
  var optimizeForNetworkUse = true
  var metadata: [String: String] = [:]
  var pointer: JSONPointer
}

/// `export.video` as written.
struct VideoEntry: Sendable {
  enum KeyframeInterval: Sendable {
    case frames(Int)
    case time(WrittenTime)
  }

  var codec: VideoSettings.Codec = .h264
  var quality: Double?
  var bitRate: Int?
  var preset: String?
  var profile: String?
  var keyframeInterval: KeyframeInterval?
  var pixelFormat: PixelFormat?
  var pointer: JSONPointer
}

/// `export.audio` as written.
struct AudioEntry: Sendable {
  var codec: AudioSettings.Codec = .aac
  var bitRate: Int?
  var sampleRate: Int?
  var channels: Int?
  var bitDepth: Int?
  var pointer: JSONPointer
}
