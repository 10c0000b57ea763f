package import Glibc
import SystemPackage

/// An open descriptor and its owner: closed when the last reference is gone. Every method blocks: call it off the
/// cooperative pool if the file may be slow.
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
  ///   - flags: As for `open(2)`; `O_CLOEXEC` is added.
  ///   - permissions: The permissions of a file that is created.
  package static func open(
    _ path: String, _ flags: Int32 = O_RDONLY, permissions: mode_t = 0o644
  ) throws(SystemError) -> OpenFile {
    let descriptor = try retryingOnInterrupt("opening \(path)") { Glibc.open(path, flags | O_CLOEXEC, permissions) }
    return OpenFile(owning: descriptor, name: path)
  }

  /// The same file through an offset of its own, for reading only.
  package func reopenedForReading() throws(SystemError) -> OpenFile {
    let descriptor = try retryingOnInterrupt("reopening \(name) for reading") {
      Glibc.open("/proc/self/fd/\(self.descriptor)", O_RDONLY | O_CLOEXEC)
    }
    return OpenFile(owning: descriptor, name: name)
  }

  /// The file's attributes, as `fstat(2)` returns them.
  package func status() throws(SystemError) -> stat {
    var status = stat()
    _ = try retryingOnInterrupt("reading the attributes of \(name)") { fstat(descriptor, &status) }
    return status
  }

  /// The bytes of a small file, or of a pipe that ends. Throws `EFBIG` if there are more than `limit` bytes.
  package static func contents(of path: String, limit: Int) throws(SystemError) -> [UInt8] {
    let file = try open(path)
    var bytes: [UInt8] = []
    while true {
      // The sizes of pipes and of the kernel's files are not known. One byte beyond the limit is asked for.
      let part = try file.readSome(min(limit + 1 - bytes.count, max(1 << 16, bytes.count)))
      if part.isEmpty { return bytes }
      bytes += part
      guard bytes.count <= limit else {
        throw SystemError(EFBIG, "reading \(path), which may have at most \(limit) bytes,")
      }
    }
  }
}

// MARK: - Reading and writing

extension OpenFile {
  /// Reads up to `buffer.count` bytes at a position and leaves the descriptor's offset alone. Returns how many bytes
  /// were read: fewer only at the file's end.
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

  /// The next bytes at the descriptor's offset: at least one and at most `limit`, as many as are there, waiting for the
  /// first. Empty at the end.
  package func readSome(_ limit: Int) throws(SystemError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: limit)
    let count = try retryingOnInterrupt("reading \(name)") { Glibc.read(descriptor, &bytes, limit) }
    bytes.removeSubrange(count...)
    return bytes
  }

  /// Exactly the next `count` bytes at the descriptor's offset, waiting for them. Nil if the end comes before.
  package func readExactly(_ count: Int) throws(SystemError) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    let result = bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(SystemError) in
        try repeating(count, "reading \(name)") { done in
          Glibc.read(descriptor, buffer.baseAddress! + done, count - done)
        }
      }
    }
    return try result.get() == count ? bytes : nil
  }

  /// Writes all of a buffer at the descriptor's offset.
  package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    try writeAll(descriptor, bytes, name: name)
  }

  /// Writes all bytes at the descriptor's offset.
  package func write(_ bytes: [UInt8]) throws(SystemError) {
    try bytes.withUnsafeBytes { buffer in Result { () throws(SystemError) in try write(buffer) } }.get()
  }

  /// Writes all of a buffer at a position and leaves the descriptor's offset alone.
  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
    try writeAll(descriptor, bytes, at: offset, name: name)
  }

  /// Makes the file `size` bytes long. A file that becomes longer has zeros at its end.
  package func truncate(to size: Int64) throws(SystemError) {
    try truncateFile(descriptor, to: size, name: name)
  }

  /// Locks the file for its owner until the descriptor is closed. Returns false if another open descriptor, of any
  /// process, has the lock.
  package func lockWithoutWaiting() throws(SystemError) -> Bool {
    do throws(SystemError) {
      _ = try retryingOnInterrupt("locking \(name)") { flock(descriptor, LOCK_EX | LOCK_NB) }
      return true
    } catch  where error.code == .wouldBlock {
      return false
    }
  }

  /// Waits until the file's bytes are on the disk.
  package func sync() throws(SystemError) {
    _ = try retryingOnInterrupt("syncing \(name)") { fsync(descriptor) }
  }
}

