import Glibc

/// The digest of an open file.
package enum FileDigest {
  /// Reads a descriptor from its start to its end by position, leaving its offset alone. Blocks: call it off the
  /// cooperative pool.
  package static func of(descriptor: Int32) throws(FileDigestError) -> (digest: SHA256Digest, size: Int64) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    var hasher = SHA256Hasher()
    var offset: Int64 = 0
    while true {
      let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
      if count == 0 { break }
      guard count > 0 else {
        if errno == EINTR { continue }
        throw FileDigestError(errno: errno, offset: offset)
      }
      hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += Int64(count)
    }
    return (hasher.finalize(), offset)
  }
}

/// A file could not be read to its end.
package struct FileDigestError: Error, Sendable, Hashable, CustomStringConvertible {
  package var errno: Int32
  /// How far it was read.
  package var offset: Int64

  package var description: String { "reading at byte \(offset) failed: \(String(cString: strerror(errno)))" }
}
