import FarmModel
import TestPrograms
import Testing

@testable import Jobs

/// Whose tasks are granted first.
@Suite("The fair queue") struct FairQueueTests {
  /// Tasks that take as long as they cost, on a number of slots: time is virtual, and a slot that is free takes the
  /// next task at once.
  private struct Simulation {
    struct Owner {
      var weight: Double
      /// What each task of each of its jobs costs, in seconds.
      var costs: [Double]
      /// Whether it has tasks at a time.
      var isActive: (Double) -> Bool = { _ in true }
    }

    var owners: [String: Owner]
    var slots: Int
    private var shares: [String: FairShare] = [:]
    private var jobShares: [Int64: FairShare] = [:]
    /// Seconds of slots by owner: what it had, and what its weight gives it of those who had tasks.
    private(set) var had: [String: Double] = [:]
    private(set) var due: [String: Double] = [:]

    init(owners: [String: Owner], slots: Int) {
      (self.owners, self.slots) = (owners, slots)
    }

    /// - Parameter onGrant: The time, the owner and the job.
    mutating func run(hours: Double, onGrant: (Double, String, Int64) -> Void = { _, _, _ in }) {
      let names = owners.keys.sorted()
      var free = [Double](repeating: 0, count: slots)
      var time = 0.0
      while time < hours * 3600 {
        let slot = free.indices.min { free[$0] < free[$1] } ?? 0
        let now = free[slot]
        let active = names.filter { owners[$0]?.isActive(now) == true }
        let weights = active.reduce(0) { $0 + (owners[$1]?.weight ?? 0) }
        for name in active where now > time {
          due[name, default: 0] += (now - time) * Double(slots) * (owners[name]?.weight ?? 0) / weights
        }
        time = now
        guard let (owner, job, cost) = next(active, names) else {
          free[slot] = now + 1
          continue
        }
        onGrant(now, owner, job)
        had[owner, default: 0] += cost
        free[slot] = now + cost
      }
    }

    private mutating func next(_ active: [String], _ names: [String]) -> (String, Int64, Double)? {
      var jobs: [FairQueue.Job] = []
      for (place, name) in names.enumerated() where active.contains(name) {
        for (index, cost) in (owners[name]?.costs ?? []).enumerated() {
          let number = Int64(place * 1000 + index)
          jobs.append(
            FairQueue.Job(
              number: number, owner: name, priority: 0, isStalled: false, share: jobShares[number] ?? FairShare(),
              candidates: [.init(ordinal: 0, cost: cost, excluded: [])]))
        }
      }
      var queue = FairQueue(
        jobs,
        owners: Dictionary(
          uniqueKeysWithValues: names.map { name in
            (name, .init(weight: owners[name]?.weight ?? 1, share: shares[name] ?? FairShare(), room: nil))
          }), present: shares.values.map(\.start).max() ?? 0)
      var slots = SlotAssignment([WorkerID.anna.holder])
      guard let match = queue.match(&slots).first, let job = jobs.first(where: { $0.number == match.job }) else {
        return nil
      }
      for (name, charge) in queue.ownerCharges { shares[name] = charge.applied(to: shares[name] ?? FairShare()) }
      for (number, charge) in queue.jobCharges {
        jobShares[number] = charge.applied(to: jobShares[number] ?? FairShare())
      }
      return (job.owner, match.job, job.candidates[0].cost)
    }
  }

  /// Owners with one long job, with many short ones, with twice the weight, and one that comes and goes.
  @Test(arguments: [1, 3, 16]) func `in a thousand hours nobody has less than nine tenths of its share`(slots: Int) {
    var simulation = Simulation(
      owners: [
        "anna": .init(weight: 1, costs: [120]), "bert": .init(weight: 1, costs: Array(repeating: 30, count: 20)),
        "carl": .init(weight: 2, costs: [300, 60, 60]),
        "dora": .init(weight: 1, costs: [45, 45]) { Int($0 / 5400).isMultiple(of: 2) },
      ], slots: slots)
    simulation.run(hours: 1000)
    for (owner, due) in simulation.due {
      let had = simulation.had[owner] ?? 0
      #expect(had >= 0.9 * due && had <= 1.1 * due, "\(owner) had \(had / 3600) h, and \(due / 3600) h were due")
    }
  }

