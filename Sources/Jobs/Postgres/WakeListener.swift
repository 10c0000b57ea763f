import Glibc

/// Listens for `NOTIFY sheaf_wake` on a connection and a thread of its own, connecting again as often as it must.
final class WakeListener: Sendable {
  private let url: String
  private let streams: WakeStreams
  /// Two ends of a socket: one is shut down to tell the thread, which polls the other, to stop.
  private let ends: (stop: Int32, polled: Int32)

  init(url: String, streams: WakeStreams) throws(JobStoreError) {
    self.url = url
    self.streams = streams
    var pair: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
      throw JobStoreError(.internal, "cannot make a socket pair: \(String(cString: strerror(errno)))")
    }
    ends = (pair[0], pair[1])
    try startThread { self.run() }
  }

  deinit {
    close(ends.stop)
    close(ends.polled)
  }

  func stop() {
    shutdown(ends.stop, Int32(SHUT_WR))
  }

  private func run() {
    var rest = ReconnectRest()
    while true {
      if let connection = try? Connection(url: url) {
        rest = ReconnectRest()
        guard listen(on: connection) else { return }
      }
      // Whatever the reason, the other connection says it: to the caller of an operation.
      if pause(descriptor: nil, milliseconds: rest.next()) == .stopped { return }
    }
  }

  /// Wakes everyone now and at each notification. False when it was told to stop, true when the connection is lost.
  private func listen(on connection: Connection) -> Bool {
    do throws(JobStoreError) {
      try connection.script("LISTEN sheaf_wake")
      // Whatever was said while nobody listened.
      streams.wake()
      while true {
        if try connection.takeNotifications() { streams.wake() }
        if pause(descriptor: connection.socket, milliseconds: -1) == .stopped { return false }
      }
    } catch {
      return true
    }
  }

  private enum Pause { case over, stopped }

  private func pause(descriptor: Int32?, milliseconds: Int32) -> Pause {
    var descriptors = [pollfd(fd: ends.polled, events: Int16(POLLIN), revents: 0)]
    if let descriptor { descriptors.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)) }
    guard poll(&descriptors, nfds_t(descriptors.count), milliseconds) > 0 else { return .over }
    return descriptors[0].revents == 0 ? .over : .stopped
  }
}

/// How long to rest between attempts to connect: 100 ms, doubling, up to 5 s.
struct ReconnectRest: Sendable {
  private var milliseconds: Int32 = 100

  mutating func next() -> Int32 {
    defer { milliseconds = min(milliseconds * 2, 5_000) }
    return milliseconds
  }
}
