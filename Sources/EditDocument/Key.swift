import CompositionModel

/// A key of an object as it is declared: what the reader, the schema and the reference know of it.
protocol DeclaredKey: Sendable {
  var name: String { get }
  /// In Markdown.
  var type: String { get }
  var schema: JSONValue { get }
  var isRequired: Bool { get }
  /// The key as it may be written, where a newcomer cannot guess that.
  var example: String? { get }
  /// In Markdown; empty where nothing is to be said.
  var standard: String { get }
  /// In Markdown.
  var summary: String { get }
  /// The kinds of its object that have it. Empty: all.
  var kinds: [String] { get }
  /// The version of Sheaf that has it first. Nil: it was there from the beginning.
  var since: String? { get }

  /// Reports what is wrong with a value of the key.
  func check(_ value: JSONValue, _ reader: inout DocumentReader)
}

/// A key whose value is read as a `Value`.
struct Key<Value: Sendable>: DeclaredKey {
  let name: String
  let form: Form<Value>
  let isRequired: Bool
  let example: String?
  let standard: String
  let summary: String
  var kinds: [String]
  let since: String?
  private let shownType: String?

  var type: String { shownType ?? form.type }
  var schema: JSONValue { form.schema }

  func check(_ value: JSONValue, _ reader: inout DocumentReader) { _ = form.read(&reader, value) }

  /// - Parameters:
  ///   - standard: The default, in Markdown.
  ///   - kinds: The kinds of its object that have it.
  ///   - type: Takes the place of the form's in the reference.
  init(
    _ name: String, _ form: Form<Value>, default standard: String = "none", kinds: [String] = [], since: String? = nil,
    type: String? = nil, _ summary: String
  ) {
    (self.name, self.form, self.isRequired, self.standard, example) = (name, form, false, standard, nil)
    (self.kinds, self.since, shownType, self.summary) = (kinds, since, type, summary)
  }

  /// A key that must be there.
  /// - Parameter example: Such as `"sheaf": 1`.
  init(
    required name: String, _ form: Form<Value>, example: String? = nil, kinds: [String] = [], since: String? = nil,
    type: String? = nil, _ summary: String
  ) {
    (self.name, self.form, self.isRequired, self.example) = (name, form, true, example)
    standard = kinds.isEmpty ? "required" : "required for \(list(kinds.map { "`\($0)`" }))"
    (self.kinds, self.since, shownType, self.summary) = (kinds, since, type, summary)
  }
}

/// A rule for the keys that an object has together.
struct KeyRule: Sendable {
  /// The schema of the objects that keep the rule.
  var schema: JSONValue
  /// The place and the message of the problem. Nil: the rule is kept.
  var problem: @Sendable (DocumentReader.Fields) -> (place: JSONPointer, message: String)?

  /// Not both; the problem is that there is `key`.
  static func excludes(_ key: String, _ other: String, _ message: String) -> KeyRule {
    KeyRule(schema: ["not": .requires(key, other)]) { fields in
      guard let value = fields[key], fields.has(other) else { return nil }
      return (value.pointer, message)
    }
  }

  /// With `key` there must be `other`.
  static func needs(_ key: String, _ other: String, _ message: String) -> KeyRule {
    KeyRule(schema: ["dependentRequired": .object([(key, .array([other]))])]) { fields in
      guard let value = fields[key], !fields.has(other) else { return nil }
      return (value.pointer, message)
    }
  }

  /// One of them must be there.
  static func needsOne(of keys: [String], _ message: String) -> KeyRule {
    KeyRule(schema: .any(keys.map { .requires($0) })) { fields in
      keys.contains(where: fields.has) ? nil : (fields.pointer, message)
    }
  }
}

/// The key whose value decides which others an object has: `kind` of a transition, `codec` of a video.
struct KindKey: Sendable {
  var name: String
  /// The kind of an object without it. Nil: another part of the document decides it.
  var standard: String?
  /// All kinds.
  var names: [String]
  /// The message for a key of other kinds.
  var message: @Sendable (_ key: any DeclaredKey, _ kind: String) -> String

  /// The schema of the objects that have a key for their kind.
  func schema(of key: any DeclaredKey) -> JSONValue {
    let isOne: JSONValue = .has(name, among: key.kinds)
    let isWithoutKey: JSONValue = .lacks([key.name])
    let isDecided: JSONValue = .requires(name)
    guard let standard else { return .when(isDecided, then: .when(isOne, else: isWithoutKey)) }
    return key.kinds.contains(standard)
      ? .when(isOne, else: isWithoutKey) : .when(.all(isDecided, isOne), else: isWithoutKey)
  }
}
