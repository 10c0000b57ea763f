import Synchronization

/// The connections that were accepted and have not said who they are. There are so many of an address and so many in
/// all; for one more, the oldest gives way. So those that say nothing never keep out one that says hello at once.
package final class PendingConnections: Sendable {
  fileprivate struct Connection {
    var number: Int
    var address: String
    var close: @Sendable () -> Void
  }

  fileprivate struct State {
    var next = 0
    /// The oldest first.
    var waiting: [Connection] = []
    var ofAddress: [String: Int] = [:]
  }

  private let most: Int
  private let mostOfAddress: Int
  private let state = Mutex(State())

  package init(most: Int, ofAddress mostOfAddress: Int) {
    self.most = most
    self.mostOfAddress = mostOfAddress
  }

  package var count: Int { state.withLock(\.waiting.count) }

  /// Adds a connection, and closes the one that gives way for it.
  /// - Parameters:
  ///   - address: Its peer's, without a port.
  ///   - close: Closes it.
  /// - Returns: Its number, and the address of the one that was closed. Nil: there was room.
  package func add(_ address: String, close: @escaping @Sendable () -> Void) -> (number: Int, closed: String?) {
    let (number, oldest) = state.withLock { state -> (Int, Connection?) in
      var oldest: Connection?
      if state.ofAddress[address, default: 0] >= mostOfAddress {
        oldest = state.waiting.first { $0.address == address }
      } else if state.waiting.count >= most {
        oldest = state.waiting.first
      }
      if let oldest { state.remove(oldest.number) }
      let number = state.next
      state.next += 1
      state.waiting.append(Connection(number: number, address: address, close: close))
      state.ofAddress[address, default: 0] += 1
      return (number, oldest)
    }
    oldest?.close()
    return (number, oldest?.address)
  }

  /// A connection that is closed, or has said who it is. One that gave way is not there any more.
  package func remove(_ number: Int) { state.withLock { $0.remove(number) } }
}

extension PendingConnections.State {
  fileprivate mutating func remove(_ number: Int) {
    guard let index = waiting.firstIndex(where: { $0.number == number }) else { return }
    let address = waiting.remove(at: index).address
    ofAddress[address, default: 1] -= 1
    if ofAddress[address] == 0 { ofAddress[address] = nil }
  }
}
