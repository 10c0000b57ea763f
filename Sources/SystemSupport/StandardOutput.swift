import Glibc
import SystemPackage

/// The standard output of a program, for its results.
package enum StandardOutput {
  /// Gives each standard descriptor that is closed to a file that can neither be read nor written as the stream is. Else
  /// the next file that the program opens would have its number, and receive what is meant for the stream. To be called
  /// before the program opens any file.
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
