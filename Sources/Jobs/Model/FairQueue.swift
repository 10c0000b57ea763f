package import FarmModel

/// How much of the farm somebody has had: an owner of all owners, a job of those of its owner, each among those of one
/// priority. Virtual time, in the unit of the tasks' costs divided by a weight.
package struct FairShare: Sendable, Hashable {
  /// When what was granted last begins.
  package var start: Double = 0
  /// When it ends.
  package var finish: Double = 0

  package init(start: Double = 0, finish: Double = 0) {
    self.start = start
    self.finish = finish
  }

  /// When the next grant would begin. Who was away, or had nothing to grant, has no credit for that time: it goes on
  /// where those are that were served meanwhile.
  /// - Parameter present: The latest start of all.
  package func next(at present: Double) -> Double { max(finish, present) }
}

/// What a claim adds to a share.
package struct FairCharge: Sendable, Hashable {
  /// `FairShare.next` before the claim.
  package var base: Double
  /// What is granted, and what of it was granted before the last of it.
  package var total: Double = 0
  package var before: Double = 0

  package init(base: Double) {
    self.base = base
  }

  /// - Parameter start: When it begins: at `next` or later.
  package mutating func add(_ cost: Double, at start: Double) {
    if start > next { total += start - next }
    before = total
    total += cost
  }

  /// When the last of it begins.
  package var start: Double { base + before }

  /// The next grant would begin here.
  package var next: Double { base + total }

  package func applied(to share: FairShare) -> FairShare {
    FairShare(start: max(share.start, base + before), finish: max(share.finish, base) + total)
  }
}

/// What the workers that take the jobs of a pool were granted last, at one priority.
package struct PoolTime: Sendable, Hashable {
  /// For how long it counts. After that it is as if nobody had waited for those workers.
  package static let lifetime = Duration.seconds(600)

  /// When it begins, in virtual time.
  package var start: Double
  /// When it was granted.
  package var at: Duration

  package init(_ earlier: PoolTime?, start: Double, now: Duration) {
    self.start = earlier.map { $0.isFresh(now) ? max($0.start, start) : start } ?? start
    at = now
  }

  package func isFresh(_ now: Duration) -> Bool { now - at <= Self.lifetime }
}

