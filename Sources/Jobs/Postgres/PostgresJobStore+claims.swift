// Leases from free slots and tasks.

extension PostgresJobStore {
  package func claim(build: String, slots: [Holder]) async throws(JobStoreError) -> [Grant] {
    for slot in slots { try slot.validate() }
    var left = SlotAssignment(slots)
    var grants: [Grant] = []
    for candidates in [Candidates.ready(policy), .backup(policy)] where left.count > 0 {
      let claim = Claim(candidates: candidates, build: build.withoutNul, lease: policy.lease, slots: left)
      // A transaction of its own: the grants of ready tasks are kept, whether that of the backup leases succeeds or
      // not.
      do {
        let made = try await claims.perform { (connection) throws(JobStoreError) in try claim.make(on: connection) }
        grants += made.grants
        left = made.left
      } catch {
        guard !grants.isEmpty else { throw error }
        return grants
      }
    }
    return grants
  }
}

/// What a claim may grant: how the tasks are found.
private struct Candidates: Sendable {
  var statement: Statement
  /// After the build, the workers and the limit.
  var parameters: [Parameter]
  var isBackup: Bool

  static func ready(_ policy: LeasePolicy) -> Candidates {
    Candidates(statement: .readyTasks, parameters: [.long(policy.exclusion.microseconds)], isBackup: false)
  }

  static func backup(_ policy: LeasePolicy) -> Candidates {
    Candidates(
      statement: .backedUpTasks, parameters: [.long(policy.shortestSlow.microseconds), .double(policy.slowness)],
      isBackup: true)
  }
}

/// One transaction: the candidates are locked, matched with the slots, and granted.
private struct Claim: Sendable {
  var candidates: Candidates
  var build: String
  var lease: Duration
  var slots: SlotAssignment

  private struct Match {
    var job: Int64
    var ordinal: Int32
    var holder: Holder
  }

  func make(on connection: Connection) throws(JobStoreError) -> (grants: [Grant], left: SlotAssignment) {
    var left = slots
    var grants: [Grant] = []
    var found = try connection.pipeline([(.begin, []), find(for: left)])[1]
    while !found.isEmpty {
      // Every candidate may go to one of the workers, but its slots may be taken by those before it. Then more
      // candidates are looked for: the first of them is granted, so this ends.
      let isAll = found.count < left.count
      let matches = try match(found, with: &left)
      let ends = isAll || left.count == 0
      let next: Call = ends ? (.commit, []) : find(for: left)
      let results = try connection.pipeline([grant(matches), next])
      grants += try results[0].map { (fields) throws(JobStoreError) in try fields.grant(to: matches.map(\.holder)) }
      if ends { return (grants, left) }
      found = results[1]
    }
    _ = try connection.run(.commit)
    return (grants, left)
  }

  private func find(for left: SlotAssignment) -> Call {
    (
      candidates.statement,
      [.text(build), .texts(left.workers.map(\.description)), .long(Int64(left.count))] + candidates.parameters
    )
  }

  private func match(_ found: Rows, with left: inout SlotAssignment) throws(JobStoreError) -> [Match] {
    var matches: [Match] = []
    for candidate in try found.map({ (fields) throws(JobStoreError) in
      (job: try fields.long(), ordinal: try fields.int(), excluded: Set(try fields.texts()))
    }) {
      guard let holder = left.take(where: { !candidate.excluded.contains($0.description) }) else { continue }
      matches.append(Match(job: candidate.job, ordinal: candidate.ordinal, holder: holder))
    }
    return matches
  }

  private func grant(_ matches: [Match]) -> Call {
    (
      .grant,
      [
        .text(build), .longs(matches.map(\.job)), .ints(matches.map(\.ordinal)),
        .texts(matches.map(\.holder.worker.description)), .longs(matches.map(\.holder.session.number)),
        .flag(candidates.isBackup), .long(lease.microseconds),
      ]
    )
  }
}

extension Fields {
  fileprivate mutating func grant(to holders: [Holder]) throws(JobStoreError) -> Grant {
    let place = Int(try long()) - 1
    guard holders.indices.contains(place) else {
      throw JobStoreError(.internal, "the database granted a task that was not asked for")
    }
    let task = TaskID(job: JobID(try text()), ordinal: try int())
    return Grant(
      lease: Lease(task: task, epoch: try long()), holder: holders[place], kind: try named("task kind"),
      payload: try bytes(), inputs: try contents(), work: try long())
  }
}

extension Statement {
  /// The jobs whose tasks go to workers of build `$1`, in their order.
  private static let openJobs = """
    SELECT number, priority, median_pace FROM sheaf.job
    WHERE \(hasNotEnded) AND (state = 'probing' OR build = $1)
    ORDER BY priority DESC, number
    """

  /// Those of the workers `$2` of whom an attempt at the task is counted.
  private static let failedWorkers = """
    SELECT attempt.worker FROM sheaf.attempt
    WHERE attempt.job = task.job AND attempt.ordinal = task.ordinal AND attempt.epoch > task.retried_at
      AND attempt.ended_as IN (\(countedEnds)) AND attempt.worker = ANY ($2)
    """

  /// The names of the ends that are counted, in SQL.
  static let countedEnds = AttemptEnd.allCases.filter(\.isCounted).map { "'\($0.rawValue)'" }.joined(separator: ", ")

