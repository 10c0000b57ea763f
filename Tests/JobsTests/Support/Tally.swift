import Synchronization

@testable import Jobs

/// How often each task came by, counted by several at once.
final class Tally: Sendable {
  private let counts = Mutex<[TaskID: Int]>([:])

  func add(_ task: TaskID) { counts.withLock { $0[task, default: 0] += 1 } }

  subscript(task: TaskID) -> Int { counts.withLock { $0[task, default: 0] } }

  var count: Int { counts.withLock { $0.count } }

  var isOnceEach: Bool { counts.withLock { $0.values.allSatisfy { $0 == 1 } } }
}
