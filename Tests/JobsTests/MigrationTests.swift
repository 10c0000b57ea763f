import Testing

@testable import Jobs

/// A farm that goes on after an update keeps its films and the leases of its workers.
@Suite("Databases of earlier versions", .timeLimit(.minutes(10)))
struct MigrationTests {
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
      #expect(try await store.tasks(of: JobID("j1")).map(\.state) == [.done, .running, .ready, .waiting])
      let lease = Lease(task: TaskID(job: JobID("j1"), ordinal: 1), epoch: 2)
      #expect(try await store.lost(lease, of: .anna, done: 3).isEmpty)
      let grant = try #require(try await store.claimOne(.bert))
      #expect(grant.lease == Lease(task: TaskID(job: JobID("j1"), ordinal: 2), epoch: 1))
      #expect(try await store.publish(lease, worker: .anna, result: content(2)) == .published)
      #expect(try await store.publish(grant.lease, worker: .bert, result: content(2)) == .published)
      #expect(try await store.claimOne(.bert)?.kind == .stitch)
      await store.close()
    }
  }

  @Test func aDatabaseOfTheSecondVersionIsTakenOver() async throws {
    try await TestDatabase.with { database in
      try database.makeSecondVersion()
      let store = try await PostgresJobStore.connect(url: database.url)
      try await requireJobs(of: store)
      try await requireRunningJob(of: store)
      try await requireFailedJobs(of: store)
      #expect(
        try await store.workers().map { "\($0.id) \($0.session) \($0.name) \($0.busy)" } == ["anna anna host 2"])
      #expect(try database.misplacedRows().isEmpty)
      try database.requirePresentNames()
      await store.close()
    }
  }

  private func requireJobs(of store: PostgresJobStore) async throws {
    let jobs = try await store.jobs(.render, limit: 99).reversed()
    #expect(
      jobs.map { "\($0.id) \($0.state)" } == [
        "probing probing", "running rendering", "done done", "problems failed", "document failed", "media failed",
        "sound failed", "farm failed", "cancelled cancelled",
      ])
    #expect(
      jobs.map { $0.failure?.reason } == [nil, nil, nil, .document, .task, .task, .task, .farm, nil])
    #expect(jobs.allSatisfy { $0.name == "film" && $0.request == [1, 2] })
    #expect(try await store.job(JobID("done"))?.output == content(1, size: 5))
    let inspections = try await store.jobs(.inspection, limit: 99)
    #expect(inspections.map { "\($0.id) \($0.state)" } == ["inspect-b-0 cancelled", "inspect-a-0 probing"])
    #expect(try await store.inspections(olderThan: .seconds(600)) == [JobID("inspect-a-0")])
    #expect(try await store.jobsToPlan() == [JobID("probing")])
  }

  private func requireRunningJob(of store: PostgresJobStore) async throws {
    let tasks = try await store.tasks(of: JobID("running"))
    #expect(tasks.map(\.kind) == [.probe, .video, .video, .video, .video, .video, .video, .audio, .stitch])
    #expect(
      tasks.map(\.state) == [.done, .done, .running, .running, .ready, .ready, .ready, .done, .waiting])
    #expect(tasks.map(\.epoch) == [1, 4, 1, 7, 3, 2, 2, 0, 0])
    #expect(tasks.map(\.publishedEpoch) == [1, 3, nil, nil, nil, nil, nil, nil, nil])
    #expect(tasks.map(\.isCached) == [false, false, false, false, false, false, false, true, false])
    #expect(tasks.allSatisfy { $0.work == 9 && $0.payload == [7] })
    let anna = SessionID("anna")
    #expect(tasks[2].leases == [HeldLease(epoch: 1, worker: .anna, session: anna, progress: 4)])
    #expect(
      tasks[3].leases == [
        HeldLease(epoch: 5, worker: .anna, session: anna, progress: 2),
        HeldLease(epoch: 7, worker: .bert, session: SessionID("bert"), isBackup: true, progress: 1),
      ])
    #expect(tasks.allSatisfy { $0.leases.isEmpty == ($0.state != .running) })
    let unknown = "the message was not recorded"
    #expect(tasks[1].attempts == [Attempt(epoch: 4, worker: .carl, end: .media, message: "bad packet")])
    #expect(
      tasks[3].attempts == [
        Attempt(epoch: 4, worker: .carl, end: .media, message: unknown),
        Attempt(epoch: 6, worker: .carl, end: .hung, message: "worker carl made no progress for too long"),
      ])
    #expect(
      tasks[4].attempts == [
        Attempt(epoch: 1, worker: .bert, end: .media, message: unknown),
        Attempt(epoch: 2, worker: .anna, end: .media, message: unknown),
        Attempt(epoch: 3, worker: .bert, end: .released, message: "the connection of worker bert closed"),
      ])
    #expect(
      tasks[5].attempts == [
        Attempt(epoch: 2, worker: WorkerID("unknown"), end: .released, message: "the disk of media: is full")
      ])
    #expect(
      tasks[6].attempts == [
        Attempt(epoch: 2, worker: .carl, end: .released, message: "the lease of worker carl ran out")
      ])
    #expect([0, 2, 7, 8].allSatisfy { tasks[$0].attempts.isEmpty })
  }

  private func requireFailedJobs(of store: PostgresJobStore) async throws {
    let problems = #"[{"message":"clip 2 ends after \u0000its media","pointer":"/tracks/0"}]"#
    #expect(
      try await store.job(JobID("problems"))?.failure
        == JobFailure(
          reason: .document, message: "the document does not hold against its media", problems: Array(problems.utf8)))
    #expect(
      try await store.job(JobID("document"))?.failure == JobFailure(reason: .task, message: "no such font", task: 1))
    #expect(
      try await store.job(JobID("media"))?.failure
        == JobFailure(
          reason: .task,
          message: "video task media/0 failed for good (failures: 3, the last on worker carl): bad packet: media: 3",
          task: 0))
    #expect(
      try await store.job(JobID("sound"))?.failure
        == JobFailure(
          reason: .task,
          message: "audio task sound/0 failed for good (failures: 1, the last on worker carl): "
            + "worker carl made no progress for too long", task: 0))
    #expect(
      try await store.job(JobID("farm"))?.failure
        == JobFailure(reason: .farm, message: "the job cannot be planned: describe task 1 is odd"))
    let document = try await store.task("document", 1)
    #expect(document.state == .failed)
    #expect(
      document.attempts == [
        Attempt(epoch: 1, worker: .bert, end: .media, message: "the message was not recorded"),
        Attempt(epoch: 2, worker: WorkerID("unknown"), end: .document, message: "no such font"),
      ])
    let media = try await store.task("media", 0)
    #expect(media.failedOn == [.anna, .bert, .carl])
    #expect(media.attempts.last?.message == "bad packet: media: 3")
    #expect(try await store.task("sound", 0).attempts.map(\.end) == [.hung])
  }

  @Test func theFarmGoesOnFromTheSecondVersion() async throws {
    try await TestDatabase.with { database in
      try database.makeSecondVersion()
      let store = try await PostgresJobStore.connect(url: database.url)
      func lease(_ ordinal: Int32, _ epoch: Int64) -> Lease {
        Lease(task: TaskID(job: JobID("running"), ordinal: ordinal), epoch: epoch)
      }
      for (held, worker) in [(lease(2, 1), WorkerID.anna), (lease(3, 5), .anna), (lease(3, 7), .bert)] {
        #expect(try await store.lost(held, of: worker, done: 9).isEmpty)
      }
      #expect(try await store.expire().isEmpty)
      // A counted attempt of an earlier version excludes its worker, and is one of the failures.
      #expect(try await store.claim(worker: .bert, build: "b1", limit: 1).map(\.name) == ["running/5"])
      #expect(
        try await store.claim(worker: .carl, build: "b1", limit: 9).map(\.lease) == [lease(4, 4), lease(6, 3)])
      let failure = TaskFailure(end: .crashed, message: "signal 11")
      #expect(try await store.publish(lease(5, 3), worker: .bert, result: content(5)) == .published)
      #expect(try await store.publish(lease(6, 3), worker: .carl, result: content(6)) == .published)
      #expect(try await store.publish(lease(2, 1), worker: .anna, result: content(2)) == .published)
      #expect(try await store.publish(lease(1, 3), worker: .anna, result: content(2)) == .duplicate)
      #expect(try await store.publish(lease(3, 7), worker: .bert, result: content(3)) == .published)
      #expect(try await store.publish(lease(3, 5), worker: .anna, result: content(3)) == .stale)
      #expect(try await store.fail(lease(4, 4), worker: .carl, failure: failure))
      #expect(try await store.task("running", 4).failedOn == [.bert, .anna, .carl])
      #expect(try await store.state("running") == .failed)
      #expect(
        try await store.plan(JobID("probing"), build: "b1", tasks: [.sample(.video), .sample(.stitch)]))
      #expect(try await store.cancel(JobID("inspect-a-0")) == .cancelled)
      #expect(try database.misplacedRows().isEmpty)
      await store.close()
    }
  }
}

