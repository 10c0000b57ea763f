import CompositionModel
internal import Glibc
internal import SystemSupport

/// Bytes of a known length that can be read at any position: a file, or one that is fetched while it is read.
package protocol ByteSource: AnyObject, Sendable {
  var byteCount: Int64 { get }

  /// Reads at least one and at most `buffer.count` bytes from `offset` on, and waits until they are available. Returns
  /// how many; 0 at the end.
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int
}

extension ByteSource {
  /// The bytes from a position on: as many as wanted, fewer only at the end.
  package func bytes(at offset: Int64 = 0, count: Int) throws(MediaError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var read = 0
    while read < count {
      let part = try bytes.withUnsafeMutableBufferPointer { buffer throws(MediaError) in
        let rest = UnsafeMutableBufferPointer(rebasing: buffer[read...])
        return try self.read(at: offset + Int64(read), into: UnsafeMutableRawBufferPointer(rest))
      }
      if part == 0 { break }
      read += part
    }
    bytes.removeLast(count - read)
    return bytes
  }
}

/// An open file, closed with the last reference.
package final class FileByteSource: ByteSource {
  package let byteCount: Int64
  private let file: OpenFile

  /// Takes over the descriptor. A file whose size cannot be read has no bytes.
  package init(descriptor: Int32) {
    file = OpenFile(owning: descriptor, name: "a media file")
    do throws(SystemError) {
      byteCount = Int64(try file.status().st_size)
    } catch {
      // Opening the source as media then fails with a message that the file is empty.
      byteCount = 0
    }
  }

  package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(MediaError) -> Int {
    try mapErrors(to: MediaError.during("reading", "at byte \(offset)")) {
      () throws(SystemError) in
      try file.read(into: buffer, at: offset)
    }
  }
}
