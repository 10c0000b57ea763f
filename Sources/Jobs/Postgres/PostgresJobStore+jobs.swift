import Digest

// Jobs from their submission to their end.

extension PostgresJobStore {
  package func submit(_ job: NewJob) throws(JobStoreError) {
    try job.validate()
    try perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        let inserted = try connection.run(
          .insertJob,
          [
            .text(job.id.description), .text(job.name.withoutNul), .text(job.purpose.rawValue), .int(job.priority),
            .bytes(job.request),
          ])
        guard var fields = inserted.first else { throw JobStoreError.duplicate(job.id) }
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

  package func inspections(olderThan age: Duration) throws(JobStoreError) -> [JobID] {
    try perform { (connection) throws(JobStoreError) in
      try connection.run(.oldInspections, [.long(age.microseconds)])
        .map { (fields) throws(JobStoreError) in JobID(try fields.text()) }
    }
  }

  package func plan(_ job: JobID, build: String, tasks: [NewTask]) throws(JobStoreError) -> Bool {
    try tasks.validatePlan()
    let id = Parameter.text(job.description.withoutNul)
    return try perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        let locked = try connection.run(.lockProbing, [id, .text(build.withoutNul)])
        guard var fields = locked.first else { return false }
        let number = try fields.long()
        // Read after the lock was taken, so that what its former holder published counts.
        guard var probed = try connection.run(.probed, [.long(number)]).first else { return false }
        let count = try probed.int()
        guard try probed.flag() else { throw JobStoreError.probing(job) }
        _ = try connection.run(.startRendering, [.long(number), .text(build.withoutNul)])
        try insert(tasks, of: number, from: Int(count), on: connection)
        _ = try connection.pipeline([
          (.readyStitch, [id]), (.finishJob, [id]), (.lockOpenTasks, [id]), (.closeTasks, [id]), (.notify, []),
        ])
        return true
      }
    }
  }

  /// Inserts tasks in batches of a few megabytes.
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
          // The rows of a PostgreSQL array have one length, so each task's inputs are one text, of digits and commas.
          .texts(batch.map { "{\($0.inputs.map(\.digest.hex).joined(separator: ","))}" }),
          .texts(batch.map { "{\($0.inputs.map { String($0.size) }.joined(separator: ","))}" }),
          .texts(batch.map(\.fingerprint.hex)), .doubles(batch.map(\.cost)), .longs(batch.map(\.work)),
          .texts(batch.map(\.cached?.digest.hex)), .longs(batch.map(\.cached?.size)),
        ])
      start = end
    }
  }

  package func fail(_ job: JobID, failure: JobFailure) throws(JobStoreError) -> Bool {
    try failure.validate()
    return try perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        try endJob(job, as: .failed, failure: failure, on: connection)
      }
    }
  }

  package func cancel(_ job: JobID) throws(JobStoreError) -> JobState? {
    try perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        try endJob(job, as: .cancelled, failure: nil, on: connection)
        var fields = try connection.run(.jobState, [.text(job.description.withoutNul)]).first
        return try fields?.named("job state")
      }
    }
  }

  /// Ends a job that has not ended: removes its leases, and turns its ready and running tasks to `waiting`, for ever.
  /// False if it had ended.
  @discardableResult
  func endJob(
    _ job: JobID, as state: JobState, failure: JobFailure?, on connection: Connection
  ) throws(JobStoreError) -> Bool {
    let id = Parameter.text(job.description.withoutNul)
    let problems = failure.flatMap { $0.problems.isEmpty ? nil : $0.problems }
    return try !connection.pipeline([
      (
        .endJob,
        [
          id, .text(state.rawValue), .text(failure?.reason.rawValue), .text(failure?.message.withoutNul),
          .int(failure?.task), .bytes(problems),
        ]
      ),
      (.lockOpenTasks, [id]), (.closeTasks, [id]),
    ])[0].isEmpty
  }

  package func job(_ id: JobID) throws(JobStoreError) -> Job? {
    try perform { (connection) throws(JobStoreError) in
      var fields = try connection.run(.job, [.text(id.description.withoutNul)]).first
      return try fields?.job()
    }
  }

  package func jobs(_ purpose: JobPurpose, limit: Int) throws(JobStoreError) -> [Job] {
    try perform { (connection) throws(JobStoreError) in
      try connection.run(.jobs, [.text(purpose.rawValue), .long(Int64(max(limit, 0)))])
        .map { (fields) throws(JobStoreError) in try fields.job() }
    }
  }

  package func tasks(of job: JobID, payloads: Bool) throws(JobStoreError) -> [RenderTask] {
    let id = Parameter.text(job.description.withoutNul)
    return try perform { (connection) throws(JobStoreError) in
      // One snapshot: a running task has its leases.
      let results = try connection.pipeline([
        (.beginSnapshot, []), (.tasks, [id, .flag(payloads)]), (.leases, [id]), (.attempts, [id]), (.commit, []),
      ])
      var tasks = try results[1].map { (fields) throws(JobStoreError) in try fields.task(of: job) }
      _ = try results[2].map { (fields) throws(JobStoreError) in
        tasks[try fields.index(in: tasks)].leases.append(try fields.heldLease())
      }
      _ = try results[3].map { (fields) throws(JobStoreError) in
        tasks[try fields.index(in: tasks)].attempts.append(try fields.attempt())
      }
      return tasks
    }
  }
}

