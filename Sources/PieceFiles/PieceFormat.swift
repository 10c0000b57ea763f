/// The bytes of a piece. All integers are little-endian.
///
///     "SHEAFPCE"  version: UInt32  header length: UInt32  header: JSON of `PieceHeader`
///     packet:  1: UInt8  pts, dts, duration: Int64  flags: UInt32 (1 keyframe)  size: UInt32  data
///     damage:  3: UInt8  size: UInt32  JSON
///     end:     2: UInt8  packet count: Int64
///
/// There is at most one damage record, after the packets, in a piece that shows damaged media.
/// Nothing follows the end record.
package enum PieceFormat {
  package static let magic = Array("SHEAFPCE".utf8)
  package static let version: UInt32 = 1
  package static let packetRecord: UInt8 = 1
  package static let endRecord: UInt8 = 2
  package static let damageRecord: UInt8 = 3
  package static let keyframeFlag: UInt32 = 1
  /// The most bytes of a header.
  package static let headerLimit = 1 << 20
  /// The most bytes of a damage record.
  package static let damageLimit = 64 << 20
  /// The most bytes of one packet: more than those of the largest picture in the deepest format.
  package static let packetLimit = 1 << 31 - 4096

  package static func bytes<T: FixedWidthInteger>(_ value: T) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }
}
