import CompositionModel

/// The schemas of forms that many keys have, by the names of their definitions.
///
/// A schema compares numbers, and of a string its notation alone: how large the number in a string may be is left to
/// the reader, as is how finely a time may be divided.
enum SharedForms {
  static let all: [(name: String, schema: JSONValue)] = [
    ("name", text("A string that is not empty.", #"^[^\u0000]+$"#)),
    ("text", ["type": "string", "pattern": #"^[^\u0000]*$"#, "maxLength": .integer(OverlayEntry.greatestTextLength)]),
    ("language", text("A language: three letters of ISO 639-2, such as \"eng\".", "^[A-Za-z]{3}$")),
    ("color", text("A colour: \"#rrggbb\" or \"#rrggbbaa\".", "^#([0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$")),
    ("solidColor", text("A colour without transparency: \"#rrggbb\".", "^#[0-9A-Fa-f]{6}([fF]{2})?$")),
    ("fraction", text("A fraction such as \"30000/1001\".", "^[0-9]+/0*[1-9][0-9]*$")),
    (
      "decibels",
      text("Decibels such as \"-6dB\", or \"-inf dB\".", #"^(-[iI][nN][fF]|\+?-?[0-9]+(\.[0-9]*)?) *[dD][bB]$"#)
    ),
    ("percent", text("Per cent such as \"12.5%\".", #"^-?[0-9]+(\.[0-9]+)?%$"#)),
    ("thingName", text("A name: \(ThingName.rule).", "^\(ThingName.pattern)$")),
    ("time", times(.plain)), ("ownTime", times(.own)), ("filmTime", times(.film)), ("signedTime", times(.signed)),
    ("range", ranges(.plain)), ("ownRange", ranges(.own)), ("filmRange", ranges(.film)),
    ("signedRange", ranges(.signed)),
    ("easing", easings),
    ("length", .any(.number(GeometryEntry.offsets), .reference("percent"))),
    ("side", sides),
    ("rectangle", .tuple(.reference("length"), .reference("length"), .reference("side"), .reference("side"))),
    ("point", .tuple(.reference("length"), .reference("length"))),
    ("matrix", matrix),
  ]

  private static func text(_ description: String, _ pattern: String) -> JSONValue {
    ["type": "string", "pattern": .text(pattern), "description": .text(description)]
  }

  /// Without its sign: seconds, frames, a fraction, minutes and seconds, or hours too.
  private static let unsigned =
    #"([0-9]+(\.[0-9]+)?|[0-9]+f|[0-9]+/0*[1-9][0-9]*|([0-9]+:[0-5][0-9]|[0-9]+):[0-5][0-9](\.[0-9]+)?)"#
  /// What is before 0: after the sign and zeros there is another digit.
  private static let negative = #"-[0:]*(\.0*)?[1-9]"#

  /// A time in a string.
  private static func written(_ scope: TimeScope) -> String {
    let counted = "-?\(unsigned)"
    return scope.originPattern.map { "(\(counted)|\($0)([+-]\(unsigned))?)" } ?? counted
  }

  private static func sign(_ scope: TimeScope) -> String { scope.mayBeNegative ? "" : "(?!\(negative))" }

  private static func times(_ scope: TimeScope) -> JSONValue {
    [
      "anyOf": .array([
        scope.mayBeNegative ? ["type": "number"] : ["type": "number", "minimum": 0],
        .pattern("^\(sign(scope))\(written(scope))$"),
      ]),
      "description": .text("A time: \(Document.Time.notations)\(scope.notations)."),
    ]
  }

  private static func ranges(_ scope: TimeScope) -> JSONValue {
    let time = written(scope)
    return text(
      "A range: \"4..9\" or \"4+5\"\(scope.notations).",
      "^\(sign(scope))\(time)(\\.\\.\(time)|\\+-?\(unsigned))$")
  }

  private static let easings: JSONValue = .any(
    ["enum": .array(Easing.named.map(\.name))],
    .tuple(
      .number(0...1), .number(DocumentReader.easingHeights), .number(0...1), .number(DocumentReader.easingHeights)))

  /// Above 0.
  private static let sides: JSONValue = .any(
    [
      "type": "number", "exclusiveMinimum": 0,
      "maximum": JSONValue(content: .number(plain(GeometryEntry.offsets.upperBound))),
    ],
    .pattern(#"^(?=.*[1-9])[0-9]+(\.[0-9]+)?%$"#))

  private static let matrix: JSONValue = {
    let (factor, distance) = (JSONValue.number(GeometryEntry.factors), JSONValue.number(GeometryEntry.translations))
    return .tuple(factor, factor, factor, factor, distance, distance)
  }()
}
