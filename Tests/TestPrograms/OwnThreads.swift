import Synchronization
import SystemSupport
public import Testing

/// Runs tests on threads of their own. A test that waits for `ffmpeg` blocks its thread; in the cooperative pool, which
/// has a thread for each processor core, two such tests stop everything else that is asynchronous in the process, as
/// the coordinator of a farm of the same process, whose peers then take it for dead.
public struct OwnThreads: SuiteTrait, TestTrait, TestScoping {
  public var isRecursive: Bool { true }

  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await withTaskExecutorPreference(BlockingExecutor.shared) { try await function() }
  }
}

extension Trait where Self == OwnThreads {
  public static var ownThreads: Self { OwnThreads() }
}

/// Has a thread for each job that runs. Threads that have ended a job are used again.
private final class BlockingExecutor: TaskExecutor {
  private struct Queue {
    var jobs: [UnownedJob] = []
    /// How many threads wait for a job.
    var idle = 0
  }

  static let shared = BlockingExecutor()
  private let queue = Mutex(Queue())
  private let arrivals = Semaphore(0)

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let needsThread = queue.withLock { queue in
      queue.jobs.append(job)
      return queue.jobs.count > queue.idle
    }
    if needsThread {
      do {
        try startThread { self.run() }
      } catch {
        fatalError("\(error)")
      }
    }
    arrivals.post()
  }

  private func run() {
    let executor = asUnownedTaskExecutor()
    queue.withLock { $0.idle += 1 }
    while true {
      arrivals.wait()
      let job = queue.withLock { queue in
        queue.idle -= 1
        return queue.jobs.removeFirst()
      }
      job.runSynchronously(on: executor)
      queue.withLock { $0.idle += 1 }
    }
  }
}
