import FarmModel

/// The agent's decisions: a pure function of the events and their times. It reads no clock and no random numbers; times
/// count from a moment that the caller chooses.
///
/// Runs outlive the connection on which they were granted. While there is none, task processes go on and results wait.
/// The first heartbeat on the next connection lists every lease, so that the coordinator renews it or cancels it, and
/// what was not acknowledged is sent again.
struct AgentState: Sendable {
  struct Settings: Sendable, Hashable {
    /// How many tasks run at once; at least 1.
    var slots: Int
    /// A task that does not move for this long is considered hung, unless the coordinator has said how long.
    var hangLimit: Duration = .seconds(60)
    /// A task that does not move for this long lends its slot to another one: it most likely uses no processor. As many
    /// slots may be lent as there are. More than `LeasePolicy.stall` with a heartbeat, so that the coordinator does not
    /// grant another task of the same job for it.
    var stallLimit: Duration = .seconds(11)
    /// How long running tasks have to finish after `drain`: less than container engines wait before they kill.
    var drainLimit: Duration = .seconds(8)
    /// A worker that has had no task for this long ends as after `drain`; nil: never.
    var idleLimit: Duration?
  }

  private struct Connection {
    let heartbeat: Duration
    let lease: Duration
    var lastHeartbeat: Duration
    /// When the last bytes of the coordinator came.
    var lastHeard: Duration
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

  private static let uploadTries = 3
  /// How long a leaving agent waits for acknowledgements.
  private static let acknowledgementLimit: Duration = .seconds(2)
  /// An event that comes this long after the deadline shows that the agent itself was stopped.
  private static let suspensionLimit: Duration = .seconds(5)
  private static let shutdownMessage = "the worker is shutting down"

  private let settings: Settings
  /// That of the present coordinator, or of the last one.
  private var hangLimit: Duration
  private var connection: Connection?
  private var departure: Departure?
  /// In the order in which they were granted.
  private var runs: [AgentRun] = []
  private var nextRun = 1
  /// Why no task is taken for now.
  private var paused: String?
  private var idleness: Idleness
  /// When the connection was lost. Nil: there is one, or there was none.
  private var lostConnection: Duration?
  /// The longest time without a connection in which no work is expected to have come.
  private static let shortLoss = Duration.seconds(10)

  init(_ settings: Settings) {
    self.settings = settings
    idleness = Idleness(limit: settings.idleLimit)
    hangLimit = settings.hangLimit
  }

  /// Whether there are leases that run out unless the worker is connected again in time.
  var holdsLeases: Bool { runs.contains(where: \.isHeld) }

  /// When `tick` is due next; nil when only other events matter.
  var deadline: Duration? {
    var deadlines: [Duration] = []
    if let connection {
      deadlines = [connection.lastHeartbeat + connection.heartbeat, connection.lastHeard + connection.lease]
    }
    for run in runs {
      if let hang = run.hangs(after: hangLimit, isConnected: connection != nil) { deadlines.append(hang) }
      if connection != nil, case .postponed(_, _, let until) = run.stage { deadlines.append(until) }
      if !run.lendsSlot, let stall = run.stalls(after: settings.stallLimit) { deadlines.append(stall) }
    }
    switch departure {
    case .draining(let until), .leaving(let until): deadlines.append(until)
    case nil: if let end = idleness.end { deadlines.append(end) }
    case .gone: return nil
    }
    return deadlines.min()
  }

  /// Returns what to do about an event at the time `now`, which never goes back.
  mutating func handle(_ event: AgentEvent, at now: Duration) -> [AgentEffect] {
    if case .gone = departure { return [] }
    allowForSuspension(at: now)
    var effects = respond(to: event, at: now)
    for index in runs.indices { runs[index].lendSlot(after: settings.stallLimit, at: now) }
    effects += startQueued(at: now)
    effects += endIdle(at: now)
    if let connection, departure == nil, freeSlots > connection.advertisedSlots { effects += heartbeat(at: now) }
    effects += depart(at: now)
    return effects
  }

