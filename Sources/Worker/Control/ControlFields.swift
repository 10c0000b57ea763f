/// Appends fields to a frame.
struct ControlWriter {
  private var bytes: [UInt8] = [0, 0, 0, 0]

  mutating func append(_ number: some FixedWidthInteger & UnsignedInteger) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func append(_ string: [UInt8]) {
    append(UInt32(string.count))
    bytes.append(contentsOf: string)
  }

  mutating func append(_ text: String) {
    append(UInt32(text.utf8.count))
    bytes.append(contentsOf: text.utf8)
  }

  /// The frame, its length in front.
  consuming func finish() -> [UInt8] {
    withUnsafeBytes(of: UInt32(bytes.count - 4).bigEndian) { bytes.replaceSubrange(0..<4, with: $0) }
    return bytes
  }
}

/// Takes fields from a frame.
struct ControlReader {
  private var rest: ArraySlice<UInt8>

  init(_ frame: some Sequence<UInt8>) {
    rest = ArraySlice(frame)
  }

  mutating func byte() throws(ControlError) -> UInt8 {
    guard let byte = rest.popFirst() else { throw ControlError("the message ends early") }
    return byte
  }

  mutating func number32() throws(ControlError) -> UInt32 { try number() }
  mutating func number64() throws(ControlError) -> UInt64 { try number() }

  /// A position in a file.
  mutating func offset() throws(ControlError) -> Int64 {
    let number = try number64()
    guard let offset = Int64(exactly: number) else { throw ControlError("\(number) is no position in a file") }
    return offset
  }

  mutating func bytes() throws(ControlError) -> [UInt8] {
    let count = Int(try number32())
    guard count <= rest.count else {
      throw ControlError("a field of \(count) bytes in the \(rest.count) that are left")
    }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// What is not UTF-8 is shown as U+FFFD.
  mutating func text() throws(ControlError) -> String {
    String(decoding: try bytes(), as: UTF8.self)
  }

  func finish() throws(ControlError) {
    guard rest.isEmpty else { throw ControlError("\(rest.count) bytes follow the message") }
  }

  private mutating func number<Number: FixedWidthInteger>() throws(ControlError) -> Number {
    guard rest.count >= MemoryLayout<Number>.size else { throw ControlError("the message ends early") }
    let number = rest.prefix(MemoryLayout<Number>.size).reduce(Number.zero) { $0 << 8 | Number($1) }
    rest = rest.dropFirst(MemoryLayout<Number>.size)
    return number
  }
}
