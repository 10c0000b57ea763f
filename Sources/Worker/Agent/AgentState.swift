/// The agent's decisions: a pure function of the events and their times. It reads no clock and no random numbers; times
/// count from a moment that the caller chooses.
///
/// A lease does not outlive the connection on which it was granted: the coordinator frees it when that closes. So an
/// agent that loses its connection ends its task processes, drops what is not published, and starts anew on the next.
struct AgentState: Sendable {
  struct Settings: Sendable, Hashable {
    /// How many tasks run at once; at least 1.
    var slots: Int
    /// A task process that sends no report for this long is considered hung.
    var hangLimit: Duration = .seconds(60)
    /// How long running tasks have to finish after `drain`: less than container engines wait before they kill.
    var drainLimit: Duration = .seconds(8)
  }

  private struct Connection {
    let heartbeat: Duration
    let lease: Duration
    var lastHeartbeat: Duration
    var lastAnswer: Duration
    /// Free slots that the coordinator has been sent and has not used.
    var advertisedSlots: Int
  }

  private enum Departure {
    /// Running tasks may finish.
    case draining(until: Duration)
    /// Every lease has been released. The agent waits for the coordinator's acknowledgements.
    case leaving(until: Duration)
    case gone
  }

  /// One attempt at a task.
  private struct Run {
    enum Stage: Hashable {
      /// Granted beyond the free slots, which happens when a grant and a heartbeat cross.
      case queued
      /// Its process runs. `lastReport` is the time of its last report.
      case working(lastReport: Duration, isWaiting: Bool)
      /// Its process hung and is being ended. The lease is held until the failure is sent, with the process's end.
      case hung
      /// Its process is being ended; its lease and its result no longer matter.
      case stopping
      case uploading(TaskResult, triesLeft: Int)
      case publishing(TaskResult, triesLeft: Int)
    }

    let id: RunID
    let grant: TaskGrant
    var done: UInt64 = 0
    var stage: Stage

    var lease: TaskLease { grant.lease }

    /// Whether it has a process, and so takes a slot.
    var hasProcess: Bool {
      switch stage {
      case .working, .hung, .stopping: true
      case .queued, .uploading, .publishing: false
      }
    }

    /// Whether the worker still renews its lease.
    var isHeld: Bool { stage != .stopping }
  }

  private static let uploadTries = 3
  /// How long a leaving agent waits for acknowledgements.
  private static let acknowledgementLimit: Duration = .seconds(2)
  private static let shutdownMessage = "the worker is shutting down"

  private let settings: Settings
  private var connection: Connection?
  private var departure: Departure?
  /// In the order in which they were granted.
  private var runs: [Run] = []
  private var nextRun = 1
  /// Failures that the coordinator has not acknowledged.
  private var unacknowledged: [TaskLease] = []

  init(_ settings: Settings) {
    self.settings = settings
  }

  /// When `tick` is due next; nil when only other events matter.
  var deadline: Duration? {
    var deadlines: [Duration] = []
    if let connection {
      deadlines = [
        connection.lastHeartbeat + connection.heartbeat, connection.lastAnswer + connection.lease,
      ]
    }
    for case .working(let lastReport, isWaiting: false) in runs.map(\.stage) {
      deadlines.append(lastReport + settings.hangLimit)
    }
    switch departure {
    case .draining(let until), .leaving(let until): deadlines.append(until)
    case .gone, nil: break
    }
    return deadlines.min()
  }

  /// Returns what to do about an event at the time `now`, which never goes back.
  mutating func handle(_ event: AgentEvent, at now: Duration) -> [AgentEffect] {
    if case .gone = departure { return [] }
    var effects = respond(to: event, at: now)
    effects += startQueued(at: now)
    if let connection, departure == nil, freeSlots > connection.advertisedSlots { effects += heartbeat(at: now) }
    effects += depart(at: now)
    return effects
  }

