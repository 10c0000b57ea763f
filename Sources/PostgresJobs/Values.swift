import CPostgres
import Digest
import Jobs

/// A value for a `$n` of a statement, in PostgreSQL's binary form. Nil is null.
enum Parameter: Sendable {
  case text(String?)
  case bytes([UInt8]?)
  case long(Int64?)
  case int(Int32?)
  case double(Double)
  case flag(Bool)
  case texts([String?])
  case blobs([[UInt8]])
  case longs([Int64?])
  case ints([Int32])
  case doubles([Double])

  /// The type's number in PostgreSQL's catalogue, which never changes for these types.
  var type: Oid {
    switch self {
    case .flag: 16
    case .bytes: 17
    case .long: 20
    case .int: 23
    case .text: 25
    case .double: 701
    case .blobs: 1001
    case .ints: 1007
    case .texts: 1009
    case .longs: 1016
    case .doubles: 1022
    }
  }

  /// Appends the value's bytes; false for null.
  func append(to bytes: inout [UInt8]) -> Bool {
    switch self {
    case .text(let value):
      guard let value else { return false }
      bytes.append(contentsOf: value.utf8)
    case .bytes(let value):
      guard let value else { return false }
      bytes.append(contentsOf: value)
    case .long(let value):
      guard let value else { return false }
      bytes.append(bigEndian: value)
    case .int(let value):
      guard let value else { return false }
      bytes.append(bigEndian: value)
    case .double(let value): bytes.append(bigEndian: value.bitPattern)
    case .flag(let value): bytes.append(value ? 1 : 0)
    case .texts(let values):
      bytes.append(array: values, of: 25) { bytes, value in bytes.append(contentsOf: value.utf8) }
    case .blobs(let values):
      bytes.append(array: values, of: 17) { bytes, value in bytes.append(contentsOf: value) }
    case .longs(let values):
      bytes.append(array: values, of: 20) { bytes, value in bytes.append(bigEndian: value) }
    case .ints(let values):
      bytes.append(array: values, of: 23) { bytes, value in bytes.append(bigEndian: value) }
    case .doubles(let values):
      bytes.append(array: values, of: 701) { bytes, value in bytes.append(bigEndian: value.bitPattern) }
    }
    return true
  }
}

extension [UInt8] {
  fileprivate mutating func append<Value: FixedWidthInteger>(bigEndian value: Value) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }

  /// An array of one dimension with the lower bound 1: the number of dimensions, whether there are nulls, the elements'
  /// type, their count, the lower bound; then each element after its length, which is -1 for null.
  fileprivate mutating func append<Value>(
    array values: [Value?], of type: Int32, element: (inout [UInt8], Value) -> Void
  ) {
    append(bigEndian: Int32(values.isEmpty ? 0 : 1))
    append(bigEndian: Int32(values.contains { $0 == nil } ? 1 : 0))
    append(bigEndian: type)
    guard !values.isEmpty else { return }
    append(bigEndian: Int32(values.count))
    append(bigEndian: Int32(1))
    for value in values {
      let start = count
      append(bigEndian: Int32(-1))
      guard let value else { continue }
      element(&self, value)
      Swift.withUnsafeBytes(of: Int32(count - start - 4).bigEndian) { length in
        replaceSubrange(start..<start + 4, with: length)
      }
    }
  }
}

/// What a statement returned, in PostgreSQL's binary form.
final class Rows {
  private let result: OpaquePointer
  let count: Int

  /// Frees the result when it is released.
  init(_ result: OpaquePointer) {
    self.result = result
    count = Int(PQntuples(result))
  }

  deinit { PQclear(result) }

  var isEmpty: Bool { count == 0 }

  /// The first row's fields, if there is a row.
  var first: Fields? { isEmpty ? nil : Fields(rows: self, row: 0) }

  func map<Value>(_ transform: (inout Fields) throws(JobStoreError) -> Value) throws(JobStoreError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(count)
    for row in 0..<count {
      var fields = Fields(rows: self, row: Int32(row))
      values.append(try transform(&fields))
    }
    return values
  }

  fileprivate func bytes(row: Int32, column: Int32) -> UnsafeRawBufferPointer? {
    guard column < PQnfields(result), PQgetisnull(result, row, column) == 0 else { return nil }
    return UnsafeRawBufferPointer(
      start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
  }
}

/// Reads a row from its first column to its last.
struct Fields {
  private let rows: Rows
  private let row: Int32
  private var column: Int32 = 0

  fileprivate init(rows: Rows, row: Int32) {
    self.rows = rows
    self.row = row
  }

  mutating func optionalText() -> String? {
    next().map { String(decoding: $0, as: UTF8.self) }
  }

  mutating func text() throws(JobStoreError) -> String { try require(optionalText()) }

  mutating func optionalBytes() -> [UInt8]? { next().map { Array($0) } }

  mutating func bytes() throws(JobStoreError) -> [UInt8] { try require(optionalBytes()) }

  mutating func optionalLong() throws(JobStoreError) -> Int64? { try optionalInteger() }

