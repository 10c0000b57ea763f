package import FarmModel
package import Jobs

// Leases that end without a result.

extension PostgresJobStore {
  package func fail(_ lease: Lease, holder: Holder, failure: TaskFailure) async throws(JobStoreError) -> Bool {
    try failure.validate()
    let failure = failure.withoutNul
    let held: [Parameter] = [
      .text(lease.task.job.description.withoutNul), .int(lease.task.ordinal), .long(lease.epoch),
      .text(holder.worker.description.withoutNul), .long(holder.session.number),
    ]
    let policy = policy
    return try await results.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        let rows = try connection.pipeline([(.lockJob, held), (.lockHeld, held)])[1]
        guard var fields = rows.first else { return false }
        let locked = try fields.lockedLease()
        var failure = failure
        if try !fields.flag() { failure = TaskFailure(end: .released, message: FailureMessage.quarantined) }
        if case .failed(let jobFailure) = try connection.end(locked, with: failure, policy) {
          try connection.endJob(lease.task.job, as: .failed, failure: jobFailure)
        } else {
          _ = try connection.run(.notify)
        }
        return true
      }
    }
  }

  package func expire() async throws(JobStoreError) -> [Lease] {
    let policy = policy
    return try await heartbeats.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in try connection.expire(policy) }
    }
  }
}

extension Connection {
  fileprivate func expire(_ policy: LeasePolicy) throws(JobStoreError) -> [Lease] {
    let hang = Parameter.long(policy.hang.microseconds)
    let turn = try pipeline([(.takeTurn, []), (.isAnythingLost, [hang]), (.isAnythingOld, old(policy))])
    // Another coordinator is at it now.
    guard var fields = turn[0].first else { return [] }
    if let since = try fields.optionalLong(), since > policy.outage.microseconds {
      let outage = Parameter.long(since)
      _ = try pipeline([
        (.moveLeases, [outage, .long(policy.lease.microseconds)]), (.moveWorkers, [outage]), (.moveBuilds, [outage]),
        (.movePlannings, [outage, .long(policy.lease.microseconds)]),
      ])
      return []
    }
    if !turn[2].isEmpty {
      let old = old(policy)
      _ = try pipeline([(.unregisterOld, [old[0]]), (.forgetWorkers, [old[1]]), (.forgetBuilds, [old[2]])])
    }
    // Mostly there is nothing to do.
    guard !turn[1].isEmpty else { return [] }
    // First the jobs that a counted attempt may end, then the tasks and the leases. What another transaction has locked
    // stays for the next time: it is being renewed, published or ended.
    let jobs = try run(.lockHungJobs, [hang]).map { (fields) throws(JobStoreError) in try fields.long() }
    let lost = try run(.lockLost, [hang, .longs(jobs)]).map { (fields) throws(JobStoreError) in
      (lease: try fields.lockedLease(), isPast: try fields.flag())
    }
    try release(lost.filter(\.isPast).map(\.lease), policy)
    try endHung(lost.filter { !$0.isPast }.map(\.lease), policy)
    return lost.map(\.lease.lease)
  }

  private func old(_ policy: LeasePolicy) -> [Parameter] {
    [
      .long(policy.lease.microseconds), .long(LeasePolicy.keptWorker.microseconds),
      .long(policy.rebind.microseconds),
    ]
  }

  /// Ends the leases of a job that this transaction has locked.
  func releaseLeases(ofJob number: Int64, _ message: String, _ policy: LeasePolicy) throws(JobStoreError) {
    let leases = try run(.lockLeases, [.long(number)]).map { (fields) throws(JobStoreError) in try fields.lockedLease()
    }
    try release(leases, policy) { _ in message }
  }

  /// Ends the leases of the workers of accounts. What another transaction has locked is passed over.
  func releaseLeases(of accounts: [String], _ message: String, _ policy: LeasePolicy) throws(JobStoreError) {
    let leases = try run(.lockLeasesOf, [.texts(accounts)]).map { (fields) throws(JobStoreError) in
      try fields.lockedLease()
    }
    try release(leases, policy) { _ in message }
  }

  private func release(
    _ leases: [LockedLease], _ policy: LeasePolicy,
    message: (WorkerID) -> String = { FailureMessage.leaseRanOut($0) }
  ) throws(JobStoreError) {
    guard !leases.isEmpty else { return }
    let calls: [Call] = leases.flatMap { lease in
      let failure = TaskFailure(end: .released, message: message(lease.worker))
      return [lease.endCall(failure), lease.pruneCall(policy), (.keepTask, lease.task + [.long(nil), .flag(false)])]
    }
    _ = try pipeline(calls + [(.notify, [])])
  }

