import Digest
package import FarmModel
package import Jobs

// Jobs from their submission to their end.

extension PostgresJobStore {
  @discardableResult
  package func submit(_ job: NewJob) async throws(JobStoreError) -> JobID {
    try job.validate()
    let counts = TaskCounts(of: job.tasks)
    return try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        if job.purpose == .render { try connection.requireRoom(for: job.owner, submitted: job) }
        let inserted = try connection.run(
          .insertJob,
          [
            .text(job.id.description), .text(job.submission), .text(job.name.withoutNul),
            .text(job.purpose.rawValue), .int(job.priority), .bytes(job.request), .long(counts.probes.total),
            .long(counts.probes.done), .long(counts.memory), .text(job.owner),
            .flag(job.isPaused), .long(job.hold?.microseconds), .texts(job.after.map(\.description)), .text(job.pool),
          ])
        guard var fields = inserted.first else {
          guard var other = try connection.run(.submitted, [.text(job.submission)]).first else {
            throw JobStoreError.duplicate(job.id)
          }
          return JobID(try other.text())
        }
        try connection.insert(job.tasks, of: try fields.long(), from: 0)
        _ = try connection.run(.notify)
        return job.id
      }
    }
  }

  package func jobsToPlan() async throws(JobStoreError) -> [JobID] {
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.jobsToPlan).map { (fields) throws(JobStoreError) in JobID(try fields.text()) }
    }
  }

  package func inspections(olderThan age: Duration) async throws(JobStoreError) -> [JobID] {
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.oldInspections, [.long(age.microseconds)])
        .map { (fields) throws(JobStoreError) in JobID(try fields.text()) }
    }
  }

  package func measure(_ job: JobID, build: String, tasks: [NewTask]) async throws(JobStoreError) -> Bool {
    try tasks.validateMeasures()
    let counts = TaskCounts(of: tasks)
    return try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        guard let planned = try connection.lockToPlan(job), planned.state == .probing else { return false }
        guard planned.isFinished else { throw JobStoreError.unfinished(job) }
        _ = try connection.run(
          .startMeasuring,
          [
            .long(planned.number), .text(build.withoutNul), .long(counts.measures.total), .long(counts.measures.done),
            .long(counts.memory),
          ])
        try connection.insert(tasks, of: planned.number, from: planned.tasks)
        _ = try connection.pipeline([(.forgetPlannings, [.long(planned.number)]), (.notify, [])])
        return true
      }
    }
  }

  package func plan(_ job: JobID, build: String, tasks: [NewTask]) async throws(JobStoreError) -> Bool {
    try tasks.validatePlan()
    let build = build.withoutNul
    let id = Parameter.text(job.description.withoutNul)
    let counts = TaskCounts(of: tasks)
    return try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        guard let planned = try connection.lockToPlan(job), planned.state == .probing || planned.build == build
        else { return false }
        guard planned.isFinished else { throw JobStoreError.unfinished(job) }
        _ = try connection.run(
          .startRendering,
          [
            .long(planned.number), .text(build), .long(counts.videos.total), .long(counts.videos.done),
            .long(counts.work.total), .long(counts.work.done), .long(counts.audios.total), .long(counts.audios.done),
            .long(counts.memory),
          ])
        try connection.insert(tasks, of: planned.number, from: planned.tasks)
        _ = try connection.pipeline([
          (.forgetPlannings, [.long(planned.number)]), (.readyStitch, [id]), (.finishJob, [id]),
          (.suspectMakers, [id]), (.notify, []),
        ])
        return true
      }
    }
  }

  package func jobsToRebind() async throws(JobStoreError) -> [JobID] {
    let times: [Parameter] = [
      .long(policy.rebind.microseconds), .long(policy.lease.microseconds), .long(policy.outage.microseconds),
    ]
    return try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.jobsToRebind, times).map { (fields) throws(JobStoreError) in JobID(try fields.text()) }
    }
  }

  package func replan(_ job: JobID, reason: String) async throws(JobStoreError) -> Bool {
    let id = Parameter.text(job.description.withoutNul)
    return try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        guard let job = try connection.lockForEnd(id), job.state.isBound else { return false }
        try connection.unplan(job.number, reason: reason)
        _ = try connection.run(.notify)
        return true
      }
    }
  }

  package func reprobe(_ job: JobID, tasks: [Int32]) async throws(JobStoreError) -> Int {
    let id = Parameter.text(job.description.withoutNul)
    return try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        guard let job = try connection.lockForEnd(id), job.state == .probing else { return 0 }
        let lost = try connection.reprobe(job.number, tasks: tasks)
        if lost > 0 { _ = try connection.run(.notify) }
        return lost
      }
    }
  }

  package func retry(_ job: JobID) async throws(JobStoreError) -> JobState? {
    let id = Parameter.text(job.description.withoutNul)
    return try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        guard let job = try connection.lockForEnd(id) else { return nil }
        guard job.purpose == .render, job.state == .failed || job.state == .cancelled || job.isDoubted else {
          return job.state
        }
        var owner = try connection.run(.ownerOfJob, [.long(job.number)]).first
        try connection.requireRoom(for: owner?.optionalText(), submitted: nil)
        let number = [Parameter.long(job.number)]
        _ = try connection.pipeline([
          (.unplan, number), (.removePlan, number), (.retryProbes, number), (.forgetPlannings, number),
          (.release, number), (.notify, []),
        ])
        return .probing
      }
    }
  }

  package func fail(_ job: JobID, failure: JobFailure) async throws(JobStoreError) -> Bool {
    try failure.validate()
    return try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        try connection.endJob(job, as: .failed, failure: failure)
      }
    }
  }

  package func cancel(_ job: JobID) async throws(JobStoreError) -> JobState? {
    try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        try connection.endJob(job, as: .cancelled, failure: nil)
        var fields = try connection.run(.jobState, [.text(job.description.withoutNul)]).first
        return try fields?.named("job state")
      }
    }
  }
}

