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
      #expect(try database.query("SELECT version::text FROM sheaf.migration") == ["1"])
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

  private static func withSample(_ body: (TestDatabase) async throws -> Void) async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.submitRendering("j1", tasks: [.sample(.picture, cost: 1), .sample(.picture, cost: 2)])
      _ = try await store.claimOne()
      try await body(database)
      await store.close()
    }
  }

  /// In the first minute there are no statistics: the plan must be right all the same.
  @Test(arguments: [false, true])
  func aClaimReadsTheIndexInItsOrder(analysed: Bool) async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.submitRendering("j1", tasks: .pictures(10_000))
      let connection = try database.connect()
      if analysed { try connection.script("ANALYZE") }
      try connection.script(
        """
        SET plan_cache_mode = force_generic_plan;
        PREPARE explained (text, text, bigint, bigint, bigint) AS \(Statement.claim.text)
        """)
      let plan = try connection.run(
        Statement("explain", "EXPLAIN (ANALYZE, TIMING off, COSTS off) EXECUTE explained ('w', 'b1', 4, 15, 5)")
      ).map { (fields) throws(JobStoreError) in try fields.text() }
      let text = plan.joined(separator: "\n")
      #expect(text.contains("Index Scan using task_ready on task task_1 (actual rows=4 loops=1)"), "\(text)")
      #expect(!text.contains("Seq Scan on task"), "\(text)")
      await store.close()
    }
  }
}