extension Fields {
  fileprivate mutating func job() throws(JobStoreError) -> Job {
    Job(
      id: JobID(try text()), name: try text(), purpose: try named("job purpose"), priority: try int(),
      state: try named("job state"), request: try bytes(), build: optionalText(), output: try optionalContent(),
      failure: try optionalFailure(), age: .microseconds(try long()), elapsed: .microseconds(try long()))
  }

  private mutating func optionalFailure() throws(JobStoreError) -> JobFailure? {
    let reason: JobFailure.Reason? = try optionalNamed("reason of a job's failure")
    let (message, task, problems) = (optionalText(), try optionalInt(), optionalBytes())
    guard let reason, let message else { return nil }
    return JobFailure(reason: reason, message: message, task: task, problems: problems ?? [])
  }

  fileprivate mutating func task(of job: JobID) throws(JobStoreError) -> RenderTask {
    RenderTask(
      id: TaskID(job: job, ordinal: try int()), kind: try named("task kind"), state: try named("task state"),
      payload: try bytes(), inputs: try contents(), fingerprint: try digest(), cost: try double(),
      work: try long(), epoch: try long(), publishedEpoch: try optionalLong(), result: try optionalContent(),
      isCached: try flag())
  }

  /// Reads an ordinal, which is the place of its task among its job's.
  fileprivate mutating func index(in tasks: [RenderTask]) throws(JobStoreError) -> Int {
    let ordinal = Int(try int())
    guard tasks.indices.contains(ordinal) else {
      throw JobStoreError(.internal, "the database has a lease or an attempt of task \(ordinal), which is not there")
    }
    return ordinal
  }

  fileprivate mutating func heldLease() throws(JobStoreError) -> HeldLease {
    HeldLease(
      epoch: try long(), worker: WorkerID(try text()), session: SessionID(try text()), isBackup: try flag(),
      progress: try long())
  }

  fileprivate mutating func attempt() throws(JobStoreError) -> Attempt {
    Attempt(
      epoch: try long(), worker: WorkerID(try text()), end: try named("end of an attempt"), message: try text(),
      process: try optionalProcess(), ran: .microseconds(try long()))
  }

  private mutating func optionalProcess() throws(JobStoreError) -> ProcessEnd? {
    let (exitCode, signal) = (try optionalInt(), try optionalInt())
    let (cpuMilliseconds, peakBytes, log) = (try optionalLong(), try optionalLong(), optionalText())
    guard let exitCode, let signal, let cpuMilliseconds, let peakBytes, let log else { return nil }
    return ProcessEnd(
      exitCode: exitCode, signal: signal, cpuMilliseconds: cpuMilliseconds, peakBytes: peakBytes, log: log)
  }
}

extension Statement {
  /// In the transaction of the change, so that the hint comes when the change can be seen.
  static let notify = Statement("notify", "SELECT pg_catalog.pg_notify('sheaf_change', '')")

  fileprivate static let insertJob = Statement(
    "insert-job",
    """
    INSERT INTO sheaf.job (id, name, purpose, priority, request, submitted_at)
    VALUES ($1, $2, $3, $4, $5, sheaf.now())
    ON CONFLICT (id) DO NOTHING RETURNING number
    """)

  fileprivate static let insertTasks = Statement(
    "insert-tasks",
    """
    INSERT INTO sheaf.task (job, ordinal, kind, state, payload, input_digests, input_sizes, fingerprint, cost, work,
      result_digest, result_size, is_cached)
    SELECT $1, $2 + new.place::integer - 1, new.kind,
      CASE WHEN new.cached_digest IS NOT NULL THEN 'done' WHEN new.kind = 'stitch' THEN 'waiting' ELSE 'ready' END,
      new.payload, new.digests::text[], new.sizes::bigint[], new.fingerprint, new.cost, new.work,
      new.cached_digest, new.cached_size, new.cached_digest IS NOT NULL
    FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11) WITH ORDINALITY
      AS new (kind, payload, digests, sizes, fingerprint, cost, work, cached_digest, cached_size, place)
    """)