/// In which order the first tasks of jobs are granted. Both stores grant by this rule, which is start-time fair queuing
/// (Goyal, Vin and Cheng, IEEE/ACM Transactions on Networking, 1997) at two levels. Of the jobs of the highest priority
/// an owner is served whose next grant would begin first, and of its jobs that of which the same is true. So over any
/// time those who always have tasks get costs in proportion to their weights, each but for about one task's cost.
///
/// Only some workers take the jobs of a pool, so owners may get different amounts although all of them wait. Then a
/// worker serves the owner of those it can serve that has had least (max-min fairness with placement constraints;
/// Ghodsi, Zaharia, Shenker and Stoica, EuroSys 2013). Who was away has no credit for the time in which workers that
/// take its jobs served others: that, and not what other workers did, is what its next grant is compared with.
package struct FairQueue: Sendable {
  /// Of how many jobs the tasks are interleaved. Those of further jobs follow, of as many at a time.
  package static let width = 64
  /// The least cost that a grant is charged with, so that everybody's turn ends.
  private static let leastCost = 1e-6

  package struct Job: Sendable {
    package var number: Int64
    package var owner: String
    package var priority: Int32
    package var pool: String?
    /// Whether its tasks come after those of all others.
    package var isStalled: Bool
    package var share: FairShare
    package var candidates: [Candidate] = []

    package init(
      number: Int64, owner: String, priority: Int32, pool: String? = nil, isStalled: Bool, share: FairShare,
      candidates: [Candidate] = []
    ) {
      self.number = number
      self.owner = owner
      self.priority = priority
      self.pool = pool
      self.isStalled = isStalled
      self.share = share
      self.candidates = candidates
    }

    fileprivate var level: Level { Level(owner: owner, priority: priority) }
    fileprivate var poolLevel: PoolLevel? { pool.map { PoolLevel(priority: priority, pool: $0) } }
  }

  package struct Candidate: Sendable {
    package var ordinal: Int32
    package var cost: Double
    /// Those of the claim's workers that may not have it.
    package var excluded: Set<WorkerID>

    package init(ordinal: Int32, cost: Double, excluded: Set<WorkerID>) {
      self.ordinal = ordinal
      self.cost = cost
      self.excluded = excluded
    }
  }

  /// An owner among those who have jobs of a priority: what is granted at another one does not count.
  package struct Level: Sendable, Hashable, Comparable {
    package var owner: String
    package var priority: Int32

    package init(owner: String, priority: Int32) {
      self.owner = owner
      self.priority = priority
    }

    package static func < (left: Level, right: Level) -> Bool {
      (left.owner, left.priority) < (right.owner, right.priority)
    }
  }

  /// The jobs of a pool among those of a priority.
  package struct PoolLevel: Sendable, Hashable, Comparable {
    package var priority: Int32
    package var pool: String

    package init(priority: Int32, pool: String) {
      self.priority = priority
      self.pool = pool
    }

    package static func < (left: PoolLevel, right: PoolLevel) -> Bool {
      (left.priority, left.pool) < (right.priority, right.pool)
    }
  }

  package struct Owner: Sendable, Hashable {
    package var weight: Double
    /// How many more of its tasks may run. Nil: any number.
    package var room: Int64?

    package init(weight: Double, room: Int64? = nil) {
      self.weight = weight
      self.room = room
    }
  }

  package struct Match: Sendable, Hashable {
    package var job: Int64
    package var ordinal: Int32
    package var holder: Holder
  }

  private struct Rank: Comparable {
    var isStalled: Bool
    var priority: Int32
    var owner: Double
    var job: Double
    /// What the job has had, however long ago: of jobs that may begin at once, the one with less is first.
    var finish: Double
    var number: Int64

    static func < (left: Rank, right: Rank) -> Bool {
      if left.isStalled != right.isStalled { return right.isStalled }
      if left.priority != right.priority { return left.priority > right.priority }
      return (left.owner, left.job, left.finish, left.number) < (right.owner, right.job, right.finish, right.number)
    }
  }

  private var jobs: [Job]
  private var owners: [String: Owner]
  private let shares: [Level: FairShare]
  private let poolTimes: [PoolLevel: Double]
  /// By priority: the latest start of all.
  private let present: [Int32: Double]
  private var charges: [Level: FairCharge] = [:]
  package private(set) var jobCharges: [Int64: FairCharge] = [:]
  private var jobBases: [Double]
  /// The jobs in the order in which they would be served first, and up to where they have been.
  private var order: [Int] = []
  private var end = 0
  private var batch: [Int] = []

  /// - Parameters:
  ///   - jobs: All that are open to the workers and have a task that is ready.
  ///   - owners: Those for whom something is set; others have weight 1.
  ///   - shares: Of owners at priorities; others had nothing yet.
  ///   - poolTimes: What began last of what was granted to workers that take the jobs of a pool.
  package init(
    _ jobs: [Job], owners: [String: Owner], shares: [Level: FairShare], poolTimes: [PoolLevel: Double] = [:]
  ) {
    self.jobs = jobs.filter { owners[$0.owner]?.room.map { $0 > 0 } ?? true }
    self.owners = owners
    self.shares = shares
    self.poolTimes = poolTimes
    var present: [Int32: Double] = [:]
    for (level, share) in shares { present[level.priority] = max(present[level.priority] ?? 0, share.start) }
    self.present = present
    var latest: [Level: Double] = [:]
    for job in jobs { latest[job.level] = max(latest[job.level] ?? 0, job.share.start) }
    jobBases = self.jobs.map { $0.share.next(at: latest[$0.level] ?? 0) }
    order = self.jobs.indices.sorted { rank($0) < rank($1) }
  }

  /// What is charged to owners.
  package var ownerCharges: [Level: FairCharge] { charges }

  /// What begins last of what is granted, for each of the pools whose jobs the workers take.
  package func poolStarts(of pools: [String]) -> [PoolLevel: Double] {
    var starts: [PoolLevel: Double] = [:]
    for (level, charge) in charges {
      for pool in pools {
        starts[PoolLevel(priority: level.priority, pool: pool), default: charge.start].raise(to: charge.start)
      }
    }
    return starts
  }

  /// When the next grant to a job's owner would begin.
  private func ownerNext(_ job: Job) -> Double {
    let time = job.poolLevel.flatMap { poolTimes[$0] } ?? present[job.priority] ?? 0
    return max(charges[job.level]?.next ?? shares[job.level]?.finish ?? 0, time)
  }

  /// The numbers of the next jobs whose tasks are interleaved. Empty: there are no more.
  package mutating func next() -> [Int64] {
    batch = Array(order[end...].prefix(Self.width))
    end += batch.count
    return batch.map { jobs[$0].number }
  }

  /// - Parameter number: Of one of the jobs that `next` returned.
  package mutating func setCandidates(_ candidates: [Candidate], of number: Int64) {
    guard let index = batch.first(where: { jobs[$0].number == number }) else { return }
    jobs[index].candidates = candidates
  }

  private func rank(_ index: Int) -> Rank {
    let job = jobs[index]
    return Rank(
      isStalled: job.isStalled, priority: job.priority, owner: ownerNext(job),
      job: jobCharges[job.number]?.next ?? jobBases[index],
      finish: jobCharges[job.number]?.next ?? job.share.finish, number: job.number)
  }

  /// Gives slots to the candidates of the jobs that `next` returned, each job's in their order, until there are no
  /// slots or no candidates left.
  package mutating func match(_ slots: inout SlotAssignment) -> [Match] {
    var matches: [Match] = []
    var places = [Int](repeating: 0, count: jobs.count)
    var open = batch
    while slots.count > 0 {
      open.removeAll { places[$0] >= jobs[$0].candidates.count || (owners[jobs[$0].owner]?.room ?? 1) <= 0 }
      guard let index = open.min(by: { rank($0) < rank($1) }) else { break }
      let job = jobs[index]
      let candidate = job.candidates[places[index]]
      places[index] += 1
      guard let holder = slots.take(where: { !candidate.excluded.contains($0) }) else { continue }
      matches.append(Match(job: job.number, ordinal: candidate.ordinal, holder: holder))
      charge(index, candidate.cost)
    }
    return matches
  }

  private mutating func charge(_ index: Int, _ cost: Double) {
    let job = jobs[index]
    let cost = max(cost, Self.leastCost)
    let start = ownerNext(job)
    charges[job.level, default: FairCharge(base: start)].add(cost / (owners[job.owner]?.weight ?? 1), at: start)
    jobCharges[job.number, default: FairCharge(base: jobBases[index])].add(
      cost, at: jobCharges[job.number]?.next ?? jobBases[index])
    owners[job.owner]?.room? -= 1
  }
}

extension Double {
  fileprivate mutating func raise(to other: Double) { self = Swift.max(self, other) }
}
