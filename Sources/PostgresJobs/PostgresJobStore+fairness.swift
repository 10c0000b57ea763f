import FarmModel
import Jobs

// Leases of tasks that are chosen by the rule of `FairQueue`.

/// One transaction: tasks are chosen by the rule of `FairQueue`, granted, and charged.
struct FairClaim: Sendable {
  static let tries = 3

  var build: String
  /// Those of the workers' pools that are open.
  var pools: [String]
  var policy: LeasePolicy
  var slots: SlotAssignment

  /// - Returns: `isComplete`: no other task is ready for the slots that are left.
  func make(
    on connection: Connection
  ) throws(JobStoreError) -> (grants: [Grant], left: SlotAssignment, isComplete: Bool) {
    var left = slots
    guard var queue = try open(on: connection) else {
      _ = try connection.run(.commit)
      return ([], left, true)
    }
    var matches: [FairQueue.Match] = []
    while left.count > 0 {
      let batch = queue.next()
      if batch.isEmpty { break }
      var isFull = true
      // The first task of each round may go to one of the slots, so this ends.
      while left.count > 0, isFull {
        let found = try candidates(of: batch, for: left, except: matches, on: connection)
        isFull = found.values.contains { $0.count == left.count }
        for number in batch { queue.setCandidates(found[number] ?? [], of: number) }
        let more = queue.match(&left)
        if more.isEmpty { break }
        matches += more
      }
    }
    guard !matches.isEmpty else {
      _ = try connection.run(.commit)
      return ([], left, true)
    }
    let owed = queue.ownerCharges.sorted { $0.key < $1.key }
    let starts = queue.poolStarts(of: pools).sorted { $0.key < $1.key }
    let served = queue.jobCharges.sorted { $0.key < $1.key }
    let granted = try connection.pipeline([
      (
        .grantReady,
        [
          .text(build), .longs(matches.map(\.job)), .ints(matches.map(\.ordinal)),
          .texts(matches.map(\.holder.worker.description)), .longs(matches.map(\.holder.session.number)),
          .flag(false), .long(policy.lease.microseconds), .texts(pools),
        ]
      ),
      charge(.chargeOwners, [.texts(owed.map(\.key.owner)), .ints(owed.map(\.key.priority))], owed.map(\.value)),
      charge(.chargeJobs, [.longs(served.map(\.key))], served.map(\.value)),
      (
        .chargePools,
        [.ints(starts.map(\.key.priority)), .texts(starts.map(\.key.pool)), .doubles(starts.map(\.value))]
      ), (.commit, []),
    ])[0]
    let holders = matches.map(\.holder)
    let grants = try granted.map { (fields) throws(JobStoreError) in try fields.grant(to: holders) }
    guard grants.count < matches.count else { return (grants, left, true) }
    // What another claim had locked, or has granted meanwhile: its slots are free again.
    var taken = grants.map(\.holder)
    var free = holders
    free.removeAll { holder in
      guard let index = taken.firstIndex(of: holder) else { return false }
      taken.remove(at: index)
      return true
    }
    return (grants, SlotAssignment(free + left.holders), false)
  }

  /// Begins the transaction. Nil: no job is open that has a task that is ready.
  private func open(on connection: Connection) throws(JobStoreError) -> FairQueue? {
    // Of an owner whose limit another claim may be using up none is granted now.
    let opened = try connection.pipeline([
      (.begin, []), (.fairJobs, [.text(build), .long(policy.stall.microseconds), .texts(pools)]), (.lockLimited, []),
      (.fairOwners, []), (.fairShares, []), (.poolTimes, [.texts(pools)]),
    ])
    let jobs = try opened[1].map { (fields) throws(JobStoreError) in
      FairQueue.Job(
        number: try fields.long(), owner: try fields.text(), priority: try fields.int(),
        pool: fields.optionalText(), isStalled: try fields.flag(),
        share: FairShare(start: try fields.double(), finish: try fields.double()))
    }
    guard !jobs.isEmpty else { return nil }
    let locked = Set(try opened[2].map { (fields) throws(JobStoreError) in try fields.text() })
    let owners = try opened[3].map { (fields) throws(JobStoreError) in
      let (owner, weight, room) = (try fields.text(), try fields.double(), try fields.optionalLong())
      return (owner, FairQueue.Owner(weight: weight, room: room.map { locked.contains(owner) ? $0 : 0 }))
    }
    let shares = try opened[4].map { (fields) throws(JobStoreError) in
      (
        FairQueue.Level(owner: try fields.text(), priority: try fields.int()),
        FairShare(start: try fields.double(), finish: try fields.double())
      )
    }
    let times = try opened[5].map { (fields) throws(JobStoreError) in
      (FairQueue.PoolLevel(priority: try fields.int(), pool: try fields.text()), try fields.double())
    }
    return FairQueue(
      jobs, owners: Dictionary(uniqueKeysWithValues: owners), shares: Dictionary(uniqueKeysWithValues: shares),
      poolTimes: Dictionary(uniqueKeysWithValues: times))
  }