extension Connection {
  /// Inserts tasks in batches of a few megabytes.
  fileprivate func insert(_ tasks: [NewTask], of number: Int64, from first: Int) throws(JobStoreError) {
    var start = 0
    while start < tasks.count {
      var end = start
      var bytes = 0
      while end < tasks.count, end == start || bytes + tasks[end].payload.count <= 4 << 20, end - start < 5_000 {
        bytes += tasks[end].payload.count
        end += 1
      }
      let batch = tasks[start..<end]
      _ = try run(
        .insertTasks,
        [
          .long(number), .int(Int32(first + start)), .texts(batch.map(\.kind.rawValue)),
          .texts(batch.map(\.label.withoutNul)), .blobs(batch.map(\.payload)),
          // The rows of a PostgreSQL array have one length, so each task's inputs are one text, of digits and commas.
          .texts(batch.map { "{\($0.inputs.map(\.digest.hex).joined(separator: ","))}" }),
          .texts(batch.map { "{\($0.inputs.map { String($0.size) }.joined(separator: ","))}" }),
          .texts(batch.map(\.fingerprint.hex)), .doubles(batch.map(\.cost)), .longs(batch.map(\.work)),
          .longs(batch.map(\.memory)), .longs(batch.map(\.duration.microseconds)),
          .texts(batch.map(\.boundary.withoutNul)),
          .texts(batch.map(\.cached?.digest.hex)), .longs(batch.map(\.cached?.size)),
          .texts(batch.map { $0.cached == nil ? nil : $0.maker?.withoutNul }),
        ])
      start = end
    }
  }

  /// Locks a job that may be planned. Nil: there is none of this id.
  fileprivate func lockToPlan(_ id: JobID) throws(JobStoreError) -> PlannableJob? {
    guard var fields = try run(.lockToPlan, [.text(id.description.withoutNul)]).first else { return nil }
    return PlannableJob(
      number: try fields.long(), state: try fields.named("job state"), build: fields.optionalText(),
      tasks: Int(try fields.long()), isFinished: try fields.flag())
  }

