import Digest
import FarmModel
import SystemSupport
import TestPrograms
import Testing

@testable import Jobs
@testable import PostgresJobs

@Suite("Pools and their hours", .database)
struct PoolTests {
  @Test(arguments: StoreKind.allCases)
  func `a worker takes jobs of its pools and jobs without one`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      for (id, pool) in [("gpu", "gpu"), ("night", "night"), ("none", nil)] {
        var job = NewJob.sample(id, tasks: (0..<4).map { .sample(.probe, $0) })
        job.pool = pool
        try await store.submit(job)
      }
      func jobs(_ worker: WorkerID, _ pools: [String]) async throws -> Set<String> {
        let slots = Array(repeating: worker.holder, count: 12)
        let grants = try await store.claim(build: "b1", pools: pools, slots: slots)
        for grant in grants {
          _ = try await store.fail(grant.lease, worker: worker, failure: TaskFailure(end: .released, message: ""))
        }
        return Set(grants.map(\.lease.task.job.description))
      }
      #expect(try await jobs(.anna, []) == ["none"])
      #expect(try await jobs(.anna, ["gpu"]) == ["gpu", "none"])
      #expect(try await jobs(.anna, ["other"]) == ["none"])
      #expect(try await jobs(.anna, ["night", "gpu"]) == ["gpu", "night", "none"])
      #expect(try await store.setPool(of: JobID("gpu"), to: "night") == .probing)
      #expect(try await jobs(.anna, ["gpu"]) == ["none"])
      #expect(try await store.setPool(of: JobID("gpu"), to: nil) == .probing)
      #expect(try await jobs(.anna, []) == ["none", "gpu"])
      #expect(try await store.setPool(of: JobID("absent"), to: nil) == nil)
      let events = try await store.newestEvents(limit: 99).filter { $0.kind == .jobPoolChanged }
      #expect(events.map(\.message) == ["pool night", "no pool"])
    }
  }

  /// The second renderings of a job's tasks are for its pool's workers as the first are.
  @Test(arguments: StoreKind.allCases)
  func `only a worker of the job's pool can make a result that is compared`(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(comparedShare: 1)) { farm in
      let store = farm.store
      func record(_ id: WorkerID, _ pools: [String]) -> WorkerRecord {
        var record = WorkerRecord.sample(id, name: id.description)
        record.pools = pools
        return record
      }
      func publish(_ id: String) async throws -> PublishOutcome {
        var job = NewJob.sample(id)
        job.pool = "gpu"
        try await store.submit(job)
        #expect(try await store.plan(JobID(id), build: "b1", tasks: [.sample(.video, 0), .sample(.stitch)]))
        let grant = try await store.claim(build: "b1", pools: ["gpu"], slots: [WorkerID.anna.holder]).first
        return try await store.publish(try #require(grant).lease, worker: .anna, result: content(1))
      }
      try await store.register([record(.anna, ["gpu"]), record(.bert, []), record(.carl, ["night"])])
      #expect(try await publish("alone") == .published)
      #expect(try await store.cancel(JobID("alone")) == .cancelled)
      try await store.register([record(.carl, ["night", "gpu"])])
      #expect(try await publish("checked") == .compared)
      #expect(try await store.claim(build: "b1", pools: [], slots: [WorkerID.bert.holder]).isEmpty)
      let second = try await store.claim(build: "b1", pools: ["gpu", "night"], slots: [WorkerID.carl.holder])
      #expect(second.map(\.lease.task.job) == [JobID("checked")])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `outside of its hours nothing is granted to a pool, and all of a worker's pools closed is nothing at all`(
    _ kind: StoreKind
  ) async throws {
    try await kind.run { farm in
      let store = farm.store
      // It is Thursday, 1 January 2026, 01:00 in Berlin.
      let hours = try WorkingHours(parsing: "wed 19:00-01:30, thu 02:00-02:10")
      try await store.setPool(Pool(name: "night", hours: hours, timeZone: "Europe/Berlin"))
      for (id, pool) in [("night", "night"), ("none", nil)] {
        var job = NewJob.sample(id, tasks: [.sample(.probe, 0)])
        job.pool = pool
        try await store.submit(job)
      }
      func granted(_ pools: [String]) async throws -> Set<String> {
        let slots = Array(repeating: WorkerID.anna.holder, count: 4)
        let grants = try await store.claim(build: "b1", pools: pools, slots: slots)
        for grant in grants {
          _ = try await store.fail(grant.lease, worker: .anna, failure: TaskFailure(end: .released, message: ""))
        }
        return Set(grants.map(\.lease.task.job.description))
      }
      func state() async throws -> [Duration?] {
        try await store.pools().map { $0.isOpen ? nil : $0.changesAt! - .seconds(1_767_225_600) }
      }
      try await store.register([.sample(.anna).with(pools: ["night"]), .sample(.bert).with(pools: ["night", "day"])])
      #expect(try await granted(["night"]) == ["night", "none"])
      #expect(try await store.counts(ofPool: "night").tasks == [.init(kind: .probe, state: .ready): 1])
      #expect(try await store.pools().map(\.changesAt) == [.seconds(1_767_225_600 + 30 * 60)])
      try farm.advance(.seconds(30 * 60 - 1))
      #expect(try await granted(["night"]) == ["night", "none"])
      let last = try await store.claim(build: "b1", pools: ["night"], slots: [WorkerID.anna.holder])
      try farm.advance(.seconds(1))
      #expect(try await state() == [.seconds(60 * 60)])
      #expect(try await granted(["night"]) == [])
      #expect(try await granted([]) == (last[0].lease.task.job == JobID("none") ? [] : ["none"]))
      #expect(try await store.counts(ofPool: "night").tasks[.init(kind: .probe, state: .ready)] == nil)
      try await store.register([.sample(.anna).with(pools: ["night"]), .sample(.bert).with(pools: ["night", "day"])])
      #expect(try await store.workers().map(\.isClosed) == [true, false])
      // What it renders it finishes.
      #expect(try await store.publish(last[0].lease, worker: .anna, result: content(1)) == .published)
      try farm.advance(.seconds(30 * 60))
      #expect(try await state() == [nil])
      #expect(try await store.pools().map(\.changesAt) == [.seconds(1_767_225_600 + 70 * 60)])
      #expect(try await granted(["night"]).count == 1)
      try farm.advance(.seconds(600))
      #expect(try await granted(["night"]) == [])
      #expect(try await granted(["day", "night"]).isSubset(of: ["none"]))
      #expect(try await store.removePool("night"))
      #expect(try await store.removePool("night") == false)
      #expect(try await granted(["night"]).count == 1)
    }
  }

  /// Times with the two changes of the clock of several zones, and the day of each change, looked at from ten minutes
  /// to ten minutes. What is expected follows from the local time, which `date` of the system tells.
  @Test(arguments: StoreKind.allCases)
  func `hours follow the zone's clock when it is set on and back`(_ kind: StoreKind) async throws {
    // From the start of each range, of so many hours: which of the ten minutes of UTC the pool is open.
    let cases: [(zone: String, hours: String, from: String, opens: [String])] = [
      // Berlin sets its clock from 02:00 to 03:00 on 29 March 2026, at 01:00 UTC.
      ("Europe/Berlin", "sat 22:00-06:00", "2026-03-28 20:00", ["21:00-04:00"]),
      ("Europe/Berlin", "sun 02:10-02:40", "2026-03-28 20:00", ["01:10-01:40"]),
      ("Europe/Berlin", "sun 01:30-02:30", "2026-03-28 20:00", ["00:30-01:30"]),
      ("Europe/Berlin", "sun 02:30-03:10", "2026-03-28 20:00", []),
      ("Europe/Berlin", "sat-sun 00:00-24:00", "2026-03-28 20:00", ["20:00-20:00"]),
      // And from 03:00 back to 02:00 on 25 October, at 01:00 UTC.
      ("Europe/Berlin", "sat 22:00-06:00", "2026-10-24 18:00", ["20:00-05:00"]),
      ("Europe/Berlin", "sun 02:10-02:40", "2026-10-24 18:00", ["01:10-01:40"]),
      ("Europe/Berlin", "sun 01:30-02:30, sun 02:30-04:00", "2026-10-24 18:00", ["23:30-03:00"]),
      // New York's changes are at 07:00 and 06:00 UTC; Lord Howe's clock is set by half an hour.
      ("America/New_York", "daily 01:00-04:00", "2026-03-08 01:00", ["06:00-08:00"]),
      ("America/New_York", "daily 01:00-04:00", "2026-11-01 01:00", ["06:00-09:00"]),
      ("Australia/Lord_Howe", "sun 01:00-03:00", "2026-10-03 10:00", ["14:30-16:00"]),
      // After the last change that files list, by their rule. Dublin's standard time is in summer.
      ("Europe/Dublin", "sun 00:30-03:00", "2045-03-25 18:00", ["00:30-02:00"]),
      ("Europe/Dublin", "sun 00:30-03:00", "2045-10-28 18:00", ["23:30-03:00"]),
      ("Africa/Cairo", "fri 00:00-02:00", "2026-04-23 12:00", ["22:00-23:00"]),
      ("Asia/Kolkata", "sun-mon 23:30-00:30", "2026-06-07 12:00", ["18:00-19:00"]),
    ]
    try await kind.run { farm in
      var now = 1_767_225_600
      for test in cases.spread(8).sorted(by: { $0.from < $1.from }) {
        let start = try seconds(test.from)
        try farm.advance(.seconds(start - now))
        now = start
        let hours = try WorkingHours(parsing: test.hours)
        try await farm.store.setPool(Pool(name: "p", hours: hours, timeZone: test.zone))
        var openings: [String] = []
        for step in 0..<(24 * 6) {
          let time = clock(now + step * 600)
          let isOpen = try await farm.store.pools()[0].isOpen
          if isOpen == openings.last.map({ !$0.hasSuffix("-") }) ?? true {
            if isOpen { openings.append("\(time)-") } else if !openings.isEmpty { openings[openings.count - 1] += time }
          }
          try farm.advance(.seconds(600))
        }
        if openings.last?.hasSuffix("-") == true { openings[openings.count - 1] += clock(start) }
        now += 24 * 3600
        #expect(openings == test.opens, "\(test)")
      }
    }
  }

  private func clock(_ seconds: Int) -> String {
    let minutes = seconds / 60 % 1_440
    return [minutes / 60, minutes % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
  }

  /// Of `YYYY-MM-DD HH:MM`, since 1970.
  private func seconds(_ text: String) throws -> Int {
    let parts = text.split { "- :".contains($0) }.compactMap { Int($0) }
    try #require(parts.count == 5)
    let year = parts[1] > 2 ? parts[0] : parts[0] - 1
    let month = (parts[1] + 9) % 12
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + parts[2] - 1 - 719_468
    return days * 86_400 + parts[3] * 3600 + parts[4] * 60
  }

  /// PostgreSQL is the oracle: at random times of twenty years, in every zone that both know.
  @Test(.enabled(if: StoreKind.allCases.contains(.postgres)))
  func `the reference and PostgreSQL open pools at the same times`() async throws {
    try await TestDatabase.withStoppedClock { database in
      let postgres = try await PostgresJobStore.connect(url: database.url)
      let clock = TestClock()
      let memory = MemoryJobStore(origin: TestClock.origin) { clock.now }
      let connection = try database.connect()
      let zones = try database.query(
        "SELECT name FROM pg_timezone_names WHERE name ~ '^[A-Z][A-Za-z_]+/[A-Z]' AND name !~ '^(Etc|SystemV)' ORDER BY name"
      )
      try #require(zones.count > 300)
      // More of them in `make chaos`.
      for step in 0..<(ProcessEnvironment.value("SHEAF_TRACE_SEEDS") == nil ? 60 : 400) {
        let time = Duration.seconds(Int.random(in: 0...2_000_000))
        try connection.advance(by: time)
        clock.advance(by: time)
        let (first, length) = (Int.random(in: 0..<1_440), Int.random(in: 1..<1_440))
        let days = ["daily", "sat-mon", "sun", "fri"].randomElement()!
        let hours = try WorkingHours(parsing: "\(days) \(spell(first))-\(spell((first + length) % 1_440))")
        let zone = zones[step * 7 % zones.count]
        let pool = Pool(name: "p", hours: hours, timeZone: zone)
        try await memory.setPool(pool)
        try await postgres.setPool(pool)
        #expect(try await memory.pools() == postgres.pools())
      }
      await postgres.close()
    }
  }

  private func spell(_ minutes: Int) -> String { clock(minutes * 60) }

  @Test(arguments: StoreKind.allCases)
  func `a zone or a name that there is not is refused`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let hours = try WorkingHours(parsing: WorkingHours.example)
      for zone in [
        "", "Europe/Berli", "europe/berlin", "../../etc/passwd", "Europe", "/UTC", "CEST", "UTC+1", "EST5EDT,M3.2.0",
      ] {
        await #expect(throws: JobStoreError(.invalid, "")) {
          try await farm.store.setPool(Pool(name: "p", hours: hours, timeZone: zone))
        }
      }
      for name in ["", "a b", "-a", String(repeating: "a", count: 65), "ä", "a,b", "a/b"] {
        await #expect(throws: JobStoreError(.invalid, "")) {
          try await farm.store.setPool(Pool(name: name, hours: hours, timeZone: "UTC"))
        }
        await #expect(throws: JobStoreError(.invalid, "")) {
          try await farm.store.register([.sample(.anna).with(pools: [name])])
        }
      }
      #expect(try await farm.store.pools().isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a job is bound anew when only workers of other pools have its build`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      var job = NewJob.sample("j")
      job.pool = "gpu"
      try await store.submit(job)
      #expect(try await store.plan(JobID("j"), build: "b1", tasks: [.sample(.video, 0), .sample(.stitch)]))
      try await store.register([
        .sample(.anna, build: "b1").with(pools: ["gpu"]), .sample(.bert, build: "b1"),
        .sample(.carl, build: "b2").with(pools: ["gpu"]),
      ])
      #expect(try await store.jobsToRebind() == [])
      _ = try await store.disconnect(WorkerID.anna.holder)
      for _ in 0..<4 {
        try farm.advance(.seconds(8))
        try await store.register([.sample(.bert, build: "b1"), .sample(.carl, build: "b2").with(pools: ["gpu"])])
      }
      #expect(try await store.jobsToRebind() == [JobID("j")])
    }
  }
}

extension WorkerRecord {
  func with(pools: [String]) -> WorkerRecord {
    var record = self
    record.pools = pools
    return record
  }
}
