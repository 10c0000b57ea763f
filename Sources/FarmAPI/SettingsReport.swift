package import CompositionModel
package import EditDocument

/// What a preset gives for an input, as `sheaf presets --preset NAME --json` prints it. Its JSON is stable: keys may be
/// added, but are never changed.
package struct SettingsReport: Sendable, Hashable, Encodable {
  package struct Video: Sendable, Hashable, Encodable {
    package var codec: String
    package var quality: Double?
    package var preset: String?
    /// Nil: the pictures are copied.
    package var keyframeInterval: Int?
    package var pixelFormat: String
  }

  package struct Audio: Sendable, Hashable, Encodable {
    package var codec: String
    package var bitRate: Int?
    package var bitDepth: Int?
    package var sampleRate: Int
    package var channels: Int
  }

  package var preset: String
  package var container: String
  package var width: Int?
  package var height: Int?
  package var frameDuration: MediaTime?
  package var video: Video?
  package var audio: Audio?

  package init(_ settings: SuggestedSettings) {
    preset = settings.preset.rawValue
    container = settings.container.rawValue
    width = settings.size?.width
    height = settings.size?.height
    frameDuration = settings.frameDuration
    video = settings.video.map { video in
      var quality: Double?
      if video.targetQuality == nil, case .quality(let value) = video.rateControl { quality = value }
      return Video(
        codec: video.codec.rawValue, quality: quality, preset: video.preset, keyframeInterval: video.keyframeInterval,
        pixelFormat: video.pixelFormat.rawValue)
    }
    audio = settings.audio.map { audio in
      Audio(
        codec: audio.codec.rawValue, bitRate: audio.bitRate, bitDepth: audio.bitRate == nil ? audio.bitDepth : nil,
        sampleRate: audio.sampleRate, channels: audio.channels)
    }
  }

  package init(_ settings: PassthroughSettings) {
    preset = PresetChoice.passthrough.name
    container = settings.containers[0].rawValue
    if let track = settings.video, let format = track.video {
      (width, height) = (format.size.width, format.size.height)
      video = Video(codec: track.codec, pixelFormat: format.pixelFormat)
    }
    if let track = settings.audio, let format = track.audio {
      audio = Audio(codec: track.codec, sampleRate: format.sampleRate, channels: format.channels)
    }
  }
}
