import SystemSupport

/// Listens for `NOTIFY sheaf_change` on a connection and a thread of its own, and connects again whenever the connection
/// is lost.
final class ChangeListener: Sendable {
  private let url: String
  private let streams: ChangeStreams
  /// The two ends of a socket. `stop` shuts the first one down, which the thread notices at the second one.
  private let ends: (stop: OpenFile, polled: OpenFile)

  init(url: String, streams: ChangeStreams) throws(JobStoreError) {
    self.url = url
    self.streams = streams
    do {
      ends = try OpenFile.socketPair()
      try startThread { self.run() }
    } catch {
      throw JobStoreError(error)
    }
  }

  /// Ends the thread.
  func stop() {
    ends.stop.shutDown()
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
        if pause(descriptor: connection.socket, milliseconds: nil) == .stopped { return false }
      }
    } catch {
      return true
    }
  }

  private enum Pause { case over, stopped }

  /// Waits until the descriptor has input, the time is over, or `stop` is called.
  private func pause(descriptor: Int32?, milliseconds: Int32?) -> Pause {
    // A wait that fails is over at once.
    let ready = try? waitForInput([ends.polled.descriptor, descriptor ?? -1], milliseconds: milliseconds)
    return ready?[0] == true ? .stopped : .over
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