  /// The first tasks of jobs that one of some slots may have, of each as many as there are slots.
  /// - Parameter matches: Tasks that are to be granted, and are not yet.
  private func candidates(
    of jobs: [Int64], for slots: SlotAssignment, except matches: [FairQueue.Match], on connection: Connection
  ) throws(JobStoreError) -> [Int64: [FairQueue.Candidate]] {
    let found = try connection.run(
      .fairTasks,
      [
        .longs(jobs), .texts(slots.workers.map(\.description)), .long(Int64(slots.count + matches.count)),
        .long(policy.exclusion.microseconds),
      ]
    ).map { (fields) throws(JobStoreError) in
      (
        job: try fields.long(),
        candidate: FairQueue.Candidate(
          ordinal: try fields.int(), cost: try fields.double(),
          excluded: Set(try fields.texts().map { WorkerID($0) }))
      )
    }
    let matched = Dictionary(grouping: matches, by: \.job).mapValues { Set($0.map(\.ordinal)) }
    return Dictionary(grouping: found, by: \.job).mapValues { found in
      let others = found.filter { entry in matched[entry.job].map { !$0.contains(entry.candidate.ordinal) } ?? true }
      return others.prefix(slots.count).map(\.candidate)
    }
  }

  private func charge(_ statement: Statement, _ keys: [Parameter], _ charges: [FairCharge]) -> Call {
    (
      statement,
      keys + [.doubles(charges.map(\.base)), .doubles(charges.map(\.before)), .doubles(charges.map(\.total))]
    )
  }
}

extension Statement {
  /// What `FairQueue` knows of the open jobs that have a task that is ready.
  static let fairJobs = Statement(
    "fair-jobs",
    """
    SELECT number, \(owner(of: "job")), priority, pool,
      EXISTS (SELECT FROM sheaf.lease WHERE lease.job = number AND lease.moved_at <= \(ago("$2"))),
      coalesce(share.start, 0), coalesce(share.finish, 0)
    FROM sheaf.job LEFT JOIN sheaf.share ON share.job = job.number
    WHERE \(hasNotEnded) AND (state = 'probing' OR build = $1) AND \(takenBy("$3")) AND \(mayGoOn) AND EXISTS (
      SELECT FROM sheaf.task
      WHERE task.job = job.number AND task.state = 'ready' AND NOT task.is_isolated AND task.not_before <= sheaf.now())
    """)

  /// The owners that have a limit, but for those that another transaction has locked.
  static let lockLimited = Statement(
    "lock-limited",
    "SELECT owner FROM sheaf.owner WHERE most_running IS NOT NULL ORDER BY owner FOR UPDATE SKIP LOCKED")

  /// The owners for whom something is set, with how many more of their tasks may run.
  static let fairOwners = Statement(
    "fair-owners",
    """
    SELECT owner, weight, most_running - CASE WHEN most_running IS NOT NULL THEN (
      SELECT count(*) FROM sheaf.lease JOIN sheaf.job ON job.number = lease.job
      WHERE NOT lease.is_backup AND \(owner(of: "job")) = owner.owner) END
    FROM sheaf.owner
    """)

  /// What owners have had, at the priorities that jobs have.
  static let fairShares = Statement(
    "fair-shares",
    """
    SELECT owner, priority, start, finish FROM sheaf.owner_share
    WHERE priority IN (SELECT priority FROM sheaf.job WHERE \(hasNotEnded))
    """)

