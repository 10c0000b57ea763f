import Testing

@testable import Worker

/// What happens to an agent, and what it does about it: no socket, no process, no clock.
struct AgentStateTests {
  private let first = RunID(number: 1)
  private let second = RunID(number: 2)
  private let third = RunID(number: 3)

  @Test
  func `a grant becomes a process, its result an upload, and that a publish`() {
    var agent = AgentScript()
    #expect(agent.happen(.granted(.number(1))).deeds == [.start(first, .number(1))])
    #expect(agent.happen(.ended(first, .made(.any))).deeds == [.upload(first)])
    #expect(agent.happen(.uploaded(first)).deeds == [.sendPublish(.number(1), .any)])
    #expect(agent.happen(.publishAnswered(.number(1), .published)).deeds == [.discard(first)])
  }

  @Test
  func `the first word says how many slots are free, and so does every slot that becomes free`() {
    var agent = AgentScript(slots: 2, connected: false)
    let hello = agent.happen(.connected(heartbeat: .seconds(4), lease: .seconds(15)), at: 0)
    #expect(hello == [.sendHeartbeat([], freeSlots: 2, isDraining: false)])
    _ = agent.happen(.granted(.number(1)))
    _ = agent.happen(.granted(.number(2)))
    #expect(agent.happen(.ended(first, .made(.any))).freeSlots == 1)
    #expect(agent.happen(.ended(second, .failed(.any))).freeSlots == 2)
  }

  @Test
  func `heartbeats come in time, with the progress of what is held`() {
    var agent = AgentScript()
    _ = agent.happen(.granted(.number(1)), at: 1)
    _ = agent.happen(.progressed(first, 30), at: 2)
    _ = agent.happen(.progressed(first, 20), at: 3)
    #expect(agent.happen(.tick, at: 3.9) == [])
    #expect(agent.state.deadline == .seconds(4))
    #expect(agent.happen(.tick, at: 4).progress == [30], "progress does not go back")
    #expect(agent.state.deadline == .seconds(8))
  }

  @Test
  func `grants beyond the slots wait for a slot, and those beyond that are given back`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)))
    #expect(agent.happen(.granted(.number(2))) == [])
    guard case .sendFailure(.number(3), let failure)? = agent.happen(.granted(.number(3))).first else {
      Issue.record("the third grant was not given back")
      return
    }
    #expect(failure.cause == .infrastructure)
    #expect(agent.happen(.ended(first, .made(.any))).deeds == [.upload(first), .start(second, .number(2))])
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
  func `a failure is told with its cause, and the slot is free`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)))
    let effects = agent.happen(.ended(first, .failed(.any)))
    #expect(effects.deeds == [.sendFailure(.number(1), .any), .discard(first)])
    #expect(effects.freeSlots == 1)
  }

  @Test
  func `a cancelled task is killed, nothing is said of it, and its slot is free when its process is gone`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)))
    #expect(agent.happen(.heartbeatAnswered(cancelled: [.number(1)])) == [.kill(first)])
    #expect(agent.happen(.heartbeatAnswered(cancelled: [.number(1)])) == [], "once is enough")
    #expect(agent.happen(.tick, at: 4) == [.sendHeartbeat([], freeSlots: 0, isDraining: false)])
    let effects = agent.happen(.ended(first, .made(.any)))
    #expect(effects.deeds == [.discard(first)] && effects.freeSlots == 1)
  }

  @Test(arguments: [true, false])
  func `a task cancelled after its process is dropped at once`(isUploaded: Bool) {
    var agent = AgentScript()
    agent.grantAndMake(1)
    if isUploaded { _ = agent.happen(.uploaded(first)) }
    #expect(agent.happen(.heartbeatAnswered(cancelled: [.number(1)])).deeds == [.discard(first)])
    #expect(agent.happen(.uploaded(first)) == [])
    #expect(agent.happen(.publishAnswered(.number(1), .published)) == [])
  }

  @Test
  func `a stale result is dropped`() {
    var agent = AgentScript()
    agent.grantAndMake(1)
    _ = agent.happen(.uploaded(first))
    #expect(agent.happen(.publishAnswered(.number(1), .stale)).deeds == [.discard(first)])
  }

  @Test
  func `an answer for another epoch is not for this run`() {
    var agent = AgentScript()
    agent.grantAndMake(1)
    _ = agent.happen(.uploaded(first))
    #expect(agent.happen(.publishAnswered(TaskLease(task: "job/1", epoch: 2), .published)) == [])
    #expect(agent.happen(.heartbeatAnswered(cancelled: [TaskLease(task: "job/1", epoch: 2)])) == [])
  }

  @Test
  func `content that the coordinator lost is uploaded again, three times in all`() {
    var agent = AgentScript()
    agent.grantAndMake(1)
    for _ in 1...2 {
      _ = agent.happen(.uploaded(first))
      #expect(agent.happen(.publishAnswered(.number(1), .missingContent)).deeds == [.upload(first)])
    }
    _ = agent.happen(.uploaded(first))
    let effects = agent.happen(.publishAnswered(.number(1), .missingContent)).deeds
    guard case .sendFailure(.number(1), let failure)? = effects.first else {
      Issue.record("\(effects)")
      return
    }
    #expect(failure.cause == .infrastructure && effects.last == .discard(first))
  }

  @Test
  func `an upload that fails is no fault of the media`() {
    var agent = AgentScript()
    agent.grantAndMake(1)
    guard case .sendFailure(_, let failure)? = agent.happen(.uploadFailed(first, "disk full")).first else {
      Issue.record("no failure")
      return
    }
    #expect(failure.cause == .infrastructure && failure.message.contains("disk full"))
  }
}
