import Synchronization

/// Runs `body` in a task of its own and waits for it, but no longer than this task lives: a store that does not answer,
/// or a long file that is being read, must not hold up the end of a program. Throws `CancellationError` if this task is
/// cancelled first; `body` then goes on, and what it returns is dropped.
package func abandonable<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
  let race = Race<Value>()
  let task = Task {
    do { race.end(.success(try await body())) } catch { race.end(.failure(error)) }
  }
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { race.wait($0) }
  } onCancel: {
    task.cancel()
    race.end(.failure(CancellationError()))
  }
}

/// Resumes its continuation with the first of several results.
private final class Race<Value: Sendable>: Sendable {
  private enum State {
    case open
    case waiting(CheckedContinuation<Value, any Error>)
    case ended(Result<Value, any Error>)
    case taken
  }

  private let state = Mutex(State.open)

  func wait(_ continuation: CheckedContinuation<Value, any Error>) {
    let result: Result<Value, any Error>? = state.withLock { state in
      guard case .ended(let result) = state else {
        state = .waiting(continuation)
        return nil
      }
      state = .taken
      return result
    }
    if let result { continuation.resume(with: result) }
  }

  func end(_ result: Result<Value, any Error>) {
    let waiting: CheckedContinuation<Value, any Error>? = state.withLock { state in
      switch state {
      case .open: state = .ended(result)
      case .waiting(let continuation):
        state = .taken
        return continuation
      case .ended, .taken: break
      }
      return nil
    }
    waiting?.resume(with: result)
  }
}
