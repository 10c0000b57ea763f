import Digest
import FarmModel

// Whether workers are believed.

extension PostgresJobStore {
  package func acceptUnchecked() async throws(JobStoreError) -> [UncheckedResult] {
    let times = policy.presence
    let found = try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.uncheckedTasks, times).map { (fields) throws(JobStoreError) in
        TaskID(job: JobID(try fields.text()), ordinal: try fields.int())
      }
    }
    var accepted: [UncheckedResult] = []
    for task in found {
      let result = try await results.perform { (connection) throws(JobStoreError) in
        try connection.transaction { () throws(JobStoreError) in try connection.accept(task, policy: self.policy) }
      }
      if let result { accepted.append(result) }
    }
    return accepted
  }

  package func standings() async throws(JobStoreError) -> [WorkerStanding] {
    try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.run(.standings).map { (fields) throws(JobStoreError) in
        WorkerStanding(
          account: try fields.text(), confirmed: try fields.long(), hold: try fields.optionalNamed("hold of a worker"),
          reason: try fields.text(), heldAt: try fields.optionalLong().map { .microseconds($0) })
      }
    }
  }

  package func setHold(
    _ hold: WorkerHold?, of account: String, reason: String
  ) async throws(JobStoreError) -> Bool {
    try WorkerRecord.validate(account: account)
    let values: [Parameter] = [
      .text(account.withoutNul), .text(hold?.rawValue), .text(hold == nil ? "" : reason.withoutNul),
    ]
    return try await results.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        try !connection.run(.setHold, values).isEmpty
      }
    }
  }

  package func purge() async throws(JobStoreError) -> Purge {
    let policy = policy
    return try await bulk.perform { (connection) throws(JobStoreError) in
      var purge = Purge()
      let (accounts, jobs) = try connection.transaction { () throws(JobStoreError) in
        try connection.distrust(policy)
      }
      guard !accounts.isEmpty else { return purge }
      // Each job in a transaction of its own: what one that was interrupted has done is not done again.
      for (job, maker) in jobs {
        let wasDone = try connection.transaction { () throws(JobStoreError) in
          try connection.removeResults(of: accounts, from: job, maker: maker)
        }
        guard let wasDone else { continue }
        if wasDone { purge.doubted.append(job) } else { purge.replanned.append(job) }
      }
      _ = try connection.run(.endPurge, [.texts(accounts)])
      return purge
    }
  }
}

extension LeasePolicy {
  /// The parameters of `Statement.couldMake`.
  fileprivate var presence: [Parameter] { [.long(lease.microseconds), .long(outage.microseconds)] }
}

extension Connection {
  /// Keeps the result of a lease for a comparison, if it must be compared before it is used.
  ///
  /// - Parameter held: The lease and its holder, as for the statement `publish`.
  /// - Returns: Whether it is kept, or has failed its task.
  func compare(
    _ lease: Lease, _ held: [Parameter], _ result: Content, _ usage: AttemptUsage?, draw: Double, _ policy: LeasePolicy
  ) throws(JobStoreError) -> Bool {
    let share: [Parameter] = [.double(draw), .double(policy.comparedShare), .long(policy.firstCompared)]
    let kept = try run(
      .compare,
      held + [.text(result.digest.hex), .long(result.size)] + share + policy.presence + usage.parameters)
    guard var fields = kept.first else { return false }
    let (number, kind, count) = (try fields.long(), try fields.text(), Int(try fields.long()))
    let task: [Parameter] = [.long(number), .int(lease.task.ordinal)]
    guard count >= LeasePolicy.mostCompared else {
      _ = try pipeline([(.keepTask, task + [.long(nil), .flag(false)]), (.notify, [])])
      return true
    }
    _ = try run(.failTask, task)
    let message = "\(kind) task \(lease.task) failed for good: \(FailureMessage.different(count))"
    try endJob(
      lease.task.job, as: .failed,
      failure: JobFailure(reason: .task, message: message, task: lease.task.ordinal))
    return true
  }