  fileprivate static let jobsToPlan = Statement(
    "jobs-to-plan",
    """
    SELECT id FROM sheaf.job
    WHERE state = 'probing' AND purpose = 'render' AND NOT EXISTS (
      SELECT FROM sheaf.task WHERE task.job = job.number AND task.state <> 'done' AND task.kind <> 'stitch')
    ORDER BY number
    """)

  fileprivate static let oldInspections = Statement(
    "old-inspections",
    """
    SELECT id FROM sheaf.job
    WHERE state IN ('probing', 'rendering') AND purpose = 'inspection'
      AND submitted_at < sheaf.now() - $1 * interval '1 microsecond'
    ORDER BY number
    """)

  fileprivate static let lockProbing = Statement(
    "lock-probing",
    """
    SELECT number FROM sheaf.job
    WHERE id = $1 AND state = 'probing' AND purpose = 'render' AND (build IS NULL OR build = $2) FOR UPDATE
    """)

  fileprivate static let probed = Statement(
    "probed", "SELECT count(*)::integer, coalesce(bool_and(state = 'done'), true) FROM sheaf.task WHERE job = $1")

  fileprivate static let startRendering = Statement(
    "start-rendering", "UPDATE sheaf.job SET state = 'rendering', build = $2 WHERE number = $1")

  /// Runs whichever task was done last: of all tasks that are done at once, only the last holder of the job's lock sees
  /// them all.
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

  fileprivate static let endJob = Statement(
    "end-job",
    """
    WITH ended AS (
      UPDATE sheaf.job SET state = $2, failure_reason = $3, failure_message = $4, failure_task = $5,
        failure_problems = $6, ended_at = sheaf.now()
      WHERE id = $1 AND state IN ('probing', 'rendering') RETURNING number
    )
    SELECT pg_catalog.pg_notify('sheaf_change', '') FROM ended
    """)

  /// Locks the tasks of a job that has ended, in order, as everywhere, so that no two transactions wait for each other.
  /// What follows sees the leases that were granted until then.
  fileprivate static let lockOpenTasks = Statement(
    "lock-open-tasks",
    """
    SELECT ordinal FROM sheaf.task
    WHERE job = (SELECT number FROM sheaf.job WHERE id = $1 AND ended_at IS NOT NULL)
      AND state IN ('ready', 'running')
    ORDER BY job, ordinal FOR UPDATE
    """)

  fileprivate static let closeTasks = Statement(
    "close-tasks",
    """
    WITH ended AS MATERIALIZED (
      SELECT number FROM sheaf.job WHERE id = $1 AND ended_at IS NOT NULL
    ), removed AS (
      DELETE FROM sheaf.lease USING ended WHERE lease.job = ended.number
    )
    UPDATE sheaf.task SET state = 'waiting' FROM ended
    WHERE task.job = ended.number AND task.state IN ('ready', 'running')
    """)

  fileprivate static let jobState = Statement("job-state", "SELECT state FROM sheaf.job WHERE id = $1")

  private static let jobColumns = """
    id, name, purpose, priority, state, request, build, output_digest, output_size, failure_reason, failure_message,
    failure_task, failure_problems,
    (extract(epoch FROM sheaf.now() - submitted_at) * 1000000)::bigint,
    (extract(epoch FROM coalesce(ended_at, sheaf.now()) - submitted_at) * 1000000)::bigint
    """

  fileprivate static let job = Statement("job", "SELECT \(jobColumns) FROM sheaf.job WHERE id = $1")

  fileprivate static let jobs = Statement(
    "jobs", "SELECT \(jobColumns) FROM sheaf.job WHERE purpose = $1 ORDER BY number DESC LIMIT $2")

  fileprivate static let tasks = Statement(
    "tasks",
    """
    SELECT ordinal, kind, state, CASE WHEN $2 THEN payload ELSE '' END, input_digests, input_sizes, fingerprint, cost,
      work, epoch, published_epoch, result_digest, result_size, is_cached
    FROM sheaf.task WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) ORDER BY ordinal
    """)

  fileprivate static let leases = Statement(
    "leases",
    """
    SELECT ordinal, epoch, worker, session, is_backup, progress
    FROM sheaf.lease WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) ORDER BY ordinal, epoch
    """)

  fileprivate static let attempts = Statement(
    "attempts",
    """
    SELECT ordinal, epoch, worker, ended_as, message, exit_code, signal, cpu_milliseconds, peak_bytes, log,
      coalesce(ran, 0)
    FROM sheaf.attempt WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) ORDER BY ordinal, number
    """)
}
