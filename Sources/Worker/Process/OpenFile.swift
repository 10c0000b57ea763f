import CSandbox
import Glibc

/// An open descriptor and its owner: closed when the last reference is gone.
final class OpenFile: Sendable {
  let descriptor: Int32

  /// Takes over an open descriptor.
  init(owning descriptor: Int32) {
    self.descriptor = descriptor
  }

  deinit {
    close(descriptor)
  }

  /// The same file through an offset of its own, for reading only.
  func reopenedForReading() throws(SystemError) -> OpenFile {
    let copy = open("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC)
    guard copy >= 0 else { throw SystemError(errno, "reopening a file for reading") }
    return OpenFile(owning: copy)
  }

  /// A new file without a name in a directory, gone with its last descriptor.
  static func unnamed(in directory: String) throws(SystemError) -> (file: OpenFile, isLinkable: Bool) {
    var isLinkable: Int32 = 0
    let descriptor = sandbox_open_unnamed(directory, &isLinkable)
    guard descriptor >= 0 else { throw SystemError(-descriptor, "making a file in \(directory)") }
    return (OpenFile(owning: descriptor), isLinkable != 0)
  }

  /// Two connected sockets; what is written to one is read from the other.
  static func socketPair() throws(SystemError) -> (OpenFile, OpenFile) {
    var pair: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw SystemError(errno, "making a pair of sockets") }
    return (OpenFile(owning: pair[0]), OpenFile(owning: pair[1]))
  }

  static func pipe() throws(SystemError) -> (reading: OpenFile, writing: OpenFile) {
    var pair: [Int32] = [-1, -1]
    let status = sandbox_pipe(&pair)
    guard status == 0 else { throw SystemError(-status, "making a pipe") }
    return (OpenFile(owning: pair[0]), OpenFile(owning: pair[1]))
  }
}

enum SocketFlags {
  /// No SIGPIPE when the other end is closed.
  static let noSignal = Int32(MSG_NOSIGNAL)
  static let noWait = Int32(MSG_DONTWAIT)
}

/// What the system said no to.
struct SystemError: Error, Hashable, CustomStringConvertible {
  var errno: Int32
  /// Such as "opening /cache".
  var operation: String

  init(_ errno: Int32, _ operation: String) {
    self.errno = errno
    self.operation = operation
  }

  var description: String { "\(operation) failed: \(String(cString: strerror(errno)))" }
}
