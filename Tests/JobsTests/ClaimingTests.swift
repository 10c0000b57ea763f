import Testing

@testable import Jobs

@Suite("Claiming")
struct ClaimingTests {
  @Test(arguments: StoreKind.allCases)
  func jobsGoByPriorityThenAgeAndTasksByCostThenPlace(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering(
        "old", tasks: [.sample(.picture, cost: 1), .sample(.picture, cost: 3), .sample(.sound, cost: 1)])
      try await farm.store.submitRendering("young", tasks: .pictures(1))
      try await farm.store.submitRendering("urgent", priority: 1, tasks: .pictures(1))
      let grants = try await farm.store.claim(worker: .anna, build: "b1", limit: 10)
      #expect(grants.map(\.name) == ["urgent/0", "old/1", "old/0", "old/2", "young/0"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aGrantSaysAllThatTheTaskNeeds(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let task = NewTask.sample(.picture, 4, work: 250, inputs: [content(3), content(1, size: 0)])
      try await farm.store.submitRendering("j1", tasks: [task])
      let lease = Lease(task: TaskID(job: JobID("j1"), ordinal: 0), epoch: 1)
      #expect(
        try await farm.store.claimOne()
          == Grant(lease: lease, kind: .picture, payload: task.payload, inputs: task.inputs, work: 250))
      let leased = try await farm.store.task("j1", 0)
      #expect(leased.state == .leased)
      #expect(leased.worker == .anna)
      #expect(leased.epoch == 1)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func noTaskIsGrantedTwiceAndNoMoreThanAskedFor(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(5))
      #expect(try await farm.store.claim(worker: .anna, build: "b1", limit: 0).isEmpty)
      #expect(try await farm.store.claim(worker: .anna, build: "b1", limit: -1).isEmpty)
      #expect(try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.name) == ["j1/0", "j1/1"])
      #expect(
        try await farm.store.claim(worker: .bert, build: "b1", limit: 9).map(\.name) == ["j1/2", "j1/3", "j1/4"])
      #expect(try await farm.store.claimOne() == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func theFirstGrantBindsTheJobToTheBuild(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", tasks: [.sample(.describe, 1), .sample(.describe, 2)]))
      try await farm.store.submit(.sample("j2", tasks: [.sample(.describe)]))
      #expect(try await farm.store.claimOne(.anna, build: "b1")?.name == "j1/0")
      #expect(try await farm.store.job(JobID("j1"))?.build == "b1")
      #expect(try await farm.store.job(JobID("j2"))?.build == nil)
      #expect(try await farm.store.claim(worker: .bert, build: "b2", limit: 9).map(\.name) == ["j2/0"])
      #expect(try await farm.store.claim(worker: .carl, build: "b1", limit: 9).map(\.name) == ["j1/1"])
      #expect(try await farm.store.job(JobID("j2"))?.build == "b2")
    }
  }

  @Test(arguments: StoreKind.allCases)
  func eachGrantRaisesTheEpoch(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(1))
      for epoch in 1...3 as ClosedRange<Int64> {
        #expect(try await farm.store.claimOne()?.lease.epoch == epoch)
        #expect(try await farm.store.release(worker: .anna) == 1)
      }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aWorkerWithoutAProperIdIsRefused(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      for id in ["", "a b", "é", "a\0", String(repeating: "a", count: 129)] {
        await #expect(throws: JobStoreError(.invalid, "")) { try await farm.store.claimOne(WorkerID(id)) }
      }
    }
  }
}

