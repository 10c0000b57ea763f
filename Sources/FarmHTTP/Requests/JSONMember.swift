/// Finds a member of a JSON object in its text, so that its value can be taken as it was written: pure.
struct JSONMember {
  private let bytes: [UInt8]
  private var offset = 0

  /// The text of the member's value. Nil: there is none.
  /// - Parameter object: Valid JSON. Of a name that occurs twice the first value counts.
  static func text(_ name: String, in object: [UInt8]) -> ArraySlice<UInt8>? {
    var reader = JSONMember(bytes: object)
    return reader.find(name).map { object[$0] }
  }

  private init(bytes: [UInt8]) {
    self.bytes = bytes
  }

  private mutating func find(_ name: String) -> Range<Int>? {
    skipSpace()
    guard take(UInt8(ascii: "{")) else { return nil }
    let quoted = Array("\"\(name)\"".utf8)
    while true {
      skipSpace()
      let key = value()
      skipSpace()
      guard !key.isEmpty, take(UInt8(ascii: ":")) else { return nil }
      skipSpace()
      let found = value()
      if bytes[key].elementsEqual(quoted) { return found }
      skipSpace()
      guard take(UInt8(ascii: ",")) else { return nil }
    }
  }

  /// The place of the next value, which is passed over.
  private mutating func value() -> Range<Int> {
    let start = offset
    var depth = 0
    while offset < bytes.count {
      switch bytes[offset] {
      case UInt8(ascii: "\""): skipString()
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        offset += 1
        continue
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return start..<offset }
        depth -= 1
        offset += 1
      case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0A, 0x0D:
        if depth == 0 { return start..<offset }
        offset += 1
        continue
      default:
        offset += 1
        if depth > 0 { continue }
        // The rest of a number or a word.
        while offset < bytes.count, !",}] \t\r\n".utf8.contains(bytes[offset]) { offset += 1 }
      }
      if depth == 0 { return start..<offset }
    }
    return start..<offset
  }

  private mutating func skipString() {
    offset += 1
    while offset < bytes.count, bytes[offset] != UInt8(ascii: "\"") {
      offset += bytes[offset] == UInt8(ascii: "\\") ? 2 : 1
    }
    offset = min(offset + 1, bytes.count)
  }

  private mutating func skipSpace() {
    while offset < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[offset]) { offset += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard offset < bytes.count, bytes[offset] == byte else { return false }
    offset += 1
    return true
  }
}
