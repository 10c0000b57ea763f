/// Units of the network abstraction layer of H.264 and HEVC: as encoders write them, after start codes, and as movies
/// have them, each after its length.
enum NetworkUnitStream {
  /// The ranges of the units in bytes that have start codes (ITU-T H.264, annex B): without these, and without the
  /// zeros in front of the next.
  static func units(in bytes: [UInt8]) -> [Range<Int>] {
    bytes.withUnsafeBufferPointer { bytes in
      var (units, start, place) = ([Range<Int>](), Int?.none, 0)
      func end(_ index: Int) {
        guard let start else { return }
        var last = index
        while last > start, bytes[last - 1] == 0 { last -= 1 }
        if last > start { units.append(start..<last) }
      }
      while place + 2 < bytes.count {
        if bytes[place + 2] > 1 {
          place += 3
        } else if bytes[place] == 0, bytes[place + 1] == 0, bytes[place + 2] == 1 {
          end(place)
          start = place + 3
          place += 3
        } else {
          place += 1
        }
      }
      end(bytes.count)
      return units
    }
  }

  /// The same units, each after its length in four bytes.
  static func withLengths(_ bytes: [UInt8]) -> [UInt8] {
    let units = units(in: bytes)
    var stored: [UInt8] = []
    stored.reserveCapacity(units.reduce(0) { $0 + $1.count + 4 })
    for unit in units {
      stored += Box.big(UInt32(unit.count))
      stored += bytes[unit]
    }
    return stored
  }
}

/// The bits of a unit, without the bytes that keep it free of start codes.
struct UnitBits {
  private let bytes: [UInt8]
  private var place = 0

  /// - Parameter unit: From its first byte on.
  init(_ unit: ArraySlice<UInt8>) {
    var (bytes, zeros) = ([UInt8](), 0)
    for byte in unit.prefix(512) {
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      bytes.append(byte)
    }
    self.bytes = bytes
  }

  /// At most 32 bits. Nil after the end.
  mutating func next(_ count: Int) -> UInt32? {
    guard place + count <= bytes.count * 8 else { return nil }
    var value: UInt32 = 0
    for _ in 0..<count {
      value = value << 1 | UInt32(bytes[place >> 3] >> UInt8(7 - place & 7) & 1)
      place += 1
    }
    return value
  }

  mutating func skip(_ count: Int) -> Bool {
    guard place + count <= bytes.count * 8 else { return false }
    place += count
    return true
  }

  /// ue(v). Nil if it has more than 32 bits.
  mutating func golomb() -> UInt32? {
    var zeros = 0
    while let bit = next(1) {
      if bit == 1 { return next(zeros).map { $0 + (1 << UInt32(zeros)) - 1 } }
      zeros += 1
      if zeros > 31 { return nil }
    }
    return nil
  }
}
