import Synchronization

/// Admits a number of tasks at a time, in the order in which they came, and none while it is held back. Nothing blocks:
/// a task that waits is suspended.
package final class AsyncSemaphore: Sendable {
  /// What is decided, without the tasks. Pure.
  struct Queue: Sendable {
    private let capacity: Int
    private var inside = 0
    private var holds = 0
    private(set) var waiting: [Int] = []

    init(capacity: Int) {
      self.capacity = capacity
    }

    mutating func enter(_ number: Int) -> [Int] {
      waiting.append(number)
      return admitted()
    }

    mutating func leave() -> [Int] {
      inside -= 1
      return admitted()
    }

    /// Removes a task that waits. Returns false if it was admitted.
    mutating func cancel(_ number: Int) -> Bool {
      guard let index = waiting.firstIndex(of: number) else { return false }
      waiting.remove(at: index)
      return true
    }

    mutating func hold() {
      holds += 1
    }

    mutating func endHold() -> [Int] {
      holds -= 1
      return admitted()
    }

    /// The tasks that go in now.
    private mutating func admitted() -> [Int] {
      guard holds == 0 else { return [] }
      let count = min(capacity - inside, waiting.count)
      defer { waiting.removeFirst(count) }
      inside += count
      return Array(waiting.prefix(count))
    }
  }

  private struct State {
    var queue: Queue
    var next = 0
    /// The tasks that have a number and are not in the queue yet. A task that is cancelled then is taken out.
    var starting: Set<Int> = []
    var continuations: [Int: CheckedContinuation<Bool, Never>] = [:]

    /// The continuations of tasks that are admitted.
    mutating func take(_ admitted: [Int]) -> [CheckedContinuation<Bool, Never>] {
      admitted.compactMap { continuations.removeValue(forKey: $0) }
    }
  }

  private let state: Mutex<State>

  /// - Parameter capacity: How many tasks are admitted at a time; at least 1.
  package init(capacity: Int) {
    state = Mutex(State(queue: Queue(capacity: capacity)))
  }

  /// Runs `body` in the task's turn. Throws `CancellationError` if the task is cancelled before, or what `body` throws.
  package func withPermit<R: Sendable>(_ body: @Sendable () async throws -> R) async throws -> R {
    guard await enter() else { throw CancellationError() }
    defer { leave() }
    return try await body()
  }

  /// Waits for the task's turn. Returns whether it has come, and then `leave` must follow; false if the task is
  /// cancelled before.
  package func enter() async -> Bool {
    let number = state.withLock { state in
      state.next += 1
      state.starting.insert(state.next)
      return state.next
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let admitted = state.withLock { state -> [CheckedContinuation<Bool, Never>]? in
          guard state.starting.remove(number) != nil else { return nil }
          state.continuations[number] = continuation
          return state.take(state.queue.enter(number))
        }
        guard let admitted else { return continuation.resume(returning: false) }
        for continuation in admitted { continuation.resume(returning: true) }
      }
    } onCancel: {
      let continuation = state.withLock { state in
        state.starting.remove(number)
        return state.queue.cancel(number) ? state.continuations.removeValue(forKey: number) : nil
      }
      continuation?.resume(returning: false)
    }
  }

  package func leave() { admit { $0.leave() } }

  /// Admits no task until the hold has ended.
  package func hold() { state.withLock { $0.queue.hold() } }

  package func endHold() { admit { $0.endHold() } }

  private func admit(_ change: (inout Queue) -> [Int]) {
    let admitted = state.withLock { state in state.take(change(&state.queue)) }
    for continuation in admitted { continuation.resume(returning: true) }
  }
}
