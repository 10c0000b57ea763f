import Foundation
import Glibc

/// A service manager's end of `NOTIFY_SOCKET`. It is not beside the tests of connections, as `ReservedPort` says.
public final class ServiceManager: Sendable {
  public struct Failure: Error {
    public var errno: Int32
  }

  /// The variable's value: a path, or `@` with the name of an abstract socket.
  public let name: String
  private let descriptor: Int32

  /// - Parameter name: Nil: an abstract socket of its own.
  public init(_ name: String? = nil) throws {
    let name = name ?? "@sheaf-test-\(UUID().uuidString)"
    self.name = name
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { throw Failure(errno: errno) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(name.utf8)
    if name.hasPrefix("@") { bytes[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
    let length = socklen_t(MemoryLayout.size(ofValue: address.sun_family) + bytes.count)
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
    }
    // So that a message that never comes fails its test.
    var limit = timeval(tv_sec: 120, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    guard status == 0 else {
      let failure = Failure(errno: errno)
      close(descriptor)
      throw failure
    }
  }

  deinit {
    close(descriptor)
  }

  /// Waits for the next message, on a thread of its own.
  public func next() async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { [self] in
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        let result: Result<String, any Error> =
          count < 0 ? .failure(Failure(errno: errno)) : .success(String(decoding: bytes[..<count], as: UTF8.self))
        continuation.resume(with: result)
      }
    }
  }

  /// Waits for a message, and passes over the others before it. Returns these.
  public func await(_ message: String) async throws -> [String] {
    var others: [String] = []
    while true {
      let next = try await next()
      if next == message { return others }
      others.append(next)
    }
  }
}
