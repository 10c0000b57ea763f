import Digest
import FarmModel
package import Jobs

// Results that are compared with another worker's before they are used.

extension PostgresJobStore {
  package func acceptUnchecked() async throws(JobStoreError) -> [UncheckedResult] {
    let times = policy.presence
    let found = try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.uncheckedTasks, times + [.long(LeasePolicy.patience.microseconds)]).map {
        (fields) throws(JobStoreError) in
        TaskID(job: JobID(try fields.text()), ordinal: try fields.int())
      }
    }
    var accepted: [UncheckedResult] = []
    for task in found {
      let result = try await results.perform { (connection) throws(JobStoreError) in
        try connection.transaction { () throws(JobStoreError) -> UncheckedResult? in
          guard let job = try connection.lockForEnd(.text(task.job.description)), !job.state.hasEnded else {
            return nil
          }
          return try connection.accept(task, number: job.number, self.policy)
        }
      }
      if let result { accepted.append(result) }
    }
    return accepted
  }
}

extension LeasePolicy {
  /// The parameters of `Statement.couldMake`.
  fileprivate var presence: [Parameter] { [.long(lease.microseconds), .long(outage.microseconds)] }
}

extension Connection {
  /// Keeps the result of a lease for a comparison, if it must be compared before it is used. `keep` follows.
  ///
  /// - Parameters:
  ///   - held: The lease and its holder, as for the statement `publish`.
  ///   - account: The holder's, if it is given.
  func compareCall(
    _ held: [Parameter], _ result: Content, _ usage: AttemptUsage?, _ account: Parameter, draw: Double,
    _ policy: LeasePolicy
  ) -> Call {
    let share: [Parameter] = [.double(draw), .double(policy.comparedShare), .long(policy.firstCompared)]
    return (
      .compare,
      held + [.text(result.digest.hex), .long(result.size)] + share + policy.presence + usage.parameters + [account]
    )
  }

