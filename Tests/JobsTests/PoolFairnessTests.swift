import FarmModel
import TestPrograms
import Testing

@testable import Jobs

/// Who is served first where only some workers take the jobs of some owners.
@Suite("Fair shares with pools") struct PoolFairnessTests {
  /// Tasks that take as long as they cost, on slots that take the jobs of some pools: time is virtual.
  private struct Simulation {
    struct Owner {
      var weight = 1.0
      var pool: String?
      var cost = 60.0
      var jobs = 1
      /// Whether it has tasks at a time, in hours.
      var isActive: (Double) -> Bool = { _ in true }
    }

    struct Slot {
      var pools: [String] = []
      /// Whether its worker is there at a time, in hours.
      var isThere: (Double) -> Bool = { _ in true }
    }

    var owners: [String: Owner]
    var slots: [Slot]
    private var shares: [FairQueue.Level: FairShare] = [:]
    private var jobShares: [Int64: FairShare] = [:]
    private var times: [FairQueue.PoolLevel: PoolTime] = [:]

    init(_ owners: [String: Owner], _ slots: [Slot]) { (self.owners, self.slots) = (owners, slots) }

    /// - Returns: What each owner had between two times, in hours of slots.
    mutating func run(hours: Double, from start: Double = 0) -> [String: Double] {
      var had: [String: Double] = [:]
      var free = [Double](repeating: 0, count: slots.count)
      while let slot = free.indices.min(by: { free[$0] < free[$1] }), free[slot] < hours * 3600 {
        let now = free[slot]
        guard slots[slot].isThere(now / 3600), let (owner, cost) = next(slots[slot].pools, now) else {
          free[slot] = now + 1
          continue
        }
        if now >= start * 3600 { had[owner, default: 0] += cost / 3600 }
        free[slot] = now + cost
      }
      return had
    }

    private mutating func next(_ pools: [String], _ now: Double) -> (String, Double)? {
      var jobs: [FairQueue.Job] = []
      for (place, (name, owner)) in owners.sorted(by: { $0.key < $1.key }).enumerated()
      where owner.isActive(now / 3600) && PoolName.takes(pools, jobsOf: owner.pool) {
        for index in 0..<owner.jobs {
          let number = Int64(place * 1000 + index)
          jobs.append(
            FairQueue.Job(
              number: number, owner: name, priority: 0, pool: owner.pool, isStalled: false,
              share: jobShares[number] ?? FairShare(),
              candidates: [.init(ordinal: 0, cost: owner.cost, excluded: [])]))
        }
      }
      let at = Duration.seconds(now)
      var queue = FairQueue(
        jobs, owners: owners.mapValues { .init(weight: $0.weight, room: nil) }, shares: shares,
        poolTimes: times.filter { $0.value.isFresh(at) }.mapValues(\.start))
      var slots = SlotAssignment([WorkerID.anna.holder])
      _ = queue.next()
      guard let match = queue.match(&slots).first, let job = jobs.first(where: { $0.number == match.job }) else {
        return nil
      }
      for (level, charge) in queue.ownerCharges { shares[level] = charge.applied(to: shares[level] ?? FairShare()) }
      for (number, charge) in queue.jobCharges {
        jobShares[number] = charge.applied(to: jobShares[number] ?? FairShare())
      }
      for (level, start) in queue.poolStarts(of: pools) { times[level] = PoolTime(times[level], start: start, now: at) }
      return (job.owner, job.candidates[0].cost)
    }
  }

  private func expect(
    _ had: [String: Double], _ due: [String: Double], within part: Double = 0.05,
    _ location: SourceLocation = #_sourceLocation
  ) {
    for (owner, due) in due {
      let hours = had[owner] ?? 0
      #expect(
        abs(hours - due) <= part * due, "\(owner) had \(hours) h, and \(due) h were due", sourceLocation: location)
    }
  }

  /// What is due is that of 300 hours.
  private static let hours = TestExtent.of(45.0, whole: 300)

  private func expect(
    _ simulation: inout Simulation, _ due: [String: Double], _ location: SourceLocation = #_sourceLocation
  ) {
    expect(simulation.run(hours: Self.hours), due.mapValues { $0 * Self.hours / 300 }, location)
  }

  /// What others have on workers that cannot take a pool's jobs says nothing about who goes first in the pool.
  @Test func `weights hold among the owners of a pool while others have much more elsewhere`() {
    var simulation = Simulation(
      ["anna": .init(pool: "gpu"), "bert": .init(weight: 2, pool: "gpu", cost: 45), "carl": .init(cost: 30)],
      [.init(pools: ["gpu"])] + Array(repeating: .init(), count: 10))
    expect(&simulation, ["anna": 100, "bert": 200, "carl": 3000])
  }

  /// Who can be served by few workers alone is served by those, and the others have equal parts of the rest.
  @Test func `a pool with most of the workers takes no more than its share`() {
    var simulation = Simulation(
      ["anna": .init(pool: "gpu"), "bert": .init(), "carl": .init(cost: 20)],
      Array(repeating: .init(pools: ["gpu"]), count: 10) + [.init()])
    expect(&simulation, ["anna": 1100, "bert": 1100, "carl": 1100])
  }

  @Test func `owners of a pool have equal parts, however many jobs each has`() {
    var simulation = Simulation(
      ["anna": .init(pool: "gpu", jobs: 3), "bert": .init(pool: "gpu"), "carl": .init()],
      [.init(pools: ["gpu", "night"])] + Array(repeating: .init(), count: 4))
    expect(&simulation, ["anna": 150, "bert": 150, "carl": 1200])
  }

  @Test func `who comes late has no credit for the time in which its workers served others`() {
    var simulation = Simulation(
      ["anna": .init(pool: "gpu") { $0 >= 100 }, "bert": .init()], [.init(pools: ["gpu"]), .init(pools: ["gpu"])])
    expect(simulation.run(hours: 120, from: 100), ["anna": 20, "bert": 20])
  }

  @Test func `who waited for workers that were not there has no credit for that time`() {
    var simulation = Simulation(
      ["anna": .init(pool: "gpu"), "bert": .init()],
      [.init(pools: ["gpu"]) { $0 < 10 || $0 >= 100 }, .init { $0 < 100 }])
    expect(simulation.run(hours: 120, from: 100), ["anna": 10, "bert": 10])
  }
}
