/// What x264 takes.
enum H264 {
  static let presets = [
    "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow", "placebo",
  ]

  /// Each with the most that it can carry.
  static let profiles: [(name: String, bitDepth: Int, chromaShift: (horizontal: Int, vertical: Int))] = [
    ("baseline", 8, (1, 1)), ("main", 8, (1, 1)), ("high", 8, (1, 1)), ("high10", 10, (1, 1)),
    ("high422", 10, (1, 0)), ("high444", 10, (0, 0)),
  ]

  static func profile(_ name: String, carries format: PixelFormat) -> Bool {
    guard let profile = profiles.first(where: { $0.name == name }) else { return false }
    return format.bitDepth <= profile.bitDepth && format.chromaShift.horizontal >= profile.chromaShift.horizontal
      && format.chromaShift.vertical >= profile.chromaShift.vertical
  }
}

extension VideoSettings {
  /// Frames from one keyframe to the next.
  static let keyframeIntervals = 1...100_000
}

extension AudioSettings.Codec {
  /// Samples a second that the encoder takes.
  var sampleRates: [Int] {
    let usual = [8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 64000, 88200, 96000]
    return self == .aac ? usual : usual + [176_400, 192_000]
  }
}

extension Container {
  /// Extensions of containers that the document's language has and this version cannot write.
  static let unsupported = ["m4v", "webm", "mxf", "m4a", "wav", "flac", "mp3"]

  var videoCodecs: [VideoSettings.Codec] {
    switch self {
    case .mp4: [.h264]
    case .mov, .mkv: [.h264, .ffv1]
    }
  }

  var audioCodecs: [AudioSettings.Codec] {
    switch self {
    case .mp4: [.aac, .flac]
    case .mov: [.aac, .pcm]
    case .mkv: [.aac, .flac, .pcm]
    }
  }
}