  private func endHung(_ leases: [LockedLease], _ policy: LeasePolicy) throws(JobStoreError) {
    guard !leases.isEmpty else { return }
    // All attempts are counted before any job ends. A job ends with the failure of the first of its tasks.
    var failures: [(job: JobID, failure: JobFailure)] = []
    var endedTasks: Set<TaskID> = []
    // The lease has been removed if the task has ended with the other one.
    for lease in leases where !endedTasks.contains(lease.lease.task) {
      let failure = TaskFailure(end: .hung, message: FailureMessage.hung(lease.worker))
      let outcome = try end(lease, with: failure, policy)
      if outcome != .open { endedTasks.insert(lease.lease.task) }
      guard case .failed(let jobFailure) = outcome else { continue }
      let job = lease.lease.task.job
      if failures.last?.job != job { failures.append((job, jobFailure)) }
    }
    for (job, failure) in failures { try endJob(job, as: .failed, failure: failure) }
    _ = try run(.notify)
  }

  /// Ends a lease with an attempt. The task keeps its other lease, or is ready, or has failed for good.
  ///
  /// - Returns: What has become of the task. If it has failed for good, the caller ends the job.
  fileprivate func end(
    _ lease: LockedLease, with failure: TaskFailure, _ policy: LeasePolicy
  ) throws(JobStoreError) -> TaskOutcome {
    // Counted after the task's lock was taken, and this one included.
    let counted = try pipeline([
      lease.endCall(failure), lease.pruneCall(policy), (.countFailures, lease.task),
    ])[2]
    guard var fields = counted.first else { return .open }
    let (failures, kills, releases) = (Int(try fields.long()), Int(try fields.long()), Int(try fields.long()))
    let suspectsOfJob = Int(try fields.long())
    let task = lease.lease.task
    let message = policy.finalMessage(of: lease.kind, task, failures: failures, kills: kills, lease.worker, failure)
    if message != nil, failure.end != .document, try accept(task, number: lease.number, policy, always: true) != nil {
      return .done
    }
    if let message {
      _ = try run(.failTask, lease.task)
      return .failed(JobFailure(reason: .task, message: message, task: task.ordinal))
    }
    let suspects = failures + kills
    let attempts = failure.end.isSuspect ? suspects : releases
    let backOff = policy.backOff(afterFailure: attempts, jitter: failure.jitter).microseconds
    let isDelayed = failure.end.isSuspect || failure.delaysTask
    let isIsolated = failure.end.isSuspect && max(suspects, suspectsOfJob) >= policy.isolation
    _ = try run(.keepTask, lease.task + [.long(isDelayed ? backOff : nil), .flag(isIsolated)])
    if failure.end.isSuspect, suspectsOfJob >= policy.isolation { _ = try run(.isolateJob, [.long(lease.number)]) }
    return .open
  }
}

