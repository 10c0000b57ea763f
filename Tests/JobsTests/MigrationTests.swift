import Testing

@testable import Jobs

/// After an update a farm keeps its jobs, the results of its probe tasks and the attempts of its tasks. Jobs that were
/// being rendered are planned again.
@Suite("Databases of earlier versions", .timeLimit(.minutes(10)), .database)
struct MigrationTests {
  @Test func aDatabaseOfTheFirstVersionIsBroughtUpToDate() async throws {
    try await TestDatabase.with(isEmpty: true) { database in
      try Schema.update(try database.connect(), to: Array(Schema.migrations.prefix(1)))
      try database.connect().script(
        """
        INSERT INTO sheaf.job (id, name, priority, state, request, build, submitted_at)
          VALUES ('j1', 'film', 0, 'rendering', '', 'b1', now()), ('j2', 'film', 0, 'describing', '', 'b1', now());
        INSERT INTO sheaf.task (job, ordinal, kind, state, payload, input_digests, input_sizes, fingerprint, cost, work,
            epoch, worker, leased_until, moved_at, progress, result_digest, result_size)
          SELECT job, ordinal, kind, state, '', '{}', '{}', repeat('0', 64), 1, 9, epoch,
            CASE state WHEN 'leased' THEN 'anna' END, CASE state WHEN 'leased' THEN now() + interval '1 hour' END,
            CASE state WHEN 'leased' THEN now() - interval '1 minute' END, 0,
            CASE state WHEN 'done' THEN repeat('1', 64) END, CASE state WHEN 'done' THEN 1 END
          FROM (VALUES
            (1, 0, 'describe', 'done', 1), (1, 1, 'picture', 'done', 1), (1, 2, 'picture', 'leased', 2),
            (1, 3, 'picture', 'ready', 0), (1, 4, 'stitch', 'waiting', 0), (2, 0, 'describe', 'leased', 2)
          ) AS task (job, ordinal, kind, state, epoch);
        """)
      let store = try await PostgresJobStore.connect(url: database.url)
      #expect(try await store.tasks(of: JobID("j1")).map(\.state) == [.done])
      #expect(try await store.tasks(of: JobID("j2")).map(\.state) == [.ready])
      #expect(try await store.jobsToPlan() == [JobID("j1")])
      #expect(try await store.plan(JobID("j1"), build: "b2", tasks: .videos(2) + [.sample(.stitch)]))
      let grants = try await store.claim(worker: .bert, build: "b2", limit: 9)
      #expect(grants.map { "\($0.lease.task) \($0.lease.epoch)" } == ["j1/1 1", "j1/2 1", "j2/0 3"])
      for grant in grants {
        #expect(try await store.publish(grant.lease, worker: .bert, result: content(2)) == .published)
      }
      #expect(try await store.claimOne(.bert, build: "b2")?.kind == .stitch)
      #expect(try await store.jobsToPlan() == [JobID("j2")])
      await store.close()
    }
  }

  @Test func aDatabaseOfTheSecondVersionIsTakenOver() async throws {
    try await TestDatabase.with(isEmpty: true) { database in
      try database.makeSecondVersion()
      let store = try await PostgresJobStore.connect(url: database.url)
      try await requireJobs(of: store)
      try await requireProbeTasks(of: store)
      try await requireEndedJobs(of: store)
      try await requireFailedJobs(of: store)
      #expect(try await store.workers().isEmpty)
      #expect(try database.query("SELECT worker FROM sheaf.lease").isEmpty)
      #expect(try database.misplacedRows().isEmpty)
      try database.requirePresentNames()
      await store.close()
    }
  }

