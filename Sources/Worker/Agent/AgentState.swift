/// The agent's mind: a pure function of what happened and when (DESIGN 4). It reads no clock and no chance; times count
/// from a moment of the caller's choice.
///
/// A lease lives no longer than the connection that it was granted on: the coordinator frees it the moment that closes.
/// So an agent that loses its connection kills what runs, drops what is not published, and starts afresh on the next.
struct AgentState: Sendable {
  struct Settings: Sendable, Hashable {
    /// How many tasks run at once; at least 1.
    var slots: Int
    /// A task that gives no sign of life for so long hangs (DESIGN 4).
    var hangLimit: Duration = .seconds(60)
    /// How long running tasks have to finish after `drain`: less than what container engines wait before they kill.
    var drainLimit: Duration = .seconds(8)
  }

  private struct Link {
    let heartbeat: Duration
    let lease: Duration
    var lastHeartbeat: Duration
    var lastAnswer: Duration
    /// Free slots that the coordinator knows of.
    var advertised: Int
  }

  private enum Departure {
    /// Running tasks may finish.
    case draining(until: Duration)
    /// Every lease has been given up; the coordinator's word that it knows is waited for.
    case leaving(until: Duration)
    case gone
  }

  private static let uploadTries = 3
  /// How long a leaving agent waits for acknowledgements.
  private static let farewell: Duration = .seconds(2)

  private let settings: Settings
  private var link: Link?
  private var departure: Departure?
  /// In the order in which they were granted.
  private var runs: [TaskRun] = []
  private var nextRun = 1
  /// Failures that the coordinator has not acknowledged.
  private var unacknowledged: [TaskLease] = []

  init(_ settings: Settings) {
    self.settings = settings
  }

  /// When `tick` is due next; nil when only other events matter.
  var deadline: Duration? {
    var deadlines: [Duration] = []
    if let link { deadlines = [link.lastHeartbeat + link.heartbeat, link.lastAnswer + link.lease] }
    for case .working(let lastSign, isWaiting: false) in runs.map(\.stage) {
      deadlines.append(lastSign + settings.hangLimit)
    }
    switch departure {
    case .draining(let until), .leaving(let until): deadlines.append(until)
    case .gone, nil: break
    }
    return deadlines.min()
  }

  /// Takes in what happened at `now`, and says what to do about it. `now` never goes back.
  mutating func handle(_ event: AgentEvent, at now: Duration) -> [AgentEffect] {
    if case .gone = departure { return [] }
    var effects = respond(to: event, at: now)
    effects += startQueued(at: now)
    if let link, departure == nil, freeSlots > link.advertised { effects += heartbeat(at: now) }
    effects += depart(at: now)
    return effects
  }

  private mutating func respond(to event: AgentEvent, at now: Duration) -> [AgentEffect] {
    switch event {
    case .connected(let heartbeat, let lease):
      link = Link(heartbeat: heartbeat, lease: lease, lastHeartbeat: now, lastAnswer: now, advertised: 0)
      return self.heartbeat(at: now)
    case .disconnected: return lose()
    case .granted(let grant):
      link?.lastAnswer = now
      return take(grant)
    case .heartbeatAnswered(let cancelled):
      link?.lastAnswer = now
      return cancelled.flatMap { cancel($0) }
    case .publishAnswered(let lease, let outcome):
      link?.lastAnswer = now
      return conclude(lease, outcome)
    case .failureAnswered(let lease):
      link?.lastAnswer = now
      unacknowledged.removeAll { $0 == lease }
      return []
    case .progressed(let id, let done):
      updateWorking(id) { run in
        run.done = max(run.done, done)
        if case .working(_, let isWaiting) = run.stage { run.stage = .working(lastSign: now, isWaiting: isWaiting) }
      }
      return []
    case .waits(let id, let isWaiting):
      updateWorking(id) { $0.stage = .working(lastSign: now, isWaiting: isWaiting) }
      return []
    case .ended(let id, let end): return self.end(id, end)
    case .uploading(let id, let bytes):
      // Past the work itself, so that a slow network is not taken for a hang.
      if let index = index(of: id), case .uploading = runs[index].stage {
        runs[index].done = max(runs[index].done, runs[index].grant.work &+ bytes)
      }
      return []
    case .uploaded(let id):
      guard let index = index(of: id), case .uploading(let result, let triesLeft) = runs[index].stage else { return [] }
      runs[index].stage = .publishing(result, triesLeft: triesLeft)
      return [.sendPublish(runs[index].lease, result)]
    case .uploadFailed(let id, let reason):
      guard let index = index(of: id), case .uploading = runs[index].stage else { return [] }
      return giveUp(index, TaskFailure(cause: .infrastructure, message: "the result could not be uploaded: \(reason)"))
    case .tick: return tick(at: now)
    case .drain: return drain(at: now)
    case .stop:
      departure = .gone
      return runs.filter(\.hasProcess).map { .kill($0.id) } + [.leave]
    }
  }

