import FarmModel
import Testing

@testable import Jobs

@Suite("Claiming")
struct ClaimingTests {
  @Test(arguments: StoreKind.allCases)
  func `jobs go by priority, then by what they have had and by age, and tasks by cost then place`(_ kind: StoreKind)
    async throws
  {
    try await kind.run { farm in
      try await farm.store.submitRendering(
        "old", tasks: [.sample(.video, cost: 1), .sample(.video, cost: 3), .sample(.audio, cost: 1)])
      try await farm.store.submitRendering("young", tasks: .videos(1))
      try await farm.store.submitRendering("urgent", priority: 1, tasks: .videos(1))
      let grants = try await farm.store.claim(worker: .anna, build: "b1", limit: 10)
      #expect(grants.map(\.name) == ["urgent/0", "old/1", "young/0", "old/0", "old/2"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a grant has everything that the task needs`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let task = NewTask.sample(.video, 4, work: 250, inputs: [content(3), content(1, size: 0)])
      try await farm.store.submitRendering("j1", tasks: [task])
      let lease = Lease(task: TaskID(job: JobID("j1"), ordinal: 0), epoch: 1)
      #expect(
        try await farm.store.claimOne()
          == Grant(
            lease: lease, holder: WorkerID.anna.holder, kind: .video, payload: task.payload, inputs: task.inputs,
            work: 250))
      let running = try await farm.store.task("j1", 0)
      #expect(running.state == .running)
      #expect(running.epoch == 1)
      #expect(running.held == [HeldLease(epoch: 1, worker: .anna)])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `no task is granted twice, and no more than the limit`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(5))
      #expect(try await farm.store.claim(worker: .anna, build: "b1", limit: 0).isEmpty)
      #expect(try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.name) == ["j1/0", "j1/1"])
      #expect(
        try await farm.store.claim(worker: .bert, build: "b1", limit: 9).map(\.name) == ["j1/2", "j1/3", "j1/4"])
      #expect(try await farm.store.claimOne() == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `probe tasks go to any build and others to that of the plan`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", tasks: [.sample(.probe, 1), .sample(.probe, 2)]))
      let first = try #require(try await farm.store.claimOne(.anna, build: "b1"))
      let second = try #require(try await farm.store.claimOne(.bert, build: "b2"))
      #expect([first.name, second.name] == ["j1/0", "j1/1"])
      #expect(try await farm.store.job(JobID("j1"))?.build == nil)
      for (grant, worker) in [(first, WorkerID.anna), (second, .bert)] {
        #expect(try await farm.store.publish(grant.lease, worker: worker, result: content(1)) == .published)
      }
      #expect(try await farm.store.plan(JobID("j1"), build: "b3", tasks: .videos(1) + [.sample(.stitch)]))
      #expect(try await farm.store.job(JobID("j1"))?.build == "b3")
      #expect(try await farm.store.claimOne(.anna, build: "b1") == nil)
      #expect(try await farm.store.claimOne(.carl, build: "b3")?.name == "j1/2")
    }
  }

  /// The free slots of all workers of a build are filled in one call.
  @Test(arguments: StoreKind.allCases)
  func `each task goes to the first slot that is left`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(5))
      let (anna, bert, carl) = (WorkerID.anna.holder, WorkerID.bert.holder(in: 7), WorkerID.carl.holder)
      let grants = try await farm.store.claim(build: "b1", slots: [bert, anna, bert, carl])
      #expect(grants.map(\.name) == ["j1/0", "j1/1", "j1/2", "j1/3"])
      #expect(grants.map(\.holder) == [bert, anna, bert, carl])
      #expect(try await farm.store.task("j1", 2).held == [HeldLease(epoch: 1, worker: .bert, session: 7)])
      #expect(try await farm.store.claim(build: "b1", slots: []).isEmpty)
      #expect(try await farm.store.claim(build: "b1", slots: [anna, anna, anna]).map(\.name) == ["j1/4"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `tasks of a job that does not move come after those of others`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("stuck", priority: 1, tasks: .videos(4))
      try await farm.store.submitRendering("other", tasks: .videos(1))
      let grants = try await farm.store.claim(worker: .anna, build: "b1", limit: 2)
      #expect(grants.map(\.name) == ["stuck/0", "stuck/1"])
      try farm.advance(.microseconds(3_700_000))
      #expect(try await farm.store.renew(worker: .anna, leases: [grants[0].lease], done: 1).isEmpty)
      try farm.advance(.microseconds(2_299_999))
      #expect(try await farm.store.claimOne(.bert)?.name == "stuck/2")
      try farm.advance(.microseconds(1))
      #expect(try await farm.store.claim(worker: .carl, build: "b1", limit: 2).map(\.name) == ["other/0", "stuck/3"])
    }
  }

  /// Bert may not have the tasks that failed on him, and Anna has one slot: the others are passed over, however many.
  @Test(arguments: StoreKind.allCases)
  func `tasks that no slot may have are passed over`(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(backOff: .microseconds(1), isolation: 9)) { farm in
      let costly = (0..<6).map { NewTask.sample(.video, $0, cost: 9) }
      try await farm.store.submitRendering("j1", tasks: costly + .videos(3))
      for grant in try await farm.store.claim(worker: .bert, build: "b1", limit: 6) {
        let failure = TaskFailure(end: .media, message: "m")
        #expect(try await farm.store.fail(grant.lease, worker: .bert, failure: failure))
      }
      try farm.advance(.milliseconds(1))
      let slots = [WorkerID.bert.holder, WorkerID.anna.holder, WorkerID.bert.holder]
      let grants = try await farm.store.claim(build: "b1", slots: slots)
      #expect(grants.map(\.name) == ["j1/0", "j1/6", "j1/7"])
      #expect(grants.map(\.holder.worker) == [.anna, .bert, .bert])
      #expect(try await farm.store.claimOne(.bert)?.name == "j1/8")
      #expect(try await farm.store.claimOne(.bert) == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `each grant raises the epoch`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      for epoch in 1...3 as ClosedRange<Int64> {
        #expect(try await farm.store.claimOne()?.lease.epoch == epoch)
        #expect(try await farm.store.release(worker: .anna) == 1)
      }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a malformed worker or session is rejected`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let ids = ["", "a b", "é", "a\0", String(repeating: "a", count: 129)]
      for holder in ids.map({ WorkerID($0).holder }) + [WorkerID.anna.holder(in: -1)] {
        await #expect(throws: JobStoreError(.invalid, "")) {
          try await farm.store.claim(build: "b1", slots: [WorkerID.bert.holder, holder])
        }
        await #expect(throws: JobStoreError(.invalid, "")) {
          try await farm.store.register(.sample(holder.worker, session: holder.session.number))
        }
      }
    }
  }
}

@Suite("Renewing and losing leases")
struct RenewingTests {
  @Test(arguments: StoreKind.allCases)
  func `renewing keeps a lease and records progress`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      for done in [10, 20, 15] as [Int64] {
        try farm.advance(.seconds(14))
        #expect(try await farm.store.lost(lease, of: .anna, done: done).isEmpty)
        #expect(try await farm.store.expire().isEmpty)
      }
      #expect(try await farm.store.task("j1", 0).leases.map(\.progress) == [20])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `renewing returns the leases that the worker does not hold`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(3))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      let other = try #require(try await farm.store.claimOne(.bert)).lease
      let old = Lease(task: leases[0].task, epoch: 0)
      let absent = Lease(task: TaskID(job: JobID("none"), ordinal: 0), epoch: 1)
      #expect(try await farm.store.publish(leases[1], worker: .anna, result: content(1)) == .published)
      let renewed = [other, leases[0], old, leases[1], absent, leases[0]]
      #expect(try await farm.store.renew(worker: .anna, leases: renewed) == [other, old, leases[1], absent])
      #expect(try await farm.store.renew(worker: .anna, leases: []).isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a task whose lease is past its time is ready again and nothing is counted`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(2))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      try farm.advance(.seconds(15) - .microseconds(1))
      #expect(try await farm.store.expire().isEmpty)
      try farm.advance(.microseconds(1))
      #expect(try await farm.store.expire() == leases)
      #expect(try await farm.store.expire().isEmpty)
      let task = try await farm.store.task("j1", 0)
      #expect(task.state == .ready)
      #expect(task.failedOn.isEmpty)
      #expect(
        task.past
          == [
            Attempt(
              epoch: 1, worker: .anna, end: .released, message: "the lease of worker anna ran out", ran: .seconds(15))
          ])
      #expect(try await farm.store.claimOne()?.lease == Lease(task: leases[0].task, epoch: 2))
      #expect(
        try await farm.store.renew(worker: .anna, leases: [leases[0]], done: 1) == [leases[0]])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a hang is counted though the lease is renewed`(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(hang: .seconds(60))) { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      try farm.advance(.seconds(10))
      #expect(try await farm.store.renew(worker: .anna, leases: [lease], done: 5).isEmpty)
      for _ in 0..<5 {
        try farm.advance(.seconds(10))
        #expect(try await farm.store.renew(worker: .anna, leases: [lease], done: 5).isEmpty)
        #expect(try await farm.store.expire().isEmpty)
      }
      try farm.advance(.seconds(10))
      #expect(try await farm.store.expire() == [lease])
      let task = try await farm.store.task("j1", 0)
      #expect(task.state == .ready)
      #expect(task.failedOn == [.anna])
      #expect(
        task.past
          == [
            Attempt(
              epoch: 1, worker: .anna, end: .hung, message: "worker anna made no progress for too long",
              ran: .seconds(70))
          ])
      #expect(try await farm.store.claimOne(.bert) == nil)
      try farm.advance(.seconds(1))
      #expect(try await farm.store.claimOne(.bert)?.lease.epoch == 2)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `the third hang fails the job once`(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(hang: .seconds(60), isolation: 9)) { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(3))
      for worker in [WorkerID.anna, .bert, .carl] {
        let leases = try await farm.store.claim(worker: worker, build: "b1", limit: 2).map(\.lease)
        #expect(leases.count == 2)
        try farm.advance(.seconds(50))
        #expect(
          try await farm.store.renew(worker: worker, leases: leases, done: 0).isEmpty)
        try farm.advance(.seconds(10))
        #expect(try await farm.store.expire() == leases)
        try farm.advance(.seconds(2))
      }
      let message =
        "video task j1/0 failed for good (failures: 3, the last on worker carl): "
        + "worker carl made no progress for too long"
      #expect(
        try await farm.store.job(JobID("j1"))?.failure == JobFailure(reason: .task, message: message, task: 0))
      #expect(try await farm.store.tasks(of: JobID("j1")).map(\.state) == [.failed, .failed, .waiting, .waiting])
    }
  }
}
