import Digest
import FarmModel
import Testing

@testable import Jobs

@Suite("Measuring before a plan")
struct MeasuringTests {
  private static let job = JobID("j1")

  @Test(arguments: StoreKind.allCases)
  func `a measured job is planned when its measure tasks are done`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await store.submit(.sample("j1", tasks: [.sample(.probe, cached: content(1))]))
      #expect(try await store.measure(Self.job, build: "b1", tasks: [.sample(.measure, 1), .sample(.measure, 2)]))
      #expect(try await !store.measure(Self.job, build: "b1", tasks: [.sample(.measure)]))
      #expect(try await store.job(Self.job)?.build == "b1")
      #expect(try await store.jobsToPlan().isEmpty)
      await #expect(throws: JobStoreError(.invalid, "")) {
        try await store.plan(Self.job, build: "b1", tasks: .videos(1) + [.sample(.stitch)])
      }
      // Workers of another build get none of them.
      #expect(try await store.claimOne(.bert, build: "b2") == nil)
      for number in 1...2 {
        let grant = try #require(try await store.claimOne(build: "b1"))
        #expect(grant.kind == .measure)
        #expect(try await store.publish(grant.lease, worker: .anna, result: content(10 + number)) == .published)
      }
      #expect(try await store.summary(of: Self.job)?.measures == JobSummary.Count(done: 2, total: 2))
      #expect(try await store.jobsToPlan() == [Self.job])
      #expect(try await store.state("j1") == .measuring)
      // The results belong to the build.
      #expect(try await !store.plan(Self.job, build: "b2", tasks: .videos(1) + [.sample(.stitch)]))
      #expect(try await store.plan(Self.job, build: "b1", tasks: .videos(2) + [.sample(.audio), .sample(.stitch)]))
      let tasks = try await store.tasks(of: Self.job)
      #expect(tasks.map(\.kind) == [.probe, .measure, .measure, .video, .video, .audio, .stitch])
      #expect(tasks.map(\.id.ordinal) == Array(0..<7))
      #expect(try await Set(store.contentsInUse(keepingResults: .zero)) == Set([1, 11, 12].map { digest($0) }))
      for number in 1...4 {
        let grant = try #require(try await store.claimOne(build: "b1"))
        // The stitch task reads pieces, and no measurements.
        if grant.kind == .stitch { #expect(grant.inputs.map(\.digest) == (1...3).map { digest(20 + $0) }) }
        let place = Int(grant.lease.task.ordinal) - 2
        #expect(try await store.publish(grant.lease, worker: .anna, result: content(20 + place)) == .published)
        #expect(number < 4 || grant.kind == .stitch)
      }
      #expect(try await store.state("j1") == .done)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a job whose measurements are known can be planned at once`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1"))
      #expect(try await farm.store.measure(Self.job, build: "b1", tasks: [.sample(.measure, cached: content(1))]))
      #expect(try await farm.store.jobsToPlan() == [Self.job])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a measured job that is bound anew or taken up keeps its probe tasks alone`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await store.submit(.sample("j1", tasks: [.sample(.probe, cached: content(1))]))
      #expect(try await store.measure(Self.job, build: "b1", tasks: [.sample(.measure, 1), .sample(.measure, 2)]))
      let lease = try #require(try await store.claimOne()).lease
      try await store.register(.sample(.bert, build: "b2"))
      try farm.advance(.seconds(31))
      try await store.register(.sample(.bert, build: "b2"))
      #expect(try await store.jobsToRebind() == [Self.job])
      #expect(try await store.replan(Self.job, reason: "lost"))
      #expect(try await store.lost(lease, of: .anna) == [lease])
      #expect(try await store.tasks(of: Self.job).map(\.kind) == [.probe])
      #expect(try await store.summary(of: Self.job)?.measures == JobSummary.Count())
      #expect(try await store.jobsToPlan() == [Self.job])
      #expect(try await store.measure(Self.job, build: "b2", tasks: [.sample(.measure, 1)]))
      #expect(try await store.cancel(Self.job) == .cancelled)
      #expect(try await store.retry(Self.job) == .probing)
      #expect(try await store.tasks(of: Self.job).map(\.kind) == [.probe])
      #expect(try await store.job(Self.job)?.build == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a measure task that fails for good fails the job`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1"))
      #expect(try await farm.store.measure(Self.job, build: "b1", tasks: [.sample(.measure)]))
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(
        try await farm.store.fail(lease, worker: .anna, failure: TaskFailure(end: .document, message: "unreadable")))
      #expect(try await farm.store.job(Self.job)?.failure?.reason == .task)
    }
  }

  @Test(
    arguments: StoreKind.allCases,
    [[], [.sample(.measure), .sample(.video)], [.sample(.stitch)]] as [[NewTask]])
  func `measuring that has no meaning is rejected`(_ kind: StoreKind, tasks: [NewTask]) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1"))
      await #expect(throws: JobStoreError(.invalid, "")) {
        try await farm.store.measure(Self.job, build: "b1", tasks: tasks)
      }
      #expect(try await farm.store.state("j1") == .probing)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `an inspection is never measured`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", purpose: .inspection))
      #expect(try await !farm.store.measure(Self.job, build: "b1", tasks: [.sample(.measure)]))
    }
  }
}