  private mutating func respond(to event: AgentEvent, at now: Duration) -> [AgentEffect] {
    switch event {
    case .connected(let heartbeat, let lease):
      connection = Connection(
        heartbeat: heartbeat, lease: lease, lastHeartbeat: now, lastAnswer: now, advertisedSlots: 0)
      return self.heartbeat(at: now)
    case .disconnected: return loseConnection()
    case .granted(let grant):
      connection?.lastAnswer = now
      return take(grant)
    case .heartbeatAnswered(let cancelled):
      connection?.lastAnswer = now
      return cancelled.flatMap { cancel($0) }
    case .publishAnswered(let lease, let outcome):
      connection?.lastAnswer = now
      return conclude(lease, outcome)
    case .failureAnswered(let lease):
      connection?.lastAnswer = now
      unacknowledged.removeAll { $0 == lease }
      return []
    case .progressed(let id, let done):
      updateWorking(id) { run in
        run.done = max(run.done, done)
        if case .working(_, let isWaiting) = run.stage { run.stage = .working(lastReport: now, isWaiting: isWaiting) }
      }
      return []
    case .waiting(let id, let isWaiting):
      updateWorking(id) { $0.stage = .working(lastReport: now, isWaiting: isWaiting) }
      return []
    case .ended(let id, let end): return self.end(id, end)
    case .uploading(let id, let bytes):
      // Counts on beyond the work, so that a slow network is not mistaken for a hang.
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
      return giveUp(index, TaskFailure(.released, "the result could not be uploaded: \(reason)"))
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
    // Results that wait for the network take no slot, until there are more of them than slots: then the network is the
    // slow part, and more work would only fill the disk.
    let busy = runs.count { $0.hasProcess || $0.stage == .queued }
    return max(0, settings.slots - busy - max(0, runs.count - busy - settings.slots))
  }

  private mutating func take(_ grant: TaskGrant) -> [AgentEffect] {
    guard let connection else { return [] }
    self.connection?.advertisedSlots = max(0, connection.advertisedSlots - 1)
    if departure != nil { return refuse(grant, Self.shutdownMessage) }
    // A grant may cross with a heartbeat once; more grants than that are a mistake of the coordinator.
    guard runs.count(where: { $0.stage == .queued }) < settings.slots else { return refuse(grant, "no slot is free") }
    runs.append(Run(id: RunID(number: nextRun), grant: grant, stage: .queued))
    nextRun += 1
    return []
  }

  private mutating func startQueued(at now: Duration) -> [AgentEffect] {
    var effects: [AgentEffect] = []
    while runs.count(where: \.hasProcess) < settings.slots,
      let index = runs.firstIndex(where: { $0.stage == .queued })
    {
      runs[index].stage = .working(lastReport: now, isWaiting: false)
      effects.append(.start(runs[index].id, runs[index].grant))
    }
    return effects
  }

  private mutating func end(_ id: RunID, _ end: RunEnd) -> [AgentEffect] {
    guard let index = index(of: id) else { return [] }
    switch (runs[index].stage, end) {
    case (.working, _): break
    case (.hung, .killed(let process)):
      let message = "the task hung: it made no progress for \(settings.hangLimit.components.seconds) s"
      return giveUp(index, TaskFailure(.hung, message, process: process))
    // It ended by itself before it was killed.
    case (.hung, _): break
    default: return remove(index)
    }
    switch end {
    case .made(let result):
      runs[index].stage = .uploading(result, triesLeft: Self.uploadTries - 1)
      runs[index].done = runs[index].grant.work
      return [.upload(id)]
    case .failed(let failure): return giveUp(index, failure)
    case .killed(let process):
      return giveUp(index, TaskFailure(.crashed, "the task process was ended", process: process))
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
      let message = "the coordinator does not have the result, which was uploaded \(Self.uploadTries) times"
      return giveUp(index, TaskFailure(.released, message))
    }
  }

  private mutating func cancel(_ lease: TaskLease) -> [AgentEffect] {
    guard let index = runs.firstIndex(where: { $0.lease == lease && $0.isHeld }) else { return [] }
    return abandon(index)
  }

  /// Ends a run without a message to the coordinator.
  private mutating func abandon(_ index: Int) -> [AgentEffect] {
    switch runs[index].stage {
    case .working:
      runs[index].stage = .stopping
      return [.kill(runs[index].id)]
    case .hung:
      runs[index].stage = .stopping
      return []
    case .stopping: return []
    case .queued, .uploading, .publishing: return remove(index)
    }
  }

  /// Ends a run and reports why.
  private mutating func giveUp(_ index: Int, _ failure: TaskFailure, kill: Bool = false) -> [AgentEffect] {
    unacknowledged.append(runs[index].lease)
    let effect = AgentEffect.sendFailure(runs[index].lease, failure)
    return [effect] + (kill ? abandon(index) : remove(index))
  }

  private mutating func refuse(_ grant: TaskGrant, _ reason: String) -> [AgentEffect] {
    unacknowledged.append(grant.lease)
    return [.sendFailure(grant.lease, TaskFailure(.released, reason))]
  }

  private mutating func remove(_ index: Int) -> [AgentEffect] {
    [.discard(runs.remove(at: index).id)]
  }

  private func index(of id: RunID) -> Int? { runs.firstIndex { $0.id == id } }

  private mutating func updateWorking(_ id: RunID, _ update: (inout Run) -> Void) {
    guard let index = index(of: id), case .working = runs[index].stage else { return }
    update(&runs[index])
  }

  // MARK: - The connection and the time

  private mutating func heartbeat(at now: Duration) -> [AgentEffect] {
    guard connection != nil else { return [] }
    let freeSlots = freeSlots
    connection?.lastHeartbeat = now
    connection?.advertisedSlots = freeSlots
    let progress = runs.filter(\.isHeld).map { AgentEffect.Progress(lease: $0.lease, done: $0.done) }
    return [.sendHeartbeat(progress, freeSlots: freeSlots, isDraining: departure != nil)]
  }

  private mutating func loseConnection() -> [AgentEffect] {
    connection = nil
    unacknowledged = []
    // From the last to the first, so that removing one does not move those that follow.
    return Array(runs.indices.reversed().map { abandon($0) }.reversed().joined())
  }

  private mutating func tick(at now: Duration) -> [AgentEffect] {
    var effects: [AgentEffect] = []
    for id in runs.map(\.id) {
      guard let index = index(of: id), case .working(let lastReport, isWaiting: false) = runs[index].stage,
        now >= lastReport + settings.hangLimit
      else { continue }
      runs[index].stage = .hung
      effects.append(.kill(id))
    }
    if let connection {
      if now >= connection.lastAnswer + connection.lease {
        effects += [.disconnect] + loseConnection()
      } else if now >= connection.lastHeartbeat + connection.heartbeat {
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
      effects += giveUp(index, TaskFailure(.released, Self.shutdownMessage))
    }
    return effects + heartbeat(at: now)
  }

  /// Ends the agent if it is to leave and has nothing left to wait for.
  private mutating func depart(at now: Duration) -> [AgentEffect] {
    var effects: [AgentEffect] = []
    if case .draining(let until) = departure, now >= until {
      departure = .leaving(until: now + Self.acknowledgementLimit)
      for id in runs.filter(\.isHeld).map(\.id) {
        guard let index = index(of: id) else { continue }
        effects += giveUp(index, TaskFailure(.released, Self.shutdownMessage), kill: true)
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
