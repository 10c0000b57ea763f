import UnixSignals

/// Ctrl-C and SIGTERM: the work is cancelled, and removes what it has not finished.
enum Interruption {
  /// Runs `body`, and cancels its task at the first signal. Throws what `body` throws, or `CancellationError`.
  static func cancelling<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
    try await withThrowingTaskGroup(of: R?.self) { group in
      let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
      group.addTask { try await body() }
      group.addTask {
        for await _ in signals { return nil }
        try await Task.sleep(for: .seconds(1 << 30))
        return nil
      }
      defer { group.cancelAll() }
      guard let first = try await group.next(), let result = first else {
        group.cancelAll()
        // The body's own result is better than "cancelled", for example if the job was done already.
        while let ended = try await group.next() { if let result = ended { return result } }
        throw CancellationError()
      }
      return result
    }
  }
}
