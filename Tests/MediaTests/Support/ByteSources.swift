import Foundation
import Media
import TestPrograms

func opened(_ path: String) throws -> FileByteSource {
  let descriptor = open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { throw Tool.Failure(description: "\(path) cannot be opened") }
  return FileByteSource(descriptor: descriptor)
}

/// Bytes in memory.
final class MemorySource: ByteSource {
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
  }

  var byteCount: Int64 { Int64(bytes.count) }

  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int {
    guard offset < byteCount else { return 0 }
    let count = min(buffer.count, bytes.count - Int(offset))
    bytes.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)...].prefix(count)))
    }
    return count
  }
}
