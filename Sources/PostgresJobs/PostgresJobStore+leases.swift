package import Digest
package import FarmModel
package import Jobs

// Leases from their renewal to the result.

extension PostgresJobStore {
  package func renew(_ renewals: [Renewal]) async throws(JobStoreError) -> [Renewal] {
    guard !renewals.isEmpty else { return [] }
    let batch = RenewalBatch(renewals)
    let merged = batch.merged
    let lease = policy.lease.microseconds
    let held = try await heartbeats.perform { (connection) throws(JobStoreError) in
      try connection.run(
        .renew,
        [
          .texts(merged.map(\.lease.task.job.description.withoutNul)), .ints(merged.map(\.lease.task.ordinal)),
          .longs(merged.map(\.lease.epoch)), .texts(merged.map(\.holder.worker.description.withoutNul)),
          .longs(merged.map(\.holder.session.number)), .longs(merged.map(\.done)), .longs(merged.map(\.moved)),
          .long(lease),
        ]
      ).map { (fields) throws(JobStoreError) in Int(try fields.long()) - 1 }
    }
    return batch.notHeld(held: Set(held))
  }

  package func publish(
    _ lease: Lease, holder: Holder, result: Content, usage: AttemptUsage?, account: String?, draw: Double
  ) async throws(JobStoreError) -> PublishOutcome {
    try result.validate()
    try usage?.validate()
    let job = Parameter.text(lease.task.job.description.withoutNul)
    let task = [job, .int(lease.task.ordinal)]
    let held: [Parameter] =
      task + [
        .long(lease.epoch), .text(holder.worker.description.withoutNul), .long(holder.session.number),
      ]
    let digest = Parameter.text(result.digest.hex)
    let fewest = Parameter.long(Int64(max(policy.fewestRendered, 1)))
    let locks: [Call] = [(.lockJob, held), (.lockTask, held)]
    let place = task + [.long(lease.epoch)]
    let disproved = Parameter.text(FailureMessage.disproved(lease.task).withoutNul)
    let maker = Parameter.text(account?.withoutNul)
    let calls: [Call] = [
      (.publish, held + [digest, .long(result.size)] + usage.parameters + [maker]),
      (.settle, place + [digest, disproved]),
      (.findMedianPace, place + [fewest]), (.liftIsolation, place + [.long(Int64(policy.isolation))]),
      (.readyStitch, [job]), (.finishJob, [job]), (.suspectMakers, [job]), (.isPublished, place + [digest]),
    ]
    let policy = policy
    return try await results.perform { (connection) throws(JobStoreError) in
      guard policy.comparedShare > 0 else {
        return try connection.transaction(locks + calls).dropFirst(locks.count).outcome
      }
      return try connection.transaction { () throws(JobStoreError) in
        let compare = connection.compareCall(held, result, usage, maker, draw: draw, policy)
        let kept = try connection.pipeline(locks + [compare])[locks.count]
        if try connection.keep(kept, of: lease) { return .compared }
        return try connection.pipeline(calls)[...].outcome
      }
    }
  }

  package func disconnect(_ holder: Holder) async throws(JobStoreError) -> Int {
    let holder: [Parameter] = [.text(holder.worker.description.withoutNul), .long(holder.session.number)]
    return try await results.perform { (connection) throws(JobStoreError) in
      let results = try connection.transaction([(.unregister, holder), (.leave, holder)])
      guard var fields = results[1].first else { return 0 }
      return Int(try fields.long())
    }
  }
}

extension ArraySlice<Rows> {
  /// Of the statements from `publish` to `isPublished`.
  fileprivate var outcome: PublishOutcome {
    if first?.isEmpty == false { return .published }
    return last?.isEmpty == false ? .duplicate : .stale
  }
}

extension AttemptUsage? {
  /// Of `Statement.usageColumns`, from the fifth on. All null if it is not known.
  var parameters: [Parameter] {
    [
      .long(self?.wait.microseconds), .long(self?.fetch.microseconds), .long(self?.render.microseconds),
      .long(self?.upload.microseconds), .long(self?.cpu.microseconds), .long(self?.peakBytes),
      .long(self?.fetchedBytes), .long(self?.uploadedBytes),
    ]
  }
}

