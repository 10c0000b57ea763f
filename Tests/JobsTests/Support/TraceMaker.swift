import TestPrograms

@testable import Jobs

/// Makes random operations, valid and invalid, from what is visible of a farm.
struct TraceMaker {
  private var random: SeededRandom
  private var submitted = 0
  private var leases: [Lease] = []
  private let workers: [(id: WorkerID, build: String)] = [
    (.anna, "b1"), (.bert, "b1"), (.carl, "b1"), (WorkerID("dora"), "b2"),
  ]

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func next(_ state: Visible) -> Operation {
    let open = state.jobs.filter { !$0.state.hasEnded }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<8 where open.count < 4 && submitted < 12: return submit(state)
    case 0..<14: return plan(state)
    case 14..<40: return claim()
    case 40..<52: return renew(state)
    case 52..<71: return publish(state)
    case 71..<80: return fail(state)
    case 80..<81: return .failJob(anyJob(state), jobFailure())
    case 81..<83:
      let worker = anyWorker().id
      return .release(worker, session(of: worker))
    case 83..<88: return .expire
    case 88..<89: return .cancel(anyJob(state))
    case 89..<91: return register()
    default: return .advance(.milliseconds(random.pick([1, 250, 1_000, 2_000, 5_000, 14_000, 61_000]) ?? 1))
    }
  }

  mutating func record(_ outcome: Operation.Outcome) {
    if case .granted(let grants) = outcome { leases.append(contentsOf: grants.map(\.lease)) }
  }

  private mutating func submit(_ state: Visible) -> Operation {
    if random.chance(10) { return .submit(.sample(anyJob(state).description)) }
    if random.chance(5) { return .submit(.sample("No Id")) }
    submitted += 1
    let tasks = (0..<Int.random(in: 0...2, using: &random)).map { task(.probe, $0) }
    return .submit(
      .sample(
        "job-\(submitted)", purpose: random.chance(15) ? .inspection : .render,
        priority: Int32.random(in: -1...1, using: &random), tasks: tasks))
  }

  private mutating func plan(_ state: Visible) -> Operation {
    let job = state.toPlan.first { _ in random.chance(90) } ?? anyJob(state)
    var tasks = (0..<Int.random(in: 1...7, using: &random)).map { task(.video, $0) }
    if random.chance(60) { tasks.append(task(.audio, 0)) }
    var stitch = NewTask.sample(.stitch)
    if random.chance(5) { stitch.cached = content(0xABC) }
    if !random.chance(5) { tasks.append(stitch) }
    return .plan(job, build: random.chance(80) ? "b1" : "b2", tasks: tasks)
  }

  private mutating func task(_ kind: TaskKind, _ number: Int) -> NewTask {
    .sample(
      kind, number, cost: Double(Int.random(in: 1...3, using: &random)),
      inputs: (0..<Int.random(in: 0...2, using: &random)).map { content($0 + 1) },
      cached: random.chance(15) ? content(0xC00 + number) : nil)
  }

  private mutating func claim() -> Operation {
    let worker = anyWorker()
    return .claim(
      worker.id, session(of: worker.id), build: worker.build, limit: Int.random(in: 0...3, using: &random))
  }

  private mutating func renew(_ state: Visible) -> Operation {
    let worker = anyWorker().id
    let held = state.leases.filter { $0.held.worker == worker }.map(\.lease)
    let renewed = (held + leases.suffix(20)).filter { _ in random.chance(60) }
    return .renew(
      worker, renewed.map { LeaseProgress(lease: $0, done: Int64.random(in: -1...20, using: &random)) })
  }

  private mutating func publish(_ state: Visible) -> Operation {
    let lease = anyLease(state)
    return .publish(lease, holder(of: lease, in: state), content(Int.random(in: 1...3, using: &random)))
  }

  private mutating func fail(_ state: Visible) -> Operation {
    let lease = anyLease(state)
    let end: AttemptEnd =
      random.chance(50) ? .media : random.chance(20) ? .crashed : random.chance(85) ? .released : .document
    var failure = TaskFailure(
      end: random.chance(3) ? .hung : end, message: "failure \(Int.random(in: 0..<9, using: &random))\0",
      jitter: Double.random(in: -0.2...1.2, using: &random))
    if random.chance(50) {
      failure.process = .sample
      failure.process?.log = "\0"
    }
    return .failLease(lease, holder(of: lease, in: state), failure)
  }

  private mutating func jobFailure() -> JobFailure {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: .sample
    case 1: JobFailure(reason: .task, message: "given up\0", task: 0)
    case 2: JobFailure(reason: .document, message: "clip 2 ends after its media", problems: [0, 1, 255])
    default: JobFailure(reason: .farm, message: "a task that is none", task: 1)
    }
  }

  private mutating func register() -> Operation {
    let worker = anyWorker()
    return .register(
      WorkerRecord(
        id: worker.id, session: session(of: worker.id), name: "host \(Int.random(in: 1...2, using: &random))",
        slots: Int32.random(in: 0...8, using: &random), build: worker.build, coordinator: "c1"))
  }

  /// Mostly a lease that is held.
  private mutating func anyLease(_ state: Visible) -> Lease {
    let held = state.leases.map(\.lease)
    if random.chance(80), let lease = random.pick(held) { return lease }
    if random.chance(90), let lease = random.pick(leases) { return lease }
    return Lease(task: TaskID(job: anyJob(state), ordinal: Int32.random(in: 0...9, using: &random)), epoch: 1)
  }

  /// Mostly the worker that holds the lease, if one does.
  private mutating func holder(of lease: Lease, in state: Visible) -> WorkerID {
    let holder = state.leases.first { $0.lease == lease }?.held.worker
    return random.chance(85) ? holder ?? anyWorker().id : anyWorker().id
  }

  private mutating func session(of worker: WorkerID) -> SessionID {
    SessionID("\(worker)-\(random.chance(75) ? 1 : 2)")
  }

  private mutating func anyJob(_ state: Visible) -> JobID { random.pick(state.jobs)?.id ?? JobID("nothing") }
  private mutating func anyWorker() -> (id: WorkerID, build: String) { random.pick(workers) ?? workers[0] }
}

extension SeededRandom {
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &self) }
}
