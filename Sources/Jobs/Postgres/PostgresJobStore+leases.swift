package import Digest

// Leases from their grant to the result.

extension PostgresJobStore {
  package func claim(
    worker: WorkerID, session: SessionID, build: String, limit: Int
  ) throws(JobStoreError) -> [Grant] {
    try worker.validate()
    try session.validate()
    guard limit > 0 else { return [] }
    let holder: [Parameter] = [
      .text(worker.description), .text(session.description), .text(build.withoutNul),
      .long(policy.lease.microseconds),
    ]
    let ready = try grants(.claim, holder + [.long(Int64(limit)), .long(policy.exclusion.microseconds)])
    guard ready.count < limit else { return ready }
    // A transaction of its own: the first one's grants are kept, whether this one succeeds or not.
    do {
      return try ready
        + grants(
          .claimBackup,
          holder + [
            .long(Int64(limit - ready.count)), .long(policy.shortestSlow.microseconds), .double(policy.slowness),
            .long(Int64(max(policy.fewestRendered, 1))),
          ])
    } catch {
      guard ready.isEmpty else { return ready }
      throw error
    }
  }

  private func grants(_ statement: Statement, _ parameters: [Parameter]) throws(JobStoreError) -> [Grant] {
    try perform { (connection) throws(JobStoreError) in
      try connection.run(statement, parameters).map { (fields) throws(JobStoreError) in
        let task = TaskID(job: JobID(try fields.text()), ordinal: try fields.int())
        return Grant(
          lease: Lease(task: task, epoch: try fields.long()), kind: try fields.named("task kind"),
          payload: try fields.bytes(), inputs: try fields.contents(), work: try fields.long())
      }
    }
  }

  package func renew(worker: WorkerID, leases: [LeaseProgress]) throws(JobStoreError) -> [Lease] {
    guard !leases.isEmpty else { return [] }
    // A lease that is named twice is renewed once, with the most progress.
    var renewals: [LeaseProgress] = []
    var places: [Lease: Int] = [:]
    for renewal in leases {
      if let place = places[renewal.lease] {
        renewals[place].done = max(renewals[place].done, renewal.done)
      } else {
        places[renewal.lease] = renewals.count
        renewals.append(renewal)
      }
    }
    let renewed = try perform { (connection) throws(JobStoreError) in
      try connection.run(
        .renew,
        [
          .text(worker.description.withoutNul), .texts(renewals.map(\.lease.task.job.description.withoutNul)),
          .ints(renewals.map(\.lease.task.ordinal)), .longs(renewals.map(\.lease.epoch)),
          .longs(renewals.map(\.done)), .long(policy.lease.microseconds),
        ]
      ).map { (fields) throws(JobStoreError) in Int(try fields.long()) - 1 }
    }
    let held = Set(renewed)
    return leases.map(\.lease).filter { lease in places[lease].map { !held.contains($0) } ?? true }
  }

  package func publish(
    _ lease: Lease, worker: WorkerID, result: Content
  ) throws(JobStoreError) -> PublishOutcome {
    try result.validate()
    let job = Parameter.text(lease.task.job.description.withoutNul)
    let task = [job, .int(lease.task.ordinal)]
    let digest = Parameter.text(result.digest.hex)
    let results = try perform { (connection) throws(JobStoreError) in
      try connection.transaction([
        (.lockJob, [job]), (.lockTask, task),
        (
          .publish,
          task + [.long(lease.epoch), .text(worker.description.withoutNul), digest, .long(result.size)]
        ),
        (.readyStitch, [job]), (.finishJob, [job]),
        (.isPublished, task + [.long(lease.epoch), digest]),
      ])
    }
    guard results[2].isEmpty else { return .published }
    return results[5].isEmpty ? .stale : .duplicate
  }
}

