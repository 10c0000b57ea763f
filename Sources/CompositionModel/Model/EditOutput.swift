/// One of several outputs of an edit, such as a rung of a ladder. All have the same pictures and the same mix.
public struct EditOutput: Sendable, Hashable, Codable {
  /// Unique among the edit's outputs, whatever the case of its letters: of letters, digits, `-`, `_` and `.`.
  public var name: String
  /// Its `size` is nil if the pictures have the film's size.
  public var export: ExportSettings
  /// Drawn over the film, and the output's text tracks. Nil: none.
  public var captions: [Captions]?

  public init(name: String, export: ExportSettings, captions: [Captions]? = nil) {
    self.name = name
    self.export = export
    self.captions = captions
  }

  /// The name of the output's file: the output's name and the extension of its container.
  public var fileName: String { "\(name).\(export.container.rawValue)" }

  /// How many an edit can have.
  public static let counts = 1...8
  /// Of a name, in characters.
  static let greatestName = 64
}
