internal import CZlib

/// Which way up a photograph is, as Exif stores it. Players turn the picture by it.
struct ExifOrientation {
  /// 2 to 8: how the stored picture is turned or mirrored, as in table 6 of Exif 2.32 (CIPA DC-008), section 4.6.4.
  private let value: UInt8

  /// Nil if a block of Exif, which is a TIFF file, states none, or that the picture is stored upright.
  init?(_ tiff: ArraySlice<UInt8>) {
    let bytes = Array(tiff)
    let isLittle = bytes.starts(with: "II".utf8)
    guard isLittle || bytes.starts(with: "MM".utf8) else { return nil }
    func number(_ place: Int, _ count: Int) -> Int? {
      guard place + count <= bytes.count else { return nil }
      let digits = bytes[place..<(place + count)]
      return (isLittle ? digits.reversed() : Array(digits)).reduce(0) { $0 << 8 | Int($1) }
    }
    guard number(2, 2) == 42, let directory = number(4, 4), let count = number(directory, 2) else { return nil }
    let entries = (0..<count).map { directory + 2 + 12 * $0 }
    guard let entry = entries.first(where: { number($0, 2) == Self.tag }), number(entry + 2, 2) == Self.short,
      let value = number(entry + 8, 2), (2...8).contains(value)
    else { return nil }
    self.value = UInt8(value)
  }

  /// With which a segment of a JPEG picture begins whose rest is a block of Exif.
  static let signature = Array("Exif\0\0".utf8)

  private static let tag = 0x0112
  private static let short = 3

  /// A TIFF file that states nothing else.
  private var tiff: [UInt8] {
    let head: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8]
    let directory: [UInt8] = [0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, value, 0, 0, 0, 0, 0, 0]
    return head + directory
  }

  /// As a segment of a JPEG picture.
  var segment: [UInt8] {
    let content = Self.signature + tiff
    return [0xFF, 0xE1] + bigEndian(UInt64(content.count + 2), 2) + content
  }

  /// As a chunk of a PNG picture.
  var chunk: [UInt8] {
    let content = Array("eXIf".utf8) + tiff
    let checksum = content.withUnsafeBufferPointer { crc32(0, $0.baseAddress, UInt32($0.count)) }
    return bigEndian(UInt64(tiff.count), 4) + content + bigEndian(UInt64(checksum), 4)
  }
}
