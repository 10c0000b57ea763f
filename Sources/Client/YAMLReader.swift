import CompositionModel
import EditDocument
import Yams

/// Reads YAML 1.2 as the JSON that it stands for.
///
/// Scalars are taken as they are written, so that a number is never rounded. What a scalar without quotes is, the core
/// schema of YAML 1.2 says (section 10.3.2), as far as JSON has it: `yes` and `1:30` are texts. Anchors, aliases and
/// merge keys (`<<`) are resolved; tags but those of the core schema for texts, lists and objects are refused.
struct YAMLReader {
  /// Why a text is not YAML that stands for JSON.
  struct SyntaxError: Error {
    /// From 1. Nil: the text as a whole.
    var line: Int?
    /// From 1, in characters of the line.
    var column: Int?
    var message: String

    var problem: Problem {
      let place = line.flatMap { line in column.map { " at line \(line), column \($0)" } } ?? ""
      return Problem(pointer: "", message: "not YAML\(place): \(message)", line: line, column: column)
    }
  }

  private var places: CharacterPlaces
  /// What may still be read, in characters of scalars and in values: aliases may stand for more than a text has.
  private var left: Int

  /// - Returns: The value. Its offsets are those of the text.
  static func read(_ text: [UInt8], limit: Int) throws(SyntaxError) -> JSONValue {
    guard let string = String(validating: text, as: UTF8.self) else {
      throw SyntaxError(message: "this is not UTF-8")
    }
    let node: Node?
    do {
      node = try Parser(yaml: string, resolver: .basic, encoding: .utf8).singleRoot()
    } catch let error as YamlError {
      throw SyntaxError(error)
    } catch {
      throw SyntaxError(message: "\(error)")
    }
    guard let node else { throw SyntaxError(message: "there is nothing in it") }
    var reader = YAMLReader(places: CharacterPlaces(text), left: limit)
    return try reader.value(node, at: .root, depth: 0)
  }

  private mutating func value(
    _ node: Node, at pointer: JSONPointer, depth: Int
  ) throws(SyntaxError) -> JSONValue {
    try take(1, node)
    guard depth <= JSONReader.greatestDepth else {
      throw error("values are nested more than \(JSONReader.greatestDepth) deep", node)
    }
    let content: JSONValue.Content
    switch node {
    case .scalar(let scalar):
      content = try self.content(scalar, node)
    case .sequence(let sequence):
      try check(sequence.tag, Tag.Name.seq, node)
      var items: [JSONValue] = []
      for item in sequence { items.append(try value(item, at: pointer.index(items.count), depth: depth + 1)) }
      content = .array(items)
    case .mapping(let mapping):
      try check(mapping.tag, Tag.Name.map, node)
      content = .object(try members(mapping, at: pointer, depth: depth))
    case .alias:
      // The parser has replaced it.
      throw error("an alias of nothing", node)
    }
    return JSONValue(content: content, pointer: pointer, offset: places.offset(of: node.mark))
  }

  private mutating func members(
    _ mapping: Node.Mapping, at pointer: JSONPointer, depth: Int
  ) throws(SyntaxError) -> [(key: String, value: JSONValue)] {
    var members: [(key: String, value: JSONValue)] = []
    var merged: [(key: String, value: JSONValue)] = []
    var names: Set<String> = []
    for (key, written) in mapping {
      guard case .scalar(let name) = key else { throw error("a key should be a text", key) }
      if name.string == "<<", name.style == .plain {
        for source in try mergedMappings(written) { merged += try self.members(source, at: pointer, depth: depth) }
        continue
      }
      try take(name.string.utf8.count, key)
      guard names.insert(name.string).inserted else { throw error(JSONReader.duplicateKey, key) }
      members.append((name.string, try value(written, at: pointer.key(name.string), depth: depth + 1)))
    }
    // The object's own keys go before what it is merged with, and of that the first.
    return members + merged.filter { names.insert($0.key).inserted }
  }

  private func mergedMappings(_ node: Node) throws(SyntaxError) -> [Node.Mapping] {
    switch node {
    case .mapping(let mapping): return [mapping]
    case .sequence(let sequence):
      var mappings: [Node.Mapping] = []
      for item in sequence { mappings += try mergedMappings(item) }
      return mappings
    default: throw error("'<<' merges an object, or a list of objects, into this one", node)
    }
  }

  private mutating func content(_ scalar: Node.Scalar, _ node: Node) throws(SyntaxError) -> JSONValue.Content {
    let text = scalar.string
    try take(text.utf8.count, node)
    guard scalar.isPlain else {
      try check(scalar.tag, Tag.Name.str, node)
      return .string(text)
    }
    switch text {
    case "", "~", "null", "Null", "NULL": return .null
    case "true", "True", "TRUE": return .boolean(true)
    case "false", "False", "FALSE": return .boolean(false)
    default: break
    }
    guard let first = text.utf8.first, "+-.0123456789".utf8.contains(first) else { return .string(text) }
    if Self.isOctalOrHexadecimal(text.utf8) {
      throw error("\(text) is a number that is not decimal: write it in decimal, or in quotes if it is a text", node)
    }
    guard let number = DecimalNumber(text) else { return .string(text) }
    // YAML 1.1 has it in octal.
    guard !number.whole.hasPrefix("0") || number.whole.count == 1 else {
      throw error("\(text) begins with 0: write it without, or in quotes if it is a text", node)
    }
    return .number(number.json)
  }