  @Test func `jobs of one owner share as owners do`() {
    var simulation = Simulation(owners: ["": .init(weight: 1, costs: [120, 30, 7])], slots: 2)
    var had: [Int64: Double] = [:]
    simulation.run(hours: 100) { _, _, job in had[job, default: 0] += [120, 30, 7][Int(job)] }
    for (job, seconds) in had { #expect(abs(seconds / 3600 - 200.0 / 3) < 1, "job \(job): \(seconds / 3600) h") }
  }

  /// Whoever comes later has no credit for the time before, and whoever was there has no debt.
  @Test func `a job that comes late starts with the next free slot, and takes turns`() {
    var simulation = Simulation(
      owners: ["anna": .init(weight: 1, costs: [60]), "bert": .init(weight: 1, costs: [60]) { $0 >= 86_400 }], slots: 1)
    var grants: [(time: Double, owner: String)] = []
    simulation.run(hours: 25) { time, owner, _ in grants.append((time, owner)) }
    let first = grants.first { $0.owner == "bert" }
    #expect(first.map { $0.time <= 86_400 + 60 } == true)
    let after = grants.filter { $0.time >= 86_400 }.map(\.owner)
    #expect(abs(after.count { $0 == "anna" } - after.count { $0 == "bert" }) <= 1)
    #expect(zip(after, zip(after.dropFirst(), after.dropFirst(2))).allSatisfy { $0 != $1.0 || $0 != $1.1 })
  }

  @Test func `a stalled job is last, and a higher priority is first whatever its owner had`() throws {
    func job(_ number: Int64, _ owner: String, _ priority: Int32 = 0, stalled: Bool = false, had: Double = 0)
      -> FairQueue.Job
    {
      .init(
        number: number, owner: owner, priority: priority, isStalled: stalled, share: FairShare(start: had, finish: had),
        candidates: (0..<2).map { .init(ordinal: $0, cost: 1, excluded: []) })
    }
    var queue = FairQueue(
      [job(1, "a", 9, stalled: true), job(2, "a", 1, had: 500), job(3, "b"), job(4, "c"), job(5, "c")],
      owners: [
        "a": .init(weight: 1, share: FairShare(start: 900, finish: 1000), room: nil),
        "b": .init(weight: 1, share: FairShare(start: 900, finish: 901), room: 1),
      ], present: 900)
    var slots = SlotAssignment(Array(repeating: WorkerID.anna.holder, count: 20))
    // "c" begins where the others are, "b" may have one alone, and a job of an owner is as good as its others.
    #expect(
      queue.match(&slots).map { "\($0.job)/\($0.ordinal)" } == [
        "2/0", "2/1", "4/0", "3/0", "5/0", "4/1", "5/1", "1/0", "1/1",
      ])
    #expect(slots.count == 11)
    #expect(queue.jobCharges[2]?.applied(to: FairShare(start: 500, finish: 500)) == FairShare(start: 501, finish: 502))
    #expect(queue.ownerCharges["c"]?.applied(to: FairShare()) == FairShare(start: 903, finish: 904))
  }

  @Test func `a task that no slot that is left may have is passed over and charged to nobody`() {
    let candidates: [FairQueue.Candidate] = [
      .init(ordinal: 0, cost: 5, excluded: [.anna]), .init(ordinal: 1, cost: 1, excluded: []),
    ]
    let share = FairShare()
    var queue = FairQueue(
      [.init(number: 1, owner: "", priority: 0, isStalled: false, share: share, candidates: candidates)], owners: [:],
      present: 0)
    var slots = SlotAssignment([WorkerID.anna.holder, WorkerID.anna.holder])
    #expect(queue.match(&slots).map(\.ordinal) == [1])
    #expect(queue.jobCharges[1]?.total == 1)
  }
}
