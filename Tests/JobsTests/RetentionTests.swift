import FarmModel
import Testing

@testable import Jobs
@testable import PostgresJobs

@Suite("Summaries, deleting and contents")
struct RetentionTests {
  @Test(arguments: StoreKind.allCases)
  func `a summary counts tasks without the request`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", tasks: [.sample(.probe), .sample(.probe, cached: content(1))]))
      var summary = try #require(try await farm.store.summary(of: JobID("j1")))
      #expect(summary.job.request.isEmpty && summary.job.name == "film j1")
      #expect(summary.probes == JobSummary.Count(done: 1, total: 2))
      let probe = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.summary(of: JobID("j1"))?.running == 1)
      #expect(try await farm.store.publish(probe, worker: .anna, result: content(1)) == .published)
      let tasks: [NewTask] = [
        .sample(.video, 1, work: 50), .sample(.video, 2, work: 7, cached: content(2)), .sample(.video, 3, work: 30),
        .sample(.audio, work: 1_000), .sample(.stitch, work: 5_000),
      ]
      #expect(try await farm.store.plan(JobID("j1"), build: "b1", tasks: tasks))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 3).map(\.lease)
      #expect(try await farm.store.publish(leases[0], worker: .anna, result: content(3)) == .published)
      #expect(try await farm.store.lost(leases[1], of: .anna, done: 12).isEmpty)
      #expect(try await farm.store.lost(leases[2], of: .anna, done: 900).isEmpty)
      summary = try #require(try await farm.store.summary(of: JobID("j1")))
      #expect(summary.probes == JobSummary.Count(done: 2, total: 2))
      #expect(summary.videos == JobSummary.Count(done: 2, total: 3))
      #expect(summary.cachedVideos == 1)
      #expect(summary.work == JobSummary.Count(done: 69, total: 5_087))
      #expect(summary.audios == JobSummary.Count(done: 0, total: 1))
      #expect(summary.running == 2 && summary.away == 0)
      #expect(try await farm.store.disconnect(WorkerID.anna.holder) == 2)
      #expect(try await farm.store.claim(worker: .bert, build: "b1", limit: 1).count == 1)
      summary = try #require(try await farm.store.summary(of: JobID("j1")))
      #expect(summary.running == 2 && summary.away == 1)
      // What a lease reports beyond the task's work is not counted, and of two leases the one that has advanced most
      // is.
      #expect(try await farm.store.lost(leases[1], of: .anna, done: 31).isEmpty)
      #expect(try await farm.store.summary(of: JobID("j1"))?.work.done == 87)
      #expect(try await farm.store.summaries(.render, limit: 5).map(\.work.done) == [87])
      #expect(try await farm.store.summaries(.inspection, limit: 5).isEmpty)
      #expect(try await farm.store.summary(of: JobID("none")) == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `the counts are those of jobs by state, and of the tasks of those that have not ended`(_ kind: StoreKind)
    async throws
  {
    try await kind.run { farm in
      #expect(try await farm.store.counts() == StoreCounts())
      try await farm.store.submit(.sample("j1", tasks: [.sample(.probe, 1), .sample(.probe, 2, cached: content(1))]))
      try await farm.store.submit(.sample("j2", tasks: [.sample(.probe, 3)]))
      _ = try await farm.store.cancel(JobID("j2"))
      var counts = StoreCounts()
      counts.jobs = [.probing: 1, .cancelled: 1]
      counts.tasks = [.init(kind: .probe, state: .ready): 1, .init(kind: .probe, state: .done): 1]
      var found = try await farm.store.counts()
      #expect(found.oldestReady != nil)
      found.oldestReady = nil
      #expect(found == counts)
      let probe = try #require(try await farm.store.claimOne()).lease
      counts.tasks = [.init(kind: .probe, state: .running): 1, .init(kind: .probe, state: .done): 1]
      #expect(try await farm.store.counts() == counts)
      #expect(try await farm.store.publish(probe, worker: .anna, result: content(1)) == .published)
      (counts.tasks, counts.unplanned) = ([.init(kind: .probe, state: .done): 2], 1)
      #expect(try await farm.store.counts() == counts)
    }
  }

  /// A summary is one row of the job and one of each lease, however many tasks and however large a request there are.
  @Test(.database) func `a summary reads no task`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.submitRendering("j1", tasks: .videos(100))
      _ = try await store.claim(worker: .anna, build: "b1", limit: 3)
      // Without this table the summary would fail if it read it.
      let admin = try database.connect()
      try admin.script("ALTER TABLE sheaf.task RENAME TO task_away")
      #expect(try await store.summary(of: JobID("j1"))?.running == 3)
      #expect(try await store.summaries(.render, limit: 9).map(\.videos.total) == [100])
      #expect(try await store.jobsToPlan().isEmpty)
      #expect(try await store.jobsToRebind().isEmpty)
      await store.close()
    }
  }

  /// As many jobs have just ended, and the table has no statistics yet.
  @Test(.database) func `what is to plan is found among the open jobs alone`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      let admin = try database.connect()
      try admin.script(
        """
        INSERT INTO sheaf.job (id, name, priority, state, request, submitted_at, ended_at, purpose)
        SELECT 'ended-' || number, 'ended', 0, 'cancelled', '', now(), now(), 'render' FROM generate_series(1, 3000) number
        """)
      let plan = try admin.run(Statement("explained", "EXPLAIN " + Statement.jobsToPlan.text))
        .map { (fields) throws(JobStoreError) in try fields.text() }
      #expect(plan.contains { $0.contains("job_active") }, "\(plan)")
      #expect(!plan.contains { $0.contains("job_listed") }, "\(plan)")
      await store.close()
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `only a job that has ended is deleted`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", submission: "s", tasks: [.sample(.probe)]))
      #expect(try await !farm.store.delete(JobID("j1")))
      #expect(try await !farm.store.delete(JobID("none")))
      #expect(try await farm.store.cancel(JobID("j1")) == .cancelled)
      #expect(try await farm.store.delete(JobID("j1")))
      #expect(try await !farm.store.delete(JobID("j1")))
      #expect(try await farm.store.job(JobID("j1")) == nil)
      #expect(try await farm.store.tasks(of: JobID("j1")).isEmpty)
      #expect(try await farm.store.summaries(.render, limit: 9).isEmpty)
      #expect(try await farm.store.retry(JobID("j1")) == nil)
      // Its id and its submission are free again.
      try await farm.store.submit(.sample("j1", submission: "s"))
      #expect(try await farm.store.jobsToPlan() == [JobID("j1")])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `old jobs are deleted oldest first`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      for id in ["a", "b", "c", "d", "open"] { try await farm.store.submit(.sample(id)) }
      for id in ["c", "a", "d", "b"] {
        #expect(try await farm.store.cancel(JobID(id)) == .cancelled)
        try farm.advance(.seconds(10))
      }
      #expect(try await farm.store.deleteJobs(endedBefore: .seconds(40), limit: 9) == 0)
      #expect(try await farm.store.deleteJobs(endedBefore: .seconds(15), limit: 2) == 2)
      #expect(try await farm.store.jobs(.render, limit: 9).map(\.id.description) == ["open", "d", "b"])
      #expect(try await farm.store.deleteJobs(endedBefore: .seconds(15), limit: 2) == 1)
      #expect(try await farm.store.deleteJobs(endedBefore: .seconds(15), limit: 2) == 0)
      #expect(try await farm.store.deleteJobs(endedBefore: .zero, limit: 0) == 0)
      #expect(try await farm.store.jobs(.render, limit: 9).map(\.id.description) == ["open", "b"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `contents of open jobs and of new outputs are in use`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      func inUse(_ seconds: Int64 = 100) async throws -> [Int] {
        let digests = try await farm.store.contentsInUse(keepingResults: .seconds(seconds))
        return (0..<20).filter { digests.contains(digest($0)) } + (digests.count == Set(digests).count ? [] : [-1])
      }
      try await farm.store.submit(
        .sample("j1", tasks: [.sample(.probe, inputs: [content(1), content(2)], cached: content(3))]))
      try await farm.store.submit(.sample("j2", tasks: [.sample(.probe, inputs: [content(2), content(4)])]))
      #expect(try await inUse() == [1, 2, 3, 4])
      #expect(try await farm.store.cancel(JobID("j2")) == .cancelled)
      #expect(try await inUse() == [1, 2, 3])
      let tasks: [NewTask] = [.sample(.video, inputs: [content(5)], cached: content(6)), .sample(.stitch)]
      #expect(try await farm.store.plan(JobID("j1"), build: "b1", tasks: tasks))
      #expect(try await inUse() == [1, 2, 3, 5, 6])
      let stitch = try #require(try await farm.store.claimOne()).lease
      try await farm.store.markFetched(JobID("j1"))
      #expect(try await farm.store.publish(stitch, worker: .anna, result: content(7)) == .published)
      #expect(try await inUse() == [7])
      try farm.advance(.seconds(50))
      #expect(try await inUse() == [7])
      #expect(try await inUse(50).isEmpty)
      try await farm.store.markFetched(JobID("j1"))
      #expect(try await inUse().isEmpty)
      try await farm.store.markFetched(JobID("none"))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `the first content store is the farm's until it is replaced`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      var answers: [String] = []
      for (identity, replacing) in [("one", false), ("two", false), ("two", true), ("one", false)] {
        answers.append(try await farm.store.contentStore(identity, replacing: replacing))
      }
      #expect(answers == ["one", "one", "two", "two"])
    }
  }

  /// The median of many rendered tasks is found now and then only; both stores find it at the same numbers of them.
  @Test(arguments: StoreKind.allCases)
  func `the median of many tasks is found at round numbers`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(111))
      func render(_ count: Int, in time: Duration) async throws {
        let grants = try await farm.store.claim(worker: .anna, build: "b1", limit: count)
        try farm.advance(time)
        for grant in grants {
          #expect(try await farm.store.publish(grant.lease, worker: .anna, result: content(1)) == .published)
        }
      }
      try await render(46, in: .seconds(4))
      try await render(54, in: .seconds(9))
      let lease = try #require(try await farm.store.claim(worker: .anna, build: "b1", limit: 1).first).lease
      // 100 were rendered, and the median is 9 s.
      try farm.advance(.seconds(9) + .milliseconds(4_500))
      #expect(
        try await farm.store.claim(worker: .bert, build: "b1", limit: 11).map(\.lease.task.ordinal) == Array(101...110))
      for ordinal in 101...109 {
        let lease = Lease(task: TaskID(job: JobID("j1"), ordinal: Int32(ordinal)), epoch: 1)
        #expect(try await farm.store.publish(lease, worker: .bert, result: content(1)) == .published)
      }
      // The median of 109 would be 4 s.
      #expect(try await farm.store.claimOne(.carl) == nil)
      let last = Lease(task: TaskID(job: JobID("j1"), ordinal: 110), epoch: 1)
      #expect(try await farm.store.publish(last, worker: .bert, result: content(1)) == .published)
      #expect(try await farm.store.claimOne(.carl)?.lease.task == lease.task)
    }
  }
}