/// Reads at a position until the buffer is full or the file ends. Returns how many bytes were read.
package func readAll(
  _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, name: @autoclosure () -> String
) throws(SystemError) -> Int {
  try repeating(buffer.count, "reading \(name())") { done in
    pread(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset) + off_t(done))
  }
}

/// Writes all of a buffer at a position and leaves the descriptor's offset alone.
package func writeAll(
  _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64, name: @autoclosure () -> String
) throws(SystemError) {
  let done = try repeating(bytes.count, "writing \(name())") { done in
    pwrite(descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset) + off_t(done))
  }
  if done < bytes.count { throw SystemError(EIO, "writing \(name())") }
}

/// Makes a descriptor's file `size` bytes long.
package func truncateFile(_ descriptor: Int32, to size: Int64, name: @autoclosure () -> String) throws(SystemError) {
  _ = try retryingOnInterrupt("changing the size of \(name())") { ftruncate(descriptor, off_t(size)) }
}

/// Writes all of a buffer at a descriptor's offset.
package func writeAll(
  _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, name: @autoclosure () -> String
) throws(SystemError) {
  let done = try repeating(bytes.count, "writing \(name())") { done in
    Glibc.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
  }
  if done < bytes.count { throw SystemError(EIO, "writing \(name())") }
}

/// Repeats a system call that moves some of `count` bytes until it has moved all or moves none; returns how many.
/// - Parameter call: Gets the number of bytes moved so far; returns the number that it moved, or fails with `errno`.
func repeating(
  _ count: Int, _ operation: @autoclosure () -> String, _ call: (_ done: Int) -> Int
) throws(SystemError) -> Int {
  var done = 0
  while done < count {
    let moved = try retryingOnInterrupt(operation()) { call(done) }
    if moved == 0 { break }
    done += moved
  }
  return done
}

// MARK: - Identity

/// Which file this is and in what state: a file that was replaced or changed is not equal to what it was.
///
/// The time of the last change of the inode is part of it: a program can restore a file's modification time, and not
/// this one.
package struct FileIdentity: Sendable, Hashable {
  private var device: UInt64
  private var inode: UInt64
  /// In bytes.
  package private(set) var size: Int64
  private var modified: Time
  private var changed: Time

  private struct Time: Sendable, Hashable {
    var seconds: Int
    var nanoseconds: Int

    init(_ time: timespec) {
      seconds = time.tv_sec
      nanoseconds = time.tv_nsec
    }

    init(seconds: Int, nanoseconds: Int) {
      self.seconds = seconds
      self.nanoseconds = nanoseconds
    }

    func distance(to other: timespec) -> Double {
      abs(Double(other.tv_sec - seconds) + Double(other.tv_nsec - nanoseconds) * 1e-9)
    }
  }

  /// Throws `EINVAL` if the file is not a regular one.
  package init(of file: OpenFile) throws(SystemError) {
    let status = try file.status()
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw SystemError(EINVAL, "reading \(file.name) as a regular file")
    }
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    modified = Time(status.st_mtim)
    changed = Time(status.st_ctim)
  }

  /// A text of digits and spaces, for a table on a disk.
  package var encoded: String {
    "\(device) \(inode) \(size) \(modified.seconds) \(modified.nanoseconds) \(changed.seconds) \(changed.nanoseconds)"
  }

  /// Nil unless the text is the `encoded` of an identity.
  package init?(encoded: some StringProtocol) {
    let words = encoded.split(separator: " ")
    let times = words.dropFirst(3).compactMap { Int($0) }
    guard words.count == 7, times.count == 4, let device = UInt64(words[0]), let inode = UInt64(words[1]),
      let size = Int64(words[2])
    else { return nil }
    self.device = device
    self.inode = inode
    self.size = size
    modified = Time(seconds: times[0], nanoseconds: times[1])
    changed = Time(seconds: times[2], nanoseconds: times[3])
  }

  /// Whether the file was left alone for long enough before `now` that every later change gives it another identity.
  ///
  /// A disk keeps times in steps, of up to two seconds. A file that is written twice within one step has the same times
  /// after both, so its bytes may change and its identity stay the same.
  /// - Parameter now: The time, of the clock that the times of files are of, before the file's bytes were read.
  package func isSettled(at now: timespec) -> Bool {
    modified.distance(to: now) > Self.step && changed.distance(to: now) > Self.step
  }

  /// The coarsest step of the times of files, in seconds.
  private static let step: Double = 2
}
