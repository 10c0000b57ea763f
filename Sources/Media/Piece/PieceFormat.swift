/// The bytes of a piece. All integers are little-endian.
///
///     "SHEAFPCE"  version: UInt32  header length: UInt32  header: JSON of `PieceHeader`
///     packet:  1: UInt8  pts, dts, duration: Int64  flags: UInt32 (1 keyframe)  size: UInt32  data
///     end:     2: UInt8  packet count: Int64
///
/// Nothing follows the end record.
enum PieceFormat {
  static let magic = Array("SHEAFPCE".utf8)
  static let version: UInt32 = 1
  static let packetRecord: UInt8 = 1
  static let endRecord: UInt8 = 2
  static let keyframeFlag: UInt32 = 1
  /// Of the header, in bytes.
  static let headerLimit = 1 << 20
  /// Of one packet, in bytes: more than the largest picture in the deepest format takes.
  static let packetLimit = 1 << 31 - 4096
  static let subject = "a piece"

  static func bytes<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }
}
