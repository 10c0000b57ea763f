import Glibc
import SystemPackage

/// The standard output of a program, for its results.
package enum StandardOutput {
  /// Gives each standard descriptor that is closed to a file that can neither be read nor written as the stream is.
  /// Else the next file that the program opens would have its number, and receive what is meant for the stream. To be
  /// called before the program opens any file.
  package static func reserveDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // It gets the lowest number that is free, which is this one.
      _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }

  /// Writes all of a text.
  package static func write(_ text: String) throws(OutputError) {
    let bytes = Array(text.utf8)
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(OutputError) in try write(buffer) }
    }
    try result.get()
  }

  /// Writes all of some bytes.
  package static func write(_ bytes: UnsafeRawBufferPointer) throws(OutputError) {
    do {
      try writeAll(STDOUT_FILENO, bytes, name: "standard output")
    } catch {
      throw OutputError(error)
    }
  }
}

/// The standard error of a program, for messages.
package enum StandardError {
  /// Writes all of a text. What cannot be written is lost: there is no other place to report it.
  package static func write(_ text: String) {
    let bytes = Array(text.utf8)
    bytes.withUnsafeBytes { buffer in
      do throws(SystemError) { try writeAll(STDERR_FILENO, buffer, name: "standard error") } catch {}
    }
  }
}

extension StandardOutput {
  /// How long to wait for the reader before `isWanted` is asked again, in milliseconds.
  private static let patience: Int32 = 100

  /// Writes a file from its start. Blocks.
  /// - Parameter isWanted: Asked again and again, also while a reader takes nothing. Once it is false, this returns.
  package static func write(_ file: OpenFile, while isWanted: () -> Bool) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while true {
      var rest = UnsafeRawBufferPointer(rebasing: buffer[..<(try file.read(into: buffer, at: offset))])
      if rest.isEmpty { return }
      offset += Int64(rest.count)
      while !rest.isEmpty {
        guard isWanted() else { return }
        rest = UnsafeRawBufferPointer(rebasing: rest[(try writeSome(rest))...])
      }
    }
  }

  /// Writes as many bytes as standard output takes without waiting, and returns how many: none if it takes none for a
  /// while.
  private static func writeSome(_ bytes: UnsafeRawBufferPointer) throws(OutputError) -> Int {
    do {
      var output = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
      let count = try retryingOnInterrupt("waiting for the reader of standard output") { poll(&output, 1, patience) }
      if count == 0 { return 0 }
      // A pipe that takes anything has room for so much.
      return try retryingOnInterrupt("writing standard output") {
        Glibc.write(STDOUT_FILENO, bytes.baseAddress, min(bytes.count, Int(PIPE_BUF)))
      }
    } catch {
      if error.code == .wouldBlock { return 0 }
      throw OutputError(error)
    }
  }
}

/// Standard output could not be written.
package struct OutputError: Error, CustomStringConvertible {
  /// Whether the reader has closed it, as `head` does, so that the rest of the output is not wanted.
  package var isClosedByReader: Bool
  package var description: String

  init(_ error: SystemError) {
    isClosedByReader = error.isClosedByReader
    description = error.code == .badFileDescriptor ? "standard output is closed" : "\(error)"
  }
}
