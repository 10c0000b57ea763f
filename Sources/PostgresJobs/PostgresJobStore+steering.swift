import Digest
package import FarmModel
package import Jobs

// What holds jobs up, and who goes first.

extension PostgresJobStore {
  package func pause(_ job: JobID, stopping: Bool) async throws(JobStoreError) -> JobState? {
    let id = Parameter.text(job.description.withoutNul)
    let policy = policy
    return try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        guard let job = try connection.lockForEnd(id) else { return nil }
        if job.state.hasEnded { return job.state }
        let number = [Parameter.long(job.number)]
        _ = try connection.run(.pause, number)
        if stopping { try connection.releaseLeases(ofJob: job.number, FailureMessage.paused, policy) }
        _ = try connection.run(.notify)
        return job.state
      }
    }
  }

  package func resume(_ job: JobID) async throws(JobStoreError) -> JobState? {
    let id = Parameter.text(job.description.withoutNul)
    return try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        guard let job = try connection.lockForEnd(id) else { return nil }
        if !job.state.hasEnded { _ = try connection.pipeline([(.release, [.long(job.number)]), (.notify, [])]) }
        return job.state
      }
    }
  }

  package func watch(_ job: JobID) async throws(JobStoreError) -> JobState? {
    let parameters = [Parameter.text(job.description.withoutNul), .long(LeasePolicy.watching.microseconds)]
    return try await bulk.perform { (connection) throws(JobStoreError) -> JobState? in
      guard var fields = try connection.run(.watch, parameters).first else { return nil }
      return try fields.named("job state")
    }
  }

  package func setPriority(of job: JobID, to priority: Int32) async throws(JobStoreError) -> JobState? {
    let id = Parameter.text(job.description.withoutNul)
    return try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        guard let job = try connection.lockForEnd(id) else { return nil }
        guard !job.state.hasEnded, try !connection.run(.setPriority, [.long(job.number), .int(priority)]).isEmpty
        else { return job.state }
        _ = try connection.run(.notify)
        return job.state
      }
    }
  }

  package func owners() async throws(JobStoreError) -> [Owner] {
    try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.run(.owners).map { (fields) throws(JobStoreError) in
        Owner(
          owner: try fields.text(), weight: try fields.double(), mostRunning: try fields.optionalLong(),
          mostOpen: try fields.optionalLong(), mostStored: try fields.optionalLong(), running: try fields.long(),
          open: try fields.long())
      }
    }
  }

  package func storage(of owner: String?) async throws(JobStoreError) -> OwnerStorage? {
    let owner = Parameter.text(owner ?? "")
    return try await bulk.perform { (connection) throws(JobStoreError) -> OwnerStorage? in
      guard var limit = try connection.run(.mostStored, [owner]).first else { return nil }
      let contents = try connection.run(.storedContents, [owner]).map { (fields) throws(JobStoreError) in
        Content(digest: try fields.digest(), size: try fields.long())
      }
      return OwnerStorage(most: try limit.long(), contents: contents)
    }
  }

  package func change(_ owner: String, _ change: OwnerChange) async throws(JobStoreError) {
    try change.validate(owner)
    let values: [Parameter] = [
      .text(owner), .double(change.weight ?? 1), .flag(change.weight != nil), .long(change.mostRunning?.number),
      .flag(change.mostRunning != nil), .long(change.mostOpen?.number), .flag(change.mostOpen != nil),
      .long(change.mostStored?.number), .flag(change.mostStored != nil),
    ]
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        _ = try connection.pipeline([(.changeOwner, values), (.notify, [])])
      }
    }
  }
}

extension Connection {
  /// Throws `.full` if the owner of a job has as many as it may have. One that is there already is let through.
  /// - Parameter submitted: The id and the submission of a new job. Nil: it is taken up again.
  func requireRoom(for owner: String?, submitted: NewJob?) throws(JobStoreError) {
    let owner = Parameter.text(owner ?? "")
    // Two submissions of an owner are one after the other where they are counted.
    guard var limit = try run(.lockLimit, [owner]).first else { return }
    let most = try limit.long()
    let isFull = try run(
      .isFull, [owner, .long(most), .text(submitted?.submission), .text(submitted?.id.description)])
    if !isFull.isEmpty { throw JobStoreError.tooMany(most) }
  }
}

extension Statement {
  /// A condition on a job: its tasks are granted.
  static let mayGoOn = """
    (NOT job.is_paused AND coalesce(job.held_until <= sheaf.now(), true) AND (
      job.after = '{}' OR NOT EXISTS (SELECT FROM sheaf.job before WHERE before.id = ANY (job.after) AND before.state <> 'done')))
    """

