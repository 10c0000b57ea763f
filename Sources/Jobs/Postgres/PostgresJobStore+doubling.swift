extension PostgresJobStore {
  /// Grants second leases of slow pictures to a worker for which nothing is ready (DESIGN 4): jobs in their order,
  /// within a job those that have run the longest first, then by ordinal.
  func double(worker: WorkerID, build: String, limit: Int) throws(JobStoreError) -> [Grant] {
    try perform { (connection) throws(JobStoreError) in
      try connection.run(
        .double,
        [
          .text(worker.description), .text(build.withoutNul), .long(Int64(limit)),
          .long(policy.lease.microseconds), .long(policy.shortestSlow.microseconds), .double(policy.slowness),
          .long(Int64(max(policy.fewestRendered, 1))),
        ]
      ).map { (fields) throws(JobStoreError) in try fields.grant() }
    }
  }
}

extension Statement {
  /// Mostly there is nothing to do, and that costs a look at the pictures that run alone: as many as the farm has busy
  /// slots. What is slow is LeasePolicy+slowness.swift's to say, and the same arithmetic here. Nothing waits for a lock;
  /// what was chosen is asked again once it is locked, since it may have been published since.
  static let double = Statement(
    "double",
    """
    WITH running AS MATERIALIZED (
      SELECT task.job, task.ordinal, job.id, job.priority, task.cost,
        (extract(epoch FROM sheaf.now() - task.granted_at) * 1000000)::bigint AS age
      FROM sheaf.task JOIN sheaf.job ON job.number = task.job
      WHERE task.state = 'leased' AND task.kind = 'picture' AND task.twin_worker IS NULL
        AND task.granted_at <= sheaf.now() - $5 * interval '1 microsecond'
        AND task.worker <> $1 AND $1 <> ALL (task.failed_on) AND task.rests_until <= sheaf.now()
        AND task.cost BETWEEN \(LeasePolicy.measurableCosts.lowerBound) AND \(LeasePolicy.measurableCosts.upperBound)
        AND job.build = $2
    ), paced AS MATERIALIZED (
      SELECT other.job, (
        SELECT CASE WHEN count(*) >= $7
          THEN percentile_disc(0.5) WITHIN GROUP (ORDER BY task.took / task.cost) END
        FROM sheaf.task
        WHERE task.job = other.job AND task.kind = 'picture' AND task.took IS NOT NULL
          AND task.cost BETWEEN \(LeasePolicy.measurableCosts.lowerBound) AND \(LeasePolicy.measurableCosts.upperBound)
      ) AS median
      FROM (SELECT DISTINCT job FROM running) AS other
    ), slow AS MATERIALIZED (
      SELECT running.* FROM running JOIN paced USING (job) WHERE running.age > $6 * paced.median * running.cost
      ORDER BY running.priority DESC, running.job, running.age DESC, running.ordinal
    ), chosen AS MATERIALIZED (
      SELECT slow.* FROM slow CROSS JOIN LATERAL (
        SELECT FROM sheaf.task
        WHERE task.job = slow.job AND task.ordinal = slow.ordinal
          AND task.state = 'leased' AND task.twin_worker IS NULL AND task.worker <> $1
          AND $1 <> ALL (task.failed_on) AND task.granted_at <= sheaf.now() - $5 * interval '1 microsecond'
        FOR UPDATE SKIP LOCKED
      ) AS locked
      LIMIT $3
    ), granted AS (
      UPDATE sheaf.task SET twin_worker = $1, twin_epoch = greatest(task.epoch, task.twin_epoch) + 1,
        twin_progress = 0, twin_granted_at = sheaf.now(), twin_moved_at = sheaf.now(),
        twin_until = sheaf.now() + $4 * interval '1 microsecond'
      FROM chosen WHERE task.job = chosen.job AND task.ordinal = chosen.ordinal
      RETURNING chosen.id, chosen.priority, chosen.age, task.*
    )
    SELECT id, ordinal, twin_epoch, kind, payload, input_digests, input_sizes, work
    FROM granted ORDER BY priority DESC, job, age DESC, ordinal
    """)
}
