import FarmModel
import SystemSupport
import TestPrograms
import Testing

@testable import Jobs
@testable import PostgresJobs

@Suite("Random traces", .database)
struct TraceTests {
  /// A trace in which nothing happens proves nothing: each of these must come.
  private static let labels = [
    "selected", "published", "duplicate", "stale", "planned true", "planned false", "measured true", "measured false",
    "planning begun", "planning underWay", "planning failed", "planning notPlannable", "planning ended",
    "job measuring", "granted", "granted nothing", "lost",
    "lost nothing", "failed task true", "failed task false", "failed job true", "disconnected true", "renewed",
    "not renewed", "taken over", "went away", "came back", "replanned true", "reprobed true", "reprobed false",
    "retried, now probing",
    "retried, now done", "deleted true", "deleted false", "deleted old true", "backup of another kind", "rebind",
    "attempt dropped",
    "cancelled, now cancelled", "cancelled, now done", "rejected", "job done", "job failed", "task failed",
    "backup granted", "backup renewed", "backup went on alone", "backup lost", "backup won", "backup was too late",
    "both lost", "failed with both", "attempt released", "attempt media", "attempt crashed", "attempt hung",
    "attempt exhausted", "attempt killed", "isolated", "isolated granted", "not isolated any more",
    "attempt document", "inspection probing", "removed events true", "removed events false", "added webhook true",
    "added webhook false", "changed webhook true", "removed webhook true", "took deliveries true",
    "took deliveries false", "ended delivery true", "ended delivery false", "sent again true", "sent again false",
    "removed deliveries true", "added token true", "added token false", "revoked token true",
    "revoked token false", "paused rendering", "paused probing", "paused absent", "resumed rendering", "reordered true",
    "watched true", "watched false",
    "reordered false", "changed owner", "recorded", "removed audit true", "removed audit false",
    "compared", "accepted unchecked true", "accepted unchecked false", "set hold true", "set hold false",
    "purged true false", "purged false true", "set pool", "removed pool true", "removed pool false", "moved true",
    "pool granted", "pool closed", "pool opened",
  ]

  /// Those from which most labels come are first. What comes of a seed differs a little from run to run, because equal
  /// things have no order.
  private static let seeds = (
    patient: [258, 283, 19, 1, 4, 24] + [UInt64](2...3) + [UInt64](5...18),
    hasty: [74, 71, 11, 6, 10, 1] + [UInt64](12...30)
  )
  /// How many of all are always run.
  private static let fewest = TestExtent.of(2, whole: 4)
  /// How many of each policy run at the same time.
  private static let atOnce = TestExtent.of(1, whole: 2)

  /// The same operations leave both stores in the same state, with the same answers and the same hints, after every
  /// step. A failure names the seed and the step. There are as many traces as it takes to see every label, and of jobs
  /// that have ended and rest the tasks are read after every 25th step: otherwise most of the time would be spent on
  /// them. With `SHEAF_TRACE_SEEDS`, as in `make chaos`, there are that many seeds for each of the two policies, and
  /// everything is read after every step, and jobs have several audio tasks.
  @Test func `both stores agree after every step`() async throws {
    let patient = LeasePolicy(keptReleases: 2, maximumKills: 4, comparedShare: 0.3, firstCompared: 1)
    // With this policy almost every video task is slow, and leases hang before they run out.
    let hasty = LeasePolicy(
      hang: .seconds(10), outage: .seconds(100), rebind: .seconds(20), keptReleases: 1, maximumFailures: 2,
      maximumKills: 3, isolation: 1, isolationPatience: .seconds(3), slowness: 0.1, shortestSlow: .milliseconds(250),
      fewestRendered: 1, mostLostPlannings: 1)
    let count = ProcessEnvironment.value("SHEAF_TRACE_SEEDS").flatMap { UInt64($0) }
    var (left, right) = count.map { ([UInt64](1...$0), [UInt64](1...$0)) } ?? Self.seeds
    var seen: [String: Int] = [:]
    var done = 0
    while !left.isEmpty || !right.isEmpty {
      if count == nil, done >= Self.fewest, Self.labels.allSatisfy({ seen[$0] != nil }) { break }
      let batch = left.prefix(Self.atOnce).map { ($0, patient) } + right.prefix(Self.atOnce).map { ($0, hasty) }
      (left, right) = (Array(left.dropFirst(Self.atOnce)), Array(right.dropFirst(Self.atOnce)))
      done += batch.count
      seen = try await withThrowingTaskGroup(of: [String: Int].self) { group in
        for (seed, policy) in batch {
          group.addTask { try await trace(seed: seed, steps: 500, policy: policy, readsAll: count != nil) }
        }
        return try await group.reduce(into: seen) { seen, more in seen.merge(more, uniquingKeysWith: +) }
      }
    }
    for label in Self.labels {
      #expect(seen[label, default: 0] > 0, "no trace came to: \(label); they came to \(seen)")
    }
  }

