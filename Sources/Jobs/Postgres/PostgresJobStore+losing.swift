// Leases that end without a result.

extension PostgresJobStore {
  package func fail(_ lease: Lease, worker: WorkerID, failure: TaskFailure) throws(JobStoreError) -> Bool {
    try failure.validate()
    let job = Parameter.text(lease.task.job.description.withoutNul)
    let holder: [Parameter] = [
      job, .int(lease.task.ordinal), .long(lease.epoch), .text(worker.description.withoutNul),
    ]
    return try perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        let rows = try connection.pipeline([(.lockJob, [job]), (.lockHeld, holder)])[1]
        guard var fields = rows.first else { return false }
        if let jobFailure = try end(try fields.lockedLease(), with: failure.withoutNul, on: connection) {
          try endJob(lease.task.job, as: .failed, failure: jobFailure, on: connection)
        } else {
          _ = try connection.run(.notify)
        }
        return true
      }
    }
  }

  package func release(worker: WorkerID, session: SessionID) throws(JobStoreError) -> Int {
    let holder: [Parameter] = [.text(worker.description.withoutNul), .text(session.description.withoutNul)]
    return try perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        let held = try connection.pipeline([(.unregister, holder), (.lockSession, holder)])[1]
          .map { (fields) throws(JobStoreError) in try fields.lockedLease() }
        try release(held, on: connection, message: FailureMessage.connectionClosed)
        return held.count
      }
    }
  }

  package func expire() throws(JobStoreError) -> [Lease] {
    let lease = Parameter.long(policy.lease.microseconds)
    let hang = Parameter.long(policy.hang.microseconds)
    return try perform { (connection) throws(JobStoreError) in
      // Mostly there is nothing to do, and that costs one statement.
      guard try !connection.run(.isAnythingLost, [lease, hang]).isEmpty else { return [] }
      return try connection.transaction { () throws(JobStoreError) in
        // First the jobs that a counted attempt may end, then the tasks and the leases. A lease that another transaction
        // has locked stays for the next time: it is being renewed, published or ended.
        let rows = try connection.pipeline([
          (.unregisterOld, [lease]), (.lockHungJobs, [hang]), (.lockLost, [hang]),
        ])[2]
        let lost = try rows.map { (fields) throws(JobStoreError) in
          (lease: try fields.lockedLease(), isPast: try fields.flag())
        }
        try release(lost.filter(\.isPast).map(\.lease), on: connection, message: FailureMessage.leaseRanOut)
        try endHung(lost.filter { !$0.isPast }.map(\.lease), on: connection)
        return lost.map(\.lease.lease)
      }
    }
  }

  private func release(
    _ leases: [LockedLease], on connection: Connection, message: (WorkerID) -> String
  ) throws(JobStoreError) {
    guard !leases.isEmpty else { return }
    let calls: [Call] = leases.flatMap { lease in
      let failure = TaskFailure(end: .released, message: message(lease.worker))
      return [lease.endCall(failure), (.keepTask, lease.task + [.long(nil)])]
    }
    _ = try connection.pipeline(calls + [(.notify, [])])
  }

  private func endHung(_ leases: [LockedLease], on connection: Connection) throws(JobStoreError) {
    guard !leases.isEmpty else { return }
    // All attempts are counted before any job ends. A job ends with the failure of the first of its tasks.
    var failures: [(job: JobID, failure: JobFailure)] = []
    var failedTasks: Set<TaskID> = []
    // The lease has been removed if the failure of the task's other lease was its last.
    for lease in leases where !failedTasks.contains(lease.lease.task) {
      let failure = TaskFailure(end: .hung, message: FailureMessage.hung(lease.worker))
      guard let jobFailure = try end(lease, with: failure, on: connection) else { continue }
      failedTasks.insert(lease.lease.task)
      let job = lease.lease.task.job
      if failures.last?.job != job { failures.append((job, jobFailure)) }
    }
    for (job, failure) in failures { try endJob(job, as: .failed, failure: failure, on: connection) }
    _ = try connection.run(.notify)
  }

  /// Ends a lease with an attempt. The task keeps its other lease, or is ready, or has failed for good.
  ///
  /// - Returns: The job's failure, if the task has failed for good. The caller ends the job.
  private func end(
    _ lease: LockedLease, with failure: TaskFailure, on connection: Connection
  ) throws(JobStoreError) -> JobFailure? {
    // Counted after the task's lock was taken, and this one included.
    let counted = try connection.pipeline([lease.endCall(failure), (.countFailures, lease.task)])[1]
    guard var fields = counted.first else { return nil }
    let failures = Int(try fields.long())
    let task = lease.lease.task
    if let message = policy.finalMessage(of: lease.kind, task, failures: failures, lease.worker, failure) {
      _ = try connection.run(.failTask, lease.task)
      return JobFailure(reason: .task, message: message, task: task.ordinal)
    }
    let backOff =
      failure.end.isCounted ? policy.backOff(afterFailure: failures, jitter: failure.jitter).microseconds : nil
    _ = try connection.run(.keepTask, lease.task + [.long(backOff)])
    return nil
  }
}

/// A lease whose row, and whose task's row, this transaction has locked.
private struct LockedLease: Sendable {
  var lease: Lease
  /// The job's number in the database.
  var number: Int64
  var worker: WorkerID
  var kind: TaskKind

