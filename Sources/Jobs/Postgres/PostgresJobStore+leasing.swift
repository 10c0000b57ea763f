extension PostgresJobStore {
  package func claim(worker: WorkerID, build: String, limit: Int) throws(JobStoreError) -> [Grant] {
    try worker.validate()
    guard limit > 0 else { return [] }
    let ready = try perform { (connection) throws(JobStoreError) in
      try connection.run(
        .claim,
        [
          .text(worker.description), .text(build.withoutNul), .long(Int64(limit)),
          .long(policy.lease.microseconds), .long(policy.preference.microseconds),
        ]
      ).map { (fields) throws(JobStoreError) in try fields.grant() }
    }
    guard ready.count < limit else { return ready }
    // A transaction of its own: what was granted stands, and is told, whatever becomes of this.
    do {
      return ready + (try double(worker: worker, build: build, limit: limit - ready.count))
    } catch {
      guard ready.isEmpty else { return ready }
      throw error
    }
  }

  package func renew(worker: WorkerID, leases: [LeaseProgress]) throws(JobStoreError) -> [Lease] {
    guard !leases.isEmpty else { return [] }
    // A lease that is named twice is renewed once, with the most that was said.
    var asked: [LeaseProgress] = []
    var places: [Lease: Int] = [:]
    for renewal in leases {
      if let place = places[renewal.lease] {
        asked[place].done = max(asked[place].done, renewal.done)
      } else {
        places[renewal.lease] = asked.count
        asked.append(renewal)
      }
    }
    let renewed = try perform { (connection) throws(JobStoreError) in
      try connection.run(
        .renew,
        [
          .text(worker.description.withoutNul), .texts(asked.map(\.lease.task.job.description.withoutNul)),
          .ints(asked.map(\.lease.task.ordinal)), .longs(asked.map(\.lease.epoch)), .longs(asked.map(\.done)),
          .long(policy.lease.microseconds),
        ]
      ).map { (fields) throws(JobStoreError) in Int(try fields.long()) - 1 }
    }
    let kept = Set(renewed)
    return leases.map(\.lease).filter { lease in places[lease].map { !kept.contains($0) } ?? true }
  }

  package func publish(_ lease: Lease, result: Content) throws(JobStoreError) -> PublishOutcome {
    try result.validate()
    let job = Parameter.text(lease.task.job.description.withoutNul)
    let results = try perform { (connection) throws(JobStoreError) in
      try connection.transaction([
        (.lockJob, [job]),
        (
          .publish,
          [job, .int(lease.task.ordinal), .long(lease.epoch), .text(result.digest), .long(result.size)]
        ),
        (.readyStitch, [job]), (.finishJob, [job]),
        (.isPublished, [job, .int(lease.task.ordinal), .long(lease.epoch), .text(result.digest)]),
      ])
    }
    guard results[1].isEmpty else { return .published }
    return results[4].isEmpty ? .stale : .duplicate
  }
}

extension Statement {
  /// Looks at jobs in their order, and at each job's tasks in theirs, and stops when it has enough: so there is no
  /// ORDER BY around the LATERAL, which would lock every job's first tasks before it sorts them. A job without a build
  /// is locked before its tasks, as everywhere, and bound if a task of it was taken. Nothing here waits for a lock.
  /// (Not EXISTS: the planner may turn that into a walk over every ready task.)
  static let claim = Statement(
    "claim",
    """
    WITH unbound AS MATERIALIZED (
      SELECT number FROM sheaf.job
      WHERE state = 'describing' AND build IS NULL
        AND (SELECT true FROM sheaf.task WHERE task.job = job.number AND task.state = 'ready' LIMIT 1)
      ORDER BY priority DESC, number LIMIT $3 FOR UPDATE SKIP LOCKED
    ), open AS MATERIALIZED (
      SELECT number, id, priority FROM sheaf.job
      WHERE state IN ('describing', 'rendering') AND (build = $2 OR number IN (SELECT number FROM unbound))
      ORDER BY priority DESC, number
    ), chosen AS MATERIALIZED (
      SELECT open.id, open.priority, picked.job, picked.ordinal
      FROM open CROSS JOIN LATERAL (
        SELECT task.job, task.ordinal FROM sheaf.task
        WHERE task.job = open.number AND task.state = 'ready' AND task.rests_until <= sheaf.now()
          AND ($1 <> ALL (task.failed_on) OR task.rests_until + $5 * interval '1 microsecond' <= sheaf.now())
        ORDER BY task.cost DESC, task.ordinal LIMIT $3 FOR UPDATE SKIP LOCKED
      ) AS picked
      LIMIT $3
    ), bound AS (
      UPDATE sheaf.job SET build = $2 FROM unbound
      WHERE job.number = unbound.number AND job.number IN (SELECT chosen.job FROM chosen)
    ), granted AS (
      UPDATE sheaf.task SET state = 'leased', worker = $1, epoch = greatest(task.epoch, task.twin_epoch) + 1,
        progress = 0, leased_until = sheaf.now() + $4 * interval '1 microsecond', moved_at = sheaf.now(),
        granted_at = sheaf.now()
      FROM chosen WHERE task.job = chosen.job AND task.ordinal = chosen.ordinal
      RETURNING chosen.id, chosen.priority, task.*
    )
    SELECT id, ordinal, epoch, kind, payload,
      CASE kind WHEN 'stitch' THEN (
        SELECT array_agg(piece.result_digest ORDER BY piece.ordinal) FROM sheaf.task piece
        WHERE piece.job = granted.job AND piece.kind IN ('picture', 'sound')
      ) ELSE input_digests END,
      CASE kind WHEN 'stitch' THEN (
        SELECT array_agg(piece.result_size ORDER BY piece.ordinal) FROM sheaf.task piece
        WHERE piece.job = granted.job AND piece.kind IN ('picture', 'sound')
      ) ELSE input_sizes END,
      work
    FROM granted ORDER BY priority DESC, job, cost DESC, ordinal
    """)