/// What has become of a task of which a lease has ended.
private enum TaskOutcome: Equatable {
  case open
  /// With a result that another worker had made before.
  case done
  case failed(JobFailure)
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
      ] + failure.usage.parameters
    )
  }

  /// Removes the oldest released attempts.
  func pruneCall(_ policy: LeasePolicy) -> Call {
    (.pruneAttempts, task + [.long(Int64(max(policy.keptReleases, 1)))])
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
  /// When an outage began that is not over, because no call of `expire` has moved the times on since; else now. No
  /// worker and no build leaves in an outage.
  /// - Parameter outage: The parameter with the longest time between two calls that is not one, in microseconds.
  static func beforeOutage(_ outage: String) -> String {
    """
    (SELECT CASE WHEN expired_at < sheaf.now() - \(outage) * interval '1 microsecond' THEN expired_at
      ELSE sheaf.now() END FROM sheaf.farm)
    """
  }

  private static let lockedColumns = "job.id, task.ordinal, lease.epoch, task.job, lease.worker, task.kind"
  private static let lockedTables =
    "sheaf.lease JOIN sheaf.task USING (job, ordinal) JOIN sheaf.job ON job.number = task.job"

  fileprivate static let lockHeld = Statement(
    "lock-held",
    """
    SELECT \(lockedColumns), \(isBelieved()) FROM \(lockedTables)
    WHERE job.id = $1 AND task.ordinal = $2 AND lease.epoch = $3 AND lease.worker = $4 AND lease.session <= $5
    FOR UPDATE OF task, lease
    """)

  fileprivate static let lockLeases = Statement(
    "lock-leases",
    """
    SELECT \(lockedColumns) FROM \(lockedTables) WHERE lease.job = $1
    ORDER BY task.job, task.ordinal, lease.epoch FOR UPDATE OF task, lease
    """)

  fileprivate static let lockLeasesOf = Statement(
    "lock-leases-of",
    """
    SELECT \(lockedColumns) FROM \(lockedTables) JOIN sheaf.worker ON worker.id = lease.worker
    WHERE worker.account = ANY ($1)
    ORDER BY task.job, task.ordinal, lease.epoch FOR UPDATE OF task, lease SKIP LOCKED
    """)

  /// A lease may be renewed before its row is locked: what it is then decides. A lease that hangs is ended only if its
  /// job is locked, because the job may end with it.
  fileprivate static let lockLost = Statement(
    "lock-lost",
    """
    SELECT \(lockedColumns), lease.until <= sheaf.now() FROM \(lockedTables)
    WHERE lease.until <= sheaf.now()
      OR lease.moved_at <= sheaf.now() - $1 * interval '1 microsecond' AND lease.job = ANY ($2)
    ORDER BY task.job, task.ordinal, lease.epoch FOR UPDATE OF task, lease SKIP LOCKED
    """)

  fileprivate static let lockHungJobs = Statement(
    "lock-hung-jobs",
    """
    SELECT number FROM sheaf.job
    WHERE number IN (
      SELECT lease.job FROM sheaf.lease WHERE lease.moved_at <= sheaf.now() - $1 * interval '1 microsecond')
    ORDER BY number FOR UPDATE SKIP LOCKED
    """)

  /// Records this call. The time since the last one, which is null before the first one; no row if another transaction
  /// is at it.
  fileprivate static let takeTurn = Statement(
    "take-turn",
    """
    WITH last AS MATERIALIZED (SELECT is_only, expired_at FROM sheaf.farm FOR UPDATE SKIP LOCKED)
    UPDATE sheaf.farm SET expired_at = greatest(farm.expired_at, sheaf.now())
    FROM last WHERE farm.is_only = last.is_only
    RETURNING (extract(epoch FROM sheaf.now() - last.expired_at) * 1000000)::bigint
    """)

  fileprivate static let isAnythingLost = Statement(
    "is-anything-lost",
    """
    SELECT ordinal FROM sheaf.lease
    WHERE until <= sheaf.now() OR moved_at <= sheaf.now() - $1 * interval '1 microsecond'
    LIMIT 1
    """)

  fileprivate static let isAnythingOld = Statement(
    "is-anything-old",
    """
    SELECT id FROM sheaf.worker WHERE NOT has_left AND last_seen < sheaf.now() - $1 * interval '1 microsecond'
    UNION ALL
    SELECT id FROM sheaf.worker WHERE has_left AND last_seen < sheaf.now() - $2 * interval '1 microsecond'
    UNION ALL
    SELECT build FROM sheaf.build WHERE last_seen < sheaf.now() - $3 * interval '1 microsecond'
    LIMIT 1
    """)

  fileprivate static let unregisterOld = Statement(
    "unregister-old",
    """
    UPDATE sheaf.worker SET has_left = true
    WHERE NOT has_left AND last_seen < sheaf.now() - $1 * interval '1 microsecond'
    """)

  fileprivate static let forgetWorkers = Statement(
    "forget-workers",
    "DELETE FROM sheaf.worker WHERE has_left AND last_seen < sheaf.now() - $1 * interval '1 microsecond'")

  fileprivate static let forgetBuilds = Statement(
    "forget-builds", "DELETE FROM sheaf.build WHERE last_seen < sheaf.now() - $1 * interval '1 microsecond'")

  /// No time is moved further than if it were now.
  fileprivate static let moveLeases = Statement(
    "move-leases",
    """
    UPDATE sheaf.lease SET granted_at = least(granted_at + $1 * interval '1 microsecond', sheaf.now()),
      moved_at = least(moved_at + $1 * interval '1 microsecond', sheaf.now()),
      until = least(
        until + $1 * interval '1 microsecond', sheaf.now() + $2 * interval '1 microsecond')
    """)

  fileprivate static let moveWorkers = Statement(
    "move-workers",
    """
    UPDATE sheaf.worker SET last_seen = least(last_seen + $1 * interval '1 microsecond', sheaf.now())
    WHERE NOT has_left
    """)

  fileprivate static let moveBuilds = Statement(
    "move-builds",
    "UPDATE sheaf.build SET last_seen = least(last_seen + $1 * interval '1 microsecond', sheaf.now())")

  fileprivate static let endLease = Statement(
    "end-lease",
    """
    WITH ended AS (
      DELETE FROM sheaf.lease WHERE job = $1 AND ordinal = $2 AND epoch = $3 RETURNING *
    ), used AS (
      INSERT INTO sheaf.usage \(usageColumns)
      SELECT job, ordinal, epoch, worker, \(usageParameters(from: 11)) FROM ended WHERE $11::bigint IS NOT NULL
    )
    INSERT INTO sheaf.attempt (job, ordinal, epoch, worker, ended_as, message, ended_at, ran, exit_code, signal,
      cpu_milliseconds, peak_bytes, log)
    SELECT job, ordinal, epoch, worker, $4, $5, sheaf.now(), \(microseconds(since: "granted_at")), $6, $7, $8, $9, $10
    FROM ended
    """)

  fileprivate static let countFailures = Statement(
    "count-failures",
    """
    SELECT count(*) FILTER (WHERE ended_as IN (\(names(\.isCounted)))), count(*) FILTER (WHERE ended_as = 'killed'),
      count(*) FILTER (WHERE ended_as = 'released'),
      (SELECT count(*) FROM sheaf.attempt suspect JOIN sheaf.task open USING (job, ordinal)
        WHERE suspect.job = $1 AND suspect.ended_as IN (\(names(\.isSuspect))) AND suspect.epoch > open.retried_at
          AND open.state IN ('waiting', 'ready', 'running'))
    FROM sheaf.attempt JOIN sheaf.task USING (job, ordinal)
    WHERE job = $1 AND ordinal = $2 AND attempt.epoch > task.retried_at
    """)

  /// After one of a task's leases has ended: the other one goes on, and is not a backup lease any more; without another
  /// the task is ready. With `$3` the task backs off for that many microseconds, and with `$4` it is isolated.
  static let keepTask = Statement(
    "keep-task",
    """
    WITH kept AS (
      UPDATE sheaf.lease SET is_backup = false WHERE job = $1 AND ordinal = $2 AND is_backup
    )
    UPDATE sheaf.task SET
      state = CASE WHEN EXISTS (SELECT FROM sheaf.lease WHERE lease.job = task.job AND lease.ordinal = task.ordinal)
        THEN 'running' ELSE 'ready' END,
      not_before = coalesce(sheaf.now() + $3 * interval '1 microsecond', not_before),
      is_isolated = is_isolated OR $4
    WHERE job = $1 AND ordinal = $2
    """)

  /// Isolates what a job is still to begin, which has been ready for no time then. A task that another transaction has
  /// locked is being granted or ended.
  fileprivate static let isolateJob = Statement(
    "isolate-job",
    """
    UPDATE sheaf.task SET is_isolated = true, not_before = greatest(not_before, sheaf.now())
    WHERE job = $1 AND ordinal IN (
      SELECT ordinal FROM sheaf.task WHERE job = $1 AND state IN ('waiting', 'ready') AND NOT is_isolated
      FOR UPDATE SKIP LOCKED)
    """)

  /// After an isolated task was published, by this transaction and not by an earlier one: those of its job that are not
  /// at fault themselves are no longer isolated.
  static let liftIsolation = Statement(
    "lift-isolation",
    """
    UPDATE sheaf.task SET is_isolated = false
    WHERE (job, ordinal) IN (
      SELECT job, ordinal FROM sheaf.task open
      WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) AND is_isolated
        AND state IN ('waiting', 'ready', 'running')
        AND EXISTS (
          SELECT FROM sheaf.task WHERE job = (SELECT number FROM sheaf.job WHERE id = $1) AND ordinal = $2
            AND published_epoch = $3 AND state = 'done' AND is_isolated AND xmin = pg_current_xact_id()::xid)
        AND $4 > (
          SELECT count(*) FROM sheaf.attempt
          WHERE attempt.job = open.job AND attempt.ordinal = open.ordinal AND attempt.epoch > open.retried_at
            AND ended_as IN (\(names(\.isSuspect))))
      FOR UPDATE SKIP LOCKED)
    """)

  static let failTask = Statement(
    "fail-task",
    """
    WITH ended AS (DELETE FROM sheaf.lease WHERE job = $1 AND ordinal = $2)
    UPDATE sheaf.task SET state = 'failed' WHERE job = $1 AND ordinal = $2
    """)

  fileprivate static let pruneAttempts = Statement(
    "prune-attempts",
    """
    DELETE FROM sheaf.attempt
    WHERE job = $1 AND ordinal = $2 AND ended_as = 'released' AND number <= (
      SELECT number FROM sheaf.attempt
      WHERE job = $1 AND ordinal = $2 AND ended_as = 'released' ORDER BY number DESC OFFSET $3 LIMIT 1)
    """)
}
