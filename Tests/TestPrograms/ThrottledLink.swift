import Glibc
import Synchronization
import SystemSupport

/// A slow link to a TCP port of this machine: a listener of its own, whose connections carry a number of bytes a second
/// each way. Like a slow link's, its buffers are small, so a sender's system keeps what was not sent yet.
public final class ThrottledLink: Sendable {
  /// The port of 127.0.0.1 at which it listens.
  public let port: Int
  private let listener: OpenFile
  private let target: Int
  private let bytesPerSecond: Int
  private let state = Mutex(State())

  private struct State: Sendable {
    var isClosed = false
    var up = 0
    var down = 0
    var connections: [OpenFile] = []
  }

  /// Bytes that it has carried to the target.
  public var up: Int { state.withLock { $0.up } }
  /// Bytes that it has carried from the target.
  public var down: Int { state.withLock { $0.down } }

  /// - Parameter target: A port of 127.0.0.1.
  public init(to target: Int, bytesPerSecond: Int) throws {
    self.target = target
    self.bytesPerSecond = bytesPerSecond
    listener = try Self.socket()
    var address = Self.address(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener.descriptor
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(descriptor, pointer, length) == 0 && listen(descriptor, 16) == 0
          ? getsockname(descriptor, pointer, &length) : -1
      }
    }
    guard status == 0 else { throw SystemError(errno, "listening") }
    port = Int(UInt16(bigEndian: address.sin_port))
    try startThread { self.accept() }
  }

  /// Ends the link and its connections.
  public func close() {
    let connections = state.withLock { state in
      state.isClosed = true
      return state.connections
    }
    for connection in connections + [listener] { _ = shutdown(connection.descriptor, Int32(SHUT_RDWR)) }
  }

  private func accept() {
    while true {
      let descriptor = Glibc.accept(listener.descriptor, nil, nil)
      guard descriptor >= 0 else { return }
      let near = OpenFile(owning: descriptor, name: "a connection")
      guard let far = try? Self.socket() else { return }
      var address = Self.address(target)
      let status = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(far.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      let isOpen = state.withLock { state in
        state.connections += [near, far]
        return !state.isClosed
      }
      guard status == 0, isOpen else { return }
      try? startThread { self.carry(near, far) { $0.up += $1 } }
      try? startThread { self.carry(far, near) { $0.down += $1 } }
    }
  }

  private func carry(_ source: OpenFile, _ target: OpenFile, _ count: (inout State, Int) -> Void) {
    // A connection that breaks ends here, as on any link.
    while let bytes = try? source.readSome(1024), !bytes.isEmpty {
      usleep(UInt32(bytes.count * 1_000_000 / bytesPerSecond))
      guard Glibc.send(target.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { break }
      state.withLock { count(&$0, bytes.count) }
    }
    _ = shutdown(target.descriptor, Int32(SHUT_WR))
  }

  private static func socket() throws -> OpenFile {
    let descriptor = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw SystemError(errno, "making a socket") }
    var size: Int32 = 8192
    for option in [SO_RCVBUF, SO_SNDBUF] {
      setsockopt(descriptor, SOL_SOCKET, option, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    return OpenFile(owning: descriptor, name: "a socket")
  }

  private static func address(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    address.sin_port = in_port_t(port).bigEndian
    return address
  }
}
