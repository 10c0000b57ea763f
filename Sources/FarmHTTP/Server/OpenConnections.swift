import HummingbirdCore
import Synchronization

/// Counts the open connections, and lets the server accept no more than a number of them.
final class OpenConnections: AvailableConnectionsDelegate, Sendable {
  private let limit: Int
  private let open = Mutex(0)

  init(limit: Int) {
    self.limit = limit
  }

  var count: Int { open.withLock(\.self) }

  func connectionOpened() { open.withLock { $0 += 1 } }

  func connectionClosed() { open.withLock { $0 -= 1 } }

  func isAcceptingNewConnections() -> Bool { count < limit }
}
