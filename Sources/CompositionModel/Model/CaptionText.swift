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

  /// Where the first brace is that opens tags or a comment. Braces are looked for by scalars: one before a combining
  /// mark is no character of its own.
  /// - Parameter count: Scalars at the beginning that are passed over.
  package static func tags(in text: Substring, after count: Int) -> Substring.Index? {
    var isEscaped = false
    for index in text.unicodeScalars.indices.dropFirst(count) {
      let scalar = text.unicodeScalars[index]
      if !isEscaped, scalar == "{" { return index }
      isEscaped = scalar == "\\"
    }
    return nil
  }

  /// The parts of a text, in order: tags or a comment in braces, and characters without them.
  package static func parts(of text: String) -> [(isTags: Bool, text: String)] {
    var parts: [(isTags: Bool, text: String)] = []
    var rest = text[...]
    // From the first brace on that nothing closes, all is text.
    var hasTags = true
    while let first = rest.unicodeScalars.first {
      let closing = hasTags && first == "{" ? rest.unicodeScalars.firstIndex(of: "}") : nil
      if first == "{", closing == nil { hasTags = false }
      if let end = closing.map(rest.unicodeScalars.index(after:)) {
        parts.append((true, String(rest[..<end])))
        rest = rest[end...]
        continue
      }
      let end = (hasTags ? tags(in: rest, after: first == "{" ? 1 : 0) : nil) ?? rest.endIndex
      parts.append((false, String(rest[..<end])))
      rest = rest[end...]
    }
    return parts
  }

  /// A text as ASS has it: lines end with `\N`, and nothing else has a meaning.
  package static func escaped(_ text: String) -> String {
    let text = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
    var escaped = ""
    var isAfterBackslash = false
    for scalar in text.unicodeScalars {
      // A word joiner keeps a backslash from what it would give a meaning.
      if isAfterBackslash, "Nnh{}\n".unicodeScalars.contains(scalar) { escaped += "\u{2060}" }
      isAfterBackslash = scalar == "\\"
      switch scalar {
      case "\n": escaped += "\\N"
      case "{", "}": escaped += "\\\(scalar)"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  /// A text of a file without styles with its lines broken, as `\N`. Braces without tags are text.
  package static func wrapped(_ text: String, _ wrapping: CaptionWrapping) -> String {
    // What is not shown is nil.
    var items: [(shown: Unicode.Scalar?, written: String)] = []
    for part in parts(of: text) {
      if part.isTags, part.text.contains("\\") {
        items.append((nil, part.text))
      } else {
        items += characters(of: part.text).map { (wrapped($0.shown, $0.written), $0.written) }
      }
    }
    var places = CaptionBreaks(items.compactMap(\.shown), wrapping)
    var result = ""
    for (shown, written) in items {
      guard shown != nil else {
        result += written
        continue
      }
      let (breaks, isKept) = places.next()
      if breaks { result += "\\N" }
      if isKept { result += written }
    }
    return result
  }

  /// What a character is to lines: a `\n` is drawn as a space.
  package static func wrapped(_ shown: Unicode.Scalar, _ written: String) -> Unicode.Scalar {
    written == "\\n" ? " " : shown
  }
}

/// The characters of a text one after the other, with the places where its lines are broken.
package struct CaptionBreaks: Sendable {
  private var breaks: ArraySlice<Range<Int>>
  private var offset = 0

  /// - Parameter shown: The text, without tags.
  package init(_ shown: [Unicode.Scalar], _ wrapping: CaptionWrapping) {
    breaks = wrapping.breaks(in: String.UnicodeScalarView(shown))[...]
  }

  /// Whether a line is broken before the next character, and whether that is still shown: the spaces in whose place a
  /// line is broken are not.
  package mutating func next() -> (breaks: Bool, isKept: Bool) {
    defer { offset += 1 }
    while let first = breaks.first, first.upperBound <= offset, first.lowerBound < offset { breaks.removeFirst() }
    guard let first = breaks.first, first.lowerBound <= offset else { return (false, true) }
    return (first.lowerBound == offset, !first.contains(offset))
  }
}
