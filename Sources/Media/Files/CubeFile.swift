package import CompositionModel

/// A look-up table of colours as a `.cube` file has it (Adobe's Cube LUT Specification 1.0, and the ranges that Resolve
/// writes).
package struct CubeFile: Sendable {
  package let format: ColourTableFormat
  /// The values that the first and the last entry belong to, for red, green and blue.
  package let domain: [ClosedRange<Double>]
  /// Red, green and blue of each entry; red changes fastest.
  package let values: [Float]

  /// The most entries along each dimension.
  package static let greatestSizes = [1: 65_536, 3: 129]
  /// The greatest distance of a domain's ends from 0, and the least distance between them.
  private static let domainLimit = (distance: 16.0, span: 1.0 / 64)
  /// No table that is accepted takes more bytes, unless it is written with very many digits.
  private static let greatestByteCount: Int64 = 128 << 20
  private static let keywords = [
    "TITLE", "LUT_1D_SIZE", "LUT_3D_SIZE", "DOMAIN_MIN", "DOMAIN_MAX", "LUT_1D_INPUT_RANGE", "LUT_3D_INPUT_RANGE",
  ]

  /// Whether a file is meant as a table: its first line that is not empty and no comment begins with one of the
  /// keywords.
  package static func isOne(_ source: any ByteSource) throws(MediaError) -> Bool {
    let head = try source.bytes(count: Int(min(source.byteCount, 65_536)))
    var lines = Lines(head)
    while let line = lines.next() {
      guard let first = line.words.first else { continue }
      return keywords.contains { first.elementsEqual($0.utf8) }
    }
    return false
  }

  /// - Throws: `.damaged` or `.tooLarge`, with the line, for a file that is no table of a supported size.
  package init(_ source: any ByteSource, name: String) throws(MediaError) {
    var table = Table(name: name)
    guard source.byteCount <= CubeFile.greatestByteCount else {
      throw table.error(
        "\(source.byteCount) bytes; a look-up table has at most \(CubeFile.greatestByteCount)", .tooLarge)
    }
    var lines = Lines(try source.bytes(count: Int(source.byteCount)))
    while let line = lines.next() {
      guard let first = line.words.first else { continue }
      if let keyword = CubeFile.keywords.first(where: { first.elementsEqual($0.utf8) }) {
        try table.take(keyword, line)
      } else {
        try table.addEntry(line)
      }
    }
    format = try table.checkedFormat(lastLine: lines.number)
    values = table.values
    domain = zip(table.lowest, table.highest).map { $0...$1 }
  }

  /// A table while its lines are read.
  private struct Table {
    /// The file's, for messages.
    let name: String
    private var format: ColourTableFormat?
    private(set) var lowest = [0.0, 0, 0]
    private(set) var highest = [1.0, 1, 1]
    private(set) var values: [Float] = []
    /// The number of entries of the table's size.
    private var expected = 0

    init(name: String) { self.name = name }

    func error(_ message: String, line: Int? = nil, _ code: MediaError.Code = .damaged) -> MediaError {
      MediaError(
        code, operation: "reading", subject: name, message: line.map { "line \($0): \(message)" } ?? message)
    }

    mutating func addEntry(_ line: Lines.Line) throws(MediaError) {
      guard format != nil else {
        throw error("an entry or an unknown keyword before LUT_1D_SIZE or LUT_3D_SIZE", line: line.number)
      }
      let numbers = line.words.prefix(4).compactMap(CubeFile.number)
      guard numbers.count == 3, line.words.count == 3 else {
        throw error("three numbers should be here, for red, green and blue", line: line.number)
      }
      guard values.count < 3 * expected else {
        throw error("one entry more than the \(expected) of the table's size", line: line.number)
      }
      for number in numbers { values.append(Float(number)) }
    }

    /// Takes the line of a keyword.
    mutating func take(_ keyword: String, _ line: Lines.Line) throws(MediaError) {
      if keyword == "TITLE" { return }
      guard values.isEmpty else { throw error("\(keyword) must stand before the entries", line: line.number) }
      let numbers = line.words.dropFirst().prefix(4).compactMap(CubeFile.number)
      switch keyword {
      case "LUT_1D_SIZE", "LUT_3D_SIZE": try takeSize(keyword, numbers, line)
      case "DOMAIN_MIN", "DOMAIN_MAX":
        guard numbers.count == 3, line.words.count == 4 else {
          throw error("\(keyword) should be followed by three numbers", line: line.number)
        }
        if keyword == "DOMAIN_MIN" { lowest = numbers } else { highest = numbers }
      default:
        guard numbers.count == 2, line.words.count == 3 else {
          throw error("\(keyword) should be followed by two numbers", line: line.number)
        }
        lowest = Array(repeating: numbers[0], count: 3)
        highest = Array(repeating: numbers[1], count: 3)
      }
    }

    private mutating func takeSize(_ keyword: String, _ numbers: [Double], _ line: Lines.Line) throws(MediaError) {
      let dimensions = keyword == "LUT_1D_SIZE" ? 1 : 3
      guard format == nil else {
        throw error("a second size; a table with curves before its cube is not supported", line: line.number)
      }
      let sizes = 2...(CubeFile.greatestSizes[dimensions] ?? 2)
      guard numbers.count == 1, line.words.count == 2, let size = Int(exactly: numbers[0]), sizes.contains(size)
      else {
        throw error(
          "\(keyword) should be followed by a whole number from \(sizes.lowerBound) to \(sizes.upperBound)",
          line: line.number, .tooLarge)
      }
      format = ColourTableFormat(dimensions: dimensions, size: size)
      expected = dimensions == 1 ? size : size * size * size
      values.reserveCapacity(3 * expected)
    }

    /// The format of the table when all lines are read, if it is complete.
    func checkedFormat(lastLine: Int) throws(MediaError) -> ColourTableFormat {
      guard let format else { throw error("there is no LUT_1D_SIZE or LUT_3D_SIZE") }
      guard values.count == 3 * expected else {
        throw error("\(values.count / 3) entries; a table of this size has \(expected)", line: lastLine)
      }
      let limit = CubeFile.domainLimit
      for (low, high) in zip(lowest, highest) {
        guard abs(low) <= limit.distance, abs(high) <= limit.distance, high - low >= limit.span else {
          throw error(
            "a domain from \(low) to \(high); it must be within -\(limit.distance)...\(limit.distance), and not empty")
        }
      }
      return format
    }
  }

  /// A finite number, such as `-1.5e-3`.
  private static func number(_ word: ArraySlice<UInt8>) -> Double? {
    guard word.count <= 64, word.allSatisfy({ $0 < 0x80 && $0 != 0x78 && $0 != 0x58 }),
      let number = Double(String(decoding: word, as: UTF8.self)), number.isFinite
    else { return nil }
    return number
  }

  /// The lines of a text, each as its words.
  private struct Lines {
    typealias Line = (number: Int, words: [ArraySlice<UInt8>])

    private let bytes: [UInt8]
    private var position: Int
    /// The number of the line that was returned last, from 1 on; 0 before the first.
    private(set) var number = 0

    init(_ bytes: [UInt8]) {
      self.bytes = bytes
      // A byte order mark is no part of the text.
      position = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    }

    /// The next line; nil at the end. A comment has no words.
    mutating func next() -> Line? {
      guard position < bytes.count else { return nil }
      let end = bytes[position...].firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
      let line = bytes[position..<end]
      position = end + 1
      // CR LF is one end.
      if end + 1 < bytes.count, bytes[end] == 0x0D, bytes[end + 1] == 0x0A { position += 1 }
      number += 1
      let words = line.split(maxSplits: 7) { $0 == 0x20 || $0 == 0x09 }
      return (number, words.first?.first == 0x23 ? [] : words)
    }
  }
}
