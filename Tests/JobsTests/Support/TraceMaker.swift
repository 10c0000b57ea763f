import FarmModel
import TestPrograms

@testable import Jobs

/// Makes random operations, valid and invalid, from what is visible of a farm.
struct TraceMaker {
  private var random: SeededRandom
  private var usages: SeededRandom
  private var accesses: SeededRandom
  private var steering: SeededRandom
  private var standing: SeededRandom
  private var pooling: SeededRandom
  private var urging: SeededRandom
  /// Whether jobs may have several audio tasks.
  private let dividesSound: Bool
  private var submitted = 0
  private var leases: [Lease] = []
  private let workers: [(id: WorkerID, build: String)] = [
    (.anna, "b1"), (.bert, "b1"), (.carl, "b1"), (WorkerID("dora"), "b2"),
  ]

  init(seed: UInt64, dividesSound: Bool = false) {
    self.dividesSound = dividesSound
    random = SeededRandom(seed: seed)
    usages = SeededRandom(seed: ~seed)
    accesses = SeededRandom(seed: seed &* 3)
    steering = SeededRandom(seed: seed &* 5)
    standing = SeededRandom(seed: seed &* 7)
    pooling = SeededRandom(seed: seed &* 11)
    urging = SeededRandom(seed: seed &* 13)
  }

