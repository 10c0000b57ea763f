import ArgumentParser
import Glibc

/// The worker ends before it was told to.
struct WorkerExit: Error, CustomStringConvertible {
  /// The coordinator cannot be reached, or will not have this worker (DESIGN 7).
  static let unavailable = ExitCode(69)

  var code: ExitCode
  var message: String

  var description: String { message }

  /// Says why on standard error, and ends.
  func end() -> Never {
    let words = Array("sheaf-worker: \(message)\n".utf8)
    _ = write(2, words, words.count)
    exit(code.rawValue)
  }
}

/// Ends the process when standard input does: a parent that holds the other end cannot go without the worker.
struct ParentWatch: Sendable {
  func begin() throws {
    try startThread {
      var byte: UInt8 = 0
      while true {
        let count = read(0, &byte, 1)
        // Task processes are told by the kernel, and what they were making has no name.
        if count == 0 || (count < 0 && errno != EINTR) { _exit(0) }
      }
    }
  }
}
