import CPostgres
import Digest

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
    return Content(digest: try require(SHA256Digest(hex: digest)), size: size)
  }

  /// Reads two columns: an array of digests, and one of sizes.
  mutating func contents() throws(JobStoreError) -> [Content] {
    let digests = try array { SHA256Digest(hex: String(decoding: $0, as: UTF8.self)) }
    let sizes = try array { $0.integer(Int64.self) }
    return zip(digests, sizes).map { Content(digest: $0, size: $1) }
  }

  /// Reads the name of an enum's case.
  ///
  /// - Parameter what: What the case is, for the message where the name is unknown.
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
