/// A text of which more is seen with time: letter by letter, as typed, or word by word.
public struct RevealedText: Sendable, Hashable, Codable {
  /// What is seen at once. The raw value is the name in documents.
  public enum Unit: String, Sendable, Hashable, Codable, CaseIterable {
    /// What a reader takes for one, with its marks.
    case character
    /// With the spaces after it.
    case word
  }

  public var text: String
  public var unit: Unit
  /// From when the first one is seen to when the last one is.
  public var duration: MediaTime

  public init(_ text: String, by unit: Unit = .character, over duration: MediaTime) {
    (self.text, self.unit, self.duration) = (text, unit, duration)
  }

  /// The beginning of the text that is seen some time after the first unit is.
  package func seen(after elapsed: Rational) throws(TimeError) -> String {
    if elapsed < .zero { return "" }
    guard elapsed < (try duration.exact) else { return text }
    let ends = unitEnds
    guard ends.count > 1 else { return text }
    let passed = try (elapsed * Rational(ends.count - 1) / duration.exact).floor
    return String(text[..<ends[Int(clamping: passed)]])
  }

  /// Where each unit ends.
  private var unitEnds: [String.Index] {
    switch unit {
    case .character: return text.indices.filter { !text[$0].isWhitespace }.map { text.index(after: $0) }
    case .word:
      return text.indices.filter { index in
        let next = text.index(after: index)
        return !text[index].isWhitespace && (next == text.endIndex || text[next].isWhitespace)
      }.map { text.index(after: $0) }
    }
  }
}
