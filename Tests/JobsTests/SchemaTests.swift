import Testing

@testable import Jobs

@Suite("The schema", .timeLimit(.minutes(10)))
struct SchemaTests {
  @Test func migrationsAreNumberedFromOneWithoutGaps() {
    #expect(Schema.migrations.map(\.version) == Array(1...Int32(Schema.migrations.count)))
    for migration in Schema.migrations {
      #expect(migration.name.hasPrefix(String(String(10_000 + migration.version).dropFirst()) + "_"))
      #expect(!migration.script.isEmpty)
    }
  }

  @Test func connectingAgainChangesNothing() async throws {
    try await TestDatabase.with { database in
      let first = try await PostgresJobStore.connect(url: database.url)
      try await first.submit(.sample("j1"))
      let before = try database.query("SELECT name || checksum || applied_at FROM sheaf.migration ORDER BY version")
      #expect(before.count == Schema.migrations.count)
      let second = try await PostgresJobStore.connect(url: database.url)
      #expect(
        try database.query("SELECT name || checksum || applied_at FROM sheaf.migration ORDER BY version") == before)
      #expect(try await second.jobs(limit: 9).map(\.id) == [JobID("j1")])
      await first.close()
      await second.close()
    }
  }

  @Test func coordinatorsThatStartAtOnceMakeOneSchema() async throws {
    try await TestDatabase.with { database in
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
        try database.query("SELECT version::text FROM sheaf.migration ORDER BY version")
          == Schema.migrations.map { "\($0.version)" })
      #expect(try database.query("SELECT id FROM sheaf.job ORDER BY id") == (0..<8).map { "j\($0)" })
    }
  }

  @Test func aNewerSchemaIsRefused() async throws {
    try await TestDatabase.with { database in
      await (try await PostgresJobStore.connect(url: database.url)).close()
      try database.connect().script("INSERT INTO sheaf.migration VALUES (99, '0099_later', 'x')")
      let error = await #expect(throws: JobStoreError.self) { try await PostgresJobStore.connect(url: database.url) }
      #expect(error?.code == .schemaTooNew)
      #expect(error?.message.contains("99") == true)
    }
  }

  @Test func aSchemaFromAnotherFileOfTheSameNumberIsRefused() async throws {
    try await TestDatabase.with { database in
      await (try await PostgresJobStore.connect(url: database.url)).close()
      try database.connect().script("UPDATE sheaf.migration SET checksum = 'x'")
      await #expect(throws: JobStoreError(.schemaChanged, "")) {
        try await PostgresJobStore.connect(url: database.url)
      }
    }
  }

  /// A file that was applied anywhere is never changed: a change is a new file.
  @Test func aFailedMigrationLeavesNothingBehind() async throws {
    try await TestDatabase.with { database in
      try database.connect().script("CREATE SCHEMA sheaf; CREATE TABLE sheaf.task (stranger integer)")
      await #expect(throws: JobStoreError(.internal, "")) { try await PostgresJobStore.connect(url: database.url) }
      #expect(try database.query("SELECT tablename::text FROM pg_tables WHERE schemaname = 'sheaf'") == ["task"])
    }
  }

  @Test(
    arguments: [
      "UPDATE sheaf.task SET state = 'leased' WHERE ordinal = 0",
      "UPDATE sheaf.task SET worker = 'w' WHERE ordinal = 0",
      "UPDATE sheaf.task SET state = 'done' WHERE ordinal = 0",
      "UPDATE sheaf.task SET state = 'failed' WHERE ordinal = 0",
      "UPDATE sheaf.task SET state = 'asleep' WHERE ordinal = 0",
      "UPDATE sheaf.task SET kind = 'stitch' WHERE ordinal = 0",
      "UPDATE sheaf.task SET epoch = -1 WHERE ordinal = 0",
      "UPDATE sheaf.task SET progress = 1 WHERE ordinal = 0",
      "UPDATE sheaf.task SET cost = 'NaN' WHERE ordinal = 0",
      "UPDATE sheaf.task SET is_cached = true WHERE ordinal = 0",
      "UPDATE sheaf.task SET result_digest = repeat('0', 64), result_size = 1 WHERE ordinal = 0",
      "UPDATE sheaf.task SET state = 'done', result_digest = repeat('0', 64), result_size = 1 WHERE ordinal = 0",
      "UPDATE sheaf.task SET fingerprint = 'x' WHERE ordinal = 0",
      "UPDATE sheaf.task SET input_sizes = '{1}' WHERE ordinal = 0",
      "UPDATE sheaf.task SET worker = NULL WHERE ordinal = 1",
      "UPDATE sheaf.task SET leased_until = NULL WHERE ordinal = 1",
      "UPDATE sheaf.task SET moved_at = NULL WHERE ordinal = 1",
      "UPDATE sheaf.task SET epoch = 0 WHERE ordinal = 1",
      "UPDATE sheaf.task SET state = 'ready' WHERE ordinal = 1",
      "UPDATE sheaf.task SET granted_at = NULL WHERE ordinal = 1",
      "UPDATE sheaf.task SET granted_at = now() WHERE ordinal = 0",
      "UPDATE sheaf.task SET took = 1 WHERE ordinal = 1",
      "UPDATE sheaf.task SET twin_epoch = -1 WHERE ordinal = 1",
      "UPDATE sheaf.task SET twin_epoch = epoch WHERE ordinal = 1",
      "UPDATE sheaf.task SET twin_progress = 1 WHERE ordinal = 1",
      "UPDATE sheaf.task SET twin_worker = 'bert', twin_epoch = 2 WHERE ordinal = 1",
      "UPDATE sheaf.task SET \(twin) WHERE ordinal = 0",
      "UPDATE sheaf.task SET \(twin) WHERE ordinal = 1; UPDATE sheaf.task SET twin_worker = worker WHERE ordinal = 1",
      "UPDATE sheaf.task SET \(twin) WHERE ordinal = 1; UPDATE sheaf.task SET twin_epoch = 0 WHERE ordinal = 1",
      "UPDATE sheaf.task SET \(twin) WHERE ordinal = 1; UPDATE sheaf.task SET twin_until = NULL WHERE ordinal = 1",
      "UPDATE sheaf.task SET \(twin), kind = 'sound' WHERE ordinal = 1",
      "UPDATE sheaf.task SET job = 99",
      "UPDATE sheaf.job SET build = NULL",
      "UPDATE sheaf.job SET state = 'done'",
      "UPDATE sheaf.job SET state = 'done', ended_at = now()",
      "UPDATE sheaf.job SET state = 'failed', ended_at = now()",
      "UPDATE sheaf.job SET state = 'cancelled'",
      "UPDATE sheaf.job SET state = 'paused'",
      "UPDATE sheaf.job SET ended_at = now()",
      "UPDATE sheaf.job SET error = 'e'",
      "UPDATE sheaf.job SET id = 'No Id'",
    ])
  func aStateThatMeansNothingCannotBeStored(_ change: String) async throws {
    try await Self.withSample { database in
      let connection = try database.connect()
      let error = #expect(throws: JobStoreError.self) { try connection.script(change) }
      #expect(error?.condition?.hasPrefix("23") == true, "\(String(describing: error))")
    }
  }

  /// What a twin needs to have.
  private static let twin = """
    twin_worker = 'bert', twin_epoch = 2, twin_until = now(), twin_moved_at = now(), twin_granted_at = now()
    """

  private static func withSample(_ body: (TestDatabase) async throws -> Void) async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.submitRendering("j1", tasks: [.sample(.picture, cost: 1), .sample(.picture, cost: 2)])
      _ = try await store.claimOne()
      try await body(database)
      await store.close()
    }
  }

  /// A farm that goes on after an update keeps its films, and who renders what.
  @Test func aDatabaseOfTheFirstVersionIsBroughtUpToDate() async throws {
    try await TestDatabase.with { database in
      try Schema.update(try database.connect(), to: Array(Schema.migrations.prefix(1)))
      try database.connect().script(
        """
        INSERT INTO sheaf.job (id, name, priority, state, request, build, submitted_at)
          VALUES ('j1', 'film', 0, 'rendering', '', 'b1', now());
        INSERT INTO sheaf.task (job, ordinal, kind, state, payload, input_digests, input_sizes, fingerprint, cost, work,
            epoch, worker, leased_until, moved_at, progress, result_digest, result_size)
          SELECT 1, ordinal, 'picture', state, '', '{}', '{}', repeat('0', 64), 1, 9, epoch,
            CASE state WHEN 'leased' THEN 'anna' END, CASE state WHEN 'leased' THEN now() + interval '1 hour' END,
            CASE state WHEN 'leased' THEN now() - interval '1 minute' END, 0,
            CASE state WHEN 'done' THEN repeat('1', 64) END, CASE state WHEN 'done' THEN 1 END
          FROM (VALUES (0, 'done', 1), (1, 'leased', 2), (2, 'ready', 0)) AS task (ordinal, state, epoch);
        INSERT INTO sheaf.task (job, ordinal, kind, state, payload, input_digests, input_sizes, fingerprint, cost, work)
          VALUES (1, 3, 'stitch', 'waiting', '', '{}', '{}', repeat('0', 64), 1, 9);
        """)
      let store = try await PostgresJobStore.connect(url: database.url)
      #expect(try await store.tasks(of: JobID("j1")).map(\.state) == [.done, .leased, .ready, .waiting])
      let lease = Lease(task: TaskID(job: JobID("j1"), ordinal: 1), epoch: 2)
      #expect(try await store.renew(worker: .anna, leases: [LeaseProgress(lease: lease, done: 3)]).isEmpty)
      let grant = try #require(try await store.claimOne(.bert))
      #expect(grant.lease == Lease(task: TaskID(job: JobID("j1"), ordinal: 2), epoch: 1))
      for lease in [lease, grant.lease] {
        #expect(try await store.publish(lease, result: content(2)) == .published)
      }
      #expect(try await store.claimOne(.bert)?.kind == .stitch)
      await store.close()
    }
  }

  /// In the first minute there are no statistics: the plan must be right all the same.
  @Test(arguments: [false, true])
  func aClaimReadsTheIndexInItsOrder(analysed: Bool) async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.submitRendering("j1", tasks: .pictures(10_000))
      let text = try Self.explain(
        Statement.claim, "(text, text, bigint, bigint, bigint)", "('w', 'b1', 4, 15, 5)", analysed, database)
      #expect(text.contains("Index Scan using task_ready on task task_1 (actual rows=4 loops=1)"), "\(text)")
      #expect(!text.contains("Seq Scan on task"), "\(text)")
      await store.close()
    }
  }

  /// Idle workers ask every second, mostly in vain: nothing but the few tasks that run is looked at.
  @Test(arguments: [false, true], [false, true])
  func lookingForSlowPicturesReadsNoOthers(analysed: Bool, isSlow: Bool) async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      for number in 1...4 { try await store.submitRendering("j\(number)", tasks: .pictures(2_500)) }
      let connection = try database.connect()
      try connection.script(
        """
        UPDATE sheaf.task SET state = 'done', epoch = 1, result_digest = repeat('0', 64), result_size = 1, took = 1000
          WHERE kind = 'picture' AND ordinal > 0
        """)
      #expect(try await store.claim(worker: .anna, build: "b1", limit: 2).map(\.name) == ["j1/0", "j2/0"])
      if isSlow {
        try connection.script(
          "UPDATE sheaf.task SET granted_at = now() - interval '1 h' WHERE job = 2 AND state = 'leased'")
      }
      let text = try Self.explain(
        Statement.double, "(text, text, bigint, bigint, bigint, float8, bigint)",
        "('w', 'b1', 4, 15, 5000000, 1.5, 3)", analysed, database)
      #expect(text.contains("task_alone"), "\(text)")
      #expect(!text.contains("Seq Scan on task"), "\(text)")
      #expect(text.contains("Update on task task_3 (actual rows=\(isSlow ? 1 : 0) loops=1)"), "\(text)")
      await store.close()
    }
  }

  /// How a statement is carried out once it has been prepared for good.
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