extension Statement {
  /// Walks the jobs in their order, and each job's tasks in theirs, and stops when it has enough. So there is no ORDER BY
  /// around the LATERAL, which would lock the first tasks of every job before the sort. A job without a build is locked
  /// before its tasks, as everywhere, and bound if one of its tasks was chosen. Nothing waits for a lock.
  ///
  /// `(SELECT true … LIMIT 1)` is used although EXISTS would be shorter: the planner may turn EXISTS into a walk over all
  /// ready tasks.
  static let claim = Statement(
    "claim",
    """
    WITH unbound AS MATERIALIZED (
      SELECT number FROM sheaf.job
      WHERE state = 'probing' AND build IS NULL
        AND (SELECT true FROM sheaf.task WHERE task.job = job.number AND task.state = 'ready' LIMIT 1)
      ORDER BY priority DESC, number LIMIT $5 FOR UPDATE SKIP LOCKED
    ), open AS MATERIALIZED (
      SELECT number, id, priority FROM sheaf.job
      WHERE state IN ('probing', 'rendering') AND (build = $3 OR number IN (SELECT number FROM unbound))
      ORDER BY priority DESC, number
    ), chosen AS MATERIALIZED (
      SELECT open.id, open.priority, picked.job, picked.ordinal
      FROM open CROSS JOIN LATERAL (
        SELECT task.job, task.ordinal FROM sheaf.task
        WHERE task.job = open.number AND task.state = 'ready' AND task.not_before <= sheaf.now()
          AND (task.not_before + $6 * interval '1 microsecond' <= sheaf.now() OR \(hasNotFailed(on: "$1")))
        ORDER BY task.cost DESC, task.ordinal LIMIT $5 FOR UPDATE OF task SKIP LOCKED
      ) AS picked
      LIMIT $5
    ), bound AS (
      UPDATE sheaf.job SET build = $3 FROM unbound
      WHERE job.number = unbound.number AND job.number IN (SELECT chosen.job FROM chosen)
    ), granted AS (
      UPDATE sheaf.task SET state = 'running', epoch = task.epoch + 1
      FROM chosen WHERE task.job = chosen.job AND task.ordinal = chosen.ordinal
      RETURNING chosen.id, chosen.priority, task.*
    ), leased AS (\(insertLease(isBackup: false)))
    SELECT id, ordinal, epoch, kind, payload,
      CASE kind WHEN 'stitch' THEN (
        SELECT array_agg(piece.result_digest ORDER BY piece.ordinal) FROM sheaf.task piece
        WHERE piece.job = granted.job AND piece.kind IN ('video', 'audio')
      ) ELSE input_digests END,
      CASE kind WHEN 'stitch' THEN (
        SELECT array_agg(piece.result_size ORDER BY piece.ordinal) FROM sheaf.task piece
        WHERE piece.job = granted.job AND piece.kind IN ('video', 'audio')
      ) ELSE input_sizes END,
      work
    FROM granted ORDER BY priority DESC, job, cost DESC, ordinal
    """)

  /// Mostly there is no candidate, and that costs a look at the first leases: one for each busy slot. What is slow is
  /// defined in LeasePolicy.swift, and the same arithmetic is here. Nothing waits for a lock. A task that was locked is
  /// chosen only if its state and its epoch have not changed since the statement began: then its leases have not either.
  static let claimBackup = Statement(
    "claim-backup",
    """
    WITH single AS MATERIALIZED (
      SELECT task.job, task.ordinal, task.epoch, task.cost, job.id, job.priority,
        (extract(epoch FROM sheaf.now() - lease.granted_at) * 1000000)::bigint AS age
      FROM sheaf.lease JOIN sheaf.task USING (job, ordinal) JOIN sheaf.job ON job.number = lease.job
      WHERE NOT lease.is_backup AND lease.granted_at <= sheaf.now() - $6 * interval '1 microsecond'
        AND lease.worker <> $1 AND job.build = $3
        AND task.state = 'running' AND task.kind = 'video' AND task.not_before <= sheaf.now()
        AND task.cost BETWEEN \(LeasePolicy.measurableCosts.lowerBound) AND \(LeasePolicy.measurableCosts.upperBound)
        AND (
          SELECT true FROM sheaf.lease backup
          WHERE backup.job = task.job AND backup.ordinal = task.ordinal AND backup.is_backup LIMIT 1
        ) IS NULL
        AND \(hasNotFailed(on: "$1"))
    ), paced AS MATERIALIZED (
      SELECT other.job, (
        SELECT CASE WHEN count(*) >= $8
          THEN percentile_disc(0.5) WITHIN GROUP (ORDER BY task.took / task.cost) END
        FROM sheaf.task
        WHERE task.job = other.job AND task.kind = 'video' AND task.took IS NOT NULL
          AND task.cost BETWEEN \(LeasePolicy.measurableCosts.lowerBound) AND \(LeasePolicy.measurableCosts.upperBound)
      ) AS median
      FROM (SELECT DISTINCT job FROM single) AS other
    ), slow AS MATERIALIZED (
      SELECT single.* FROM single JOIN paced USING (job) WHERE single.age > $7 * paced.median * single.cost
      ORDER BY single.priority DESC, single.job, single.age DESC, single.ordinal
    ), chosen AS MATERIALIZED (
      SELECT slow.* FROM slow CROSS JOIN LATERAL (
        SELECT FROM sheaf.task
        WHERE task.job = slow.job AND task.ordinal = slow.ordinal
          AND task.state = 'running' AND task.epoch = slow.epoch
        FOR UPDATE SKIP LOCKED
      ) AS locked
      LIMIT $5
    ), granted AS (
      UPDATE sheaf.task SET epoch = task.epoch + 1
      FROM chosen WHERE task.job = chosen.job AND task.ordinal = chosen.ordinal
      RETURNING chosen.id, chosen.priority, chosen.age, task.*
    ), leased AS (\(insertLease(isBackup: true)))
    SELECT id, ordinal, epoch, kind, payload, input_digests, input_sizes, work
    FROM granted ORDER BY priority DESC, job, age DESC, ordinal
    """)

