import Digest
import FarmModel
package import Jobs

// Accounts of workers that are held, and what becomes of the results of those that are quarantined.

extension PostgresJobStore {
  package func standings() async throws(JobStoreError) -> [WorkerStanding] {
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.standings).map { (fields) throws(JobStoreError) in
        WorkerStanding(
          account: try fields.text(), confirmed: try fields.long(), quarantines: try fields.long(),
          hold: try fields.optionalNamed("hold of a worker"),
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

  package func accounts(named name: String) async throws(JobStoreError) -> [String] {
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.accountsNamed, [.text(name.withoutNul)]).map { (fields) throws(JobStoreError) in
        try fields.text()
      }
    }
  }

  package func purge() async throws(JobStoreError) -> Purge {
    let policy = policy
    return try await bulk.perform { (connection) throws(JobStoreError) in
      var purge = Purge()
      // Mostly nobody is quarantined.
      guard try !connection.run(.isAnyQuarantined).isEmpty else { return purge }
      let (accounts, taints, jobs) = try connection.transaction { () throws(JobStoreError) in
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
      for (account, count) in zip(accounts, taints) {
        _ = try connection.run(.endPurge, [.text(account), .long(count)])
      }
      return purge
    }
  }
}

extension Connection {
  /// Ends the leases of accounts that are quarantined, and lists the jobs that have results of theirs.
  fileprivate func distrust(
    _ policy: LeasePolicy
  ) throws(JobStoreError) -> (accounts: [String], taints: [Int64], jobs: [(JobID, maker: String)]) {
    let found = try run(.quarantined).map { (fields) throws(JobStoreError) in
      (account: try fields.text(), taints: try fields.long())
    }
    // Those that were granted, locked or kept meanwhile too.
    let all = found.map(\.account)
    try releaseLeases(of: all, FailureMessage.quarantined, policy)
    _ = try run(.forgetComparedOf, [.texts(all)])
    let tainted = found.filter { $0.taints > 0 }
    let accounts = tainted.map(\.account)
    guard !accounts.isEmpty else { return ([], [], []) }
    let jobs = try run(.jobsWithResultsOf, [.texts(accounts)]).map { (fields) throws(JobStoreError) in
      (JobID(try fields.text()), maker: try fields.text())
    }
    return (accounts, tainted.map(\.taints), jobs)
  }

