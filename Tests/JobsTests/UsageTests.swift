import FarmModel
import Testing

@testable import Jobs

@Suite("What attempts took", .timeLimit(.minutes(10)))
struct UsageTests {
  @Test(arguments: StoreKind.allCases)
  func `what the attempts at a job's tasks took is kept, by attempt and by worker`(kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await store.register([.sample(.anna, name: "studio 1"), .sample(.bert, name: "studio 2")])
      try await store.submitRendering("j1", tasks: [.sample(.video), .sample(.audio)])
      let lost = try #require(try await store.claim(worker: .anna, build: "b1", limit: 1).first).lease
      try farm.advance(.milliseconds(1_250))
      let failure = TaskFailure(end: .media, message: "bad packet", usage: .sample(1))
      #expect(try await store.fail(lost, worker: .anna, failure: failure))
      try farm.advance(.seconds(70))
      let grants = try await store.claim(worker: .bert, build: "b1", limit: 2)
      try farm.advance(.milliseconds(3))
      for (number, grant) in grants.enumerated() {
        let usage = AttemptUsage.sample(Int64(number) + 2)
        let outcome = try await store.publish(
          grant.lease, holder: WorkerID.bert.holder, result: content(number), usage: usage)
        #expect(outcome == .published)
      }
      let tasks = try await store.tasks(of: JobID("j1"))
      let job = try #require(try await store.job(JobID("j1")))
      #expect(tasks[Int(lost.task.ordinal)].attempts.map(\.usage) == [.sample(1)])
      #expect(
        tasks[Int(lost.task.ordinal)].attempts.map { $0.endedAt.map { $0 - job.submittedAt } }
          == [.milliseconds(1_250)])
      for (number, grant) in grants.enumerated() {
        let publisher = try #require(tasks[Int(grant.lease.task.ordinal)].publisher)
        #expect(publisher.usage == .sample(Int64(number) + 2))
        #expect(publisher.publishedAt == job.submittedAt + .milliseconds(71_253))
      }
      let anna = WorkerUsage(worker: .anna, workerName: "studio 1", attempts: 1, usage: .sample(1))
      let bert = WorkerUsage(worker: .bert, workerName: "studio 2", attempts: 2, usage: .sample(2) + .sample(3))
      #expect(try await store.usage(of: JobID("j1")) == [anna, bert])
      #expect(bert.usage.peakBytes == AttemptUsage.sample(3).peakBytes, "the higher one")
      let events = try #require(try await store.events(after: nil, limit: 100))
      #expect(
        events.filter { $0.kind == .taskFailed || $0.kind == .taskDone }.map(\.phases)
          == [1, 2, 3].map { AttemptUsage.sample($0).phases })
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a worker that does not say what an attempt took is no reason to refuse it`(kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await store.submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await store.claimOne()).lease
      #expect(try await store.publish(lease, worker: .anna, result: content(1)) == .published)
      let task = try await store.task("j1", 0)
      #expect(task.publisher != nil && task.publisher?.usage == nil)
      #expect(try await store.usage(of: JobID("j1")).isEmpty)
      #expect(try await store.usage(of: JobID("none")).isEmpty)
      let events = try #require(try await store.events(after: nil, limit: 100))
      #expect(events.last { $0.kind == .taskDone }?.phases == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `numbers below 0 are refused, and sums end at the highest number`(kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await store.submitRendering("j1", tasks: .videos(2))
      let leases = try await store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      var usage = AttemptUsage.sample(1)
      usage.cpu = .microseconds(-1)
      await #expect(throws: JobStoreError(.invalid, "")) {
        try await store.publish(leases[0], holder: WorkerID.anna.holder, result: content(1), usage: usage)
      }
      usage = .sample(1)
      usage.fetchedBytes = .max
      for lease in leases {
        let failure = TaskFailure(end: .released, message: "disk full", usage: usage)
        #expect(try await store.fail(lease, worker: .anna, failure: failure))
      }
      let found = try await store.usage(of: JobID("j1"))
      #expect(found.map(\.attempts) == [2] && found[0].usage.fetchedBytes == .max)
      #expect(found[0].usage.render == AttemptUsage.sample(1).render * 2)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a task says why its segment starts where it does, and how much of the film it makes`(
    kind: StoreKind
  ) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: [.sample(.video, 7), .sample(.audio)])
      let tasks = try await farm.store.tasks(of: JobID("j1"))
      #expect(tasks.map(\.boundary) == ["boundary 7\u{FFFD}", "", ""])
      #expect(tasks.map(\.duration) == [.microseconds(4_004_000), .zero, .zero])
    }
  }
}