  private func requireJobs(of store: PostgresJobStore) async throws {
    let jobs = try await store.jobs(.render, limit: 99).reversed()
    #expect(
      jobs.map { "\($0.id) \($0.state)" } == [
        "probing probing", "rendering probing", "done done", "problems failed", "document failed", "media failed",
        "sound failed", "farm failed", "cancelled cancelled", "partly probing",
      ])
    #expect(
      jobs.map { $0.failure?.reason } == [nil, nil, nil, .document, .task, .task, .task, .farm, nil, nil])
    #expect(jobs.allSatisfy { $0.name == "film" && $0.request == [1, 2] })
    #expect(jobs.allSatisfy { $0.build == ($0.state.hasEnded ? "b1" : nil) })
    #expect(try await store.job(JobID("done"))?.output == content(1, size: 5))
    let inspections = try await store.jobs(.inspection, limit: 99)
    #expect(inspections.map { "\($0.id) \($0.state)" } == ["inspect-b-0 cancelled", "inspect-a-0 probing"])
    #expect(try await store.inspections(olderThan: .seconds(600)) == [JobID("inspect-a-0")])
    #expect(try await store.jobsToPlan() == [JobID("probing"), JobID("rendering")])
  }

  private func requireProbeTasks(of store: PostgresJobStore) async throws {
    let probed = try await store.tasks(of: JobID("rendering"))
    #expect(probed.map(\.kind) == [.probe, .probe])
    #expect(probed.map(\.state) == [.done, .done])
    #expect(probed.map(\.publishedEpoch) == [2, nil])
    #expect(probed.map(\.isCached) == [false, true])
    #expect(probed.allSatisfy { $0.result == content(2, size: 4) && $0.inputs.count == 1 })
    #expect(probed.map(\.messages) == [["bad packet"], []])

    let partly = try await store.tasks(of: JobID("partly"))
    #expect(partly.map(\.kind) == [.probe, .probe, .probe, .probe])
    #expect(partly.map(\.state) == [.done, .ready, .ready, .ready])
    #expect(partly.map(\.epoch) == [1, 5, 3, 0])
    #expect(partly.dropFirst().allSatisfy { $0.payload == Self.probePayload })
    #expect(try await store.task("inspect-a-0", 0).payload == Self.probePayload)
    // The lease with epoch 5 was held.
    #expect(
      partly[1].attempts == [
        Attempt(epoch: 3, worker: .carl, end: .media, message: Self.unknown),
        Attempt(epoch: 4, worker: .carl, end: .hung, message: "worker carl made no progress for too long"),
      ])
    #expect(
      partly[2].attempts == [
        Attempt(epoch: 1, worker: .bert, end: .media, message: Self.unknown),
        Attempt(epoch: 2, worker: .anna, end: .media, message: Self.unknown),
        Attempt(epoch: 3, worker: .bert, end: .released, message: "the connection of worker bert closed"),
      ])
    #expect([0, 3].allSatisfy { partly[$0].attempts.isEmpty })
  }

  private static let probePayload = Array(#"{"probe":{}}"#.utf8)
  private static let unknown = "the message was not recorded"

  private func requireEndedJobs(of store: PostgresJobStore) async throws {
    let done = try await store.tasks(of: JobID("done"))
    #expect(done.map(\.kind) == [.probe, .video, .audio, .stitch])
    #expect(done.allSatisfy { $0.state == .done && $0.result == content(2, size: 4) })
    #expect(done.map(\.epoch) == [1, 4, 0, 1])
    #expect(done.map(\.publishedEpoch) == [1, 3, nil, 1])
    #expect(done.map(\.isCached) == [false, false, true, false])
    #expect(done[1].attempts == [Attempt(epoch: 4, worker: .carl, end: .media, message: "bad packet")])
    #expect([0, 2, 3].allSatisfy { done[$0].attempts.isEmpty })

    let cancelled = try await store.tasks(of: JobID("cancelled"))
    #expect(cancelled.map(\.kind) == [.probe, .video, .video, .video, .video, .stitch])
    #expect(cancelled.map(\.state) == [.done, .waiting, .waiting, .waiting, .waiting, .waiting])
    #expect(cancelled.map(\.epoch) == [1, 1, 3, 2, 2, 0])
    #expect(
      cancelled[2].attempts == [
        Attempt(epoch: 1, worker: .bert, end: .media, message: Self.unknown),
        Attempt(epoch: 2, worker: .anna, end: .media, message: Self.unknown),
        Attempt(epoch: 3, worker: .bert, end: .released, message: "the connection of worker bert closed"),
      ])
    #expect(
      cancelled[3].attempts == [
        Attempt(epoch: 2, worker: WorkerID("unknown"), end: .released, message: "the disk of media: is full")
      ])
    #expect(
      cancelled[4].attempts == [
        Attempt(epoch: 2, worker: .carl, end: .released, message: "the lease of worker carl ran out")
      ])
    #expect([0, 1, 5].allSatisfy { cancelled[$0].attempts.isEmpty })
    #expect((done + cancelled).allSatisfy { $0.work == 9 && $0.payload == ($0.kind == .probe ? Self.old : [7]) })
  }

  private static let old = Array(#"{"describe":{}}"#.utf8)

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
        Attempt(epoch: 1, worker: .bert, end: .media, message: Self.unknown),
        Attempt(epoch: 2, worker: WorkerID("unknown"), end: .document, message: "no such font"),
      ])
    let media = try await store.task("media", 0)
    #expect(media.failedOn == [.anna, .bert, .carl])
    #expect(media.attempts.last?.message == "bad packet: media: 3")
    #expect(try await store.task("sound", 0).attempts.map(\.end) == [.hung])
  }

  @Test func aJobThatWasRenderingIsPlannedAgainAndDone() async throws {
    try await TestDatabase.with(isEmpty: true) { database in
      try database.makeSecondVersion()
      #expect(
        try database.query("SELECT DISTINCT state FROM sheaf.task WHERE job = 2 AND kind = 'picture' ORDER BY state")
          == ["done", "leased", "ready"])
      let store = try await PostgresJobStore.connect(url: database.url)
      let job = JobID("rendering")
      #expect(try await store.jobsToPlan().contains(job))
      #expect(
        try await store.plan(
          job, build: "b2", tasks: .videos(3) + [.sample(.audio, cached: content(9)), .sample(.stitch)]))
      #expect(try await store.task("rendering", 2).id.ordinal == 2)
      let videos = try await store.claim(worker: .anna, build: "b2", limit: 3)
      #expect(videos.map(\.name) == ["rendering/2", "rendering/3", "rendering/4"])
      #expect(videos.allSatisfy { $0.kind == .video && $0.lease.epoch == 1 })
      for (number, video) in videos.enumerated() {
        #expect(try await store.publish(video.lease, worker: .anna, result: content(number)) == .published)
      }
      let stitch = try #require(try await store.claimOne(.anna, build: "b2"))
      #expect(stitch.name == "rendering/6" && stitch.kind == .stitch)
      #expect(stitch.inputs == [content(0), content(1), content(2), content(9)])
      #expect(try await store.publish(stitch.lease, worker: .anna, result: content(5)) == .published)
      let done = try #require(try await store.job(job))
      #expect(done.state == .done && done.build == "b2" && done.output == content(5))
      #expect(try database.misplacedRows().isEmpty)
      await store.close()
    }
  }

  @Test func aProbeTaskThatWasRunningIsClaimedAtOnceByAWorkerOfAnyBuild() async throws {
    try await TestDatabase.with(isEmpty: true) { database in
      try database.makeSecondVersion()
      let store = try await PostgresJobStore.connect(url: database.url)
      let task = TaskID(job: JobID("partly"), ordinal: 1)
      let old = Lease(task: task, epoch: 5)
      #expect(try await store.lost(old, of: .anna, done: 9) == [old])
      #expect(try await store.publish(old, worker: .anna, result: content(3)) == .stale)
      let grants = try await store.claim(worker: .anna, build: "b7", limit: 2)
      #expect(grants.map { "\($0.lease.task) \($0.lease.epoch)" } == ["inspect-a-0/0 1", "partly/1 6"])
      #expect(grants.allSatisfy { $0.kind == .probe && $0.payload == Self.probePayload })
      #expect(grants.allSatisfy { $0.inputs.count == 1 && $0.work == 9 })
      #expect(try await store.job(task.job)?.build == nil)
      let grant = try #require(grants.last)
      #expect(try await store.publish(grant.lease, worker: .anna, result: content(3)) == .published)
      #expect(try await store.task("partly", 1).attempts.count == 2)
      await store.close()
    }
  }

  @Test func theFarmGoesOnFromTheSecondVersion() async throws {
    try await TestDatabase.with(isEmpty: true) { database in
      try database.makeSecondVersion()
      let store = try await PostgresJobStore.connect(url: database.url)
      func lease(_ job: String, _ ordinal: Int32, _ epoch: Int64) -> Lease {
        Lease(task: TaskID(job: JobID(job), ordinal: ordinal), epoch: epoch)
      }
      #expect(try await store.expire().isEmpty)
      #expect(try await store.publish(lease("done", 1, 3), worker: .anna, result: content(2)) == .duplicate)
      // A counted attempt of an earlier version excludes its worker, and is one of the failures.
      #expect(
        try await store.claim(worker: .bert, build: "b2", limit: 9).map(\.name)
          == ["inspect-a-0/0", "partly/1", "partly/3"])
      #expect(try await store.claim(worker: .carl, build: "b2", limit: 9).map(\.lease) == [lease("partly", 2, 4)])
      let failure = TaskFailure(end: .crashed, message: "signal 11")
      #expect(try await store.fail(lease("partly", 2, 4), worker: .carl, failure: failure))
      #expect(try await store.task("partly", 2).failedOn == [.bert, .anna, .carl])
      #expect(try await store.state("partly") == .failed)
      #expect(
        try await store.plan(JobID("probing"), build: "b1", tasks: [.sample(.video), .sample(.stitch)]))
      #expect(try await store.cancel(JobID("inspect-a-0")) == .cancelled)
      #expect(try database.misplacedRows().isEmpty)
      await store.close()
    }
  }

  /// From version 3 on the payloads of the tasks are the same: jobs that are being rendered go on.
  @Test func jobsOfTheThirdVersionGoOn() async throws {
    try await TestDatabase.with(isEmpty: true) { database in
      try database.makeThirdVersion()
      let store = try await PostgresJobStore.connect(url: database.url)
      let summary = try #require(try await store.summary(of: JobID("rendering")))
      #expect(summary.job.state == .rendering && summary.job.build == "b1")
      #expect(summary.probes == JobSummary.Count(done: 1, total: 1))
      #expect(summary.videos == JobSummary.Count(done: 2, total: 4) && summary.cachedVideos == 1)
      #expect(summary.work == JobSummary.Count(done: 18 + 4, total: 36))
      #expect(summary.audios == JobSummary.Count(done: 1, total: 1))
      #expect(summary.running == 1 && summary.away == 0)
      let tasks = try await store.tasks(of: JobID("rendering"))
      #expect(tasks.allSatisfy { $0.label.isEmpty && $0.retriedAt == 0 && $0.publisher == nil })
      #expect(tasks[1].publishedEpoch == 1)
      #expect(tasks[3].leases.map(\.session.number) == [0])
      #expect(tasks[3].leases.map(\.workerName) == ["workshop"])
      #expect(tasks[3].leases.map(\.progress) == [4])
      #expect(tasks[4].failedOn == [.bert])

      // The worker connects again, in its first session, and goes on.
      #expect(try await store.renew(worker: .anna, session: 1, leases: [Lease(task: tasks[3].id, epoch: 1)]).isEmpty)
      #expect(try await store.expire().isEmpty)
      #expect(try await store.lost(Lease(task: tasks[3].id, epoch: 1), of: .anna, done: 8).isEmpty)
      #expect(
        try await store.publish(Lease(task: tasks[3].id, epoch: 1), worker: .anna, result: content(5)) == .published)
      let video = try #require(try await store.claimOne(.anna))
      #expect(video.name == "rendering/4" && video.lease.epoch == 2)
      #expect(try await store.publish(video.lease, worker: .anna, result: content(6)) == .published)
      #expect(try await store.claimOne(.anna)?.kind == .stitch)
      // There is some time for the workers of the job's build to come back.
      try await store.register(.sample(.bert, build: "b2"))
      #expect(try await store.jobsToRebind().isEmpty)
      #expect(try await store.workers().map(\.id) == [.bert, .anna])
      #expect(try await store.workers().map(\.session.number) == [1, 0])

      // A job that is being probed is bound no more.
      #expect(try await store.job(JobID("probing"))?.build == nil)
      #expect(try await store.claimOne(.bert, build: "b2")?.name == "probing/0")
      #expect(try await store.state("cancelled") == .cancelled)
      #expect(try await store.retry(JobID("cancelled")) == .probing)
      #expect(try database.misplacedRows().isEmpty)
      try database.requirePresentNames()
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
        SELECT id, 'film', 0, state, '\x0102', CASE WHEN id <> 'probing' THEN 'b1' END, error,
          now() - interval '1 hour', CASE WHEN state NOT IN ('describing', 'rendering') THEN now() END,
          CASE state WHEN 'done' THEN repeat('0', 63) || '1' END, CASE state WHEN 'done' THEN 5 END
        FROM (VALUES
          (1, 'probing', 'describing', NULL), (2, 'rendering', 'rendering', NULL), (3, 'done', 'done', NULL),
          (4, 'problems', 'failed', '[{"message":"clip 2 ends after \u0000its media","pointer":"/tracks/0"}]'),
          (5, 'document', 'failed', 'document: no such font'),
          (6, 'media', 'failed', 'picture task media/0 failed for good (failures: 3, the last on worker carl): '
            || 'media: bad packet: media: 3'),
          (7, 'sound', 'failed', 'sound task sound/0 failed for good (failures: 1, the last on worker carl): '
            || 'worker carl made no progress for too long'),
          (8, 'farm', 'failed', 'the job cannot be planned: describe task 1 is odd'),
          (9, 'cancelled', 'cancelled', NULL), (10, 'inspect-a-0', 'describing', NULL),
          (11, 'inspect-b-0', 'cancelled', NULL), (12, 'partly', 'describing', NULL)) AS old (place, id, state, error)
        ORDER BY place;

      CREATE FUNCTION sheaf.add(job text, ordinal integer, kind text, state text, epoch bigint, twin_epoch bigint,
          worker text, progress bigint, twin_worker text, twin_progress bigint, failed_on text[], error text,
          is_cached boolean DEFAULT false)
        RETURNS void LANGUAGE sql AS $$
        INSERT INTO sheaf.task (job, ordinal, kind, state, payload, input_digests, input_sizes, fingerprint, cost, work,
          epoch, twin_epoch, worker, leased_until, moved_at, granted_at, progress,
          twin_worker, twin_until, twin_moved_at, twin_granted_at, twin_progress,
          failed_on, error, is_cached, result_digest, result_size, took)
        SELECT number, ordinal, kind, add.state,
          CASE kind WHEN 'describe' THEN convert_to('{"describe":{}}', 'UTF8') ELSE '\x07' END,
          ARRAY[repeat('a', 64)], ARRAY[3], repeat('f', 64), 1, 9,
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
      SELECT sheaf.add('rendering', 0, 'describe', 'done', 2, 0, NULL, 9, NULL, 0, '{carl}', 'media: bad packet');
      SELECT sheaf.add('rendering', 1, 'describe', 'done', 0, 0, NULL, 0, NULL, 0, '{}', NULL, true);
      SELECT sheaf.add('rendering', 2, 'picture', 'done', 3, 4, NULL, 9, NULL, 0, '{carl}', 'media: bad packet');
      SELECT sheaf.add('rendering', 3, 'picture', 'leased', 1, 0, 'anna', 4, NULL, 0, '{}', NULL);
      SELECT sheaf.add('rendering', 4, 'picture', 'leased', 5, 7, 'anna', 2, 'bert', 1, '{carl,carl}',
        'worker carl made no progress for too long');
      SELECT sheaf.add('rendering', 5, 'picture', 'ready', 3, 2, NULL, 0, NULL, 0, '{bert,anna}',
        'the connection of worker bert closed');
      SELECT sheaf.add('rendering', 6, 'sound', 'done', 0, 0, NULL, 9, NULL, 0, '{}', NULL, true);
      SELECT sheaf.add('rendering', 7, 'stitch', 'waiting', 0, 0, NULL, 0, NULL, 0, '{}', NULL);
      SELECT sheaf.add('done', 0, 'describe', 'done', 1, 0, NULL, 9, NULL, 0, '{}', NULL);
      SELECT sheaf.add('done', 1, 'picture', 'done', 3, 4, NULL, 9, NULL, 0, '{carl}', 'media: bad packet');
      SELECT sheaf.add('done', 2, 'sound', 'done', 0, 0, NULL, 9, NULL, 0, '{}', NULL, true);
      SELECT sheaf.add('done', 3, 'stitch', 'done', 1, 0, NULL, 9, NULL, 0, '{}', NULL);
      SELECT sheaf.add('cancelled', 0, 'describe', 'done', 1, 0, NULL, 9, NULL, 0, '{}', NULL);
      SELECT sheaf.add('cancelled', 1, 'picture', 'waiting', 1, 0, NULL, 0, NULL, 0, '{}', NULL);
      SELECT sheaf.add('cancelled', 2, 'picture', 'waiting', 3, 2, NULL, 0, NULL, 0, '{bert,anna}',
        'the connection of worker bert closed');
      SELECT sheaf.add('cancelled', 3, 'picture', 'waiting', 2, 0, NULL, 0, NULL, 0, '{}',
        'the disk of media: is full');
      SELECT sheaf.add('cancelled', 4, 'picture', 'waiting', 1, 2, NULL, 0, NULL, 0, '{}',
        'the lease of worker carl ran out');
      SELECT sheaf.add('cancelled', 5, 'stitch', 'waiting', 0, 0, NULL, 0, NULL, 0, '{}', NULL);
      SELECT sheaf.add('partly', 0, 'describe', 'done', 1, 0, NULL, 9, NULL, 0, '{}', NULL);
      SELECT sheaf.add('partly', 1, 'describe', 'leased', 5, 0, 'anna', 4, NULL, 0, '{carl,carl}',
        'worker carl made no progress for too long');
      SELECT sheaf.add('partly', 2, 'describe', 'ready', 3, 0, NULL, 0, NULL, 0, '{bert,anna}',
        'the connection of worker bert closed');
      SELECT sheaf.add('partly', 3, 'describe', 'ready', 0, 0, NULL, 0, NULL, 0, '{}', NULL);
      UPDATE sheaf.task SET rests_until = now() - interval '1 second'
        WHERE cardinality(failed_on) > 1 AND kind = 'describe';
      SELECT sheaf.add('document', 0, 'describe', 'done', 1, 0, NULL, 9, NULL, 0, '{}', NULL);
      SELECT sheaf.add('document', 1, 'picture', 'failed', 2, 0, NULL, 0, NULL, 0, '{bert}', 'document: no such font');
      SELECT sheaf.add('media', 0, 'picture', 'failed', 3, 0, NULL, 0, NULL, 0, '{anna,bert,carl}',
        'media: bad packet: media: 3');
      SELECT sheaf.add('sound', 0, 'sound', 'failed', 1, 0, NULL, 0, NULL, 0, '{carl}',
        'worker carl made no progress for too long');
      SELECT sheaf.add('inspect-a-0', 0, 'describe', 'ready', 0, 0, NULL, 0, NULL, 0, '{}', NULL);
      DROP FUNCTION sheaf.add;
      """#)
  }

  /// A database as version 3 left it.
  func makeThirdVersion() throws {
    try Schema.update(try connect(), to: Array(Schema.migrations.prefix(3)))
    try connect().script(
      """
      INSERT INTO sheaf.worker (id, name, slots, build, coordinator, registered_at, last_seen, session)
        VALUES ('anna', 'workshop', 4, 'b1', 'c1', now() - interval '1 hour', now(), 'c1-7');
      INSERT INTO sheaf.job (id, name, purpose, priority, state, request, build, submitted_at, ended_at)
        SELECT id, 'film', 'render', 0, state, 'x', build, now() - interval '1 hour',
          CASE state WHEN 'cancelled' THEN now() END
        FROM (VALUES (1, 'rendering', 'rendering', 'b1'), (2, 'probing', 'probing', 'b1'),
          (3, 'cancelled', 'cancelled', 'b1')) AS old (place, id, state, build) ORDER BY place;
      INSERT INTO sheaf.task (job, ordinal, kind, state, payload, input_digests, input_sizes, fingerprint, cost, work,
          epoch, published_epoch, is_cached, result_digest, result_size, took)
        SELECT job, ordinal, kind, state, '', '{}', '{}', repeat('f', 64), 1, 9, epoch,
          CASE WHEN state = 'done' AND NOT is_cached THEN 1 END, is_cached,
          CASE state WHEN 'done' THEN repeat('0', 64) END, CASE state WHEN 'done' THEN 1 END,
          CASE WHEN state = 'done' AND NOT is_cached THEN 1000 END
        FROM (VALUES
          (1, 0, 'probe', 'done', 1, false), (1, 1, 'video', 'done', 1, false), (1, 2, 'video', 'done', 0, true),
          (1, 3, 'video', 'running', 1, false), (1, 4, 'video', 'ready', 1, false), (1, 5, 'audio', 'done', 0, true),
          (1, 6, 'stitch', 'waiting', 0, false), (2, 0, 'probe', 'ready', 0, false), (3, 0, 'probe', 'done', 1, false),
          (3, 1, 'video', 'waiting', 0, false)
        ) AS task (job, ordinal, kind, state, epoch, is_cached);
      INSERT INTO sheaf.lease (job, ordinal, epoch, worker, session, is_backup, granted_at, until, moved_at, progress)
        VALUES (1, 3, 1, 'anna', 'c1-7', false, now(), now() + interval '1 minute', now(), 4);
      INSERT INTO sheaf.attempt (job, ordinal, epoch, worker, ended_as, message)
        VALUES (1, 4, 1, 'bert', 'media', 'bad packet');
      """)
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
