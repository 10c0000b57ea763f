import Dispatch
import Glibc
import Testing

@testable import Runtime

struct BlockingWorkTests {
  /// In a process of its own: the other tests of this one need free threads.
  @Test func `a pool whose threads are all busy holds up no other`() async {
    await #expect(processExitsWith: .success) {
      alarm(300)  // A pool that is held up ends the process.
      for busy in BlockingWork.Pool.allCases {
        let gate = DispatchSemaphore(value: 0)
        let count = 64
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<count { group.addTask { try await BlockingWork.run(busy) { gate.wait() } } }
          for other in BlockingWork.Pool.allCases where other != busy {
            try #require(try await BlockingWork.run(other) { other } == other)
          }
          for _ in 0..<count { gate.signal() }
          try await group.waitForAll()
        }
      }
    }
  }
}