  private func trace(
    seed: UInt64, steps: Int, policy: LeasePolicy, readsAll: Bool
  ) async throws -> [String: Int] {
    try await TestDatabase.with { database in
      let clock = TestClock()
      let memory = MemoryJobStore(policy: policy, origin: TestClock.origin) { clock.now }
      let reference = Farm(store: memory) { clock.advance(by: $0) }
      let postgres = try await PostgresJobStore.connect(url: database.url, policy: policy)
      try database.stopClock()
      let observer = Observer(try database.connect())
      try observer.listen()
      let subject = Farm(store: postgres) { try observer.advance(by: $0) }
      var maker = TraceMaker(seed: seed, dividesSound: readsAll)
      var (inMemory, inPostgres) = (JournalPosition?.none, JournalPosition?.none)
      var state = try await Visible(of: memory, since: &inMemory)
      var other: Visible?
      var seen: [String: Int] = [:]
      for step in 1...steps {
        let operation = maker.next(state)
        let changeCount = await memory.state.changeCount
        let expected = try await operation.run(on: reference)
        let actual = try await operation.run(on: subject)
        let place = "seed \(seed), step \(step): \(operation)"
        try #require(actual == expected, "\(place)")
        #expect(try observer.wasNotified() == (await memory.state.changeCount != changeCount), "\(place)")
        maker.record(expected)
        seen[expected.label, default: 0] += 1
        let before = state
        state = try await Visible(of: memory, since: &inMemory)
        for change in state.changes(since: before) { seen[change, default: 0] += 1 }
        if case .claim(_, let pools, _) = operation, case .granted(let grants) = expected {
          #expect(state.misplaced(grants, pools: pools).isEmpty, "\(place): \(grants)")
          let pooled = Set(state.jobs.filter { $0.pool != nil }.map(\.id))
          if grants.contains(where: { pooled.contains($0.lease.task.job) }) { seen["pool granted", default: 0] += 1 }
        }
        for pool in state.pools {
          guard let old = before.pools.first(where: { $0.name == pool.name }), old.hours == pool.hours,
            old.timeZone == pool.timeZone, old.isOpen != pool.isOpen
          else { continue }
          seen[pool.isOpen ? "pool opened" : "pool closed", default: 0] += 1
        }
        let isolated = state.newLeasesOfIsolatedTasks(since: before)
        if !isolated.isEmpty { seen["isolated granted", default: 0] += 1 }
        #expect(isolated.count <= 1 && (isolated.isEmpty || !before.runsIsolatedTask), "\(place): \(isolated)")
        if !state.selected.isEmpty, state.selected.count < state.jobs.count { seen["selected", default: 0] += 1 }
        if !state.toRebind.isEmpty { seen["rebind", default: 0] += 1 }
        let readsAll = readsAll || step.isMultiple(of: 25) || step == steps
        let start = inPostgres
        var found = try await Visible(
          of: postgres, since: &inPostgres, earlier: readsAll ? nil : other, resting: state.resting(since: before))
        // A transaction of another test's database may hold back events for a moment.
        for _ in 0..<200 where found.events.count < state.events.count {
          try await Task.sleep(for: .milliseconds(10))
          inPostgres = start
          found = try await Visible(of: postgres, since: &inPostgres)
        }
        try #require(found == state, "\(place)\n\(found.difference(from: state))")
        other = found
      }
      for job in state.jobs {
        seen["\(job.purpose == .render ? "job" : "inspection") \(job.state.rawValue)", default: 0] += 1
      }
      for task in state.tasks.joined() { seen["task \(task.state.rawValue)", default: 0] += 1 }
      #expect(try database.misplacedRows().isEmpty, "seed \(seed)")
      await postgres.close()
      return seen
    }
  }
}

