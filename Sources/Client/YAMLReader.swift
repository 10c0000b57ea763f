import CompositionModel
import EditDocument

/// Reads YAML 1.2 as the JSON that it stands for.
///
/// Scalars are taken as they are written, so that a number is never rounded. What a scalar without quotes is, the core
/// schema of YAML 1.2 says (section 10.3.2), as far as JSON has it: `yes` and `1:30` are texts. Anchors, aliases and
/// merge keys (`<<`) are resolved; tags but those of the core schema for texts, lists and objects are refused. A key
/// that occurs twice in an object stays so, for who reads the JSON to report.
struct YAMLReader {
  /// Why a text is not YAML that stands for JSON.
  struct SyntaxError: Error {
    /// In bytes of the text.
    var offset: Int
    var message: String
  }

  /// A value, and what it costs where an alias repeats it.
  private struct Node {
    var value: JSONValue
    /// In values, and bytes of scalars and keys.
    var size: Int
    /// Of the values in it.
    var depth: Int
  }

  private static let textTag = "tag:yaml.org,2002:str"
  private static let listTag = "tag:yaml.org,2002:seq"
  private static let objectTag = "tag:yaml.org,2002:map"
  private static let mergeKey = "<<"

  private let events: YAMLEvents
  private var anchors: [String: Node] = [:]
  private var duplicates: [JSONReader.Duplicate] = []
  /// What aliases may still add to the text: they may stand for more than it has.
  private var left: Int

  /// - Returns: The value, and the keys that occur a second time. Offsets are those of the text.
  /// - Parameter limit: The most bytes of the text, and of what aliases add to it.
  static func read(
    _ text: [UInt8], limit: Int
  ) throws(SyntaxError) -> (value: JSONValue, duplicates: [JSONReader.Duplicate]) {
    guard text.count <= limit else {
      throw SyntaxError(offset: 0, message: "the document has \(text.count) bytes; at most \(limit) are allowed")
    }
    if text.starts(with: [0xEF, 0xBB, 0xBF]) {
      throw SyntaxError(offset: 0, message: "the document starts with a byte order mark; save it as UTF-8 without one")
    }
    var reader = YAMLReader(events: YAMLEvents(text), left: limit)
    let value = try reader.document()
    return (value, reader.duplicates)
  }

  private mutating func document() throws(SyntaxError) -> JSONValue {
    while true {
      let event = try events.next()
      switch event.kind {
      case .streamEnd: throw SyntaxError(offset: 0, message: "there is nothing in it")
      case .document, .other: continue
      default: break
      }
      let node = try node(event, at: .root, depth: 0)
      while true {
        let rest = try events.next()
        switch rest.kind {
        case .streamEnd: return node.value
        case .document: throw SyntaxError(offset: rest.offset, message: "another document follows; a film has one")
        default: continue
        }
      }
    }
  }

  private mutating func node(
    _ event: YAMLEvents.Event, at pointer: JSONPointer, depth: Int
  ) throws(SyntaxError) -> Node {
    try check(depth: depth, event)
    var node: Node
    switch event.kind {
    case .alias(let name):
      guard let found = anchors[name] else { throw error("there is no anchor '\(name.shortened)' before", event) }
      try check(depth: depth + found.depth, event)
      try take(found.size, event)
      return found
    case .scalar(let text, let isPlain):
      let content = try content(text, isPlain: isPlain, event)
      node = Node(
        value: JSONValue(content: content, pointer: pointer, offset: event.offset), size: 1 + text.utf8.count, depth: 0)
    case .sequence:
      try check(event, Self.listTag)
      node = try list(event, at: pointer, depth: depth)
    case .mapping:
      try check(event, Self.objectTag)
      node = try object(event, at: pointer, depth: depth)
    case .end, .document, .other, .streamEnd:
      throw error("a value should be here", event)
    }
    if let anchor = event.anchor { anchors[anchor] = node }
    return node
  }

  private mutating func list(
    _ start: YAMLEvents.Event, at pointer: JSONPointer, depth: Int
  ) throws(SyntaxError) -> Node {
    var (items, size, inner) = ([JSONValue](), 1, 0)
    while true {
      let event = try events.next()
      if case .end = event.kind { break }
      let item = try node(event, at: pointer.index(items.count), depth: depth + 1)
      items.append(item.value)
      size += item.size
      inner = max(inner, item.depth + 1)
    }
    return Node(
      value: JSONValue(content: .array(items), pointer: pointer, offset: start.offset), size: size, depth: inner)
  }

