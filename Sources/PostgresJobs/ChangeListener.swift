import Jobs
import SystemSupport

/// Listens for `NOTIFY sheaf_change` on a connection and a thread of its own, and connects again whenever the
/// connection is lost.
final class ChangeListener: Sendable {
  private let url: String
  private let streams: ChangeStreams
  private let cutoff: Cutoff

  init(url: String, streams: ChangeStreams) throws(JobStoreError) {
    self.url = url
    self.streams = streams
    cutoff = try Cutoff()
    do {
      try startThread { self.run() }
    } catch {
      throw JobStoreError(error)
    }
  }

  /// Ends the thread, also while it connects.
  func stop() {
    cutoff.cut()
  }

  private func run() {
    var delay = ReconnectDelay()
    while !cutoff.isCut {
      // The error needs no report here: the store's other connections have the same, and throw it to their callers.
      if let connection = try? Connection(url: url, limits: .short, cutoff: cutoff) {
        delay = ReconnectDelay()
        guard listen(on: connection) else { return }
      }
      if cutoff.wait(socket: nil, milliseconds: delay.next()) == .cut { return }
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
        switch cutoff.wait(socket: connection.socket, milliseconds: 30_000) {
        case .cut: return false
        case .ready: break
        // A connection that does not answer brings no notifications.
        case .over: try connection.script("SELECT 1")
        }
      }
    } catch {
      return !cutoff.isCut
    }
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
