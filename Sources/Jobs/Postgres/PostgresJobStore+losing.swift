extension PostgresJobStore {
  package func fail(_ lease: Lease, worker: WorkerID, failure: TaskFailure) throws(JobStoreError) -> Bool {
    let job = Parameter.text(lease.task.job.description.withoutNul)
    let message = failure.message.withoutNul
    let held: [Parameter] = [
      job, .int(lease.task.ordinal), .long(lease.epoch), .text(worker.description.withoutNul), .text(message),
    ]
    if failure.cause == .infrastructure {
      return try perform { (connection) throws(JobStoreError) in try !connection.run(.giveUp, held).isEmpty }
    }
    // A document's failure is a task's last, and nobody's charge.
    let isFinal = failure.cause == .document
    return try perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        _ = try connection.run(.lockJob, [job])
        let failed = try connection.run(
          .fail, held + [.flag(isFinal), .int(maximumCharges), .longs(backOffs(jitter: failure.jitter))])
        guard var fields = failed.first else { return false }
        if try fields.flag() {
          let (kind, charges) = (try fields.kind(), try fields.int())
          let error =
            isFinal
            ? message
            : LossMessage.gaveUp(kind, lease.task, charges: Int(charges), worker: worker, message: message)
          try end(lease.task.job, as: .failed, error: error, on: connection)
        } else {
          _ = try connection.run(.notify)
        }
        return true
      }
    }
  }

  package func fail(_ job: JobID, error: String) throws(JobStoreError) -> Bool {
    try perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        try end(job, as: .failed, error: error.withoutNul, on: connection)
      }
    }
  }

  package func cancel(_ job: JobID) throws(JobStoreError) -> JobState? {
    try perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        try end(job, as: .cancelled, error: nil, on: connection)
        var fields = try connection.run(.jobState, [.text(job.description.withoutNul)]).first
        return try fields?.jobState()
      }
    }
  }

  package func release(worker: WorkerID) throws(JobStoreError) -> Int {
    let id = Parameter.text(worker.description.withoutNul)
    return try perform { (connection) throws(JobStoreError) in
      try connection.transaction([
        (.release, [id, .text(LossMessage.connectionClosed(worker).withoutNul)]), (.forget, [id]),
      ])[0].count
    }
  }

  package func expire() throws(JobStoreError) -> [Lease] {
    let times: [Parameter] = [.long(policy.lease.microseconds), .long(policy.hang.microseconds)]
    return try perform { (connection) throws(JobStoreError) in
      // Mostly there is nothing to do, and that costs one statement.
      guard try !connection.run(.isAnythingLost, times).isEmpty else { return [] }
      return try connection.transaction { () throws(JobStoreError) in
        let lost = try lock(times, on: connection)
        try lose(lost.filter(\.isPast), on: connection)
        try charge(lost.filter { !$0.isPast }, on: connection)
        _ = try connection.run(.forgetOld, [.long(policy.lease.microseconds)])
        if !lost.isEmpty { _ = try connection.run(.notify) }
        return lost.map(\.lease)
      }
    }
  }

  /// A lease that is past its time, or hangs.
  private struct Lost {
    var lease: Lease
    var number: Int64
    var isTwin: Bool
    var isPast: Bool
  }

  /// First the jobs that a charge may end, then the tasks. A task that somebody else has locked is left for the next
  /// time: it is being renewed, published or given up.
  private func lock(_ times: [Parameter], on connection: Connection) throws(JobStoreError) -> [Lost] {
    var lost: [Lost] = []
    let rows = try connection.pipeline([(.lockHungJobs, times), (.lockLost, times)])[1]
    _ = try rows.map { (fields) throws(JobStoreError) in
      let task = TaskID(job: JobID(try fields.text()), ordinal: try fields.int())
      let number = try fields.long()
      for isTwin in [false, true] {
        let (epoch, isPast, hangs) = (try fields.long(), try fields.flag(), try fields.flag())
        guard isPast || hangs else { continue }
        lost.append(Lost(lease: Lease(task: task, epoch: epoch), number: number, isTwin: isTwin, isPast: isPast))
      }
    }
    return lost
  }

  private func lose(_ past: [Lost], on connection: Connection) throws(JobStoreError) {
    // One statement changes a row once, and a task may have lost both.
    for lost in [past.filter { !$0.isTwin }, past.filter(\.isTwin)] where !lost.isEmpty {
      _ = try connection.run(
        .loseAll,
        [
          .longs(lost.map(\.number)), .ints(lost.map(\.lease.task.ordinal)), .longs(lost.map(\.lease.epoch)),
          .text(LossMessage.leaseRanOut(WorkerID("%s"))),
        ])
    }
  }

  private func charge(_ hung: [Lost], on connection: Connection) throws(JobStoreError) {
    var ended: Set<JobID> = []
    var errors: [(job: JobID, error: String)] = []
    for lost in hung {
      let failed = try connection.run(
        .chargeHung,
        [
          .long(lost.number), .int(lost.lease.task.ordinal), .long(lost.lease.epoch),
          .text(LossMessage.hung(WorkerID("%s"))), .int(maximumCharges), .longs(backOffs(jitter: 0)),
        ])
      guard var fields = failed.first, try fields.flag() else { continue }
      let (kind, charges, worker) = (try fields.kind(), Int(try fields.int()), WorkerID(try fields.text()))
      guard ended.insert(lost.lease.task.job).inserted else { continue }
      errors.append(
        (
          lost.lease.task.job,
          LossMessage.gaveUp(
            kind, lost.lease.task, charges: charges, worker: worker, message: LossMessage.hung(worker))
        ))
    }
    for (job, error) in errors { try end(job, as: .failed, error: error, on: connection) }
  }

  /// Ends a job that has not ended, takes its tasks back, and tells of it. False if it had ended.
  @discardableResult
  private func end(
    _ job: JobID, as state: JobState, error: String?, on connection: Connection
  ) throws(JobStoreError) -> Bool {
    let id = Parameter.text(job.description.withoutNul)
    return try !connection.pipeline([
      (.endJob, [id, .text(state.rawValue), .text(error)]), (.closeTasks, [id]),
    ])[0].isEmpty
  }

  private var maximumCharges: Int32 { Int32(clamping: policy.maximumCharges) }

  /// In microseconds, after the first charge, the second…
  private func backOffs(jitter: Double) -> [Int64] {
    (1...max(policy.maximumCharges, 1)).map { policy.backOff(afterCharge: $0, jitter: jitter).microseconds }
  }
}

