import FarmModel
import Testing

@testable import Jobs

@Suite("Failing and cancelling")
struct FailingTests {
  @Test(arguments: StoreKind.allCases)
  func `a released task is ready at once and nothing is counted`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      for epoch in 1...5 as ClosedRange<Int64> {
        let lease = try #require(try await farm.store.claimOne()).lease
        #expect(lease.epoch == epoch)
        let failure = TaskFailure(end: .released, message: "disk full")
        #expect(try await farm.store.fail(lease, worker: .anna, failure: failure))
      }
      let task = try await farm.store.task("j1", 0)
      #expect(
        task.past
          == (1...5).map { Attempt(epoch: $0, worker: .anna, end: .released, message: "disk full") })
      #expect(task.failedOn.isEmpty)
      #expect(task.state == .ready)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a task that could not be executed waits and nothing is counted`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(2))
      for backOff in [1, 2, 4, 8, 16, 32, 32] as [Int64] {
        let lease = try #require(try await farm.store.claimOne()).lease
        #expect(lease.task.ordinal == 0)
        let failure = TaskFailure(end: .released, message: "no such folder", delaysTask: true)
        #expect(try await farm.store.fail(lease, worker: .anna, failure: failure))
        // Another task is granted at once.
        let other = try #require(try await farm.store.claimOne()).lease
        #expect(other.task.ordinal == 1)
        let shutdown = TaskFailure(end: .released, message: "shutdown")
        #expect(try await farm.store.fail(other, worker: .anna, failure: shutdown))
        try farm.advance(.seconds(backOff) - .microseconds(1))
        #expect(try await farm.store.claimOne()?.lease.task.ordinal == 1)
        #expect(try await farm.store.release(worker: .anna) == 1)
        try farm.advance(.microseconds(1))
      }
      #expect(try await farm.store.task("j1", 0).failedOn.isEmpty)
      #expect(try await !farm.store.task("j1", 0).isIsolated)
    }
  }

  @Test(arguments: StoreKind.allCases, [AttemptEnd.media, .crashed])
  func `a counted failure backs off and then excludes its worker`(_ kind: StoreKind, end: AttemptEnd) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      let failure = TaskFailure(end: end, message: "bad packet", jitter: 0.5)
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
  func `the back-off doubles and the third failure fails task and job`(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(isolation: 9)) { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(3))
      let other = try #require(try await farm.store.claim(worker: .bert, build: "b1", limit: 2).last)
      #expect(try await farm.store.release(worker: .bert) == 2)
      #expect(try await farm.store.publish(other.lease, worker: .anna, result: content(1)) == .stale)
      let failure = TaskFailure(end: .media, message: "bad packet", jitter: 1)
      let first = try #require(try await farm.store.claimOne(.anna)).lease
      #expect(try await farm.store.fail(first, worker: .anna, failure: failure))
      try farm.advance(.milliseconds(1_500))
      let second = try #require(try await farm.store.claimOne(.bert)).lease
      #expect(second.task == first.task)
      #expect(try await farm.store.fail(second, worker: .bert, failure: failure))
      try farm.advance(.milliseconds(2_999))
      #expect(try await farm.store.claimOne(.carl)?.lease.task.ordinal == 1)
      try farm.advance(.milliseconds(1))
      let grants = try await farm.store.claim(worker: .carl, build: "b1", limit: 2)
      #expect(grants.map(\.lease.task.ordinal) == [0, 2])
      let third = try #require(grants.first).lease
      #expect(third.task == first.task)
      #expect(try await farm.store.fail(third, worker: .carl, failure: failure))
      let job = try await farm.store.job(JobID("j1"))
      #expect(job?.state == .failed)
      let message = "video task j1/0 failed for good (failures: 3, the last on worker carl): bad packet"
      #expect(job?.failure == JobFailure(reason: .task, message: message, task: 0))
      let tasks = try await farm.store.tasks(of: JobID("j1"))
      #expect(tasks.map(\.state) == [.failed, .waiting, .waiting, .waiting])
      #expect(tasks[0].failedOn == [.anna, .bert, .carl])
      #expect(try await farm.store.claimOne(.anna) == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a task with a single worker is tried three times`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      for _ in 0..<3 {
        let lease = try #require(try await farm.store.claimOne()).lease
        #expect(try await farm.store.fail(lease, worker: .anna, failure: TaskFailure(end: .media, message: "m")))
        try farm.advance(.seconds(8))
      }
      #expect(try await farm.store.state("j1") == .failed)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a task fails for good at the policy's number of failures`(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(maximumFailures: 1)) { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.fail(lease, worker: .anna, failure: TaskFailure(end: .media, message: "m")))
      #expect(try await farm.store.state("j1") == .failed)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a document failure fails the job now`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(2))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      let failure = TaskFailure(end: .document, message: "no such font")
      #expect(try await farm.store.fail(leases[0], worker: .anna, failure: failure))
      #expect(
        try await farm.store.job(JobID("j1"))?.failure == JobFailure(reason: .task, message: "no such font", task: 0))
      let tasks = try await farm.store.tasks(of: JobID("j1"))
      #expect(tasks.map(\.state) == [.failed, .waiting, .waiting])
      #expect(
        tasks[0].past == [Attempt(epoch: 1, worker: .anna, end: .document, message: "no such font")])
      #expect(tasks[1].attempts.isEmpty)
      #expect(tasks[0].failedOn.isEmpty)
      #expect(
        try await farm.store.renew(worker: .anna, leases: [leases[1]], done: 1) == [leases[1]])
      #expect(try await farm.store.publish(leases[1], worker: .anna, result: content(1)) == .stale)
    }
  }

  @Test(arguments: StoreKind.allCases, [AttemptEnd.released, .media, .document, .crashed])
  func `only the holder may fail a lease`(_ kind: StoreKind, end: AttemptEnd) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      let failure = TaskFailure(end: end, message: "m")
      #expect(try await !farm.store.fail(lease, worker: .bert, failure: failure))
      let past = Lease(task: lease.task, epoch: 0)
      #expect(try await !farm.store.fail(past, worker: .anna, failure: failure))
      #expect(try await farm.store.task("j1", 0).state == .running)
      #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published)
      #expect(try await !farm.store.fail(lease, worker: .anna, failure: failure))
      #expect(try await farm.store.task("j1", 0).attempts.isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a job may be failed by the coordinator`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", tasks: [.sample(.probe)]))
      let lease = try #require(try await farm.store.claimOne()).lease
      try farm.advance(.seconds(1))
      let failure = JobFailure(reason: .document, message: "clip 2 ends after its media", problems: Array("[…]\0".utf8))
      #expect(try await farm.store.fail(JobID("j1"), failure: failure))
      #expect(try await !farm.store.fail(JobID("j1"), failure: .sample))
      #expect(try await !farm.store.fail(JobID("none"), failure: .sample))
      try farm.advance(.seconds(1))
      let job = try await farm.store.job(JobID("j1"))
      #expect(job?.failure == failure)
      #expect(job?.elapsed == .seconds(1))
      #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .stale)
      #expect(try await farm.store.jobsToPlan().isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `cancelling removes the leases`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(3))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      #expect(try await farm.store.publish(leases[0], worker: .anna, result: content(1)) == .published)
      #expect(try await farm.store.cancel(JobID("j1")) == .cancelled)
      #expect(try await farm.store.tasks(of: JobID("j1")).map(\.state) == [.done, .waiting, .waiting, .waiting])
      #expect(
        try await farm.store.renew(worker: .anna, leases: [leases[1]], done: 1) == [leases[1]])
      #expect(try await farm.store.publish(leases[1], worker: .anna, result: content(1)) == .stale)
      #expect(try await farm.store.publish(leases[0], worker: .anna, result: content(1)) == .duplicate)
      #expect(try await farm.store.task("j1", 1).attempts.isEmpty)
      #expect(try await farm.store.release(worker: .anna) == 0)
      #expect(try await farm.store.claimOne() == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `cancelling returns how a job had ended`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      #expect(try await farm.store.cancel(JobID("none")) == nil)
      try await farm.store.submit(.sample("new", tasks: [.sample(.probe)]))
      #expect(try await farm.store.cancel(JobID("new")) == .cancelled)
      #expect(try await farm.store.cancel(JobID("new")) == .cancelled)
      try await farm.store.submit(.sample("failed"))
      #expect(try await farm.store.fail(JobID("failed"), failure: .sample))
      #expect(try await farm.store.cancel(JobID("failed")) == .failed)
      try await farm.store.submit(.sample("done"))
      let tasks: [NewTask] = [.sample(.video, cached: content(1)), .sample(.stitch, cached: content(2))]
      #expect(try await farm.store.plan(JobID("done"), build: "b1", tasks: tasks))
      #expect(try await farm.store.cancel(JobID("done")) == .done)
      #expect(try await farm.store.job(JobID("done"))?.output == content(2))
    }
  }

  /// Each way of losing a lease makes one attempt, and only some ways are counted.
  @Test(arguments: StoreKind.allCases)
  func `every attempt is kept and those of media, crashes and hangs are counted`(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(hang: .seconds(60), maximumFailures: 9)) { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      func claim() async throws -> Lease {
        try farm.advance(.seconds(60))
        return try #require(try await farm.store.claimOne()).lease
      }
      func fail(_ end: AttemptEnd, _ message: String, process: ProcessEnd? = nil) async throws {
        let failure = TaskFailure(end: end, message: message, process: process)
        let lease = try await claim()
        try farm.advance(.milliseconds(250))
        #expect(try await farm.store.fail(lease, worker: .anna, failure: failure))
      }
      try await fail(.released, "disk full")
      try await fail(.media, "bad packet", process: .sample)
      try await fail(.crashed, "signal 9", process: .sample)
      let hung = try await claim()
      for _ in 0..<6 {
        try farm.advance(.seconds(10))
        #expect(try await farm.store.lost(hung, of: .anna).isEmpty)
      }
      #expect(try await farm.store.expire() == [hung])
      let late = try await claim()
      try farm.advance(.seconds(20))
      #expect(try await farm.store.expire() == [late])
      _ = try await claim()
      #expect(try await farm.store.release(worker: .anna) == 1)
      try await fail(.document, "no such font")
      let attempts = try await farm.store.task("j1", 0).attempts
      #expect(attempts.map(\.epoch) == Array(1...7))
      #expect(attempts.map(\.end) == [.released, .media, .crashed, .hung, .released, .released, .document])
      #expect(
        attempts.map(\.message) == [
          "disk full", "bad packet", "signal 9", "worker anna made no progress for too long",
          "the lease of worker anna ran out", "shutdown of anna", "no such font",
        ])
      #expect(attempts.map(\.process) == [nil, .sample, .sample, nil, nil, nil, nil])
      let quick = Duration.milliseconds(250)
      #expect(attempts.map(\.ran) == [quick, quick, quick, .seconds(60), .seconds(20), .zero, quick])
      #expect(try await farm.store.task("j1", 0).failedOn == [.anna, .anna, .anna])
    }
  }

  @Test(
    arguments: StoreKind.allCases,
    [
      TaskFailure(
        end: .media, message: "m",
        process: ProcessEnd(exitCode: 1, signal: 0, cpuMilliseconds: -1, peakBytes: 0, log: "")),
      TaskFailure(
        end: .media, message: "m",
        process: ProcessEnd(exitCode: 1, signal: 0, cpuMilliseconds: 0, peakBytes: -1, log: "")),
    ])
  func `a report that has no meaning is rejected`(_ kind: StoreKind, failure: TaskFailure) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      await #expect(throws: JobStoreError(.invalid, "")) {
        try await farm.store.fail(lease, worker: .anna, failure: failure)
      }
      #expect(try await farm.store.task("j1", 0).state == .running)
    }
  }

  private static let meaninglessFailures = [
    JobFailure(reason: .task, message: "m"), JobFailure(reason: .task, message: "m", task: -1),
    JobFailure(reason: .farm, message: "m", task: 0), JobFailure(reason: .document, message: "m", task: 0),
    JobFailure(reason: .farm, message: "m", problems: [0]),
    JobFailure(reason: .task, message: "m", task: 0, problems: [0]),
  ]

  @Test(arguments: StoreKind.allCases) func `a job's failure that has no meaning is rejected`(_ kind: StoreKind)
    async throws
  {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1"))
      for failure in Self.meaninglessFailures {
        await #expect(throws: JobStoreError(.invalid, ""), "\(failure)") {
          try await farm.store.fail(JobID("j1"), failure: failure)
        }
        #expect(try await farm.store.state("j1") == .probing)
      }
    }
  }
}
