import CompositionModel

/// A parameter of a document.
enum ParameterKeys {
  static let type = Key(
    required: "type", Form<Template.Kind>.choice("type of parameter"),
    "what its values are: a `time` is a number of seconds or a text such as `7/30`, a `color` is `#rrggbb` or "
      + "`#rrggbbaa`, a `path` is that of a file")
  static let standard = Key(
    "default", .raw("of its type", ["type": ["string", "number", "boolean"]]), default: "none: it must be set",
    "its value where none is given")
  static let summary = Key("summary", .text, default: "", "what it is for; for people alone")

  static let table = ObjectTable(
    name: "parameter", noun: "a parameter", keys: [type, standard, summary],
    instead: [
      "kind": "did you mean 'type'?", "value": "did you mean 'default'?", "description": "did you mean 'summary'?",
    ])

  /// Whether a text is a parameter's name.
  static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, first == UInt8(ascii: "_") || isLetter(first) else { return false }
    return text.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x5F }
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}
