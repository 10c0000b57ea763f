import FarmModel
import Testing

@testable import Worker

/// An agent that ends when it has had no task for a minute.
struct IdleAgentTests {
  private let first = RunID(number: 1)
  private var agent = AgentScript(slots: 1, idleLimit: .seconds(60))

  @Test
  mutating func `it drains and leaves a minute after it was connected`() {
    agent = AgentScript(slots: 1, connected: false, idleLimit: .seconds(60))
    agent.connect(at: 50)
    #expect(agent.pass(until: 109.9).actions == [])
    let effects = agent.pass(until: 110)
    #expect(effects.actions == [.reportEnd(.idle), .leave])
    #expect(effects.contains(.sendHeartbeat([], freeSlots: 0, isDraining: true, paused: nil)))
  }

  @Test
  mutating func `it leaves when the coordinator says so, and says why once`() {
    agent = AgentScript(slots: 1)
    let effects = agent.happen(.heartbeatAnswered(cancelled: [], drains: true), at: 5)
    #expect(effects.contains(.sendHeartbeat([], freeSlots: 0, isDraining: true, paused: nil)))
    #expect(effects.actions == [.reportEnd(.drained), .leave])
    #expect(agent.happen(.heartbeatAnswered(cancelled: [], drains: true), at: 6).actions == [])
  }

  @Test(arguments: [false, true])
  mutating func `it leaves without a coordinator, whether it had one or not`(wasConnected: Bool) {
    agent = AgentScript(slots: 1, connected: wasConnected, idleLimit: .seconds(60))
    if wasConnected {
      _ = agent.pass(until: 20)
      _ = agent.happen(.disconnected)
    }
    #expect(agent.state.deadline == .seconds(60))
    #expect(agent.pass(until: 59.9) == [])
    #expect(agent.pass(until: 60) == [.reportEnd(.idle), .leave])
  }

  @Test
  mutating func `it goes on for as long as it has a task, whatever the task waits for`() {
    _ = agent.happen(.granted(.number(1)), at: 30)
    _ = agent.happen(.entered(first, .executing), at: 30)
    for seconds in stride(from: 80.0, through: 280, by: 50) {
      #expect(agent.pass(until: seconds).actions == [])
      _ = agent.happen(.progressed(first, done: UInt64(seconds), moved: UInt64(seconds)))
    }
    // Its result waits for the network, and then for a coordinator.
    #expect(agent.happen(.ended(first, .made(.any)), at: 300).actions == [.upload(first)])
    #expect(agent.pass(until: 500).actions == [])
    _ = agent.happen(.disconnected)
    #expect(agent.pass(until: 900) == [])
    #expect(agent.connect(at: 1000).actions == [.upload(first)])
    _ = agent.happen(.uploaded(first), at: 1001)
    #expect(agent.happen(.publishAnswered(.number(1), .published), at: 1002).actions == [.discard(first)])
    #expect(agent.pass(until: 1061.9).actions == [])
    #expect(agent.pass(until: 1062).actions == [.reportEnd(.idle), .leave])
  }

  @Test
  mutating func `a failure that is not acknowledged is a task`() {
    _ = agent.happen(.granted(.number(1)), at: 30)
    _ = agent.happen(.ended(first, .failed(.any)), at: 40)
    #expect(agent.pass(until: 500).actions == [])
    _ = agent.happen(.failureAnswered(.number(1)), at: 501)
    #expect(agent.pass(until: 561).actions == [.reportEnd(.idle), .leave])
  }

  @Test
  mutating func `a worker that takes no tasks is idle`() {
    _ = agent.pass(until: 10)
    _ = agent.happen(.paused("the disk is full"))
    #expect(agent.pass(until: 60).actions == [.reportEnd(.idle), .leave])
  }

  @Test
  mutating func `the time in which its machine slept does not count`() {
    #expect(agent.pass(until: 40).actions == [])
    // The next heartbeat was due at 44.
    #expect(agent.happen(.tick, at: 344).actions == [])
    #expect(agent.pass(until: 359.9).actions == [])
    #expect(agent.pass(until: 360).actions == [.reportEnd(.idle), .leave])
  }

  @Test
  mutating func `one that drains does not end early`() {
    _ = agent.happen(.granted(.number(1)), at: 59)
    _ = agent.happen(.drain, at: 59.5)
    #expect(agent.pass(until: 67).actions == [])
    #expect(agent.happen(.ended(first, .made(.any))).actions == [.upload(first)])
  }

  @Test
  mutating func `without a limit it waits for tasks for ever`() {
    agent = AgentScript(slots: 1)
    #expect(agent.pass(until: 10_000).actions == [])
  }
}
