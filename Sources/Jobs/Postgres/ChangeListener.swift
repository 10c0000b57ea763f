import Glibc
import SystemSupport

/// Listens for `NOTIFY sheaf_change` on a connection and a thread of its own, and connects again whenever the connection
/// is lost.
final class ChangeListener: Sendable {
  private let url: String
  private let streams: ChangeStreams
  /// The two ends of a socket. `stop` shuts the first one down; the thread polls the second one.
  private let ends: (stop: Int32, polled: Int32)

  init(url: String, streams: ChangeStreams) throws(JobStoreError) {
    self.url = url
    self.streams = streams
    var pair: [Int32] = [-1, -1]
    guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0 else {
      throw JobStoreError(SystemError(errno, "making a socket pair"))
    }
    ends = (pair[0], pair[1])
    do {
      try startThread { self.run() }
    } catch {
      throw JobStoreError(error)
    }
  }

  deinit {
    close(ends.stop)
    close(ends.polled)
  }

  /// Ends the thread.
  func stop() {
    shutdown(ends.stop, Int32(SHUT_WR))
  }

  private func run() {
    var delay = ReconnectDelay()
    while true {
      // The error needs no report here: the store's other connection has the same, and throws it to its caller.
      if let connection = try? Connection(url: url) {
        delay = ReconnectDelay()
        guard listen(on: connection) else { return }
      }
      if pause(descriptor: nil, milliseconds: delay.next()) == .stopped { return }
    }
  }

  /// Signals the streams now and at each notification. False after `stop`, true when the connection is lost.
  private func listen(on connection: Connection) -> Bool {
    do throws(JobStoreError) {
      try connection.script("LISTEN sheaf_change")
      // There may have been changes before the server was listening for this connection.
      streams.signal()
      while true {
        if try connection.takeNotifications() { streams.signal() }
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

/// The time between attempts to connect: 100 ms, doubled each time, up to 5 s.
struct ReconnectDelay: Sendable {
  private var milliseconds: Int32 = 100

  mutating func next() -> Int32 {
    defer { milliseconds = min(milliseconds * 2, 5_000) }
    return milliseconds
  }
}
