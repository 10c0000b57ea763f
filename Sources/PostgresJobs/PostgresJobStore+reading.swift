import Digest
package import FarmModel
package import Jobs

// What the database shows of its jobs and tasks.

extension PostgresJobStore {
  package func job(_ id: JobID) async throws(JobStoreError) -> Job? {
    try await results.perform { (connection) throws(JobStoreError) in
      var fields = try connection.run(.job, [.text(id.description.withoutNul)]).first
      return try fields?.job()
    }
  }

  package func summary(of job: JobID) async throws(JobStoreError) -> JobSummary? {
    try await results.perform { (connection) throws(JobStoreError) in
      var fields = try connection.run(.summary, [.text(job.description.withoutNul)]).first
      return try fields?.summary()
    }
  }

  package func summaries(
    _ purpose: JobPurpose, limit: Int, after: JobID?, filter: JobFilter
  ) async throws(JobStoreError) -> [JobSummary] {
    let chosen: [Parameter] = [
      .text(purpose.rawValue), .long(Int64(max(limit, 0))), .text(after?.description.withoutNul),
      .texts(filter.states.map(\.rawValue)), .text(filter.name.withoutNul), .long(filter.since?.microseconds),
      .long(filter.before?.microseconds), .text(filter.owner?.withoutNul), .text(filter.pool?.withoutNul),
    ]
    return try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.summaries, chosen)
        .map { (fields) throws(JobStoreError) in try fields.summary() }
    }
  }

  package func tasks(of job: JobID, payloads: Bool) async throws(JobStoreError) -> [RenderTask] {
    let id = Parameter.text(job.description.withoutNul)
    return try await bulk.perform { (connection) throws(JobStoreError) in
      // One snapshot: a running task has its leases.
      let results = try connection.pipeline([
        (.beginSnapshot, []), (.tasks, [id, .flag(payloads)]), (.leases, [id]), (.attempts, [id]), (.usages, [id]),
        (.comparedResults, [id]), (.commit, []),
      ])
      var tasks = try results[1].map { (fields) throws(JobStoreError) in try fields.task(of: job) }
      _ = try results[2].map { (fields) throws(JobStoreError) in
        tasks[try fields.index(in: tasks)].leases.append(try fields.heldLease())
      }
      _ = try results[3].map { (fields) throws(JobStoreError) in
        tasks[try fields.index(in: tasks)].attempts.append(try fields.attempt())
      }
      _ = try results[4].map { (fields) throws(JobStoreError) in
        let (index, epoch, usage) = (try fields.index(in: tasks), try fields.long(), try fields.usage())
        if tasks[index].publishedEpoch == epoch { tasks[index].publisher?.usage = usage }
        if let place = tasks[index].attempts.firstIndex(where: { $0.epoch == epoch }) {
          tasks[index].attempts[place].usage = usage
        }
      }
      _ = try results[5].map { (fields) throws(JobStoreError) in
        let index = try fields.index(in: tasks)
        tasks[index].compared.append(
          ComparedResult(epoch: try fields.long(), account: try fields.text(), digest: try fields.digest()))
      }
      return tasks
    }
  }
}

