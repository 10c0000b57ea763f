package import CompositionModel

/// Why a text is not JSON, and the place of the error.
package struct JSONSyntaxError: Error {
  /// From 1.
  package var line: Int
  /// From 1, in characters of the line.
  package var column: Int
  package var message: String

  /// The one problem of a text that is not JSON.
  package var problem: Problem {
    Problem(
      pointer: "", message: "not JSON at line \(line), column \(column): \(message)", line: line, column: column)
  }
}

/// Reads JSON (RFC 8259) strictly: no comments, no trailing commas, nothing after the value, valid UTF-8, bounded in
/// size and depth. If a key occurs twice in an object, its first value is kept and the second is reported in
/// `duplicates`.
package struct JSONReader {
  package static let greatestByteCount = 4 << 20
  package static let greatestDepth = 64

  /// A key that occurs a second time, and where that is in bytes.
  package typealias Duplicate = (pointer: JSONPointer, offset: Int)

  /// The message for a key that occurs twice.
  package static let duplicateKey = "this key occurs twice in its object"

  private(set) var duplicates: [Duplicate] = []

  private let bytes: [UInt8]
  private var offset = 0

  private init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  package static func read(_ bytes: [UInt8]) throws(JSONSyntaxError) -> (value: JSONValue, duplicates: [Duplicate]) {
    var reader = JSONReader(bytes)
    guard bytes.count <= greatestByteCount else {
      throw JSONSyntaxError(
        line: 1, column: 1, message: "the document has \(bytes.count) bytes; at most \(greatestByteCount) are allowed")
    }
    if let offset = firstInvalidByte(bytes) { throw reader.error("this is not UTF-8", at: offset) }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      throw reader.error("the document starts with a byte order mark; save it as UTF-8 without one", at: 0)
    }
    let value = try reader.value(at: .root, depth: 0)
    reader.skipSpace()
    guard reader.offset == bytes.count else { throw reader.expected("nothing may follow the document's value") }
    return (value, reader.duplicates)
  }

  /// The offset of the first byte that is not UTF-8. Nil if there is none.
  package static func firstInvalidByte(_ bytes: [UInt8]) -> Int? {
    do throws(Unicode.UTF8.ValidationError) {
      _ = try UTF8Span(validating: bytes.span)
      return nil
    } catch {
      return error.byteOffsets.lowerBound
    }
  }

  /// An error at a byte offset; by default the current one.
  private func error(_ message: String, at place: Int? = nil) -> JSONSyntaxError {
    let (line, column) = DocumentPlaces.place(of: place ?? offset, in: bytes)
    return JSONSyntaxError(line: line, column: column, message: message)
  }

  // MARK: Values

  private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { offset += 1 }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    offset += 1
    return true
  }

  private mutating func value(at pointer: JSONPointer, depth: Int) throws(JSONSyntaxError) -> JSONValue {
    skipSpace()
    guard let byte = next else { throw error("the document ends where a value should be") }
    guard depth <= Self.greatestDepth else {
      throw error("values are nested more than \(Self.greatestDepth) deep")
    }
    let start = offset
    let content: JSONValue.Content
    switch byte {
    case UInt8(ascii: "{"): content = .object(try members(at: pointer, depth: depth))
    case UInt8(ascii: "["): content = .array(try items(at: pointer, depth: depth))
    case UInt8(ascii: "\""): content = .string(try string())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): content = .number(try number())
    default: content = try word()
    }
    return JSONValue(content: content, pointer: pointer, offset: start)
  }

  private mutating func word() throws(JSONSyntaxError) -> JSONValue.Content {
    let words: [(String, JSONValue.Content)] = [
      ("true", .boolean(true)), ("false", .boolean(false)), ("null", .null),
    ]
    for (word, content) in words where bytes[offset...].starts(with: word.utf8) {
      offset += word.utf8.count
      return content
    }
    throw expected("a value should be here: an object, an array, a string in double quotes, a number, true or false")
  }

  /// Where an object or an array begins that is not complete, if that is in another line.
  private func beginning(of noun: String, at start: Int) -> String {
    func line(_ offset: Int) -> Int { bytes[..<offset].count { $0 == UInt8(ascii: "\n") } + 1 }
    return line(start) == line(offset) ? "" : ", of the \(noun) that begins in line \(line(start))"
  }

  /// The error of something else than what should be here, with a hint if it is what other languages have.
  private func expected(_ message: String) -> JSONSyntaxError {
    error(foreign().map { "\(message); \($0)" } ?? message)
  }

  /// What to write in place of what other languages than JSON have.
  private func foreign() -> String? {
    func starts(with text: String) -> Bool { bytes[offset...].starts(with: text.utf8) }
    if ["//", "/*", "#"].contains(where: starts) { return "JSON has no comments: take this one out" }
    if ["\u{201C}", "\u{201D}", "\u{201E}", "\u{AB}", "\u{2018}", "\u{2019}"].contains(where: starts) {
      return "a string has straight double quotes, not typographic ones"
    }
    if starts(with: "'") { return "JSON has double quotes alone" }
    if starts(with: "True") || starts(with: "False") { return "JSON has true and false, in small letters" }
    if ["None", "nil", "undefined"].contains(where: starts) { return "leave out a key that has no value" }
    if starts(with: ".") { return "a number starts with a digit: 0.5, not .5" }
    if starts(with: "+") { return "a number has no '+'" }
    if let byte = next, byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]"),
      bytes[..<offset].last(where: { ![0x20, 0x0A, 0x0D, 0x09].contains($0) }) == UInt8(ascii: ",")
    {
      return "JSON has no comma after the last value: take it out"
    }
    return nil
  }

  private mutating func members(
    at pointer: JSONPointer, depth: Int
  ) throws(JSONSyntaxError) -> [(key: String, value: JSONValue)] {
    let begin = offset
    offset += 1
    var members: [(key: String, value: JSONValue)] = []
    var keys: Set<String> = []
    skipSpace()
    if take("}") { return members }
    while true {
      skipSpace()
      guard next == UInt8(ascii: "\"") else { throw expected("a key in double quotes should be here") }
      let start = offset
      let key = try string()
      skipSpace()
      guard take(":") else { throw expected("a ':' should follow the key \"\(key.shortened)\"") }
      let value = try value(at: pointer.key(key), depth: depth + 1)
      if keys.insert(key).inserted { members.append((key, value)) } else { duplicates.append((value.pointer, start)) }
      skipSpace()
      if take("}") { return members }
      guard take(",") else {
        throw expected(
          "a ',' or '}' should follow the value of \"\(key.shortened)\"\(beginning(of: "object", at: begin))")
      }
    }
  }

  private mutating func items(at pointer: JSONPointer, depth: Int) throws(JSONSyntaxError) -> [JSONValue] {
    let start = offset
    offset += 1
    var items: [JSONValue] = []
    skipSpace()
    if take("]") { return items }
    while true {
      items.append(try value(at: pointer.index(items.count), depth: depth + 1))
      skipSpace()
      if take("]") { return items }
      guard take(",") else {
        throw expected("a ',' or ']' should follow a value of an array\(beginning(of: "array", at: start))")
      }
    }
  }

  // MARK: Numbers

  private mutating func number() throws(JSONSyntaxError) -> String {
    let start = offset
    _ = take("-")
    if !take("0") { try digits() }
    if take(".") { try digits() }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      try digits()
    }
    if let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
      throw error("a number may not start with 0 and go on", at: start)
    }
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  private mutating func digits() throws(JSONSyntaxError) {
    let start = offset
    while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { offset += 1 }
    if offset == start { throw error("a digit should be here") }
  }

  // MARK: Strings

  private mutating func string() throws(JSONSyntaxError) -> String {
    let start = offset
    offset += 1
    var text: [UInt8] = []
    while let byte = next {
      switch byte {
      case UInt8(ascii: "\""):
        offset += 1
        return String(decoding: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        offset += 1
        text += Array(String(try escape()).utf8)
      case ..<0x20: throw error("a control character in a string must be written as an escape, such as \\n")
      default:
        text.append(byte)
        offset += 1
      }
    }
    throw error("this string has no closing quote", at: start)
  }

  private mutating func escape() throws(JSONSyntaxError) -> Unicode.Scalar {
    let start = offset - 1
    guard let byte = next else { throw error("this escape is cut short", at: start) }
    offset += 1
    switch byte {
    case UInt8(ascii: "\""): return "\""
    case UInt8(ascii: "\\"): return "\\"
    case UInt8(ascii: "/"): return "/"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): break
    default: throw error("this is not an escape of JSON", at: start)
    }
    let unit = try hexUnit(start)
    if let scalar = Unicode.Scalar(unit) { return scalar }
    guard unit < 0xDC00, take("\\"), take("u") else {
      throw error("one half of a surrogate pair is missing", at: start)
    }
    let low = try hexUnit(start)
    guard (0xDC00...0xDFFF).contains(low),
      let scalar = Unicode.Scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(low) - 0xDC00))
    else { throw error("one half of a surrogate pair is missing", at: start) }
    return scalar
  }

  private mutating func hexUnit(_ start: Int) throws(JSONSyntaxError) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw error("\\u is followed by four hexadecimal digits", at: start)
      }
      unit = unit << 4 | UInt16(digit)
      offset += 1
    }
    return unit
  }
}

/// One value of a JSON text and its place. Numbers keep their text, so that a time never becomes a `Double`.
package struct JSONValue: Sendable {
  package enum Content: Sendable {
    case null
    case boolean(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    /// In the order of the text. Keys are unique.
    case object([(key: String, value: JSONValue)])
  }

  package let content: Content
  package let pointer: JSONPointer
  /// Where it starts in the text, in bytes.
  package let offset: Int

  /// - Parameter pointer: That of a value that is in no text yet is the root.
  package init(content: Content, pointer: JSONPointer = .root, offset: Int = 0) {
    self.content = content
    self.pointer = pointer
    self.offset = offset
  }

  /// Whether it is a number or a string that begins with a minus sign.
  var startsWithMinus: Bool {
    switch content {
    case .number(let text), .string(let text): text.hasPrefix("-")
    default: false
    }
  }

  /// The value for a message: scalars as they are written, long ones cut.
  package var shown: String {
    switch content {
    case .null: "null"
    case .boolean(let value): value ? "true" : "false"
    case .number(let text): text.shortened
    case .string(let text): "\"\(text.shortened)\""
    case .array(let items): items.count == 1 ? "an array of 1 value" : "an array of \(items.count) values"
    case .object: "an object"
    }
  }
}
