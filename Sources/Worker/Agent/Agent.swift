import Logging
import Runtime
import SwiftProtobuf
import Synchronization
import TLS
import Wire

/// The agent: passes events to `AgentState` and carries out the effects. It runs no codec and waits for none.
struct Agent: Sendable {
  struct Settings: Sendable {
    /// The farm's coordinators, at least one. The worker is connected to one of them at a time.
    var coordinators: [WireAddress]
    var credentials: FarmCredentials
    /// A name for people.
    var name: String
    /// Unique to this run of the worker.
    var workerID: String
    /// The build of libraries and renderer.
    var build: String
    /// The pools whose jobs the worker takes, besides those without a pool.
    var pools: [String] = []
    var state: AgentState.Settings
    /// How many bytes of memory each task may use; 0: no limit.
    var taskMemory: Int64 = 0
    /// Failed tries to connect in a row after which the agent ends; nil never ends it.
    var maximumTries: Int?
    /// How long a try to connect may take; nil: as long as the wait before the next one may be.
    var longestConnecting: Duration?
    /// Where task processes come from.
    var source: any ProcessSource
    /// The disk that the worker's cache and the tasks' outputs are on.
    var disk: DiskWatch
    /// The folder of the coordinator's content store. Nil: it is not on this machine.
    var contentStore: String?
    /// Nil: no service manager wants to know.
    var service: ServiceNotification?
  }

  private enum Occurrence: Sendable {
    case connected(CoordinatorConnection, Sheaf_Welcome)
    case event(AgentEvent)
    /// The certificate is a new one.
    case renewed
    /// The service manager is to be sent that events are handled.
    case watchdog
  }

  private let settings: Settings
  private let opener: InputOpener
  private let logger: Logger
  private let coordinatorContent: CoordinatorContent
  /// Whether there are leases that run out unless the worker is connected again in time.
  private let holdsLeases = Flag()
  private let occurrences: AsyncStream<Occurrence>
  private let post: AsyncStream<Occurrence>.Continuation

  init(_ settings: Settings, opener: InputOpener, logger: Logger) {
    self.settings = settings
    self.opener = opener
    self.logger = logger
    // Bounded by its sources: a few events for each task and connection, and progress at most twenty times a second for
    // each task.
    let (occurrences, post) = AsyncStream.makeStream(of: Occurrence.self)
    (self.occurrences, self.post) = (occurrences, post)
    coordinatorContent = CoordinatorContent()
  }

  /// Ends the agent when the running tasks are done, or the time for that is over.
  func drain() { post.yield(.event(.drain)) }

  /// Ends the agent now.
  func stop() { post.yield(.event(.stop)) }

  /// Works until `drain` or `stop`. Throws `WireError` if the coordinator refuses this worker or cannot be reached.
  func run() async throws {
    try await withThrowingTaskGroup { group in
      group.addTask { try await connect() }
      group.addTask { await work() }
      group.addTask { try await watchDisk() }
      group.addTask { try await renewCertificate() }
      if let interval = settings.service?.interval { group.addTask { try await watch(every: interval) } }
      defer { group.cancelAll() }
      do {
        try await group.next()
      } catch {
        await coordinatorContent.end()
        throw error
      }
      await coordinatorContent.end()
    }
  }

  private func watchDisk() async throws {
    var last: String?
    while true {
      let reason = await settings.disk.check(opener.cache)
      if let reason, last == nil {
        logger.warning("no task is taken", metadata: ["reason": "\(reason)"])
      } else if reason == nil, last != nil {
        logger.info("tasks are taken again: the disk has room")
      }
      if reason != last { post.yield(.event(.paused(reason))) }
      last = reason
      try await Task.sleep(for: settings.disk.interval)
    }
  }

  private func watch(every interval: Duration) async throws {
    while true {
      post.yield(.watchdog)
      try await Task.sleep(for: interval)
    }
  }

  /// Without the token, which the credentials have.
  private var hello: Sheaf_Hello {
    .with {
      $0.role = .worker
      $0.name = settings.name
      $0.slots = UInt32(settings.state.slots)
      $0.taskMemory = UInt64(clamping: settings.taskMemory)
      $0.build = settings.build
      $0.pools = settings.pools
      $0.workerID = settings.workerID
    }
  }

  private var connector: CoordinatorConnector {
    CoordinatorConnector(
      addresses: settings.coordinators, credentials: settings.credentials, hello: hello,
      maximumTries: settings.maximumTries,
      longestConnecting: settings.longestConnecting, logger: logger
    ) { [holdsLeases] in holdsLeases.isSet }
  }

