/// The format of the output file. The raw value is the extension of the output's path.
public enum Container: String, Sendable, Hashable, Codable, CaseIterable {
  case mp4, mov, m4v, mkv, webm, mxf, m4a, wav, flac, mp3, ogg, gif, apng, webp
  /// Playlists of HTTP Live Streaming, and the fragmented MP4 that they name: a file for each track.
  case m3u8
  /// A media presentation description of MPEG-DASH, and the fragmented MP4 that it names.
  case mpd

  /// The codecs whose definitions list the container. The first is that of a document that names none.
  package var videoCodecs: [VideoCodec] { VideoCodec.allCases.filter { $0.definition.containers.contains(self) } }
  package var audioCodecs: [AudioCodec] { AudioCodec.allCases.filter { $0.definition.containers.contains(self) } }
}

extension Container {
  /// The samples a second that it can store, the first of them the default. Nil: those of the codec.
  package var sampleRates: [Int]? { self == .mxf ? [48000] : nil }

  /// Whether it can have sound without pictures.
  package var hasSoundAlone: Bool { self != .mxf && !isAnimatedImage }

  /// Whether a file is one picture that moves, as browsers show it.
  package var isAnimatedImage: Bool { self == .gif || self == .apng || self == .webp }

  /// What a document may give as `plays`. Nil: it states nothing of the kind.
  package var playCounts: ClosedRange<Int>? { isAnimatedImage ? 0...65535 : nil }

  /// Seconds of which the times of pictures are whole numbers. Nil: any frame duration is exact.
  package var tick: MediaTime? {
    switch self {
    case .gif: MediaTime(value: 1, timescale: 100)
    case .webp: MediaTime(value: 1, timescale: 1000)
    default: nil
    }
  }

  /// The shortest time for which a picture can be shown. Nil: any. Browsers show a picture of a GIF that has less than
  /// 0.02 s for 0.1 s.
  package var shortestFrame: MediaTime? {
    switch self {
    case .gif: MediaTime(value: 2, timescale: 100)
    case .webp: tick
    default: nil
    }
  }

  /// The seconds a frame that it can store, if these are few. Nil: any.
  package var frameDurations: [MediaTime]? {
    guard self == .mxf else { return nil }
    return [
      MediaTime(value: 1001, timescale: 24000), MediaTime(value: 1, timescale: 24), MediaTime(value: 1, timescale: 25),
      MediaTime(value: 1001, timescale: 30000), MediaTime(value: 1, timescale: 30), MediaTime(value: 1, timescale: 48),
      MediaTime(value: 1, timescale: 50), MediaTime(value: 1001, timescale: 60000), MediaTime(value: 1, timescale: 60),
    ]
  }

  /// Whether it can state how players turn its pictures.
  package var hasTransforms: Bool { [.mp4, .mov, .m4v].contains(self) }

  /// Whether a file can be read from its first byte to its last without going back, as from a pipe.
  /// - Parameter indexFirst: whether its index is at its start.
  public func isStreamable(indexFirst: Bool) -> Bool {
    switch self {
    case .mp4, .mov, .m4v, .m4a: indexFirst
    case .mkv, .webm, .wav, .flac, .mp3, .ogg: true
    case .mxf, .m3u8, .mpd: false
    case .gif, .apng, .webp: true
    }
  }

  /// Whether a film is several files, which one of them names.
  package var isPlaylist: Bool { self == .m3u8 || self == .mpd }
}

extension Container {
  /// A path whose extension is not that of a container. The message is for the document's author.
  package struct UnknownExtension: Error {
    package var message: String
  }

  /// The container for the extension of a path, in upper or lower case.
  package init(path: String) throws(UnknownExtension) {
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
    let parts = name.split(separator: ".")
    // A name such as `.mp4` has no extension.
    let ending = parts.count > 1 ? (parts.last ?? "").lowercased() : ""
    if let container = Container(rawValue: ending) {
      self = container
      return
    }
    let names = Container.allCases.map(\.rawValue)
    let shown = String(name).shortened
    if ending == "png" {
      throw UnknownExtension(
        message: "the output '\(shown)' is a still picture, which 'sheaf image' makes; an animated PNG ends in .apng")
    }
    let guess = ending.isEmpty ? nil : nearest(to: ending, among: names)
    throw UnknownExtension(
      message: "the output '\(shown)' must end in one of .\(names.joined(separator: ", ."))"
        + (guess.map { "; did you mean '.\($0)'?" } ?? ""))
  }
}

extension Container {
  /// Whether edit lists say which part of the stored pictures and samples is presented, so that a cut may be anywhere.
  package var hasEditLists: Bool {
    switch self {
    case .mp4, .mov, .m4v, .m4a: true
    case .mkv, .webm, .mxf, .wav, .flac, .mp3, .ogg, .gif, .apng, .webp, .m3u8, .mpd: false
    }
  }
}