  fileprivate static let renew = Statement(
    "renew",
    """
    WITH held AS MATERIALIZED (
      SELECT asked.job, asked.ordinal, asked.place, asked.done, locked.is_twin
      FROM (
        SELECT job.number AS job, named.ordinal, named.epoch, named.done, named.place
        FROM unnest($2, $3, $4, $5) WITH ORDINALITY AS named (job, ordinal, epoch, done, place)
          JOIN sheaf.job ON job.id = named.job
        ORDER BY job.number, named.ordinal
      ) AS asked CROSS JOIN LATERAL (
        SELECT task.epoch <> asked.epoch AS is_twin FROM sheaf.task
        WHERE task.job = asked.job AND task.ordinal = asked.ordinal AND task.state = 'leased'
          AND (task.epoch = asked.epoch AND task.worker = $1
            OR task.twin_epoch = asked.epoch AND task.twin_worker = $1)
        FOR UPDATE
      ) AS locked
    )
    UPDATE sheaf.task SET
      leased_until = CASE WHEN held.is_twin THEN task.leased_until
        ELSE sheaf.now() + $6 * interval '1 microsecond' END,
      progress = CASE WHEN held.is_twin THEN task.progress ELSE greatest(task.progress, held.done) END,
      moved_at = CASE WHEN NOT held.is_twin AND held.done > task.progress THEN sheaf.now() ELSE task.moved_at END,
      twin_until = CASE WHEN held.is_twin THEN sheaf.now() + $6 * interval '1 microsecond' ELSE task.twin_until END,
      twin_progress = CASE WHEN held.is_twin THEN greatest(task.twin_progress, held.done) ELSE task.twin_progress END,
      twin_moved_at = CASE WHEN held.is_twin AND held.done > task.twin_progress THEN sheaf.now()
        ELSE task.twin_moved_at END
    FROM held WHERE task.job = held.job AND task.ordinal = held.ordinal
    RETURNING held.place
    """)

  /// Two tasks of a job that end at once end one after the other; what follows in the transaction sees both.
  static let lockJob = Statement("lock-job", "SELECT number FROM sheaf.job WHERE id = $1 FOR UPDATE")

  fileprivate static let publish = Statement(
    "publish",
    """
    WITH published AS (
      UPDATE sheaf.task SET state = 'done', result_digest = $4, result_size = $5, progress = work,
        epoch = $3, twin_epoch = CASE WHEN epoch = $3 THEN twin_epoch ELSE epoch END,
        took = (extract(epoch FROM greatest(
          sheaf.now() - CASE WHEN epoch = $3 THEN granted_at ELSE twin_granted_at END, interval '0')) * 1000000)::bigint,
        worker = NULL, leased_until = NULL, moved_at = NULL, granted_at = NULL, \(clearTwin)
      WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) AND ordinal = $2
        AND state = 'leased' AND (epoch = $3 OR twin_epoch = $3 AND twin_worker IS NOT NULL)
      RETURNING ordinal
    )
    SELECT pg_catalog.pg_notify('sheaf_wake', '') FROM published
    """)

  fileprivate static let isPublished = Statement(
    "is-published",
    """
    SELECT ordinal FROM sheaf.task
    WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) AND ordinal = $2
      AND state = 'done' AND epoch = $3 AND result_digest = $4
    """)
}
