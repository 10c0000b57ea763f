import FarmModel
import Testing

@testable import Worker

@Suite("What an agent reports that an attempt took")
struct AgentUsageTests {
  private let first = RunID(number: 1)
  private let second = RunID(number: 2)
  private let process = ProcessEnd(exitCode: 0, signal: 0, cpuMilliseconds: 2_345, peakBytes: 67 << 20)

  @Test
  func `the time from the grant to the result is that of its phases`() throws {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.granted(.number(2)), at: 0)
    _ = agent.happen(.entered(first, .executing), at: 1.25)
    _ = agent.happen(.fetched(first, bytes: 700), at: 1.5)
    _ = agent.happen(.entered(first, .waiting), at: 2)
    _ = agent.happen(.fetched(first, bytes: 77), at: 2.5)
    _ = agent.happen(.entered(first, .executing), at: 2.75)
    _ = agent.happen(.entered(first, .verifying), at: 5)
    var result = TaskResult.any
    result.process = process
    #expect(
      agent.happen(.ended(first, .made(result)), at: 5.5).actions == [.upload(first), .start(second, .number(2))])
    _ = agent.happen(.uploadPostponed(first), at: 6)
    _ = agent.happen(.tick, at: 7)
    let effects = agent.happen(.uploaded(first, bytes: 1_234), at: 8.125)
    let usage = try #require(effects.published)
    #expect(usage.wait == .zero && usage.upload == .milliseconds(2_625))
    #expect(usage.fetch == .milliseconds(1_250 + 750 + 500) && usage.render == .milliseconds(750 + 2_250))
    #expect(usage.phases.reduce(.zero, +) == .milliseconds(8_125))
    #expect((usage.fetchedBytes, usage.uploadedBytes) == (777, 1_234))
    #expect((usage.cpu, usage.peakBytes) == (.milliseconds(2_345), 67 << 20))
    _ = agent.happen(.entered(second, .executing), at: 9)
    result.process = nil
    _ = agent.happen(.ended(second, .made(result)), at: 10)
    let late = try #require(agent.happen(.uploaded(second), at: 10).published)
    #expect(late.wait == .milliseconds(5_500) && late.fetch == .milliseconds(3_500) && late.cpu == .zero)
  }

  @Test
  func `a failure has it until it was given up, however often it is sent`() throws {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.entered(first, .executing), at: 0.5)
    let failure = TaskFailure(.media, "broken", process: process)
    let sent = try #require(agent.happen(.ended(first, .failed(failure)), at: 3).failed)
    #expect(sent.render == .milliseconds(2_500) && sent.cpu == .milliseconds(2_345))
    _ = agent.happen(.disconnected, at: 4)
    #expect(agent.connect(at: 9).failed == sent)
  }

  @Test
  func `a failure that is reported before its process has ended does not say it`() throws {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.entered(first, .executing), at: 0.5)
    _ = agent.happen(.drain, at: 1)
    let effects = agent.pass(until: 12)
    #expect(effects.contains { if case .sendFailure = $0 { true } else { false } } && effects.failed == nil)
  }

  @Test
  func `a task that hung has its process's time too`() throws {
    var agent = AgentScript(slots: 1)
    _ = agent.happen(.granted(.number(1)), at: 0)
    _ = agent.happen(.entered(first, .executing), at: 1)
    #expect(agent.pass(until: 61).actions == [.kill(first)])
    let usage = try #require(agent.happen(.ended(first, .killed(process)), at: 61.5).failed)
    #expect(usage.fetch == .seconds(1) && usage.render == .milliseconds(60_500))
    #expect(usage.cpu == .milliseconds(2_345))
  }
}

extension [AgentEffect] {
  fileprivate var published: AttemptUsage? {
    compactMap { if case .sendPublish(_, let result) = $0 { result.usage } else { nil } }.first
  }

  fileprivate var failed: AttemptUsage? {
    compactMap { if case .sendFailure(_, let failure) = $0 { failure.usage } else { nil } }.first
  }
}
