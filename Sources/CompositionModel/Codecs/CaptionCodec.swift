/// How the captions of a text track are stored. The raw value is libavcodec's name of the encoder.
public enum CaptionCodec: String, Sendable, Hashable, Codable {
  /// QuickTime's text, which files of the mov family have.
  case movText = "mov_text"
  case subRip = "srt"
  /// With the author's styles.
  case ass
  case webVTT = "webvtt"

  /// That of captions without styles in a container. Nil if the container has no text tracks.
  package init?(_ container: Container) {
    switch container {
    case .mp4, .mov, .m4v: self = .movText
    case .mkv: self = .subRip
    case .webm, .m3u8, .mpd: self = .webVTT
    case .mxf, .m4a, .wav, .flac, .mp3, .ogg, .gif, .apng, .webp: return nil
    }
  }
}

extension Container {
  package var hasTextTracks: Bool { CaptionCodec(self) != nil }
}
