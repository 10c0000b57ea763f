import FarmModel
import Testing

@testable import Jobs
@testable import PostgresJobs

@Suite("Reading jobs and workers")
struct ReadingTests {
  @Test(arguments: StoreKind.allCases)
  func `jobs are listed newest first`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      for id in ["c", "a", "b"] { try await farm.store.submit(.sample(id)) }
      #expect(try await farm.store.jobs(.render, limit: 9).map(\.id.description) == ["b", "a", "c"])
      #expect(try await farm.store.jobs(.render, limit: 2).map(\.id.description) == ["b", "a"])
      #expect(try await farm.store.jobs(.render, limit: 0).isEmpty)
      #expect(try await farm.store.job(JobID("d")) == nil)
      #expect(try await farm.store.tasks(of: JobID("d")).isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `workers are those registered within the lease time`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.register(.sample(.anna, name: "z"))
      try farm.advance(.seconds(10))
      try await farm.store.register(.sample(.carl, name: "host"))
      try await farm.store.register(.sample(.bert, name: "host"))
      try await farm.store.submitRendering("j1", tasks: .videos(2))
      #expect(try await farm.store.claim(worker: .bert, build: "b1", limit: 2).count == 2)
      var workers = try await farm.store.workers()
      #expect(workers.map(\.id) == [.bert, .carl, .anna])
      #expect(workers.map(\.busy) == [2, 0, 0])
      #expect(workers.map(\.connected) == [.zero, .zero, .seconds(10)])
      try farm.advance(.seconds(5))
      try await farm.store.register(.sample(.bert, name: "host", slots: 3))
      #expect(try await farm.store.workers().count == 3)
      try farm.advance(.microseconds(1))
      workers = try await farm.store.workers()
      #expect(workers.map(\.id) == [.bert, .carl])
      #expect(workers.map(\.slots) == [3, 2])
      #expect(try await farm.store.disconnect(WorkerID.bert.holder) == 2)
      #expect(try await farm.store.workers().map(\.id) == [.carl])
    }
  }

  @Test(arguments: StoreKind.allCases, [false, true])
  func `a worker that comes back is connected anew`(_ kind: StoreKind, expired: Bool) async throws {
    try await kind.run { farm in
      let record = WorkerRecord.sample(.anna)
      try await farm.store.register(record)
      try farm.advance(.seconds(16))
      if expired { #expect(try await farm.store.expire().isEmpty) }
      try await farm.store.register(record)
      try farm.advance(.seconds(1))
      #expect(try await farm.store.workers().map(\.connected) == [.seconds(1)])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a new session is connected anew`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.register(.sample(.anna))
      try farm.advance(.seconds(3))
      try await farm.store.register(.sample(.anna))
      #expect(try await farm.store.workers().map(\.connected) == [.seconds(3)])
      try await farm.store.register(.sample(.anna, session: 2))
      var anew = WorkerRecord.sample(.anna, session: 2)
      anew.connectedAt = .seconds(1_767_225_603)
      #expect(try await farm.store.workers() == [anew])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `jobs of each purpose are listed apart`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("r"))
      try await farm.store.submit(.sample("i", purpose: .inspection))
      try await farm.store.submit(.sample("s"))
      #expect(try await farm.store.jobs(.render, limit: 9).map(\.id.description) == ["s", "r"])
      #expect(try await farm.store.jobs(.inspection, limit: 9).map(\.id.description) == ["i"])
      #expect(try await farm.store.jobs(.render, limit: 1).map(\.id.description) == ["s"])
      #expect(try await farm.store.job(JobID("i"))?.purpose == .inspection)
    }
  }

  @Test(.timeLimit(.minutes(10)), arguments: StoreKind.allCases)
  func `every stream gets hints`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      var first = farm.store.changes().makeAsyncIterator()
      var second = farm.store.changes().makeAsyncIterator()
      // There is also one hint when the store begins to listen, so one proves nothing; three do.
      for number in 0..<3 {
        try await farm.store.submit(.sample("j\(number)"))
        #expect(await first.next() != nil)
        #expect(await second.next() != nil)
      }
    }
  }

  @Test(.timeLimit(.minutes(10)), .database)
  func `closing ends the streams and rejects what follows`() async throws {
    try await TestDatabase.with { database in
      let postgres = try await PostgresJobStore.connect(url: database.url)
      let memory = MemoryJobStore { .zero }
      let streams = (postgres.changes(), memory.changes())
      await postgres.close()
      await memory.close()
      for await _ in streams.0 {}
      for await _ in streams.1 {}
      for await _ in postgres.changes() { Issue.record("a closed store sent a hint") }
      await #expect(throws: JobStoreError(.closed, "")) { try await postgres.jobs(.render, limit: 1) }
      await #expect(throws: JobStoreError(.closed, "")) { try await memory.jobs(.render, limit: 1) }
    }
  }
}

