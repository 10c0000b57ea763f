import Glibc
import SystemPackage

/// Local sockets between a process and its children. Everything here blocks, except what has `WithoutWaiting` in its
/// name.
extension OpenFile {
  /// Two connected stream sockets; what is written to one is read from the other.
  package static func socketPair() throws(SystemError) -> (OpenFile, OpenFile) {
    var pair: [Int32] = [-1, -1]
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &pair) == 0 else { throw SystemError(errno, "making a pair of sockets") }
    return (OpenFile(owning: pair[0], name: "a socket"), OpenFile(owning: pair[1], name: "a socket"))
  }

  /// Sends all bytes, waiting for room. Throws `EPIPE`, without a signal, if the other end is closed.
  package func send(_ bytes: [UInt8]) throws(SystemError) {
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(SystemError) in
        try repeating(buffer.count, "sending to \(name)") { done in
          Glibc.send(descriptor, buffer.baseAddress! + done, buffer.count - done, Int32(MSG_NOSIGNAL))
        }
      }
    }
    guard try result.get() == bytes.count else { throw SystemError(EIO, "sending to \(name)") }
  }

  /// Sends as many of the bytes as there is room for, without waiting. Returns how many: zero if there is no room.
  package func sendWithoutWaiting(_ bytes: [UInt8]) throws(SystemError) -> Int {
    do throws(SystemError) {
      return try retryingOnInterrupt("sending to \(name)") {
        Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
      }
    } catch  where error.code == .wouldBlock {
      return 0
    }
  }

  /// Receives up to `limit` bytes that are there, without waiting. Empty at the end; nil if none are there.
  package func receiveWithoutWaiting(_ limit: Int) throws(SystemError) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: limit)
    do throws(SystemError) {
      let count = try retryingOnInterrupt("receiving from \(name)") {
        recv(descriptor, &bytes, limit, Int32(MSG_DONTWAIT))
      }
      bytes.removeSubrange(count...)
      return bytes
    } catch  where error.code == .wouldBlock {
      return nil
    }
  }

  /// Ends the connection in both directions; the descriptor stays open.
  package func shutDown() {
    // Fails only if the connection has ended already.
    _ = shutdown(descriptor, Int32(SHUT_RDWR))
  }
}

/// Waits until one of the descriptors has bytes to read, has ended or is broken.
/// - Parameters:
///   - descriptors: A negative one is passed over.
///   - milliseconds: How long to wait at most; nil waits without limit.
/// - Returns: For each descriptor, in order, whether reading it would not wait.
package func waitForInput(_ descriptors: [Int32], milliseconds: Int32? = nil) throws(SystemError) -> [Bool] {
  var watched = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
  _ = try retryingOnInterrupt("waiting for input") { poll(&watched, nfds_t(watched.count), milliseconds ?? -1) }
  return watched.map { $0.revents != 0 }
}
