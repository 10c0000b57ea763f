import CompositionModel
import Digest
import FarmAPI
import FarmModel
import Foundation
import SwiftProtobuf
import SystemSupport
import Testing
import Wire

@testable import FarmWire

/// What the farm reports is the same on the other side of the wire, and in JSON.
struct StatusMessageTests {
  /// Every member has a value that is not its default.
  private var status: JobStatus {
    var status = JobStatus(job: "k3v9x2m4q7ab", name: "film.json", state: .rendering)
    status.priority = -3
    (status.framesDone, status.framesTotal) = (640, 1001)
    (status.segmentsDone, status.segmentsTotal, status.segmentsCached) = (2, 7, 1)
    (status.filesDone, status.filesTotal, status.measuredDone, status.measuredTotal) = (3, 4, 5, 6)
    status.running = 2
    (status.hasAudio, status.audioDone) = (true, true)
    status.build = "sheaf 0.1.0; x86-64"
    status.shortBuild = ShortBuild.of("sheaf 0.1.0; x86-64")
    (status.submittedSecondsAgo, status.elapsedSeconds, status.renderingSeconds) = (125.5, 93.25, 4.125)
    status.secondsLeft = 37.5
    status.submittedAt = Timestamp("2026-11-28T04:05:06.789Z")
    status.endedAt = Timestamp("2026-11-28T05:00:00.001Z")
    status.renderingSince = Timestamp("2026-11-28T04:05:07Z")
    status.wait = JobWait(.memory, "a task needs about 7168 MiB")
    status.notices = ["the disk is full"]
    status.error = "a damaged file"
    status.problems = [Problem(pointer: "/tracks/0", message: "no clip")]
    status.output = .init(Content(digest: .of([7]), size: 5_000_000_000))
    status.damage = [
      DamageReport(
        path: "a.mov", track: 1, type: .audio, count: 12, places: [.init(sourceSeconds: 3.2, filmSeconds: 1.12)]),
      DamageReport(path: "b.mov", track: 0, type: .video, count: 1, places: []),
    ]
    (status.owner, status.isPaused, status.after) = ("anna", true, ["a1", "b2"])
    status.holdUntil = Timestamp("2026-12-01T22:00:00Z")
    status.setWarnings([
      Problem(pointer: "", message: "odd"),
      Problem(pointer: "/assets/a", message: "left out", loss: Loss(what: .track, track: 3)),
      Problem(pointer: "/assets/b", message: "left out", loss: Loss(what: .chapter, track: nil)),
    ])
    var first = OutputReport(file: "high.mp4")
    first.container = "mp4"
    first.video = .init(codec: "h264", width: 1280, height: 720, bitRate: 3_000_000, quality: nil)
    first.audio = .init(codec: "aac", sampleRate: 48000, channels: 2, bitRate: 128_000)
    var second = OutputReport(file: "low.mp4")
    second.container = "mp4"
    second.video = .init(codec: "h264", width: 640, height: 360, bitRate: nil, quality: 23.5)
    status.outputs = [first, second, OutputReport(file: "sound.m4a")]
    var task = TaskStatus(task: "k3v9x2m4q7ab/1", kind: .video, state: .running)
    (task.label, task.ordinal, task.epoch) = ("frames 0..299", 1, 4)
    (task.worker, task.workerName, task.secondWorker, task.secondWorkerName) = ("id-a", "anna", "id-b", "bert")
    (task.done, task.work, task.ranSeconds, task.cached) = (40, 300, 12.5, true)
    task.boundary = "a keyframe of beach"
    (task.grantedAt, task.endedAt) = (Timestamp("2026-11-28T04:05:08Z"), Timestamp("2026-11-28T04:05:20.5Z"))
    task.usage = UsageReport(usage(3))
    task.setAttempts([
      .init(
        epoch: 1, worker: "id-c", workerName: "carl", ranSeconds: 3.5, end: .crashed, message: "signal 11",
        process: ProcessEnd(exitCode: 1, signal: 11, cpuMilliseconds: 1500, peakBytes: 4096, log: "the end\n"),
        endedAt: Timestamp("2026-11-28T04:05:07.25Z"), usage: UsageReport(usage(1))),
      .init(epoch: 2, worker: "id-d", end: .released, message: "a full disk"),
    ])
    status.usage = JobUsage([
      .init(worker: "id-a", workerName: "anna", attempts: 2, usage: UsageReport(usage(3))),
      .init(worker: "id-c", workerName: "carl", attempts: 1, usage: UsageReport(usage(1))),
    ])
    status.tasks = [task, TaskStatus(task: "k3v9x2m4q7ab/0", kind: .probe, state: .done)]
    return status
  }

  private func usage(_ number: Int64) -> AttemptUsage {
    var usage = AttemptUsage()
    (usage.wait, usage.fetch) = (.milliseconds(number), .milliseconds(20))
    (usage.render, usage.upload, usage.cpu) = (.milliseconds(3_001), .milliseconds(4), .milliseconds(5_555))
    (usage.peakBytes, usage.fetchedBytes, usage.uploadedBytes) = (6 << 20 + number, 7_777, 8)
    return usage
  }

  @Test func `a status is the same on the other side of the wire`() {
    #expect(JobStatus(Sheaf_JobStatus(status), notices: status.notices) == status)
    let bare = JobStatus(job: "j", state: .probing)
    #expect(JobStatus(Sheaf_JobStatus(bare)) == bare)
  }