  mutating func long() throws(JobStoreError) -> Int64 { try require(optionalInteger()) }

  /// Reads a number that counts from 0: epochs, frames and tasks.
  mutating func count() throws(JobStoreError) -> Int64 {
    let number = try long()
    guard number >= 0 else { throw unexpected() }
    return number
  }

  mutating func optionalInt() throws(JobStoreError) -> Int32? { try optionalInteger() }

  mutating func int() throws(JobStoreError) -> Int32 { try require(optionalInteger()) }

  mutating func double() throws(JobStoreError) -> Double {
    let bits: UInt64 = try require(optionalInteger())
    return Double(bitPattern: bits)
  }

  mutating func flag() throws(JobStoreError) -> Bool {
    guard let bytes = next(), bytes.count == 1 else { throw unexpected() }
    return bytes[0] != 0
  }

  /// Reads a digest in hexadecimal.
  mutating func digest() throws(JobStoreError) -> SHA256Digest {
    let text = try text()
    return try require(SHA256Digest(hex: text))
  }

  /// Reads two columns: a digest and a size.
  mutating func optionalContent() throws(JobStoreError) -> Content? {
    let (digest, size) = (optionalText(), try optionalLong())
    guard let digest, let size else { return nil }
    guard size >= 0 else { throw unexpected() }
    return Content(digest: try require(SHA256Digest(hex: digest)), size: size)
  }

  /// Reads two columns: an array of digests, and one of sizes.
  mutating func contents() throws(JobStoreError) -> [Content] {
    let digests = try array { SHA256Digest(hex: String(decoding: $0, as: UTF8.self)) }
    let sizes = try array { $0.integer(Int64.self).flatMap { $0 < 0 ? nil : $0 } }
    return zip(digests, sizes).map { Content(digest: $0, size: $1) }
  }

  mutating func digests() throws(JobStoreError) -> [SHA256Digest] {
    try array { SHA256Digest(hex: String(decoding: $0, as: UTF8.self)) }
  }

  /// Reads an array of texts.
  mutating func longs() throws(JobStoreError) -> [Int64] { try array { $0.integer(Int64.self) } }

  mutating func texts() throws(JobStoreError) -> [String] { try array { String(decoding: $0, as: UTF8.self) } }

  /// Reads the name of an enum's case.
  ///
  /// - Parameter what: What the case is, for the message if the name is unknown.
  mutating func optionalNamed<Value: RawRepresentable<String>>(_ what: String) throws(JobStoreError) -> Value? {
    guard let name = optionalText() else { return nil }
    guard let value = Value(rawValue: name) else {
      throw JobStoreError(.internal, "the database holds an unknown \(what), \"\(name)\"")
    }
    return value
  }

  mutating func named<Value: RawRepresentable<String>>(_ what: String) throws(JobStoreError) -> Value {
    try require(optionalNamed(what))
  }

  /// An array of one dimension without nulls, as `Parameter` writes it.
  private mutating func array<Value>(
    _ element: (UnsafeRawBufferPointer) -> Value?
  ) throws(JobStoreError) -> [Value] {
    guard let bytes = next(), let dimensions = bytes.slice(0, 4)?.integer(Int32.self) else { throw unexpected() }
    guard dimensions > 0 else { return [] }
    guard dimensions == 1, let count = bytes.slice(12, 4)?.integer(Int32.self) else { throw unexpected() }
    var values: [Value] = []
    // Each element takes four bytes or more.
    guard (0...bytes.count / 4).contains(Int(count)) else { throw unexpected() }
    values.reserveCapacity(Int(count))
    var offset = 20
    for _ in 0..<count {
      guard let length = bytes.slice(offset, 4)?.integer(Int32.self),
        let slice = bytes.slice(offset + 4, Int(length)), let value = element(slice)
      else { throw unexpected() }
      values.append(value)
      offset += 4 + Int(length)
    }
    return values
  }

  private mutating func next() -> UnsafeRawBufferPointer? {
    defer { column += 1 }
    return rows.bytes(row: row, column: column)
  }

  private mutating func optionalInteger<Value: FixedWidthInteger>() throws(JobStoreError) -> Value? {
    guard let bytes = next() else { return nil }
    return try require(bytes.integer(Value.self))
  }

  private func require<Value>(_ value: Value?) throws(JobStoreError) -> Value {
    guard let value else { throw unexpected() }
    return value
  }

  private func unexpected() -> JobStoreError {
    JobStoreError(.internal, "the database returned an unexpected value in column \(column)")
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func integer<Value: FixedWidthInteger>(_: Value.Type) -> Value? {
    count == MemoryLayout<Value>.size ? Value(bigEndian: loadUnaligned(as: Value.self)) : nil
  }

  fileprivate func slice(_ offset: Int, _ length: Int) -> UnsafeRawBufferPointer? {
    guard offset >= 0, length >= 0, offset + length <= count else { return nil }
    return UnsafeRawBufferPointer(rebasing: self[offset..<offset + length])
  }
}