@Suite("Renewing and losing leases")
struct RenewingTests {
  @Test(arguments: StoreKind.allCases)
  func renewingKeepsALeaseAndNotesProgress(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      for done in [10, 20, 15] as [Int64] {
        try farm.advance(.seconds(14))
        let renewal = LeaseProgress(lease: lease, done: done)
        #expect(try await farm.store.renew(worker: .anna, leases: [renewal]).isEmpty)
        #expect(try await farm.store.expire().isEmpty)
      }
      #expect(try await farm.store.task("j1", 0).progress == 20)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func renewingReturnsTheLeasesThatAreSomebodyElses(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(3))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      let other = try #require(try await farm.store.claimOne(.bert)).lease
      let old = Lease(task: leases[0].task, epoch: 0)
      let absent = Lease(task: TaskID(job: JobID("none"), ordinal: 0), epoch: 1)
      #expect(try await farm.store.publish(leases[1], result: content(1)) == .published)
      let asked = [other, leases[0], old, leases[1], absent, leases[0]].map { LeaseProgress(lease: $0, done: 1) }
      #expect(try await farm.store.renew(worker: .anna, leases: asked) == [other, old, leases[1], absent])
      #expect(try await farm.store.renew(worker: .anna, leases: []).isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aLeasePastItsTimeIsReadyAgainUncharged(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(2))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      try farm.advance(.seconds(15) - .microseconds(1))
      #expect(try await farm.store.expire().isEmpty)
      try farm.advance(.microseconds(1))
      #expect(try await farm.store.expire() == leases)
      #expect(try await farm.store.expire().isEmpty)
      let task = try await farm.store.task("j1", 0)
      #expect(task.state == .ready)
      #expect(task.failedOn.isEmpty)
      #expect(task.error == "the lease of worker anna ran out")
      #expect(try await farm.store.claimOne()?.lease == Lease(task: leases[0].task, epoch: 2))
      #expect(
        try await farm.store.renew(worker: .anna, leases: [LeaseProgress(lease: leases[0], done: 1)]) == [leases[0]])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aHangIsChargedThoughTheLeaseIsRenewed(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      try farm.advance(.seconds(10))
      #expect(try await farm.store.renew(worker: .anna, leases: [LeaseProgress(lease: lease, done: 5)]).isEmpty)
      for _ in 0..<5 {
        try farm.advance(.seconds(10))
        #expect(try await farm.store.renew(worker: .anna, leases: [LeaseProgress(lease: lease, done: 5)]).isEmpty)
        #expect(try await farm.store.expire().isEmpty)
      }
      try farm.advance(.seconds(10))
      #expect(try await farm.store.expire() == [lease])
      let task = try await farm.store.task("j1", 0)
      #expect(task.state == .ready)
      #expect(task.failedOn == [.anna])
      #expect(task.error == "worker anna made no progress for too long")
      #expect(try await farm.store.claimOne(.bert) == nil)
      try farm.advance(.seconds(1))
      #expect(try await farm.store.claimOne(.bert)?.lease.epoch == 2)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func theThirdHangFailsTheJobOnce(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(3))
      for worker in [WorkerID.anna, .bert, .carl] {
        let leases = try await farm.store.claim(worker: worker, build: "b1", limit: 2).map(\.lease)
        #expect(leases.count == 2)
        try farm.advance(.seconds(50))
        #expect(
          try await farm.store.renew(worker: worker, leases: leases.map { LeaseProgress(lease: $0, done: 0) }).isEmpty)
        try farm.advance(.seconds(10))
        #expect(try await farm.store.expire() == leases)
        try farm.advance(.seconds(2))
      }
      #expect(
        try await farm.store.job(JobID("j1"))?.error
          == "picture task j1/0 failed for good (failures: 3, the last on worker carl): "
          + "worker carl made no progress for too long")
      #expect(try await farm.store.tasks(of: JobID("j1")).map(\.state) == [.failed, .failed, .waiting, .waiting])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aClosedConnectionFreesItsLeasesAtOnce(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(3))
      let lost = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      #expect(try await farm.store.claimOne(.bert) != nil)
      #expect(try await farm.store.release(worker: .anna) == 2)
      #expect(try await farm.store.release(worker: .anna) == 0)
      let task = try await farm.store.task("j1", 0)
      #expect(task.state == .ready)
      #expect(task.failedOn.isEmpty)
      #expect(task.error == "the connection of worker anna closed")
      #expect(try await farm.store.publish(lost[0], result: content(1)) == .stale)
      #expect(try await farm.store.claim(worker: .anna, build: "b1", limit: 9).map(\.lease.epoch) == [2, 2])
    }
  }
}
