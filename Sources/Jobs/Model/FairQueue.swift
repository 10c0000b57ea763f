import FarmModel

/// How much of the farm somebody has had: an owner of all owners, a job of those of its owner. Virtual time, in the
/// unit of the tasks' costs divided by a weight.
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
  /// Of how many jobs the tasks are interleaved. The tasks of further jobs follow, job by job.
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
  }

  struct Candidate: Sendable {
    var ordinal: Int32
    var cost: Double
    /// Those of the claim's workers that may not have it.
    var excluded: Set<WorkerID>
  }

  struct Owner: Sendable, Hashable {
    var weight: Double
    var share: FairShare
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
  private var rest: [Int]
  private var owners: [String: Owner]
  private(set) var ownerCharges: [String: FairCharge] = [:]
  private(set) var jobCharges: [Int64: FairCharge] = [:]
  private var jobBases: [Double]

  /// - Parameters:
  ///   - jobs: All that are open to the workers.
  ///   - owners: The owners that are known; others have weight 1 and had nothing yet.
  ///   - present: The latest start of all owners' shares.
  init(_ jobs: [Job], owners: [String: Owner], present: Double) {
    self.owners = owners
    var latest: [String: Double] = [:]
    for job in jobs { latest[job.owner] = max(latest[job.owner] ?? 0, job.share.start) }
    for owner in latest.keys {
      let known = owners[owner] ?? Owner(weight: 1, share: FairShare())
      self.owners[owner] = known
      ownerCharges[owner] = FairCharge(base: known.share.next(at: present))
    }
    self.jobs = jobs
    jobBases = jobs.map { $0.share.next(at: latest[$0.owner] ?? 0) }
    rest = []
    let order = jobs.indices.sorted { rank($0) < rank($1) }
    rest = Array(order.prefix(Self.width))
  }

  /// The numbers of the jobs whose tasks are interleaved.
  var first: [Int64] { rest.map { jobs[$0].number } }

  mutating func setCandidates(_ candidates: [Candidate], of number: Int64) {
    guard let index = rest.first(where: { jobs[$0].number == number }) else { return }
    jobs[index].candidates = candidates
  }

  private func rank(_ index: Int) -> Rank {
    let job = jobs[index]
    return Rank(
      isStalled: job.isStalled, priority: job.priority, owner: ownerCharges[job.owner]?.next ?? 0,
      job: jobCharges[job.number]?.next ?? jobBases[index], number: job.number)
  }

  /// Gives slots to the jobs' candidates, each job's in their order, until there are no slots or no candidates left.
  mutating func match(_ slots: inout SlotAssignment) -> [Match] {
    var matches: [Match] = []
    var places = [Int](repeating: 0, count: jobs.count)
    var open = rest.filter { !jobs[$0].candidates.isEmpty }
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
    ownerCharges = ownerCharges.filter { $0.value.total > 0 }
    return matches
  }

  private mutating func charge(_ index: Int, _ cost: Double) {
    let job = jobs[index]
    let cost = max(cost, Self.leastCost)
    let weight = owners[job.owner]?.weight ?? 1
    ownerCharges[job.owner]?.add(cost / weight)
    jobCharges[job.number, default: FairCharge(base: jobBases[index])].add(cost)
    owners[job.owner]?.room? -= 1
  }
}
