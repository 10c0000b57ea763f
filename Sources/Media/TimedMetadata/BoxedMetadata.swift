package import CompositionModel

/// Timed metadata in boxes (`mebx`): the sample description declares keys, each with a number of the track's own and
/// the type of its values, and a sample is a box for each value, whose type is the number of its key. ISO/IEC 14496-12,
/// 12.9, and the QuickTime File Format, "Timed metadata".
package enum BoxedMetadata {
  /// What a sample description declares of a key.
  package struct Key: Sendable, Hashable {
    package var identifier: String
    package var dataType: MetadataItem.DataType

    package init(_ identifier: String, _ dataType: MetadataItem.DataType) {
      (self.identifier, self.dataType) = (identifier, dataType)
    }
  }

  /// What was wrong, as a sentence.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
  }

  /// Characters of a key space.
  private static let spaceLength = 4
  /// The number that says of a box in a sample that it has no value.
  private static let none: UInt32 = 0

  // MARK: Reading

  /// The keys of a sample description, by their numbers.
  /// - Parameter entry: The contents of the box `mebx`.
  static func keys(of entry: [UInt8]) throws(Failure) -> [UInt32: Key] {
    // Behind the reserved bytes and the data reference.
    guard entry.count >= 8, let table = try boxes(in: entry[8...]).first(where: { $0.type == code("keys") }) else {
      return [:]
    }
    var keys: [UInt32: Key] = [:]
    for box in try boxes(in: table.contents) where box.type != none {
      let parts = try boxes(in: box.contents)
      guard let declared = parts.first(where: { $0.type == code("keyd") })?.contents, declared.count > spaceLength
      else { continue }
      let space = String(decoding: declared.prefix(spaceLength), as: UTF8.self)
      let key = String(decoding: declared.dropFirst(spaceLength), as: UTF8.self)
      let type = parts.first { $0.type == code("dtyp") }.flatMap { dataType($0.contents) }
      keys[box.type] = Key("\(space)/\(key)", type ?? .wellKnown(0))
    }
    return keys
  }

  private static func dataType(_ contents: ArraySlice<UInt8>) -> MetadataItem.DataType? {
    guard contents.count >= 4 else { return nil }
    let rest = contents.dropFirst(4)
    switch bigEndian(contents.prefix(4)) {
    case 0 where rest.count >= 4: return .wellKnown(UInt32(truncatingIfNeeded: bigEndian(rest.prefix(4))))
    case 1: return .named(String(decoding: rest, as: UTF8.self))
    default: return nil
    }
  }

  /// The values of a sample. Those of keys that are not declared are left out.
  static func items(in sample: [UInt8], _ keys: [UInt32: Key]) throws(Failure) -> [MetadataItem] {
    try boxes(in: sample[...]).compactMap { box in
      guard let key = keys[box.type] else { return nil }
      return MetadataItem(key.identifier, value(box.contents, key.dataType), as: key.dataType)
    }
  }

  private static func boxes(
    in bytes: ArraySlice<UInt8>
  ) throws(Failure) -> [(type: UInt32, contents: ArraySlice<UInt8>)] {
    var boxes: [(type: UInt32, contents: ArraySlice<UInt8>)] = []
    var rest = bytes
    while !rest.isEmpty {
      guard rest.count >= 8 else { throw Failure("\(rest.count) bytes are behind the last box") }
      let size = Int(bigEndian(rest.prefix(4)))
      guard (8...rest.count).contains(size) else {
        throw Failure("a box has \(size) bytes where \(rest.count) are left")
      }
      let type = UInt32(truncatingIfNeeded: bigEndian(rest.dropFirst(4).prefix(4)))
      boxes.append((type, rest.prefix(size).dropFirst(8)))
      rest = rest.dropFirst(size)
    }
    return boxes
  }

  private static func value(_ bytes: ArraySlice<UInt8>, _ type: MetadataItem.DataType) -> MetadataItem.Value {
    switch type {
    case .utf8:
      if let text = String(validating: bytes, as: UTF8.self) { return .text(text) }
    case .utf16 where bytes.count.isMultiple(of: 2):
      let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map {
        UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
      }
      if let text = String(validating: units, as: UTF16.self) { return .text(text) }
    case .float32 where bytes.count == 4: return .number(float32(bytes))
    case .float64 where bytes.count == 8: return .number(Double(bitPattern: bigEndian(bytes)))
    case .point where bytes.count == 8, .dimensions where bytes.count == 8, .rect where bytes.count == 16:
      return .numbers(parts(bytes, of: 4).map(float32))
    case .affineTransform where bytes.count == 72:
      return .numbers(parts(bytes, of: 8).map { Double(bitPattern: bigEndian($0)) })
    case .wellKnown(21) where [1, 2, 3, 4, 8].contains(bytes.count):
      let unused = 64 - 8 * bytes.count
      return .integer(Int64(bitPattern: bigEndian(bytes) << UInt64(unused)) >> Int64(unused))
    case .wellKnown(22) where [1, 2, 3, 4, 8].contains(bytes.count): return .unsigned(bigEndian(bytes))
    case .wellKnown:
      guard let form = integers[type], bytes.count == form.count else { break }
      let bits = bigEndian(bytes)
      guard form.isSigned else { return .unsigned(bits) }
      let unused = 64 - 8 * form.count
      return .integer(Int64(bitPattern: bits << UInt64(unused)) >> Int64(unused))
    case .named: break
    }
    return .data(Array(bytes))
  }

  private static func float32(_ bytes: ArraySlice<UInt8>) -> Double {
    Double(Float(bitPattern: UInt32(truncatingIfNeeded: bigEndian(bytes))))
  }

  private static func parts(_ bytes: ArraySlice<UInt8>, of size: Int) -> [ArraySlice<UInt8>] {
    stride(from: bytes.startIndex, to: bytes.endIndex, by: size).map { bytes[$0..<($0 + size)] }
  }

  private static let integers: [MetadataItem.DataType: (count: Int, isSigned: Bool)] = [
    .int8: (1, true), .int16: (2, true), .int32: (4, true), .int64: (8, true),
    .uint8: (1, false), .uint16: (2, false), .uint32: (4, false), .uint64: (8, false),
  ]

  private static func code(_ name: StaticString) -> UInt32 {
    name.withUTF8Buffer { $0.reduce(0) { $0 << 8 | UInt32($1) } }
  }

  // MARK: Writing

  /// A sample description, the box `mebx`, whose keys have the numbers 1, 2, 3…
  package static func entry(_ keys: [Key]) throws(Failure) -> [UInt8] {
    var table: [UInt8] = []
    for (number, key) in keys.enumerated() {
      let parts = key.identifier.utf8
      guard parts.count > spaceLength + 1, Array(parts)[spaceLength] == UInt8(ascii: "/"),
        parts.prefix(spaceLength).allSatisfy({ (0x20..<0x7F).contains($0) })
      else {
        throw Failure(
          "'\(key.identifier)' is no identifier: it has four characters, a slash and a key, such as "
            + "mdta/com.example.heart-rate")
      }
      let declaration = box("keyd", Array(parts.prefix(spaceLength)) + parts.dropFirst(spaceLength + 1))
      let type =
        switch key.dataType {
        case .wellKnown(let code): bytes(UInt32(0)) + bytes(code)
        case .named(let name): bytes(UInt32(1)) + Array(name.utf8)
        }
      table += box(UInt32(number + 1), declaration + box("dtyp", type))
    }
    return box("mebx", [0, 0, 0, 0, 0, 0, 0, 1] + box("keys", table))
  }

  /// A sample with values; without any, one that says that there are none.
  /// - Parameter keys: As in the sample description.
  package static func sample(_ items: [MetadataItem], _ keys: [Key: Int]) throws(Failure) -> [UInt8] {
    if items.isEmpty { return box(none, []) }
    var sample: [UInt8] = []
    for item in items {
      guard let number = keys[Key(item.identifier, item.dataType)] else {
        throw Failure("the key \(item.identifier) is not declared")
      }
      sample += box(UInt32(number + 1), try stored(item))
    }
    return sample
  }

  private static func stored(_ item: MetadataItem) throws(Failure) -> [UInt8] {
    switch (item.dataType, item.value) {
    // Of any type as it is.
    case (_, .data(let bytes)): return bytes
    case (.utf8, .text(let text)): return Array(text.utf8)
    case (.utf16, .text(let text)): return text.utf16.flatMap { bytes($0) }
    case (.float32, .number(let number)): return bytes(Float(number).bitPattern)
    case (.float64, .number(let number)): return bytes(number.bitPattern)
    case (.point, .numbers(let numbers)) where numbers.count == 2,
      (.dimensions, .numbers(let numbers)) where numbers.count == 2,
      (.rect, .numbers(let numbers)) where numbers.count == 4:
      return numbers.flatMap { bytes(Float($0).bitPattern) }
    case (.affineTransform, .numbers(let numbers)) where numbers.count == 9:
      return numbers.flatMap { bytes($0.bitPattern) }
    // Of variable size.
    case (.wellKnown(21), .integer(let value)): return bytes(value)
    case (.wellKnown(22), .unsigned(let value)): return bytes(value)
    case (let type, .integer(let value)):
      if let form = integers[type], form.isSigned, value >> (8 * form.count - 1) == (value < 0 ? -1 : 0) {
        return bytes(value).suffix(form.count)
      }
    case (let type, .unsigned(let value)):
      if let form = integers[type], !form.isSigned, form.count == 8 || value >> (8 * form.count) == 0 {
        return bytes(value).suffix(form.count)
      }
    default: break
    }
    throw Failure("\(item.value) of \(item.identifier) is no value of the type \(item.dataType)")
  }

  private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  private static func box(_ type: UInt32, _ contents: [UInt8]) -> [UInt8] {
    bytes(UInt32(8 + contents.count)) + bytes(type) + contents
  }

  private static func box(_ type: StaticString, _ contents: [UInt8]) -> [UInt8] { box(code(type), contents) }
}