  /// Locks a job so that none of its tasks is granted, published or failed before the end of the transaction.
  func lockForEnd(
    _ id: Parameter
  ) throws(JobStoreError) -> (number: Int64, state: JobState, purpose: JobPurpose, isDoubted: Bool)? {
    guard var fields = try run(.lockForEnd, [id]).first else { return nil }
    return (try fields.long(), try fields.named("job state"), try fields.named("job purpose"), try fields.flag())
  }

  /// Turns a job that is locked to `probing`, with its probe tasks alone.
  func unplan(_ number: Int64, reason: String) throws(JobStoreError) {
    let number = [Parameter.long(number)]
    _ = try pipeline([
      (.unplan, number), (.explainReplan, [.text(reason.withoutNul)]), (.removePlan, number),
      (.forgetPlannings, number),
    ])
  }

  /// Makes probe tasks of a job that is locked ready again.
  /// - Returns: How many there are.
  func reprobe(_ number: Int64, tasks: [Int32]) throws(JobStoreError) -> Int {
    let lost = try run(.reprobe, [.long(number), .ints(tasks)]).count
    if lost > 0 { _ = try run(.uncountProbes, [.long(number), .long(Int64(lost))]) }
    return lost
  }

  /// Ends a job that has not ended: removes its leases, and turns its running tasks to `waiting`. Its ready tasks are
  /// `waiting` because it has ended. So this costs what the leases cost, however many tasks there are.
  ///
  /// - Returns: False if the job had ended.
  @discardableResult
  func endJob(_ job: JobID, as state: JobState, failure: JobFailure?) throws(JobStoreError) -> Bool {
    let id = Parameter.text(job.description.withoutNul)
    let problems = failure.flatMap { $0.problems.isEmpty ? nil : $0.problems }
    return try !pipeline([
      (.lockForEnd, [id]),
      (
        .endJob,
        [
          id, .text(state.rawValue), .text(failure?.reason.rawValue), .text(failure?.message.withoutNul),
          .int(failure?.task), .bytes(problems),
        ]
      ),
      (.lockOpenTasks, [id]), (.closeTasks, [id]), (.forgetCompared, [id]),
    ])[1].isEmpty
  }
}

/// A job in `probing` or `measuring`.
private struct PlannableJob {
  var number: Int64
  var state: JobState
  var build: String?
  /// How many it has.
  var tasks: Int
  /// Whether all of them are done.
  var isFinished: Bool
}

extension Statement {
  /// A condition on a job. The partial index of such jobs has it too.
  static let hasNotEnded = "state IN ('probing', 'measuring', 'rendering')"

  /// In the transaction of the change, so that the hint comes when the change can be seen.
  static let notify = Statement("notify", "SELECT pg_catalog.pg_notify('sheaf_change', '')")

  fileprivate static let insertJob = Statement(
    "insert-job",
    """
    INSERT INTO sheaf.job (id, submission, name, purpose, priority, request, probes, probes_done, memory, owner,
      is_paused, held_until, after, pool, submitted_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, sheaf.now() + $12 * interval '1 microsecond', $13, $14,
      sheaf.now())
    ON CONFLICT DO NOTHING RETURNING number
    """)

  fileprivate static let ownerOfJob = Statement("owner-of-job", "SELECT owner FROM sheaf.job WHERE number = $1")

  fileprivate static let submitted = Statement("submitted", "SELECT id FROM sheaf.job WHERE submission = $1")

  fileprivate static let insertTasks = Statement(
    "insert-tasks",
    """
    INSERT INTO sheaf.task (job, ordinal, kind, state, label, payload, input_digests, input_sizes, fingerprint, cost,
      work, memory, duration, boundary, is_isolated, result_digest, result_size, is_cached,
      maker)
    SELECT $1, $2 + new.place::integer - 1, new.kind,
      CASE WHEN new.cached_digest IS NOT NULL THEN 'done' WHEN new.kind = 'stitch' THEN 'waiting' ELSE 'ready' END,
      new.label, new.payload, new.digests::text[], new.sizes::bigint[], new.fingerprint, new.cost, new.work,
      new.memory, new.duration, new.boundary, false, new.cached_digest, new.cached_size, new.cached_digest IS NOT NULL,
      new.maker
    FROM unnest($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) WITH ORDINALITY
      AS new (kind, label, payload, digests, sizes, fingerprint, cost, work, memory, duration, boundary, cached_digest,
        cached_size, maker, place)
    """)