  /// Publishes the first of the results of a task that are compared.
  fileprivate func accept(_ task: TaskID, policy: LeasePolicy) throws(JobStoreError) -> UncheckedResult? {
    let id = Parameter.text(task.job.description)
    guard let job = try lockForEnd(id), !job.state.hasEnded else { return nil }
    let fewest = Parameter.long(Int64(max(policy.fewestRendered, 1)))
    guard var fields = try run(.accept, [.long(job.number), .int(task.ordinal)]).first else { return nil }
    let epoch = Parameter.long(try fields.long())
    let accepted = UncheckedResult(
      task: task, result: Content(digest: try fields.digest(), size: try fields.count()), account: try fields.text())
    let place = [id, .int(task.ordinal), epoch]
    _ = try pipeline([
      (.findMedianPace, place + [fewest]), (.liftIsolation, place + [.long(Int64(policy.isolation))]),
      (.readyStitch, [id]), (.finishJob, [id]), (.notify, []),
    ])
    return accepted
  }

  /// Ends the leases of accounts that are quarantined, and lists the jobs that have results of theirs.
  fileprivate func distrust(
    _ policy: LeasePolicy
  ) throws(JobStoreError) -> (accounts: [String], jobs: [(JobID, maker: String)]) {
    let accounts = try run(.quarantined).map { (fields) throws(JobStoreError) in try fields.text() }
    guard !accounts.isEmpty else { return ([], []) }
    try releaseLeases(of: accounts, FailureMessage.quarantined, policy)
    let jobs = try pipeline([(.forgetComparedOf, [.texts(accounts)]), (.jobsWithResultsOf, [.texts(accounts)])])[1]
      .map { (fields) throws(JobStoreError) in (JobID(try fields.text()), maker: try fields.text()) }
    return (accounts, jobs)
  }

  /// - Returns: Whether the job is done, and is in doubt now. Nil: it has ended otherwise.
  fileprivate func removeResults(
    of accounts: [String], from id: JobID, maker: String
  ) throws(JobStoreError) -> Bool? {
    guard let job = try lockForEnd(.text(id.description)) else { return nil }
    let number = Parameter.long(job.number)
    if job.state == .done {
      _ = try run(.doubt, [number, .text(FailureMessage.doubted(maker))])
      return true
    }
    if job.state.hasEnded { return nil }
    if job.state.isBound { try unplan(job.number, reason: FailureMessage.replanned(maker)) }
    let probes = try run(.probesOf, [number, .texts(accounts)]).map { (fields) throws(JobStoreError) in
      try fields.int()
    }
    _ = try reprobe(job.number, tasks: probes)
    _ = try run(.notify)
    return false
  }
}

extension Statement {
  /// A condition on a worker: it is not held.
  private static func isHeld(_ worker: String) -> String {
    """
    EXISTS (SELECT FROM sheaf.standing WHERE standing.account = \(worker).account AND standing.hold IS NOT NULL)
    """
  }

  /// A condition: a connected worker whose account is not in `except` could make a task's result.
  /// - Parameter times: The numbers of the parameters with `LeasePolicy.lease` and `.outage`.
  private static func couldMake(build: String, memory: String, except: String, times: (String, String)) -> String {
    """
    EXISTS (
      SELECT FROM sheaf.worker other
      WHERE NOT other.has_left
        AND other.last_seen >= \(beforeOutage(times.1)) - \(times.0) * interval '1 microsecond'
        AND other.build = \(build) AND other.memory >= \(memory) AND NOT other.account = ANY (\(except))
        AND NOT \(isHeld("other")))
    """
  }

  /// A condition: the worker `$4` is not quarantined.
  static let isBelieved = """
    NOT EXISTS (
      SELECT FROM sheaf.worker JOIN sheaf.standing USING (account)
      WHERE worker.id = $4 AND standing.hold = 'quarantined')
    """

  /// The workers `$1` that are held.
  static let heldWorkers = Statement(
    "held-workers", "SELECT id FROM sheaf.worker WHERE id = ANY ($1) AND \(isHeld("worker"))")

  /// Those of the workers `$2` whose account has made a result of the task that is compared.
  static let comparedWorkers = """
    SELECT worker.id FROM sheaf.compared JOIN sheaf.worker USING (account)
    WHERE compared.job = task.job AND compared.ordinal = task.ordinal AND worker.id = ANY ($2)
    """

  /// A condition on a task: no result of it is compared.
  static let isNotCompared = """
    NOT EXISTS (SELECT FROM sheaf.compared WHERE compared.job = task.job AND compared.ordinal = task.ordinal)
    """

