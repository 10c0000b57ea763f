import TestPrograms

/// A message of the protocol whose fields can be changed at random: what follows from the bytes alone. A field of bytes
/// that reads as fields is taken for a message.
struct WireTree: Sendable {
  indirect enum Value: Sendable {
    case varint(UInt64)
    case fixed([UInt8])
    case bytes([UInt8])
    case message(WireTree)
  }

  /// The field's number and wire type, and its value.
  private var fields: [(key: UInt64, value: Value)] = []

  /// Nil for bytes that are not fields.
  init?(_ bytes: [UInt8]) {
    var place = 0
    func varint() -> UInt64? {
      var value: UInt64 = 0
      for shift in stride(from: UInt64(0), to: 64, by: 7) {
        guard place < bytes.count else { return nil }
        let byte = bytes[place]
        place += 1
        value |= UInt64(byte & 0x7F) << shift
        if byte < 0x80 { return value }
      }
      return nil
    }
    func take(_ count: UInt64) -> [UInt8]? {
      guard let count = Int(exactly: count), count <= bytes.count - place else { return nil }
      defer { place += count }
      return Array(bytes[place..<place + count])
    }
    while place < bytes.count {
      guard let key = varint(), key >> 3 > 0, key >> 3 < 100 else { return nil }
      switch key & 7 {
      case 0:
        guard let value = varint() else { return nil }
        fields.append((key, .varint(value)))
      case 1, 5:
        guard let bytes = take(key & 7 == 1 ? 8 : 4) else { return nil }
        fields.append((key, .fixed(bytes)))
      case 2:
        guard let length = varint(), let bytes = take(length) else { return nil }
        let isText = bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
        fields.append(
          (key, !isText && !bytes.isEmpty ? WireTree(bytes).map { .message($0) } ?? .bytes(bytes) : .bytes(bytes)))
      default: return nil
      }
    }
  }

  var bytes: [UInt8] {
    fields.flatMap { field in
      let head = Self.varint(field.key)
      switch field.value {
      case .varint(let value): return head + Self.varint(value)
      case .fixed(let bytes): return head + bytes
      case .bytes(let bytes): return head + Self.varint(UInt64(bytes.count)) + bytes
      case .message(let message):
        let bytes = message.bytes
        return head + Self.varint(UInt64(bytes.count)) + bytes
      }
    }
  }

  private static func varint(_ value: UInt64) -> [UInt8] {
    var (value, bytes) = (value, [UInt8]())
    while value >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: value) | 0x80)
      value >>= 7
    }
    return bytes + [UInt8(value)]
  }

  static let numbers: [UInt64] = [
    0, 1, 2, 255, 1 << 31 - 1, 1 << 31, 1 << 32 - 1, 1 << 32, 1 << 40, 1 << 53 + 1, 1 << 62, 1 << 63 - 1, 1 << 63,
    .max - 1, .max,
  ]

  mutating func mutate(_ random: inout SeededRandom) {
    guard !fields.isEmpty else { return }
    let index = Int.random(in: fields.indices, using: &random)
    switch Int.random(in: 0..<10, using: &random) {
    case 0: fields.remove(at: index)
    case 1: fields.append(fields[index])
    case 2: fields[index].key = fields[index].key & 7 | UInt64.random(in: 1..<20, using: &random) << 3
    default: fields[index].value = changed(fields[index].value, &random)
    }
  }

  private func changed(_ value: Value, _ random: inout SeededRandom) -> Value {
    switch value {
    case .varint: return .varint(Self.numbers[Int.random(in: Self.numbers.indices, using: &random)])
    case .fixed(let bytes):
      return .fixed(bytes.map { _ in [0, 0x7F, 0x80, 0xF0, 0xFF][Int.random(in: 0..<5, using: &random)] })
    case .bytes(var bytes):
      switch Int.random(in: 0..<5, using: &random) {
      case 0: return .bytes([])
      case 1: return .bytes(bytes + bytes)
      case 2: return .bytes(Array(repeating: 0x61, count: 70_000))
      case 3: return .bytes(bytes.dropLast(1))
      default:
        if !bytes.isEmpty {
          bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
        }
        return .bytes(bytes)
      }
    case .message(var message):
      message.mutate(&random)
      return .message(message)
    }
  }
}
