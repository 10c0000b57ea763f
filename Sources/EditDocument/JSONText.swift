import CompositionModel

// JSON that the program itself writes: the schema.

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
  ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  package init(booleanLiteral flag: Bool) { self.init(content: .boolean(flag)) }
  package init(arrayLiteral items: JSONValue...) { self.init(content: .array(items)) }
  package init(stringLiteral text: String) { self.init(content: .string(text)) }
  package init(integerLiteral number: Int) { self.init(content: .number(String(number))) }
  package init(dictionaryLiteral members: (String, JSONValue)...) {
    self.init(content: .object(members.map { (key: $0.0, value: $0.1) }))
  }

  static func text(_ text: String) -> JSONValue { JSONValue(content: .string(text)) }
  static func integer(_ number: Int) -> JSONValue { JSONValue(content: .number(String(number))) }
  static func boolean(_ flag: Bool) -> JSONValue { JSONValue(content: .boolean(flag)) }
  static func array(_ items: [JSONValue]) -> JSONValue { JSONValue(content: .array(items)) }
  static func array(_ names: [String]) -> JSONValue { .array(names.map(JSONValue.text)) }
  static func array(_ numbers: [Int]) -> JSONValue { .array(numbers.map(JSONValue.integer)) }
  static func object(_ members: [(key: String, value: JSONValue)]) -> JSONValue {
    JSONValue(content: .object(members))
  }

  // MARK: Parts of schemas

  static func reference(_ name: String) -> JSONValue { ["$ref": .text("#/$defs/\(name)")] }
  static func any(_ schemas: JSONValue...) -> JSONValue { any(schemas) }
  static func any(_ schemas: [JSONValue]) -> JSONValue { ["anyOf": .array(schemas)] }
  static func all(_ schemas: JSONValue...) -> JSONValue { ["allOf": .array(schemas)] }
  static func pattern(_ pattern: String) -> JSONValue { ["type": "string", "pattern": .text(pattern)] }

  /// An object that has these keys.
  static func requires(_ keys: String...) -> JSONValue { ["required": .array(keys)] }
  /// An object that does not have these keys.
  static func lacks(_ keys: [String]) -> JSONValue {
    ["properties": .object(keys.map { ($0, .boolean(false)) })]
  }
  /// An object of which a key, if it is there, has one of some values.
  static func has(_ key: String, among names: [String]) -> JSONValue {
    ["properties": .object([(key, one(of: names))])]
  }
  /// An object that has a key, with one of some values.
  static func chosen(_ key: String, among names: [String]) -> JSONValue {
    ["properties": .object([(key, one(of: names))]), "required": .array([key])]
  }
  private static func one(of names: [String]) -> JSONValue {
    names.count == 1 ? ["const": .text(names[0])] : ["enum": .array(names)]
  }

  static func number(_ range: ClosedRange<Double>) -> JSONValue {
    [
      "type": "number", "minimum": JSONValue(content: .number(plain(range.lowerBound))),
      "maximum": JSONValue(content: .number(plain(range.upperBound))),
    ]
  }

  /// An array of as many values.
  static func tuple(_ items: JSONValue...) -> JSONValue { tuple(items) }
  static func tuple(_ items: [JSONValue]) -> JSONValue {
    [
      "type": "array", "prefixItems": .array(items), "minItems": .integer(items.count),
      "maxItems": .integer(items.count),
    ]
  }

  static func when(_ condition: JSONValue, then: JSONValue? = nil, else other: JSONValue? = nil) -> JSONValue {
    .object(
      [("if", condition)] + (then.map { [("then", $0)] } ?? []) + (other.map { [("else", $0)] } ?? []))
  }

  // MARK: Text

  /// The value as JSON for people: what fits a line is on one.
  /// - Parameter width: The columns of a line.
  package func formatted(width: Int = 120) -> String {
    func text(_ value: JSONValue, indent: Int, used: Int) -> String {
      let line = value.onOneLine
      guard used + line.count > width else { return line }
      let (outer, inner) = (String(repeating: " ", count: indent), String(repeating: " ", count: indent + 2))
      switch value.content {
      case .array(let items):
        return "[\n"
          + items.map { inner + text($0, indent: indent + 2, used: indent + 3) }.joined(separator: ",\n")
          + "\n\(outer)]"
      case .object(let members):
        return "{\n"
          + members.map { key, value in
            let name = Self.quoted(key) + ": "
            return inner + name + text(value, indent: indent + 2, used: indent + 3 + name.count)
          }.joined(separator: ",\n") + "\n\(outer)}"
      default: return line
      }
    }
    return text(self, indent: 0, used: 0)
  }

  private var onOneLine: String {
    switch content {
    case .array(let items): "[" + items.map(\.onOneLine).joined(separator: ", ") + "]"
    case .object(let members):
      members.isEmpty
        ? "{}" : "{ " + members.map { Self.quoted($0.key) + ": " + $0.value.onOneLine }.joined(separator: ", ") + " }"
    default: canonicalText
    }
  }
}