  // MARK: - Tasks

  private var freeSlots: Int {
    if departure != nil { return 0 }
    // Results that wait for the network hold no slot, until there are as many of them as slots: then the network is
    // what is slow, and more work would only fill the disk.
    let busy = runs.count { $0.hasProcess || $0.stage == .queued }
    return max(0, settings.slots - busy - max(0, runs.count - busy - settings.slots))
  }

  private mutating func take(_ grant: TaskGrant) -> [AgentEffect] {
    guard let link else { return [] }
    self.link?.advertised = max(0, link.advertised - 1)
    if departure != nil { return refuse(grant, "the worker is leaving") }
    // Grants and heartbeats may cross once; more than that is a mistake of the coordinator's.
    guard runs.count(where: { $0.stage == .queued }) < settings.slots else { return refuse(grant, "no slot is free") }
    runs.append(TaskRun(id: RunID(number: nextRun), grant: grant, stage: .queued))
    nextRun += 1
    return []
  }

  private mutating func startQueued(at now: Duration) -> [AgentEffect] {
    var effects: [AgentEffect] = []
    while runs.count(where: \.hasProcess) < settings.slots,
      let index = runs.firstIndex(where: { $0.stage == .queued })
    {
      runs[index].stage = .working(lastSign: now, isWaiting: false)
      effects.append(.start(runs[index].id, runs[index].grant))
    }
    return effects
  }

  private mutating func end(_ id: RunID, _ end: RunEnd) -> [AgentEffect] {
    guard let index = index(of: id) else { return [] }
    guard case .working = runs[index].stage else { return remove(index) }
    switch end {
    case .made(let result):
      runs[index].stage = .uploading(result, triesLeft: Self.uploadTries - 1)
      runs[index].done = runs[index].grant.work
      return [.upload(id)]
    case .failed(let failure): return giveUp(index, failure)
    case .killed:
      return giveUp(index, TaskFailure(cause: .media, message: "the task process asked without end and was stopped"))
    }
  }

  private mutating func conclude(_ lease: TaskLease, _ outcome: PublishOutcome) -> [AgentEffect] {
    guard let index = runs.firstIndex(where: { $0.lease == lease }),
      case .publishing(let result, let triesLeft) = runs[index].stage
    else { return [] }
    switch outcome {
    case .published, .stale: return remove(index)
    case .missingContent where triesLeft > 0:
      runs[index].stage = .uploading(result, triesLeft: triesLeft - 1)
      return [.upload(runs[index].id)]
    case .missingContent:
      let message = "the coordinator loses the result: uploaded \(Self.uploadTries) times, it is not there"
      return giveUp(index, TaskFailure(cause: .infrastructure, message: message))
    }
  }

  private mutating func cancel(_ lease: TaskLease) -> [AgentEffect] {
    guard let index = runs.firstIndex(where: { $0.lease == lease && $0.isHeld }) else { return [] }
    return abandon(index)
  }

