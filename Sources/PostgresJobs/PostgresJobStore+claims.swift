package import FarmModel
package import Jobs

// Leases from free slots and tasks.

extension PostgresJobStore {
  package func claim(build: String, pools: [String], slots: [Holder]) async throws(JobStoreError) -> [Grant] {
    for slot in slots { try slot.validate() }
    var grants: [Grant] = []
    let build = build.withoutNul
    let workers = Parameter.texts(SlotAssignment(slots).workers.map(\.description))
    let all = Parameter.texts(pools.map(\.withoutNul))
    let (hasIsolated, held, open) = try await claims.perform { (connection) throws(JobStoreError) in
      let found = try connection.pipeline([(.isAnyIsolated, [.text(build)]), (.heldWorkers, [workers])])
      return (
        !found[0].isEmpty, Set(try found[1].map { (fields) throws(JobStoreError) in WorkerID(try fields.text()) }),
        pools.isEmpty
          ? [] : try connection.run(.openPools, [all]).map { (fields) throws(JobStoreError) in try fields.text() }
      )
    }
    if !pools.isEmpty, open.isEmpty { return [] }
    var left = SlotAssignment(slots.filter { !held.contains($0.worker) })
    let passes: [Candidates?] =
      hasIsolated
      ? [.isolated(policy, waitingFor: policy.isolationPatience), nil, .isolated(policy), .backup(policy)]
      : [nil, .backup(policy)]
    for candidates in passes where left.count > 0 {
      guard let candidates else {
        // Each time that another claim was at the same tasks. Then what is left is taken as it comes.
        for _ in 0..<FairClaim.tries where left.count > 0 {
          let claim = FairClaim(build: build, pools: open, policy: policy, slots: left)
          let made = try await claims.perform { (connection) throws(JobStoreError) in try claim.make(on: connection) }
          grants += made.grants
          left = made.left
          if made.isComplete { break }
          guard made.grants.isEmpty, left.count > 0 else { continue }
          let rest = Claim(candidates: .ready(policy), build: build, pools: open, lease: policy.lease, slots: left)
          let others = try await claims.perform { (connection) throws(JobStoreError) in try rest.make(on: connection) }
          grants += others.grants
          left = others.left
        }
        continue
      }
      let claim = Claim(candidates: candidates, build: build, pools: open, lease: policy.lease, slots: left)
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
  /// After the build, the workers, the limit and before the pools, which are the sixth.
  var parameters: [Parameter]
  var isBackup = false
  /// Whether one of them is granted, if no isolated task runs.
  var isIsolated = false

  static func ready(_ policy: LeasePolicy) -> Candidates {
    Candidates(
      statement: .readyTasks, parameters: [.long(policy.exclusion.microseconds), .long(policy.stall.microseconds)])
  }

  /// - Parameter time: How long the task must have been ready after its back-off.
  static func isolated(_ policy: LeasePolicy, waitingFor time: Duration = .zero) -> Candidates {
    Candidates(
      statement: .isolatedTask, parameters: [.long(policy.exclusion.microseconds), .long(time.microseconds)],
      isIsolated: true)
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
  /// Those of the workers' pools that are open.
  var pools: [String]
  var lease: Duration
  var slots: SlotAssignment

  private struct Match {
    var job: Int64
    var ordinal: Int32
    var holder: Holder
  }

  func make(on connection: Connection) throws(JobStoreError) -> (grants: [Grant], left: SlotAssignment) {
    if candidates.isIsolated { return try makeOne(on: connection) }
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

  /// Grants the first candidate, under a lock by which two claims do not grant one each: what the second one finds was
  /// committed before it has the lock.
  private func makeOne(on connection: Connection) throws(JobStoreError) -> (grants: [Grant], left: SlotAssignment) {
    var left = slots
    guard var isLocked = try connection.pipeline([(.begin, []), (.lockIsolation, [])])[1].first, try isLocked.flag()
    else {
      _ = try connection.run(.commit)
      return ([], left)
    }
    let matches = try match(connection.pipeline([find(for: left)])[0], with: &left)
    let granted = try connection.pipeline([grant(matches), (.commit, [])])[0]
    let holders = matches.map(\.holder)
    return (try granted.map { (fields) throws(JobStoreError) in try fields.grant(to: holders) }, left)
  }

  private func find(for left: SlotAssignment) -> Call {
    (
      candidates.statement,
      [.text(build), .texts(left.workers.map(\.description)), .long(Int64(left.count))] + candidates.parameters + [
        .texts(pools)
      ]
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
        .flag(candidates.isBackup), .long(lease.microseconds), .texts(pools),
      ]
    )
  }
}

extension Fields {
  mutating func grant(to holders: [Holder]) throws(JobStoreError) -> Grant {
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
  /// The time so many microseconds ago. A subquery, which is computed once and not for each row.
  static func ago(_ parameter: String) -> String {
    "(SELECT sheaf.now() - \(parameter) * interval '1 microsecond')"
  }

  /// A condition on a job: workers take it of whose pools these are open.
  static func takenBy(_ pools: String) -> String { "(job.pool IS NULL OR job.pool = ANY (\(pools)))" }

  /// The jobs whose tasks go to workers of build `$1` and the open pools `$6`, in their order.
  private static let openJobs = openJobs(first: "")

  private static func openJobs(first order: String, condition: String = "") -> String {
    """
    SELECT number, priority, median_pace FROM sheaf.job
    WHERE \(hasNotEnded) AND (state = 'probing' OR build = $1) AND \(takenBy("$6")) AND \(mayGoOn)\(condition)
    ORDER BY \(order)priority DESC, number
    """
  }

  /// The same, and last those of which a task has not moved for `$5` microseconds.
  private static let openJobsStalledLast = openJobs(
    first: """
      EXISTS (SELECT FROM sheaf.lease
        WHERE lease.job = number AND lease.moved_at <= \(ago("$5"))),
      """,
    condition: " AND \(owner(of: "job")) NOT IN (SELECT owner FROM sheaf.owner WHERE most_running IS NOT NULL)")

  /// Those of the workers `$2` of whom an attempt at the task is suspect.
  private static let suspectWorkers = """
    SELECT attempt.worker FROM sheaf.attempt
    WHERE attempt.job = task.job AND attempt.ordinal = task.ordinal AND attempt.epoch > task.retried_at
      AND attempt.ended_as IN (\(names(\.isSuspect))) AND attempt.worker = ANY ($2)
    """

  /// Those of the workers `$2` whose tasks may not use as much memory as the task needs.
  private static let smallWorkers = """
    SELECT worker.id FROM sheaf.worker WHERE worker.id = ANY ($2) AND worker.memory < task.memory
    """

  /// A table of one row: the least memory that a task of one of the workers `$2` may use. If a task needs no more, its
  /// need is compared with no worker's.
  static let smallest = """
    smallest AS MATERIALIZED (
      SELECT coalesce(min(memory), \(Int64.max)) AS memory FROM sheaf.worker WHERE worker.id = ANY ($2)
    )
    """

  /// The names of ends that have a property, in SQL.
  static func names(_ property: (AttemptEnd) -> Bool) -> String {
    AttemptEnd.allCases.filter(property).map { "'\($0.rawValue)'" }.joined(separator: ", ")
  }

  /// Whether any worker may have a task that is ready, but for its back-off.
  static let isForAll = """
    (task.not_before + $4 * interval '1 microsecond' <= sheaf.now() AND task.memory <= (SELECT memory FROM smallest)
      AND \(isNotCompared))
    """

  /// Those of the workers `$2` that may not have a task that is ready.
  static let excludedWorkers = """
    SELECT worker FROM (\(suspectWorkers)) AS suspect
    WHERE task.not_before + $4 * interval '1 microsecond' > sheaf.now()
    UNION ALL \(smallWorkers) UNION ALL \(comparedWorkers)
    """

  /// Whether there may be an isolated task to grant to workers of build `$1`.
  static let isAnyIsolated = Statement(
    "is-any-isolated",
    """
    SELECT task.ordinal FROM sheaf.task JOIN sheaf.job ON job.number = task.job
    WHERE task.state = 'ready' AND task.is_isolated AND job.\(hasNotEnded) AND (job.state = 'probing' OR job.build = $1)
    LIMIT 1
    """)

  /// The key is arbitrary.
  static let lockIsolation = Statement(
    "lock-isolation", "SELECT pg_catalog.pg_try_advisory_xact_lock(5350912460387175)")

  /// The first isolated task that one of the workers may have, if no isolated task runs.
  static let isolatedTask = Statement(
    "isolated-task",
    """
    WITH open AS MATERIALIZED (\(openJobs)), \(smallest)
    SELECT picked.job, picked.ordinal, picked.excluded
    FROM open CROSS JOIN LATERAL (
      SELECT task.job, task.ordinal, CASE WHEN \(isForAll) THEN '{}' ELSE ARRAY(\(excludedWorkers)) END AS excluded
      FROM sheaf.task
      WHERE task.job = open.number AND task.state = 'ready' AND task.is_isolated
        AND task.not_before + $5 * interval '1 microsecond' <= sheaf.now()
        AND (\(isForAll) OR NOT $2 <@ ARRAY(\(excludedWorkers)))
      ORDER BY task.cost DESC, task.ordinal LIMIT 1 FOR UPDATE OF task SKIP LOCKED
    ) AS picked
    WHERE $3 > 0 AND NOT EXISTS (
      SELECT FROM sheaf.lease JOIN sheaf.task running USING (job, ordinal) WHERE running.is_isolated)
    LIMIT 1
    """)

  /// Walks the jobs in their order, and each job's tasks in theirs, and stops when it has enough. So there is no ORDER
  /// BY around the LATERAL, which would lock the first tasks of every job before the sort. Only tasks that one of the
  /// workers may have are chosen. Nothing waits for a lock.
  static let readyTasks = Statement(
    "ready-tasks",
    """
    WITH open AS MATERIALIZED (\(openJobsStalledLast)), \(smallest)
    SELECT picked.job, picked.ordinal, picked.excluded
    FROM open CROSS JOIN LATERAL (
      SELECT task.job, task.ordinal, CASE WHEN \(isForAll) THEN '{}' ELSE ARRAY(\(excludedWorkers)) END AS excluded
      FROM sheaf.task
      WHERE task.job = open.number AND task.state = 'ready' AND NOT task.is_isolated AND task.not_before <= sheaf.now()
        AND (\(isForAll) OR NOT $2 <@ ARRAY(\(excludedWorkers)))
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
          OR lease.granted_at <= \(ago("$4"))
            AND lease.video_cost
              BETWEEN \(LeasePolicy.measurableCosts.lowerBound) AND \(LeasePolicy.measurableCosts.upperBound)
            AND (extract(epoch FROM sheaf.now() - lease.granted_at) * 1000000)::bigint
              > $5 * open.median_pace * lease.video_cost)
        OFFSET 0
      ) AS held
    ), backed AS MATERIALIZED (
      SELECT single.job, single.ordinal, task.epoch,
        array_append(ARRAY(\(suspectWorkers) UNION ALL \(smallWorkers) UNION ALL \(comparedWorkers)), single.worker) AS excluded
      FROM single JOIN sheaf.task ON task.job = single.job AND task.ordinal = single.ordinal
      WHERE task.state = 'running' AND NOT task.is_isolated AND task.not_before <= sheaf.now()
        AND (
          SELECT true FROM sheaf.lease other
          WHERE other.job = single.job AND other.ordinal = single.ordinal AND other.is_backup LIMIT 1
        ) IS NULL
        AND NOT $2 <@ array_append(ARRAY(\(suspectWorkers) UNION ALL \(smallWorkers) UNION ALL \(comparedWorkers)), single.worker)
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
  static let grant = grant(
    "grant",
    of: "SELECT * FROM unnest($2, $3, $4, $5) WITH ORDINALITY AS chosen (job, ordinal, worker, session, place)")

  /// The same of ready tasks, which it locks. What another transaction has locked is passed over.
  static let grantReady = grant(
    "grant-ready",
    of: """
      SELECT chosen.* FROM unnest($2, $3, $4, $5) WITH ORDINALITY AS chosen (job, ordinal, worker, session, place)
      CROSS JOIN LATERAL (
        SELECT FROM sheaf.task
        WHERE task.job = chosen.job AND task.ordinal = chosen.ordinal AND task.state = 'ready' AND NOT task.is_isolated
        FOR UPDATE SKIP LOCKED
      ) AS locked
      """)

  private static func grant(_ name: String, of chosen: String) -> Statement {
    Statement(
      name,
      """
      WITH chosen AS MATERIALIZED (
        \(chosen)
      ), open AS MATERIALIZED (
        SELECT number, id FROM sheaf.job
        WHERE number IN (SELECT job FROM chosen)
          AND \(hasNotEnded) AND (state = 'probing' OR build = $1) AND \(takenBy("$8")) AND NOT is_paused
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
          CASE WHEN kind IN ('video', 'audio') THEN cost END, CASE kind WHEN 'video' THEN work ELSE 0 END
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
}
