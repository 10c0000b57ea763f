import CompositionModel

extension TrackLabel {
  /// Its keys in the settings of a track.
  static let keys = ["language", "title"]

  /// The most characters of a title.
  static let greatestTitle = 200
}

extension TrackLabel {
  /// Nil if there is neither a language nor a title.
  var orNil: TrackLabel? { self == TrackLabel() ? nil : self }
}

extension DocumentReader {
  /// Reads a language of ISO 639-2.
  mutating func language(_ value: JSONValue?) -> String? {
    guard let value, let text = string(value) else { return nil }
    if text.utf8.count == 3, text.utf8.allSatisfy({ (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20) }) {
      return text.lowercased()
    }
    problems.addShape(
      value.pointer,
      "\(value.shown) is not a language: three letters of ISO 639-2, such as \"eng\", \"deu\" or \"fra\"")
    return nil
  }

  mutating func title(_ value: JSONValue?) -> String? {
    guard let value, let text = name(value, "a title") else { return nil }
    if text.count <= TrackLabel.greatestTitle { return text }
    problems.add(
      value.pointer, "the title has \(text.count) characters; at most \(TrackLabel.greatestTitle) are allowed")
    return nil
  }
}

extension Container {
  /// Whether it stores the language and the title of a video or an audio track.
  var hasTrackLabels: Bool {
    switch self {
    case .mp4, .mov, .m4v, .m4a, .mkv, .webm, .m3u8, .mpd: true
    case .mxf, .wav, .flac, .mp3, .ogg, .gif, .apng, .webp: false
    }
  }
}

extension Lowering {
  /// Reports a label that the container cannot store.
  /// - Parameter label: In the settings at `pointer`.
  mutating func check(_ label: TrackLabel?, at pointer: JSONPointer, isStoredIn container: Container) {
    guard let label, !container.hasTrackLabels else { return }
    let others = list(Container.allCases.filter(\.hasTrackLabels).map(\.rawValue))
    for (key, isGiven) in [("language", label.language != nil), ("title", label.title != nil)] where isGiven {
      problems.add(pointer.key(key), "\(container) cannot store the \(key) of a track; \(others) can")
    }
  }
}

/// Names of languages in ISO 639-2, which has two codes for twenty of them.
package enum Languages {
  /// By the bibliographic code, the terminological one.
  private static let terminological = [
    "alb": "sqi", "arm": "hye", "baq": "eus", "bur": "mya", "chi": "zho", "cze": "ces", "dut": "nld", "fre": "fra",
    "geo": "kat", "ger": "deu", "gre": "ell", "ice": "isl", "mac": "mkd", "mao": "mri", "may": "msa", "per": "fas",
    "rum": "ron", "slo": "slk", "tib": "bod", "wel": "cym",
  ]

  package static func areEqual(_ a: String, _ b: String) -> Bool {
    let (a, b) = (a.lowercased(), b.lowercased())
    return terminological[a] ?? a == terminological[b] ?? b
  }
}
