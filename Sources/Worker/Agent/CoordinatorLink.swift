import Logging
import Wire

/// A standing connection to the coordinator.
struct CoordinatorLink: Sendable {
  let connection: WireConnection
  /// Reads and uploads.
  let exchange: ContentExchange
  private let outbox: AsyncStream<WireMessage>.Continuation
  private let waiting: AsyncStream<WireMessage>

  init(_ connection: WireConnection) {
    self.connection = connection
    exchange = ContentExchange(connection)
    // Holds what is said about leases while the connection is slow: a few messages a task, and heartbeats until the
    // coordinator has been silent for a lease's time.
    (waiting, outbox) = AsyncStream.makeStream()
  }

  /// Has a message sent after those before it; does not wait.
  func say(_ message: WireMessage) {
    outbox.yield(message)
  }

  /// Sends and receives until the connection ends, one way or the other.
  func run(_ hear: @escaping @Sendable (AgentEvent) -> Void) async throws {
    defer { outbox.finish() }
    do {
      try await withThrowingTaskGroup { group in
        group.addTask {
          for await message in waiting { try await connection.send(message) }
        }
        group.addTask {
          for try await message in connection.inbound {
            if await exchange.take(message) { continue }
            if let event = try AgentEvent(message) { hear(event) }
          }
        }
        try await group.next()
        group.cancelAll()
      }
    } catch {
      await exchange.end()
      throw error
    }
    await exchange.end()
  }
}
