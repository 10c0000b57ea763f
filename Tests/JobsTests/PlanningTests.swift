import FarmModel
import Testing

@testable import Jobs

@Suite("Attempts to plan a job")
struct PlanningTests {
  private static let job = JobID("j1")

  private func submit(_ farm: Farm) async throws {
    try await farm.store.submit(.sample("j1", tasks: [.sample(.probe, cached: content(1))]))
  }

  @Test(arguments: StoreKind.allCases)
  func `one coordinator plans a job at a time`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await submit(farm)
      #expect(try await store.beginPlanning(Self.job, by: "a", isAlone: true) == .begun)
      #expect(try await store.beginPlanning(Self.job, by: "b", isAlone: true) == .underWay)
      // It is renewed for as long as it lasts.
      for _ in 0..<5 {
        try farm.advance(.seconds(10))
        #expect(try await store.beginPlanning(Self.job, by: "a", isAlone: true) == .begun)
        #expect(try await store.beginPlanning(Self.job, by: "b", isAlone: true) == .underWay)
      }
      try await store.endPlanning(Self.job, by: "b")
      #expect(try await store.beginPlanning(Self.job, by: "b", isAlone: true) == .underWay)
      try await store.endPlanning(Self.job, by: "a")
      #expect(try await store.beginPlanning(Self.job, by: "b", isAlone: true) == .begun)
      #expect(try await store.beginPlanning(JobID("other"), by: "a", isAlone: true) == .notPlannable)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `two lost attempts are the last`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await submit(farm)
      for planner in ["a", "b"] {
        #expect(try await store.beginPlanning(Self.job, by: planner, isAlone: true) == .begun)
        try farm.advance(.seconds(16))
      }
      for planner in ["c", "d"] {
        #expect(try await store.beginPlanning(Self.job, by: planner, isAlone: true) == .failed)
      }
      // One that ended counts for nothing, and neither does what was lost before the job was taken up.
      #expect(try await store.fail(Self.job, failure: .sample))
      #expect(try await store.beginPlanning(Self.job, by: "c", isAlone: true) == .notPlannable)
      #expect(try await store.retry(Self.job) == .probing)
      for planner in ["a", "b", "c"] {
        #expect(try await store.beginPlanning(Self.job, by: planner, isAlone: true) == .begun)
        try await store.endPlanning(Self.job, by: planner)
        try farm.advance(.seconds(16))
      }
      #expect(try await store.beginPlanning(Self.job, by: "d", isAlone: true) == .begun)
      try farm.advance(.seconds(16))
      #expect(try await store.plan(Self.job, build: "b1", tasks: .videos(1) + [.sample(.stitch)]))
      #expect(try await store.beginPlanning(Self.job, by: "a", isAlone: true) == .notPlannable)
      #expect(try await store.replan(Self.job, reason: "lost"))
      #expect(try await store.beginPlanning(Self.job, by: "e", isAlone: true) == .begun)
    }
  }

  /// Two jobs were planned at once when their coordinator ended: each is planned alone next.
  @Test(arguments: StoreKind.allCases)
  func `after a loss, a job is planned alone`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await submit(farm)
      #expect(try await store.beginPlanning(Self.job, by: "a", isAlone: false) == .begun)
      #expect(try await store.beginPlanning(Self.job, by: "a", isAlone: false) == .begun)
      try farm.advance(.seconds(16))
      for _ in 0..<3 {
        #expect(try await store.beginPlanning(Self.job, by: "b", isAlone: false) == .mustBeAlone)
        try farm.advance(.seconds(16))
      }
      #expect(try await store.beginPlanning(Self.job, by: "b", isAlone: true) == .begun)
      #expect(try await store.beginPlanning(Self.job, by: "c", isAlone: false) == .underWay)
      try await store.endPlanning(Self.job, by: "b")
      #expect(try await store.beginPlanning(Self.job, by: "c", isAlone: false) == .mustBeAlone)
      #expect(try await store.beginPlanning(Self.job, by: "c", isAlone: true) == .begun)
      try farm.advance(.seconds(16))
      #expect(try await store.beginPlanning(Self.job, by: "d", isAlone: false) == .failed)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `an outage loses no attempt`(_ kind: StoreKind) async throws {
    try await kind.run(outages: true) { farm in
      try await submit(farm)
      _ = try await farm.store.expire()
      #expect(try await farm.store.beginPlanning(Self.job, by: "a", isAlone: true) == .begun)
      try farm.advance(.seconds(600))
      _ = try await farm.store.expire()
      #expect(try await farm.store.beginPlanning(Self.job, by: "b", isAlone: true) == .underWay)
      try farm.advance(.seconds(16))
      #expect(try await farm.store.beginPlanning(Self.job, by: "b", isAlone: true) == .begun)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `jobs are listed from a job on, and by state`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      for number in 1...6 { try await store.submit(.sample("j\(number)")) }
      try await store.submit(.sample("other", purpose: .inspection))
      _ = try await store.cancel(JobID("j2"))
      _ = try await store.cancel(JobID("j5"))
      func list(_ limit: Int, _ after: String? = nil, _ states: [JobState] = []) async throws -> [String] {
        try await store.summaries(
          .render, limit: limit, after: after.map { JobID($0) }, filter: JobFilter(states: states)
        )
        .map(\.job.id.description)
      }
      #expect(try await list(2) == ["j6", "j5"])
      #expect(try await list(2, "j5") == ["j4", "j3"])
      #expect(try await list(9, "j3") == ["j2", "j1"])
      #expect(try await list(9, "j1") == [])
      #expect(try await list(9, "none") == [])
      #expect(try await list(9, nil, [.cancelled]) == ["j5", "j2"])
      #expect(try await list(1, "j5", [.cancelled, .failed]) == ["j2"])
      #expect(try await list(9, nil, [.rendering]) == [])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `jobs are listed by a part of their name and by the time of their submission`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      for (number, name) in ["Beach.json", "beach-2.json", "100%_A.json", "city.json", "BEACH"].enumerated() {
        var job = NewJob.sample("j\(number + 1)")
        job.name = name
        try await store.submit(job)
        try farm.advance(.milliseconds(1_500))
      }
      _ = try await store.cancel(JobID("j2"))
      func list(_ filter: JobFilter, limit: Int = 9, after: String? = nil) async throws -> [String] {
        try await store.summaries(.render, limit: limit, after: after.map { JobID($0) }, filter: filter)
          .map(\.job.id.description)
      }
      #expect(try await list(JobFilter(name: "bEaCh")) == ["j5", "j2", "j1"])
      #expect(try await list(JobFilter(name: "beach"), limit: 2, after: "j5") == ["j2", "j1"])
      #expect(try await list(JobFilter(states: [.cancelled], name: "beach")) == ["j2"])
      // No character stands for others.
      #expect(try await list(JobFilter(name: "0%_a")) == ["j3"])
      #expect(try await list(JobFilter(name: "%")) == ["j3"])
      #expect(try await list(JobFilter(name: "b*h")) == [])
      let start = Duration.seconds(1_767_225_600)
      #expect(try await list(JobFilter(since: start + .seconds(3))) == ["j5", "j4", "j3"])
      #expect(try await list(JobFilter(since: start + .microseconds(3_000_001))) == ["j5", "j4"])
      #expect(try await list(JobFilter(before: start + .seconds(3))) == ["j2", "j1"])
      #expect(try await list(JobFilter(since: start + .seconds(1), before: start + .seconds(4))) == ["j3", "j2"])
      #expect(try await list(JobFilter(name: "json", since: start, before: start + .seconds(2)), after: "j2") == ["j1"])
      #expect(try await list(JobFilter(since: start + .seconds(100))) == [])
    }
  }

  /// The same in every answer, whatever the time of the answer.
  @Test(arguments: StoreKind.allCases)
  func `a job has the times of its submission, its rendering and its end`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      let start = Duration.seconds(1_767_225_600)
      try farm.advance(.microseconds(123_456))
      try await submit(farm)
      try farm.advance(.milliseconds(3_333))
      let submitted = start + .microseconds(123_456)
      var job = try #require(try await store.job(Self.job))
      #expect(job.submittedAt == submitted && job.endedAt == nil && job.renderingSince == nil)
      #expect(try await store.plan(Self.job, build: "b1", tasks: .videos(1) + [.sample(.stitch)]))
      let video = try #require(try await store.claimOne(build: "b1"))
      try farm.advance(.seconds(1))
      #expect(try await store.publish(video.lease, worker: .anna, result: content(2)) == .published)
      _ = try await store.cancel(Self.job)
      try farm.advance(.seconds(77))
      job = try #require(try await store.job(Self.job))
      #expect(job.submittedAt == submitted && job.renderingSince == submitted + .milliseconds(3_333))
      #expect(job.endedAt == submitted + .milliseconds(4_333))
      #expect(try await store.summaries(.render, limit: 1).first?.job.endedAt == job.endedAt)
      // A job that is taken up again has not ended.
      _ = try await store.retry(Self.job)
      job = try #require(try await store.job(Self.job))
      #expect(job.submittedAt == submitted && job.endedAt == nil && job.renderingSince == nil)
      try await store.register([
        WorkerRecord(id: .anna, session: SessionID(1), name: "anna", slots: 1, build: "b1", coordinator: "c")
      ])
      try farm.advance(.seconds(2))
      let worker = try #require(try await store.workers().first)
      #expect(worker.connectedAt == submitted + .milliseconds(81_333) && worker.connected == .seconds(2))
    }
  }

  /// From the grant of the first task of the film.
  @Test(arguments: StoreKind.allCases)
  func `the time of rendering does not count the wait`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await submit(farm)
      try farm.advance(.seconds(60))
      #expect(try await store.plan(Self.job, build: "b1", tasks: .videos(2) + [.sample(.stitch)]))
      try farm.advance(.seconds(20))
      var grants = try await store.claim(worker: .anna, build: "b1", limit: 1)
      try farm.advance(.seconds(2))
      grants += try await store.claim(worker: .bert, build: "b1", limit: 1)
      try farm.advance(.seconds(3))
      #expect(try await store.job(Self.job)?.rendering == nil)
      for (grant, worker) in zip(grants, [WorkerID.anna, .bert]) {
        #expect(try await store.publish(grant.lease, worker: worker, result: content(2)) == .published)
      }
      #expect(try await store.job(Self.job)?.rendering == .seconds(5))
      let stitch = try #require(try await store.claimOne(build: "b1"))
      try farm.advance(.seconds(1))
      #expect(try await store.publish(stitch.lease, worker: .anna, result: content(3)) == .published)
      try farm.advance(.seconds(100))
      let done = try #require(try await store.job(Self.job))
      #expect(done.state == .done && done.rendering == .seconds(6) && done.elapsed == .seconds(86))
      #expect(try await store.summary(of: Self.job)?.job.rendering == .seconds(6))
    }
  }
}