extension Statement {
  /// No job's lock is needed: of two transactions that want the task the second sees what the first made of it.
  fileprivate static let giveUp = Statement(
    "give-up",
    """
    WITH lost AS (
      UPDATE sheaf.task SET error = $5, \(losing(first: "epoch = $3"))
      WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) AND ordinal = $2
        AND state = 'leased' AND (epoch = $3 AND worker = $4 OR twin_epoch = $3 AND twin_worker = $4)
      RETURNING ordinal
    )
    SELECT pg_catalog.pg_notify('sheaf_wake', '') FROM lost
    """)

  fileprivate static let fail = Statement(
    "fail",
    """
    UPDATE sheaf.task SET
      failed_on = CASE WHEN $6 THEN failed_on ELSE failed_on || $4 END,
      rests_until = CASE WHEN $6 THEN rests_until
        ELSE sheaf.now() + ($8)[cardinality(failed_on) + 1] * interval '1 microsecond' END,
      error = $5, \(losing(first: "epoch = $3", isLast: "($6 OR cardinality(failed_on) + 1 >= $7)"))
    WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) AND ordinal = $2
      AND state = 'leased' AND (epoch = $3 AND worker = $4 OR twin_epoch = $3 AND twin_worker = $4)
    RETURNING state = 'failed', kind, cardinality(failed_on)
    """)

  fileprivate static let endJob = Statement(
    "end-job",
    """
    WITH ended AS (
      UPDATE sheaf.job SET state = $2, error = $3, ended_at = sheaf.now()
      WHERE id = $1 AND state IN ('describing', 'rendering') RETURNING number
    )
    SELECT pg_catalog.pg_notify('sheaf_wake', '') FROM ended
    """)

  fileprivate static let jobState = Statement("job-state", "SELECT state FROM sheaf.job WHERE id = $1")

