extension MediaTime {
  /// Reads a time as a document writes it: `5`, `1.5`, `7/30`, `90f`, `1:02.5`. Nil where it is none, or none that can
  /// be kept exactly.
  /// - Parameter frameDuration: what `90f` counts in; nil where frames mean nothing.
  public init?(notation text: String, frameDuration: MediaTime? = nil) {
    guard let written = try? WrittenTime(text: text) else { return nil }
    switch written {
    case .seconds(let time): self = time
    case .frames(let count):
      guard let frameDuration, let time = try? frameDuration * Rational(count) else { return nil }
      self = time
    }
  }
}