  /// The same, and its owner may have more tasks that run: its ready tasks are work for which workers are wanted.
  static let isWanted = """
    (\(mayGoOn) AND (job.pool IS NULL OR \(isOpen("job.pool"))) AND NOT EXISTS (
      SELECT FROM sheaf.owner
      WHERE owner.owner = coalesce(job.owner, '') AND owner.most_running <= (
        SELECT count(*) FROM sheaf.lease JOIN sheaf.job running ON running.number = lease.job
        WHERE NOT lease.is_backup AND \(owner(of: "running")) = owner.owner)))
    """

  /// Who shares the farm by a job: inspections are nobody's, and nobody waits for them.
  static func owner(of job: String) -> String {
    "CASE \(job).purpose WHEN 'inspection' THEN ' ' ELSE coalesce(\(job).owner, '') END"
  }

  fileprivate static let pause = Statement(
    "pause", "UPDATE sheaf.job SET is_paused = true WHERE number = $1 AND NOT is_paused")

  /// Nothing but other jobs holds it up any more.
  static let release = Statement(
    "release",
    """
    UPDATE sheaf.job SET is_paused = false, held_until = NULL
    WHERE number = $1 AND (is_paused OR held_until IS NOT NULL)
    """)

  fileprivate static let watch = Statement(
    "watch",
    """
    WITH watched AS (
      UPDATE sheaf.job SET watched_until = sheaf.now() + $2 * interval '1 microsecond' WHERE id = $1 AND \(hasNotEnded)
    )
    SELECT state FROM sheaf.job WHERE id = $1
    """)

  /// It begins anew among those of the priority.
  fileprivate static let setPriority = Statement(
    "set-priority",
    """
    WITH forgotten AS (
      DELETE FROM sheaf.share WHERE job = $1 AND (SELECT priority <> $2 FROM sheaf.job WHERE number = $1)
    )
    UPDATE sheaf.job SET priority = $2 WHERE number = $1 AND priority <> $2 RETURNING number
    """)

  fileprivate static let mostStored = Statement(
    "most-stored", "SELECT most_stored FROM sheaf.owner WHERE owner = $1 AND most_stored IS NOT NULL")

  fileprivate static let storedContents = Statement(
    "stored-contents",
    """
    WITH named AS MATERIALIZED (
      SELECT number, output_digest, output_size FROM sheaf.job WHERE purpose = 'render' AND coalesce(owner, '') = $1
    ), content AS (
      SELECT output_digest AS digest, output_size AS size FROM named WHERE output_digest IS NOT NULL
      UNION ALL
      SELECT result_digest, result_size FROM named JOIN sheaf.task ON task.job = named.number
      WHERE result_digest IS NOT NULL
      UNION ALL
      SELECT input.digest, input.size FROM named JOIN sheaf.task ON task.job = named.number,
        unnest(input_digests, input_sizes) AS input (digest, size)
    )
    SELECT digest, max(size) FROM content GROUP BY digest ORDER BY digest COLLATE "C"
    """)

  fileprivate static let owners = Statement(
    "owners",
    """
    WITH named AS (
      SELECT owner FROM sheaf.owner
      UNION SELECT owner FROM sheaf.owner_share WHERE owner <> ' '
      UNION SELECT coalesce(owner, '') FROM sheaf.job WHERE \(hasNotEnded) AND purpose = 'render'
    )
    SELECT named.owner, coalesce(weight, 1), most_running, most_open, most_stored,
      (SELECT count(*) FROM sheaf.lease JOIN sheaf.job ON job.number = lease.job
        WHERE NOT lease.is_backup AND \(owner(of: "job")) = named.owner),
      (SELECT count(*) FROM sheaf.job
        WHERE \(hasNotEnded) AND purpose = 'render' AND coalesce(job.owner, '') = named.owner)
    FROM named LEFT JOIN sheaf.owner ON owner.owner = named.owner ORDER BY named.owner COLLATE "C"
    """)

  fileprivate static let changeOwner = Statement(
    "change-owner",
    """
    INSERT INTO sheaf.owner (owner, weight, most_running, most_open, most_stored) VALUES ($1, $2, $4, $6, $8)
    ON CONFLICT (owner) DO UPDATE SET weight = CASE WHEN $3 THEN $2 ELSE owner.weight END,
      most_running = CASE WHEN $5 THEN $4 ELSE owner.most_running END,
      most_open = CASE WHEN $7 THEN $6 ELSE owner.most_open END,
      most_stored = CASE WHEN $9 THEN $8 ELSE owner.most_stored END
    """)

  fileprivate static let lockLimit = Statement(
    "lock-limit", "SELECT most_open FROM sheaf.owner WHERE owner = $1 AND most_open IS NOT NULL FOR UPDATE")

  fileprivate static let isFull = Statement(
    "is-full",
    """
    SELECT true WHERE $2 <= (
        SELECT count(*) FROM sheaf.job
        WHERE \(hasNotEnded) AND purpose = 'render' AND coalesce(owner, '') = $1)
      AND NOT EXISTS (SELECT FROM sheaf.job WHERE submission = $3 OR id = $4)
    """)
}
