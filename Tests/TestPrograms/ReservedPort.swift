import Glibc

/// A TCP port of 127.0.0.1 that is taken and has no listener.
///
/// It is not beside the tests of connections: where NIO is imported, its module of C declarations may be the one that
/// has the socket's address, and then the members cannot be used without importing it.
public struct ReservedPort {
  public let number: Int
  private let descriptor: Int32

  public struct Failure: Error {
    public var errno: Int32
  }

  public init() throws {
    let opened = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard opened >= 0 else { throw Failure(errno: errno) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(opened, pointer, length) == 0 ? getsockname(opened, pointer, &length) : -1
      }
    }
    guard status == 0 else {
      let failure = Failure(errno: errno)
      close(opened)
      throw failure
    }
    descriptor = opened
    number = Int(UInt16(bigEndian: address.sin_port))
  }

  public func release() { close(descriptor) }
}
