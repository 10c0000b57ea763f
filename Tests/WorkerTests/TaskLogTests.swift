import FarmModel
import Logging
import Synchronization
import Testing
import Wire

@testable import Worker

/// What an operator reads in a worker's log.
struct TaskLogTests {
  private let lines = Lines()
  private let start = ContinuousClock.now

  @Test
  func `a task's start and end are logged once, with its job, its kind and its duration`() {
    var log = TaskLog(lines.logger)
    var grant = TaskGrant.number(1)
    grant.job = "beach"
    log.record(AgentEffect.start(RunID(number: 1), grant), at: start)
    log.record(AgentEffect.start(RunID(number: 2), .number(2)), at: start)
    log.record(AgentEvent.publishAnswered(.number(1), .published), at: start + .milliseconds(2340))
    let failure = TaskFailure(.media, "frame 7 is damaged")
    for seconds in [3, 9] {
      log.record(AgentEffect.sendFailure(.number(2), failure), at: start + .seconds(seconds))
    }
    log.record(AgentEvent.heartbeatAnswered(cancelled: [.number(1), .number(2)]), at: start + .seconds(9))
    #expect(
      lines.all == [
        "info: task started job=beach kind=video task=job/1", "info: task started kind=video task=job/2",
        "info: task done job=beach kind=video seconds=2.3 task=job/1",
        "warning: task failed end=media kind=video reason=\"frame 7 is damaged\" seconds=3.0 task=job/2",
      ])
  }

  @Test
  func `a released and a cancelled task are logged as that`() {
    var log = TaskLog(lines.logger)
    for number in 1...2 { log.record(AgentEffect.start(RunID(number: number), .number(number)), at: start) }
    let process = ProcessEnd(exitCode: 0, signal: 9, cpuMilliseconds: 1, peakBytes: 5 << 20)
    let failure = TaskFailure(.released, "the worker is shutting down", process: process)
    log.record(AgentEffect.sendFailure(.number(1), failure), at: start)
    log.record(AgentEvent.heartbeatAnswered(cancelled: [.number(2)]), at: start)
    #expect(
      lines.all.suffix(2) == [
        "warning: task released kind=video peak_MiB=5 reason=\"the worker is shutting down\" seconds=0.0 signal=9 "
          + "task=job/1",
        "info: task cancelled by the coordinator kind=video seconds=0.0 task=job/2",
      ])
  }

  @Test
  func `a log message is one line, whatever it says`() {
    lines.logger.info("read", metadata: ["file": "a\nb \"c\"", "empty": ""])
    #expect(lines.all == [#"info: read empty="" file="a; b 'c'""#])
  }

  /// A client chooses the names of its jobs.
  @Test
  func `a log message has no control characters`() {
    lines.logger.info("job\tsubmitted", metadata: ["name": "a\u{1B}[2J\u{0}b\u{9B}\u{202E}c"])
    #expect(lines.all == [#"info: job\u{9}submitted name=a\u{1B}[2J\u{0}b\u{9B}\u{202E}c"#])
  }
}

/// The lines that a logger wrote, without their times.
private final class Lines: Sendable {
  private let text = Mutex<[String]>([])

  var logger: Logger {
    Logger(label: "test") { _ in
      LineLogHandler { line in self.text.withLock { $0.append(String(line.dropLast())) } }
    }
  }

  var all: [String] {
    text.withLock { lines in lines.map { $0.split(separator: " ", maxSplits: 1).dropFirst().joined() } }
  }
}
