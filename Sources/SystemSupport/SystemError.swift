import Glibc
package import SystemPackage

/// A system call that failed. Equal when the code and the operation are.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The system's error number.
  package var code: Errno
  /// What was being done, with the file's name, such as `opening /cache/content/ab`.
  package var operation: String

  package init(_ code: Errno, _ operation: String) {
    self.code = code
    self.operation = operation
  }

  /// - Parameter number: a value of `errno`.
  package init(_ number: Int32, _ operation: String) {
    self.init(Errno(rawValue: number), operation)
  }

  /// Whether the disk, or a quota on it, is full.
  package var isOutOfSpace: Bool {
    code == .noSpace || code == .diskQuotaExceeded || code == .fileTooLarge
  }

  /// Whether this process, or the machine, has as many open files as it may have.
  package var isOutOfDescriptors: Bool { code == .tooManyOpenFiles || code == .tooManyOpenFilesInSystem }

  /// Whether there is no such file, or a part of its path is not a folder.
  package var isMissing: Bool { code == .noSuchFileOrDirectory || code == .notDirectory }

  /// Whether the file's permissions, or those of a folder on its path, do not allow the operation.
  package var isDenied: Bool { code == .permissionDenied }

  /// Whether the reader of a pipe or the peer of a socket has closed it.
  package var isClosedByReader: Bool { code == .brokenPipe }

  /// The system's text for the code, such as `Permission denied`.
  package var reason: String { "\(code)" }

  package var description: String {
    let text = "\(operation) failed: \(reason)"
    guard code == .tooManyOpenFiles else { return text }
    return "\(text); this process may have \(ProcessLimits.descriptors): raise the limit, ulimit -n"
  }
}

/// Runs a system call until no signal interrupts it.
///
/// - Parameter call: Returns a negative value, with `errno` set, if it failed.
/// - Returns: What the call returned.
package func retryingOnInterrupt<Count: SignedInteger>(
  _ operation: @autoclosure () -> String, _ call: () -> Count
) throws(SystemError) -> Count {
  while true {
    let count = call()
    if count >= 0 { return count }
    let code = Errno(rawValue: errno)
    if code != .interrupted { throw SystemError(code, operation()) }
  }
}

/// Ends the process at once with an exit code. Nothing is cleaned up: descriptors and memory go with the process. Exit
/// handlers do not run, as they would in `exit`: those of C and C++ libraries destroy what other threads still use.
/// - Parameter message: Lines for standard error, which no terminal executes; none if it is nil or empty.
package func endProcess(_ code: Int32, _ message: String? = nil) -> Never {
  if let message, !message.isEmpty { StandardError.write(message.withoutControls + "\n") }
  _exit(code)
}