/// What is known of how long the work at hand takes.
@Suite struct PacedWorkTests {
  @Test(arguments: StoreKind.allCases)
  func `jobs that are to be planned are counted, unless they wait`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      func unplanned(_ pool: String? = nil) async throws -> Int64 { try await store.counts(ofPool: pool).unplanned }
      // Its media are known already, and those of the other are not.
      try await store.submit(.sample("j1", tasks: []))
      try await store.submit(.sample("j2", tasks: [.sample(.probe, 1)]))
      try await store.submit(.sample("i1", purpose: .inspection, tasks: [.sample(.probe, 2)]))
      #expect(try await unplanned() == 1)
      #expect(try await unplanned("") == 1)
      #expect(try await unplanned("night") == 0)
      _ = try await store.pause(JobID("j1"), stopping: false)
      #expect(try await unplanned() == 0)
      _ = try await store.resume(JobID("j1"))
      #expect(try await unplanned() == 1)
      #expect(try await store.plan(JobID("j1"), build: "b1", tasks: [.sample(.video), .sample(.stitch)]))
      #expect(try await unplanned() == 0)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `the work of tasks that are ready or run is counted at the job's median pace`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let costs = [7, 2.5, 1, 1, 1, 0]
      try await farm.store.submitRendering("j1", tasks: costs.map { .sample(.video, 0, cost: $0) })
      // An inspection, which is counted by itself.
      try await farm.store.submit(.sample("i1", purpose: .inspection, tasks: [.sample(.probe, 1), .sample(.probe, 2)]))
      #expect(try await farm.store.counts().inspections == [.ready: 2])
      _ = try await farm.store.cancel(JobID("i1"))
      #expect(try await farm.store.counts().inspections == [:])
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 5).map(\.lease)
      // One that has no pace yet.
      try await farm.store.submitRendering("j2", tasks: .videos(2))
      #expect(leases.map(\.task.ordinal) == [0, 1, 2, 3, 4])
      #expect(try await farm.store.counts().pacedTasks == 0)
      try farm.advance(.seconds(3))
      for lease in leases[2...] {
        #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published)
      }
      var counts = try await farm.store.counts()
      #expect(counts.pacedTasks == 2 && counts.pacedWork == 9.5 * 3_000_000)
      // Of one 30 in 100 are done, and the other is ready again.
      _ = try await farm.store.renew(worker: .anna, leases: [leases[0]], done: 30)
      let failure = TaskFailure(end: .released, message: "shutdown")
      #expect(try await farm.store.fail(leases[1], worker: .anna, failure: failure))
      try farm.advance(.seconds(4))
      counts = try await farm.store.counts()
      #expect(counts.oldestLost == .seconds(4))
      #expect(counts.pacedTasks == 2 && counts.pacedWork == (7 * 0.7 + 2.5) * 3_000_000, "\(counts.pacedWork)")
      // More than all of it.
      _ = try await farm.store.renew(worker: .anna, leases: [leases[0]], done: 200)
      #expect(try await farm.store.counts().pacedWork == 7_500_000)
      // Granted again, it waits no more.
      _ = try await farm.store.claim(worker: .bert, build: "b1", limit: 3)
      #expect(try await farm.store.counts().oldestLost == nil)
      _ = try await farm.store.cancel(JobID("j1"))
      #expect(try await farm.store.counts().pacedTasks == 0)
    }
  }
}