  /// Ends a run of which nothing is to be said any more.
  private mutating func abandon(_ index: Int) -> [AgentEffect] {
    switch runs[index].stage {
    case .working:
      runs[index].stage = .stopping
      return [.kill(runs[index].id)]
    case .stopping: return []
    case .queued, .uploading, .publishing: return remove(index)
    }
  }

  /// Ends a run and says why.
  private mutating func giveUp(_ index: Int, _ failure: TaskFailure, kill: Bool = false) -> [AgentEffect] {
    unacknowledged.append(runs[index].lease)
    let effect = AgentEffect.sendFailure(runs[index].lease, failure)
    return [effect] + (kill ? abandon(index) : remove(index))
  }

  private mutating func refuse(_ grant: TaskGrant, _ reason: String) -> [AgentEffect] {
    unacknowledged.append(grant.lease)
    return [.sendFailure(grant.lease, TaskFailure(cause: .infrastructure, message: reason))]
  }

  private mutating func remove(_ index: Int) -> [AgentEffect] {
    [.discard(runs.remove(at: index).id)]
  }

  private func index(of id: RunID) -> Int? { runs.firstIndex { $0.id == id } }

  private mutating func updateWorking(_ id: RunID, _ update: (inout TaskRun) -> Void) {
    guard let index = index(of: id), case .working = runs[index].stage else { return }
    update(&runs[index])
  }

  // MARK: - The connection and the time

  private mutating func heartbeat(at now: Duration) -> [AgentEffect] {
    guard link != nil else { return [] }
    let freeSlots = freeSlots
    link?.lastHeartbeat = now
    link?.advertised = freeSlots
    let progress = runs.filter(\.isHeld).map { AgentEffect.Progress(lease: $0.lease, done: $0.done) }
    return [.sendHeartbeat(progress, freeSlots: freeSlots, isDraining: departure != nil)]
  }

  private mutating func lose() -> [AgentEffect] {
    link = nil
    unacknowledged = []
    // From the last, so that removing one leaves the others' places.
    return Array(runs.indices.reversed().map { abandon($0) }.reversed().joined())
  }

  private mutating func tick(at now: Duration) -> [AgentEffect] {
    var effects: [AgentEffect] = []
    for id in runs.map(\.id) {
      guard let index = index(of: id), case .working(let lastSign, isWaiting: false) = runs[index].stage,
        now >= lastSign + settings.hangLimit
      else { continue }
      let message = "the task hung: no progress in \(settings.hangLimit.components.seconds) s"
      effects += giveUp(index, TaskFailure(cause: .media, message: message), kill: true)
    }
    if let link {
      if now >= link.lastAnswer + link.lease {
        effects += [.disconnect] + lose()
      } else if now >= link.lastHeartbeat + link.heartbeat {
        effects += heartbeat(at: now)
      }
    }
    return effects
  }

  private mutating func drain(at now: Duration) -> [AgentEffect] {
    guard departure == nil else { return [] }
    departure = .draining(until: now + settings.drainLimit)
    var effects: [AgentEffect] = []
    for id in runs.filter({ $0.stage == .queued }).map(\.id) {
      guard let index = index(of: id) else { continue }
      effects += giveUp(index, TaskFailure(cause: .infrastructure, message: "the worker is leaving"))
    }
    return effects + heartbeat(at: now)
  }

  /// Goes, when the agent is to leave and may.
  private mutating func depart(at now: Duration) -> [AgentEffect] {
    var effects: [AgentEffect] = []
    if case .draining(let until) = departure, now >= until {
      departure = .leaving(until: now + Self.farewell)
      for id in runs.filter(\.isHeld).map(\.id) {
        guard let index = index(of: id) else { continue }
        effects += giveUp(index, TaskFailure(cause: .infrastructure, message: "the worker is leaving"), kill: true)
      }
    }
    switch departure {
    case .draining, .leaving:
      var isDone = runs.isEmpty && unacknowledged.isEmpty
      if case .leaving(let until) = departure, now >= until { isDone = true }
      if isDone {
        departure = .gone
        effects.append(.leave)
      }
    case .gone, nil: break
    }
    return effects
  }
}
