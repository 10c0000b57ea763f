import FarmModel
import Testing

@testable import Worker

/// The agent's state against the clock, lost connections, and requests to end.
struct AgentTimeTests {
  private let first = RunID(number: 1)
  private let second = RunID(number: 2)

  @Test
  func `a task that does not move for a minute is killed, and that is counted`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.entered(first, .executing), at: 1)
    _ = agent.pass(until: 10)
    _ = agent.happen(.progressed(first, done: 1, moved: 0))
    #expect(agent.pass(until: 69.9).actions == [])
    // A report without movement does not count.
    _ = agent.happen(.progressed(first, done: 1, moved: 0))
    #expect(agent.pass(until: 70).actions == [.kill(first)])
    #expect(agent.pass(until: 71).actions == [], "it is killed once")
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
  func `the coordinator says how long a task may go without progress`() {
    var agent = AgentScript(slots: 1, connected: false)
    _ = agent.happen(.connected(heartbeat: .seconds(4), lease: .seconds(15), hang: .milliseconds(18_500)), at: 0)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.entered(first, .executing), at: 1)
    #expect(agent.pass(until: 19.4).actions == [])
    #expect(agent.pass(until: 19.5).actions == [.kill(first)])
    let effects = agent.happen(.ended(first, .killed(nil)), at: 20).actions
    guard case .sendFailure(.number(1), let failure)? = effects.first else {
      Issue.record("\(effects)")
      return
    }
    #expect(failure.end == .hung && failure.message.contains("18"), "\(failure)")
    // One that does not say it leaves the worker its own.
    _ = agent.happen(.connected(heartbeat: .seconds(4), lease: .seconds(15)), at: 30)
    _ = agent.happen(.granted(.number(2)), at: 30)
    _ = agent.happen(.entered(second, .executing), at: 31)
    #expect(agent.pass(until: 90.9).actions == [])
    #expect(agent.pass(until: 91).actions == [.kill(second)])
  }

  @Test
  func `a task that does not move lends its slot until it does, and no more slots than there are are lent`() {
    var agent = AgentScript(slots: 2)
    for number in 1...2 {
      _ = agent.happen(.granted(.number(number)), at: 0)
      _ = agent.happen(.entered(RunID(number: number), .executing), at: 1)
    }
    _ = agent.happen(.progressed(second, done: 7, moved: 3), at: 5)
    #expect(agent.pass(until: 11.9).freeSlots == 0)
    #expect(agent.pass(until: 12).freeSlots == 1)
    #expect(agent.happen(.granted(.number(3)), at: 13).actions == [.start(RunID(number: 3), .number(3))])
    #expect(agent.pass(until: 15.9) == [])
    #expect(agent.pass(until: 16).freeSlots == 1)
    _ = agent.happen(.entered(RunID(number: 3), .executing), at: 17)
    // The first moves again: two that move take both slots, though one may be queued for the second's.
    _ = agent.happen(.progressed(first, done: 1, moved: 1), at: 20)
    #expect(agent.pass(until: 24).freeSlots == 0)
    #expect(agent.happen(.granted(.number(4)), at: 25).actions == [])
    #expect(agent.happen(.ended(first, .failed(.any)), at: 26).actions.contains(.start(RunID(number: 4), .number(4))))
    _ = agent.happen(.entered(RunID(number: 4), .executing), at: 27)
    // Three do not move: two slots are lent, of which one is taken.
    #expect(agent.pass(until: 38).freeSlots == 1)
    #expect(agent.happen(.granted(.number(5)), at: 39).actions == [.start(RunID(number: 5), .number(5))])
    _ = agent.happen(.entered(RunID(number: 5), .executing), at: 40)
    #expect(agent.pass(until: 52).freeSlots == 0)
    // The first that hangs lends nothing any more while it is ended.
    let ended = agent.pass(until: 66)
    #expect(ended.actions == [.kill(second)] && ended.freeSlots == 0)
  }

  @Test
  func `liveness without progress is no hang, and is reported`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.entered(first, .executing), at: 1)
    var moved: [UInt64] = []
    for minute in 1...10 {
      _ = agent.happen(.progressed(first, done: 100, moved: UInt64(minute)), at: Double(minute) * 59)
      let effects = agent.pass(until: Double(minute + 1) * 59 - 0.1)
      #expect(effects.actions == [])
      moved += effects.moved ?? []
    }
    #expect(moved.count == 10 && moved == moved.sorted() && Set(moved).count == 10, "\(moved)")
  }

  @Test(arguments: [RunPhase.preparing, .verifying])
  func `a file that cannot be read for a minute is not the task's failure`(phase: RunPhase) {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.entered(first, phase), at: 0)
    for seconds in stride(from: 50.0, through: 500, by: 50) {
      #expect(agent.pass(until: seconds).actions == [])
      _ = agent.happen(.moved(first))
    }
    #expect(agent.pass(until: 560).actions == [.kill(first)])
    guard case .sendFailure(_, let failure)? = agent.happen(.ended(first, .killed(nil))).first else {
      Issue.record("no failure")
      return
    }
    #expect(failure.end == .released, "\(failure)")
  }

  @Test
  func `a hung task whose lease is lost meanwhile is not reported`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    #expect(agent.pass(until: 60).actions.last == .kill(first))
    #expect(agent.happen(.heartbeatAnswered(cancelled: [.number(1)]), at: 61).actions == [])
    #expect(agent.happen(.ended(first, .killed(nil)), at: 62).actions == [.discard(first)])
  }

  @Test
  func `a task that waits for the coordinator's bytes does not hang while any come, and moves meanwhile`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.entered(first, .waiting), at: 1)
    let early = agent.pass(until: 290)
    #expect(early.actions == [] && (early.moved?.first ?? 0) > 70, "a step for each heartbeat")
    _ = agent.happen(.fetched(second, bytes: 1))
    #expect(agent.pass(until: 580).actions == [])
    _ = agent.happen(.entered(first, .executing))
    #expect(agent.pass(until: 639).actions == [])
    #expect(agent.pass(until: 640).actions == [.kill(first)])
  }

  @Test
  func `a task that waits while the coordinator sends no content for five minutes is released`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.entered(first, .waiting), at: 0)
    #expect(agent.pass(until: 300).actions == [.kill(first)])
    guard case .sendFailure(_, let failure)? = agent.happen(.ended(first, .killed(nil))).first else {
      Issue.record("no failure")
      return
    }
    #expect(failure.end == .released && failure.message.contains("300 s"), "\(failure)")
  }

  @Test
  func `time in which the agent itself was stopped is nobody's silence`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.entered(first, .executing), at: 0)
    #expect(agent.happen(.tick, at: 1000).actions == [], "neither the task nor the coordinator")
    #expect(agent.pass(until: 1050).actions == [])
    #expect(agent.pass(until: 1060).actions == [.kill(first)])
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
  func `an agent disconnects from a coordinator of which no byte comes for a lease's time`() {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 1)
    _ = agent.happen(.tick, at: 4)
    _ = agent.happen(.tick, at: 8)
    _ = agent.happen(.tick, at: 12)
    // A part of a long message came: no message, but a sign of life.
    _ = agent.happen(.heard(at: .seconds(14)), at: 15)
    #expect(agent.happen(.tick, at: 16).actions == [])
    _ = agent.happen(.tick, at: 20)
    _ = agent.happen(.tick, at: 24)
    _ = agent.happen(.tick, at: 28)
    #expect(agent.happen(.tick, at: 29) == [.disconnect], "the task goes on")
    #expect(agent.happen(.disconnected) == [])
    #expect(agent.state.holdsLeases)
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
    #expect(effects.last.map { if case .sendHeartbeat(_, 0, true, nil) = $0 { true } else { false } } == true)
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

  @Test func `of several addresses each is tried before a wait, and only all of them end the worker`() {
    var round = AddressRound(count: 3)
    func happen(_ isLoss: Bool, _ isPermanent: Bool) -> (AddressRound.Step, Int) {
      let step = round.next(afterLoss: isLoss, isPermanent: isPermanent)
      return (step, round.place)
    }
    #expect(happen(false, false) == (.tryNow, 1))
    #expect(happen(false, true) == (.tryNow, 2))
    #expect(happen(false, false) == (.wait, 0))
    #expect(happen(false, true) == (.tryNow, 1))
    // The others have their turn after a loss, whatever failed before it.
    #expect(happen(true, false) == (.wait, 2))
    #expect(happen(false, true) == (.tryNow, 0))
    #expect(happen(false, true) == (.tryNow, 1))
    #expect(happen(false, true) == (.giveUp, 2))
    var alone = AddressRound(count: 1)
    #expect(alone.next(afterLoss: false, isPermanent: false) == .wait)
    #expect(alone.next(afterLoss: true, isPermanent: true) == .wait)
    #expect(alone.next(afterLoss: false, isPermanent: true) == .giveUp)
  }

  @Test
  func `while leases are held a wait is at most two seconds`() {
    var backoff = Backoff()
    let waits = (1...8).map { _ in backoff.wait(jitter: 1, holdsLeases: true) }
    #expect(waits == [250, 500, 1000, 2000, 2000, 2000, 2000, 2000].map { .milliseconds($0) })
  }
}
