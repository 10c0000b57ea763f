package import Foundation
package import Media
import TestPrograms

/// A file of the disk as Media reads it.
package func openSource(_ path: String) throws -> FileByteSource {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw Tool.Failure(description: "\(path) cannot be opened") }
  return FileByteSource(descriptor: descriptor)
}

/// Bytes in memory.
package final class MemorySource: ByteSource {
  private let bytes: [UInt8]

  package init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  package var byteCount: Int64 { Int64(bytes.count) }

  package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int {
    guard offset < byteCount else { return 0 }
    let count = min(buffer.count, bytes.count - Int(offset))
    bytes.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)...].prefix(count)))
    }
    return count
  }
}

extension Data {
  /// Little-endian integers.
  package func samples(_ type: Int16.Type) -> [Int16] { integers() }

  /// Little-endian integers.
  package func samples(_ type: Int32.Type) -> [Int32] { integers() }

  /// Little-endian integers.
  package func samples(_ type: UInt16.Type) -> [UInt16] { integers() }

  /// Little-endian integers.
  package func samples(_ type: UInt32.Type) -> [UInt32] { integers() }

  /// Not for other modules, where it would not be specialised.
  private func integers<Sample: FixedWidthInteger>() -> [Sample] {
    withUnsafeBytes { bytes in
      (0..<(count / MemoryLayout<Sample>.size)).map {
        Sample(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * MemoryLayout<Sample>.size, as: Sample.self))
      }
    }
  }

  /// Little-endian integers of 24 bits.
  package var samples24: [Int32] {
    withUnsafeBytes { bytes in
      stride(from: 0, to: bytes.count, by: 3).map {
        Int32(bitPattern: UInt32(bytes[$0]) << 8 | UInt32(bytes[$0 + 1]) << 16 | UInt32(bytes[$0 + 2]) << 24) >> 8
      }
    }
  }

  /// Little-endian 32-bit floats.
  package var floats: [Float] { samples(UInt32.self).map(Float.init(bitPattern:)) }
}

extension Frame {
  /// The pixels without their padding, plane after plane, as `ffmpeg -f rawvideo` writes them.
  package var pixels: Data {
    var data = Data()
    for plane in 0..<format.planeCount {
      let (bytesPerRow, rows) = extent(ofPlane: plane)
      let stride = stride(ofPlane: plane)
      withPlane(plane) { base in
        for row in 0..<rows { data.append(Data(bytes: base + row * stride, count: bytesPerRow)) }
      }
    }
    return data
  }
}