  /// The first `$3` tasks of each of the jobs `$1` that one of the workers `$2` may have. Nothing is locked: what is
  /// granted of them is.
  static let fairTasks = Statement(
    "fair-tasks",
    """
    WITH \(smallest)
    SELECT picked.job, picked.ordinal, picked.cost, picked.excluded
    FROM unnest($1) AS open (number) CROSS JOIN LATERAL (
      SELECT coalesce(watched_until > sheaf.now(), false) AS is_watched FROM sheaf.job WHERE job.number = open.number
    ) AS film CROSS JOIN LATERAL (
      (\(claimable(rank: "0", where: "NOT film.is_watched", order: "task.cost DESC, task.ordinal")))
      UNION ALL
      (\(claimable(rank: placeInFilm, where: "film.is_watched", order: "rank, task.ordinal")))
    ) AS picked
    ORDER BY picked.job, picked.rank, picked.cost DESC, picked.ordinal
    """)

  /// The tasks of a job that one of the workers may have, if a condition holds of the job.
  private static func claimable(rank: String, where condition: String, order: String) -> String {
    """
    SELECT task.job, task.ordinal, task.cost, \(rank) AS rank,
      CASE WHEN \(isForAll) THEN '{}' ELSE ARRAY(\(excludedWorkers)) END AS excluded
    FROM sheaf.task
    WHERE \(condition) AND task.job = open.number AND task.state = 'ready' AND NOT task.is_isolated
      AND task.not_before <= sheaf.now() AND (\(isForAll) OR NOT $2 <@ ARRAY(\(excludedWorkers)))
    ORDER BY \(order) LIMIT $3
    """
  }

  /// Where a task is among those of a film that somebody watches: a part of the sound is after the pictures with which
  /// it begins, as far as the work of the parts before it tells, and after those parts.
  private static let placeInFilm = """
    CASE task.kind WHEN 'audio' THEN (
      SELECT CASE WHEN job.videos = 0 THEN task.ordinal * 2
        ELSE 1 + 2 * (job.probes + job.measures + floor(job.videos * before / whole))
          + (task.ordinal - job.probes - job.measures - job.videos) / (job.audios + 1.0) END
      FROM sheaf.job CROSS JOIN (
        SELECT coalesce(sum(work) FILTER (WHERE part.ordinal < task.ordinal), 0)::double precision AS before,
          greatest(sum(work), 1)::double precision AS whole
        FROM sheaf.task part WHERE part.job = task.job AND part.kind = 'audio'
      ) AS sound WHERE job.number = task.job
    ) ELSE task.ordinal * 2 END
    """

  static let chargeOwners = Statement(
    "charge-owners", charge("owner_share", ["owner", "priority"], from: "unnest($1, $2, $3, $4, $5)"))

  static let chargeJobs = Statement(
    "charge-jobs",
    charge(
      "share", ["job"], from: "unnest($1, $2, $3, $4)",
      where: "EXISTS (SELECT FROM sheaf.job WHERE number = charge.job)"))

  /// `FairCharge.applied`. The rows are locked in order, so that no two claims wait for each other for ever.
  private static func charge(
    _ table: String, _ keys: [String], from charges: String, where condition: String = "true"
  ) -> String {
    let key = keys.joined(separator: ", ")
    let (ofShare, ofCharge) = (keys.map { "share.\($0)" }, keys.map { "charge.\($0)" })
    let isSame = "(\(ofShare.joined(separator: ", "))) = (\(ofCharge.joined(separator: ", ")))"
    return """
      WITH charge AS MATERIALIZED (
        SELECT * FROM \(charges) AS charge (\(key), base, before, total) WHERE \(condition)
      ), locked AS MATERIALIZED (
        SELECT FROM sheaf.\(table) share WHERE (\(ofShare.joined(separator: ", "))) IN (SELECT \(key) FROM charge)
        ORDER BY \(key) FOR UPDATE
      ), charged AS (
        UPDATE sheaf.\(table) share SET start = greatest(share.start, charge.base + charge.before),
          finish = greatest(share.finish, charge.base) + charge.total
        FROM charge WHERE \(isSame) AND (SELECT count(*) FROM locked) >= 0
        RETURNING \(ofShare.joined(separator: ", "))
      )
      INSERT INTO sheaf.\(table) (\(key), start, finish)
      SELECT \(key), greatest(0, base + before), greatest(0, base) + total FROM charge
      WHERE (\(key)) NOT IN (SELECT \(key) FROM charged) ORDER BY \(key)
      ON CONFLICT (\(key)) DO UPDATE SET start = greatest(\(table).start, excluded.start),
        finish = greatest(\(table).finish, excluded.finish)
      """
  }
}