extension PostgresJobStore {
  package func usage(of job: JobID) async throws(JobStoreError) -> [WorkerUsage] {
    let id = Parameter.text(job.description.withoutNul)
    return try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.run(.usage, [id]).map { (fields) throws(JobStoreError) in
        WorkerUsage(
          worker: WorkerID(try fields.text()), workerName: try fields.text(), attempts: try fields.long(),
          usage: try fields.usage())
      }
    }
  }

  package func counts(ofPool pool: String?) async throws(JobStoreError) -> StoreCounts {
    let pool = [Parameter.text(pool?.withoutNul)]
    return try await bulk.perform { (connection) throws(JobStoreError) in
      let settled = try connection.settled()
      let results = try connection.pipeline([
        (.beginSnapshot, []), (.jobCounts, pool), (.taskCounts, pool), (.oldestReady, pool), (.pacedWork, pool),
        (.inspectionCounts, pool), (.oldestLost, pool), (.oldestHeldEvent, [settled]), (.unplannedCount, pool),
        (.commit, []),
      ])
      var counts = StoreCounts()
      _ = try results[1].map { (fields) throws(JobStoreError) in
        counts.jobs[try fields.named("job state")] = try fields.long()
      }
      _ = try results[2].map { (fields) throws(JobStoreError) in
        let group = StoreCounts.Group(kind: try fields.named("task kind"), state: try fields.named("task state"))
        counts.tasks[group] = try fields.long()
      }
      if var fields = results[3].first { counts.oldestReady = try fields.optionalLong().map { .microseconds($0) } }
      if var fields = results[4].first {
        (counts.pacedTasks, counts.pacedWork) = (try fields.long(), try fields.double())
      }
      _ = try results[5].map { (fields) throws(JobStoreError) in
        counts.inspections[try fields.named("task state")] = try fields.long()
      }
      if var fields = results[6].first { counts.oldestLost = try fields.optionalLong().map { .microseconds($0) } }
      if var fields = results[7].first { counts.oldestHeldEvent = try fields.optionalLong().map { .microseconds($0) } }
      if var fields = results[8].first { counts.unplanned = try fields.long() }
      return counts
    }
  }
}

extension Fields {
  fileprivate mutating func job() throws(JobStoreError) -> Job {
    var job = Job(
      id: JobID(try text()), name: try text(), owner: optionalText(), purpose: try named("job purpose"),
      priority: try int(), state: try named("job state"), request: try bytes(), build: optionalText(),
      output: try optionalContent(),
      failure: try optionalFailure(), submittedAt: .microseconds(try long()),
      endedAt: try optionalLong().map { .microseconds($0) },
      renderingSince: try optionalLong().map { .microseconds($0) }, age: .microseconds(try long()),
      elapsed: .microseconds(try long()),
      rendering: try optionalLong().map { .microseconds($0) })
    (job.isPaused, job.heldUntil) = (try flag(), try optionalLong().map { .microseconds($0) })
    job.after = try texts().map { JobID($0) }
    job.doubt = optionalText()
    job.pool = optionalText()
    let (before, state): (String?, JobState?) = (optionalText(), try optionalNamed("job state"))
    if let before, let state { job.unfinishedBefore = Job.Before(job: JobID(before), state: state) }
    return job
  }

  private mutating func optionalFailure() throws(JobStoreError) -> JobFailure? {
    let reason: JobFailure.Reason? = try optionalNamed("reason of a job's failure")
    let (message, task, problems) = (optionalText(), try optionalInt(), optionalBytes())
    guard let reason, let message else { return nil }
    return JobFailure(reason: reason, message: message, task: task, problems: problems ?? [])
  }

  fileprivate mutating func summary() throws(JobStoreError) -> JobSummary {
    JobSummary(
      job: try job(), probes: try counts(), measures: try counts(), videos: try counts(), cachedVideos: try count(),
      work: try counts(), audios: try counts(), memory: try count(), running: try count(), away: try count(),
      compared: try count())
  }

  private mutating func counts() throws(JobStoreError) -> JobSummary.Count {
    JobSummary.Count(done: try count(), total: try count())
  }

  fileprivate mutating func task(of job: JobID) throws(JobStoreError) -> RenderTask {
    RenderTask(
      id: TaskID(job: job, ordinal: try int()), kind: try named("task kind"), label: try text(), boundary: try text(),
      state: try named("task state"), payload: try bytes(), inputs: try contents(), fingerprint: try digest(),
      cost: try double(), work: try count(), duration: .microseconds(try long()), memory: try count(),
      epoch: try count(), retriedAt: try count(),
      publishedEpoch: try optionalLong(), publisher: try optionalPublisher(), result: try optionalContent(),
      maker: optionalText(), isCached: try flag(), isIsolated: try flag())
  }

