import FarmModel
import Testing

@testable import Jobs

@Suite("Planning again and taking up")
struct RetryTests {
  /// Every worker's image was replaced in the midst of a job.
  @Test(arguments: StoreKind.allCases)
  func `a job whose build has left is bound anew`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", tasks: [.sample(.probe, cached: content(1))]))
      #expect(try await farm.store.plan(JobID("j1"), build: "b1", tasks: .videos(3) + [.sample(.stitch)]))
      try await farm.store.submit(.sample("j2", tasks: [.sample(.probe)]))
      try await farm.store.register(.sample(.anna, build: "b1"))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      #expect(try await farm.store.publish(leases[0], worker: .anna, result: content(2)) == .published)
      #expect(try await farm.store.disconnect(WorkerID.anna.holder) == 1)
      try await farm.store.register(.sample(.anna, session: 2, build: "b2"))
      try farm.advance(.seconds(30))
      #expect(try await farm.store.jobsToRebind().isEmpty)
      try farm.advance(.microseconds(1))
      // No worker is there now.
      #expect(try await farm.store.jobsToRebind().isEmpty)
      try await farm.store.register(.sample(.bert, build: "b2"))
      #expect(try await farm.store.jobsToRebind() == [JobID("j1")])
      _ = try await farm.store.expire()
      #expect(try await farm.store.jobsToRebind() == [JobID("j1")])
      #expect(try await farm.store.replan(JobID("j1"), reason: "lost"))
      #expect(try await !farm.store.replan(JobID("j1"), reason: "lost"))
      #expect(try await !farm.store.replan(JobID("none"), reason: "lost"))
      #expect(try await farm.store.jobsToRebind().isEmpty)
      #expect(try await farm.store.jobsToPlan() == [JobID("j1")])
      #expect(try await farm.store.tasks(of: JobID("j1")).map(\.kind) == [.probe])
      #expect(try await farm.store.lost(leases[1], of: .anna) == [leases[1]])
      let job = try await farm.store.job(JobID("j1"))
      #expect(job?.state == .probing && job?.build == nil)
      #expect(
        try await farm.store.plan(
          JobID("j1"), build: "b2", tasks: [.sample(.video, cached: content(2)), .sample(.video), .sample(.stitch)]))
      #expect(try await farm.store.summary(of: JobID("j1"))?.videos == JobSummary.Count(done: 1, total: 2))
      try await farm.store.register(.sample(.anna, session: 3, build: "b1"))
      #expect(try await farm.store.jobsToRebind().isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a job whose workers are there is not bound anew`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      try farm.advance(.seconds(60))
      try await farm.store.register([.sample(.anna, build: "b1"), .sample(.bert, build: "b2")])
      #expect(try await farm.store.jobsToRebind().isEmpty)
      // Nobody else is there: it waits for its build.
      try farm.advance(.seconds(60))
      #expect(try await farm.store.jobsToRebind().isEmpty)
      try await farm.store.register(.sample(.bert, build: "b2"))
      #expect(try await farm.store.jobsToRebind() == [JobID("j1")])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a failed job is taken up where it stopped`(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(maximumFailures: 2)) { farm in
      try await farm.store.submit(.sample("j1", tasks: [.sample(.probe, 1), .sample(.probe, 2)]))
      let probes = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      #expect(try await farm.store.publish(probes[0], worker: .anna, result: content(1)) == .published)
      let failure = TaskFailure(end: .media, message: "bad packet")
      #expect(try await farm.store.fail(probes[1], worker: .anna, failure: failure))
      try farm.advance(.seconds(1))
      let second = try #require(try await farm.store.claimOne(.bert)).lease
      #expect(try await farm.store.fail(second, worker: .bert, failure: failure))
      #expect(try await farm.store.state("j1") == .failed)
      try farm.advance(.seconds(100))

      #expect(try await farm.store.retry(JobID("j1")) == .probing)
      let job = try #require(try await farm.store.job(JobID("j1")))
      #expect(job.state == .probing && job.failure == nil && job.elapsed == .seconds(101))
      var tasks = try await farm.store.tasks(of: JobID("j1"))
      #expect(tasks.map(\.state) == [.done, .ready])
      #expect(tasks[1].retriedAt == 2 && tasks[1].failedOn.isEmpty)
      #expect(tasks[1].attempts.map(\.worker) == [.anna, .bert])
      // Anna may have it at once, and its failures are counted anew.
      let third = try #require(try await farm.store.claimOne(.anna)).lease
      #expect(third.epoch == 3)
      #expect(try await farm.store.fail(third, worker: .anna, failure: failure))
      #expect(try await farm.store.state("j1") == .probing)
      tasks = try await farm.store.tasks(of: JobID("j1"))
      #expect(tasks[1].failedOn == [.anna])
      try farm.advance(.seconds(1))
      let fourth = try #require(try await farm.store.claimOne(.bert)).lease
      #expect(try await farm.store.publish(fourth, worker: .bert, result: content(2)) == .published)
      #expect(try await farm.store.jobsToPlan() == [JobID("j1")])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a rendered job is taken up with its probe tasks alone`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", priority: 1, tasks: [.sample(.probe, cached: content(1))]))
      #expect(try await farm.store.plan(JobID("j1"), build: "b1", tasks: .videos(2) + [.sample(.stitch)]))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      #expect(try await farm.store.publish(leases[0], worker: .anna, result: content(2)) == .published)
      #expect(try await farm.store.cancel(JobID("j1")) == .cancelled)
      #expect(try await farm.store.retry(JobID("j1")) == .probing)
      #expect(try await farm.store.tasks(of: JobID("j1")).map(\.kind) == [.probe])
      #expect(try await farm.store.jobsToPlan() == [JobID("j1")])
      #expect(try await farm.store.summary(of: JobID("j1"))?.work == JobSummary.Count())
      try await farm.store.submitRendering("j2", tasks: .videos(1))
      #expect(try await farm.store.plan(JobID("j1"), build: "b1", tasks: .videos(1) + [.sample(.stitch)]))
      // Epochs count anew, but a lease of the earlier plan is not held.
      #expect(try await farm.store.publish(leases[1], worker: .anna, result: content(2)) == .stale)
      #expect(try await farm.store.claim(worker: .bert, build: "b1", limit: 2).map(\.name) == ["j1/1", "j2/0"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `probe tasks whose results are lost are ready again`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let job = JobID("j1")
      try await farm.store.submit(
        .sample("j1", tasks: [.sample(.probe, 1, cached: content(1)), .sample(.probe, 2), .sample(.probe, 3)]))
      let probes = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      #expect(try await farm.store.publish(probes[0], worker: .anna, result: content(2)) == .published)
      // The last one runs.
      #expect(try await farm.store.reprobe(job, tasks: [0, 2, 9]) == 1)
      #expect(try await farm.store.publish(probes[1], worker: .anna, result: content(3)) == .published)
      #expect(try await farm.store.reprobe(job, tasks: [1, 1]) == 1)
      #expect(try await farm.store.summary(of: job)?.probes == JobSummary.Count(done: 1, total: 3))
      #expect(try await farm.store.jobsToPlan().isEmpty)
      let tasks = try await farm.store.tasks(of: job)
      #expect(tasks.map(\.state) == [.ready, .ready, .done])
      #expect(tasks.map(\.result) == [nil, nil, content(3)] && !tasks[0].isCached && tasks[1].publisher == nil)
      // The earlier lease has published, and does not publish once more.
      #expect(try await farm.store.publish(probes[0], worker: .anna, result: content(2)) == .stale)
      let again = try await farm.store.claim(worker: .bert, build: "b1", limit: 3).map(\.lease)
      #expect(again.map(\.epoch) == [1, 2])
      for lease in again {
        #expect(try await farm.store.publish(lease, worker: .bert, result: content(4)) == .published)
      }
      #expect(try await farm.store.jobsToPlan() == [job])
      #expect(try await farm.store.plan(job, build: "b1", tasks: .videos(1) + [.sample(.stitch)]))
      #expect(try await farm.store.reprobe(job, tasks: [0]) == 0)
      #expect(try await farm.store.reprobe(JobID("none"), tasks: [0]) == 0)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `only a job that failed or was cancelled is taken up`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      #expect(try await farm.store.retry(JobID("none")) == nil)
      try await farm.store.submit(.sample("new"))
      #expect(try await farm.store.retry(JobID("new")) == .probing)
      #expect(try await farm.store.jobsToPlan() == [JobID("new")])
      try await farm.store.submitRendering("running", tasks: .videos(1))
      #expect(try await farm.store.retry(JobID("running")) == .rendering)
      try await farm.store.submit(.sample("done"))
      let tasks: [NewTask] = [.sample(.video, cached: content(1)), .sample(.stitch, cached: content(2))]
      #expect(try await farm.store.plan(JobID("done"), build: "b1", tasks: tasks))
      #expect(try await farm.store.retry(JobID("done")) == .done)
      try await farm.store.submit(.sample("check", purpose: .inspection))
      #expect(try await farm.store.cancel(JobID("check")) == .cancelled)
      #expect(try await farm.store.retry(JobID("check")) == .cancelled)
    }
  }

  /// A drain costs nothing: ten shutdowns during one task neither fail it nor fill the database.
  @Test(arguments: StoreKind.allCases)
  func `released attempts are never counted and only the last are kept`(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(keptReleases: 3, maximumFailures: 2)) { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      for epoch in 1...12 as ClosedRange<Int64> {
        try farm.advance(.seconds(30))
        let lease = try #require(try await farm.store.claimOne()).lease
        if epoch == 6 {
          #expect(try await farm.store.fail(lease, worker: .anna, failure: TaskFailure(end: .media, message: "m")))
        } else if epoch.isMultiple(of: 2) {
          try farm.advance(.seconds(15))
          #expect(try await farm.store.expire() == [lease])
        } else {
          let failure = TaskFailure(end: .released, message: "shutdown")
          #expect(try await farm.store.fail(lease, worker: .anna, failure: failure))
        }
      }
      let task = try await farm.store.task("j1", 0)
      #expect(task.state == .ready)
      #expect(task.attempts.map(\.epoch) == [6, 10, 11, 12])
      #expect(task.failedOn == [.anna])
    }
  }
}
