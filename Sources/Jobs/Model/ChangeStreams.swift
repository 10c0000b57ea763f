import Synchronization

/// The streams that a store's `changes()` has returned.
package final class ChangeStreams: Sendable {
  private struct Streams {
    var next: UInt64 = 0
    var continuations: [UInt64: AsyncStream<Void>.Continuation] = [:]
    var isFinished = false
  }

  private let streams = Mutex(Streams())

  package init() {}

  /// A stream that buffers at most one hint while its reader is busy.
  package func add() -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let key: UInt64? = streams.withLock { streams in
      guard !streams.isFinished else { return nil }
      streams.next += 1
      streams.continuations[streams.next] = continuation
      return streams.next
    }
    guard let key else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in self?.remove(key) }
    return stream
  }

  /// Sends a hint to every stream.
  package func signal() {
    for continuation in streams.withLock({ Array($0.continuations.values) }) { continuation.yield() }
  }

  /// Ends every stream; those that are added later end at once.
  package func finish() {
    let all = streams.withLock { streams in
      streams.isFinished = true
      defer { streams.continuations = [:] }
      return Array(streams.continuations.values)
    }
    for continuation in all { continuation.finish() }
  }

  private func remove(_ key: UInt64) {
    streams.withLock { $0.continuations[key] = nil }
  }
}
