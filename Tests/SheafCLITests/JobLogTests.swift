import FarmAPI
import FarmModel
import Foundation
import SystemSupport
import Testing

@testable import SheafCLI

struct JobLogTests {
  private static let log = (1...8).map { "line \($0)\n" }.joined()

  private static let crash = TaskStatus.Attempt(
    epoch: 1, worker: "id-c", workerName: "carl", ranSeconds: 12.5, end: .crashed, message: "the process crashed",
    process: ProcessEnd(exitCode: 0, signal: 11, cpuMilliseconds: 1500, peakBytes: 40_000_000, log: log))
  private static let release = TaskStatus.Attempt(
    epoch: 2, worker: "id-d", ranSeconds: 0, end: .released, message: "a full\ndisk")

  private let failed = JobStatus.with {
    $0.job = "k3v9"
    $0.name = "film.json"
    $0.priority = 5
    $0.state = .failed
    $0.error = "task 2 failed"
    $0.submittedAt = Timestamp("2026-11-28T04:05:06.789Z")
    $0.endedAt = Timestamp("2026-11-28T04:06:11.789Z")
    $0.elapsedSeconds = 65
    $0.shortBuild = "ab12"
    ($0.segmentsTotal, $0.segmentsCached, $0.framesTotal) = (3, 1, 900)
    $0.tasks = [
      .with {
        ($0.ordinal, $0.kind, $0.state, $0.label) = (0, .probe, .done, "probe of beach.mp4")
        ($0.workerName, $0.worker, $0.ranSeconds, $0.epoch) = ("anna", "id-a", 0.4, 1)
      },
      .with {
        ($0.ordinal, $0.kind, $0.state, $0.label, $0.cached) = (1, .video, .done, "frames 0..299", true)
      },
      .with {
        ($0.ordinal, $0.kind, $0.state, $0.label) = (2, .video, .failed, "frames 300..599")
        $0.setAttempts([crash, release])
      },
      .with {
        ($0.ordinal, $0.kind, $0.state, $0.label, $0.epoch) = (3, .video, .running, "frames 600..899", 4)
        ($0.workerName, $0.worker, $0.ranSeconds) = ("anna", "id-a", 75)
        ($0.secondWorkerName, $0.secondWorker) = ("bert", "id-b")
      },
      .with { ($0.ordinal, $0.kind, $0.state) = (4, .stitch, .waiting) },
    ]
  }

  @Test func `a log has what happened in order, with the end of each process's log`() {
    let blank = String(repeating: " ", count: 24)
    let expected = [
      "2026-11-28T04:05:06.789Z  submitted: film.json, priority 5",
      "\(blank)  task 0, probe of beach.mp4: done on anna in 0.4 s",
      "\(blank)  planned: 3 segments, 1 of them from the cache, 900 frames, build ab12",
      "\(blank)  task 2, frames 300..599:, attempt 1 on carl crashed after 12.5 s (signal 11, 1.5 s of CPU, 40.0 MB at most): "
        + "the process crashed",
      "  | … 3 lines before; --full shows them",
      "  | line 4", "  | line 5", "  | line 6", "  | line 7", "  | line 8",
      "\(blank)  task 2, frames 300..599:, attempt 2 on id-d released: a full disk",
      "\(blank)  task 3, frames 600..899: runs on anna for 1:15 min",
      "\(blank)  task 3, frames 600..899: runs on bert also: a backup lease",
      "2026-11-28T04:06:11.789Z  failed after 1:05 min",
      "  task 2 failed",
    ].map { $0.replacing(":, attempt", with: ", attempt") }
    #expect(JobLog(failed).entries.flatMap { $0.lines(full: false) } == expected)
  }

  @Test func `one task has its whole log, also if its result was known`() {
    let lines = JobLog(failed, task: 2).entries.flatMap { $0.lines(full: true) }
    #expect(lines.count == 10 && lines[1] == "  | line 1" && lines[8] == "  | line 8")
    #expect(
      JobLog(failed, task: 1).entries.map { $0.lines(full: true) } == [
        ["\(String(repeating: " ", count: 24))  task 1, frames 0..299: from the cache"]
      ])
    #expect(JobLog(failed, task: 9).entries.isEmpty)
  }

  @Test func `a job that is not planned has no plan`() {
    var status = failed
    status.tasks = [failed.tasks[0]]
    status.state = .probing
    #expect(JobLog(status).entries.map(\.event) == [.jobSubmitted, .taskDone])
  }

  @Test func `a follower shows each entry once, as it comes`() {
    var follower = LogFollower()
    var status = failed
    status.state = .rendering
    #expect(follower.new(in: status).count == 7)
    status.tasks[3].ranSeconds = 80
    #expect(follower.new(in: status).isEmpty)
    status.tasks[3].state = .done
    (status.tasks[3].secondWorker, status.tasks[3].secondWorkerName) = (nil, nil)
    #expect(follower.new(in: status).map(\.event) == [.taskDone])
    // It is granted again after an attempt.
    status.tasks[2].state = .running
    status.tasks[2].epoch = 3
    #expect(follower.new(in: status).map(\.epoch) == [3])
    #expect(follower.new(in: failed).map(\.event) == [.jobEnded])
  }

  @Test func `the JSON has the keys that scripts rely on`() throws {
    let json = try JSONCoding.encoder.encode(JobLog(failed).entries)
    let list = try #require(try JSONSerialization.jsonObject(with: json) as? [[String: Any]])
    #expect(
      list.map { $0["event"] as? String } == [
        "jobSubmitted", "taskDone", "jobPlanned", "taskFailed", "taskFailed", "taskGranted", "taskGranted", "jobEnded",
      ])
    #expect(list[0]["at"] as? String == "2026-11-28T04:05:06.789Z")
    #expect(
      list[3].keys.sorted() == [
        "cpuSeconds", "end", "epoch", "event", "exitCode", "kind", "label", "log", "message", "peakBytes", "ranSeconds",
        "signal", "task", "worker", "workerName",
      ])
    #expect(list[3]["log"] as? String == Self.log && list[7]["state"] as? String == "failed")
  }
}