  private mutating func object(
    _ start: YAMLEvents.Event, at pointer: JSONPointer, depth: Int
  ) throws(SyntaxError) -> Node {
    var members: [(key: String, value: JSONValue)] = []
    var merged: [(key: String, value: JSONValue)] = []
    var names: Set<String> = []
    var (size, inner) = (1, 0)
    while true {
      let event = try events.next()
      if case .end = event.kind { break }
      guard case .scalar(let name, let isPlain) = event.kind else { throw error("a key should be a text", event) }
      try check(event, Self.textTag)
      if let anchor = event.anchor {
        anchors[anchor] = Node(
          value: JSONValue(content: .string(name), pointer: pointer, offset: event.offset), size: 1 + name.utf8.count,
          depth: 0)
      }
      let next = try events.next()
      let isMerged = name == Self.mergeKey && isPlain && event.tag == nil
      // What is merged is not in the object, but a part of it.
      let value = try node(next, at: pointer.key(name), depth: isMerged ? depth : depth + 1)
      size += name.utf8.count + value.size
      inner = max(inner, isMerged ? value.depth : value.depth + 1)
      if isMerged {
        merged += try mergedMembers(value.value, next)
      } else {
        if !names.insert(name).inserted { duplicates.append((pointer.key(name), event.offset)) }
        members.append((name, value.value))
      }
    }
    // The object's own keys go before what it is merged with, and of that the first.
    members += merged.filter { names.insert($0.key).inserted }
    return Node(
      value: JSONValue(content: .object(members), pointer: pointer, offset: start.offset), size: size, depth: inner)
  }

  private func mergedMembers(
    _ value: JSONValue, _ event: YAMLEvents.Event
  ) throws(SyntaxError) -> [(key: String, value: JSONValue)] {
    switch value.content {
    case .object(let members): return members
    case .array(let items):
      var merged: [(key: String, value: JSONValue)] = []
      for item in items {
        guard case .object(let members) = item.content else { throw notMerged(event) }
        merged += members
      }
      return merged
    default: throw notMerged(event)
    }
  }

  private func notMerged(_ event: YAMLEvents.Event) -> SyntaxError {
    error("'<<' merges an object, or a list of objects, into this one", event)
  }

  private func content(
    _ text: String, isPlain: Bool, _ event: YAMLEvents.Event
  ) throws(SyntaxError) -> JSONValue.Content {
    guard isPlain, event.tag == nil else {
      try check(event, Self.textTag)
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
      throw error("\(text) is a number that is not decimal: write it in decimal, or in quotes if it is a text", event)
    }
    guard let number = DecimalNumber(text) else { return .string(text) }
    // YAML 1.1 has it in octal.
    guard !number.whole.hasPrefix("0") || number.whole.utf8.count == 1 else {
      throw error("\(text) begins with 0: write it without, or in quotes if it is a text", event)
    }
    return .number(number.json)
  }

  private static func isOctalOrHexadecimal(_ text: String.UTF8View) -> Bool {
    let digits = text.dropFirst(2)
    guard !digits.isEmpty else { return false }
    if text.starts(with: "0o".utf8) { return digits.allSatisfy { "01234567".utf8.contains($0) } }
    return text.starts(with: "0x".utf8) && digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
  }

  // MARK: Limits

  /// Refuses a tag of another kind of value. `!` is that of the value's own kind.
  private func check(_ event: YAMLEvents.Event, _ own: String) throws(SyntaxError) {
    guard let tag = event.tag, tag != "!", tag != own else { return }
    throw error("the tag \(tag.shortened) means nothing here", event)
  }

  private func check(depth: Int, _ event: YAMLEvents.Event) throws(SyntaxError) {
    guard depth <= JSONReader.greatestDepth else {
      throw error("values are nested more than \(JSONReader.greatestDepth) deep", event)
    }
  }

  private mutating func take(_ size: Int, _ event: YAMLEvents.Event) throws(SyntaxError) {
    left -= size
    guard left >= 0 else { throw error("with its aliases, the document is too long", event) }
  }

  private func error(_ message: String, _ event: YAMLEvents.Event) -> SyntaxError {
    SyntaxError(offset: event.offset, message: message)
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
