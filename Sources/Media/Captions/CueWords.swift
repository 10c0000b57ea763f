internal import CompositionModel

/// The times of words in a cue: `<00:00:01.500>` of WebVTT becomes the tag of karaoke that ASS has for it, and such a
/// tag in SRT, `{\k50}`, is kept. And its voices: `<v Fred>` of WebVTT becomes the mark of a voice (`CaptionVoices`).
/// libavcodec's decoders take all of them for nothing.
enum CueWords {
  /// What stands for a tag of karaoke, or for a voice, in a text that is decoded. Texts do not have it.
  private static let mark: Unicode.Scalar = "\u{1}"

  /// The text of a cue of WebVTT with marks in place of its times and voices. Nil: it has none, or it is not text.
  /// - Parameters:
  ///   - start: Of the cue, in milliseconds of the file.
  ///   - end: The same.
  ///   - hasTimes: Whether times are those of the file. Others are left to the decoder, which takes them for nothing.
  static func marked(
    webVTT text: some Collection<UInt8>, start: Int64, end: Int64, hasTimes: Bool
  ) -> String? {
    guard text.contains(UInt8(ascii: "<")), let cue = String(validating: text, as: UTF8.self) else { return nil }
    var parts: [(start: Int64, text: String)] = [(start, "")]
    var voices: [String] = []
    var hasVoices = false
    var rest = String(String.UnicodeScalarView(cue.unicodeScalars.filter { $0 != mark }))[...]
    while let open = rest.firstIndex(of: "<") {
      parts[parts.count - 1].text += rest[..<open]
      rest = rest[open...]
      guard let close = rest.firstIndex(of: ">") else { break }
      let tag = rest[...close]
      rest = rest[rest.index(after: close)...]
      if hasTimes, let time = time(tag.dropFirst().dropLast()) {
        // One that is not later than those before it is none, as one beyond the cue.
        if time > parts[parts.count - 1].start, time < end { parts.append((time, "")) }
      } else if let voice = voice(tag) {
        hasVoices = true
        voices.append(voice)
        parts[parts.count - 1].text += mark(ofVoice: voice)
      } else if tag == "</v>", voices.popLast() != nil {
        // One within another one, which goes on.
        parts[parts.count - 1].text += mark(ofVoice: voices.last ?? "")
      } else {
        parts[parts.count - 1].text += tag
      }
    }
    parts[parts.count - 1].text += rest
    guard parts.count > 1 else { return hasVoices ? parts[0].text : nil }
    let ends = parts.dropFirst().map(\.start) + [end]
    return zip(parts, ends).map { "\(mark)\($1 - $0.start)\(mark)\($0.text)" }.joined()
  }

  /// The text of a cue of SRT with marks in place of its tags of karaoke. Nil: it has none, or it is not text.
  static func marked(srt text: some Collection<UInt8>) -> String? {
    guard text.contains(UInt8(ascii: "{")), let cue = String(validating: text, as: UTF8.self) else { return nil }
    let plain = String(String.UnicodeScalarView(cue.unicodeScalars.filter { $0 != mark }))
    let marked = plain.replacing(#/\{\\(?<tag>(?:k|K|kf|ko)[0-9]{1,8})\}/#) { "\(mark)\($0.tag)\(mark)" }
    return marked == plain ? nil : marked
  }

  /// A decoded text with tags in place of the marks.
  static func tagged(_ text: String) -> String {
    text.unicodeScalars.split(separator: mark, omittingEmptySubsequences: false).enumerated().map { index, part in
      guard index % 2 == 1 else { return String(part) }
      if part.first == "=" { return CaptionVoices.mark(String(part.dropFirst())) }
      guard let duration = Int64(String(part)) else { return "{\\\(String(part))}" }
      // In hundredths of a second, with a tenth of one.
      return "{\\k\(duration / 10)" + (duration % 10 == 0 ? "}" : ".\(duration % 10)}")
    }.joined()
  }

  /// The name of `<v Fred>`, and of `<v.loud Fred>`, which has classes too. Nil: it is another tag.
  private static func voice(_ tag: Substring) -> String? {
    let content = tag.dropFirst().dropLast()
    guard content.first == "v", let next = content.dropFirst().first, next == "." || next.isWhitespace else {
      return nil
    }
    return CaptionVoices.name(content.drop { !$0.isWhitespace })
  }

  private static func mark(ofVoice name: String) -> String { "\(mark)=\(name)\(mark)" }

  /// Milliseconds of `00:00:01.500` or `00:01.500`.
  private static func time(_ text: Substring) -> Int64? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard (2...3).contains(parts.count), let last = parts.last else { return nil }
    let seconds = last.split(separator: ".", omittingEmptySubsequences: false)
    guard seconds.count == 2, seconds[0].count == 2, seconds[1].count == 3, parts.first?.count ?? 0 >= 2,
      parts.dropFirst().dropLast().allSatisfy({ $0.count == 2 })
    else { return nil }
    let digits = parts.dropLast() + seconds
    guard digits.allSatisfy({ $0.count < 8 && $0.allSatisfy { $0.isASCII && $0.isNumber } }) else { return nil }
    let numbers = digits.compactMap { Int64($0) }
    let whole = numbers.dropLast().reduce(0) { $0 * 60 + $1 }
    return numbers.count == digits.count ? whole * 1000 + numbers[numbers.count - 1] : nil
  }
}
