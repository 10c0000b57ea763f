import Logging
import SwiftProtobuf
import Wire

/// The agent: feeds `AgentState` with what happens and carries out what it decides. It opens no codec and waits for
/// none.
struct Agent: Sendable {
  struct Settings: Sendable {
    var coordinator: WireAddress
    var token: String
    /// For people.
    var name: String
    /// Unique to this run.
    var workerID: String
    /// What renders here.
    var build: String
    var state: AgentState.Settings
    /// Failed tries to connect in a row after which it gives up; nil never does.
    var patience: Int?
    /// Where task processes come from.
    var source: any ProcessSource
  }

  private enum Happening: Sendable {
    case connected(CoordinatorLink, Sheaf_Welcome)
    case event(AgentEvent)
  }

  private let settings: Settings
  private let opener: InputOpener
  private let logger: Logger
  private let happenings: AsyncStream<Happening>
  private let post: AsyncStream<Happening>.Continuation

  init(_ settings: Settings, opener: InputOpener, logger: Logger) {
    self.settings = settings
    self.opener = opener
    self.logger = logger
    // As bounded as its sources: a few events for each task and connection, progress at most twenty a second for each.
    (happenings, post) = AsyncStream.makeStream()
  }

  /// Leaves, when what is running is done or the time for that is up.
  func drain() { post.yield(.event(.drain)) }

  /// Leaves now.
  func stop() { post.yield(.event(.stop)) }

  /// Works until `drain` or `stop`. Throws `WireError` where the coordinator will not have this worker.
  func run() async throws {
    try await withThrowingTaskGroup { group in
      group.addTask { try await dial() }
      group.addTask { await work() }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  private func dial() async throws {
    let hello = Sheaf_Hello.with {
      $0.role = .worker
      $0.token = settings.token
      $0.name = settings.name
      $0.slots = UInt32(settings.state.slots)
      $0.build = settings.build
      $0.workerID = settings.workerID
    }
    let dialler = CoordinatorDialler(
      address: settings.coordinator, hello: hello, patience: settings.patience, logger: logger)
    try await dialler.run { link, welcome in
      post.yield(.connected(link, welcome))
    } hear: { event in
      post.yield(.event(event))
    }
  }

  private func work() async {
    let clock = ContinuousClock()
    let start = clock.now
    let bench = Workbench(source: settings.source, opener: opener) { post.yield(.event($0)) }
    var state = AgentState(settings.state)
    var link: CoordinatorLink?
    var alarm: (deadline: Duration, task: Task<Void, Never>)?
    defer { alarm?.task.cancel() }
    for await happening in happenings {
      let event: AgentEvent
      switch happening {
      case .connected(let new, let welcome):
        link = new
        event = .connected(
          heartbeat: .milliseconds(Int(max(welcome.heartbeatMilliseconds, 10))),
          lease: .milliseconds(Int(max(welcome.leaseMilliseconds, 100))))
      case .event(let happened): event = happened
      }
      if event == .tick { alarm = nil }
      for effect in state.handle(event, at: clock.now - start) {
        if effect == .leave { return await farewell(link) }
        await perform(effect, link, bench)
      }
      // An alarm that comes early does no harm, so one that is due before the deadline may stand.
      guard let deadline = state.deadline, alarm.map({ $0.deadline > deadline }) ?? true else { continue }
      alarm?.task.cancel()
      let wait = Task {
        do {
          try await clock.sleep(until: start + deadline)
          post.yield(.event(.tick))
        } catch {
          // Another alarm took its place.
        }
      }
      alarm = (deadline, wait)
    }
  }

  private func perform(_ effect: AgentEffect, _ link: CoordinatorLink?, _ bench: Workbench) async {
    if let message = effect.message {
      if case .sendFailure(let lease, let failure) = effect {
        logger.warning("task failed", metadata: ["task": "\(lease.task)", "reason": "\(failure.message)"])
      }
      link?.say(message)
      return
    }
    switch effect {
    case .disconnect:
      logger.warning("the coordinator is silent")
      link?.connection.close()
    case .start(let run, let grant):
      guard let link else { return }
      logger.debug("task started", metadata: ["task": "\(grant.lease.task)", "kind": "\(grant.kind)"])
      await bench.start(run, grant, over: link)
    case .kill(let run): await bench.kill(run)
    case .upload(let run):
      guard let link else { return }
      await bench.upload(run, over: link)
    case .discard(let run): await bench.discard(run)
    case .sendHeartbeat, .sendPublish, .sendFailure, .leave: break
    }
  }

  /// Everything has been said: closes, so that the coordinator sees the worker go.
  private func farewell(_ link: CoordinatorLink?) async {
    link?.connection.close()
  }
}
