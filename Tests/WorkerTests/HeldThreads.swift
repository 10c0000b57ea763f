import Dispatch
import Runtime

/// Keeps every thread of a pool busy.
enum HeldThreads {
  private static let count = 4
  private static let turns = AsyncSemaphore(capacity: 1)

  /// Runs `body` while no thread of the pool is free. One test at a time: two that had some of the threads each would
  /// wait for the others for ever, and with them every test that needs one.
  static func withAll<R>(of pool: BlockingWork.Pool, _ body: () async throws -> R) async throws -> R {
    guard await turns.enter() else { throw CancellationError() }
    defer { turns.leave() }
    let gate = DispatchSemaphore(value: 0)
    defer { for _ in 0..<count { gate.signal() } }
    let begun = AsyncStream.makeStream(of: Void.self)
    for _ in 0..<count {
      let begin = begun.continuation
      Task {
        try await BlockingWork.run(pool) {
          begin.yield()
          gate.wait()
        }
      }
    }
    var free = count
    for await _ in begun.stream {
      free -= 1
      if free == 0 { break }
    }
    try Task.checkCancellation()
    return try await body()
  }
}
