/// Bytes of a known length that can be read anywhere: a file, or one that arrives while it is read.
package protocol ByteSource: AnyObject, Sendable {
  var byteCount: Int64 { get }

  /// Reads at least one and at most `buffer.count` bytes from `offset` on, waiting until they are there. Returns how
  /// many; 0 at the end.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int
}