extension TestDatabase {
  /// A database as version 2 left it, with rows in every state.
  func makeSecondVersion() throws {
    try Schema.update(try connect(), to: Array(Schema.migrations.prefix(2)))
    try connect().script(
      #"""
      INSERT INTO sheaf.worker VALUES ('anna', 'host', 4, 'b1', 'c1', now() - interval '1 hour', now());
      INSERT INTO sheaf.job (id, name, priority, state, request, build, error, submitted_at, ended_at,
          output_digest, output_size)
        SELECT id, 'film', 0, state, '\x0102', CASE WHEN state <> 'describing' THEN 'b1' END, error,
          now() - interval '1 hour', CASE WHEN state NOT IN ('describing', 'rendering') THEN now() END,
          CASE state WHEN 'done' THEN repeat('0', 63) || '1' END, CASE state WHEN 'done' THEN 5 END
        FROM (VALUES
          (1, 'probing', 'describing', NULL), (2, 'running', 'rendering', NULL), (3, 'done', 'done', NULL),
          (4, 'problems', 'failed', '[{"message":"clip 2 ends after \u0000its media","pointer":"/tracks/0"}]'),
          (5, 'document', 'failed', 'document: no such font'),
          (6, 'media', 'failed', 'picture task media/0 failed for good (failures: 3, the last on worker carl): '
            || 'media: bad packet: media: 3'),
          (7, 'sound', 'failed', 'sound task sound/0 failed for good (failures: 1, the last on worker carl): '
            || 'worker carl made no progress for too long'),
          (8, 'farm', 'failed', 'the job cannot be planned: describe task 1 is odd'),
          (9, 'cancelled', 'cancelled', NULL), (10, 'inspect-a-0', 'describing', NULL),
          (11, 'inspect-b-0', 'cancelled', NULL)) AS old (place, id, state, error)
        ORDER BY place;

      CREATE FUNCTION sheaf.add(job text, ordinal integer, kind text, state text, epoch bigint, twin_epoch bigint,
          worker text, progress bigint, twin_worker text, twin_progress bigint, failed_on text[], error text,
          is_cached boolean DEFAULT false)
        RETURNS void LANGUAGE sql AS $$
        INSERT INTO sheaf.task (job, ordinal, kind, state, payload, input_digests, input_sizes, fingerprint, cost, work,
          epoch, twin_epoch, worker, leased_until, moved_at, granted_at, progress,
          twin_worker, twin_until, twin_moved_at, twin_granted_at, twin_progress,
          failed_on, error, is_cached, result_digest, result_size, took)
        SELECT number, ordinal, kind, add.state, '\x07', ARRAY[repeat('a', 64)], ARRAY[3], repeat('f', 64), 1, 9,
          epoch, twin_epoch, worker, worker_row.until, worker_row.now, worker_row.now, progress,
          twin_worker, twin_row.until, twin_row.now, twin_row.now, twin_progress,
          failed_on, add.error, is_cached, CASE add.state WHEN 'done' THEN repeat('0', 63) || '2' END,
          CASE add.state WHEN 'done' THEN 4 END, CASE WHEN add.state = 'done' AND NOT is_cached THEN 1000 END
        FROM sheaf.job
          LEFT JOIN LATERAL (SELECT now() + interval '1 minute' AS until, now()) AS worker_row ON worker IS NOT NULL
          LEFT JOIN LATERAL (SELECT now() + interval '1 minute' AS until, now()) AS twin_row ON twin_worker IS NOT NULL
        WHERE job.id = add.job
      $$;
      SELECT sheaf.add('probing', 0, 'describe', 'done', 1, 0, NULL, 0, NULL, 0, '{}', NULL);
      SELECT sheaf.add('running', 0, 'describe', 'done', 1, 0, NULL, 9, NULL, 0, '{}', NULL);
      SELECT sheaf.add('running', 1, 'picture', 'done', 3, 4, NULL, 9, NULL, 0, '{carl}', 'media: bad packet');
      SELECT sheaf.add('running', 2, 'picture', 'leased', 1, 0, 'anna', 4, NULL, 0, '{}', NULL);
      SELECT sheaf.add('running', 3, 'picture', 'leased', 5, 7, 'anna', 2, 'bert', 1, '{carl,carl}',
        'worker carl made no progress for too long');
      SELECT sheaf.add('running', 4, 'picture', 'ready', 3, 2, NULL, 0, NULL, 0, '{bert,anna}',
        'the connection of worker bert closed');
      SELECT sheaf.add('running', 5, 'picture', 'ready', 2, 0, NULL, 0, NULL, 0, '{}', 'the disk of media: is full');
      SELECT sheaf.add('running', 6, 'picture', 'ready', 1, 2, NULL, 0, NULL, 0, '{}',
        'the lease of worker carl ran out');
      SELECT sheaf.add('running', 7, 'sound', 'done', 0, 0, NULL, 9, NULL, 0, '{}', NULL, true);
      SELECT sheaf.add('running', 8, 'stitch', 'waiting', 0, 0, NULL, 0, NULL, 0, '{}', NULL);
      UPDATE sheaf.task SET rests_until = now() - interval '1 second' WHERE ordinal = 4;
      SELECT sheaf.add('document', 0, 'describe', 'done', 1, 0, NULL, 9, NULL, 0, '{}', NULL);
      SELECT sheaf.add('document', 1, 'picture', 'failed', 2, 0, NULL, 0, NULL, 0, '{bert}', 'document: no such font');
      SELECT sheaf.add('media', 0, 'picture', 'failed', 3, 0, NULL, 0, NULL, 0, '{anna,bert,carl}',
        'media: bad packet: media: 3');
      SELECT sheaf.add('sound', 0, 'sound', 'failed', 1, 0, NULL, 0, NULL, 0, '{carl}',
        'worker carl made no progress for too long');
      SELECT sheaf.add('inspect-a-0', 0, 'describe', 'ready', 0, 0, NULL, 0, NULL, 0, '{}', NULL);
      DROP FUNCTION sheaf.add;
      UPDATE sheaf.job SET build = 'b2' WHERE id = 'inspect-a-0';
      """#)
  }

  /// Checks that the schema has no name of earlier versions any more.
  func requirePresentNames() throws {
    let names = """
      SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' '
          || coalesce(column_default, '')
        FROM information_schema.columns WHERE table_schema = 'sheaf'
      UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
        WHERE relnamespace = 'sheaf'::regnamespace
      UNION ALL SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'sheaf'::regnamespace
      """
    let left = try query(names).filter { name in
      ["twin", "leased_", "'leased'", "describ", "picture", "sound", "failed_on", "rests_", "noted", "error"]
        .contains { name.contains($0) }
    }
    #expect(left.isEmpty)
  }
}
