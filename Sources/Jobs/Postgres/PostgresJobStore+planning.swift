extension PostgresJobStore {
  package func submit(_ job: NewJob) throws(JobStoreError) {
    try job.validate()
    try perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        let inserted = try connection.run(
          .insertJob,
          [.text(job.id.description), .text(job.name.withoutNul), .int(job.priority), .bytes(job.request)])
        guard var fields = inserted.first else {
          throw JobStoreError(.duplicateJob, "there is already a job \(job.id)")
        }
        try insert(job.tasks, of: try fields.long(), from: 0, on: connection)
        _ = try connection.run(.notify)
      }
    }
  }

  package func jobsToPlan() throws(JobStoreError) -> [JobID] {
    try perform { (connection) throws(JobStoreError) in
      try connection.run(.jobsToPlan).map { (fields) throws(JobStoreError) in JobID(try fields.text()) }
    }
  }

  package func plan(_ job: JobID, build: String, tasks: [NewTask]) throws(JobStoreError) -> Bool {
    try tasks.validatePlan()
    return try perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        let locked = try connection.run(.lockDescribing, [.text(job.description), .text(build.withoutNul)])
        guard var fields = locked.first else { return false }
        let number = try fields.long()
        // Asked after the lock was had, so that what its former holder published counts.
        guard var described = try connection.run(.described, [.long(number)]).first else { return false }
        let count = try described.int()
        guard try described.flag() else { throw JobStoreError.describing(job) }
        _ = try connection.run(.startRendering, [.long(number), .text(build.withoutNul)])
        try insert(tasks, of: number, from: Int(count), on: connection)
        _ = try connection.pipeline([
          (.readyStitch, [.text(job.description)]), (.finishJob, [.text(job.description)]),
          (.closeTasks, [.text(job.description)]), (.notify, []),
        ])
        return true
      }
    }
  }

  /// In batches of a few megabytes.
  private func insert(
    _ tasks: [NewTask], of number: Int64, from first: Int, on connection: Connection
  ) throws(JobStoreError) {
    var start = 0
    while start < tasks.count {
      var end = start
      var bytes = 0
      while end < tasks.count, end == start || bytes + tasks[end].payload.count <= 4 << 20, end - start < 5_000 {
        bytes += tasks[end].payload.count
        end += 1
      }
      let batch = tasks[start..<end]
      _ = try connection.run(
        .insertTasks,
        [
          .long(number), .int(Int32(first + start)), .texts(batch.map(\.kind.rawValue)), .blobs(batch.map(\.payload)),
          // PostgreSQL's arrays have no rows of unlike lengths, so each task's inputs are one text, of digits and
          // commas alone.
          .texts(batch.map { "{\($0.inputs.map(\.digest).joined(separator: ","))}" }),
          .texts(batch.map { "{\($0.inputs.map { String($0.size) }.joined(separator: ","))}" }),
          .texts(batch.map(\.fingerprint)), .doubles(batch.map(\.cost)), .longs(batch.map(\.work)),
          .texts(batch.map(\.cached?.digest)), .longs(batch.map(\.cached?.size)),
        ])
      start = end
    }
  }
}

extension Statement {
  /// In the same transaction as whatever is told.
  static let notify = Statement("notify", "SELECT pg_catalog.pg_notify('sheaf_wake', '')")

  fileprivate static let insertJob = Statement(
    "insert-job",
    """
    INSERT INTO sheaf.job (id, name, priority, request, submitted_at)
    VALUES ($1, $2, $3, $4, sheaf.now())
    ON CONFLICT (id) DO NOTHING RETURNING number
    """)

  fileprivate static let insertTasks = Statement(
    "insert-tasks",
    """
    INSERT INTO sheaf.task (job, ordinal, kind, state, payload, input_digests, input_sizes, fingerprint, cost, work,
      progress, result_digest, result_size, is_cached)
    SELECT $1, $2 + new.place::integer - 1, new.kind,
      CASE WHEN new.cached_digest IS NOT NULL THEN 'done' WHEN new.kind = 'stitch' THEN 'waiting' ELSE 'ready' END,
      new.payload, new.digests::text[], new.sizes::bigint[], new.fingerprint, new.cost, new.work,
      CASE WHEN new.cached_digest IS NOT NULL THEN new.work ELSE 0 END,
      new.cached_digest, new.cached_size, new.cached_digest IS NOT NULL
    FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11) WITH ORDINALITY
      AS new (kind, payload, digests, sizes, fingerprint, cost, work, cached_digest, cached_size, place)
    """)

  fileprivate static let jobsToPlan = Statement(
    "jobs-to-plan",
    """
    SELECT id FROM sheaf.job
    WHERE state = 'describing' AND NOT EXISTS (
      SELECT FROM sheaf.task WHERE task.job = job.number AND task.state <> 'done' AND task.kind <> 'stitch')
    ORDER BY number
    """)

  fileprivate static let lockDescribing = Statement(
    "lock-describing",
    """
    SELECT number FROM sheaf.job
    WHERE id = $1 AND state = 'describing' AND (build IS NULL OR build = $2) FOR UPDATE
    """)

  fileprivate static let described = Statement(
    "described",
    "SELECT count(*)::integer, coalesce(bool_and(state = 'done'), true) FROM sheaf.task WHERE job = $1")

  fileprivate static let startRendering = Statement(
    "start-rendering", "UPDATE sheaf.job SET state = 'rendering', build = $2 WHERE number = $1")

  /// Whatever the task was that was done last: of all others that were done at once, only the holder of the job's lock
  /// sees them all.
  static let readyStitch = Statement(
    "ready-stitch",
    """
    UPDATE sheaf.task SET state = 'ready'
    WHERE job = (SELECT number FROM sheaf.job WHERE id = $1 AND state = 'rendering')
      AND kind = 'stitch' AND state = 'waiting'
      AND NOT EXISTS (
        SELECT FROM sheaf.task piece WHERE piece.job = task.job AND piece.state <> 'done' AND piece.kind <> 'stitch')
    """)

  static let finishJob = Statement(
    "finish-job",
    """
    UPDATE sheaf.job SET state = 'done', ended_at = sheaf.now(), output_digest = stitch.result_digest,
      output_size = stitch.result_size
    FROM sheaf.task stitch
    WHERE job.id = $1 AND job.state = 'rendering'
      AND stitch.job = job.number AND stitch.kind = 'stitch' AND stitch.state = 'done'
    """)

  /// Takes back the tasks of a job that has ended: they wait for ever, and nobody holds a lease of them. Rows are locked
  /// in order, as everywhere, so that no two transactions wait for each other.
  static let closeTasks = Statement(
    "close-tasks",
    """
    WITH open AS MATERIALIZED (
      SELECT job, ordinal FROM sheaf.task
      WHERE job = (SELECT number FROM sheaf.job WHERE id = $1 AND state IN ('done', 'failed', 'cancelled'))
        AND state IN ('ready', 'leased')
      ORDER BY job, ordinal FOR UPDATE
    )
    UPDATE sheaf.task SET state = 'waiting', worker = NULL, leased_until = NULL, moved_at = NULL, granted_at = NULL,
      progress = 0, \(clearTwin)
    FROM open WHERE task.job = open.job AND task.ordinal = open.ordinal
    """)
}
