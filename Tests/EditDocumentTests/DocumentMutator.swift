import TestPrograms

@testable import CompositionModel
@testable import EditDocument

/// Changes documents at random, as their authors do by mistake.
struct DocumentMutator {
  enum Change: String, CaseIterable {
    case unknownKey, misspelledKey, missingKey, wrongType, number, name, foreignKey, declaredKey, list, notation
  }

  private enum Step {
    case key(String)
    case index(Int)
  }

  var random: SeededRandom
  /// Members of all documents.
  private let members: [(key: String, value: JSONValue)]
  private let strings: [String]
  private let numbers: [String]

  init(seed: UInt64, _ documents: [JSONValue]) {
    random = SeededRandom(seed: seed)
    var members: [(key: String, value: JSONValue)] = []
    for value in documents.flatMap(\.all) {
      if case .object(let own) = value.content { members += own }
    }
    self.members = members
    var strings = Set(
      members.compactMap { member -> String? in
        if case .string(let text) = member.value.content { text } else { nil }
      })
    var numbers: Set<String> = ["0", "-1", "0.5", "1.5", "1000000", "1e3", "1.0", "-0"]
    for value in DocumentSchema.tables.flatMap(\.schema.all) {
      guard case .object(let own) = value.content else { continue }
      for (key, value) in own {
        if case .array(let names) = value.content, key == "enum" {
          for name in names { if case .string(let text) = name.content { strings.insert(text) } }
        }
        if case .number(let text) = value.content, ["minimum", "maximum", "exclusiveMinimum"].contains(key) {
          numbers.formUnion([text, "\((Double(text) ?? 0) + 1)", "\((Double(text) ?? 0) - 1)"])
        }
      }
    }
    self.strings = strings.sorted()
    self.numbers = numbers.sorted()
  }

  private static let notations = [
    "5", "1.5", "7/30", "90f", "1:02.5", "1:00:02.5", "-1", "-0", "-0.0", "0/5", "1/0", "1/00", "5.", ".5", "5s",
    "1:60",
    "1:2", "01:02", "4..9", "4+5", "4..", "-1..2", "-0..2", "1..2..3", "1f..2f", "1 .. 2", "4+-5", "#fff", "#ffffff",
    "#FFFFFF80", "#ffffffff", "#gggggg", "50%", "-5%", "-0%", "0%", "0.0%", "5%%", "1e1%", "2000%", "-6dB", "+3 dB",
    "-inf dB", "dB", "6 db", "6db ", "30000/1001", "1/3", "-1/3", "", "end", "center", "auto", "eng", "engl",
    "dissolve",
    "end-2", "end-2..end", "end+90f", "end--1", "end+", "end-2+1", "4+end", "clip:a.end", "clip:a-b.start-1/2",
    "clip:a", "clip:a.middle", "clip:a-1.end", "clip:ä.start..clip:ä.end", "clip:a.end+1:00", "marker:b", "marker:b-1",
    "marker:", "marker:1", "marker:b.c", "0..marker:b", "marker:b+99999999999999999999f", "a-b", "a-1", "b-",
    "luma", "custom", "4.1", "4.0", "4", "a\u{0}b", "..", ".hidden", "a/b", "name.mp4",
  ]

  /// A document with one to three changes, and the first of them.
  mutating func mutated(_ document: JSONValue) -> (document: JSONValue, change: Change) {
    var document = document
    var first: Change?
    let count = [1, 1, 1, 2, 3].randomElement(using: &random) ?? 1
    for _ in 0..<count {
      let change = Change.allCases.randomElement(using: &random) ?? .missingKey
      let places = paths(of: document).filter { isPossible(change, at: $0.value) }
      guard let (path, value) = places.randomElement(using: &random).map({ ($0.path, $0.value) }) else { continue }
      document = replacing(path[...], of: document, with: changed(value, change))
      first = first ?? change
    }
    guard let first else { return mutated(document) }
    return (document, first)
  }

  private func isPossible(_ change: Change, at value: JSONValue) -> Bool {
    switch (change, value.content) {
    case (.misspelledKey, .object(let own)), (.missingKey, .object(let own)): !own.isEmpty
    case (.unknownKey, .object), (.foreignKey, .object), (.declaredKey, .object), (.wrongType, _): true
    case (.number, .number), (.name, .string), (.notation, .string), (.notation, .number), (.list, .array): true
    default: false
    }
  }

