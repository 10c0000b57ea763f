package import CompositionModel

/// Captions for tracks of codecs other than ASS.
extension CaptionText {
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
