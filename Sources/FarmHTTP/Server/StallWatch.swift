import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// Closes the connection of a client that takes nothing of its reply for too long.
final class StallWatch: Sendable {
  private let channel: any Channel
  private let limit: Duration
  /// When the part was given to the connection that it has not taken yet. Nil: it has taken all.
  private let pending = Mutex<ContinuousClock.Instant?>(nil)

  init(_ channel: any Channel, limit: Duration) {
    self.channel = channel
    self.limit = limit
  }

  /// Watches until the task is cancelled.
  func start() -> Task<Void, Never> {
    Task {
      while true {
        // Cancelled: the reply is written.
        do { try await Task.sleep(for: limit / 4) } catch { return }
        guard let since = pending.withLock(\.self), .now - since > limit else { continue }
        return channel.close(promise: nil)
      }
    }
  }

  fileprivate func begin() { pending.withLock { $0 = .now } }

  fileprivate func end() { pending.withLock { $0 = nil } }
}

/// Writes a body, and says when the client takes none of it.
struct WatchedWriter: ResponseBodyWriter {
  private var inner: any ResponseBodyWriter
  private let watch: StallWatch

  init(_ inner: any ResponseBodyWriter, _ watch: StallWatch) {
    self.inner = inner
    self.watch = watch
  }

  mutating func write(_ buffer: ByteBuffer) async throws {
    watch.begin()
    defer { watch.end() }
    try await inner.write(buffer)
  }

  consuming func finish(_ trailingHeaders: HTTPFields?) async throws {
    watch.begin()
    defer { watch.end() }
    try await inner.finish(trailingHeaders)
  }
}
