package import Glibc
import SystemPackage

/// An open descriptor and its owner: closed when the last reference is gone. Every method blocks: call it off the
/// cooperative pool where the file may be slow.
package final class OpenFile: Sendable {
  package let descriptor: Int32
  /// For messages: the path, or what the file is.
  package let name: String

  /// Takes over an open descriptor.
  package init(owning descriptor: Int32, name: String) {
    self.descriptor = descriptor
    self.name = name
  }

  deinit {
    close(descriptor)
  }

  /// Opens a file. The descriptor is not inherited by programs that are started.
  /// - Parameters:
  ///   - flags: as for `open(2)`; `O_CLOEXEC` is added.
  ///   - permissions: of a file that is made.
  package static func open(
    _ path: String, _ flags: Int32 = O_RDONLY, permissions: mode_t = 0o644
  ) throws(SystemError) -> OpenFile {
    let descriptor = try retryingOnInterrupt("opening \(path)") { Glibc.open(path, flags | O_CLOEXEC, permissions) }
    return OpenFile(owning: descriptor, name: path)
  }

  /// Two connected sockets; what is written to one is read from the other.
  package static func socketPair() throws(SystemError) -> (OpenFile, OpenFile) {
    var pair: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw SystemError(errno, "making a pair of sockets") }
    return (OpenFile(owning: pair[0], name: "a socket"), OpenFile(owning: pair[1], name: "a socket"))
  }

  /// The same file through an offset of its own, for reading only.
  package func reopenedForReading() throws(SystemError) -> OpenFile {
    let descriptor = try retryingOnInterrupt("reopening \(name) for reading") {
      Glibc.open("/proc/self/fd/\(self.descriptor)", O_RDONLY | O_CLOEXEC)
    }
    return OpenFile(owning: descriptor, name: name)
  }

  /// What the system knows of the file.
  package func status() throws(SystemError) -> stat {
    var status = stat()
    _ = try retryingOnInterrupt("reading the attributes of \(name)") { fstat(descriptor, &status) }
    return status
  }

  /// Reads up to so many bytes at a position, leaving the descriptor's offset alone; fewer only at the file's end.
  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
    try readAll(descriptor, into: buffer, at: offset, name: name)
  }

  /// The bytes from a position on, up to `length` of them; fewer only at the file's end.
  package func read(at offset: Int64, length: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: length)
    let result = bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(SystemError) in try read(into: buffer, at: offset) }
    }
    return Array(bytes.prefix(try result.get()))
  }

  /// Writes all of a buffer at the descriptor's offset.
  package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    try writeAll(descriptor, bytes, name: name)
  }

  package func write(_ bytes: [UInt8]) throws(SystemError) {
    try bytes.withUnsafeBytes { buffer in Result { () throws(SystemError) in try write(buffer) } }.get()
  }

  /// Writes all of a buffer at a position, leaving the descriptor's offset alone.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      done += try retryingOnInterrupt("writing \(name)") {
        pwrite(descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset) + off_t(done))
      }
    }
  }

  /// Waits until the file's bytes are on the disk.
  package func sync() throws(SystemError) {
    _ = try retryingOnInterrupt("syncing \(name)") { fsync(descriptor) }
  }

  /// The bytes of a small file. Throws `EFBIG` where it is longer than `limit` bytes.
  package static func contents(of path: String, limit: Int) throws(SystemError) -> [UInt8] {
    let file = try open(path)
    // One more than allowed, so that a file of the kernel's, whose size reads as zero, is bounded too.
    let size = try Int64(file.status().st_size)
    let expected = size == 0 ? Int64(limit) : min(size, Int64(limit))
    let bytes = try file.read(at: 0, length: Int(expected) + 1)
    guard bytes.count <= limit else { throw SystemError(EFBIG, "reading \(path), at most \(limit) bytes,") }
    return bytes
  }
}

/// Reads at a position until the buffer is full or the file ends; returns how many bytes were read.
package func readAll(
  _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, name: @autoclosure () -> String
) throws(SystemError) -> Int {
  var done = 0
  while done < buffer.count {
    let count = try retryingOnInterrupt("reading \(name())") {
      pread(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset) + off_t(done))
    }
    if count == 0 { break }
    done += count
  }
  return done
}

/// Writes all of a buffer at a descriptor's offset.
package func writeAll(
  _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, name: @autoclosure () -> String
) throws(SystemError) {
  var done = 0
  while done < bytes.count {
    done += try retryingOnInterrupt("writing \(name())") {
      Glibc.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
    }
  }
}
