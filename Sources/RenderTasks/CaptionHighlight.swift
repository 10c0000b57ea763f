import CompositionModel

/// The colours of a caption's words before, while and after they are said.
struct CaptionHighlight: Sendable {
  private let style: CaptionStyle

  /// Nil for a style in which all words look the same.
  init?(_ style: CaptionStyle?) {
    guard let style, style.highlightColor != nil || style.spokenColor != nil else { return nil }
    self.style = style
  }

  /// The tags that color a word.
  /// - Parameters:
  ///   - said: In milliseconds since the caption is shown; may begin before that.
  ///   - own: The color that the file gives the word, as its tag has it. Nil: none.
  func tags(_ said: Range<Int64>, own: String?) -> String {
    let before = own ?? Self.value(style.color)
    let after = style.spokenColor.map(Self.value) ?? before
    let now = style.highlightColor.map(Self.value) ?? after
    let colors = [style.color, style.spokenColor, style.highlightColor].compactMap(\.self)
    // A tag of transparency would end that of a file for a whole caption.
    let hasAlpha = colors.contains { $0.alpha != 255 }
    func tags(_ value: String, _ color: Color?) -> String {
      "\\1c\(value)" + (hasAlpha ? "\\1a&H\((255 - (color ?? style.color).alpha).hexadecimal)&" : "")
    }
    let (first, second, third) = (
      tags(before, nil), tags(now, style.highlightColor ?? style.spokenColor), tags(after, style.spokenColor)
    )
    // A transform of no length changes the color from its time on. One to 0 would last as long as the caption.
    var written = said.upperBound <= 0 ? third : said.lowerBound <= 0 ? second : first
    if said.lowerBound > 0, !said.isEmpty { written += "\\t(\(said.lowerBound),\(said.lowerBound),\(second))" }
    if said.upperBound > 0, third != second || said.isEmpty {
      written += "\\t(\(said.upperBound),\(said.upperBound),\(third))"
    }
    return "{\(written)}"
  }

  /// A color as tags have it.
  private static func value(_ color: Color) -> String {
    "&H\(color.blue.hexadecimal)\(color.green.hexadecimal)\(color.red.hexadecimal)&"
  }
}

extension CaptionEvent {
  /// Whether what its tags change over time may change its size, and so its place. Colors do not.
  package static func changesSize(_ fields: String) -> Bool {
    var rest = fields[...]
    while let transform = rest.firstRange(of: "\\t(") {
      rest = rest[transform.upperBound...]
      let tags = rest.prefix { $0 != ")" }.split(separator: "\\").dropFirst()
      if tags.isEmpty || !tags.allSatisfy({ $0.hasPrefix("1c&H") || $0.hasPrefix("1a&H") }) { return true }
    }
    return false
  }
}

/// When the words of an event are said, by its tags of karaoke: `\k`, `\K`, `\kf` and `\ko` with how long the text
/// after it lasts, and `\kt` with when it begins.
struct KaraokeTimes {
  /// When the text that is read next is said, in milliseconds since the caption's start. Nil: it has no time.
  private(set) var said: Range<Int64>?
  private var end: Int64 = 0
  /// The latest color of the letters that a tag has given.
  private(set) var color: String?

  /// Reads override tags in braces. Returns them without those of karaoke.
  mutating func read(_ tags: String) -> String {
    guard tags.contains("\\") else { return tags }
    let parts = tags.dropFirst().dropLast().split(separator: "\\", omittingEmptySubsequences: false)
    var kept = String(parts[0])
    // A tag in a transform is another one's value.
    var depth = 0
    for part in parts.dropFirst() {
      let isOwn = depth == 0
      depth += part.count { $0 == "(" } - part.count { $0 == ")" }
      if isOwn, let letter = part.first, letter == "k" || letter == "K" {
        let name = part.prefix { $0.isLetter }
        let time = Self.milliseconds(part[name.endIndex...])
        if name == "kt" {
          end = time ?? 0
        } else {
          said = end..<end + (time ?? 1000)
          end += time ?? 1000
        }
        continue
      }
      if isOwn { readColor(part) }
      kept += "\\\(part)"
    }
    return kept.isEmpty ? "" : "{\(kept)}"
  }

  private mutating func readColor(_ tag: Substring) {
    if tag.hasPrefix("r") { color = nil }
    guard let name = ["1c", "c"].first(where: tag.hasPrefix) else { return }
    let value = tag.dropFirst(name.count).filter { !$0.isWhitespace }
    if value.isEmpty { color = nil }
    if value.first == "&" { color = String(value) }
  }

  /// Hundredths of a second as milliseconds; a point may follow.
  private static func milliseconds(_ text: Substring) -> Int64? {
    let parts = text.drop(while: \.isWhitespace).split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    let digits = (parts.first ?? "").prefix { $0.isASCII && $0.isNumber }
    guard let whole = Int64(digits), whole < 100_000_000 else { return nil }
    let tenth = parts.count > 1 ? parts[1].first.flatMap { $0.isASCII ? $0.wholeNumberValue : nil } ?? 0 : 0
    return whole * 10 + Int64(tenth)
  }
}