extension TestDatabase {
  /// What CHECK constraints cannot rule out, because it is about rows of several tables.
  func misplacedRows() throws -> [String] {
    try query(
      """
      SELECT 'an open task of a job that has ended: ' || job.id || '/' || task.ordinal
      FROM sheaf.job JOIN sheaf.task ON task.job = job.number
      WHERE job.ended_at IS NOT NULL AND task.state = 'running'
      UNION ALL
      SELECT 'a running task without a first lease: ' || task.job || '/' || task.ordinal
      FROM sheaf.task LEFT JOIN sheaf.lease ON (task.job, task.ordinal) = (lease.job, lease.ordinal) AND NOT is_backup
      WHERE task.state = 'running' AND lease.job IS NULL
      UNION ALL
      SELECT 'a lease of a task that does not run, or of a later epoch: ' || task.job || '/' || task.ordinal
      FROM sheaf.lease JOIN sheaf.task USING (job, ordinal)
      WHERE task.state <> 'running' OR lease.epoch > task.epoch
      UNION ALL
      SELECT 'a backup lease that is older: ' || task.job || '/' || task.ordinal
      FROM sheaf.lease backup JOIN sheaf.task USING (job, ordinal) JOIN sheaf.lease AS first USING (job, ordinal)
      WHERE backup.is_backup AND NOT first.is_backup AND backup.epoch < first.epoch
      UNION ALL
      SELECT 'a lease whose cost or work is not its task''s: ' || task.job || '/' || task.ordinal
      FROM sheaf.lease JOIN sheaf.task USING (job, ordinal)
      WHERE (task.kind IN ('video', 'audio')) <> (lease.video_cost IS NOT NULL)
        OR task.kind IN ('video', 'audio')
          AND (lease.video_cost, lease.video_work) <> (task.cost, CASE task.kind WHEN 'video' THEN task.work ELSE 0 END)
      UNION ALL
      SELECT 'counts that are not those of the tasks: ' || job.id
      FROM sheaf.job LEFT JOIN sheaf.task ON task.job = job.number
      GROUP BY job.number
      HAVING (probes, probes_done, measures, measures_done, videos, videos_done, videos_cached, audios, audios_done) <> (
          count(*) FILTER (WHERE kind = 'probe'), count(*) FILTER (WHERE kind = 'probe' AND task.state = 'done'),
          count(*) FILTER (WHERE kind = 'measure'), count(*) FILTER (WHERE kind = 'measure' AND task.state = 'done'),
          count(*) FILTER (WHERE kind = 'video'), count(*) FILTER (WHERE kind = 'video' AND task.state = 'done'),
          count(*) FILTER (WHERE kind = 'video' AND is_cached),
          count(*) FILTER (WHERE kind = 'audio'), count(*) FILTER (WHERE kind = 'audio' AND task.state = 'done'))
        OR (job.work, job.work_done) <> (
          coalesce(sum(task.work) FILTER (WHERE kind = 'video'), 0),
          coalesce(sum(task.work) FILTER (WHERE kind = 'video' AND task.state = 'done'), 0))
      UNION ALL
      SELECT 'an attempt whose lease is held or published: ' || task.job || '/' || task.ordinal
      FROM sheaf.attempt JOIN sheaf.task USING (job, ordinal) LEFT JOIN sheaf.lease
        ON (lease.job, lease.ordinal, lease.epoch) = (attempt.job, attempt.ordinal, attempt.epoch)
      WHERE lease.worker IS NOT NULL OR attempt.epoch = task.published_epoch OR attempt.epoch > task.epoch
      """)
  }
}

/// A connection that listens, in addition to the store's.
private final class Observer {
  private let connection: Connection

  init(_ connection: Connection) { self.connection = connection }

  func listen() throws { try connection.script("LISTEN sheaf_change") }

  func advance(by duration: Duration) throws { try connection.advance(by: duration) }

  /// The notifications of a transaction that was committed before come no later than the answer to a statement after
  /// it.
  func wasNotified() throws -> Bool {
    try connection.script("SELECT 1")
    return try connection.takeNotifications()
  }
}