  /// A condition on a row of `sheaf.task`: no attempt of the worker was counted.
  private static func hasNotFailed(on worker: String) -> String {
    """
    (
      SELECT true FROM sheaf.attempt
      WHERE attempt.job = task.job AND attempt.ordinal = task.ordinal AND attempt.worker = \(worker)
        AND attempt.ended_as IN (\(countedEnds)) LIMIT 1
    ) IS NULL
    """
  }

  /// The names of the ends that are counted, in SQL.
  static let countedEnds = AttemptEnd.allCases.filter(\.isCounted).map { "'\($0.rawValue)'" }.joined(separator: ", ")

  /// A lease of each task in `granted` for worker `$1` and session `$2`, which lasts `$4` microseconds.
  private static func insertLease(isBackup: Bool) -> String {
    """
    INSERT INTO sheaf.lease (job, ordinal, epoch, worker, session, is_backup, granted_at, until, moved_at, progress)
    SELECT job, ordinal, epoch, $1, $2, \(isBackup), sheaf.now(), sheaf.now() + $4 * interval '1 microsecond',
      sheaf.now(), 0
    FROM granted
    """
  }

  /// Locks and changes rows of `sheaf.lease` only, in the order in which every statement locks them.
  static let renew = Statement(
    "renew",
    """
    WITH held AS MATERIALIZED (
      SELECT named.place, named.done, locked.job, locked.ordinal, locked.epoch
      FROM (
        SELECT job.number AS job, renewal.ordinal, renewal.epoch, renewal.done, renewal.place
        FROM unnest($2, $3, $4, $5) WITH ORDINALITY AS renewal (job, ordinal, epoch, done, place)
          JOIN sheaf.job ON job.id = renewal.job
        ORDER BY job.number, renewal.ordinal, renewal.epoch
      ) AS named CROSS JOIN LATERAL (
        SELECT lease.job, lease.ordinal, lease.epoch FROM sheaf.lease
        WHERE lease.job = named.job AND lease.ordinal = named.ordinal AND lease.epoch = named.epoch
          AND lease.worker = $1
        FOR NO KEY UPDATE
      ) AS locked
    )
    UPDATE sheaf.lease SET until = sheaf.now() + $6 * interval '1 microsecond',
      moved_at = CASE WHEN held.done > lease.progress THEN sheaf.now() ELSE lease.moved_at END,
      progress = greatest(lease.progress, held.done)
    FROM held WHERE lease.job = held.job AND lease.ordinal = held.ordinal AND lease.epoch = held.epoch
    RETURNING held.place
    """)

  /// Of two tasks of a job that end at once, one waits here. What follows in its transaction sees both.
  static let lockJob = Statement("lock-job", "SELECT number FROM sheaf.job WHERE id = $1 FOR UPDATE")

  /// Leases are granted and ended only by the holder of their task's lock. What follows in the transaction sees them all.
  fileprivate static let lockTask = Statement(
    "lock-task",
    """
    SELECT ordinal FROM sheaf.task
    WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) AND ordinal = $2 FOR UPDATE
    """)

  fileprivate static let publish = Statement(
    "publish",
    """
    WITH held AS MATERIALIZED (
      SELECT job, ordinal, granted_at FROM sheaf.lease
      WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) AND ordinal = $2 AND epoch = $3 AND worker = $4
    ), ended AS (
      DELETE FROM sheaf.lease USING held WHERE lease.job = held.job AND lease.ordinal = held.ordinal
    ), published AS (
      UPDATE sheaf.task SET state = 'done', published_epoch = $3, result_digest = $5, result_size = $6,
        took = \(microseconds(since: "held.granted_at"))
      FROM held WHERE task.job = held.job AND task.ordinal = held.ordinal
      RETURNING task.ordinal
    )
    SELECT pg_catalog.pg_notify('sheaf_change', '') FROM published
    """)

  /// The time since `start`, in SQL. Zero if the clock was set back.
  static func microseconds(since start: String) -> String {
    "(extract(epoch FROM greatest(sheaf.now() - \(start), interval '0')) * 1000000)::bigint"
  }

  fileprivate static let isPublished = Statement(
    "is-published",
    """
    SELECT ordinal FROM sheaf.task
    WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) AND ordinal = $2
      AND published_epoch = $3 AND result_digest = $4
    """)
}