  private mutating func optionalPublisher() throws(JobStoreError) -> Publisher? {
    let (worker, name, took) = (optionalText(), optionalText(), try optionalLong())
    let at = try optionalLong()
    guard let worker, let name, let took else { return nil }
    return Publisher(
      worker: WorkerID(worker), workerName: name, took: .microseconds(took),
      publishedAt: at.map { .microseconds($0) })
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
      epoch: try count(), worker: WorkerID(try text()), workerName: try text(), session: SessionID(try count()),
      isAway: try flag(), isBackup: try flag(), progress: try count(),
      grantedAt: .microseconds(try long()), ran: .microseconds(try long()))
  }

  fileprivate mutating func attempt() throws(JobStoreError) -> Attempt {
    Attempt(
      epoch: try long(), worker: WorkerID(try text()), workerName: try text(), end: try named("end of an attempt"),
      message: try text(), process: try optionalProcess(), ran: .microseconds(try long()),
      endedAt: try optionalLong().map { .microseconds($0) })
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
  /// - Parameter request: A summary does not read the request, which may be megabytes.
  private static func jobColumns(request: String) -> String {
    """
    id, name, owner, purpose, priority, state, \(request), build, output_digest, output_size, failure_reason,
    failure_message, failure_task, failure_problems,
    \(microseconds("submitted_at")), \(microseconds("ended_at")), \(microseconds("rendering_since")),
    (extract(epoch FROM sheaf.now() - submitted_at) * 1000000)::bigint,
    (extract(epoch FROM coalesce(ended_at, sheaf.now()) - submitted_at) * 1000000)::bigint,
    (extract(epoch FROM coalesce(ended_at, sheaf.now()) - rendering_since) * 1000000)::bigint,
    is_paused, \(microseconds("held_until")), after, doubt, pool, \(unfinished("id")), \(unfinished("state"))
    """
  }

  /// Of the first of the jobs before one that is not done.
  private static func unfinished(_ column: String) -> String {
    """
    CASE WHEN job.after <> '{}' THEN (
      SELECT before.\(column) FROM sheaf.job before
      WHERE before.id = ANY (job.after) AND before.state <> 'done' ORDER BY before.number LIMIT 1) END
    """
  }

  fileprivate static let job = Statement(
    "job", "SELECT \(jobColumns(request: "request")) FROM sheaf.job WHERE id = $1")

  /// What is running comes from the leases, of which there is one for each busy slot.
  private static let summaryColumns = """
    \(jobColumns(request: "''::bytea")),
    probes_done, probes, measures_done, measures, videos_done, videos, videos_cached, work_done + coalesce(held.progress, 0), work,
    audios_done, audios, memory, held.running, held.away,
    (SELECT count(DISTINCT ordinal) FROM sheaf.compared WHERE compared.job = job.number)
    """
  private static let held = """
    LEFT JOIN LATERAL (
      SELECT count(*) AS running, count(*) FILTER (WHERE task.is_away) AS away, sum(task.progress)::bigint AS progress
      FROM (
        SELECT bool_and(is_away) AS is_away, least(max(progress), max(video_work)) AS progress
        FROM sheaf.lease WHERE lease.job = job.number GROUP BY ordinal
      ) AS task
    ) AS held ON true
    """

  fileprivate static let summary = Statement(
    "summary", "SELECT \(summaryColumns) FROM sheaf.job \(held) WHERE id = $1")

  fileprivate static let summaries = Statement(
    "summaries",
    """
    SELECT \(summaryColumns) FROM sheaf.job \(held)
    WHERE purpose = $1 AND ($3 IS NULL OR number < (SELECT number FROM sheaf.job WHERE id = $3))
      AND (cardinality($4) = 0 OR state = ANY ($4))
      AND ($5 = '' OR position(lower($5) IN lower(name)) > 0)
      AND ($6::bigint IS NULL OR submitted_at >= \(time("$6"))) AND ($7::bigint IS NULL OR submitted_at < \(time("$7")))
      AND ($8::text IS NULL OR owner = $8) AND ($9::text IS NULL OR coalesce(pool, '') = $9)
    ORDER BY number DESC LIMIT $2
    """)

  /// A condition on a job: it is one of those of `StoreCounts` of the pool `$1`.
  private static let isOfPool = "($1::text IS NULL OR coalesce(job.pool, '') = $1)"

  fileprivate static let jobCounts = Statement(
    "job_counts", "SELECT state, count(*) FROM sheaf.job WHERE purpose = 'render' AND \(isOfPool) GROUP BY state")
  fileprivate static let taskCounts = Statement(
    "task_counts",
    """
    SELECT task.kind, CASE WHEN task.state = 'ready' AND NOT job.goes_on THEN 'waiting' ELSE task.state END, count(*)
    FROM (
      SELECT number, \(isWanted) AS goes_on FROM sheaf.job
      WHERE state IN ('probing', 'measuring', 'rendering') AND purpose = 'render' AND \(isOfPool)
    ) AS job JOIN sheaf.task ON task.job = job.number
    GROUP BY 1, 2
    """)
  fileprivate static let oldestReady = Statement(
    "oldest_ready",
    """
    SELECT (extract(epoch FROM sheaf.now() - min(submitted_at)) * 1000000)::bigint FROM sheaf.job
    WHERE state IN ('probing', 'measuring', 'rendering') AND purpose = 'render' AND \(isWanted) AND \(isOfPool)
      AND EXISTS (SELECT FROM sheaf.task WHERE task.job = job.number AND task.state = 'ready')
    """)

  fileprivate static let inspectionCounts = Statement(
    "inspection-counts",
    """
    SELECT task.state, count(*) FROM sheaf.job JOIN sheaf.task ON task.job = job.number
    WHERE job.state IN ('probing', 'measuring', 'rendering') AND purpose = 'inspection'
      AND \(isOfPool) AND task.state IN ('ready', 'running') GROUP BY task.state
    """)
  fileprivate static let unplannedCount = Statement(
    "unplanned-count",
    "SELECT count(*) FROM sheaf.job WHERE \(isUnplanned) AND \(isWanted) AND \(isOfPool)")
  fileprivate static let oldestHeldEvent = Statement(
    "oldest-held-event",
    "SELECT \(microseconds(since: "min(at)")) FROM sheaf.event WHERE xact >= $1 HAVING count(*) > 0")
  fileprivate static let oldestLost = Statement(
    "oldest-lost",
    """
    SELECT (extract(epoch FROM sheaf.now() - min(attempt.ended_at)) * 1000000)::bigint
    FROM sheaf.job JOIN sheaf.task ON task.job = job.number
      JOIN sheaf.attempt ON attempt.job = task.job AND attempt.ordinal = task.ordinal AND attempt.epoch = task.epoch
    WHERE job.state IN ('probing', 'measuring', 'rendering') AND purpose = 'render' AND task.state = 'ready'
      AND \(isWanted) AND \(isOfPool) AND task.epoch > task.retried_at
    """)

  /// `LeasePolicy.work` of each task, in SQL.
  fileprivate static let pacedWork = Statement(
    "paced-work",
    """
    SELECT count(*), coalesce(sum(round(job.median_pace * task.cost * CASE WHEN task.work = 0 THEN 1 ELSE
      greatest(task.work - coalesce(CASE WHEN task.state = 'running' THEN
        (SELECT max(progress) FROM sheaf.lease WHERE lease.job = task.job AND lease.ordinal = task.ordinal) END, 0), 0
      )::double precision / task.work END)), 0)
    FROM sheaf.job JOIN sheaf.task ON task.job = job.number
    WHERE job.state = 'rendering' AND purpose = 'render' AND median_pace IS NOT NULL AND task.kind = 'video'
      AND \(isWanted) AND \(isOfPool)
      AND task.state IN ('ready', 'running')
      AND task.cost BETWEEN \(LeasePolicy.measurableCosts.lowerBound) AND \(LeasePolicy.measurableCosts.upperBound)
    """)

  /// The name of a worker, for people: its id if it was never registered, or not for long.
  private static func name(of worker: String) -> String {
    "coalesce((SELECT worker.name FROM sheaf.worker WHERE worker.id = \(worker)), \(worker))"
  }

  fileprivate static let tasks = Statement(
    "tasks",
    """
    SELECT ordinal, kind, label, boundary,
      CASE WHEN task.state = 'ready' AND job.ended_at IS NOT NULL THEN 'waiting' ELSE task.state END,
      CASE WHEN $2 THEN payload ELSE '' END, input_digests, input_sizes, fingerprint, cost, task.work,
      duration, task.memory, epoch, retried_at, published_epoch, publisher, \(name(of: "publisher")), took,
      \(microseconds("published_at")), result_digest, result_size, maker, is_cached,
      is_isolated
    FROM sheaf.job JOIN sheaf.task ON task.job = job.number WHERE job.id = $1 ORDER BY ordinal
    """)

  fileprivate static let leases = Statement(
    "leases",
    """
    SELECT ordinal, epoch, worker, \(name(of: "lease.worker")), session, is_away, is_backup, progress,
      \(microseconds("granted_at")), \(microseconds(since: "granted_at"))
    FROM sheaf.lease WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) ORDER BY ordinal, epoch
    """)

  fileprivate static let comparedResults = Statement(
    "compared-results",
    """
    SELECT ordinal, epoch, account, result_digest FROM sheaf.compared
    WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) ORDER BY ordinal, number
    """)

  fileprivate static let attempts = Statement(
    "attempts",
    """
    SELECT ordinal, epoch, worker, \(name(of: "attempt.worker")), ended_as, message, exit_code, signal,
      cpu_milliseconds, peak_bytes, log, coalesce(ran, 0), \(microseconds("ended_at"))
    FROM sheaf.attempt WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) ORDER BY ordinal, number
    """)

  fileprivate static let usages = Statement(
    "usages",
    """
    SELECT ordinal, epoch, \(usageNumbers.joined(separator: ", "))
    FROM sheaf.usage WHERE job = (SELECT number FROM sheaf.job WHERE id = $1)
    """)

  /// A sum that a worker has driven beyond any number is the highest.
  fileprivate static let usage = Statement(
    "usage",
    """
    SELECT worker, \(name(of: "used.worker")), attempts, \(usageNumbers.joined(separator: ", "))
    FROM (
      SELECT worker, count(*) AS attempts, \(usageNumbers.map { number in
        let total = number == "peak_bytes" ? "max(\(number))" : "sum(\(number))"
        return "least(\(total), \(Int64.max))::bigint AS \(number)"
      }.joined(separator: ", "))
      FROM sheaf.usage WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) GROUP BY worker
    ) AS used ORDER BY worker
    """)

  /// The microseconds since 1970 of a time, in SQL.
  static func microseconds(_ time: String) -> String { "(extract(epoch FROM \(time)) * 1000000)::bigint" }

  /// The time that is so many microseconds after 1970, in SQL.
  private static func time(_ microseconds: String) -> String {
    "(timestamptz 'epoch' + \(microseconds) * interval '1 microsecond')"
  }

  /// The time since `start`, in SQL. Zero if the clock was set back.
  static func microseconds(since start: String) -> String {
    "(extract(epoch FROM greatest(sheaf.now() - \(start), interval '0')) * 1000000)::bigint"
  }
}
