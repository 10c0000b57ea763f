import FarmModel
import Testing

@testable import Worker

/// A run in every stage while the connection is lost, and when it is back.
struct AgentReconnectionTests {
  /// The stages of a run, and how an agent of one slot comes there with run 2 of lease 2, or with run 1 of lease 1.
  enum Stage: CaseIterable, CustomTestStringConvertible {
    case queued, preparing, executing, waiting, verifying, hung, stopping, uploading, postponed, publishing, failed,
      failedWithProcess

    var testDescription: String { "\(self)" }

    /// The run whose stage it is.
    var number: Int { self == .queued ? 2 : 1 }
    var run: RunID { RunID(number: number) }
    var lease: Lease { .number(number) }

    func agent() -> AgentScript {
      var agent = AgentScript(slots: 1)
      _ = agent.happen(.granted(.number(1)), at: 0)
      switch self {
      case .queued: _ = agent.happen(.granted(.number(2)))
      case .preparing: break
      case .executing: _ = agent.happen(.entered(run, .executing))
      case .waiting: _ = agent.happen(.entered(run, .waiting))
      case .verifying: _ = agent.happen(.entered(run, .verifying))
      case .hung:
        _ = agent.happen(.entered(run, .executing))
        _ = agent.pass(until: 60)
      case .stopping: _ = agent.happen(.heartbeatAnswered(cancelled: [lease]))
      case .uploading: _ = agent.happen(.ended(run, .made(.any)))
      case .postponed:
        _ = agent.happen(.ended(run, .made(.any)))
        _ = agent.happen(.uploadPostponed(run))
      case .publishing:
        _ = agent.happen(.ended(run, .made(.any)))
        _ = agent.happen(.uploaded(run))
      case .failed: _ = agent.happen(.ended(run, .failed(.any)))
      case .failedWithProcess:
        _ = agent.happen(.drain)
        _ = agent.pass(until: 8)
      }
      return agent
    }

    /// What is done about the run on the next connection, after the heartbeat.
    var resumed: [AgentEffect] {
      switch self {
      case .queued, .preparing, .executing, .waiting, .verifying, .hung, .stopping: []
      case .uploading, .postponed: [.upload(run)]
      case .publishing: [.sendPublish(lease, .any)]
      case .failed: [.sendFailure(lease, .any)]
      case .failedWithProcess: [.sendFailure(lease, TaskFailure(.released, "the worker is shutting down"))]
      }
    }

    /// What is done when the coordinator cancels the lease.
    var cancelled: [AgentEffect] {
      switch self {
      case .preparing, .executing, .waiting, .verifying: [.kill(run)]
      case .queued, .uploading, .postponed, .publishing: [.discard(run)]
      // Its process is being ended already, or it holds nothing any more.
      case .hung, .stopping, .failed, .failedWithProcess: []
      }
    }
  }

  @Test(arguments: Stage.allCases)
  func `a lost connection ends nothing, and the first heartbeat of the next lists every lease`(stage: Stage) {
    var agent = stage.agent()
    #expect(agent.happen(.disconnected) == [])
    #expect(agent.state.holdsLeases == (stage != .stopping))
    let effects = agent.connect()
    let expected: [Lease] = stage == .stopping ? [] : stage == .queued ? [.number(1), .number(2)] : [stage.lease]
    guard case .sendHeartbeat(let progress, _, _, _)? = effects.first else {
      Issue.record("the first is no heartbeat: \(effects)")
      return
    }
    #expect(progress.map(\.lease) == expected)
    #expect(effects.actions == stage.resumed)
    #expect(effects.count == 1 + stage.resumed.count, "one heartbeat")
  }

  @Test(arguments: Stage.allCases)
  func `what the coordinator does not keep is ended when the connection is back`(stage: Stage) {
    var agent = stage.agent()
    _ = agent.happen(.disconnected)
    agent.connect()
    #expect(agent.happen(.heartbeatAnswered(cancelled: [stage.lease])).actions.prefix(1) == stage.cancelled.prefix(1))
    #expect(agent.happen(.heartbeatAnswered(cancelled: [stage.lease])).actions == [], "once")
    // Nothing is sent about it any more, on this connection or the next.
    _ = agent.happen(.ended(stage.run, .made(.any)))
    _ = agent.happen(.disconnected)
    let later = agent.connect()
    #expect(later.leases?.contains(stage.lease) != true && later.actions == [], "\(later)")
  }