  private mutating func changed(_ value: JSONValue, _ change: Change) -> JSONValue {
    switch (change, value.content) {
    case (.unknownKey, .object(let own)):
      let key = ["note", "zoom", "volume", "x", "colour", "$comment"].randomElement(using: &random) ?? ""
      return .object(own.filter { $0.key != key } + [(key, 1)])
    case (.misspelledKey, .object(var own)):
      let index = Int.random(in: own.indices, using: &random)
      let key = misspelt(own[index].key)
      let value = own.remove(at: index).value
      return .object(own.filter { $0.key != key } + [(key, value)])
    case (.missingKey, .object(var own)):
      own.remove(at: Int.random(in: own.indices, using: &random))
      return .object(own)
    case (.wrongType, _):
      let values: [JSONValue] = [
        JSONValue(content: .null), true, false, 7, -1, "word", "2..3", [], [1, 2], ["A"], [:], ["at": 1],
      ]
      return values.randomElement(using: &random) ?? true
    case (.number, _): return JSONValue(content: .number(numbers.randomElement(using: &random) ?? "0"))
    case (.name, .string(let text)):
      return Bool.random(using: &random)
        ? .text(strings.randomElement(using: &random) ?? "") : .text(misspelt(text))
    case (.notation, _): return .text(Self.notations.randomElement(using: &random) ?? "")
    case (.foreignKey, .object(let own)):
      guard let (key, value) = members.randomElement(using: &random) else { return value }
      return .object(own.filter { $0.key != key } + [(key, value)])
    case (.declaredKey, .object(let own)): return declared(own)
    case (.list, .array(let items)):
      switch Int.random(in: 0..<5, using: &random) {
      case 0: return []
      case 1: return .array(Array(items.dropLast()))
      case 2: return .array(items + items)
      case 3: return .array(items + (members.randomElement(using: &random).map { [$0.value] } ?? []))
      default: return .array(Array(repeating: items, count: 20).flatMap(\.self))
      }
    default: return value
    }
  }

  /// The object with another key that objects with its keys can have.
  private mutating func declared(_ own: [(key: String, value: JSONValue)]) -> JSONValue {
    let keys = Set(own.map(\.key))
    let tables = DocumentSchema.tables.filter { keys.subtracting($0.keyNames).isEmpty }
    guard let key = tables.randomElement(using: &random)?.keys.randomElement(using: &random) else {
      return .object(own)
    }
    var values = samples(key.schema)
    values += members.filter { $0.key == key.name }.map(\.value)
    guard let value = values.randomElement(using: &random) else { return .object(own) }
    return .object(own.filter { $0.key != key.name } + [(key.name, value)])
  }

  /// Values that a schema allows, and some beside its limits.
  private func samples(_ schema: JSONValue) -> [JSONValue] {
    guard case .object(let own) = schema.content else { return [] }
    func member(_ key: String) -> JSONValue.Content? { own.first { $0.key == key }?.value.content }
    if case .array(let values)? = member("enum") { return values }
    if let value = own.first(where: { $0.key == "const" })?.value { return [value] }
    if case .array(let schemas)? = member("anyOf") { return schemas.flatMap(samples) }
    if case .string(let name)? = member("$ref") {
      return SharedForms.all.filter { name.hasSuffix("/\($0.name)") }.flatMap { samples($0.schema) }
    }
    if case .array(let items)? = member("prefixItems") {
      return [.array(items.compactMap { samples($0).first })]
    }
    switch member("type") {
    case .string("boolean"): return [true, false]
    case .string("string"):
      return strings.prefix(20).map(JSONValue.text) + Self.notations.map(JSONValue.text)
    case .string("number"), .string("integer"):
      return ["minimum", "maximum"].flatMap { key -> [JSONValue] in
        guard case .number(let text)? = member(key), let number = Double(text) else { return [1] }
        return [text, plain(number + 1), plain(number - 1)].map { JSONValue(content: .number($0)) }
      }
    case .string("array"): return [[]]
    default: return [[:]]
    }
  }

  private mutating func misspelt(_ text: String) -> String {
    var letters = Array(text)
    guard !letters.isEmpty else { return "x" }
    let index = Int.random(in: letters.indices, using: &random)
    switch Int.random(in: 0..<4, using: &random) {
    case 0: letters.remove(at: index)
    case 1: letters.insert(letters[index], at: index)
    case 2: letters.swapAt(index, letters.count - 1 - index)
    default: letters[0] = Character(letters[0].isUppercase ? letters[0].lowercased() : letters[0].uppercased())
    }
    return String(letters)
  }

  private func paths(of value: JSONValue) -> [(path: [Step], value: JSONValue)] {
    var paths: [(path: [Step], value: JSONValue)] = []
    func visit(_ value: JSONValue, _ path: [Step]) {
      paths.append((path, value))
      switch value.content {
      case .object(let members): for (key, member) in members { visit(member, path + [.key(key)]) }
      case .array(let items): for (index, item) in items.enumerated() { visit(item, path + [.index(index)]) }
      default: break
      }
    }
    visit(value, [])
    return paths
  }

  private func replacing(_ path: ArraySlice<Step>, of value: JSONValue, with new: JSONValue) -> JSONValue {
    guard let step = path.first else { return new }
    switch (step, value.content) {
    case (.key(let key), .object(let members)):
      return .object(
        members.map { ($0.key, $0.key == key ? replacing(path.dropFirst(), of: $0.value, with: new) : $0.value) })
    case (.index(let index), .array(var items)):
      items[index] = replacing(path.dropFirst(), of: items[index], with: new)
      return .array(items)
    default: return value
    }
  }
}

extension JSONValue {
  /// The value and all within it.
  var all: [JSONValue] {
    switch content {
    case .object(let members): [self] + members.flatMap(\.value.all)
    case .array(let items): [self] + items.flatMap(\.all)
    default: [self]
    }
  }
}
