import Client
import Digest
import FarmModel
import Jobs
import Synchronization
import Testing
import Wire

@testable import Coordinator

/// Workers whose connections close, that connect again, or that report what is not theirs.
@Suite(.timeLimit(.minutes(10))) struct SessionTests {
  /// Takes the one task that is ready, and closes the connection.
  private func take(
    _ coordinator: TestCoordinator, as worker: String = "w1", session: Int64 = 1, lists: Bool = true
  ) async throws -> Sheaf_Lease {
    let hello = coordinator.hello(.worker, worker: worker, slots: 1, session: session)
    return try await ManualWorker.run(hello, at: coordinator) { worker in
      try await worker.heartbeat(free: 1)
      let lease = try await worker.grant().lease
      if lists {
        try await worker.heartbeat([lease])
        _ = try await worker.heartbeatReply()
      }
      return lease
    }
  }

  @Test func `a worker that connects again goes on with its task`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      let lease = try await take(coordinator)
      try await eventually("the lease is away") { try await coordinator.task()?.leases.first?.isAway == true }
      let result = try coordinator.keep([7])
      let hello = coordinator.hello(.worker, slots: 1, session: 2)
      try await ManualWorker.run(hello, at: coordinator) { worker in
        try await worker.heartbeat([lease])
        #expect(try await worker.heartbeatReply().cancelled == [])
        #expect(try await coordinator.task()?.leases.map(\.isAway) == [false])
        try await worker.publish(lease, result)
        #expect(try await worker.publishReply().outcome == .published)
      }
      #expect(try await coordinator.task()?.attempts == [])
    }
  }

  @Test func `a grant that never reached its worker is free when the worker is back`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      let lease = try await take(coordinator, lists: false)
      let hello = coordinator.hello(.worker, slots: 1, session: 2)
      try await ManualWorker.run(hello, at: coordinator) { worker in
        // It does not list the lease: it has not read the grant.
        try await worker.heartbeat(free: 1)
        let next = try await worker.grant().lease
        #expect(next.task == lease.task && next.epoch == lease.epoch + 1)
      }
      #expect(try await coordinator.task()?.attempts.map(\.end) == [.released])
    }
  }

  @Test func `ten drains during one task cost nothing`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      for number in 0..<10 {
        let hello = coordinator.hello(.worker, worker: "drained-\(number)", slots: 1)
        try await ManualWorker.run(hello, at: coordinator) { worker in
          try await worker.heartbeat(free: 1)
          let lease = try await worker.grant().lease
          try await worker.heartbeat([lease], draining: true)
          try await worker.fail(lease, .released)
          _ = try await worker.failureReply()
        }
      }
      let result = try coordinator.keep([7])
      let hello = coordinator.hello(.worker, worker: "last", slots: 1)
      try await ManualWorker.run(hello, at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        try await worker.publish(worker.grant().lease, result)
        #expect(try await worker.publishReply().outcome == .published)
      }
      #expect(try await coordinator.store.job(TestCoordinator.job)?.state == .rendering)
    }
  }

  @Test(arguments: [Sheaf_AttemptEnd.released, .media, .document])
  func `a report of a lease that the worker does not hold means nothing`(end: Sheaf_AttemptEnd) async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      let result = try coordinator.keep([7])
      try await ManualWorker.run(coordinator.hello(.worker, slots: 1), at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        let lease = try await worker.grant().lease
        // Another worker, of another build, reports the lease of the first one, and later that of a finished task.
        let other = coordinator.hello(.worker, worker: "other", build: "build 2")
        try await ManualWorker.run(other, at: coordinator) { other in
          try await other.heartbeat()
          for _ in 0..<4 {
            try await other.fail(lease, end)
            #expect(try await other.failureReply().lease == lease)
          }
          try await worker.publish(lease, result)
          #expect(try await worker.publishReply().outcome == .published)
          for _ in 0..<4 {
            try await other.fail(lease, end)
            _ = try await other.failureReply()
          }
        }
      }
      #expect(try await coordinator.store.job(TestCoordinator.job)?.state == .rendering)
      #expect(try await coordinator.task()?.attempts == [])
    }
  }

  @Test func `an idle worker gets the task of one that is away`() async throws {
    try await TestCoordinator.run { coordinator in
      try await coordinator.render()
      let lease = try await take(coordinator)
      let hello = coordinator.hello(.worker, worker: "w2", slots: 1)
      try await ManualWorker.run(hello, at: coordinator) { worker in
        try await worker.heartbeat(free: 1)
        let backup = try await worker.grant().lease
        #expect(backup.task == lease.task && backup.epoch == lease.epoch + 1)
      }
    }
  }

  @Test func `the free slots of all workers are one claim`() async throws {
    try await TestCoordinator.runObstructed { coordinator, store in
      store.hang([.claim])
      let (answers, answered) = AsyncStream.makeStream(of: Int.self)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<5 {
          group.addTask {
            // Without this worker's answer there is nothing to wait for.
            defer { answered.finish() }
            let hello = coordinator.hello(.worker, worker: "w\(number)", slots: 2)
            try await ManualWorker.run(hello, at: coordinator) { worker in
              try await worker.heartbeat(free: 2)
              _ = try await worker.heartbeatReply()
              answered.yield(number)
              _ = try await worker.grant()
            }
          }
        }
        // The first worker's claim does not return, and the others, whose slots are known, wait for it.
        try await eventually("a claim hangs") { store.calls(.claim) == 1 }
        _ = await answers.prefix(5).reduce(0, +)
        try await coordinator.render(10)
        store.free()
        try await group.waitForAll()
      }
      #expect(store.claims.contains { Set($0).count >= 2 }, "\(store.claims)")
    }
  }
}
