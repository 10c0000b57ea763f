import Digest
import FoundationEssentials
import Wire

/// The coordinator's content, over whichever connection there is. A read whose connection is lost waits for the next
/// one and is repeated there, so a task that reads an input outlives its connection.
actor CoordinatorContent {
  private var exchange: ContentExchange?
  /// Counts the connections.
  private var generation = 0
  private var hasEnded = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// Takes the next connection. What waits goes on there.
  func connect(_ exchange: ContentExchange) {
    self.exchange = exchange
    generation += 1
    resume()
  }

  /// Ends everything that waits with an error.
  func end() {
    hasEnded = true
    resume()
  }

  /// - Parameter fetched: Called with the number of bytes whenever some have come.
  nonisolated func reader(_ fetched: @escaping @Sendable (Int) -> Void) -> ContentReader {
    @Sendable func read(
      _ digest: SHA256Digest, _ part: ContentExchange.Part, _ offset: UInt64, _ length: Int
    ) async throws -> Data {
      let data = try await self.read(digest, part, offset: offset, length: length)
      fetched(data.count)
      return data
    }
    return ContentReader(
      read: { try await read($0, .bytes, $1, $2) }, readBlocks: { try await read($0, .blockDigests, $1, $2) })
  }

  /// Reads as `ContentExchange.read` does. Throws `WireError`, but not for a connection that is lost.
  private func read(
    _ digest: SHA256Digest, _ part: ContentExchange.Part, offset: UInt64, length: Int
  ) async throws -> Data {
    var used = 0
    while true {
      let exchange = try await exchange(after: used)
      used = generation
      do {
        return try await exchange.read(digest, part, offset: offset, length: length)
      } catch let error as WireError where error.code == .closed {
        try Task.checkCancellation()
      }
    }
  }

  /// The newest connection's exchange, once there is one that was not used yet.
  private func exchange(after used: Int) async throws(WireError) -> ContentExchange {
    while !hasEnded {
      if let exchange, generation > used { return exchange }
      await withCheckedContinuation { waiting.append($0) }
    }
    throw WireError(.closed, "the worker is shutting down")
  }

  private func resume() {
    for continuation in waiting { continuation.resume() }
    waiting = []
  }
}