  /// - Returns: Whether the job is done, and is in doubt now. Nil: it has ended otherwise.
  fileprivate func removeResults(
    of accounts: [String], from id: JobID, maker: String
  ) throws(JobStoreError) -> Bool? {
    guard let job = try lockForEnd(.text(id.description)) else { return nil }
    let number = Parameter.long(job.number)
    // Another coordinator may have been at it.
    if try run(.hasResultsOf, [number, .texts(accounts)]).isEmpty { return nil }
    if job.state == .done {
      return try run(.doubt, [number, .text(FailureMessage.doubted(maker))]).isEmpty ? nil : true
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
  static func isHeld(_ worker: String) -> String {
    """
    EXISTS (SELECT FROM sheaf.standing WHERE standing.account = \(worker).account AND standing.hold IS NOT NULL)
    """
  }

  /// A condition: the worker `$4` is not quarantined.
  /// - Parameter account: Its account, if it is given. Nil: as it was registered.
  static func isBelieved(_ account: String? = nil) -> String {
    let registered = "(SELECT worker.account FROM sheaf.worker WHERE worker.id = $4)"
    return """
      NOT EXISTS (
        SELECT FROM sheaf.standing
        WHERE standing.account = \(account.map { "coalesce(\($0), \(registered))" } ?? registered)
          AND standing.hold = 'quarantined')
      """
  }

  /// The workers `$1` that are held.
  static let heldWorkers = Statement(
    "held-workers", "SELECT id FROM sheaf.worker WHERE id = ANY ($1) AND \(isHeld("worker"))")

  /// After a job's stitch task was made ready or done by this transaction: if it has results of an account that is
  /// quarantined, they are to be purged once more.
  static let suspectMakers = Statement(
    "suspect-makers",
    """
    UPDATE sheaf.standing SET taints = taints + 1
    WHERE hold = 'quarantined' AND account IN (
      SELECT DISTINCT task.maker FROM sheaf.task stitch JOIN sheaf.task USING (job)
      WHERE stitch.job = (SELECT number FROM sheaf.job WHERE id = $1) AND stitch.kind = 'stitch'
        AND stitch.state IN ('ready', 'done') AND stitch.xmin = pg_current_xact_id()::xid AND task.state = 'done')
    """)

  fileprivate static let standings = Statement(
    "standings",
    "SELECT account, confirmed, quarantines, hold, reason, \(microseconds("held_at")) FROM sheaf.standing ORDER BY account"
  )

  fileprivate static let setHold = Statement(
    "set-hold",
    """
    INSERT INTO sheaf.standing (account, hold, reason, held_at, quarantines, taints)
    SELECT $1, $2, $3, CASE WHEN $2 IS NOT NULL THEN sheaf.now() END, ($2 IS NOT DISTINCT FROM 'quarantined')::integer,
      ($2 IS NOT DISTINCT FROM 'quarantined')::integer
    WHERE $2 IS NOT NULL OR EXISTS (SELECT FROM sheaf.standing WHERE account = $1)
    ON CONFLICT (account) DO UPDATE SET hold = excluded.hold, reason = excluded.reason, held_at = excluded.held_at,
      confirmed = CASE excluded.quarantines WHEN 0 THEN standing.confirmed ELSE 0 END,
      quarantines = standing.quarantines + excluded.quarantines, taints = standing.taints + excluded.taints
    WHERE (standing.hold IS DISTINCT FROM excluded.hold OR standing.reason <> excluded.reason)
      AND (standing.hold IS DISTINCT FROM 'quarantined' OR coalesce(excluded.hold, 'quarantined') = 'quarantined')
    RETURNING pg_catalog.pg_notify('sheaf_change', '')
    """)

  fileprivate static let quarantined = Statement(
    "quarantined",
    """
    SELECT account, taints FROM sheaf.standing WHERE hold = 'quarantined' OR taints > 0 ORDER BY account
    """)

  fileprivate static let isAnyQuarantined = Statement(
    "is-any-quarantined",
    "SELECT account FROM sheaf.standing WHERE hold = 'quarantined' OR taints > 0 LIMIT 1")

  fileprivate static let accountsNamed = Statement(
    "accounts-named",
    """
    SELECT account FROM sheaf.worker WHERE account = $1 OR name = $1
    UNION SELECT account FROM sheaf.standing WHERE account = $1 ORDER BY account
    """)

  fileprivate static let hasResultsOf = Statement(
    "has-results-of",
    "SELECT ordinal FROM sheaf.task WHERE job = $1 AND state = 'done' AND maker = ANY ($2) LIMIT 1")

  fileprivate static let forgetComparedOf = Statement(
    "forget-compared-of", "DELETE FROM sheaf.compared WHERE account = ANY ($1)")

  fileprivate static let jobsWithResultsOf = Statement(
    "jobs-with-results-of",
    """
    SELECT job.id, min(task.maker) FROM sheaf.job JOIN sheaf.task ON task.job = job.number
    WHERE task.maker = ANY ($1) AND task.state = 'done' AND (job.\(hasNotEnded) OR job.state = 'done')
    GROUP BY job.number ORDER BY job.number
    """)

  fileprivate static let doubt = Statement(
    "doubt",
    "UPDATE sheaf.job SET doubt = $2 WHERE number = $1 AND doubt IS DISTINCT FROM $2 RETURNING number")

  fileprivate static let probesOf = Statement(
    "probes-of",
    """
    SELECT ordinal FROM sheaf.task WHERE job = $1 AND kind = 'probe' AND state = 'done' AND maker = ANY ($2)
    """)

  fileprivate static let endPurge = Statement(
    "end-purge",
    "UPDATE sheaf.standing SET taints = 0 WHERE account = $1 AND taints = $2")
}