  /// The parameters that name the task.
  var task: [Parameter] { [.long(number), .int(lease.task.ordinal)] }

  /// Ends the lease with an attempt; what becomes of the task follows.
  func endCall(_ failure: TaskFailure) -> Call {
    let process = failure.process
    return (
      .endLease,
      task + [
        .long(lease.epoch), .text(failure.end.rawValue), .text(failure.message), .int(process?.exitCode),
        .int(process?.signal), .long(process?.cpuMilliseconds), .long(process?.peakBytes), .text(process?.log),
      ]
    )
  }
}

extension Fields {
  /// Reads `Statement.lockedColumns`.
  fileprivate mutating func lockedLease() throws(JobStoreError) -> LockedLease {
    let task = TaskID(job: JobID(try text()), ordinal: try int())
    return LockedLease(
      lease: Lease(task: task, epoch: try long()), number: try long(), worker: WorkerID(try text()),
      kind: try named("task kind"))
  }
}

extension Statement {
  private static let lockedColumns = "job.id, task.ordinal, lease.epoch, task.job, lease.worker, task.kind"
  private static let lockedTables =
    "sheaf.lease JOIN sheaf.task USING (job, ordinal) JOIN sheaf.job ON job.number = task.job"

  fileprivate static let lockHeld = Statement(
    "lock-held",
    """
    SELECT \(lockedColumns) FROM \(lockedTables)
    WHERE job.id = $1 AND task.ordinal = $2 AND lease.epoch = $3 AND lease.worker = $4
    FOR UPDATE OF task, lease
    """)

  fileprivate static let lockSession = Statement(
    "lock-session",
    """
    SELECT \(lockedColumns) FROM \(lockedTables)
    WHERE lease.worker = $1 AND lease.session = $2
    ORDER BY task.job, task.ordinal, lease.epoch FOR UPDATE OF task, lease
    """)

  /// A lease may be renewed before its row is locked: what it is then decides.
  fileprivate static let lockLost = Statement(
    "lock-lost",
    """
    SELECT \(lockedColumns), lease.until <= sheaf.now() FROM \(lockedTables)
    WHERE lease.until <= sheaf.now() OR lease.moved_at <= sheaf.now() - $1 * interval '1 microsecond'
    ORDER BY task.job, task.ordinal, lease.epoch FOR UPDATE OF task, lease SKIP LOCKED
    """)

  fileprivate static let lockHungJobs = Statement(
    "lock-hung-jobs",
    """
    SELECT number FROM sheaf.job
    WHERE number IN (
      SELECT lease.job FROM sheaf.lease WHERE lease.moved_at <= sheaf.now() - $1 * interval '1 microsecond')
    ORDER BY number FOR UPDATE
    """)

  fileprivate static let isAnythingLost = Statement(
    "is-anything-lost",
    """
    SELECT ordinal FROM sheaf.lease
    WHERE until <= sheaf.now() OR moved_at <= sheaf.now() - $2 * interval '1 microsecond'
    UNION ALL
    SELECT slots FROM sheaf.worker WHERE last_seen < sheaf.now() - $1 * interval '1 microsecond'
    LIMIT 1
    """)

  fileprivate static let endLease = Statement(
    "end-lease",
    """
    WITH ended AS (
      DELETE FROM sheaf.lease WHERE job = $1 AND ordinal = $2 AND epoch = $3 RETURNING *
    )
    INSERT INTO sheaf.attempt (job, ordinal, epoch, worker, ended_as, message, ended_at, ran, exit_code, signal,
      cpu_milliseconds, peak_bytes, log)
    SELECT job, ordinal, epoch, worker, $4, $5, sheaf.now(), \(microseconds(since: "granted_at")), $6, $7, $8, $9, $10
    FROM ended
    """)

  fileprivate static let countFailures = Statement(
    "count-failures",
    """
    SELECT count(*) FROM sheaf.attempt WHERE job = $1 AND ordinal = $2 AND ended_as IN (\(countedEnds))
    """)

  /// After one of a task's leases has ended: the other one goes on, and is not a backup lease any more; without another
  /// the task is ready. With `$3` the task backs off for that many microseconds.
  fileprivate static let keepTask = Statement(
    "keep-task",
    """
    WITH kept AS (
      UPDATE sheaf.lease SET is_backup = false WHERE job = $1 AND ordinal = $2 AND is_backup
    )
    UPDATE sheaf.task SET
      state = CASE WHEN EXISTS (SELECT FROM sheaf.lease WHERE lease.job = task.job AND lease.ordinal = task.ordinal)
        THEN 'running' ELSE 'ready' END,
      not_before = coalesce(sheaf.now() + $3 * interval '1 microsecond', not_before)
    WHERE job = $1 AND ordinal = $2
    """)

  fileprivate static let failTask = Statement(
    "fail-task",
    """
    WITH ended AS (DELETE FROM sheaf.lease WHERE job = $1 AND ordinal = $2)
    UPDATE sheaf.task SET state = 'failed' WHERE job = $1 AND ordinal = $2
    """)

  fileprivate static let unregister = Statement(
    "unregister", "DELETE FROM sheaf.worker WHERE id = $1 AND session = $2")

  fileprivate static let unregisterOld = Statement(
    "unregister-old", "DELETE FROM sheaf.worker WHERE last_seen < sheaf.now() - $1 * interval '1 microsecond'")
}