  fileprivate static let compare = Statement(
    "compare",
    """
    WITH held AS MATERIALIZED (
      SELECT lease.job, lease.ordinal, lease.granted_at, worker.account, task.kind, task.memory, job.build
      FROM sheaf.lease JOIN sheaf.task USING (job, ordinal) JOIN sheaf.job ON job.number = lease.job
        JOIN sheaf.worker ON worker.id = lease.worker
      WHERE job.id = $1 AND lease.ordinal = $2 AND lease.epoch = $3 AND lease.worker = $4 AND lease.session <= $5
        AND task.kind IN (\(TaskKind.allCases.filter(\.isCompared).map { "'\($0.rawValue)'" }.joined(separator: ", ")))
        AND \(isBelieved)
    ), wanted AS MATERIALIZED (
      SELECT held.* FROM held WHERE CASE
        WHEN EXISTS (SELECT FROM sheaf.compared other WHERE (other.job, other.ordinal) = (held.job, held.ordinal))
        THEN NOT EXISTS (
          SELECT FROM sheaf.compared other
          WHERE (other.job, other.ordinal) = (held.job, held.ordinal) AND other.account <> held.account
            AND other.result_digest = $6)
        ELSE ($8 < $9 OR $10 > coalesce(
            (SELECT confirmed FROM sheaf.standing WHERE standing.account = held.account), 0)
            + (SELECT count(*) FROM sheaf.compared other WHERE other.account = held.account))
          AND \(couldMake(build: "held.build", memory: "held.memory", except: "ARRAY[held.account]", times: ("$11", "$12")))
        END
    ), ended AS (
      DELETE FROM sheaf.lease USING wanted
      WHERE lease.job = wanted.job AND lease.ordinal = wanted.ordinal AND lease.epoch = $3
    ), used AS (
      INSERT INTO sheaf.usage \(usageColumns)
      SELECT job, ordinal, $3, $4, \(usageParameters(from: 13)) FROM wanted WHERE $13::bigint IS NOT NULL
    ), kept AS (
      INSERT INTO sheaf.compared (job, ordinal, account, epoch, worker, result_digest, result_size, granted_at,
        published_at, took)
      SELECT job, ordinal, account, $3, $4, $6, $7, granted_at, sheaf.now(), \(microseconds(since: "granted_at"))
      FROM wanted ON CONFLICT (job, ordinal, account) DO NOTHING RETURNING epoch
    )
    SELECT job, kind, (
      SELECT count(*) FROM sheaf.compared other WHERE (other.job, other.ordinal) = (wanted.job, wanted.ordinal)
    ) + (SELECT count(*) FROM kept) FROM wanted
    """)

  /// A task has a result: those who have made the same one are confirmed, and the others are quarantined. The rows are
  /// in order, so that no two transactions wait for each other.
  static let settle = Statement(
    "settle",
    """
    WITH published AS MATERIALIZED (
      SELECT task.job, task.ordinal, task.maker, job.id FROM sheaf.task JOIN sheaf.job ON job.number = task.job
      WHERE job.id = $1 AND task.ordinal = $2 AND task.published_epoch = $3 AND task.result_digest = $4
    ), made AS (
      DELETE FROM sheaf.compared USING published
      WHERE (compared.job, compared.ordinal) = (published.job, published.ordinal)
      RETURNING compared.account, compared.result_digest = $4 AS is_same
    ), judged AS (
      SELECT account, bool_or(is_same) AS is_same FROM (
        SELECT account, is_same FROM made
        UNION ALL SELECT maker, true FROM published WHERE maker IS NOT NULL
      ) AS all_made WHERE EXISTS (SELECT FROM made WHERE is_same) GROUP BY account
    )
    INSERT INTO sheaf.standing (account, confirmed, hold, reason, held_at, is_purged)
    SELECT account, is_same::integer, CASE WHEN NOT is_same THEN 'quarantined' END,
      CASE WHEN is_same THEN '' ELSE $5 END, CASE WHEN NOT is_same THEN sheaf.now() END, is_same
    FROM judged ORDER BY account
    ON CONFLICT (account) DO UPDATE SET
      confirmed = CASE WHEN excluded.hold IS NULL THEN standing.confirmed + 1 ELSE 0 END,
      hold = coalesce(excluded.hold, standing.hold),
      reason = CASE WHEN excluded.hold IS NULL THEN standing.reason ELSE excluded.reason END,
      held_at = coalesce(excluded.held_at, standing.held_at),
      is_purged = standing.is_purged AND excluded.is_purged
    """)