  /// - Parameter kept: What `compareCall` has returned.
  /// - Returns: Whether the result is kept, or has failed its task.
  func keep(_ kept: Rows, of lease: Lease) throws(JobStoreError) -> Bool {
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

  /// Publishes the first of the results of a task that are compared, if they do not differ. The job is locked.
  /// - Parameters:
  ///   - number: The job's.
  ///   - always: Also if others could make it, and it has not waited for long.
  func accept(
    _ task: TaskID, number: Int64, _ policy: LeasePolicy, always: Bool = false
  ) throws(JobStoreError) -> UncheckedResult? {
    let id = Parameter.text(task.job.description)
    let fewest = Parameter.long(Int64(max(policy.fewestRendered, 1)))
    guard
      var fields = try run(
        .accept,
        [.long(number), .int(task.ordinal), .flag(always)] + policy.presence
          + [.long(LeasePolicy.patience.microseconds)]
      ).first
    else { return nil }
    let epoch = Parameter.long(try fields.long())
    let accepted = UncheckedResult(
      task: task, result: Content(digest: try fields.digest(), size: try fields.count()), account: try fields.text())
    let place = [id, .int(task.ordinal), epoch]
    _ = try pipeline([
      (.findMedianPace, place + [fewest]), (.liftIsolation, place + [.long(Int64(policy.isolation))]),
      (.readyStitch, [id]), (.finishJob, [id]), (.suspectMakers, [id]), (.notify, []),
    ])
    return accepted
  }
}

extension Statement {
  /// A condition: a connected worker whose account is not in `except` could make a task's result.
  /// - Parameter times: The numbers of the parameters with `LeasePolicy.lease` and `.outage`.
  private static func couldMake(build: String, pool: String, memory: String, except: String, times: (String, String))
    -> String
  {
    """
    EXISTS (
      SELECT FROM sheaf.worker other
      WHERE NOT other.has_left
        AND other.last_seen >= \(beforeOutage(times.1)) - \(times.0) * interval '1 microsecond'
        AND other.paused = '' AND other.build = \(build) AND other.memory >= \(memory) AND NOT other.account = ANY (\(except))
        AND NOT \(isHeld("other")) AND \(takes("other.pools", jobsOf: pool)))
    """
  }

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
      SELECT lease.job, lease.ordinal, lease.granted_at, coalesce($21, worker.account) AS account, task.kind,
        task.memory, job.build, job.pool
      FROM sheaf.lease JOIN sheaf.task USING (job, ordinal) JOIN sheaf.job ON job.number = lease.job
        LEFT JOIN sheaf.worker ON worker.id = lease.worker
      WHERE job.id = $1 AND lease.ordinal = $2 AND lease.epoch = $3 AND lease.worker = $4 AND lease.session <= $5
        AND task.kind IN (\(TaskKind.allCases.filter(\.isCompared).map { "'\($0.rawValue)'" }.joined(separator: ", ")))
        AND \(isBelieved("$21")) AND coalesce($21, worker.account) IS NOT NULL
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
          AND \(couldMake(build: "held.build", pool: "held.pool", memory: "held.memory", except: "ARRAY[held.account]", times: ("$11", "$12")))
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
    INSERT INTO sheaf.standing (account, confirmed, hold, reason, held_at, quarantines, taints)
    SELECT account, is_same::integer, CASE WHEN NOT is_same THEN 'quarantined' END,
      CASE WHEN is_same THEN '' ELSE $5 END, CASE WHEN NOT is_same THEN sheaf.now() END, (NOT is_same)::integer,
      (NOT is_same)::integer
    FROM judged ORDER BY account
    ON CONFLICT (account) DO UPDATE SET
      confirmed = CASE WHEN excluded.hold IS NULL THEN standing.confirmed + 1 ELSE 0 END,
      hold = coalesce(excluded.hold, standing.hold),
      reason = CASE WHEN excluded.hold IS NULL THEN standing.reason ELSE excluded.reason END,
      held_at = coalesce(excluded.held_at, standing.held_at),
      quarantines = standing.quarantines + excluded.quarantines, taints = standing.taints + excluded.taints
    """)

  fileprivate static let uncheckedTasks = Statement(
    "unchecked-tasks",
    """
    \(unanimous(where: "true"))
    SELECT job.id, task.ordinal
    FROM unanimous JOIN sheaf.task USING (job, ordinal) JOIN sheaf.job ON job.number = task.job
    WHERE task.state IN ('ready', 'running') AND job.\(hasNotEnded) AND \(isDue(lease: "$1", outage: "$2", patience: "$3"))
    ORDER BY job.number, task.ordinal
    """)

  /// A table of the tasks whose results are compared and do not differ, with whose they are and when the first came.
  private static func unanimous(where condition: String) -> String {
    """
    WITH unanimous AS MATERIALIZED (
      SELECT job, ordinal, array_agg(account) AS accounts, min(published_at) AS since FROM sheaf.compared
      WHERE \(condition) GROUP BY job, ordinal HAVING count(DISTINCT result_digest) = 1
    )
    """
  }

  /// A condition on such a task and its job: the first result need not wait any longer.
  private static func isDue(lease: String, outage: String, patience: String) -> String {
    """
    (unanimous.since <= sheaf.now() - \(patience) * interval '1 microsecond'
      OR task.state = 'ready' AND unanimous.since <= sheaf.now() - \(lease) * interval '1 microsecond'
        AND NOT \(couldMake(
          build: "job.build", pool: "job.pool", memory: "task.memory", except: "unanimous.accounts", times: (lease, outage))))
    """
  }

  fileprivate static let accept = Statement(
    "accept",
    """
    \(unanimous(where: "job = $1 AND ordinal = $2")), due AS MATERIALIZED (
      SELECT unanimous.job, unanimous.ordinal
      FROM unanimous JOIN sheaf.task USING (job, ordinal) JOIN sheaf.job ON job.number = task.job
      WHERE task.state IN ('ready', 'running') AND ($3 OR \(isDue(lease: "$4", outage: "$5", patience: "$6")))
    ), first AS MATERIALIZED (
      SELECT compared.* FROM sheaf.compared JOIN due USING (job, ordinal) ORDER BY number LIMIT 1
    ), ended AS (
      DELETE FROM sheaf.lease USING due WHERE lease.job = due.job AND lease.ordinal = due.ordinal
    ), published AS (
      UPDATE sheaf.task SET state = 'done', published_epoch = first.epoch, published_at = first.published_at,
        publisher = first.worker, maker = first.account, result_digest = first.result_digest,
        result_size = first.result_size, took = first.took
      FROM first WHERE task.job = first.job AND task.ordinal = first.ordinal
      RETURNING task.job, task.ordinal, task.kind, task.work, first.granted_at, first.epoch, first.result_digest,
        first.result_size, first.account
    ), gone AS (
      DELETE FROM sheaf.compared USING published
      WHERE (compared.job, compared.ordinal) = (published.job, published.ordinal)
    ), \(counted)
    SELECT epoch, result_digest, result_size, account FROM published
    """)

  /// Those of a job that has ended.
  static let forgetCompared = Statement(
    "forget-compared",
    """
    DELETE FROM sheaf.compared
    WHERE job = (SELECT number FROM sheaf.job WHERE id = $1 AND ended_at IS NOT NULL)
    """)
}