extension Fields {
  /// Reads `Statement.usageNumbers`.
  mutating func usage() throws(JobStoreError) -> AttemptUsage {
    var usage = AttemptUsage()
    for time in [\AttemptUsage.wait, \.fetch, \.render, \.upload, \.cpu] {
      usage[keyPath: time] = .microseconds(try long())
    }
    for bytes in [\AttemptUsage.peakBytes, \.fetchedBytes, \.uploadedBytes] { usage[keyPath: bytes] = try long() }
    return usage
  }
}

extension Statement {
  static let usageNumbers = [
    "waited", "fetched", "rendered", "uploaded", "cpu", "peak_bytes", "fetched_bytes", "uploaded_bytes",
  ]
  static let usageColumns = "(job, ordinal, epoch, worker, \(usageNumbers.joined(separator: ", ")))"

  /// The parameters of `AttemptUsage?.parameters`, of which this is the number of the first.
  static func usageParameters(from first: Int) -> String {
    usageNumbers.indices.map { "$\(first + $0)::bigint" }.joined(separator: ", ")
  }

  /// Locks and changes rows of `sheaf.lease` only. A lease that another transaction has locked is being published,
  /// ended or left: it is held, and is renewed the next time. So this waits for nothing. `OFFSET 0` keeps the planner
  /// from another order of the joins.
  static let renew = Statement(
    "renew",
    """
    WITH held AS MATERIALIZED (
      SELECT renewal.place, renewal.session, renewal.done, renewal.moved, lease.job, lease.ordinal, lease.epoch
      FROM unnest($1, $2, $3, $4, $5, $6, $7) WITH ORDINALITY
          AS renewal (job, ordinal, epoch, worker, session, done, moved, place)
        CROSS JOIN LATERAL (SELECT number FROM sheaf.job WHERE job.id = renewal.job OFFSET 0) AS job
        CROSS JOIN LATERAL (
          SELECT lease.job, lease.ordinal, lease.epoch FROM sheaf.lease
          WHERE lease.job = job.number AND lease.ordinal = renewal.ordinal AND lease.epoch = renewal.epoch
            AND lease.worker = renewal.worker AND lease.session <= renewal.session
          OFFSET 0
        ) AS lease
    ), locked AS MATERIALIZED (
      SELECT held.* FROM held CROSS JOIN LATERAL (
        SELECT FROM sheaf.lease
        WHERE lease.job = held.job AND lease.ordinal = held.ordinal AND lease.epoch = held.epoch
          AND lease.session <= held.session
        FOR NO KEY UPDATE SKIP LOCKED
      ) AS lease
    ), renewed AS (
      UPDATE sheaf.lease SET until = sheaf.now() + $8 * interval '1 microsecond',
        session = locked.session, is_away = lease.is_away AND lease.session = locked.session,
        moved_at = CASE
          WHEN locked.session > lease.session OR locked.moved > lease.moved OR locked.done > lease.progress
          THEN sheaf.now() ELSE lease.moved_at END,
        moved = CASE
          WHEN locked.session > lease.session THEN locked.moved ELSE greatest(lease.moved, locked.moved) END,
        progress = greatest(lease.progress, locked.done)
      FROM locked
      WHERE lease.job = locked.job AND lease.ordinal = locked.ordinal AND lease.epoch = locked.epoch
    )
    SELECT place FROM held
    """)

  /// A condition on a job: the holder holds the lease `$3` of its task `$2`.
  private static let isHeld = """
    EXISTS (
      SELECT FROM sheaf.lease
      WHERE lease.job = job.number AND lease.ordinal = $2 AND lease.epoch = $3 AND lease.worker = $4
        AND lease.session <= $5)
    """

  /// Locks a job: the second of two of its tasks that end at once waits here. What follows in its transaction sees
  /// both. A report of a lease that is not held waits for nothing. Claims do not wait, because this is not a lock of
  /// the job's key.
  static let lockJob = Statement(
    "lock-job", "SELECT number FROM sheaf.job WHERE id = $1 AND \(isHeld) FOR NO KEY UPDATE")

  /// Leases are granted and ended only by the holder of their task's lock. What follows in the transaction sees them
  /// all.
  fileprivate static let lockTask = Statement(
    "lock-task",
    """
    SELECT ordinal FROM sheaf.task
    WHERE job = (SELECT number FROM sheaf.job WHERE id = $1 AND \(isHeld)) AND ordinal = $2 FOR UPDATE
    """)

