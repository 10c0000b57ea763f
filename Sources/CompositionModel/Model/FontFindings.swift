/// What is not there of the fonts that a text asks for.
public struct FontFindings: Sendable, Hashable, Codable {
  /// The family that takes the place of one that is not installed. Nil: it is, or any will do.
  public var substitute: String?
  /// The characters that no font has a glyph for, each once, rising.
  public var missing: [UInt32]
  /// How large the text is. Nil: it was not measured.
  public var measure: TextMeasure?

  public init(substitute: String?, missing: [UInt32], measure: TextMeasure? = nil) {
    self.substitute = substitute
    self.missing = missing
    self.measure = measure
  }
}

/// How large a text is in lines that are not wrapped, in sizes of its font.
public struct TextMeasure: Sendable, Hashable, Codable {
  /// The width of each line.
  public var lines: [Double]
  /// From one line to the next.
  public var lineHeight: Double

  public init(lines: [Double], lineHeight: Double) {
    self.lines = lines
    self.lineHeight = lineHeight
  }

  /// The least size of its block, with its box: lines that are wrapped may take more of them than are counted here.
  package func size(of text: StyledText, wrappedAt width: Int) -> PixelSize {
    let spacing = text.letterSpacing ?? 0
    let characters = text.text.split(omittingEmptySubsequences: false) { $0.isNewline }.map { Double($0.count) }
    var widest = 0.0
    var count = 0.0
    for (index, line) in lines.enumerated() {
      let length = line * text.size + (characters.indices.contains(index) ? characters[index] : 0) * spacing
      // A line is wrapped between characters at the most.
      let most = characters.indices.contains(index) ? max(1, characters[index]) : 1
      let parts: Double = min(most, max(1, (length / Double(max(1, width))).rounded(.up)))
      widest = max(widest, length / parts)
      count += parts
    }
    let height = lineHeight * text.size * (1 + (count - 1) * (text.lineSpacing ?? 1))
    let padding = 2 * (text.box?.padding ?? 0)
    func pixels(_ length: Double) -> Int { Int(min(max(0, length), 1e6).rounded(.up)) }
    return PixelSize(width: pixels(widest) + padding, height: pixels(height) + padding)
  }
}
