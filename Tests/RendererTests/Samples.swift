import Foundation

extension Data {
  /// Little-endian samples.
  func samples<Sample: FixedWidthInteger>(_ type: Sample.Type) -> [Sample] {
    withUnsafeBytes { bytes in
      (0..<(count / MemoryLayout<Sample>.size)).map {
        Sample(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * MemoryLayout<Sample>.size, as: Sample.self))
      }
    }
  }

  var floats: [Float] { samples(UInt32.self).map(Float.init(bitPattern:)) }
}