  private static func isOctalOrHexadecimal(_ text: String.UTF8View) -> Bool {
    let digits = text.dropFirst(2)
    guard !digits.isEmpty else { return false }
    if text.starts(with: "0o".utf8) { return digits.allSatisfy { "01234567".utf8.contains($0) } }
    return text.starts(with: "0x".utf8) && digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
  }

  /// Refuses a tag of another kind of value.
  private func check(_ tag: Tag, _ own: Tag.Name, _ node: Node) throws(SyntaxError) {
    guard [Tag.Name.implicit, .nonSpecific, own].contains(where: { $0.rawValue == tag.rawValue }) else {
      throw error("the tag \(tag.rawValue) means nothing here", node)
    }
  }

  private mutating func take(_ size: Int, _ node: Node) throws(SyntaxError) {
    left -= size
    guard left >= 0 else { throw error("with its aliases, the document is too long", node) }
  }

  private func error(_ message: String, _ node: Node) -> SyntaxError {
    SyntaxError(line: node.mark?.line, column: node.mark?.column, message: message)
  }
}

/// A number as the core schema of YAML writes it: a sign, digits, a fraction and an exponent. The whole part or the
/// fraction may be missing.
private struct DecimalNumber {
  private let isNegative: Bool
  let whole: Substring
  /// Without the point.
  private let fraction: Substring
  /// With its letter; or empty.
  private let exponent: Substring

  init?(_ text: String) {
    var rest = text[...]
    func digits() -> Substring {
      let digits = rest.prefix { $0.isASCII && $0.isNumber }
      rest = rest[digits.endIndex...]
      return digits
    }
    isNegative = rest.first == "-"
    if isNegative || rest.first == "+" { rest.removeFirst() }
    whole = digits()
    if rest.first == "." {
      rest.removeFirst()
      fraction = digits()
    } else {
      fraction = ""
    }
    guard !whole.isEmpty || !fraction.isEmpty else { return nil }
    let start = rest.startIndex
    if rest.first == "e" || rest.first == "E" {
      rest.removeFirst()
      if rest.first == "-" || rest.first == "+" { rest.removeFirst() }
      guard !digits().isEmpty else { return nil }
    }
    exponent = text[start..<rest.startIndex]
    guard rest.isEmpty else { return nil }
  }

  var json: String {
    (isNegative ? "-" : "") + (whole.isEmpty ? "0" : whole) + (fraction.isEmpty ? "" : "." + fraction) + exponent
  }
}

extension Node.Scalar {
  /// Whether it is written without quotes and without a tag.
  fileprivate var isPlain: Bool { style == .plain && tag.rawValue == Tag.Name.implicit.rawValue }
}

extension YAMLReader.SyntaxError {
  fileprivate init(_ error: YamlError) {
    func said(_ context: YamlError.Context?, _ problem: String) -> String {
      // With the name of a function that changes it.
      if problem.hasPrefix("Maximum nesting level") { return "values are nested too deep" }
      return context.map { "\($0.text): \(problem)" } ?? problem
    }
    switch error {
    case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
      .composer(let context, let problem, let mark, _):
      self.init(line: mark.line, column: mark.column, message: said(context, problem))
    case .duplicatedKeysInMapping(_, let context):
      self.init(line: context.mark.line, column: context.mark.column, message: JSONReader.duplicateKey)
    case .reader(let problem, _, _, _): self.init(message: problem)
    default: self.init(message: "\(error)")
    }
  }
}

/// The bytes of a text at which its characters are, by lines that end as YAML has it.
private struct CharacterPlaces {
  private let text: [UInt8]
  /// Where each line begins, in bytes.
  private let starts: [Int]
  /// Of lines that were asked for, where each character begins.
  private var characters: [Int: [Int]] = [:]

  init(_ text: [UInt8]) {
    var starts = [0]
    for index in text.indices {
      switch text[index] {
      case 0x0A: starts.append(index + 1)
      case 0x0D where index + 1 == text.count || text[index + 1] != 0x0A: starts.append(index + 1)
      // Of NEL, LS and PS the last byte.
      case 0x85 where index > 0 && text[index - 1] == 0xC2: starts.append(index + 1)
      case 0xA8...0xA9 where index > 1 && text[index - 1] == 0x80 && text[index - 2] == 0xE2: starts.append(index + 1)
      default: break
      }
    }
    (self.text, self.starts) = (text, starts)
  }

  /// The byte of a place, whose column counts characters.
  mutating func offset(of mark: Mark?) -> Int {
    guard let mark, starts.indices.contains(mark.line - 1) else { return 0 }
    let line = mark.line - 1
    let places: [Int]
    if let known = characters[line] {
      places = known
    } else {
      let end = line + 1 < starts.count ? starts[line + 1] : text.count
      places = (starts[line]..<end).filter { text[$0] & 0xC0 != 0x80 }
      characters[line] = places
    }
    return places.indices.contains(mark.column - 1) ? places[mark.column - 1] : places.last ?? starts[line]
  }
}
