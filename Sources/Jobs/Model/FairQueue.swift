import FarmModel

/// How much of the farm somebody has had: an owner of all owners, a job of those of its owner, each among those of one
/// priority. Virtual time, in the unit of the tasks' costs divided by a weight.
struct FairShare: Sendable, Hashable {
  /// When what was granted last begins.
  var start: Double = 0
  /// When it ends.
  var finish: Double = 0

  /// When the next grant would begin. Who was away, or had nothing to grant, has no credit for that time: it goes on
  /// where those are that were served meanwhile.
  /// - Parameter present: The latest start of all.
  func next(at present: Double) -> Double { max(finish, present) }
}

/// What a claim adds to a share.
struct FairCharge: Sendable, Hashable {
  /// `FairShare.next` before the claim.
  var base: Double
  /// What is granted, and what of it was granted before the last of it.
  var total: Double = 0
  var before: Double = 0

  init(base: Double) {
    self.base = base
  }

  mutating func add(_ cost: Double) {
    before = total
    total += cost
  }

  /// The next grant would begin here.
  var next: Double { base + total }

  func applied(to share: FairShare) -> FairShare {
    FairShare(start: max(share.start, base + before), finish: max(share.finish, base) + total)
  }
}

/// In which order the first tasks of jobs are granted. Both stores grant by this rule, which is start-time fair queuing
/// (Goyal, Vin and Cheng, IEEE/ACM Transactions on Networking, 1997) at two levels. Of the jobs of the highest priority
/// an owner is served whose next grant would begin first, and of its jobs that of which the same is true. So over any
/// time those who always have tasks get costs in proportion to their weights, each but for about one task's cost.
struct FairQueue: Sendable {
  /// Of how many jobs the tasks are interleaved. Those of further jobs follow, of as many at a time.
  static let width = 64
  /// The least cost that a grant is charged with, so that everybody's turn ends.
  private static let leastCost = 1e-6

  struct Job: Sendable {
    var number: Int64
    var owner: String
    var priority: Int32
    /// Whether its tasks come after those of all others.
    var isStalled: Bool
    var share: FairShare
    var candidates: [Candidate] = []

    fileprivate var level: Level { Level(owner: owner, priority: priority) }
  }

  struct Candidate: Sendable {
    var ordinal: Int32
    var cost: Double
    /// Those of the claim's workers that may not have it.
    var excluded: Set<WorkerID>
  }

  /// An owner among those who have jobs of a priority: what is granted at another one does not count.
  struct Level: Sendable, Hashable, Comparable {
    var owner: String
    var priority: Int32

    static func < (left: Level, right: Level) -> Bool {
      (left.owner, left.priority) < (right.owner, right.priority)
    }
  }

  struct Owner: Sendable, Hashable {
    var weight: Double
    /// How many more of its tasks may run. Nil: any number.
    var room: Int64?
  }

  struct Match: Sendable, Hashable {
    var job: Int64
    var ordinal: Int32
    var holder: Holder
  }

  private struct Rank: Comparable {
    var isStalled: Bool
    var priority: Int32
    var owner: Double
    var job: Double
    var number: Int64

    static func < (left: Rank, right: Rank) -> Bool {
      if left.isStalled != right.isStalled { return right.isStalled }
      if left.priority != right.priority { return left.priority > right.priority }
      return (left.owner, left.job, left.number) < (right.owner, right.job, right.number)
    }
  }

  private var jobs: [Job]
  private var owners: [String: Owner]
  private var charges: [Level: FairCharge] = [:]
  private(set) var jobCharges: [Int64: FairCharge] = [:]
  private var jobBases: [Double]
  /// The jobs in the order in which they would be served first, and up to where they have been.
  private var order: [Int] = []
  private var end = 0
  private var batch: [Int] = []

  /// - Parameters:
  ///   - jobs: All that are open to the workers and have a task that is ready.
  ///   - owners: Those for whom something is set; others have weight 1.
  ///   - shares: Of owners at priorities; others had nothing yet.
  init(_ jobs: [Job], owners: [String: Owner], shares: [Level: FairShare]) {
    self.jobs = jobs.filter { owners[$0.owner]?.room.map { $0 > 0 } ?? true }
    self.owners = owners
    var present: [Int32: Double] = [:]
    for (level, share) in shares { present[level.priority] = max(present[level.priority] ?? 0, share.start) }
    var latest: [Level: Double] = [:]
    for job in jobs { latest[job.level] = max(latest[job.level] ?? 0, job.share.start) }
    for level in latest.keys {
      charges[level] = FairCharge(base: (shares[level] ?? FairShare()).next(at: present[level.priority] ?? 0))
    }
    jobBases = self.jobs.map { $0.share.next(at: latest[$0.level] ?? 0) }
    order = self.jobs.indices.sorted { rank($0) < rank($1) }
  }

  /// What is charged to owners.
  var ownerCharges: [Level: FairCharge] { charges.filter { $0.value.total > 0 } }

  /// The numbers of the next jobs whose tasks are interleaved. Empty: there are no more.
  mutating func next() -> [Int64] {
    batch = Array(order[end...].prefix(Self.width))
    end += batch.count
    return batch.map { jobs[$0].number }
  }

  /// - Parameter number: Of one of the jobs that `next` returned.
  mutating func setCandidates(_ candidates: [Candidate], of number: Int64) {
    guard let index = batch.first(where: { jobs[$0].number == number }) else { return }
    jobs[index].candidates = candidates
  }

  private func rank(_ index: Int) -> Rank {
    let job = jobs[index]
    return Rank(
      isStalled: job.isStalled, priority: job.priority, owner: charges[job.level]?.next ?? 0,
      job: jobCharges[job.number]?.next ?? jobBases[index], number: job.number)
  }

  /// Gives slots to the candidates of the jobs that `next` returned, each job's in their order, until there are no
  /// slots or no candidates left.
  mutating func match(_ slots: inout SlotAssignment) -> [Match] {
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
    charges[job.level]?.add(cost / (owners[job.owner]?.weight ?? 1))
    jobCharges[job.number, default: FairCharge(base: jobBases[index])].add(cost)
    owners[job.owner]?.room? -= 1
  }
}