  mutating func next(_ state: Visible) -> Operation {
    if accesses.chance(5) { return access() }
    if steering.chance(7) { return steer(state) }
    if standing.chance(10) { return judge(state) }
    if pooling.chance(4) { return pool(state) }
    if urging.chance(6), let operation = urge(state) { return operation }
    let open = state.jobs.filter { !$0.state.hasEnded }
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<8 where open.count < 4 && submitted < 14: return submit(state)
    case 0..<11: return plan(state)
    case 11..<15: return planning(state)
    case 15..<37: return claim()
    case 37..<48: return renew(state)
    case 48..<64: return publish(state)
    case 64..<72: return fail(state)
    case 72..<76: return .disconnect(Holder(worker: anyWorker().id, session: session()))
    case 76..<83: return .expire
    case 83..<86: return register()
    case 86..<90: return rare(state)
    case 90..<93: return webhook(state)
    default: return .advance(.milliseconds(random.pick([1, 250, 1_000, 2_000, 5_000, 14_000, 61_000]) ?? 1))
    }
  }

  /// What comes about by chance once in many traces: tasks with two leases fail, plannings are lost, pools close.
  private mutating func urge(_ state: Visible) -> Operation? {
    switch Int.random(in: 0..<3, using: &urging) {
    case 0:
      let held = Dictionary(grouping: state.leases) { $0.lease.task }.values.filter { $0.count == 2 }
      let both = held.sorted { "\($0[0].lease.task)" < "\($1[0].lease.task)" }
      guard let lease = urging.pick(urging.pick(both) ?? []) else { return nil }
      let failure = TaskFailure(end: .media, message: "urged", jitter: 0, delaysTask: false)
      return .failLease(lease.lease, Holder(worker: lease.held.worker, session: lease.held.session), failure)
    case 1:
      guard let job = urging.pick(state.toPlan) else { return nil }
      let planner = urging.pick(["c1", "c2"]) ?? "c1"
      return urging.chance(50)
        ? .advance(.seconds(61)) : .beginPlanning(job, planner, isAlone: urging.chance(50))
    default:
      let isNear = state.pools.contains { !$0.hours.spans.isEmpty }
      return isNear && urging.chance(60) ? .advance(.seconds(3 * 3600)) : nil
    }
  }

  private mutating func access() -> Operation {
    let id = AccessTokenID(accesses.chance(95) ? "tok_\(Int.random(in: 1...5, using: &accesses))" : "No Id")
    let owner = accesses.pick(Self.owners) ?? nil
    switch Int.random(in: 0..<9, using: &accesses) {
    case 0, 1, 2:
      return .addToken(
        AccessToken(
          id: id, digest: digest(0xA00 + Int.random(in: 1...5, using: &accesses)),
          role: accesses.pick(Role.allCases) ?? .viewer, owner: owner ?? "own er",
          pool: pooling.chance(70) ? nil : "gpu", description: "for\0"),
        lifetime: accesses.pick([nil, .seconds(1), .seconds(40)]) ?? nil)
    case 3: return .revokeToken(id)
    case 4:
      return .removeAudit(.seconds(accesses.pick([0, 60, 400]) ?? 0), limit: Int.random(in: 0...3, using: &accesses))
    default:
      return .recordAudit(
        AuditEntry(
          accesses.pick(AuditEntry.Action.allCases) ?? .refused,
          by: Caller(
            role: accesses.pick(Role.allCases) ?? .viewer, owner: owner, token: accesses.chance(50) ? id : nil,
            address: "10.0.0.1\0"),
          of: "job-\(Int.random(in: 1...3, using: &accesses))\0", detail: "a film\0",
          times: Int64.random(in: accesses.chance(5) ? -1...0 : 1...3, using: &accesses)))
    }
  }

  static let owners: [String?] = [nil, "anna", "bert"]

  private mutating func steer(_ state: Visible) -> Operation {
    let open = state.jobs.filter { !$0.state.hasEnded }.map(\.id)
    let any = steering.chance(60) ? steering.pick(state.jobs)?.id : nil
    let job = (steering.chance(85) ? steering.pick(open) : any) ?? JobID("nothing")
    switch Int.random(in: 0..<14, using: &steering) {
    case 0, 1: return .pause(job, stopping: steering.chance(50))
    // More often, so that jobs come to their ends.
    case 2, 3, 4, 5:
      let held = state.jobs.filter { $0.isPaused || $0.heldUntil != nil }.map(\.id)
      return .resume(steering.pick(held) ?? job)
    case 6, 7: return .setPriority(job, Int32.random(in: -2...2, using: &steering))
    case 8, 9, 10: return .watch(job)
    default:
      var change = OwnerChange()
      if steering.chance(50) { change.weight = steering.pick([0.5, 1, 3, -1, .infinity]) }
      if steering.chance(40) { change.mostRunning = steering.pick([.any, .any, .most(1), .most(2)]) }
      if steering.chance(30) { change.mostOpen = steering.pick([.any, .any, .most(1), .most(2), .most(-1)]) }
      return .changeOwner((steering.pick(Self.owners) ?? nil) ?? "", change)
    }
  }

  private mutating func judge(_ state: Visible) -> Operation {
    let account = standing.pick(accounts) ?? ""
    switch Int.random(in: 0..<12, using: &standing) {
    case 0, 1, 2: return .purge
    case 3, 4, 5: return .acceptUnchecked
    case 6: return .setHold(standing.pick(WorkerHold.allCases), account, "by hand\0")
    case 7: return .setHold(nil, standing.chance(10) ? "" : account, "")
    // More often, so that jobs come to their ends.
    default:
      return .setHold(nil, standing.pick(state.standings.filter { $0.hold != nil }.map(\.account)) ?? account, "")
    }
  }

  private static let pools: [[String]] = [
    [], ["gpu"], ["night", "gpu", "gpu"], ["night", "gpu"], ["night"], ["other"],
  ]

  private mutating func pool(_ state: Visible) -> Operation {
    let open = state.jobs.filter { !$0.state.hasEnded }.map(\.id)
    switch Int.random(in: 0..<6, using: &pooling) {
    case 0, 1:
      return .setJobsPool(pooling.pick(open) ?? JobID("nothing"), pooling.pick([nil, "gpu", "night", "a pool"]) ?? nil)
    // More often, so that jobs come to their ends.
    case 2, 3: return .removePool(pooling.pick(state.pools.filter { !$0.isOpen })?.name ?? "gpu")
    default:
      // The clock begins with the year 2026 in UTC.
      let (zone, midnight) =
        pooling.pick([
          ("UTC", 0), ("Europe/Berlin", 60), ("Asia/Kolkata", 330), ("America/St_Johns", 1_230), ("No/Where", 0),
        ]) ?? ("UTC", 0)
      let begins = (midnight + Int.random(in: -2...8, using: &pooling) + 1_440) % 1_440
      let ends = (begins + (pooling.pick([1, 2, 5, 700]) ?? 1)) % 1_440
      let days = pooling.pick(["daily", "wed-thu", "wed", "fri-wed"]) ?? "daily"
      guard let hours = try? WorkingHours(parsing: "\(days) \(Self.time(begins))-\(Self.time(ends))") else {
        return .removePool("gpu")
      }
      return .setPool(Pool(name: pooling.pick(["gpu", "night", "a pool"]) ?? "gpu", hours: hours, timeZone: zone))
    }
  }

  private static func time(_ minutes: Int) -> String {
    [minutes / 60, minutes % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
  }

  private let accounts = ["host 1", "anna", "bert", "carl\0"]

  private mutating func planning(_ state: Visible) -> Operation {
    let job = random.pick(state.toPlan) ?? anyJob(state)
    let planner = random.pick(["c1", "c2", "c3\0"]) ?? "c1"
    return random.chance(20) ? .endPlanning(job, planner) : .beginPlanning(job, planner, isAlone: random.chance(50))
  }

  private mutating func rare(_ state: Visible) -> Operation {
    switch Int.random(in: 0..<12, using: &random) {
    case 0: .failJob(anyJob(state), jobFailure())
    case 1: .cancel(anyJob(state))
    case 2: .replan(anyJob(state), random.chance(50) ? "lost\0" : "no worker")
    case 3, 4, 5: .retry(random.pick(state.jobs.filter { $0.state == .failed })?.id ?? anyJob(state))
    case 6: .delete(anyJob(state))
    case 7:
      .deleteJobs(.seconds(random.pick([0, 60, 600]) ?? 0), limit: Int.random(in: 0...2, using: &random))
    case 10: .reprobe(random.pick(state.toPlan) ?? anyJob(state), random.pick([[0], [0, 1], [1, 1, 7], []]) ?? [])
    case 8, 9: .markFetched(random.pick(state.jobs.filter { $0.state == .done })?.id ?? anyJob(state))
    default: .contentStore("store \(Int.random(in: 1...2, using: &random))\0", replacing: random.chance(20))
    }
  }

  private mutating func webhook(_ state: Visible) -> Operation {
    let id = random.chance(90) ? WebhookID(random.pick(["w1", "w2", "w_3"]) ?? "") : WebhookID("No Id")
    let types = random.chance(50) ? [] : [random.pick(MessageType.allCases)?.rawValue ?? "", "job.done"]
    let place = Int.random(in: 0...2, using: &random)
    switch Int.random(in: 0..<13, using: &random) {
    case 0, 1, 2:
      return .addWebhook(
        Webhook(
          id: id, url: "https://example.org/\(random.chance(50))\0", description: "d\0", types: types, secret: [1, 2],
          disabled: random.chance(10) ? "off\0" : nil))
    case 3:
      var change = WebhookChange()
      if random.chance(30) { change.url = "https://example.org/new" }
      if random.chance(30) { change.description = "new\0" }
      if random.chance(30) { change.types = types }
      if random.chance(50) { change.secret = [UInt8.random(in: 0...255, using: &random)] }
      change.overlap = .seconds(random.pick([0, 5, 100]) ?? 0)
      if random.chance(50) { change.activity = random.chance(70) ? .enabled : .disabled("paused\0") }
      return .changeWebhook(id, change)
    case 4: return random.chance(40) ? .removeWebhook(id) : .removeEvents(.seconds(60), most: 10_000, limit: 10_000)
    case 5: return .removeEvents(.seconds(1_000_000), most: random.pick([0, 10_000]) ?? 0, limit: 10_000)
    case 6: return .removeDeliveries(.seconds(random.pick([60, 200, 1_000]) ?? 60), limit: 10_000)
    case 7: return .sendAgain(id, place: place)
    case 8, 9:
      // All: of events of one time each store has its own order.
      return .takeDeliveries(limit: 10_000, except: random.chance(20) ? [id] : [], for: .seconds(60))
    default:
      let next: DeliveryOutcome.Next =
        random.chance(40) ? .delivered : random.chance(30) ? .failed : .retry(after: .seconds(5))
      return .endDelivery(
        id, place: 0, isLate: random.chance(10),
        DeliveryOutcome(
          next, status: random.chance(80) ? 200 + Int32(place) : nil, message: random.chance(50) ? "bad\0" : nil,
          disables: random.chance(15) ? "gone\0" : nil))
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
    var job = NewJob.sample(
      "job-\(submitted)", submission: random.chance(30) ? "s-\(Int.random(in: 1...4, using: &random))" : nil,
      owner: accesses.chance(3) ? "own er" : accesses.pick(Self.owners) ?? nil,
      purpose: random.chance(15) ? .inspection : .render,
      priority: Int32.random(in: -1...1, using: &random), tasks: tasks)
    if pooling.chance(25) { job.pool = pooling.pick(["gpu", "gpu", "night"]) }
    if pooling.chance(1) { job.pool = "-" }
    if steering.chance(10) { job.isPaused = true }
    if steering.chance(10) { job.hold = .seconds(steering.pick([0, 30, 90]) ?? 0) }
    if steering.chance(15) { job.after = [anyJob(state), JobID("nothing")] }
    if steering.chance(2) { job.after = [JobID("No Id")] }
    return .submit(job)
  }

  private mutating func plan(_ state: Visible) -> Operation {
    let job = state.toPlan.first { _ in random.chance(90) } ?? anyJob(state)
    if random.chance(25) {
      var measures = (0..<Int.random(in: 0...3, using: &random)).map { task(.measure, $0) }
      if random.chance(5) { measures.append(task(.video, 0)) }
      return .measure(job, build: random.chance(80) ? "b1" : "b2", tasks: measures)
    }
    var tasks = (0..<Int.random(in: 1...7, using: &random)).map { task(.video, $0) }
    if random.chance(60) {
      tasks.append(task(.audio, 0))
      if dividesSound { tasks += (0..<Int.random(in: 0...2, using: &random)).map { task(.audio, $0 + 1) } }
    }
    var stitch = NewTask.sample(.stitch)
    if random.chance(5) { stitch.cached = content(0xABC) }
    if !random.chance(5) { tasks.append(stitch) }
    return .plan(job, build: random.chance(80) ? "b1" : "b2", tasks: tasks)
  }

  private mutating func task(_ kind: TaskKind, _ number: Int) -> NewTask {
    .sample(
      kind, number, cost: Double(Int.random(in: 1...3, using: &random)),
      memory: random.chance(80) ? 0 : Int64.random(in: 1...4, using: &random),
      inputs: (0..<Int.random(in: 0...2, using: &random)).map { content($0 + 1) },
      cached: random.chance(15) ? content(0xC00 + number) : nil)
  }

  /// Slots of one worker, or of several of one build.
  private mutating func claim() -> Operation {
    let build = anyWorker().build
    let some = workers.filter { $0.build == build }.filter { _ in random.chance(60) }.map(\.id)
    let slots = some.flatMap { worker in
      Array(repeating: Holder(worker: worker, session: session()), count: Int.random(in: 1...2, using: &random))
    }
    return .claim(
      build: build, pools: pooling.chance(50) ? ["gpu", "night"] : pooling.pick(Self.pools) ?? [],
      slots.shuffled(using: &random))
  }

  private mutating func renew(_ state: Visible) -> Operation {
    let held = state.leases.map { (lease: $0.lease, worker: $0.held.worker) }
    let old = leases.suffix(20).map { (lease: $0, worker: anyWorker().id) }
    return .renew(
      (held + old + held.prefix(2)).filter { _ in random.chance(60) }.map { lease, worker in
        Renewal(
          lease: lease, holder: Holder(worker: worker, session: session()),
          done: Int64.random(in: -1...120, using: &random), moved: Int64.random(in: -1...20, using: &random))
      })
  }

  private mutating func publish(_ state: Visible) -> Operation {
    let lease = anyLease(state)
    return .publish(
      lease, holder(of: lease, in: state), content(Int.random(in: 1...3, using: &random)), usage(),
      draw: Double.random(in: 0..<1, using: &standing))
  }

  private mutating func usage() -> AttemptUsage? {
    if usages.chance(20) { return nil }
    var usage = AttemptUsage.sample(Int64.random(in: 0...9, using: &usages))
    if usages.chance(1) { usage.fetchedBytes = .max }
    return usage
  }

  private mutating func fail(_ state: Visible) -> Operation {
    let lease = anyLease(state)
    let rest: AttemptEnd = random.chance(20) ? .crashed : random.chance(85) ? .released : .document
    let end: AttemptEnd =
      random.chance(35) ? .media : random.chance(15) ? .exhausted : random.chance(35) ? .killed : rest
    var failure = TaskFailure(
      end: random.chance(3) ? .hung : end, message: "failure \(Int.random(in: 0..<9, using: &random))\0",
      jitter: Double.random(in: -0.2...1.2, using: &random), delaysTask: random.chance(30))
    if random.chance(50) {
      failure.process = .sample
      failure.process?.log = "\0"
    }
    failure.usage = usage()
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
    .register(
      (0..<Int.random(in: 0...3, using: &random)).map { _ in
        let worker = anyWorker()
        return WorkerRecord(
          id: worker.id, session: session(), name: "host \(Int.random(in: 1...2, using: &random))",
          slots: Int32.random(in: 0...8, using: &random),
          memory: random.chance(40) ? .max : Int64.random(in: 0...5, using: &random),
          build: random.chance(95) ? worker.build : "b3",
          pools: pooling.chance(50) ? ["gpu", "night"] : pooling.pick(Self.pools) ?? [], coordinator: "c1",
          account: standing.chance(1) ? "" : standing.chance(80) ? worker.id.description : standing.pick(accounts),
          paused: random.chance(10) ? "full\0" : "")
      })
  }

  /// Mostly a lease that is held.
  private mutating func anyLease(_ state: Visible) -> Lease {
    let held = state.leases.map(\.lease)
    if random.chance(80), let lease = random.pick(held) { return lease }
    if random.chance(90), let lease = random.pick(leases) { return lease }
    return Lease(task: TaskID(job: anyJob(state), ordinal: Int32.random(in: 0...9, using: &random)), epoch: 1)
  }

  /// Mostly the worker that holds the lease, if one does, in a session that may be another one.
  private mutating func holder(of lease: Lease, in state: Visible) -> Holder {
    guard let held = state.leases.first(where: { $0.lease == lease })?.held, random.chance(85) else {
      return Holder(worker: anyWorker().id, session: session())
    }
    return Holder(worker: held.worker, session: random.chance(80) ? held.session : session())
  }

  private mutating func session() -> SessionID { SessionID(random.chance(75) ? 1 : random.chance(70) ? 2 : 0) }

  private mutating func anyJob(_ state: Visible) -> JobID { random.pick(state.jobs)?.id ?? JobID("nothing") }
  private mutating func anyWorker() -> (id: WorkerID, build: String) { random.pick(workers) ?? workers[0] }
}

extension SeededRandom {
  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func pick<Element>(_ elements: [Element]) -> Element? { elements.randomElement(using: &self) }
}
