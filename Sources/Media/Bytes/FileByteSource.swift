internal import Glibc

/// An opened file. Owns its descriptor and closes it.
package final class FileByteSource: ByteSource {
  package let byteCount: Int64
  private let descriptor: Int32

  /// Takes the descriptor over. A file whose size cannot be told reads as empty.
  package init(descriptor: Int32) {
    self.descriptor = descriptor
    var status = stat()
    byteCount = fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
  }

  deinit {
    close(descriptor)
  }

  package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int {
    while true {
      let count = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
      if count >= 0 { return count }
      if errno == EINTR { continue }
      throw MediaError(
        .io, operation: "reading", subject: "at byte \(offset)", message: String(cString: strerror(errno)))
    }
  }
}