  /// Walks the jobs in their order, and each job's tasks in theirs, and stops when it has enough. So there is no ORDER
  /// BY around the LATERAL, which would lock the first tasks of every job before the sort. Only tasks that one of the
  /// workers may have are chosen. Nothing waits for a lock.
  static let readyTasks = Statement(
    "ready-tasks",
    """
    WITH open AS MATERIALIZED (\(openJobs))
    SELECT picked.job, picked.ordinal, picked.excluded
    FROM open CROSS JOIN LATERAL (
      SELECT task.job, task.ordinal,
        CASE WHEN task.not_before + $4 * interval '1 microsecond' <= sheaf.now() THEN '{}'
          ELSE ARRAY(\(failedWorkers)) END AS excluded
      FROM sheaf.task
      WHERE task.job = open.number AND task.state = 'ready' AND task.not_before <= sheaf.now()
        AND (task.not_before + $4 * interval '1 microsecond' <= sheaf.now() OR NOT $2 <@ ARRAY(\(failedWorkers)))
      ORDER BY task.cost DESC, task.ordinal LIMIT $3 FOR UPDATE OF task SKIP LOCKED
    ) AS picked
    LIMIT $3
    """)

  /// Mostly there is no candidate, and that costs a look at the leases: one for each busy slot. What is slow is defined
  /// in LeasePolicy.swift, and the same arithmetic is here. Nothing waits for a lock. A task that was locked is chosen
  /// only if its state and its epoch have not changed since the statement began: then it has the same lease. `OFFSET 0`
  /// keeps the planner from another order of the joins.
  static let backedUpTasks = Statement(
    "backed-up-tasks",
    """
    WITH open AS MATERIALIZED (\(openJobs)), single AS MATERIALIZED (
      SELECT held.*, open.priority
      FROM open CROSS JOIN LATERAL (
        SELECT lease.job, lease.ordinal, lease.worker, lease.granted_at FROM sheaf.lease
        WHERE lease.job = open.number AND NOT lease.is_backup AND (
          lease.is_away
          OR lease.granted_at <= sheaf.now() - $4 * interval '1 microsecond'
            AND lease.video_cost
              BETWEEN \(LeasePolicy.measurableCosts.lowerBound) AND \(LeasePolicy.measurableCosts.upperBound)
            AND (extract(epoch FROM sheaf.now() - lease.granted_at) * 1000000)::bigint
              > $5 * open.median_pace * lease.video_cost)
        OFFSET 0
      ) AS held
    ), backed AS MATERIALIZED (
      SELECT single.job, single.ordinal, task.epoch, array_append(ARRAY(\(failedWorkers)), single.worker) AS excluded
      FROM single JOIN sheaf.task ON task.job = single.job AND task.ordinal = single.ordinal
      WHERE task.state = 'running' AND task.not_before <= sheaf.now()
        AND (
          SELECT true FROM sheaf.lease other
          WHERE other.job = single.job AND other.ordinal = single.ordinal AND other.is_backup LIMIT 1
        ) IS NULL
        AND NOT $2 <@ array_append(ARRAY(\(failedWorkers)), single.worker)
      ORDER BY single.priority DESC, single.job, single.granted_at, single.ordinal
    )
    SELECT backed.job, backed.ordinal, backed.excluded
    FROM backed CROSS JOIN LATERAL (
      SELECT FROM sheaf.task
      WHERE task.job = backed.job AND task.ordinal = backed.ordinal
        AND task.state = 'running' AND task.epoch = backed.epoch
      FOR UPDATE SKIP LOCKED
    ) AS locked
    LIMIT $3
    """)

  /// Grants tasks that this transaction has locked. A job that has ended, or is being ended or planned, is passed over.
  static let grant = Statement(
    "grant",
    """
    WITH chosen AS MATERIALIZED (
      SELECT * FROM unnest($2, $3, $4, $5) WITH ORDINALITY AS chosen (job, ordinal, worker, session, place)
    ), open AS MATERIALIZED (
      SELECT number, id FROM sheaf.job
      WHERE number IN (SELECT job FROM chosen)
        AND \(hasNotEnded) AND (state = 'probing' OR build = $1)
      FOR KEY SHARE SKIP LOCKED
    ), granted AS (
      UPDATE sheaf.task SET state = 'running', epoch = task.epoch + 1
      FROM chosen JOIN open ON open.number = chosen.job
      WHERE task.job = chosen.job AND task.ordinal = chosen.ordinal
      RETURNING chosen.place, chosen.worker, chosen.session, open.id, task.*
    ), leased AS (
      INSERT INTO sheaf.lease (job, ordinal, epoch, worker, session, is_away, is_backup, granted_at, until, moved_at,
        moved, progress, video_cost, video_work)
      SELECT job, ordinal, epoch, worker, session, false, $6, sheaf.now(),
        sheaf.now() + $7 * interval '1 microsecond', sheaf.now(), 0, 0,
        CASE kind WHEN 'video' THEN cost END, CASE kind WHEN 'video' THEN work ELSE 0 END
      FROM granted
    )
    SELECT place, id, ordinal, epoch, kind, payload,
      CASE kind WHEN 'stitch' THEN (
        SELECT array_agg(piece.result_digest ORDER BY piece.ordinal) FROM sheaf.task piece
        WHERE piece.job = granted.job AND piece.kind IN ('video', 'audio')
      ) || input_digests ELSE input_digests END,
      CASE kind WHEN 'stitch' THEN (
        SELECT array_agg(piece.result_size ORDER BY piece.ordinal) FROM sheaf.task piece
        WHERE piece.job = granted.job AND piece.kind IN ('video', 'audio')
      ) || input_sizes ELSE input_sizes END,
      work
    FROM granted ORDER BY place
    """)
}