  /// Whether a job's tasks so far are done, and it has no plan.
  static let isUnplanned = """
    (state IN ('probing', 'measuring') AND purpose = 'render' AND probes_done = probes AND measures_done = measures)
    """

  /// The open jobs are found first, in the order of their index. Otherwise the planner, which has no statistics when
  /// many jobs have just ended, reads all jobs by their purpose, in the way of results.
  static let jobsToPlan = Statement(
    "jobs-to-plan",
    """
    WITH open AS MATERIALIZED (
      SELECT number, id, state, purpose, probes, probes_done, measures, measures_done, \(mayGoOn) AS goes_on
      FROM sheaf.job WHERE \(hasNotEnded) ORDER BY priority DESC, number
    )
    SELECT id FROM open
    WHERE \(isUnplanned) AND goes_on
    ORDER BY number
    """)

  fileprivate static let oldInspections = Statement(
    "old-inspections",
    """
    SELECT id FROM sheaf.job
    WHERE \(hasNotEnded) AND purpose = 'inspection'
      AND submitted_at < sheaf.now() - $1 * interval '1 microsecond'
    ORDER BY number
    """)

  fileprivate static let jobsToRebind = Statement(
    "jobs-to-rebind",
    """
    SELECT id FROM sheaf.job
    WHERE \(hasNotEnded) AND state IN ('measuring', 'rendering')
      AND CASE WHEN job.pool IS NULL THEN NOT EXISTS (
        SELECT FROM sheaf.build
        WHERE build.build = job.build
          AND build.last_seen >= \(beforeOutage("$3")) - $1 * interval '1 microsecond')
      ELSE NOT EXISTS (
        SELECT FROM sheaf.worker
        WHERE worker.build = job.build AND job.pool = ANY (worker.pools)
          AND worker.last_seen >= \(beforeOutage("$3")) - $1 * interval '1 microsecond') END
      AND EXISTS (
        SELECT FROM sheaf.worker
        WHERE NOT worker.has_left AND worker.last_seen >= \(beforeOutage("$3")) - $2 * interval '1 microsecond'
          AND worker.build <> job.build AND (job.pool IS NULL OR job.pool = ANY (worker.pools)))
    ORDER BY number
    """)

  fileprivate static let lockToPlan = Statement(
    "lock-to-plan",
    """
    SELECT number, state, build, probes + measures, probes_done = probes AND measures_done = measures FROM sheaf.job
    WHERE id = $1 AND state IN ('probing', 'measuring') AND purpose = 'render' FOR UPDATE
    """)

  fileprivate static let startMeasuring = Statement(
    "start-measuring",
    """
    UPDATE sheaf.job SET state = 'measuring', build = $2, measures = $3, measures_done = $4,
      memory = greatest(memory, $5)
    WHERE number = $1
    """)

  fileprivate static let startRendering = Statement(
    "start-rendering",
    """
    UPDATE sheaf.job SET state = 'rendering', build = $2, videos = $3, videos_done = $4, videos_cached = $4, work = $5,
      work_done = $6, audios = $7, audios_done = $8, memory = greatest(memory, $9)
    WHERE number = $1
    """)

