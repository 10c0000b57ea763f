/// The language and the title of a track of the output (FEATURES F53).
public struct TrackLabel: Sendable, Hashable, Codable {
  /// Three letters of ISO 639-2, such as `eng`. Nil: none.
  public var language: String?
  /// For people, such as `Director's commentary`. Nil: none.
  public var title: String?

  public init(language: String? = nil, title: String? = nil) {
    self.language = language
    self.title = title
  }
}
