import FarmModel
import Testing

@testable import Worker

/// What an agent does about events: no socket, no process, no clock.
struct AgentStateTests {
  private let first = RunID(number: 1)
  private let second = RunID(number: 2)
  private let third = RunID(number: 3)

  @Test
  func `a grant starts a process, its result is uploaded, and then published`() {
    var agent = AgentScript()
    #expect(agent.happen(.granted(.number(1))).actions == [.start(first, .number(1))])
    #expect(agent.happen(.ended(first, .made(.any))).actions == [.upload(first)])
    #expect(agent.happen(.uploaded(first)).actions == [.sendPublish(.number(1), .any)])
    #expect(agent.happen(.publishAnswered(.number(1), .published)).actions == [.discard(first)])
  }

  @Test
  func `the first heartbeat has the free slots, and another is sent when a slot becomes free`() {
    var agent = AgentScript(slots: 2, connected: false)
    let hello = agent.happen(.connected(heartbeat: .seconds(4), lease: .seconds(15)), at: 0)
    #expect(hello == [.sendHeartbeat([], freeSlots: 2, isDraining: false, paused: nil)])
    _ = agent.happen(.granted(.number(1)))
    _ = agent.happen(.granted(.number(2)))
    #expect(agent.happen(.ended(first, .made(.any))).freeSlots == 1)
    #expect(agent.happen(.ended(second, .failed(.any))).freeSlots == 2)
  }

  @Test
  func `heartbeats come in time, with the progress of what is held`() {
    var agent = AgentScript()
    _ = agent.happen(.granted(.number(1)), at: 1)
    _ = agent.happen(.progressed(first, done: 30, moved: 0), at: 2)
    _ = agent.happen(.progressed(first, done: 20, moved: 0), at: 3)
    #expect(agent.happen(.tick, at: 3.9) == [])
    #expect(agent.state.deadline == .seconds(4))
    #expect(agent.happen(.tick, at: 4).progress == [30], "progress does not go back")
    #expect(agent.state.deadline == .seconds(8))
  }

  @Test
  func `grants beyond the slots wait for a slot, and those beyond that are released`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)))
    #expect(agent.happen(.granted(.number(2))) == [])
    guard case .sendFailure(.number(3), let failure)? = agent.happen(.granted(.number(3))).first else {
      Issue.record("the third grant was not released")
      return
    }
    #expect(failure.end == .released)
    #expect(agent.happen(.ended(first, .made(.any))).actions == [.upload(first), .start(second, .number(2))])
  }

  @Test
  func `results that wait for the network keep new work away once there are more of them than slots`() {
    var agent = AgentScript(slots: 2)
    for number in 1...3 { agent.grantAndMake(number) }
    #expect(agent.happen(.tick, at: 4).freeSlots == 1)
    agent.grantAndMake(4)
    #expect(agent.happen(.tick, at: 8).freeSlots == 0)
    _ = agent.happen(.uploaded(first))
    #expect(agent.happen(.publishAnswered(.number(1), .published)).freeSlots == 1)
  }

  @Test
  func `a failure is sent with its end, the slot is free, and the lease is listed until it is acknowledged`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)))
    let effects = agent.happen(.ended(first, .failed(.any)))
    #expect(effects.actions == [.sendFailure(.number(1), .any), .discard(first)])
    #expect(effects.freeSlots == 1 && effects.leases == [.number(1)])
    #expect(agent.happen(.failureAnswered(.number(1))).actions == [])
    #expect(agent.happen(.tick, at: 4).leases == [])
  }

  @Test
  func `a cancelled task is killed, nothing is sent about it, and its slot is free when its process has ended`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)))
    #expect(agent.happen(.heartbeatAnswered(cancelled: [.number(1)])) == [.kill(first)])
    #expect(agent.happen(.heartbeatAnswered(cancelled: [.number(1)])) == [], "it is killed once")
    #expect(agent.happen(.tick, at: 4) == [.sendHeartbeat([], freeSlots: 0, isDraining: false, paused: nil)])
    let effects = agent.happen(.ended(first, .made(.any)))
    #expect(effects.actions == [.discard(first)] && effects.freeSlots == 1)
  }

  @Test(arguments: [true, false])
  func `a task cancelled after its process is dropped at once`(isUploaded: Bool) {
    var agent = AgentScript()
    agent.grantAndMake(1)
    if isUploaded { _ = agent.happen(.uploaded(first)) }
    #expect(agent.happen(.heartbeatAnswered(cancelled: [.number(1)])).actions == [.discard(first)])
    #expect(agent.happen(.uploaded(first)) == [])
    #expect(agent.happen(.publishAnswered(.number(1), .published)) == [])
  }

  @Test
  func `a stale result is dropped`() {
    var agent = AgentScript()
    agent.grantAndMake(1)
    _ = agent.happen(.uploaded(first))
    #expect(agent.happen(.publishAnswered(.number(1), .stale)).actions == [.discard(first)])
  }

  @Test
  func `an answer for another epoch is not for this run`() {
    var agent = AgentScript()
    agent.grantAndMake(1)
    _ = agent.happen(.uploaded(first))
    #expect(agent.happen(.publishAnswered(Lease(task: Lease.number(1).task, epoch: 2), .published)) == [])
    #expect(agent.happen(.heartbeatAnswered(cancelled: [Lease(task: Lease.number(1).task, epoch: 2)])) == [])
  }

  @Test
  func `content that the coordinator lost is uploaded again, three times in all`() {
    var agent = AgentScript()
    agent.grantAndMake(1)
    for _ in 1...2 {
      _ = agent.happen(.uploaded(first))
      #expect(agent.happen(.publishAnswered(.number(1), .missingContent)).actions == [.upload(first)])
    }
    _ = agent.happen(.uploaded(first))
    let effects = agent.happen(.publishAnswered(.number(1), .missingContent)).actions
    guard case .sendFailure(.number(1), let failure)? = effects.first else {
      Issue.record("\(effects)")
      return
    }
    #expect(failure.end == .released && effects.last == .discard(first))
  }

  @Test
  func `a task whose upload fails is released`() {
    var agent = AgentScript()
    agent.grantAndMake(1)
    guard case .sendFailure(_, let failure)? = agent.happen(.uploadFailed(first, "disk full")).first else {
      Issue.record("no failure")
      return
    }
    #expect(failure.end == .released && failure.message.contains("disk full"))
  }
}