  private mutating func respond(to event: AgentEvent, at now: Duration) -> [AgentEffect] {
    switch event {
    case .connected(let heartbeat, let lease, let hang):
      hangLimit = hang ?? settings.hangLimit
      connection = Connection(
        heartbeat: heartbeat, lease: lease, lastHeartbeat: now, lastHeard: now, advertisedSlots: 0)
      // A connection that is made anew, such as with a new certificate, brings no tasks.
      if let lost = lostConnection, now - lost < Self.shortLoss {
        idleness.allow(now - lost)
      } else {
        idleness.connect(at: now)
      }
      lostConnection = nil
      return self.heartbeat(at: now) + resume(at: now)
    case .disconnected:
      connection = nil
      lostConnection = now
      return []
    case .heard(let time):
      if let connection { self.connection?.lastHeard = max(connection.lastHeard, time) }
      return []
    case .granted(let grant):
      connection?.lastHeard = now
      return take(grant, at: now)
    case .heartbeatAnswered(let cancelled, let drains):
      connection?.lastHeard = now
      let effects = cancelled.flatMap { cancel($0, at: now) }
      guard drains, departure == nil else { return effects }
      return effects + [.reportEnd(.drained)] + drain(at: now)
    case .publishAnswered(let lease, let outcome):
      connection?.lastHeard = now
      return conclude(lease, outcome, at: now)
    case .failureAnswered(let lease):
      connection?.lastHeard = now
      return acknowledge(lease, at: now)
    case .progressed, .moved, .fetched, .entered, .uploading:
      record(event, at: now)
      return []
    case .ended(let id, let end): return self.end(id, end, at: now)
    case .uploaded(let id, let bytes):
      guard let index = index(of: id), case .uploading(let result, let triesLeft) = runs[index].stage else { return [] }
      runs[index].enter(.publishing(result, triesLeft: triesLeft), at: now)
      runs[index].usage.uploadedBytes += Int64(clamping: bytes)
      return connection == nil ? [] : [publish(runs[index], result, at: now)]
    case .uploadPostponed(let id):
      guard let index = index(of: id), case .uploading(let result, let triesLeft) = runs[index].stage else { return [] }
      let wait = runs[index].uploadWait()
      runs[index].enter(.postponed(result, triesLeft: triesLeft, until: now + wait), at: now)
      return []
    case .uploadFailed(let id, let reason):
      guard let index = index(of: id), case .uploading = runs[index].stage else { return [] }
      return giveUp(index, TaskFailure(.released, "the result could not be uploaded: \(reason)"), at: now)
    case .paused(let reason):
      let isChange = (paused == nil) != (reason == nil)
      paused = reason
      return isChange ? heartbeat(at: now) : []
    case .tick: return tick(at: now)
    case .drain: return drain(at: now)
    case .stop:
      departure = .gone
      return runs.filter(\.hasProcess).map { .kill($0.id) } + [.leave]
    }
  }

  // MARK: - Tasks

  private var freeSlots: Int {
    if departure != nil || paused != nil { return 0 }
    // Results that wait for the network take no slot, until there are more of them than slots: then the network is the
    // slow part, and more work would only fill the disk.
    let queued = runs.count { $0.stage == .queued }
    return max(0, idleSlots - queued - max(0, runs.count(where: \.hasResult) - settings.slots))
  }

  /// How many processes may be started.
  private var idleSlots: Int {
    settings.slots - runs.count(where: \.hasProcess) + min(runs.count(where: \.lendsSlot), settings.slots)
  }

  private mutating func take(_ grant: TaskGrant, at now: Duration) -> [AgentEffect] {
    guard let connection else { return [] }
    self.connection?.advertisedSlots = max(0, connection.advertisedSlots - 1)
    runs.append(AgentRun(id: RunID(number: nextRun), grant: grant, at: now))
    nextRun += 1
    if departure != nil { return refuse(runs.count - 1, Self.shutdownMessage, at: now) }
    // A grant may cross with a heartbeat once; more grants than that are a mistake of the coordinator.
    guard runs.count(where: { $0.stage == .queued }) <= settings.slots else {
      return refuse(runs.count - 1, "no slot is free", at: now)
    }
    return []
  }

  private mutating func refuse(_ index: Int, _ reason: String, at now: Duration) -> [AgentEffect] {
    giveUp(index, TaskFailure(.released, reason), at: now)
  }

  private mutating func startQueued(at now: Duration) -> [AgentEffect] {
    var effects: [AgentEffect] = []
    while idleSlots > 0, let index = runs.firstIndex(where: { $0.stage == .queued }) {
      runs[index].enter(.working(.preparing), at: now)
      runs[index].move(at: now)
      effects.append(.start(runs[index].id, runs[index].grant))
    }
    return effects
  }

