import Testing

@testable import Worker

/// The agent's state against the clock, lost connections, and requests to end.
struct AgentTimeTests {
  private let first = RunID(number: 1)
  private let second = RunID(number: 2)

  @Test
  func `a task that reports nothing for a minute is killed, and that is counted`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.progressed(first, 1), at: 10)
    for seconds in stride(from: 14.0, to: 70, by: 4) {
      #expect(agent.happen(.tick, at: seconds).actions == [])
      _ = agent.happen(.heartbeatAnswered(cancelled: []))
    }
    #expect(agent.happen(.tick, at: 70).actions == [.kill(first)])
    #expect(agent.happen(.tick, at: 71).actions == [], "it is killed once")
    let process = ProcessEnd(exitCode: 0, signal: 9, cpuMilliseconds: 12, peakBytes: 34)
    let effects = agent.happen(.ended(first, .killed(process)), at: 72).actions
    guard case .sendFailure(.number(1), let failure)? = effects.first else {
      Issue.record("\(effects)")
      return
    }
    #expect(failure.end == .hung && failure.message.contains("60 s") && failure.process == process)
    #expect(effects.last == .discard(first))
  }

  @Test
  func `a hung task whose lease is lost meanwhile is not reported`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.heartbeatAnswered(cancelled: []), at: 59)
    #expect(agent.happen(.tick, at: 60).actions.last == .kill(first))
    #expect(agent.happen(.heartbeatAnswered(cancelled: [.number(1)]), at: 61).actions == [])
    #expect(agent.happen(.ended(first, .killed(nil)), at: 62).actions == [.discard(first)])
  }

  @Test
  func `a task that waits for the coordinator's bytes does not hang`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.waiting(first, true), at: 1)
    _ = agent.happen(.heartbeatAnswered(cancelled: []), at: 290)
    #expect(agent.happen(.tick, at: 300).actions == [])
    _ = agent.happen(.waiting(first, false), at: 300)
    _ = agent.happen(.heartbeatAnswered(cancelled: []), at: 359)
    #expect(agent.happen(.tick, at: 359).actions == [])
    #expect(agent.happen(.tick, at: 360).actions.last == .kill(first))
  }

  @Test
  func `a result on a slow network makes progress past its work`() {
    var agent = AgentScript(slots: 1)
    agent.grantAndMake(1)
    let made = agent.happen(.tick, at: 4).progress
    _ = agent.happen(.heartbeatAnswered(cancelled: []), at: 5)
    _ = agent.happen(.uploading(first, bytes: 70_000), at: 6)
    let (sent, before) = (agent.happen(.tick, at: 8).progress, made?.first ?? 0)
    #expect(sent == [before + 70_000])
    _ = agent.happen(.heartbeatAnswered(cancelled: []), at: 9)
    // A second try begins anew, and progress does not go back.
    _ = agent.happen(.uploading(first, bytes: 10), at: 10)
    #expect(agent.happen(.tick, at: 12).progress == sent)
  }

  @Test
  func `a lost connection ends every task, because its leases are lost`() {
    var agent = AgentScript(slots: 2)
    agent.grantAndMake(1)
    _ = agent.happen(.granted(.number(2)))
    #expect(agent.happen(.disconnected) == [.discard(first), .kill(second)])
    // The old process is not gone yet: one slot is free on the new connection, then two.
    #expect(agent.happen(.connected(heartbeat: .seconds(4), lease: .seconds(15))).freeSlots == 1)
    #expect(agent.happen(.ended(second, .killed(nil))).freeSlots == 2)
  }

  @Test
  func `an agent disconnects from a coordinator that is silent for a lease's time`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 1)
    _ = agent.happen(.tick, at: 15)
    #expect(agent.happen(.tick, at: 16) == [.disconnect, .kill(first)])
    #expect(agent.happen(.disconnected) == [])
    #expect(agent.state.deadline == nil)
  }

  @Test
  func `a draining agent takes no more, lets running tasks finish, and ends`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.granted(.number(2)))
    let effects = agent.happen(.drain, at: 1)
    guard case .sendFailure(.number(2), let failure)? = effects.first else {
      Issue.record("\(effects)")
      return
    }
    #expect(failure.end == .released)
    #expect(effects.last.map { if case .sendHeartbeat(_, 0, true) = $0 { true } else { false } } == true)
    _ = agent.happen(.failureAnswered(.number(2)))
    _ = agent.happen(.ended(first, .made(.any)), at: 2)
    _ = agent.happen(.uploaded(first))
    #expect(agent.happen(.publishAnswered(.number(1), .published)) == [.discard(first), .leave])
    #expect(agent.happen(.granted(.number(3))) == [], "it has ended")
  }

  @Test
  func `a task that does not finish in time is released, and the agent waits for the acknowledgement`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.drain, at: 1)
    #expect(agent.happen(.tick, at: 8.9).actions == [])
    let effects = agent.happen(.tick, at: 9).actions
    #expect(effects.count == 2 && effects.last == .kill(first), "\(effects)")
    #expect(agent.happen(.ended(first, .killed(nil))).actions == [.discard(first)])
    #expect(agent.happen(.failureAnswered(.number(1))) == [.leave])
  }

  @Test
  func `an agent that leaves does not wait for ever for an acknowledgement`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.drain, at: 1)
    _ = agent.happen(.tick, at: 9)
    #expect(agent.state.deadline == .seconds(11))
    #expect(agent.happen(.tick, at: 11).last == .leave)
  }

  @Test
  func `an agent with nothing to do, or that is stopped, ends at once`() {
    var idle = AgentScript(connected: false)
    #expect(idle.happen(.drain, at: 1) == [.leave])
    var busy = AgentScript(slots: 1)
    _ = busy.happen(.granted(.number(1)))
    _ = busy.happen(.drain)
    #expect(busy.happen(.stop) == [.kill(first), .leave])
  }

  @Test
  func `waits between tries double, within bounds, and start over`() {
    var backoff = Backoff()
    let waits = (1...8).map { _ in backoff.wait(jitter: 1) }
    #expect(waits == [250, 500, 1000, 2000, 4000, 8000, 10000, 10000].map { .milliseconds($0) })
    backoff.reset()
    #expect(backoff.wait(jitter: 0) == .milliseconds(125))
  }
}