  fileprivate static let release = Statement(
    "release",
    """
    WITH held AS MATERIALIZED (
      SELECT job, ordinal FROM sheaf.task
      WHERE state = 'leased' AND (worker = $1 OR twin_worker = $1) ORDER BY job, ordinal FOR UPDATE
    ), lost AS (
      UPDATE sheaf.task SET error = $2, \(losing(first: "worker = $1"))
      FROM held WHERE task.job = held.job AND task.ordinal = held.ordinal
      RETURNING task.ordinal
    )
    SELECT pg_catalog.pg_notify('sheaf_wake', '') FROM lost
    """)

  fileprivate static let forget = Statement("forget", "DELETE FROM sheaf.worker WHERE id = $1")

  fileprivate static let forgetOld = Statement(
    "forget-old", "DELETE FROM sheaf.worker WHERE last_noted < sheaf.now() - $1 * interval '1 microsecond'")

  fileprivate static let isAnythingLost = Statement(
    "is-anything-lost",
    """
    SELECT ordinal FROM sheaf.task
    WHERE state = 'leased' AND (\(isLost))
    UNION ALL
    SELECT slots FROM sheaf.worker WHERE last_noted < sheaf.now() - $1 * interval '1 microsecond'
    LIMIT 1
    """)

  fileprivate static let lockHungJobs = Statement(
    "lock-hung-jobs",
    """
    SELECT number FROM sheaf.job
    WHERE $1 > 0 AND number IN (
      SELECT task.job FROM sheaf.task
      WHERE task.state = 'leased' AND (
        task.leased_until > sheaf.now() AND task.moved_at <= sheaf.now() - $2 * interval '1 microsecond'
        OR task.twin_until > sheaf.now() AND task.twin_moved_at <= sheaf.now() - $2 * interval '1 microsecond'))
    ORDER BY number FOR UPDATE
    """)

  fileprivate static let lockLost = Statement(
    "lock-lost",
    """
    SELECT job.id, task.ordinal, task.job,
      task.epoch, task.leased_until <= sheaf.now(), task.moved_at <= sheaf.now() - $2 * interval '1 microsecond',
      task.twin_epoch, coalesce(task.twin_until <= sheaf.now(), false),
      coalesce(task.twin_moved_at <= sheaf.now() - $2 * interval '1 microsecond', false)
    FROM sheaf.task JOIN sheaf.job ON job.number = task.job
    WHERE $1 > 0 AND task.state = 'leased' AND (\(isLost))
    ORDER BY task.job, task.ordinal FOR UPDATE OF task SKIP LOCKED
    """)

  /// At most one lease a task.
  fileprivate static let loseAll = Statement(
    "lose-all",
    """
    UPDATE sheaf.task SET error = format($4, CASE WHEN task.epoch = lost.epoch THEN worker ELSE twin_worker END),
      \(losing(first: "task.epoch = lost.epoch"))
    FROM unnest($1, $2, $3) AS lost (job, ordinal, epoch)
    WHERE task.job = lost.job AND task.ordinal = lost.ordinal AND task.state = 'leased'
      AND (task.epoch = lost.epoch OR task.twin_epoch = lost.epoch AND task.twin_worker IS NOT NULL)
    """)

  /// Nothing where the task's other lease was the one charge too many.
  fileprivate static let chargeHung = Statement(
    "charge-hung",
    """
    UPDATE sheaf.task SET
      failed_on = failed_on || CASE WHEN epoch = $3 THEN worker ELSE twin_worker END,
      error = format($4, CASE WHEN epoch = $3 THEN worker ELSE twin_worker END),
      rests_until = sheaf.now() + ($6)[cardinality(failed_on) + 1] * interval '1 microsecond',
      \(losing(first: "epoch = $3", isLast: "cardinality(failed_on) + 1 >= $5"))
    WHERE job = $1 AND ordinal = $2 AND state = 'leased'
      AND (epoch = $3 OR twin_epoch = $3 AND twin_worker IS NOT NULL)
    RETURNING state = 'failed', kind, cardinality(failed_on), failed_on[cardinality(failed_on)]
    """)
}