  /// Records movement.
  private mutating func record(_ event: AgentEvent, at now: Duration) {
    switch event {
    case .progressed(let id, let done, let moved):
      updateWorking(id) { run, _ in run.report(done: done, moved: moved, at: now) }
    case .moved(let id): updateWorking(id) { run, _ in run.move(at: now) }
    case .fetched(let id, let bytes):
      if let index = index(of: id) { runs[index].usage.fetchedBytes += Int64(bytes) }
      // Whose bytes came does not matter: the others' come next.
      for index in runs.indices where runs[index].stage == .working(.waiting) { runs[index].move(at: now) }
    case .entered(let id, let phase):
      updateWorking(id) { run, last in
        if phase != last { run.move(at: now) }
        run.enter(.working(phase), at: now)
      }
    case .uploading(let id, let bytes):
      guard let index = index(of: id), case .uploading = runs[index].stage else { return }
      runs[index].done = max(runs[index].done, runs[index].grant.work &+ bytes)
      runs[index].move(at: now)
      if bytes > 0 { runs[index].resetUploadWait() }
    default: break
    }
  }

  private mutating func end(_ id: RunID, _ end: RunEnd, at now: Duration) -> [AgentEffect] {
    guard let index = index(of: id) else { return [] }
    runs[index].take(end.process)
    switch (runs[index].stage, end) {
    case (.working, _): break
    case (.hung(var failure), .killed(let process)):
      failure.process = process
      return giveUp(index, failure, at: now)
    // It ended by itself before it was killed.
    case (.hung, _): break
    case (.failing(let failure, hasProcess: true), _):
      runs[index].enter(.failing(failure, hasProcess: false), at: now)
      return [.discard(id)]
    default: return remove(index)
    }
    switch end {
    case .made(let result):
      runs[index].enter(.uploading(result, triesLeft: Self.uploadTries - 1), at: now)
      runs[index].done = runs[index].grant.work
      return connection == nil ? [] : [.upload(id)]
    case .failed(let failure): return giveUp(index, failure, at: now)
    case .killed(let process):
      return giveUp(index, TaskFailure(.crashed, "the task process was ended", process: process), at: now)
    }
  }

  private func publish(_ run: AgentRun, _ result: TaskResult, at now: Duration) -> AgentEffect {
    var result = result
    result.usage = run.usage(at: now)
    return .sendPublish(run.lease, result)
  }

  private mutating func conclude(_ lease: Lease, _ outcome: PublishAnswer, at now: Duration) -> [AgentEffect] {
    guard let index = runs.firstIndex(where: { $0.lease == lease }),
      case .publishing(let result, let triesLeft) = runs[index].stage
    else { return [] }
    switch outcome {
    case .published, .stale: return remove(index)
    case .missingContent where triesLeft > 0:
      runs[index].enter(.uploading(result, triesLeft: triesLeft - 1), at: now)
      return [.upload(runs[index].id)]
    case .missingContent:
      let message = "the coordinator does not have the result, which was uploaded \(Self.uploadTries) times"
      return giveUp(index, TaskFailure(.released, message), at: now)
    }
  }

  private mutating func acknowledge(_ lease: Lease, at now: Duration) -> [AgentEffect] {
    guard let index = runs.firstIndex(where: { $0.lease == lease && $0.isHeld }), case .failing = runs[index].stage
    else { return [] }
    return abandon(index, at: now)
  }

  private mutating func cancel(_ lease: Lease, at now: Duration) -> [AgentEffect] {
    guard let index = runs.firstIndex(where: { $0.lease == lease && $0.isHeld }) else { return [] }
    return abandon(index, at: now)
  }

  /// Ends a run without a message to the coordinator.
  private mutating func abandon(_ index: Int, at now: Duration) -> [AgentEffect] {
    switch runs[index].stage {
    case .working:
      runs[index].enter(.stopping, at: now)
      return [.kill(runs[index].id)]
    case .hung, .failing(_, hasProcess: true):
      runs[index].enter(.stopping, at: now)
      return []
    case .stopping: return []
    case .failing:
      // What it held was released when it failed.
      runs.remove(at: index)
      return []
    case .queued, .uploading, .postponed, .publishing: return remove(index)
    }
  }

  /// Ends a run and reports why, again and again until the coordinator acknowledges it.
  /// - Parameter kill: Whether its process, if it has one, is still to be ended.
  private mutating func giveUp(
    _ index: Int, _ failure: TaskFailure, kill: Bool = false, at now: Duration
  ) -> [AgentEffect] {
    let run = runs[index]
    let hasProcess = kill && run.hasProcess
    var failure = failure
    failure.usage = hasProcess ? nil : run.usage(at: now)
    runs[index].enter(.failing(failure, hasProcess: hasProcess), at: now)
    let report: [AgentEffect] = connection == nil ? [] : [.sendFailure(run.lease, failure)]
    if !hasProcess { return report + [.discard(run.id)] }
    if case .working = run.stage { return report + [.kill(run.id)] }
    return report
  }