  @Test(arguments: Stage.allCases)
  func `a run ends in its own way without a connection, and its end is sent on the next`(stage: Stage) {
    var agent = stage.agent()
    _ = agent.happen(.disconnected)
    let effects = agent.happen(.ended(stage.run, .made(.any))).actions
    let sends = effects.contains {
      switch $0 {
      case .upload, .sendPublish, .sendFailure: true
      default: false
      }
    }
    #expect(!sends, "\(effects)")
    let later = agent.connect().actions
    switch stage {
    case .preparing, .executing, .waiting, .verifying, .hung: #expect(later == [.upload(stage.run)])
    case .stopping: #expect(effects == [.discard(stage.run)] && later == [])
    case .failedWithProcess: #expect(effects == [.discard(stage.run)] && later == stage.resumed)
    // No process of theirs can end.
    case .queued, .uploading, .postponed, .publishing, .failed: break
    }
  }

  @Test(arguments: Stage.allCases)
  func `an agent that drains without a connection ends within its limits`(stage: Stage) {
    var agent = stage.agent()
    _ = agent.happen(.disconnected)
    let effects = agent.happen(.drain) + agent.pass(until: 200)
    #expect(effects.last == .leave, "\(effects)")
    #expect(agent.state.deadline == nil || agent.happen(.tick, at: 300) == [])
  }

  @Test
  func `a drain that began without a connection is reported on the next, where what is left is finished`() {
    var agent = AgentScript(slots: 2)
    agent.grantAndMake(1)
    _ = agent.happen(.granted(.number(2)))
    _ = agent.happen(.disconnected, at: 1)
    #expect(agent.happen(.drain, at: 2) == [])
    let effects = agent.connect(at: 3)
    #expect(effects.actions == [.upload(RunID(number: 1))] && effects.leases == [.number(1), .number(2)])
    guard case .sendHeartbeat(_, 0, isDraining: true, _)? = effects.first else {
      Issue.record("\(effects)")
      return
    }
    // A task that was refused for the drain's sake, and not acknowledged, is refused again.
    _ = agent.happen(.granted(.number(3)))
    _ = agent.happen(.disconnected)
    guard case .sendFailure(.number(3), let failure)? = agent.connect(at: 4).actions.last else {
      Issue.record("no refusal")
      return
    }
    #expect(failure.end == .released)
  }

  @Test
  func `a task that waits for bytes does not hang without a connection, and one that works does`() {
    var agent = AgentScript(slots: 2)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.granted(.number(2)))
    _ = agent.happen(.entered(RunID(number: 1), .waiting))
    _ = agent.happen(.entered(RunID(number: 2), .executing))
    _ = agent.happen(.disconnected)
    #expect(agent.pass(until: 61) == [.kill(RunID(number: 2))])
    #expect(agent.pass(until: 10_000) == [])
    #expect(agent.connect().leases == [.number(1), .number(2)])
    #expect(agent.pass(until: 10_299).actions == [], "the time before does not count")
    #expect(agent.pass(until: 10_300).actions == [.kill(RunID(number: 1))])
  }

  @Test
  func `an upload that the coordinator cannot take is begun again after growing waits, for ever`() {
    var agent = AgentScript(slots: 1)
    agent.grantAndMake(1)
    let run = RunID(number: 1)
    var seconds = 0.0
    var moved: UInt64 = 0
    for wait in [0.5, 1, 2, 4, 8, 10, 10, 10, 10, 10, 10] {
      #expect(agent.happen(.uploadPostponed(run), at: seconds).actions == [])
      let before = agent.pass(until: seconds + wait - 0.01)
      #expect(before.actions == [])
      if let last = before.moved?.first {
        #expect(last > moved, "the coordinator's limit does not end it")
        moved = last
      }
      #expect(agent.pass(until: seconds + wait).actions == [.upload(run)])
      seconds += wait
    }
    _ = agent.happen(.uploading(run, bytes: 10))
    _ = agent.happen(.uploadPostponed(run))
    #expect(agent.pass(until: seconds + 0.5).actions == [.upload(run)], "some of it was taken")
    _ = agent.happen(.uploaded(run))
    #expect(agent.happen(.publishAnswered(.number(1), .published)).actions == [.discard(run)])
  }

  @Test
  func `a worker without room takes no tasks and says why, and finishes what it has`() {
    var agent = AgentScript(slots: 2)
    _ = agent.happen(.granted(.number(1)))
    let paused = agent.happen(.paused("the disk is full"))
    guard case .sendHeartbeat(_, 0, false, paused: "the disk is full")? = paused.last else {
      Issue.record("\(paused)")
      return
    }
    #expect(agent.happen(.paused("the disk is fuller")) == [], "no heartbeat for each figure")
    #expect(agent.happen(.ended(RunID(number: 1), .made(.any))) == [.upload(RunID(number: 1))])
    guard case .sendHeartbeat(_, 0, false, paused: "the disk is fuller")? = agent.pass(until: 4).last else {
      Issue.record("no heartbeat")
      return
    }
    #expect(agent.happen(.paused(nil)).freeSlots == 2)
  }
}