  fileprivate static let uncheckedTasks = Statement(
    "unchecked-tasks",
    """
    WITH unanimous AS MATERIALIZED (
      SELECT job, ordinal, array_agg(account) AS accounts FROM sheaf.compared
      GROUP BY job, ordinal HAVING count(DISTINCT result_digest) = 1
    )
    SELECT job.id, task.ordinal
    FROM unanimous JOIN sheaf.task USING (job, ordinal) JOIN sheaf.job ON job.number = task.job
    WHERE task.state = 'ready' AND job.\(hasNotEnded)
      AND NOT \(couldMake(build: "job.build", memory: "task.memory", except: "unanimous.accounts", times: ("$1", "$2")))
    ORDER BY job.number, task.ordinal
    """)

  fileprivate static let accept = Statement(
    "accept",
    """
    WITH first AS MATERIALIZED (
      SELECT * FROM sheaf.compared WHERE job = $1 AND ordinal = $2 ORDER BY number LIMIT 1
    ), published AS (
      UPDATE sheaf.task SET state = 'done', published_epoch = first.epoch, published_at = first.published_at,
        publisher = first.worker, maker = first.account, result_digest = first.result_digest,
        result_size = first.result_size, took = first.took
      FROM first WHERE task.job = first.job AND task.ordinal = first.ordinal AND task.state = 'ready'
      RETURNING task.job, task.ordinal, task.kind, task.work, first.granted_at, first.epoch, first.result_digest,
        first.result_size, first.account
    ), gone AS (
      DELETE FROM sheaf.compared USING published
      WHERE (compared.job, compared.ordinal) = (published.job, published.ordinal)
    ), \(counted)
    SELECT epoch, result_digest, result_size, account FROM published
    """)

  fileprivate static let standings = Statement(
    "standings",
    "SELECT account, confirmed, hold, reason, \(microseconds("held_at")) FROM sheaf.standing ORDER BY account")

  fileprivate static let setHold = Statement(
    "set-hold",
    """
    INSERT INTO sheaf.standing (account, hold, reason, held_at, is_purged)
    SELECT $1, $2, $3, CASE WHEN $2 IS NOT NULL THEN sheaf.now() END, $2 IS DISTINCT FROM 'quarantined'
    WHERE $2 IS NOT NULL OR EXISTS (SELECT FROM sheaf.standing WHERE account = $1)
    ON CONFLICT (account) DO UPDATE SET hold = excluded.hold, reason = excluded.reason, held_at = excluded.held_at,
      confirmed = CASE WHEN excluded.is_purged THEN standing.confirmed ELSE 0 END,
      is_purged = standing.is_purged AND excluded.is_purged
    WHERE standing.hold IS DISTINCT FROM excluded.hold OR standing.reason <> excluded.reason
    RETURNING pg_catalog.pg_notify('sheaf_change', '')
    """)

  fileprivate static let quarantined = Statement(
    "quarantined",
    """
    SELECT account FROM sheaf.standing WHERE hold = 'quarantined' AND NOT is_purged ORDER BY account FOR UPDATE
    """)

  fileprivate static let forgetComparedOf = Statement(
    "forget-compared-of", "DELETE FROM sheaf.compared WHERE account = ANY ($1)")

  /// Those of a job that has ended.
  static let forgetCompared = Statement(
    "forget-compared",
    """
    DELETE FROM sheaf.compared
    WHERE job = (SELECT number FROM sheaf.job WHERE id = $1 AND ended_at IS NOT NULL)
    """)

  fileprivate static let jobsWithResultsOf = Statement(
    "jobs-with-results-of",
    """
    SELECT job.id, min(task.maker) FROM sheaf.job JOIN sheaf.task ON task.job = job.number
    WHERE task.maker = ANY ($1) AND task.state = 'done' AND (job.\(hasNotEnded) OR job.state = 'done')
    GROUP BY job.number ORDER BY job.number
    """)

  fileprivate static let doubt = Statement("doubt", "UPDATE sheaf.job SET doubt = $2 WHERE number = $1")

  fileprivate static let probesOf = Statement(
    "probes-of",
    """
    SELECT ordinal FROM sheaf.task WHERE job = $1 AND kind = 'probe' AND state = 'done' AND maker = ANY ($2)
    """)

  fileprivate static let endPurge = Statement(
    "end-purge",
    "UPDATE sheaf.standing SET is_purged = true WHERE account = ANY ($1) AND hold = 'quarantined' AND NOT is_purged")
}
