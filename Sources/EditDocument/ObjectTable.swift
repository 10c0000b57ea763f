import CompositionModel

/// An object of the document as one table of keys. From it come what the reader reports of keys, the object's schema,
/// and its table in the reference.
struct ObjectTable: Sendable {
  /// Of its definition in the schema.
  let name: String
  /// For messages, such as `a clip`.
  let noun: String
  /// In the order of the reference.
  let keys: [any DeclaredKey]
  let keyNames: [String]
  /// Keys that belong to the document's language, and that this version refuses.
  var notYet: [String] = []
  /// For keys in small letters that people know from elsewhere, what to write here.
  var instead: [String: String] = [:]
  /// Which of the keys decides what others the object has.
  var kind: KindKey?
  var rules: [KeyRule] = []
  /// Other restrictions, which the section's reader reports with `addShape`.
  var restrictions: [JSONValue] = []

  init(
    name: String, noun: String, keys: [any DeclaredKey], notYet: [String] = [], instead: [String: String] = [:],
    kind: KindKey? = nil, rules: [KeyRule] = [], restrictions: [JSONValue] = []
  ) {
    (self.name, self.noun, self.keys, keyNames) = (name, noun, keys, keys.map(\.name))
    (self.notYet, self.kind) = (notYet, kind)
    // They are looked up whatever the case of a key.
    self.instead = Dictionary(instead.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
    (self.rules, self.restrictions) = (rules, restrictions)
  }

  /// The names of the keys of a kind. Nil: those that every kind has.
  func keyNames(ofKind kind: String?) -> [String] {
    keys.filter { key in kind.map(key.kinds.contains) ?? key.kinds.isEmpty }.map(\.name)
  }

  /// A reference to the definition.
  var reference: JSONValue { .reference(name) }

  var schema: JSONValue {
    var members: [(key: String, value: JSONValue)] = [
      ("type", "object"),
      ("properties", .object(keys.map { ($0.name, property($0)) })),
    ]
    let required = keys.filter { $0.isRequired && $0.kinds.isEmpty }.map(\.name)
    if !required.isEmpty { members.append(("required", .array(required))) }
    members.append(("additionalProperties", .boolean(false)))
    var all = rules.map(\.schema) + restrictions
    if let kind {
      for key in keys where !key.kinds.isEmpty {
        all.append(kind.schema(of: key))
        if key.isRequired {
          all.append(
            .when(.chosen(kind.name, among: key.kinds), then: .requires(key.name)))
        }
      }
    }
    if !all.isEmpty { members.append(("allOf", .array(all))) }
    return .object(members)
  }

  private func property(_ key: any DeclaredKey) -> JSONValue {
    guard case .object(let members) = key.schema.content, !key.summary.isEmpty else { return key.schema }
    return .object(members + [("description", .text(key.summary.withoutMarkdown))])
  }
}

extension DocumentReader {
  /// Reads an object, and reports keys that it does not have, those that are missing, and rules that are not kept.
  /// - Parameters:
  ///   - alternative: What else may be in its place, for the message.
  ///   - elsewhere: Other objects of the document, whose keys are looked for.
  mutating func fields(
    _ value: JSONValue, _ table: ObjectTable, alternative: String = "",
    elsewhere: [(noun: String, keys: [String])] = []
  ) -> Fields? {
    guard
      let fields = fields(
        value, table.noun, alternative: alternative, keys: table.keyNames, notYet: table.notYet,
        instead: table.instead, elsewhere: elsewhere)
    else { return nil }
    let kind = table.kind.flatMap { kind -> String? in
      guard let value = fields[kind.name] else { return kind.standard }
      if case .string(let name) = value.content { return name }
      return nil
    }
    // What a kind does not have at all has no rule to keep.
    var refused: [JSONPointer] = []
    for key in table.keys {
      if key.isRequired, !fields.has(key.name), key.kinds.isEmpty || kind.map(key.kinds.contains) ?? false {
        let noun = key.kinds.isEmpty ? table.noun : "\(table.noun) of the kind '\(kind ?? "")'"
        problems.addShape(
          fields.pointer, "\(noun) needs '\(key.name)'" + (key.example.map { ", such as \($0)" } ?? ""))
      }
      if let kind, let kinds = table.kind, kinds.names.contains(kind), let value = fields[key.name],
        !key.kinds.isEmpty, !key.kinds.contains(kind), !isOfPart || key.name != "matte"
      {
        problems.addShape(value.pointer, kinds.message(key, kind))
        refused.append(value.pointer)
      }
    }
    for rule in table.rules {
      if let (place, message) = rule.problem(fields), !refused.contains(place) { problems.addShape(place, message) }
    }
    return fields
  }

  /// The value of a key. Nil if it is not there, and nil and a problem if it is wrong.
  mutating func read<Value>(_ fields: Fields, _ key: Key<Value>) -> Value? {
    guard let value = fields[key.name] else { return nil }
    return key.form.read(&self, value)
  }

  /// The value of a key, read by a form that follows from other parts of the document.
  /// - Parameter form: Allows no more than the key's own, by which the schema decides.
  mutating func read<Value, General>(
    _ fields: Fields, _ key: Key<General>, as form: Form<Value>
  ) -> Value? {
    guard let value = fields[key.name] else { return nil }
    return within(value, key.form) { reader in form.read(&reader, value) }
  }

  /// A boolean, or settings whose keys are each as its table has them.
  mutating func stream<Settings>(
    _ value: JSONValue, _ table: ObjectTable, _ properties: [Property<Settings>], _ settings: Settings
  ) -> Document.Stream<Settings>? {
    if case .boolean(let isThere) = value.content { return isThere ? .automatic : Document.Stream.none }
    guard let fields = fields(value, table) else { return nil }
    var settings = settings
    read(fields, properties, into: &settings)
    return .settings(settings)
  }

  /// The value of a form, whose problems are reported elsewhere. Nil: it cannot be read.
  func unreported<Value>(_ value: JSONValue?, _ form: Form<Value>) -> Value? {
    guard let value else { return nil }
    var reader = self
    reader.problems = ProblemList()
    return form.read(&reader, value)
  }

  /// Reads a value by rules that follow from other parts of the document. What is wrong with it by them alone is not a
  /// problem of its shape.
  mutating func within<Value, General>(
    _ value: JSONValue, _ form: Form<General>, _ body: (inout DocumentReader) -> Value
  ) -> Value {
    let before = problems.shapeCount
    let result = body(&self)
    if problems.shapeCount > before, accepts(value, form) { problems.shapeCount = before }
    return result
  }

  /// Whether a form has no problem with the shape of a value.
  func accepts<Value>(_ value: JSONValue, _ form: Form<Value>) -> Bool {
    var reader = self
    reader.problems = ProblemList()
    _ = form.read(&reader, value)
    return reader.problems.shapeCount == 0
  }
}

extension String {
  /// Without the links and the backticks of Markdown.
  fileprivate var withoutMarkdown: String {
    var text = ""
    var rest = self[...]
    while let open = rest.firstIndex(of: "["), let middle = rest[open...].firstRange(of: "]("),
      let close = rest[middle.upperBound...].firstIndex(of: ")")
    {
      text += rest[..<open] + rest[rest.index(after: open)..<middle.lowerBound]
      rest = rest[rest.index(after: close)...]
    }
    return (text + rest).replacing("`", with: "").replacing("**", with: "")
  }
}
