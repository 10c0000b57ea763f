import UnixSignals

/// Ctrl-C and a request to end: the work is cancelled and cleans up behind itself.
enum Interruption {
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
        // What the body says of its own end may be the better word, such as a job that was done already.
        while let ended = try await group.next() { if let result = ended { return result } }
        throw CancellationError()
      }
      return result
    }
  }
}
