import FarmModel
import SystemSupport
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
      var priority: Int32 = 0
      /// What each task of each of its jobs costs, in seconds.
      var costs: [Double]
      /// Whether it has tasks at a time.
      var isActive: (Double) -> Bool = { _ in true }
    }

    var owners: [String: Owner]
    var slots: Int
    private var shares: [FairQueue.Level: FairShare] = [:]
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
              number: number, owner: name, priority: owners[name]?.priority ?? 0, isStalled: false,
              share: jobShares[number] ?? FairShare(),
              candidates: [.init(ordinal: 0, cost: cost, excluded: [])]))
        }
      }
      var queue = FairQueue(
        jobs, owners: owners.mapValues { .init(weight: $0.weight, room: nil) }, shares: shares)
      var slots = SlotAssignment([WorkerID.anna.holder])
      _ = queue.next()
      guard let match = queue.match(&slots).first, let job = jobs.first(where: { $0.number == match.job }) else {
        return nil
      }
      for (level, charge) in queue.ownerCharges { shares[level] = charge.applied(to: shares[level] ?? FairShare()) }
      for (number, charge) in queue.jobCharges {
        jobShares[number] = charge.applied(to: jobShares[number] ?? FairShare())
      }
      return (job.owner, match.job, job.candidates[0].cost)
    }
  }

  private static let hours: [(Int, Double)] = TestExtent.of(
    [(1, 150), (3, 60), (16, 24)], whole: [(1, 1000), (3, 250), (16, 100)])

  /// Owners with one long job, with several short ones, with twice the weight, and one that comes and goes. More slots
  /// have more grants in an hour; in `make chaos` they have a thousand hours too.
  @Test(arguments: hours)
  func `in a thousand hours nobody has less than nine tenths of its share`(slots: Int, hours: Double) {
    // Many slots have longer tasks, so that they are not many more.
    let long = Double(max(1, slots / 4))
    var simulation = Simulation(
      owners: [
        "anna": .init(weight: 1, costs: [120 * long]),
        "bert": .init(weight: 1, costs: Array(repeating: 30 * long, count: 7)),
        "carl": .init(weight: 2, costs: [300 * long, 60 * long, 60 * long]),
        "dora": .init(weight: 1, costs: [45 * long, 45 * long]) { Int($0 / (5400 * long)).isMultiple(of: 2) },
      ], slots: slots)
    simulation.run(hours: ProcessEnvironment.value("SHEAF_TRACE_SEEDS") == nil ? hours : 1000)
    for (owner, due) in simulation.due {
      let had = simulation.had[owner] ?? 0
      #expect(had >= 0.9 * due && had <= 1.1 * due, "\(owner) had \(had / 3600) h, and \(due / 3600) h were due")
    }
  }

  @Test func `jobs of one owner share as owners do`() {
    var simulation = Simulation(owners: ["": .init(weight: 1, costs: [120, 30, 7])], slots: 2)
    var had: [Int64: Double] = [:]
    let hours = TestExtent.of(30.0, whole: 100)
    simulation.run(hours: hours) { _, _, job in had[job, default: 0] += [120, 30, 7][Int(job)] }
    for (job, seconds) in had {
      #expect(abs(seconds / 3600 - 2 * hours / 3) < hours / 100, "job \(job): \(seconds / 3600) h")
    }
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

  /// An owner with a higher priority who has tasks half of the time takes nothing from the weights of the others.
  @Test func `weights hold below whoever goes first`() {
    var simulation = Simulation(
      owners: [
        "anna": .init(weight: 4, costs: [10]), "bert": .init(weight: 1, costs: [30]),
        "high": .init(weight: 1, priority: 10, costs: [20]) { Int($0 / 60).isMultiple(of: 2) },
      ], slots: 2)
    simulation.run(hours: TestExtent.of(40, whole: 200))
    let ratio = (simulation.had["anna"] ?? 0) / (simulation.had["bert"] ?? 1)
    #expect(ratio > 3.8 && ratio < 4.2, "\(ratio)")
  }

  private func job(
    _ number: Int64, _ owner: String, _ priority: Int32 = 0, stalled: Bool = false, had: Double = 0
  ) -> FairQueue.Job {
    .init(
      number: number, owner: owner, priority: priority, isStalled: stalled, share: FairShare(start: had, finish: had))
  }

  /// Each job has two tasks of cost 1.
  private func granted(_ queue: inout FairQueue, _ count: Int) -> [String] {
    var slots = SlotAssignment(Array(repeating: WorkerID.anna.holder, count: count))
    var matches: [FairQueue.Match] = []
    while slots.count > 0 {
      let batch = queue.next()
      if batch.isEmpty { break }
      for number in batch {
        queue.setCandidates((0..<2).map { .init(ordinal: $0, cost: 1, excluded: []) }, of: number)
      }
      matches += queue.match(&slots)
    }
    return matches.map { "\($0.job)/\($0.ordinal)" }
  }

  @Test func `a stalled job is last, and a higher priority is first whatever its owner had`() {
    var queue = FairQueue(
      [job(1, "a", 9, stalled: true), job(2, "a", 1, had: 500), job(3, "b"), job(4, "c"), job(5, "c")],
      owners: ["b": .init(weight: 1, room: 1)],
      shares: [
        .init(owner: "a", priority: 1): FairShare(start: 5000, finish: 9000),
        .init(owner: "b", priority: 0): FairShare(start: 900, finish: 901),
      ])
    // "c" begins where "b" is, who may have one alone, and a job of an owner is as good as its others.
    #expect(granted(&queue, 20) == ["2/0", "2/1", "4/0", "3/0", "5/0", "4/1", "5/1", "1/0", "1/1"])
    #expect(queue.jobCharges[2]?.applied(to: FairShare(start: 500, finish: 500)) == FairShare(start: 501, finish: 502))
    let ofC = queue.ownerCharges[.init(owner: "c", priority: 0)]
    #expect(ofC?.applied(to: FairShare()) == FairShare(start: 903, finish: 904))
  }

  /// Those who may have no more, and those of whom no slot may have a task, are passed over, however many there are.
  @Test func `nobody is kept from slots by those before`() {
    let blocked = (1...200).map { job(Int64($0), "blocked", 5) }
    var queue = FairQueue(
      blocked + [job(1000, "last")], owners: ["blocked": .init(weight: 1, room: 0), "last": .init(weight: 1, room: 5)],
      shares: [:])
    #expect(granted(&queue, 3) == ["1000/0", "1000/1"])
    var wide = FairQueue((1...150).map { job(Int64($0), "") }, owners: [:], shares: [:])
    #expect(Set(granted(&wide, 400)).count == 300)
  }

  @Test func `a task that no slot that is left may have is passed over and charged to nobody`() {
    var queue = FairQueue([job(1, "")], owners: [:], shares: [:])
    #expect(queue.next() == [1])
    queue.setCandidates(
      [.init(ordinal: 0, cost: 5, excluded: [.anna]), .init(ordinal: 1, cost: 1, excluded: [])], of: 1)
    var slots = SlotAssignment([WorkerID.anna.holder, WorkerID.anna.holder])
    #expect(queue.match(&slots).map(\.ordinal) == [1])
    #expect(queue.jobCharges[1]?.total == 1)
  }
}
