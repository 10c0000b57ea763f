import CPostgres

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
