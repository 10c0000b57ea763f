/// Who says what in a caption: marks in the text of an event of a file without styles. A voice begins with `{\=Fred}`
/// and ends with the next mark; `{\=}` begins what nobody says.
///
/// ASS has a name for each event, and a caption may have several voices. What is drawn or stored has no marks.
package enum CaptionVoices {
  private static let start = "{\\="
  /// The most characters of a name. Of longer ones the beginning counts.
  package static let longestName = 200

  /// The mark of a voice. Nil: that of none.
  package static func mark(_ voice: String?) -> String { "\(start)\(voice.map(name) ?? "")}" }

  /// A name as marks have it: with single spaces between its words, and without what ends a mark.
  package static func name(_ written: some StringProtocol) -> String {
    let scalars = written.unicodeScalars.filter { !"{}\\".unicodeScalars.contains($0) }
    let words = String(String.UnicodeScalarView(scalars.prefix(longestName))).split(whereSeparator: \.isWhitespace)
    return words.joined(separator: " ")
  }

  /// The voice that a mark begins. Nil: it is no mark. Empty: that of none.
  static func voice(of tags: String) -> String? {
    let scalars = tags.unicodeScalars
    guard scalars.starts(with: start.unicodeScalars) else { return nil }
    return String(String.UnicodeScalarView(scalars.dropFirst(start.unicodeScalars.count).dropLast()))
  }

  /// The names in a text.
  package static func names(in text: String) -> [String] {
    guard text.unicodeScalars.contains("{") else { return [] }
    return CaptionText.parts(of: text).compactMap { $0.isTags ? voice(of: $0.text) : nil }.filter { !$0.isEmpty }
  }

  /// A text without marks.
  package static func removed(from text: String) -> String {
    guard text.unicodeScalars.contains("{") else { return text }
    return CaptionText.parts(of: text).filter { !$0.isTags || voice(of: $0.text) == nil }.map(\.text).joined()
  }
}

/// How the words of one speaker are shown.
public struct CaptionSpeaker: Sendable, Hashable, Codable {
  /// Of the words, and of the name, in captions that are drawn. Nil: as those of others.
  public var color: Color?
  /// What is written before the words, where names are. Nil: the name in the captions.
  public var name: String?

  public init(color: Color? = nil, name: String? = nil) { (self.color, self.name) = (color, name) }
}

/// Writes a text with the names and the colors of its speakers, in place of the marks.
struct SpokenText {
  private let speakers: [String: CaptionSpeaker]
  /// Whether a color of the text is transparent.
  private let isTransparent: Bool
  private let showsNames: Bool
  /// The color of what nobody says. Nil: no colors are written.
  private let color: Color?
  private(set) var text = ""
  private var voice = ""
  /// The speaker whose name is not repeated.
  private var named = ""
  private var colored: Color?
  /// Whether nothing is shown on the line yet.
  private var isAtLineStart = true

  init(_ wording: CaptionWording, color: Color?) {
    let speakers = (wording.speakers ?? [:]).sorted { $0.key < $1.key }.map { (CaptionVoices.name($0.key), $0.value) }
    self.speakers = Dictionary(speakers) { first, _ in first }
    isTransparent = (speakers.compactMap(\.1.color) + (color.map { [$0] } ?? [])).contains { $0.alpha != 255 }
    showsNames = wording.showsSpeakers ?? false
    self.color = color
  }

  mutating func add(_ part: (isTags: Bool, text: String)) {
    if part.isTags, let voice = CaptionVoices.voice(of: part.text) {
      self.voice = voice
      if color != nil { setColor(speakers[voice]?.color) }
    } else if part.isTags {
      text += part.text
    } else {
      addCharacters(part.text)
    }
  }

  private mutating func setColor(_ new: Color?) {
    guard new != colored else { return }
    colored = new
    guard let new else {
      text += isTransparent ? "{\\1c\\1a}" : "{\\1c}"
      return
    }
    text += "{\\1c&H\(new.blue.hexadecimal)\(new.green.hexadecimal)\(new.red.hexadecimal)&"
    text += isTransparent ? "\\1a&H\((255 - new.alpha).hexadecimal)&}" : "}"
  }

  private mutating func addCharacters(_ part: String) {
    for (shown, written) in CaptionText.characters(of: part) {
      if shown == "\n" {
        isAtLineStart = true
      } else if !shown.properties.isWhitespace {
        if showsNames, voice != named { addName() }
        isAtLineStart = false
      }
      text += written
    }
  }

  /// Each speaker begins a line of their own.
  private mutating func addName() {
    named = voice
    guard !voice.isEmpty else { return }
    if !isAtLineStart {
      while text.last == " " { text.removeLast() }
      text += "\\N"
    }
    text += CaptionText.escaped("\(speakers[voice]?.name ?? voice): ")
  }
}

extension UInt8 {
  /// Two digits, as a script has those of colors.
  package var hexadecimal: String { (self < 16 ? "0" : "") + String(self, radix: 16, uppercase: true) }
}
