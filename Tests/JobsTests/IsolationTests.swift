import FarmModel
import Testing

@testable import Jobs

@Suite("Isolated tasks, and what tasks need of a worker")
struct IsolationTests {
  @Test(arguments: StoreKind.allCases)
  func `a task that reaches the limit of its memory fails after three workers`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let failure = TaskFailure(end: .exhausted, message: "out of memory", process: .sample)
      for worker in [WorkerID.anna, .bert, .carl] {
        let lease = try #require(try await farm.store.claimOne(worker)).lease
        #expect(try await farm.store.fail(lease, worker: worker, failure: failure))
        try farm.advance(.seconds(2))
      }
      let message = "video task j1/0 failed for good (failures: 3, the last on worker carl): out of memory"
      #expect(try await farm.store.job(JobID("j1"))?.failure?.message == message)
    }
  }

  /// Nothing shows that a task is at fault that nothing else runs beside. It is not tried for ever all the same.
  @Test(arguments: StoreKind.allCases)
  func `a killed task is not counted and fails after eight attempts`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let failure = TaskFailure(end: .killed, message: "killed")
      for backOff in [1, 2, 4, 8, 16, 32, 32, 32] as [Int64] {
        let lease = try #require(try await farm.store.claimOne()).lease
        #expect(try await farm.store.fail(lease, worker: .anna, failure: failure))
        #expect(try await farm.store.task("j1", 0).failedOn.isEmpty)
        try farm.advance(.seconds(backOff) - .microseconds(1))
        #expect(try await farm.store.claimOne(.bert) == nil)
        try farm.advance(.seconds(5) + .microseconds(1))
      }
      #expect(try await farm.store.task("j1", 0).attempts.count == 8)
      #expect(try await farm.store.state("j1") == .failed)
    }
  }

  @Test(arguments: StoreKind.allCases, [AttemptEnd.media, .crashed, .hung, .exhausted, .killed])
  func `of a job with two suspect attempts, one task runs at a time`(_ kind: StoreKind, end: AttemptEnd) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("bad", tasks: .videos(3))
      let grants = try await farm.store.claim(worker: .anna, build: "b1", limit: 2)
      for grant in grants {
        let failure = TaskFailure(end: end, message: "m")
        #expect(try await farm.store.fail(grant.lease, worker: .anna, failure: failure))
      }
      #expect(try await farm.store.tasks(of: JobID("bad")).map(\.isIsolated) == [true, true, true, true])
      try farm.advance(.seconds(2))
      let first = try await farm.store.claim(worker: .bert, build: "b1", limit: 2).map(\.lease.task.ordinal)
      #expect(first == [0])
      let second = try await farm.store.claim(worker: .carl, build: "b1", limit: 2)
      #expect(second.isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `the result of an isolated task lifts the isolation of those that are not at fault`(_ kind: StoreKind)
    async throws
  {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(3))
      for worker in [WorkerID.anna, .bert] {
        let lease = try #require(try await farm.store.claimOne(worker)).lease
        #expect(lease.task.ordinal == 0)
        let failure = TaskFailure(end: .crashed, message: "m")
        #expect(try await farm.store.fail(lease, worker: worker, failure: failure))
        if worker == .anna { try farm.advance(.seconds(1)) }
      }
      #expect(try await farm.store.tasks(of: JobID("j1")).map(\.isIsolated) == [true, true, true, true])
      let lease = try #require(try await farm.store.claimOne(.carl)).lease
      #expect(lease.task.ordinal == 1)
      #expect(try await farm.store.claimOne(.carl) == nil)
      #expect(try await farm.store.publish(lease, worker: .carl, result: content(1)) == .published)
      #expect(try await farm.store.tasks(of: JobID("j1")).map(\.isIsolated) == [true, true, false, false])
      #expect(try await farm.store.claimOne(.carl)?.lease.task.ordinal == 2)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `an isolated task comes after all others until it has waited for long`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("bad", tasks: .videos(1))
      for worker in [WorkerID.anna, .bert] {
        let lease = try #require(try await farm.store.claimOne(worker)).lease
        let failure = TaskFailure(end: .crashed, message: "m")
        #expect(try await farm.store.fail(lease, worker: worker, failure: failure))
        try farm.advance(.seconds(2))
      }
      try await farm.store.submitRendering("good", tasks: .videos(3))
      #expect(try await farm.store.claimOne(.carl)?.lease.task.job == JobID("good"))
      try farm.advance(.seconds(30) - .microseconds(1))
      #expect(try await farm.store.claimOne(.carl)?.lease.task.job == JobID("good"))
      try farm.advance(.microseconds(1))
      #expect(try await farm.store.claimOne(.carl)?.lease.task.job == JobID("bad"))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `an isolated task has no backup lease`(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(isolation: 1)) { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.fail(lease, worker: .anna, failure: TaskFailure(end: .media, message: "m")))
      try farm.advance(.seconds(1))
      #expect(try await farm.store.claimOne(.bert) != nil)
      #expect(try await farm.store.disconnect(WorkerID.bert.holder) == 1)
      #expect(try await farm.store.claimOne(.carl) == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a job that is taken up is not isolated any more`(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(isolation: 1)) { farm in
      try await farm.store.submit(.sample("j1", tasks: [.sample(.probe)]))
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.fail(lease, worker: .anna, failure: TaskFailure(end: .killed, message: "m")))
      #expect(try await farm.store.task("j1", 0).isIsolated)
      #expect(try await farm.store.cancel(JobID("j1")) == .cancelled)
      #expect(try await farm.store.retry(JobID("j1")) == .probing)
      #expect(try await !farm.store.task("j1", 0).isIsolated)
      #expect(try await farm.store.claimOne() != nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a task waits for a worker that has its memory`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.register([.sample(.anna, memory: 99), .sample(.bert, memory: 100)])
      let tasks: [NewTask] = [.sample(.video, 0, cost: 9, memory: 100), .sample(.video, 1, memory: 99)]
      try await farm.store.submitRendering("j1", tasks: tasks)
      let grants = try await farm.store.claim(worker: .anna, build: "b1", limit: 2)
      #expect(grants.map(\.lease.task.ordinal) == [1])
      #expect(try await farm.store.task("j1", 0).memory == 100)
      #expect(try await farm.store.summary(of: JobID("j1"))?.memory == 100)
      let both = try await farm.store.claim(build: "b1", slots: [WorkerID.anna.holder, WorkerID.bert.holder])
      #expect(both.map(\.lease.task.ordinal) == [0])
      #expect(both.map(\.holder.worker) == [.bert])
      // Nor does a smaller worker get a backup lease of it.
      #expect(try await farm.store.disconnect(WorkerID.bert.holder) == 1)
      #expect(try await farm.store.claimOne(.anna) == nil)
      #expect(try await farm.store.claimOne(.carl)?.lease.task.ordinal == 0)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `negative memory is rejected`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      await #expect(throws: JobStoreError(.invalid, "")) {
        try await farm.store.submit(.sample("j1", tasks: [.sample(.probe, memory: -1)]))
      }
      await #expect(throws: JobStoreError(.invalid, "")) {
        try await farm.store.register([.sample(.anna, memory: -1)])
      }
    }
  }
}