  @Test func `a worker is the same on the other side of the wire`() {
    var worker = WorkerStatus(name: "anna", id: "id-a")
    (worker.slots, worker.busy, worker.build, worker.shortBuild) = (8, 3, "b", ShortBuild.of("b"))
    (worker.connectedSeconds, worker.coordinator) = (61.5, "farm:7433")
    worker.connectedAt = Timestamp("1969-12-31T23:59:59.999Z")
    (worker.taskMemory, worker.paused) = (2 << 30, "its disk is full")
    #expect(WorkerStatus(Sheaf_WorkersReply.Worker(worker)) == worker)
    let bare = WorkerStatus(name: "bert", id: "id-b")
    #expect(WorkerStatus(Sheaf_WorkersReply.Worker(bare)) == bare)
  }

  @Test func `a status is the same after JSON, and has the keys that scripts rely on`() throws {
    let json = try JSONCoding.encoder.encode(status)
    #expect(try JSONDecoder().decode(JobStatus.self, from: json) == status)
    let object = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any])
    #expect(
      object.keys.sorted() == [
        "after", "audioDone", "build", "damage", "elapsedSeconds", "endedAt", "error", "filesDone", "filesTotal",
        "framesDone", "framesTotal", "hasAudio", "holdUntil", "isPaused", "job", "losses", "measuredDone",
        "measuredTotal", "name", "notices", "output", "outputs", "owner", "priority", "problems", "renderingSeconds",
        "renderingSince", "running", "secondsLeft", "segmentsCached", "segmentsDone", "segmentsTotal", "shortBuild",
        "state",
        "submittedAt", "submittedSecondsAgo", "tasks", "usage", "waitReason", "waitsFor", "warnings",
      ])
    #expect(object["waitsFor"] as? String == "a task needs about 7168 MiB" && object["state"] as? String == "rendering")
    #expect((object["losses"] as? [Any])?.count == 2)
    #expect(object["submittedAt"] as? String == "2026-11-28T04:05:06.789Z")
    #expect(object["renderingSince"] as? String == "2026-11-28T04:05:07.000Z")
    let task = try #require((object["tasks"] as? [[String: Any]])?.first)
    #expect(
      task.keys.sorted() == [
        "attempts", "boundary", "cached", "done", "endedAt", "epoch", "error", "grantedAt", "kind", "label", "ordinal",
        "ranSeconds", "secondWorker", "secondWorkerName", "state", "task", "usage", "work", "worker", "workerName",
      ])
    let attempt = try #require((task["attempts"] as? [[String: Any]])?.first)
    #expect(
      attempt.keys.sorted() == [
        "cpuSeconds", "end", "endedAt", "epoch", "exitCode", "log", "message", "peakBytes", "ranSeconds", "signal",
        "usage", "worker", "workerName",
      ])
    let usage = try #require(object["usage"] as? [String: Any])
    #expect(usage.keys.sorted() == ["attempts", "total", "workers"] && usage["attempts"] as? Int == 3)
    let total = try #require(usage["total"] as? [String: Double])
    #expect(total["renderSeconds"] == 6.002 && total["fetchedBytes"] == 15_554 && total["waitSeconds"] == 0.004)
  }

  @Test func `what a later version has sent is unknown and not wrong`() throws {
    var message = Sheaf_JobStatus(status)
    message.state = .UNRECOGNIZED(99)
    message.waitReason = "moon"
    message.tasks[0].kind = .UNRECOGNIZED(99)
    message.tasks[0].state = .unspecified
    message.tasks[0].endedAttempts[0].end = .UNRECOGNIZED(99)
    message.warnings[1].lost = "smell"
    let read = JobStatus(message)
    #expect(read.state == nil && !read.hasEnded && read.waitReason == .other && read.waitsFor == status.waitsFor)
    #expect(read.tasks[0].kind == nil && read.tasks[0].state == nil && read.tasks[0].attempts[0].end == nil)
    #expect(read.warnings.count == 3 && read.losses.count == 1)
    let json = try JSONCoding.encoder.encode(read)
    #expect(String(decoding: json, as: UTF8.self).contains(#""state":"unknown""#))
    #expect(try JSONDecoder().decode(JobStatus.self, from: json).state == nil)
  }

  @Test func `numbers that no farm has are limited`() {
    var message = Sheaf_JobStatus()
    (message.framesDone, message.framesTotal) = (.max, .max)
    (message.elapsedMilliseconds, message.submittedMillisecondsAgo) = (.min, .max)
    message.tasks = [.with { ($0.done, $0.work, $0.ranMilliseconds) = (.max, .max, .min) }]
    message.tasks[0].endedAttempts = [
      .with { $0.process = .with { ($0.cpuMilliseconds, $0.peakBytes) = (.max, .max) } }
    ]
    let read = JobStatus(message)
    message.tasks[0].usage = .with { ($0.cpuMilliseconds, $0.fetchedBytes) = (.max, .max) }
    message.usage = [.with { $0.usage = message.tasks[0].usage }, .with { $0.usage = message.tasks[0].usage }]
    #expect(JobStatus(message).usage?.total.fetchedBytes == .max)
    #expect(AttemptUsage(attempt: message.tasks[0].usage).fetchedBytes == 1 << 46)
    #expect(read.framesDone == .max && read.tasks[0].work == .max)
    // And back: no number ends a process.
    let back = Sheaf_JobStatus(read)
    #expect(back.framesTotal == UInt64(Int.max))
    #expect(back.tasks[0].endedAttempts[0].process.cpuMilliseconds == UInt64(Int64.max))
  }
}
