package import CompositionModel

/// The text of an event of ASS: tags and comments in braces, and characters, of which some are written with a
/// backslash.
package enum CaptionText {
  /// What is written with a backslash. A `\N` ends a line; a `\n` does too if lines are not broken otherwise.
  private static let escapes: [Unicode.Scalar: Unicode.Scalar] = [
    "N": "\n", "n": "\n", "h": "\u{A0}", "{": "{", "}": "}",
  ]

  /// The characters that a text without tags shows, each with how it is written.
  package static func characters(of text: some StringProtocol) -> [(shown: Unicode.Scalar, written: String)] {
    var characters: [(shown: Unicode.Scalar, written: String)] = []
    var isEscaped = false
    for scalar in text.unicodeScalars {
      if isEscaped {
        isEscaped = false
        if let escape = escapes[scalar] {
          characters[characters.count - 1] = (escape, "\\\(scalar)")
          continue
        }
      }
      isEscaped = scalar == "\\"
      characters.append((scalar, String(scalar)))
    }
    return characters
  }

  /// Where the first brace is that opens tags or a comment.
  /// - Parameter count: characters at the beginning that are passed over.
  package static func tags(in text: Substring, after count: Int) -> Substring.Index? {
    var isEscaped = false
    for index in text.indices.dropFirst(count) {
      if !isEscaped, text[index] == "{" { return index }
      isEscaped = text[index] == "\\"
    }
    return nil
  }

  /// The fields of an event for a track of another codec than ASS: characters as they are, and neither drawings nor
  /// comments of a script. Empty: it has no text.
  /// - Parameter isStyled: whether the event is of a file with styles. In others braces without tags are text.
  package static func plain(_ fields: String, isStyled: Bool, for codec: CaptionCodec) -> String {
    let parts = fields.commaFields()
    guard parts.count == 9 else { return fields }
    var plain = ""
    var rest = parts[8][...]
    var (isDrawing, hasText) = (false, false)
    func add(_ text: Substring) {
      guard !isDrawing else { return }
      for (shown, _) in characters(of: text) {
        let stored = stored(shown, for: codec)
        // An encoder takes a brace before a backslash for one that opens tags: a word joiner keeps them apart.
        if plain.last == "{", stored.first == "\\" { plain += "\u{2060}" }
        plain += stored
        hasText = true
      }
    }
    while let start = tags(in: rest, after: 0), let end = rest[start...].firstIndex(of: "}") {
      add(rest[..<start])
      let block = rest[start...end]
      rest = rest[rest.index(after: end)...]
      if block.contains("\\") {
        plain += block
        for tag in block.dropLast().split(separator: "\\").dropFirst() where tag.first == "p" {
          if let scale = Int(tag.dropFirst().filter { !$0.isWhitespace }) { isDrawing = isStyled && scale > 0 }
        }
      } else if !isStyled {
        add(block)
      }
    }
    add(rest)
    return hasText ? parts[..<8].joined(separator: ",") + "," + plain : ""
  }

  /// libavcodec's encoders take `\N` and `\n` for ends of lines, and all other characters as they are.
  private static func stored(_ character: Unicode.Scalar, for codec: CaptionCodec) -> String {
    switch character {
    case "\n": "\\N"
    case "&" where codec == .webVTT: "&amp;"
    case "<" where codec == .webVTT: "&lt;"
    case ">" where codec == .webVTT: "&gt;"
    default: String(character)
    }
  }
}
