import FarmModel
import Foundation
import Logging
import Runtime
import Synchronization
import Testing

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
  func `a task's lines have its trace, and so has what its process wrote`() {
    var log = TaskLog(lines.logger)
    var grant = TaskGrant.number(1)
    grant.trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    log.record(AgentEffect.start(RunID(number: 1), grant), at: start)
    let process = ProcessEnd(
      exitCode: 0, signal: 11, cpuMilliseconds: 1, peakBytes: 1 << 20, log: "one\ntwo\u{1B}[2J\n")
    let failure = TaskFailure(.crashed, "crashed", process: process)
    for _ in 0..<2 { log.record(AgentEffect.sendFailure(.number(1), failure), at: start) }
    let trace = "trace=4bf92f3577b34da6a3ce929d0e0e4736"
    #expect(
      lines.all == [
        "info: task started kind=video task=job/1 \(trace)",
        "notice: task process wrote kind=video line=one task=job/1 \(trace)",
        "notice: task process wrote kind=video line=two\\u{1B}[2J task=job/1 \(trace)",
        "warning: task failed end=crashed kind=video peak_MiB=1 reason=crashed seconds=0.0 signal=11 task=job/1 \(trace)",
      ])
  }

  @Test
  func `a log message as JSON is one object on one line, whatever it says`() throws {
    let written = Mutex("")
    var logger = Logger(label: "test") { label in
      JSONLogHandler(label: label) { line in written.withLock { $0 += line } }
    }
    logger[metadataKey: "job"] = "film"
    let name = "a\n\"b\"\\\t\u{1B}[2J\u{0}\u{9B}\u{202E}\u{2028}é🎬"
    logger.warning(
      "job submitted",
      metadata: ["name": "\(name)", "label": "frames 1..2", "level": "x", "peak MiB": "7", "list": ["a", ["k": "v"]]])
    let line = written.withLock(\.self)
    #expect(line.hasSuffix("}\n") && line.dropLast().allSatisfy { !$0.isNewline })
    #expect(!line.dropLast().unicodeScalars.contains { $0.properties.generalCategory == .control })
    let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    #expect(object["name"] as? String == name && object["label"] as? String == "frames 1..2")
    #expect(object["level"] as? String == "warning" && object["level_"] as? String == "x")
    #expect(object["message"] as? String == "job submitted" && object["logger"] as? String == "test")
    #expect(object["job"] as? String == "film" && object["peak_MiB"] as? String == "7")
    #expect((object["list"] as? [Any])?.count == 2)
    let time = try #require(object["time"] as? String)
    #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "\(time)")
    #expect(line.hasPrefix(#"{"time":"\#(time)","level":"warning","message":"job submitted","logger":"test","job":"#))
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
