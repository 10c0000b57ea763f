package import SystemSupport

/// Identifies the bytes of a file: media, a piece, an output. Two contents are equal if their bytes are.
package struct Content: Sendable, Hashable, Codable {
  package var digest: SHA256Digest
  /// In bytes.
  package var size: Int64

  package init(digest: SHA256Digest, size: Int64) {
    self.digest = digest
    self.size = size
  }
}

extension OpenFile {
  /// The digest and the size of the whole file. It is read by position, so the descriptor's offset does not change.
  /// Blocks for as long as it takes to read the file.
  /// - Parameter progress: Receives the number of bytes that were read so far, after each mebibyte.
  package func content(progress: ((Int64) -> Void)? = nil) throws(SystemError) -> Content {
    var hasher = SHA256Hasher()
    var size: Int64 = 0
    try forEachPart { bytes in
      hasher.update(bytes)
      size += Int64(bytes.count)
      progress?(size)
    }
    return Content(digest: hasher.finalize(), size: size)
  }

  /// Reads the whole file by position, and calls `body` with each part and with the rest, which may be empty.
  /// - Parameter size: The size of a part, in bytes.
  func forEachPart(of size: Int = 1 << 20, _ body: (UnsafeRawBufferPointer) -> Void) throws(SystemError) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while true {
      let count = try read(into: buffer, at: offset)
      body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      offset += Int64(count)
      if count < buffer.count { return }
    }
  }
}
