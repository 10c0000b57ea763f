import CompositionModel
import RenderTasks

/// The styles of a script of ASS, and events rewritten for libavcodec's encoder of QuickTime text (`mov_text`). The
/// encoder gives size 0 to an event whose style is not in the script and to the text after `\fs` without a number, and
/// ignores the tag `\c`.
struct QuickTimeStyles {
  private struct Style {
    var name: String
    var size: Int
    /// As in the tag `\1c`.
    var colour: String
  }

  /// By name.
  private let styles: [String: Style]
  /// The style of an event that names one which is not in the script, as in libass. Nil: the script has no styles.
  private let standard: Style?

  /// - Parameter header: the head of the script.
  init(_ header: String) {
    // By name, the places of a style's fields.
    var columns = ["Name": 0, "Fontsize": 2, "PrimaryColour": 3]
    var styles: [String: Style] = [:]
    var first: Style?
    for line in header.split(whereSeparator: \.isNewline) {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      let fields = parts[1].split(separator: ",", omittingEmptySubsequences: false).map {
        String($0.drop(while: \.isWhitespace))
      }
      if parts[0] == "Format", fields.contains("Fontsize") {
        columns = Dictionary(zip(fields, fields.indices)) { first, _ in first }
      }
      func field(_ column: String) -> String? {
        columns[column].flatMap { fields.indices.contains($0) ? fields[$0] : nil }
      }
      guard parts[0] == "Style", let name = field("Name") else { continue }
      let style = Style(
        name: name, size: Self.size(field("Fontsize")), colour: Self.colour(field("PrimaryColour")))
      first = first ?? style
      styles[name] = styles[name] ?? style
    }
    self.styles = styles
    standard = styles["Default"] ?? first
  }

  /// The fields of an event, with a style of the script, and with the number of each size and colour.
  func complete(_ fields: String) -> String {
    var parts = fields.commaFields()
    guard parts.count == 9, let style = styles[parts[2]] ?? standard else { return fields }
    parts[2] = style.name
    var text = ""
    var rest = parts[8][...]
    while let start = CaptionText.tags(in: rest, after: 0), let end = rest[start...].firstIndex(of: "}") {
      text += rest[..<start]
      let tags = rest[rest.index(after: start)..<end].split(separator: "\\", omittingEmptySubsequences: false)
      text +=
        "{" + tags.enumerated().map { $0 == 0 ? String($1) : complete($1, of: style) }.joined(separator: "\\") + "}"
      rest = rest[rest.index(after: end)...]
    }
    return parts[..<8].joined(separator: ",") + "," + text + rest
  }

  private func complete(_ tag: Substring, of style: Style) -> String {
    switch tag {
    case "fs": "fs\(style.size)"
    case "c", "1c": "1c\(style.colour)"
    default: tag.hasPrefix("c&") ? "1\(tag)" : String(tag)
    }
  }

  /// 16, libavcodec's own, for what is no size.
  private static func size(_ text: String?) -> Int {
    text.flatMap { Double($0) }.flatMap { (1...1000).contains($0) ? Int($0.rounded()) : nil } ?? 16
  }

  /// A colour of a tag, from that of a style: blue, green and red in hexadecimal, or all in decimal. White if it is
  /// none.
  private static func colour(_ text: String?) -> String {
    let text = text ?? ""
    let value =
      text.uppercased().hasPrefix("&H")
      ? UInt32(text.dropFirst(2).prefix(while: \.isHexDigit), radix: 16)
      : Int64(text).map { UInt32(truncatingIfNeeded: $0) }
    let digits = String((value ?? 0xFF_FFFF) & 0xFF_FFFF, radix: 16, uppercase: true)
    return "&H" + String(repeating: "0", count: 6 - digits.count) + digits + "&"
  }
}
