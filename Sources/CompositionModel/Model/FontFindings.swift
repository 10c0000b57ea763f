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
  /// What stays together where a line is wrapped, without the spaces after it.
  public struct Word: Sendable, Hashable, Codable {
    /// From the start of the line, without the space between letters.
    public var start: Double
    public var end: Double
    /// The letters of the line before it.
    public var first: Int
    /// The letters of the line up to its end.
    public var last: Int

    public init(start: Double, end: Double, first: Int, last: Int) {
      (self.start, self.end, self.first, self.last) = (start, end, first, last)
    }
  }

  /// The width of each line.
  public var lines: [Double]
  /// From one line to the next.
  public var lineHeight: Double
  /// The words of each line. Nil: they are not known.
  public var words: [[Word]]?

  public init(lines: [Double], lineHeight: Double, words: [[Word]]? = nil) {
    self.lines = lines
    self.lineHeight = lineHeight
    self.words = words
  }

  /// The size of its block, with its box. Where the words are not known it is the least that it may have.
  package func size(of text: StyledText, wrappedAt width: Int) -> PixelSize {
    let spacing = text.letterSpacing ?? 0
    let characters = text.text.split(omittingEmptySubsequences: false) { $0.isNewline }.map { Double($0.count) }
    var widest = 0.0
    var count = 0.0
    for (index, line) in lines.enumerated() {
      // Without its words a line is one that may be wrapped anywhere.
      let most = characters.indices.contains(index) ? max(1, characters[index]) : 1
      let whole = [Word(start: 0, end: line, first: 0, last: Int(most))]
      let words = self.words.flatMap { $0.indices.contains(index) ? $0[index] : nil } ?? whole
      let wrapped = Self.wrapped(words, size: text.size, spacing: spacing, width: Double(max(1, width)))
      widest = max(widest, wrapped.widest)
      count += wrapped.lines
    }
    let height = lineHeight * text.size * (1 + (count - 1) * (text.lineSpacing ?? 1))
    let padding = 2 * (text.box?.padding ?? 0)
    func pixels(_ length: Double) -> Int { Int(min(max(0, length), 1e6).rounded(.up)) }
    return PixelSize(width: pixels(widest) + padding, height: pixels(height) + padding)
  }

  /// The lines that words take, each of which has as many as fit. A word that is longer than a line is wrapped between
  /// its letters, of which all are taken for equally wide, and half of one does not fit. At the end of a line several
  /// spaces count as one.
  private static func wrapped(
    _ words: [Word], size: Double, spacing: Double, width: Double
  ) -> (lines: Double, widest: Double) {
    var (lines, widest) = (1.0, 0.0)
    var first: Word?
    for word in words {
      // Rounding must not wrap what just fits.
      if let start = first, length(from: start, to: word, size, spacing) > width + 0.01 * size {
        lines += 1
        first = nil
      }
      let start = first ?? word
      first = start
      let whole = length(from: start, to: word, size, spacing)
      let most = Double(max(1, word.last - word.first))
      let room = whole <= width + 0.01 * size ? width : max(whole / most, width - whole / most / 2)
      let parts = min(most, max(1, ((whole - 0.01 * size) / room).rounded(.up)))
      lines += parts - 1
      widest = max(widest, whole / parts)
      if parts > 1 {
        // What follows goes on where the last part of the word ends.
        first = Word(
          start: word.end - (whole - (parts - 1) * room) / size, end: word.end, first: word.last,
          last: word.last)
      }
    }
    return (lines, widest)
  }

  private static func length(from first: Word, to last: Word, _ size: Double, _ spacing: Double) -> Double {
    (last.end - first.start) * size + Double(last.last - first.first) * spacing
  }
}
