import FarmModel

/// What a run that has a process does. It decides how long the run may go without movement.
enum RunPhase: Sendable, Hashable {
  /// The agent opens the task's inputs, and starts its process.
  case preparing
  /// The process works.
  case executing
  /// The process waits for bytes that the agent fetches from the coordinator.
  case waiting
  /// The process has ended. The agent still checks that the files that it read were the right ones.
  case verifying
}

/// One attempt at a task, as `AgentState` sees it.
struct AgentRun: Sendable {
  enum Stage: Hashable {
    /// Granted beyond the free slots, which happens when a grant and a heartbeat cross.
    case queued
    case working(RunPhase)
    /// It did not move, and its process is being ended. The failure is reported with the process's end.
    case hung(TaskFailure)
    /// Its process is being ended; its lease and its result no longer matter.
    case stopping
    case uploading(TaskResult, triesLeft: Int)
    /// The coordinator cannot take the result for now, such as when its disk is full. The upload begins again at
    /// `until`.
    case postponed(TaskResult, triesLeft: Int, until: Duration)
    case publishing(TaskResult, triesLeft: Int)
    /// It failed, and the coordinator has not acknowledged that.
    case failing(TaskFailure, hasProcess: Bool)
  }

  /// The first and the longest wait before an upload that the coordinator could not take begins again.
  static let uploadWaits: (first: Duration, longest: Duration) = (.milliseconds(500), .seconds(10))
  /// How long a task waits for bytes of the coordinator while the coordinator sends no content at all.
  static let fetchLimit: Duration = .seconds(300)

  let id: RunID
  let grant: TaskGrant
  private(set) var stage: Stage
  /// When it entered the stage.
  private var since: Duration
  /// What it took up to the stage that it is in.
  var usage = AttemptUsage()
  /// Frames, samples or bytes done; beyond the work, bytes uploaded.
  var done: UInt64 = 0
  /// Rises with any forward movement.
  private(set) var moved: UInt64 = 0
  /// When it moved last; the hang limit counts from here.
  var lastProgress: Duration = .zero
  /// Whether another run may have a process in its place, because it does not move.
  private(set) var lendsSlot = false
  private var processMoved: UInt64 = 0
  private var nextUploadWait = Self.uploadWaits.first

  /// A run that was granted at `now`.
  init(id: RunID, grant: TaskGrant, at now: Duration) {
    self.id = id
    self.grant = grant
    stage = .queued
    since = now
  }

  /// Goes to another stage, and adds the time in the present one to what it takes.
  mutating func enter(_ stage: Stage, at now: Duration) {
    usage = usage(at: now)
    since = now
    self.stage = stage
  }

  /// What it took until now.
  func usage(at now: Duration) -> AttemptUsage {
    var usage = usage
    let time = now - since
    switch stage {
    case .queued: usage.wait += time
    case .working(.executing), .hung, .stopping: usage.render += time
    case .working(.preparing), .working(.waiting), .working(.verifying): usage.fetch += time
    case .uploading, .postponed, .publishing: usage.upload += time
    // How long the coordinator takes to answer a failure is none of it.
    case .failing: break
    }
    return usage
  }

  /// Takes over how its process ended, as far as that is known.
  mutating func take(_ process: ProcessEnd?) {
    guard let process else { return }
    (usage.cpu, usage.peakBytes) = (.milliseconds(process.cpuMilliseconds), process.peakBytes)
  }

  var lease: Lease { grant.lease }

  /// Whether it has a process, and so takes a slot.
  var hasProcess: Bool {
    switch stage {
    case .working, .hung, .stopping, .failing(_, hasProcess: true): true
    case .queued, .uploading, .postponed, .publishing, .failing: false
    }
  }

  /// Whether the worker still renews its lease: from the grant until the coordinator has answered the result or the
  /// failure.
  var isHeld: Bool { stage != .stopping }

  /// Whether its result waits for the coordinator.
  var hasResult: Bool {
    switch stage {
    case .uploading, .postponed, .publishing: true
    case .queued, .working, .hung, .stopping, .failing: false
    }
  }

  /// Whether what it waits for is not its own doing: a slot, the network, the coordinator. Such a run has not hung,
  /// however long it takes.
  var waitsForFarm: Bool {
    switch stage {
    case .queued, .working(.waiting), .uploading, .postponed, .publishing, .failing: true
    case .working, .hung, .stopping: false
    }
  }

  mutating func move(at now: Duration) {
    moved &+= 1
    lastProgress = now
  }

  /// Counts the time that it waits for the farm as movement, without a change to its own limit.
  mutating func countWait() { moved &+= 1 }

  /// Takes over what the process reports. Reports without movement do not count.
  mutating func report(done: UInt64, moved: UInt64, at now: Duration) {
    guard done > self.done || moved > processMoved else { return }
    self.done = max(self.done, done)
    processMoved = max(processMoved, moved)
    move(at: now)
  }

  /// How long to wait before the next try to upload; each wait is twice the last, up to the longest.
  mutating func uploadWait() -> Duration {
    defer { nextUploadWait = min(nextUploadWait * 2, Self.uploadWaits.longest) }
    return nextUploadWait
  }

  /// The next postponed upload waits for a short time again.
  mutating func resetUploadWait() { nextUploadWait = Self.uploadWaits.first }

  /// When it counts as hung unless it moves before; nil in stages that do not hang.
  /// - Parameters:
  ///   - hangLimit: How long a run may go without movement.
  ///   - isConnected: Without a connection, nothing that a task waits for can come.
  func hangs(after hangLimit: Duration, isConnected: Bool) -> Duration? {
    guard case .working(let phase) = stage else { return nil }
    if phase == .waiting { return isConnected ? lastProgress + max(hangLimit, Self.fetchLimit) : nil }
    return lastProgress + hangLimit
  }

  /// When it stalls unless it moves before; nil in stages in which a process computes nothing, or is about to end.
  /// - Parameter limit: How long a run may go without movement.
  func stalls(after limit: Duration) -> Duration? { stage == .working(.executing) ? lastProgress + limit : nil }

  /// Lends its slot if it stalls, and takes it back once it moves.
  mutating func lendSlot(after limit: Duration, at now: Duration) {
    lendsSlot = stalls(after: limit).map { $0 <= now } ?? false
  }

  /// What is reported of a run that hangs in this phase. Only a task process that stands still is a failure of the
  /// task.
  static func hang(in phase: RunPhase, limit: Duration) -> TaskFailure {
    let seconds = limit.components.seconds
    return switch phase {
    case .executing: TaskFailure(.hung, "the task hung: it did not move for \(seconds) s")
    case .preparing:
      TaskFailure(.released, "the task could not be started: neither its inputs nor its process came in \(seconds) s")
    case .waiting:
      TaskFailure(.released, "the coordinator sent no content for \(Self.fetchLimit.components.seconds) s")
    case .verifying:
      TaskFailure(.released, "the inputs could not be verified: nothing could be read for \(seconds) s")
    }
  }
}
