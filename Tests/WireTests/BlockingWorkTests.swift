import Foundation
import Testing

@testable import Wire

@Suite(.serialized, .timeLimit(.minutes(5))) struct BlockingWorkTests {
  @Test(arguments: BlockingWork.Pool.allCases)
  func aPoolWhoseThreadsAreAllBusyHoldsUpNoOther(busy: BlockingWork.Pool) async throws {
    let gate = DispatchSemaphore(value: 0)
    let count = 64
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<count { group.addTask { try await BlockingWork.run(busy) { gate.wait() } } }
      for other in BlockingWork.Pool.allCases where other != busy {
        #expect(try await BlockingWork.run(other) { other } == other)
      }
      for _ in 0..<count { gate.signal() }
      try await group.waitForAll()
    }
  }
}
