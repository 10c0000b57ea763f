/// Boxes of the ISO base media file format (ISO/IEC 14496-12), as bytes.
package enum Box {
  package static func box(_ type: String, _ contents: [UInt8]...) -> [UInt8] {
    let size = contents.reduce(8) { $0 + $1.count }
    return big(UInt32(size)) + Array(type.utf8) + contents.joined()
  }

  /// A box with a version and flags.
  package static func full(_ type: String, version: UInt8 = 0, flags: UInt32 = 0, _ contents: [UInt8]...) -> [UInt8] {
    box(type, big(UInt32(version) << 24 | flags), Array(contents.joined()))
  }

  package static func big<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }

  package static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

  /// A descriptor of MPEG-4 systems (ISO/IEC 14496-1, 8.3.3), of fewer than 2 MiB.
  package static func descriptor(_ tag: UInt8, _ contents: [UInt8]...) -> [UInt8] {
    let bytes = Array(contents.joined())
    let length = bytes.count
    return [tag, UInt8(length >> 14 & 127) | 128, UInt8(length >> 7 & 127) | 128, UInt8(length & 127)] + bytes
  }
}
