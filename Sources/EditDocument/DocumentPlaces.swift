package import CompositionModel

/// Lines and columns of the values of a document's text, for its problems.
package struct DocumentPlaces: Sendable {
  private let bytes: [UInt8]
  /// Nil: the text is not JSON, and its one problem has its place.
  private let root: JSONValue?
  /// Where each line starts, in bytes.
  private let lines: [Int]
  /// The places of keys that occur a second time.
  private let duplicates: [String: Int]

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
    let read = try? JSONReader.read(bytes)  // What is not JSON is reported by who reads the document.
    root = read?.value
    duplicates = Self.places(read?.duplicates ?? [])
    lines = Self.lines(bytes)
  }

  /// - Parameter root: The value of a text of another language. Its offsets are those of the text.
  package init(_ bytes: [UInt8], _ root: JSONValue, _ duplicates: [JSONReader.Duplicate]) {
    self.bytes = bytes
    self.root = root
    self.duplicates = Self.places(duplicates)
    lines = Self.lines(bytes)
  }

  private static func places(_ duplicates: [JSONReader.Duplicate]) -> [String: Int] {
    Dictionary(duplicates.map { ($0.pointer.text, $0.offset) }) { first, _ in first }
  }

  /// The line and the column of a byte of a text, from 1; the column in characters.
  package static func place(of offset: Int, in bytes: [UInt8]) -> (line: Int, column: Int) {
    let before = bytes[..<min(offset, bytes.count)]
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    // Every byte but a continuation byte starts a character.
    return (before.count { $0 == UInt8(ascii: "\n") } + 1, before[start...].count { $0 & 0xC0 != 0x80 } + 1)
  }

  private static func lines(_ bytes: [UInt8]) -> [Int] {
    [0] + bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }.map { $0 + 1 }
  }

  /// The problems with their lines and columns: those of the value at the pointer or, if that is not there, of the
  /// nearest value around it. A problem with the document as a whole has none.
  package func located(_ problems: [Problem]) -> [Problem] {
    problems.map { problem in
      guard problem.line == nil, !problem.pointer.isEmpty, let offset = offset(of: problem) else { return problem }
      var located = problem
      (located.line, located.column) = place(offset)
      return located
    }
  }

  private func offset(of problem: Problem) -> Int? {
    if problem.message == JSONReader.duplicateKey, let offset = duplicates[problem.pointer] { return offset }
    guard var value = root else { return nil }
    for part in problem.pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
      let key = part.replacing("~1", with: "/").replacing("~0", with: "~")
      switch value.content {
      case .object(let members):
        guard let member = members.first(where: { $0.key == key }) else { return value.offset }
        value = member.value
      case .array(let items):
        guard let index = Int(key), items.indices.contains(index) else { return value.offset }
        value = items[index]
      default: return value.offset
      }
    }
    return value.offset
  }

  /// The line and the column of a byte, from 1; the column in characters.
  private func place(_ offset: Int) -> (line: Int, column: Int) {
    let line = lines.partitionPoint { offset < $0 }
    // Every byte but a continuation byte starts a character.
    let column = bytes[lines[line - 1]..<offset].count { $0 & 0xC0 != 0x80 }
    return (line, column + 1)
  }
}