  /// Runs whichever task was done last: of all tasks that are done at once, only the last holder of the job's lock sees
  /// them all.
  static let readyStitch = Statement(
    "ready-stitch",
    """
    UPDATE sheaf.task SET state = 'ready'
    WHERE job = (
        SELECT number FROM sheaf.job
        WHERE id = $1 AND state = 'rendering' AND probes_done = probes AND videos_done = videos
          AND audios_done = audios)
      AND kind = 'stitch' AND state = 'waiting'
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

  /// A claim locks the jobs of its tasks with `KEY SHARE` and passes over those that are locked here, so no lease is
  /// granted between this and the end of the transaction.
  fileprivate static let lockForEnd = Statement(
    "lock-for-end", "SELECT number, state, purpose, doubt IS NOT NULL FROM sheaf.job WHERE id = $1 FOR UPDATE")

  fileprivate static let endJob = Statement(
    "end-job",
    """
    WITH ended AS (
      UPDATE sheaf.job SET state = $2, failure_reason = $3, failure_message = $4, failure_task = $5,
        failure_problems = $6, ended_at = sheaf.now()
      WHERE id = $1 AND \(hasNotEnded) RETURNING number
    )
    SELECT pg_catalog.pg_notify('sheaf_change', '') FROM ended
    """)

  /// Locks the running tasks of a job that has ended, in order, as everywhere, so that no two transactions wait for
  /// each other.
  fileprivate static let lockOpenTasks = Statement(
    "lock-open-tasks",
    """
    SELECT locked.ordinal FROM (
      SELECT DISTINCT lease.job, lease.ordinal FROM sheaf.lease
      WHERE lease.job = (SELECT number FROM sheaf.job WHERE id = $1 AND ended_at IS NOT NULL)
      ORDER BY lease.ordinal
    ) AS held CROSS JOIN LATERAL (
      SELECT task.ordinal FROM sheaf.task WHERE task.job = held.job AND task.ordinal = held.ordinal FOR UPDATE
    ) AS locked
    """)

  fileprivate static let closeTasks = Statement(
    "close-tasks",
    """
    WITH removed AS (
      DELETE FROM sheaf.lease
      WHERE lease.job = (SELECT number FROM sheaf.job WHERE id = $1 AND ended_at IS NOT NULL)
      RETURNING lease.job, lease.ordinal
    )
    UPDATE sheaf.task SET state = 'waiting' FROM (SELECT DISTINCT job, ordinal FROM removed) AS held
    WHERE task.job = held.job AND task.ordinal = held.ordinal AND task.state = 'running'
    """)

  fileprivate static let unplan = Statement(
    "unplan",
    """
    UPDATE sheaf.job SET state = 'probing', build = NULL, ended_at = NULL, failure_reason = NULL,
      failure_message = NULL, failure_task = NULL, failure_problems = NULL, output_digest = NULL, output_size = NULL,
      is_fetched = false, doubt = NULL, measures = 0, measures_done = 0, videos = 0, videos_done = 0,
      videos_cached = 0, work = 0, work_done = 0, audios = 0, audios_done = 0, median_pace = NULL,
      rendering_since = NULL, memory = 0
    WHERE number = $1
    """)

  /// Adds the reason to the event that this transaction has recorded.
  fileprivate static let explainReplan = Statement(
    "explain-replan",
    """
    UPDATE sheaf.event SET message = $1
    WHERE xact = pg_catalog.pg_current_xact_id()::text::bigint AND kind = 'jobReplanned'
    """)

  /// With the leases and the attempts of the tasks.
  fileprivate static let removePlan = Statement(
    "remove-plan",
    """
    DELETE FROM sheaf.task
    WHERE job = $1 AND ordinal >= (SELECT probes FROM sheaf.job WHERE number = $1)
    """)

  fileprivate static let reprobe = Statement(
    "reprobe",
    """
    UPDATE sheaf.task SET state = 'ready', result_digest = NULL, result_size = NULL, is_cached = false,
      published_epoch = NULL, published_at = NULL, publisher = NULL, maker = NULL, took = NULL
    WHERE job = $1 AND ordinal = ANY ($2) AND kind = 'probe' AND state = 'done'
    RETURNING ordinal
    """)

  fileprivate static let uncountProbes = Statement(
    "uncount-probes", "UPDATE sheaf.job SET probes_done = probes_done - $2 WHERE number = $1")

  fileprivate static let retryProbes = Statement(
    "retry-probes",
    """
    UPDATE sheaf.task SET state = CASE state WHEN 'done' THEN 'done' ELSE 'ready' END, retried_at = epoch,
      not_before = '-infinity', is_isolated = false
    WHERE job = $1
    """)

  fileprivate static let jobState = Statement("job-state", "SELECT state FROM sheaf.job WHERE id = $1")
}
