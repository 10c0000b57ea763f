import FarmModel
import Jobs
import Testing
import Wire

@testable import Coordinator

struct SlotReuseTests {
  /// A grant that is counted as on its way after it has arrived would take a slot for ever.
  @Test func `the slot of a worker is granted again and again`() async throws {
    try await TestCoordinator.run { coordinator in
      let count = 400
      try await coordinator.render(count)
      let result = try coordinator.keep([9, 9])
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        for _ in 0..<count {
          let grant = try await worker.grant()
          #expect(grant.kind == .video)
          try await worker.publish(grant.lease, result)
          #expect(try await worker.publishReply().outcome == .published)
          // As after each end, the worker says that its slot is free.
          try await worker.heartbeat(free: 1)
        }
      }
      let tasks = try await coordinator.store.tasks(of: TestCoordinator.job, payloads: false)
      #expect(tasks.count { $0.kind == .video && $0.state == .done } == count)
    }
  }
}
