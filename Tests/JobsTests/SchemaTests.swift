import Digest
import FarmModel
import Testing

@testable import Jobs
@testable import PostgresJobs

@Suite("The schema", .timeLimit(.minutes(10)), .database)
struct SchemaTests {
  @Test func `migrations are numbered from one without gaps`() {
    #expect(Schema.migrations.map(\.version) == Array(1...Int32(Schema.migrations.count)))
    for migration in Schema.migrations {
      #expect(migration.name.hasPrefix(String(String(10_000 + migration.version).dropFirst()) + "_"))
      #expect(!migration.script.isEmpty)
    }
  }

  /// Databases have recorded it: a change to the schema is another file.
  @Test func `the file of a release never changes`() throws {
    let file = try #require(Schema.migrations.first)
    #expect(SHA256Digest.of(file.script).hex == "bd7afd9c5842c2005ce45a813325371e1df9d4b1ce64615aaa3849a28dbff758")
  }

  @Test func `connecting again changes nothing`() async throws {
    try await TestDatabase.with { database in
      let first = try await PostgresJobStore.connect(url: database.url)
      try await first.submit(.sample("j1"))
      let before = try database.query("SELECT name || checksum || applied_at FROM sheaf.migration ORDER BY version")
      #expect(before.count == Schema.migrations.count)
      let second = try await PostgresJobStore.connect(url: database.url)
      #expect(
        try database.query("SELECT name || checksum || applied_at FROM sheaf.migration ORDER BY version") == before)
      #expect(try await second.jobs(.render, limit: 9).map(\.id) == [JobID("j1")])
      await first.close()
      await second.close()
    }
  }

  @Test func `coordinators that start at once make one schema`() async throws {
    try await TestDatabase.with(isEmpty: true) { database in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<8 {
          group.addTask {
            let store = try await PostgresJobStore.connect(url: database.url)
            try await store.submit(.sample("j\(number)"))
            await store.close()
          }
        }
        try await group.waitForAll()
      }
      #expect(
        try database.query("SELECT version::text FROM sheaf.migration ORDER BY migration.version")
          == Schema.migrations.map { "\($0.version)" })
      #expect(try database.query("SELECT id FROM sheaf.job ORDER BY id") == (0..<8).map { "j\($0)" })
    }
  }

  @Test func `a newer schema is rejected`() async throws {
    try await TestDatabase.with { database in
      await (try await PostgresJobStore.connect(url: database.url)).close()
      try database.connect().script("INSERT INTO sheaf.migration VALUES (99, '0099_later', 'x')")
      let error = await #expect(throws: JobStoreError.self) { try await PostgresJobStore.connect(url: database.url) }
      #expect(error?.code == .schemaTooNew)
      #expect(error?.message.contains("99") == true)
    }
  }

  @Test func `a schema from another file of the same number is rejected`() async throws {
    try await TestDatabase.with { database in
      await (try await PostgresJobStore.connect(url: database.url)).close()
      try database.connect().script("UPDATE sheaf.migration SET checksum = 'x'")
      await #expect(throws: JobStoreError(.schemaChanged, "")) {
        try await PostgresJobStore.connect(url: database.url)
      }
    }
  }

  @Test func `a failed migration leaves nothing behind`() async throws {
    try await TestDatabase.with(isEmpty: true) { database in
      try database.connect().script("CREATE SCHEMA sheaf; CREATE TABLE sheaf.task (stranger integer)")
      await #expect(throws: JobStoreError(.internal, "")) { try await PostgresJobStore.connect(url: database.url) }
      #expect(try database.query("SELECT tablename::text FROM pg_tables WHERE schemaname = 'sheaf'") == ["task"])
    }
  }

  /// Task 0 is ready, task 1 is running with two leases, task 2 failed once and is ready, and task 3 is the stitch
  /// task.
  private static let meaningless = [
    "UPDATE sheaf.task SET state = 'running' WHERE ordinal = 0",
    "UPDATE sheaf.task SET state = 'done' WHERE ordinal = 0",
    "UPDATE sheaf.task SET state = 'failed' WHERE ordinal = 0",
    "UPDATE sheaf.task SET state = 'asleep' WHERE ordinal = 0",
    "UPDATE sheaf.task SET kind = 'stitch' WHERE ordinal = 0",
    "UPDATE sheaf.task SET kind = 'picture' WHERE ordinal = 0",
    "UPDATE sheaf.task SET epoch = -1 WHERE ordinal = 0",
    "UPDATE sheaf.task SET cost = 'NaN' WHERE ordinal = 0",
    "UPDATE sheaf.task SET work = -1 WHERE ordinal = 0",
    "UPDATE sheaf.task SET is_cached = true WHERE ordinal = 0",
    "UPDATE sheaf.task SET result_digest = repeat('0', 64), result_size = 1 WHERE ordinal = 0",
    "UPDATE sheaf.task SET state = 'done', result_digest = repeat('0', 64), result_size = 1 WHERE ordinal = 1",
    "UPDATE sheaf.task SET \(done), published_epoch = 0 WHERE ordinal = 1",
    "UPDATE sheaf.task SET \(done), published_epoch = epoch + 1 WHERE ordinal = 1",
    "UPDATE sheaf.task SET \(done), published_epoch = 1, is_cached = true WHERE ordinal = 1",
    "UPDATE sheaf.task SET published_epoch = 1 WHERE ordinal = 1",
    "UPDATE sheaf.task SET took = 1 WHERE ordinal = 1",
    "UPDATE sheaf.task SET \(done), published_epoch = 1, took = -1 WHERE ordinal = 1",
    "UPDATE sheaf.task SET fingerprint = 'x' WHERE ordinal = 0",
    "UPDATE sheaf.task SET input_sizes = '{1}' WHERE ordinal = 0",
    "UPDATE sheaf.task SET epoch = 0 WHERE ordinal = 1",
    "UPDATE sheaf.task SET job = 99",
    "UPDATE sheaf.lease SET epoch = 0 WHERE NOT is_backup",
    "UPDATE sheaf.lease SET epoch = 2 WHERE NOT is_backup",
    "UPDATE sheaf.lease SET is_backup = false",
    "UPDATE sheaf.lease SET is_backup = true",
    "UPDATE sheaf.lease SET worker = 'anna'",
    "UPDATE sheaf.lease SET worker = NULL",
    "UPDATE sheaf.lease SET session = NULL",
    "UPDATE sheaf.lease SET until = NULL",
    "UPDATE sheaf.lease SET moved_at = NULL",
    "UPDATE sheaf.lease SET granted_at = NULL",
    "UPDATE sheaf.lease SET progress = -1",
    "UPDATE sheaf.lease SET ordinal = 99 WHERE is_backup",
    """
    \(backup(epoch: 3, worker: "carl"))
    """,
    "UPDATE sheaf.attempt SET epoch = 0",
    "UPDATE sheaf.attempt SET ended_as = 'tired'",
    "UPDATE sheaf.attempt SET worker = NULL",
    "UPDATE sheaf.attempt SET message = NULL",
    "UPDATE sheaf.attempt SET ran = -1",
    "UPDATE sheaf.attempt SET log = NULL",
    "UPDATE sheaf.attempt SET signal = NULL",
    "UPDATE sheaf.attempt SET exit_code = NULL",
    "UPDATE sheaf.attempt SET cpu_milliseconds = -1",
    "UPDATE sheaf.attempt SET peak_bytes = -1",
    "UPDATE sheaf.attempt SET ordinal = 99",
    "INSERT INTO sheaf.attempt (job, ordinal, epoch, worker, ended_as, message) VALUES (1, 2, 1, 'bert', 'media', '')",
    "UPDATE sheaf.job SET build = NULL",
    "UPDATE sheaf.job SET purpose = 'inspection'",
    "UPDATE sheaf.job SET purpose = 'pleasure'",
    "UPDATE sheaf.job SET state = 'done'",
    "UPDATE sheaf.job SET state = 'done', ended_at = now()",
    "UPDATE sheaf.job SET state = 'failed', ended_at = now()",
    "UPDATE sheaf.job SET state = 'failed', ended_at = now(), failure_reason = 'farm'",
    "UPDATE sheaf.job SET \(failed), failure_reason = 'moon'",
    "UPDATE sheaf.job SET \(failed), failure_reason = 'farm', failure_task = 1",
    "UPDATE sheaf.job SET \(failed), failure_reason = 'task'",
    "UPDATE sheaf.job SET \(failed), failure_reason = 'task', failure_task = -1",
    "UPDATE sheaf.job SET \(failed), failure_reason = 'farm', failure_problems = ''",
    "UPDATE sheaf.job SET state = 'cancelled'",
    "UPDATE sheaf.job SET state = 'paused'",
    "UPDATE sheaf.job SET ended_at = now()",
    "UPDATE sheaf.job SET failure_reason = 'farm', failure_message = 'm'",
    "UPDATE sheaf.job SET failure_task = 1",
    "UPDATE sheaf.job SET failure_problems = ''",
    "UPDATE sheaf.job SET id = 'No Id'",
    "UPDATE sheaf.worker SET session = NULL",
    "UPDATE sheaf.worker SET slots = -1",
    "UPDATE sheaf.worker SET session = -1",
    "UPDATE sheaf.lease SET session = -1",
    "UPDATE sheaf.lease SET video_cost = NULL",
    "UPDATE sheaf.task SET retried_at = -1 WHERE ordinal = 2",
    "UPDATE sheaf.task SET retried_at = epoch + 1 WHERE ordinal = 2",
    "UPDATE sheaf.task SET publisher = 'anna' WHERE ordinal = 0",
    "UPDATE sheaf.job SET submission = ''",
    "UPDATE sheaf.job SET is_fetched = true",
    "UPDATE sheaf.job SET probes_done = 1",
    "UPDATE sheaf.job SET videos_done = -1",
    "UPDATE sheaf.job SET videos_done = 4",
    "UPDATE sheaf.job SET videos_cached = 1",
    "UPDATE sheaf.job SET work_done = 301",
    "UPDATE sheaf.job SET audios = -1",
    "UPDATE sheaf.job SET audios_done = 1",
    "UPDATE sheaf.job SET median_pace = -1",
    "UPDATE sheaf.job SET state = 'probing'",
    "UPDATE sheaf.job SET state = 'probing', build = NULL",
    "INSERT INTO sheaf.farm DEFAULT VALUES",
  ]

  @Test func `a state that has no meaning cannot be stored`() async throws {
    try await Self.withSample { database in
      let connection = try database.connect()
      for change in Self.meaningless {
        let error = #expect(throws: JobStoreError.self, "\(change)") { try connection.script(change) }
        #expect(error?.condition?.hasPrefix("23") == true, "\(change): \(String(describing: error))")
      }
    }
  }

  /// Adds a backup lease of the running task.
  private static func backup(epoch: Int, worker: String) -> String {
    """
    INSERT INTO sheaf.lease (job, ordinal, epoch, worker, session, is_away, is_backup, granted_at, until, moved_at,
        moved, progress, video_cost, video_work)
      SELECT job, ordinal, \(epoch), '\(worker)', 1, false, true, granted_at, until, moved_at, 0, 0, video_cost, 0
      FROM sheaf.lease WHERE NOT is_backup
    """
  }

  private static let done = "state = 'done', result_digest = repeat('0', 64), result_size = 1"
  private static let failed = "state = 'failed', ended_at = now(), failure_message = 'm'"

  private static let meaningful = [
    "UPDATE sheaf.task SET \(done), published_epoch = 1, took = 1 WHERE ordinal = 1",
    "UPDATE sheaf.job SET \(failed), failure_reason = 'task', failure_task = 1",
    "UPDATE sheaf.job SET \(failed), failure_reason = 'document', failure_problems = ''",
    "UPDATE sheaf.lease SET epoch = 3 WHERE is_backup",
    "UPDATE sheaf.task SET retried_at = epoch WHERE ordinal = 2",
    "UPDATE sheaf.job SET videos_done = 3, videos_cached = 1, work_done = 300, median_pace = 0, submission = 's'",
    "UPDATE sheaf.job SET state = 'probing', build = NULL, videos = 0, work = 0",
  ]

  /// What the test above changes can be changed: its statements fail because of their values.
  @Test func `a state that has a meaning can be stored`() async throws {
    try await Self.withSample { database in
      let connection = try database.connect()
      for change in Self.meaningful {
        #expect(throws: Never.self, "\(change)") {
          try connection.script("BEGIN; \(change); SET CONSTRAINTS ALL IMMEDIATE; ROLLBACK")
        }
      }
    }
  }

  @Test func `deleting a job deletes all its rows`() async throws {
    try await Self.withSample { database in
      try database.connect().script("DELETE FROM sheaf.job")
      let left = "SELECT job::text FROM sheaf.task UNION ALL SELECT job::text FROM sheaf.lease"
      #expect(try database.query("\(left) UNION ALL SELECT job::text FROM sheaf.attempt").isEmpty)
    }
  }

  private static func withSample(_ body: (TestDatabase) async throws -> Void) async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.register(.sample(.anna))
      try await store.submitRendering(
        "j1", tasks: [.sample(.video, cost: 1), .sample(.video, cost: 2), .sample(.video, cost: 3)])
      let failing = try #require(try await store.claimOne()).lease
      let failure = TaskFailure(end: .media, message: "bad packet", process: .sample)
      _ = try await store.fail(failing, worker: .anna, failure: failure)
      let lease = try #require(try await store.claimOne()).lease
      try #require((failing.task.ordinal, lease.task.ordinal) == (2, 1))
      try database.connect().script(
        """
        UPDATE sheaf.task SET epoch = 3 WHERE ordinal = 1;
        \(Self.backup(epoch: 2, worker: "bert"))
        """)
      try await body(database)
      await store.close()
    }
  }

  /// A new database has no statistics. The plan must be right all the same.
  @Test func `a claim reads the index in its order`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.submitRendering("j1", tasks: .videos(10_000))
      for analysed in [false, true] {
        let text = try Self.explain(
          Statement.readyTasks, "(text, text[], bigint, bigint, bigint, text[])", "('b1', '{w}', 4, 5, 6, '{gpu}')",
          analysed, database)
        #expect(text.contains("Index Scan using task_ready on task (actual rows=4 loops=1)"), "\(text)")
        #expect(!text.contains("Seq Scan on task"), "\(text)")
      }
      await store.close()
    }
  }

  /// An idle worker claims every second, mostly for nothing: only the few tasks that run are read.
  @Test func `looking for slow video tasks reads no others`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      for number in 1...4 { try await store.submitRendering("j\(number)", tasks: .videos(2_500)) }
      let connection = try database.connect()
      try connection.script(
        """
        UPDATE sheaf.task SET state = 'done', epoch = 1, published_epoch = 1, result_digest = repeat('0', 64),
          result_size = 1, took = 1000 WHERE kind = 'video' AND ordinal > 0;
        UPDATE sheaf.job SET videos_done = videos - 1, median_pace = 1000
        """)
      #expect(try await store.claim(worker: .anna, build: "b1", limit: 2).map(\.name) == ["j1/0", "j2/0"])
      for (analysed, isSlow) in [(false, false), (false, true), (true, false), (true, true)] {
        let granted = isSlow ? "now() - interval '1 h'" : "now()"
        try connection.script("UPDATE sheaf.lease SET granted_at = \(granted) WHERE job = 2")
        let text = try Self.explain(
          Statement.backedUpTasks, "(text, text[], bigint, bigint, float8, text[])",
          "('b1', '{w}', 4, 5000000, 1.5, '{}')", analysed, database)
        #expect(!text.contains("Seq Scan on task"), "\(text)")
        #expect(text.hasPrefix("Limit (actual rows=\(isSlow ? 1 : 0) loops=1)"), "\(text)")
      }
      await store.close()
    }
  }

  /// A heartbeat changes no row of another table, and no index.
  @Test func `a renewal touches leases only`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.submitRendering("j1", tasks: .videos(5_000))
      let leases = try await store.claim(worker: .anna, build: "b1", limit: 50).map(\.lease)
      let tasks = "SELECT xmin::text || ctid::text FROM sheaf.task UNION ALL SELECT xmin::text FROM sheaf.job"
      let before = try database.query(tasks)
      #expect(try await store.renew(worker: .anna, leases: leases, done: 1).isEmpty)
      #expect(try database.query(tasks) == before)
      for analysed in [false, true] {
        let text = try Self.explain(
          Statement.renew, "(text[], int[], bigint[], text[], bigint[], bigint[], bigint[], bigint)",
          "('{j1,j1}', '{3,7}', '{1,1}', '{anna,anna}', '{1,1}', '{2,2}', '{0,0}', 15000000)", analysed, database)
        #expect(text.hasPrefix("CTE Scan on held (actual rows=2 loops=1)"), "\(text)")
        #expect(!text.contains("Seq Scan") && !text.contains("on task"), "\(text)")
      }
      await store.close()
    }
  }

  /// The plan with which a prepared statement is executed.
  private static func explain(
    _ statement: Statement, _ types: String, _ values: String, _ analysed: Bool, _ database: TestDatabase
  ) throws -> String {
    let connection = try database.connect()
    if analysed { try connection.script("ANALYZE") }
    try connection.script(
      "SET plan_cache_mode = force_generic_plan; PREPARE explained \(types) AS \(statement.text)")
    return try connection.run(
      Statement("explain", "EXPLAIN (ANALYZE, TIMING off, COSTS off) EXECUTE explained \(values)")
    ).map { (fields) throws(JobStoreError) in try fields.text() }.joined(separator: "\n")
  }
}
