import Digest
import FarmModel

@testable import Worker

/// An agent's state, and short forms of its events. Times are in seconds.
struct AgentScript {
  private(set) var state: AgentState
  private var now: Duration = .zero

  init(slots: Int = 2, connected: Bool = true, idleLimit: Duration? = nil) {
    state = AgentState(AgentState.Settings(slots: slots, idleLimit: idleLimit))
    if connected { connect(at: 0) }
  }

  /// Connects, with heartbeats every 4 s and leases of 15 s.
  @discardableResult
  mutating func connect(at seconds: Double? = nil) -> [AgentEffect] {
    happen(.connected(heartbeat: .seconds(4), lease: .seconds(15)), at: seconds)
  }

  /// Lets time pass as it does while the coordinator answers: a tick at each deadline. Returns the effects.
  mutating func pass(until seconds: Double) -> [AgentEffect] {
    var effects: [AgentEffect] = []
    while let deadline = state.deadline, deadline < .seconds(seconds) {
      now = max(now, deadline)
      effects += state.handle(.heard(at: now), at: now)
      effects += state.handle(.tick, at: now)
    }
    now = .seconds(seconds)
    effects += state.handle(.heard(at: now), at: now)
    return effects + state.handle(.tick, at: now)
  }

  mutating func happen(_ event: AgentEvent, at seconds: Double? = nil) -> [AgentEffect] {
    if let seconds { now = .seconds(seconds) }
    return state.handle(event, at: now)
  }

  /// Grants a task, and ends its process with a result.
  mutating func grantAndMake(_ number: Int) {
    _ = happen(.granted(.number(number)))
    _ = happen(.ended(RunID(number: number), .made(.any)))
  }
}

extension AgentEvent {
  /// The coordinator had the result before.
  static func uploaded(_ run: RunID) -> AgentEvent { .uploaded(run, bytes: 0) }
}

extension Lease {
  static func number(_ number: Int) -> Lease {
    Lease(task: TaskID(job: JobID("job"), ordinal: Int32(number)), epoch: 1)
  }
}

extension TaskGrant {
  static func number(_ number: Int) -> TaskGrant {
    TaskGrant(lease: .number(number), kind: "video", payload: [], inputs: [], work: 100)
  }
}

extension TaskResult {
  static let any = TaskResult(content: Content(digest: .of([1]), size: 1))
}

extension TaskFailure {
  static let any = TaskFailure(.media, "broken")
}

extension [AgentEffect] {
  /// All but heartbeats, without what attempts took.
  var actions: [AgentEffect] {
    compactMap { effect in
      switch effect {
      case .sendHeartbeat: return nil
      case .sendPublish(let lease, var result):
        result.usage = AttemptUsage()
        return .sendPublish(lease, result)
      case .sendFailure(let lease, var failure):
        failure.usage = nil
        return .sendFailure(lease, failure)
      default: return effect
      }
    }
  }

  /// The free slots of the last heartbeat; nil without one.
  var freeSlots: Int? {
    compactMap { if case .sendHeartbeat(_, let free, _, _) = $0 { free } else { nil } }.last
  }

  /// The leases in the last heartbeat; nil without one.
  var leases: [Lease]? {
    compactMap { if case .sendHeartbeat(let progress, _, _, _) = $0 { progress.map(\.lease) } else { nil } }.last
  }

  /// The movement in the last heartbeat; nil without one.
  var moved: [UInt64]? {
    compactMap { if case .sendHeartbeat(let progress, _, _, _) = $0 { progress.map(\.moved) } else { nil } }.last
  }

  /// The progress in the last heartbeat; nil without one.
  var progress: [UInt64]? {
    compactMap { if case .sendHeartbeat(let progress, _, _, _) = $0 { progress.map(\.done) } else { nil } }.last
  }
}