  /// Counts what the part `published` of a statement has published.
  static let counted = """
    counted AS (
      UPDATE sheaf.job SET probes_done = probes_done + (kind = 'probe')::integer,
        measures_done = measures_done + (kind = 'measure')::integer,
        videos_done = videos_done + (kind = 'video')::integer,
        work_done = work_done + CASE WHEN kind IN ('video', 'stitch') THEN published.work ELSE 0 END,
        audios_done = audios_done + (kind = 'audio')::integer,
        rendering_since = CASE kind WHEN 'probe' THEN rendering_since
          ELSE least(rendering_since, published.granted_at) END
      FROM published WHERE job.number = published.job
    )
    """

  fileprivate static let publish = Statement(
    "publish",
    """
    WITH held AS MATERIALIZED (
      SELECT job, ordinal, granted_at FROM sheaf.lease
      WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) AND ordinal = $2 AND epoch = $3 AND worker = $4
        AND session <= $5 AND \(isBelieved("$16"))
    ), ended AS (
      DELETE FROM sheaf.lease USING held WHERE lease.job = held.job AND lease.ordinal = held.ordinal
    ), published AS (
      UPDATE sheaf.task SET state = 'done', published_epoch = $3, published_at = sheaf.now(), publisher = $4,
        maker = coalesce($16, (SELECT account FROM sheaf.worker WHERE worker.id = $4)), result_digest = $6, result_size = $7, took = \(microseconds(since: "held.granted_at"))
      FROM held WHERE task.job = held.job AND task.ordinal = held.ordinal
      RETURNING task.job, task.kind, task.work, held.granted_at
    ), used AS (
      INSERT INTO sheaf.usage \(usageColumns)
      SELECT job, ordinal, $3, $4, \(usageParameters(from: 8)) FROM held WHERE $8::bigint IS NOT NULL
    ), \(counted)
    SELECT pg_catalog.pg_notify('sheaf_change', '') FROM published
    """)

  /// After a video task was published: `LeasePolicy.findsMedianPace` and `medianPace`, in SQL.
  static let findMedianPace = Statement(
    "find-median-pace",
    """
    UPDATE sheaf.job SET median_pace = (
      SELECT CASE WHEN count(*) >= $4 THEN percentile_disc(0.5) WITHIN GROUP (ORDER BY task.took / task.cost) END
      FROM sheaf.task
      WHERE task.job = job.number AND task.kind = 'video' AND task.took IS NOT NULL
        AND task.cost BETWEEN \(LeasePolicy.measurableCosts.lowerBound) AND \(LeasePolicy.measurableCosts.upperBound))
    WHERE id = $1 AND state = 'rendering' AND videos_done - videos_cached >= $4
      AND (videos_done - videos_cached)
        % power(10::numeric, greatest(length((videos_done - videos_cached)::text) - 2, 0))::bigint = 0
      AND EXISTS (
        SELECT FROM sheaf.task
        WHERE task.job = job.number AND task.ordinal = $2 AND task.kind = 'video' AND task.published_epoch = $3)
    """)

  fileprivate static let isPublished = Statement(
    "is-published",
    """
    SELECT ordinal FROM sheaf.task
    WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) AND ordinal = $2
      AND published_epoch = $3 AND result_digest = $4
    UNION ALL
    SELECT ordinal FROM sheaf.compared
    WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) AND ordinal = $2 AND epoch = $3 AND result_digest = $4
    """)

  fileprivate static let unregister = Statement(
    "unregister", "UPDATE sheaf.worker SET has_left = true WHERE id = $1 AND session = $2 AND NOT has_left")

  fileprivate static let leave = Statement(
    "leave",
    """
    WITH held AS MATERIALIZED (
      SELECT job, ordinal, epoch FROM sheaf.lease WHERE worker = $1 AND session <= $2
      ORDER BY job, ordinal, epoch FOR NO KEY UPDATE
    ), away AS (
      UPDATE sheaf.lease SET is_away = true FROM held
      WHERE lease.job = held.job AND lease.ordinal = held.ordinal AND lease.epoch = held.epoch AND NOT lease.is_away
      RETURNING lease.epoch
    )
    SELECT (SELECT count(*) FROM held), (SELECT count(pg_catalog.pg_notify('sheaf_change', '')) FROM away)
    """)
}