  private mutating func remove(_ index: Int) -> [AgentEffect] {
    [.discard(runs.remove(at: index).id)]
  }

  private func index(of id: RunID) -> Int? { runs.firstIndex { $0.id == id } }

  private mutating func updateWorking(_ id: RunID, _ update: (inout AgentRun, RunPhase) -> Void) {
    guard let index = index(of: id), case .working(let phase) = runs[index].stage else { return }
    update(&runs[index], phase)
  }

  // MARK: - The connection and the time

  private mutating func heartbeat(at now: Duration) -> [AgentEffect] {
    guard connection != nil else { return [] }
    let freeSlots = freeSlots
    connection?.lastHeartbeat = now
    connection?.advertisedSlots = freeSlots
    var progress: [AgentEffect.Progress] = []
    for index in runs.indices where runs[index].isHeld {
      // The coordinator's limit must not end what waits for the coordinator. The worker's own limit goes on.
      if runs[index].waitsForFarm { runs[index].countWait() }
      progress.append(.init(lease: runs[index].lease, done: runs[index].done, moved: runs[index].moved))
    }
    return [.sendHeartbeat(progress, freeSlots: freeSlots, isDraining: departure != nil, paused: paused)]
  }

  /// Sends again, on a new connection, what the last one may have lost.
  private mutating func resume(at now: Duration) -> [AgentEffect] {
    var effects: [AgentEffect] = []
    for index in runs.indices {
      let run = runs[index]
      switch run.stage {
      case .queued, .hung, .stopping: break
      // The time without a connection does not count: nothing could come.
      case .working(.waiting): runs[index].lastProgress = now
      case .working: break
      case .uploading: effects.append(.upload(run.id))
      case .postponed(let result, let triesLeft, _):
        runs[index].enter(.uploading(result, triesLeft: triesLeft), at: now)
        effects.append(.upload(run.id))
      case .publishing(let result, _): effects.append(publish(run, result, at: now))
      case .failing(let failure, _): effects.append(.sendFailure(run.lease, failure))
      }
    }
    return effects
  }

  /// The time in which the agent itself was stopped, or the machine slept, is nobody's silence: the tasks were stopped
  /// too, or their reports and the coordinator's bytes are still to be read.
  private mutating func allowForSuspension(at now: Duration) {
    guard let deadline, now > deadline + Self.suspensionLimit else { return }
    let gap = now - deadline
    for index in runs.indices { runs[index].lastProgress += gap }
    connection?.lastHeard += gap
    idleness.allow(gap)
  }

  private mutating func tick(at now: Duration) -> [AgentEffect] {
    var effects: [AgentEffect] = []
    for index in runs.indices {
      if case .working(let phase) = runs[index].stage,
        let hang = runs[index].hangs(after: hangLimit, isConnected: connection != nil), now >= hang
      {
        runs[index].enter(.hung(AgentRun.hang(in: phase, limit: hangLimit)), at: now)
        effects.append(.kill(runs[index].id))
      } else if connection != nil, case .postponed(let result, let triesLeft, let until) = runs[index].stage,
        now >= until
      {
        runs[index].enter(.uploading(result, triesLeft: triesLeft), at: now)
        effects.append(.upload(runs[index].id))
      }
    }
    if let connection {
      if now >= connection.lastHeard + connection.lease {
        self.connection = nil
        effects.append(.disconnect)
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
    for index in runs.indices where runs[index].stage == .queued {
      effects += refuse(index, Self.shutdownMessage, at: now)
    }
    return effects + heartbeat(at: now)
  }

  private mutating func endIdle(at now: Duration) -> [AgentEffect] {
    idleness.update(hasTasks: !runs.isEmpty, at: now)
    guard departure == nil, let end = idleness.end, now >= end else { return [] }
    return [.reportEnd(.idle)] + drain(at: now)
  }

  /// Ends the agent if it is to leave and has nothing left to wait for.
  private mutating func depart(at now: Duration) -> [AgentEffect] {
    var effects: [AgentEffect] = []
    if case .draining(let until) = departure, now >= until {
      departure = .leaving(until: now + Self.acknowledgementLimit)
      for index in runs.indices {
        switch runs[index].stage {
        case .stopping, .failing: break
        default: effects += giveUp(index, TaskFailure(.released, Self.shutdownMessage), kill: true, at: now)
        }
      }
    }
    switch departure {
    case .draining, .leaving:
      var isDone = runs.isEmpty
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
