package import FoundationEssentials
import Glibc
import NIOPosix

/// A part of a file, as protobuf wants it.
package enum FileChunk {
  /// Reads exactly so many bytes on a thread that may block. Throws `WireError(.content)` with the reason.
  package static func read(_ descriptor: Int32, offset: UInt64, length: Int) async throws -> Data {
    try await NIOThreadPool.singleton.runIfActive { try readNow(descriptor, offset: offset, length: length) }
  }

  /// The same, blocking.
  package static func readNow(_ descriptor: Int32, offset: UInt64, length: Int) throws -> Data {
    var data = Data(count: length)
    try data.withUnsafeMutableBytes { buffer in
      var done = 0
      while done < length {
        let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
        let count = pread(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
        if count == 0 { throw WireError(.content, "the file is shorter than it was") }
        if count < 0 {
          if errno == EINTR { continue }
          throw WireError(.content, "reading the file failed: \(String(cString: strerror(errno)))")
        }
        done += count
      }
    }
    return data
  }
}