  private func connect() async throws {
    try await connector.run { coordinator, welcome in
      post.yield(.connected(coordinator, welcome))
    } onEvent: { event in
      post.yield(.event(event))
    }
  }

  /// Renews the worker's certificate when two thirds of its time are over. The connection is then made anew, because it
  /// ends with the certificate that it was made with; tasks go on meanwhile.
  private func renewCertificate() async throws {
    while true {
      let renewal = settings.credentials.renewal()
      // The clock may be set.
      guard let renewal, renewal.wait <= .zero else {
        try await Task.sleep(for: min(max(renewal?.wait ?? .seconds(3), .seconds(1)), .seconds(60)))
        continue
      }
      do {
        try await connector.renew()
        logger.info("certificate renewed")
        post.yield(.renewed)
      } catch let error as CancellationError {
        throw error
      } catch {
        logger.warning("certificate not renewed", metadata: ["reason": "\(error)"])
        try await Task.sleep(for: min(max(renewal.left / 6, .seconds(1)), .seconds(60)))
      }
    }
  }

  private func work() async {
    let clock = ContinuousClock()
    let start = clock.now
    let executor = RenderTaskExecutor(
      source: settings.source, opener: opener, coordinator: coordinatorContent, taskMemory: settings.taskMemory,
      sharedStore: settings.contentStore.map { SharedStore(directory: $0, logger: logger) }
    ) {
      post.yield(.event($0))
    }
    var state = AgentState(settings.state)
    var log = TaskLog(logger)
    var coordinator: CoordinatorConnection?
    var alarm: (deadline: Duration, task: Task<Void, Never>)?
    defer { alarm?.task.cancel() }
    // Sets the first alarm.
    post.yield(.event(.tick))
    for await occurrence in occurrences {
      let event: AgentEvent
      switch occurrence {
      case .connected(let new, let welcome):
        coordinator = new
        await coordinatorContent.connect(new.exchange)
        event = .connected(
          heartbeat: .milliseconds(Int(max(welcome.heartbeatMilliseconds, 10))),
          lease: .milliseconds(Int(max(welcome.leaseMilliseconds, 100))),
          hang: welcome.hangMilliseconds > 0 ? .milliseconds(Int(welcome.hangMilliseconds)) : nil)
        settings.service?.isReady()
      case .event(let posted): event = posted
      case .renewed:
        coordinator?.close()
        continue
      case .watchdog:
        settings.service?.isAlive()
        continue
      }
      if event == .drain || event == .stop { settings.service?.isStopping() }
      if event == .tick { alarm = nil }
      let now = clock.now
      log.record(event, at: now)
      var effects: [AgentEffect] = []
      if event == .tick, let heard = coordinator?.lastReceived {
        effects += state.handle(.heard(at: heard - start), at: now - start)
      }
      effects += state.handle(event, at: now - start)
      holdsLeases.set(state.holdsLeases)
      for effect in effects {
        if effect == .leave {
          // The coordinator detects the closed connection at once.
          coordinator?.close()
          return
        }
        log.record(effect, at: now)
        await perform(effect, coordinator, executor)
      }
      // A tick before the deadline does no harm, so an alarm that is due earlier may stay.
      guard let deadline = state.deadline, alarm.map({ $0.deadline > deadline }) ?? true else { continue }
      alarm?.task.cancel()
      let wait = Task {
        do {
          try await clock.sleep(until: start + deadline)
          post.yield(.event(.tick))
        } catch {
          // Another alarm has replaced this one.
        }
      }
      alarm = (deadline, wait)
    }
  }

  private func perform(
    _ effect: AgentEffect, _ coordinator: CoordinatorConnection?, _ executor: RenderTaskExecutor
  ) async {
    if let message = effect.message {
      coordinator?.send(message)
      return
    }
    switch effect {
    case .disconnect:
      logger.warning("the coordinator is silent")
      coordinator?.close()
    case .start(let run, let grant): await executor.start(run, grant)
    case .kill(let run): await executor.kill(run)
    case .upload(let run):
      guard let coordinator else { return }
      await executor.upload(run, over: coordinator.exchange)
    case .discard(let run): await executor.discard(run)
    case .reportEnd(let reason):
      logger.notice("ending", metadata: ["reason": "\(reason.rawValue)"])
      settings.service?.isStopping()
    case .sendHeartbeat, .sendPublish, .sendFailure, .leave: break
    }
  }
}
