import Testing

@testable import Jobs

@Suite("Failing and cancelling")
struct FailingTests {
  @Test(arguments: StoreKind.allCases)
  func infrastructureIsTriedAgainAtOnceAndNotCharged(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(1))
      for epoch in 1...5 as ClosedRange<Int64> {
        let lease = try #require(try await farm.store.claimOne()).lease
        #expect(lease.epoch == epoch)
        let failure = TaskFailure(cause: .infrastructure, message: "disk full")
        #expect(try await farm.store.fail(lease, worker: .anna, failure: failure))
      }
      let task = try await farm.store.task("j1", 0)
      #expect(task.error == "disk full")
      #expect(task.failedOn.isEmpty)
      #expect(task.state == .ready)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aMediaFailureRestsAndThenPrefersAnotherWorker(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      let failure = TaskFailure(cause: .media, message: "bad packet", jitter: 0.5)
      #expect(try await farm.store.fail(lease, worker: .anna, failure: failure))
      #expect(try await farm.store.task("j1", 0).failedOn == [.anna])
      try farm.advance(.milliseconds(1_250) - .microseconds(1))
      #expect(try await farm.store.claimOne(.bert) == nil)
      try farm.advance(.microseconds(1))
      #expect(try await farm.store.claimOne(.anna) == nil)
      try farm.advance(.seconds(5) - .microseconds(1))
      #expect(try await farm.store.claimOne(.anna) == nil)
      try farm.advance(.microseconds(1))
      #expect(try await farm.store.claimOne(.anna)?.lease.epoch == 2)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func theRestDoublesAndTheThirdChargeFailsTaskAndJob(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(3))
      let other = try #require(try await farm.store.claim(worker: .bert, build: "b1", limit: 2).last)
      #expect(try await farm.store.release(worker: .bert) == 2)
      #expect(try await farm.store.publish(other.lease, result: content(1)) == .stale)
      let failure = TaskFailure(cause: .media, message: "bad packet", jitter: 1)
      let first = try #require(try await farm.store.claimOne(.anna)).lease
      #expect(try await farm.store.fail(first, worker: .anna, failure: failure))
      try farm.advance(.milliseconds(1_500))
      let second = try #require(try await farm.store.claimOne(.bert)).lease
      #expect(second.task == first.task)
      #expect(try await farm.store.fail(second, worker: .bert, failure: failure))
      try farm.advance(.milliseconds(2_999))
      #expect(try await farm.store.claimOne(.carl)?.lease.task.ordinal == 1)
      try farm.advance(.milliseconds(1))
      let third = try #require(try await farm.store.claimOne(.carl)).lease
      #expect(third.task == first.task)
      #expect(try await farm.store.fail(third, worker: .carl, failure: failure))
      let job = try await farm.store.job(JobID("j1"))
      #expect(job?.state == .failed)
      #expect(
        job?.error == "picture task j1/0 failed for good (failures: 3, the last on worker carl): bad packet")
      let tasks = try await farm.store.tasks(of: JobID("j1"))
      #expect(tasks.map(\.state) == [.failed, .waiting, .waiting, .waiting])
      #expect(tasks[0].failedOn == [.anna, .bert, .carl])
      #expect(try await farm.store.claimOne(.anna) == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aSingleWorkerMayTryThreeTimes(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(1))
      for _ in 0..<3 {
        let lease = try #require(try await farm.store.claimOne()).lease
        #expect(try await farm.store.fail(lease, worker: .anna, failure: TaskFailure(cause: .media, message: "m")))
        try farm.advance(.seconds(8))
      }
      #expect(try await farm.store.state("j1") == .failed)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func theNumberOfChargesIsThePolicys(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(maximumCharges: 1)) { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.fail(lease, worker: .anna, failure: TaskFailure(cause: .media, message: "m")))
      #expect(try await farm.store.state("j1") == .failed)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aDocumentFailureFailsTheJobNow(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(2))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      let failure = TaskFailure(cause: .document, message: "no such font")
      #expect(try await farm.store.fail(leases[0], worker: .anna, failure: failure))
      #expect(try await farm.store.job(JobID("j1"))?.error == "no such font")
      let tasks = try await farm.store.tasks(of: JobID("j1"))
      #expect(tasks.map(\.state) == [.failed, .waiting, .waiting])
      #expect(tasks[0].failedOn.isEmpty)
      #expect(
        try await farm.store.renew(worker: .anna, leases: [LeaseProgress(lease: leases[1], done: 1)]) == [leases[1]])
      #expect(try await farm.store.publish(leases[1], result: content(1)) == .stale)
    }
  }

  @Test(arguments: StoreKind.allCases, TaskFailure.Cause.allCases)
  func onlyTheHolderMayFailALease(_ kind: StoreKind, cause: TaskFailure.Cause) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      let failure = TaskFailure(cause: cause, message: "m")
      #expect(try await !farm.store.fail(lease, worker: .bert, failure: failure))
      let past = Lease(task: lease.task, epoch: 0)
      #expect(try await !farm.store.fail(past, worker: .anna, failure: failure))
      #expect(try await farm.store.task("j1", 0).state == .leased)
      #expect(try await farm.store.publish(lease, result: content(1)) == .published)
      #expect(try await !farm.store.fail(lease, worker: .anna, failure: failure))
      #expect(try await farm.store.task("j1", 0).error == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aJobMayBeFailedByTheCoordinator(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", tasks: [.sample(.describe)]))
      let lease = try #require(try await farm.store.claimOne()).lease
      try farm.advance(.seconds(1))
      #expect(try await farm.store.fail(JobID("j1"), error: "clip 2 ends after its media"))
      #expect(try await !farm.store.fail(JobID("j1"), error: "again"))
      #expect(try await !farm.store.fail(JobID("none"), error: "again"))
      try farm.advance(.seconds(1))
      let job = try await farm.store.job(JobID("j1"))
      #expect(job?.error == "clip 2 ends after its media")
      #expect(job?.elapsed == .seconds(1))
      #expect(try await farm.store.publish(lease, result: content(1)) == .stale)
      #expect(try await farm.store.jobsToPlan().isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func cancellingTakesTheWorkBack(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .pictures(3))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      #expect(try await farm.store.publish(leases[0], result: content(1)) == .published)
      #expect(try await farm.store.cancel(JobID("j1")) == .cancelled)
      #expect(try await farm.store.tasks(of: JobID("j1")).map(\.state) == [.done, .waiting, .waiting, .waiting])
      #expect(
        try await farm.store.renew(worker: .anna, leases: [LeaseProgress(lease: leases[1], done: 1)]) == [leases[1]])
      #expect(try await farm.store.publish(leases[1], result: content(1)) == .stale)
      #expect(try await farm.store.publish(leases[0], result: content(1)) == .duplicate)
      #expect(try await farm.store.release(worker: .anna) == 0)
      #expect(try await farm.store.claimOne() == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func cancellingSaysHowAJobHadEnded(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      #expect(try await farm.store.cancel(JobID("none")) == nil)
      try await farm.store.submit(.sample("describing", tasks: [.sample(.describe)]))
      #expect(try await farm.store.cancel(JobID("describing")) == .cancelled)
      #expect(try await farm.store.cancel(JobID("describing")) == .cancelled)
      try await farm.store.submit(.sample("failed"))
      #expect(try await farm.store.fail(JobID("failed"), error: "e"))
      #expect(try await farm.store.cancel(JobID("failed")) == .failed)
      try await farm.store.submit(.sample("done"))
      let tasks: [NewTask] = [.sample(.picture, cached: content(1)), .sample(.stitch, cached: content(2))]
      #expect(try await farm.store.plan(JobID("done"), build: "b1", tasks: tasks))
      #expect(try await farm.store.cancel(JobID("done")) == .done)
      #expect(try await farm.store.job(JobID("done"))?.output == content(2))
    }
  }
}
