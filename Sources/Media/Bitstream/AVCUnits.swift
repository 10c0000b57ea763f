/// The units of H.264 (ITU-T H.264, 7.3.1 and annex B), as bytes.
enum AVCUnits {
  /// The units that follow start codes, without these.
  static func split(_ bytes: [UInt8]) -> [[UInt8]] {
    var units: [[UInt8]] = []
    var start: Int?
    func end(_ place: Int) {
      guard let start, start < place else { return }
      var last = place
      // The zeros in front of the next start code.
      while last > start, bytes[last - 1] == 0 { last -= 1 }
      if last > start { units.append(Array(bytes[start..<last])) }
    }
    bytes.withUnsafeBytes { buffer in
      var place = 0
      while place + 2 < buffer.count {
        if buffer[place + 2] > 1 {
          place += 3
        } else if buffer[place] == 0, buffer[place + 1] == 0, buffer[place + 2] == 1 {
          end(place)
          place += 3
          start = place
        } else {
          place += 1
        }
      }
    }
    end(bytes.count)
    return units
  }

  /// The units that follow their lengths of four bytes. Nil if they do not fill the bytes.
  static func split(withLengths bytes: UnsafeRawBufferPointer) -> [[UInt8]]? {
    var units: [[UInt8]] = []
    var offset = 0
    while offset + 4 < bytes.count {
      let length = bytes[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) }
      guard length > 0, length <= bytes.count - offset - 4 else { return nil }
      units.append([UInt8](bytes[(offset + 4)..<(offset + 4 + length)]))
      offset += 4 + length
    }
    return offset == bytes.count ? units : nil
  }

  /// Units with their lengths in four bytes.
  static func joined(_ units: [[UInt8]]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(units.reduce(0) { $0 + $1.count + 4 })
    for unit in units {
      let length = UInt32(unit.count)
      for shift in [24, 16, 8, 0] { bytes.append(UInt8(truncatingIfNeeded: length >> UInt32(shift))) }
      bytes += unit
    }
    return bytes
  }

  /// A unit's payload, without the bytes that keep start codes out of it.
  /// - Parameter unit: Behind the byte that states its type.
  static func payload(_ unit: ArraySlice<UInt8>) -> [UInt8] {
    unit.withUnsafeBufferPointer { bytes in
      [UInt8](unsafeUninitializedCapacity: bytes.count) { payload, count in
        var zeros = 0
        for byte in bytes {
          if zeros >= 2, byte == 3 {
            zeros = 0
            continue
          }
          zeros = byte == 0 ? zeros + 1 : 0
          payload[count] = byte
          count += 1
        }
      }
    }
  }

  /// A unit of a payload, with bytes that keep start codes out of it.
  /// - Parameter type: The byte that states its type.
  static func unit(_ type: UInt8, _ payload: [UInt8]) -> [UInt8] {
    payload.withUnsafeBufferPointer { bytes in
      [UInt8](unsafeUninitializedCapacity: 2 + bytes.count + bytes.count / 2) { unit, count in
        unit[0] = type
        count = 1
        var zeros = 0
        for byte in bytes {
          if zeros == 2, byte <= 3 {
            unit[count] = 3
            count += 1
            zeros = 0
          }
          zeros = byte == 0 ? zeros + 1 : 0
          unit[count] = byte
          count += 1
        }
        // A unit does not end in zero.
        if bytes.last == 0 {
          unit[count] = 3
          count += 1
        }
      }
    }
  }
}

/// Writes bits, the highest of each byte first.
struct BitWriter {
  private(set) var bytes: [UInt8] = []
  /// The bits of the last byte that are not written yet.
  private var free = 0

  var isAligned: Bool { free == 0 }

  /// Writes the lowest bits of a number.
  mutating func append(_ value: Int, bits count: Int) {
    var left = count
    while left > 0 {
      if free == 0 {
        bytes.append(0)
        free = 8
      }
      let taken = min(left, free)
      let part = UInt8(truncatingIfNeeded: value >> (left - taken) & (1 << taken - 1))
      bytes[bytes.count - 1] |= part << UInt8(free - taken)
      free -= taken
      left -= taken
    }
  }

  /// Writes a number in the Exp-Golomb code.
  mutating func append(golomb value: Int) {
    let bits = Int.bitWidth - (value + 1).leadingZeroBitCount
    append(0, bits: bits - 1)
    append(value + 1, bits: bits)
  }

  /// Writes a number with a sign in the Exp-Golomb code.
  mutating func append(signedGolomb value: Int) { append(golomb: value > 0 ? 2 * value - 1 : -2 * value) }

  /// Writes bits of other bytes.
  mutating func append(_ source: [UInt8], bits range: Range<Int>) {
    var place = range.lowerBound
    if free == 0, place % 8 == 0 {
      let whole = range.upperBound / 8
      if place / 8 < whole {
        bytes += source[(place / 8)..<whole]
        place = whole * 8
      }
    }
    source.withUnsafeBufferPointer { source in
      while place < range.upperBound {
        let count = min(8 - place % 8, range.upperBound - place)
        let byte = Int(source[place / 8]) >> (8 - place % 8 - count)
        append(byte & (1 << count - 1), bits: count)
        place += count
      }
    }
  }
}
