/// What a track of the output states of itself, for players and people (FEATURES F53).
public struct TrackLabel: Sendable, Hashable, Codable {
  /// Three letters of ISO 639-2, such as `eng`. Nil: not stated.
  public var language: String?
  /// For people, such as `Director's commentary`. Nil: none.
  public var title: String?

  public init(language: String? = nil, title: String? = nil) {
    self.language = language
    self.title = title
  }

  /// Nil if nothing is stated.
  package var stated: TrackLabel? { language == nil && title == nil ? nil : self }
}
