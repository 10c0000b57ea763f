import FarmModel
import TestPrograms
import Testing

@testable import Jobs

@Suite("Submitting and planning")
struct SubmittingTests {
  @Test(arguments: StoreKind.allCases)
  func `a job is stored as it was submitted`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let tasks: [NewTask] = [
        .sample(.probe, 1, cost: 0.5, work: 7, inputs: [content(1), content(2, size: 1 << 40)]),
        .sample(.probe, 2, cached: content(9)),
      ]
      try await farm.store.submit(.sample("j1", priority: -3, tasks: tasks))
      try farm.advance(.milliseconds(1_500))
      let job = try await farm.store.job(JobID("j1"))
      #expect(
        job
          == Job(
            id: JobID("j1"), name: "film j1", priority: -3, state: .probing, request: [1, 0, 255],
            submittedAt: .seconds(1_767_225_600), age: .milliseconds(1_500), elapsed: .milliseconds(1_500)))
      var first = RenderTask(
        id: TaskID(job: JobID("j1"), ordinal: 0), kind: .probe, label: "label 1", state: .ready,
        payload: tasks[0].payload,
        inputs: tasks[0].inputs, fingerprint: tasks[0].fingerprint, cost: 0.5, work: 7)
      let second = RenderTask(
        id: TaskID(job: JobID("j1"), ordinal: 1), kind: .probe, label: "label 2", state: .done,
        payload: tasks[1].payload,
        inputs: [], fingerprint: tasks[1].fingerprint, cost: 1, work: 100, result: content(9),
        isCached: true)
      #expect(try await farm.store.tasks(of: JobID("j1")) == [first, second])
      first.payload = []
      #expect(try await farm.store.tasks(of: JobID("j1"), payloads: false).first == first)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a second job of the same id is rejected`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", priority: 1))
      await #expect(throws: JobStoreError(.duplicateJob, "")) { try await farm.store.submit(.sample("j1")) }
      #expect(try await farm.store.jobs(.render, limit: 10).map(\.priority) == [1])
    }
  }

  private static let meaninglessJobs = [
    NewJob.sample(""), .sample("Upper"), .sample("a b"), .sample(String(repeating: "a", count: 65)),
    .sample("j", submission: ""), .sample("j", submission: "a b"),
    .sample("j", submission: String(repeating: "a", count: 65)),
    .sample("j", tasks: [.sample(.probe, work: (1 << 40) + 1)]),
    .sample("j", tasks: [.sample(.video)]), .sample("j", tasks: [.sample(.probe, cost: .nan)]),
    .sample("j", tasks: [.sample(.probe, cost: -1)]), .sample("j", tasks: [.sample(.probe, work: -1)]),
    .sample("j", tasks: [.sample(.probe, inputs: [content(1, size: -1)])]),
    .sample("j", tasks: [.sample(.probe, cached: content(1, size: -1))]),
  ]

  @Test(arguments: StoreKind.allCases) func `a job that has no meaning is rejected`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      for job in Self.meaninglessJobs {
        await #expect(throws: JobStoreError(.invalid, ""), "\(job)") { try await farm.store.submit(job) }
      }
      let jobs = try await farm.store.jobs(.render, limit: 10)
      #expect(jobs.isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `text keeps every character but NUL`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      var job = NewJob.sample("j1")
      job.name = "Ünïcödé \u{1F3AC}\0'; DROP TABLE sheaf.job; --"
      try await farm.store.submit(job)
      #expect(
        try await farm.store.job(JobID("j1"))?.name == "Ünïcödé \u{1F3AC}\u{FFFD}'; DROP TABLE sheaf.job; --")
      #expect(try await farm.store.job(JobID("j1\0x")) == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `payloads of megabytes come back whole`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      var large = NewTask.sample(.video)
      large.payload = TestBytes.varied(3_000_000)
      try await farm.store.submitRendering("j1", tasks: [large, large, large])
      #expect(try await farm.store.claimOne()?.payload == large.payload)
      #expect(try await farm.store.task("j1", 2).payload == large.payload)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `jobs can be planned once their probe tasks are done`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", tasks: [.sample(.probe)]))
      try await farm.store.submit(.sample("j2", priority: 5, tasks: [.sample(.probe, cached: content(1))]))
      try await farm.store.submit(.sample("j0"))
      #expect(try await farm.store.jobsToPlan() == [JobID("j2"), JobID("j0")])
      let grants = try await farm.store.claim(worker: .anna, build: "b1", limit: 9)
      let grant = try #require(grants.first)
      #expect(grants.count == 1)
      #expect(try await farm.store.publish(grant.lease, worker: .anna, result: content(2)) == .published)
      #expect(try await farm.store.jobsToPlan() == [JobID("j1"), JobID("j2"), JobID("j0")])
      #expect(try await farm.store.cancel(JobID("j0")) == .cancelled)
      #expect(try await farm.store.plan(JobID("j2"), build: "b1", tasks: [.sample(.video), .sample(.stitch)]))
      #expect(try await farm.store.jobsToPlan() == [JobID("j1")])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a plan's tasks are numbered after the probe tasks`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", tasks: [.sample(.probe, cached: content(1))]))
      let tasks: [NewTask] = [
        .sample(.video, 1), .sample(.video, 2, cached: content(3)), .sample(.audio), .sample(.stitch),
      ]
      #expect(try await farm.store.plan(JobID("j1"), build: "b1", tasks: tasks))
      let planned = try await farm.store.tasks(of: JobID("j1"))
      #expect(planned.map(\.id.ordinal) == [0, 1, 2, 3, 4])
      #expect(planned.map(\.kind) == [.probe, .video, .video, .audio, .stitch])
      #expect(planned.map(\.state) == [.done, .ready, .done, .ready, .waiting])
      let job = try await farm.store.job(JobID("j1"))
      #expect(job?.state == .rendering)
      #expect(job?.build == "b1")
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `only the first plan counts`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(2))
      #expect(try await !farm.store.plan(JobID("j1"), build: "b1", tasks: .videos(1) + [.sample(.stitch)]))
      #expect(try await farm.store.tasks(of: JobID("j1")).count == 3)
      #expect(try await !farm.store.plan(JobID("none"), build: "b1", tasks: .videos(1) + [.sample(.stitch)]))
      try await farm.store.submit(.sample("j2"))
      #expect(try await farm.store.cancel(JobID("j2")) == .cancelled)
      #expect(try await !farm.store.plan(JobID("j2"), build: "b1", tasks: .videos(1) + [.sample(.stitch)]))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a plan waits for the probe tasks, whatever their build`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", tasks: [.sample(.probe)]))
      let grant = try #require(try await farm.store.claimOne(build: "b1"))
      let tasks = .videos(1) + [NewTask.sample(.stitch)]
      await #expect(throws: JobStoreError(.invalid, "")) {
        try await farm.store.plan(JobID("j1"), build: "b2", tasks: tasks)
      }
      #expect(try await farm.store.publish(grant.lease, worker: .anna, result: content(1)) == .published)
      #expect(try await farm.store.plan(JobID("j1"), build: "b2", tasks: tasks))
    }
  }

  /// A client that lost the answer submits again.
  @Test(arguments: StoreKind.allCases)
  func `a submission that is repeated is one job`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      var ids: [JobID] = []
      for (id, submission) in [("j1", "s-1"), ("j2", "s-1"), ("j1", "s-1"), ("j3", "s-2"), ("j4", nil)] {
        ids.append(try await farm.store.submit(.sample(id, submission: submission, tasks: [.sample(.probe)])))
      }
      #expect(ids.map(\.description) == ["j1", "j1", "j1", "j3", "j4"])
      await #expect(throws: JobStoreError(.duplicateJob, "")) {
        try await farm.store.submit(.sample("j4", submission: "s-3"))
      }
      #expect(try await farm.store.jobs(.render, limit: 9).map(\.id.description) == ["j4", "j3", "j1"])
      #expect(try await farm.store.tasks(of: JobID("j1")).count == 1)
    }
  }

  private static let meaninglessPlans: [[NewTask]] = [
    [], [.sample(.stitch), .sample(.stitch)], [.sample(.video)], [.sample(.stitch), .sample(.video)],
    [.sample(.audio), .sample(.video), .sample(.stitch)],
    [.sample(.video), .sample(.audio), .sample(.video), .sample(.stitch)],
    [.sample(.audio), .sample(.stitch), .sample(.audio), .sample(.stitch)],
    [.sample(.probe), .sample(.stitch)], [.sample(.video), .sample(.stitch), .sample(.stitch)],
  ]

  @Test(arguments: StoreKind.allCases) func `a plan that has no meaning is rejected`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1"))
      for tasks in Self.meaninglessPlans {
        await #expect(throws: JobStoreError(.invalid, ""), "\(tasks)") {
          try await farm.store.plan(JobID("j1"), build: "b1", tasks: tasks)
        }
        #expect(try await farm.store.tasks(of: JobID("j1")).isEmpty)
        #expect(try await farm.store.state("j1") == .probing)
      }
    }
  }

  /// As of a film that is copied.
  @Test(arguments: StoreKind.allCases)
  func `a plan may be a stitch task alone`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1"))
      #expect(try await farm.store.plan(JobID("j1"), build: "b1", tasks: [.sample(.stitch, work: 70)]))
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published)
      #expect(try await farm.store.state("j1") == .done)
      #expect(try await farm.store.summary(of: JobID("j1"))?.work == JobSummary.Count(done: 70, total: 70))
    }
  }

  /// The work of audio is its samples: a day of them at 192 kHz.
  @Test(arguments: StoreKind.allCases)
  func `a plan may have a day of audio`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1"))
      var audio = NewTask.sample(.audio)
      audio.work = 86_400 * 192_000
      #expect(try await farm.store.plan(JobID("j1"), build: "b1", tasks: [audio, .sample(.stitch)]))
      #expect(try await farm.store.tasks(of: JobID("j1"))[0].work == audio.work)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a plan of cached pieces is ready to stitch`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering(
        "j1", tasks: [.sample(.video, cached: content(1)), .sample(.audio, cached: content(2, size: 3))])
      let grant = try #require(try await farm.store.claimOne())
      #expect(grant.kind == .stitch)
      #expect(grant.inputs == [content(1), content(2, size: 3)])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a stitch task reads its own inputs after the pieces`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1"))
      let stitch = NewTask.sample(.stitch, inputs: [content(5), content(1)])
      let pieces: [NewTask] = [.sample(.video, cached: content(1)), .sample(.audio, cached: content(2, size: 3))]
      #expect(try await farm.store.plan(JobID("j1"), build: "b1", tasks: pieces + [stitch]))
      let grant = try #require(try await farm.store.claimOne())
      #expect(grant.kind == .stitch)
      #expect(grant.inputs == [content(1), content(2, size: 3), content(5), content(1)])
      #expect(try await farm.store.task("j1", 2).inputs == stitch.inputs)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a cached output ends the job at once`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1"))
      let tasks: [NewTask] = [.sample(.video), .sample(.stitch, cached: content(7))]
      #expect(try await farm.store.plan(JobID("j1"), build: "b1", tasks: tasks))
      let job = try await farm.store.job(JobID("j1"))
      #expect(job?.state == .done)
      #expect(job?.output == content(7))
      #expect(try await farm.store.claimOne() == nil)
      #expect(try await farm.store.task("j1", 0).state == .waiting)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `an inspection is never planned`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("i1", purpose: .inspection, tasks: [.sample(.probe)]))
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published)
      #expect(try await farm.store.jobsToPlan().isEmpty)
      #expect(try await !farm.store.plan(JobID("i1"), build: "b1", tasks: .videos(1) + [.sample(.stitch)]))
      #expect(try await farm.store.state("i1") == .probing)
      #expect(try await farm.store.cancel(JobID("i1")) == .cancelled)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `inspections that have not ended are found by their age`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      for id in ["i3", "i1"] {
        try await farm.store.submit(.sample(id, purpose: .inspection, tasks: [.sample(.probe)]))
      }
      try await farm.store.submit(.sample("r1", tasks: [.sample(.probe)]))
      try await farm.store.submit(.sample("i2", purpose: .inspection))
      #expect(try await farm.store.cancel(JobID("i2")) == .cancelled)
      try farm.advance(.seconds(10))
      try await farm.store.submit(.sample("i4", purpose: .inspection, priority: 9))
      #expect(try await farm.store.inspections(olderThan: .seconds(10)).isEmpty)
      try farm.advance(.microseconds(1))
      #expect(try await farm.store.inspections(olderThan: .seconds(10)) == [JobID("i3"), JobID("i1")])
      #expect(try await farm.store.inspections(olderThan: .zero) == [JobID("i3"), JobID("i1"), JobID("i4")])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `ten thousand tasks are planned and read`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(10_000))
      let tasks = try await farm.store.tasks(of: JobID("j1"), payloads: false)
      #expect(tasks.map(\.id.ordinal) == Array(0...10_000))
      let grant = try #require(try await farm.store.claimOne())
      #expect(grant.payload == Array("video 0".utf8))
      #expect(try await farm.store.cancel(JobID("j1")) == .cancelled)
      #expect(try await farm.store.tasks(of: JobID("j1"), payloads: false).allSatisfy { $0.state == .waiting })
    }
  }
}
