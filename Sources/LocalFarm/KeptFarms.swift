import Synchronization
import Wire

/// The local farms of this process that stay for a while after their last use, so that a program that exports, probes
/// and draws again and again starts its worker once. What uses the same store with the same settings shares one farm.
actor KeptFarms {
  static let shared = KeptFarms()

  private struct Key: Hashable {
    var store: String
    var slots: Int?
    var storeLimit: Int64
    var worker: String?

    init(_ configuration: LocalFarm.Configuration) {
      store = configuration.store
      slots = configuration.slots
      storeLimit = configuration.storeLimit
      worker = configuration.workerExecutable
    }
  }

  /// A farm that runs, or starts.
  private final class Kept: Sendable {
    let start = OneTime<LocalFarm>()
    /// Set when nothing uses the farm any more.
    let stop = OneTime<Void>()
    /// Set when the farm has ended. It ends by itself only if it fails.
    let end = OneTime<Void>()

    init(_ configuration: LocalFarm.Configuration) {
      let (start, stop, end) = (start, stop, end)
      Task {
        let result: Result<Void, any Error>
        do {
          try await LocalFarm.start(configuration) { farm in
            start.set(.success(farm))
            try await stop.value()
          }
          result = .success(())
        } catch {
          result = .failure(error)
        }
        end.set(result)
        start.set(result.flatMap { .failure(CancellationError()) })
      }
    }
  }

  private struct Use {
    var kept: Kept
    var count = 0
    /// Counts the uses, so that a farm that was used again is kept.
    var number = 0
    /// While the store is trimmed, after a use and before the next one.
    var trimming: Task<Void, Never>?
  }

  /// How long a use whose connection is lost waits for the reason: a farm that fails closes its connections first.
  private static let longestEnd = Duration.seconds(5)

  private var uses: [Key: Use] = [:]

  /// Runs `body` on a farm. Throws what `body` throws, or why the farm cannot go on.
  /// - Parameter idle: How long the farm stays when nothing uses it.
  func run<R: Sendable>(
    _ configuration: LocalFarm.Configuration, idle: Duration, _ body: @escaping @Sendable (LocalFarm) async throws -> R
  ) async throws -> R {
    let key = Key(configuration)
    let kept = begin(key, configuration)
    await uses[key]?.trimming?.value
    let result: Result<R, any Error>
    do {
      result = .success(try await Self.run(body, on: kept))
    } catch {
      result = .failure(await Self.reason(error, of: kept))
    }
    await end(key, kept, configuration.storeLimit, idle)
    return try result.get()
  }

  private func begin(_ key: Key, _ configuration: LocalFarm.Configuration) -> Kept {
    var use = uses[key] ?? Use(kept: Kept(configuration))
    // One that has failed meanwhile is not used again.
    if use.kept.end.isSet { use = Use(kept: Kept(configuration)) }
    use.count += 1
    use.number += 1
    uses[key] = use
    return use.kept
  }

  private static func run<R: Sendable>(
    _ body: @escaping @Sendable (LocalFarm) async throws -> R, on kept: Kept
  ) async throws -> R {
    try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask { try await body(kept.start.value()) }
      group.addTask {
        try await kept.end.value()
        return nil
      }
      defer { group.cancelAll() }
      while let ended = try await group.next() { if let result = ended { return result } }
      throw CancellationError()
    }
  }

  /// Why the farm has ended, if that is why a connection was lost.
  private static func reason(_ error: any Error, of kept: Kept) async -> any Error {
    guard error is WireError, !Task.isCancelled else { return error }
    return await withTaskGroup(of: (any Error)?.self) { group in
      group.addTask {
        do { try await kept.end.value() } catch is CancellationError { return nil } catch { return error }
        return nil
      }
      group.addTask {
        // Cancelled when the other one knows.
        try? await Task.sleep(for: longestEnd)
        return nil
      }
      defer { group.cancelAll() }
      return await group.next()?.flatMap { $0 } ?? error
    }
  }

  /// The last of several uses trims the store, as the end of a farm does, and lets the farm end after some time.
  private func end(_ key: Key, _ kept: Kept, _ storeLimit: Int64, _ idle: Duration) async {
    guard uses[key]?.kept === kept else { return }
    uses[key]?.count -= 1
    guard let use = uses[key], use.count == 0 else { return }
    if let farm = kept.start.known {
      // In a task of its own: what was used is trimmed also if the user is cancelled.
      let trimming = Task { await farm.trim(to: storeLimit) }
      uses[key]?.trimming = trimming
      await trimming.value
      if uses[key]?.kept === kept { uses[key]?.trimming = nil }
    }
    Task {
      try await Task.sleep(for: idle)
      guard let now = uses[key], now.kept === kept, now.number == use.number, now.count == 0 else { return }
      uses[key] = nil
      kept.stop.set(.success(()))
    }
  }
}

/// A value that is set once, for which any number of tasks wait.
private final class OneTime<Value: Sendable>: Sendable {
  private struct State {
    var result: Result<Value, any Error>?
    var waiting: [UInt64: CheckedContinuation<Value, any Error>] = [:]
    var next: UInt64 = 0
  }

  private let state = Mutex(State())

  var isSet: Bool { state.withLock { $0.result != nil } }

  /// Nil if it is not set, or an error.
  var known: Value? { state.withLock { try? $0.result?.get() } }

  /// Does nothing if it is set already.
  func set(_ result: Result<Value, any Error>) {
    let waiting = state.withLock { state in
      guard state.result == nil else { return [CheckedContinuation<Value, any Error>]() }
      state.result = result
      defer { state.waiting = [:] }
      return Array(state.waiting.values)
    }
    for continuation in waiting { continuation.resume(with: result) }
  }

  /// Throws `CancellationError` if this task is cancelled before the value is set.
  func value() async throws -> Value {
    let key = state.withLock { state in
      state.next += 1
      return state.next
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let known = state.withLock { state -> Result<Value, any Error>? in
          if Task.isCancelled { return .failure(CancellationError()) }
          if let result = state.result { return result }
          state.waiting[key] = continuation
          return nil
        }
        if let known { continuation.resume(with: known) }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: key) }?.resume(throwing: CancellationError())
    }
  }
}
