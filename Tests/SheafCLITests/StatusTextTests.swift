import CompositionModel
import Digest
import FarmAPI
import FarmModel
import Foundation
import SystemSupport
import Testing

@testable import SheafCLI

struct StatusTextTests {
  private let attempt = TaskStatus.Attempt(
    epoch: 1, worker: "id-c", workerName: "carl", ranSeconds: 12.5, end: .crashed,
    message: "the task process was ended by signal 11",
    process: ProcessEnd(exitCode: 0, signal: 11, cpuMilliseconds: 1500, peakBytes: 4096, log: "a line\nthe end\n"))

  private var status: JobStatus {
    .with {
      $0.job = "k3v9x2m4q7ab"
      $0.name = "first-film.json"
      $0.state = .rendering
      $0.priority = 5
      $0.framesDone = 640
      $0.framesTotal = 1000
      $0.segmentsDone = 2
      $0.segmentsTotal = 4
      $0.segmentsCached = 1
      $0.submittedSecondsAgo = 125
      $0.build = "sheaf 0.1.0; a long build; x86-64"
      $0.wait = JobWait(.noSlot, "no worker has a free slot")
      $0.notices = ["the coordinator's disk is full"]
      $0.tasks = [
        .with {
          $0.kind = .probe
          $0.state = .done
          $0.cached = true
          $0.label = "probe of beach.mp4"
        },
        .with {
          $0.ordinal = 1
          $0.kind = .video
          $0.state = .running
          $0.label = "frames 0..299 of beach.mp4, dunes.mp4"
          ($0.worker, $0.workerName) = ("id-a", "anna")
          ($0.secondWorker, $0.secondWorkerName) = ("id-b", "bert")
          $0.done = 40
          $0.work = 100
          $0.ranSeconds = 75
        },
        .with {
          $0.ordinal = 2
          $0.kind = .audio
          $0.state = .ready
          $0.setAttempts([attempt])
        },
      ]
    }
  }

  @Test func `what a job took is shown in 80 columns, by worker if there are several`() throws {
    func worker(_ id: String, _ name: String, _ number: Int64) -> JobUsage.Worker {
      var usage = AttemptUsage()
      (usage.render, usage.cpu, usage.fetch) = (.seconds(3_000 * number), .seconds(5_500 * number), .seconds(70))
      (usage.peakBytes, usage.fetchedBytes, usage.uploadedBytes) = (900_000_000, 1_234_000_000 * number, 7_000)
      return JobUsage.Worker(worker: id, workerName: name, attempts: Int(17 * number), usage: UsageReport(usage))
    }
    var one = status
    one.tasks = []
    one.usage = JobUsage([worker("a1", "anna", 1)])
    let alone = StatusText.lines(one, width: 80)
    #expect(alone.suffix(2).first == "took       50:00 min of work in 17 attempts, 1:31:40 h of CPU, 900.0 MB at most")
    #expect(alone.last == "           1:10 min for 1.2 GB of inputs, 0.0 s for 7.0 kB of results")
    // A program that was started again has another id, and the same name.
    one.usage = JobUsage([worker("a1", "anna", 1), worker("a2", "anna", 1), worker("b1", "bert", 2)])
    let lines = StatusText.lines(one, width: 80)
    let rows = lines.suffix(2).map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
    #expect(rows == ["anna 34", "bert 34"])
    #expect(lines.suffix(6).allSatisfy { $0.count <= 80 }, "\(lines)")
  }

  private let head = [
    "job        k3v9x2m4q7ab", "document   first-film.json",
    "state      rendering: 640/1000 frames, 2/4 segments (1 from the cache); it waits: no worker has a free slot",
    "priority   5", "submitted  2 min ago", "build      \(ShortBuild.of("sheaf 0.1.0; a long build; x86-64"))",
    "farm       the coordinator's disk is full", "",
  ]
  private let attemptLines = [
    "      attempt 1 on carl: crashed after 12.5 s: the task process was ended by signal 11", "        | a line",
    "        | the end",
  ]

  private func lines(_ width: Int?, long: Bool = false) -> [String] {
    StatusText.lines(status, long: long, width: width)
  }

  @Test func `a job and its tasks on a pipe`() {
    #expect(
      lines(nil) == head + [
        "TASK  WHAT                                   STATE         WORKER             TIME",
        "   0  probe of beach.mp4                     cached",
        "   1  frames 0..299 of beach.mp4, dunes.mp4  running 40 %  anna and bert  1:15 min",
        "   2  audio                                  ready",
      ] + attemptLines)
  }

  @Test func `a job and its tasks at 80 columns`() {
    #expect(
      lines(80) == head + [
        "TASK  WHAT                                 STATE         WORKER             TIME",
        "   0  probe of beach.mp4                   cached",
        "   1  frames 0..299 of beach.mp4, dunes.…  running 40 %  anna and bert  1:15 min",
        "   2  audio                                ready",
      ] + attemptLines)
  }

  @Test func `a job and its tasks at 40 columns`() {
    #expect(
      lines(40) == head + [
        "TASK  WHAT        STATE         WORKER",
        "   0  probe of …  cached",
        "   1  frames 0.…  running 40 %  anna an…",
        "   2  audio       ready",
      ] + attemptLines)
  }

  @Test func `names are shown, and ids on request`() {
    #expect(!lines(nil).joined().contains("id-a"))
    let long = lines(nil, long: true)
    #expect(long.contains { $0.contains("anna (id-a) and bert (id-b)") })
    #expect(long.contains("build      sheaf 0.1.0; a long build; x86-64"))
  }

  @Test func `a job that has ended says what is next`() {
    var status = JobStatus.with {
      $0.job = "j"
      $0.state = .done
      $0.framesTotal = 330
      $0.elapsedSeconds = 93
      $0.renderingSeconds = 4.21
      $0.output = .init(Content(digest: .of([]), size: 12_345_678))
    }
    let film = "film       12.3 MB, SHA-256 \(SHA256Digest.of([]))"
    #expect(StatusText.lines(status, width: nil).suffix(2) == [film, "next       sheaf fetch j -o FILE"])
    status = .with {
      $0.job = "j"
      $0.state = .failed
      $0.error = "a damaged file"
    }
    #expect(
      StatusText.lines(status, width: nil).suffix(2) == ["error      a damaged file", "next       sheaf retry j"])
    // The document must be changed, so another try cannot help.
    status.problems = [Problem(pointer: "/tracks", message: "no clip")]
    #expect(StatusText.lines(status, width: nil).last == "problem    /tracks: no clip")
  }

  private var jobs: [JobStatus] {
    [
      status,
      .with {
        $0.job = "abcdefghijkl"
        $0.name = "a film with a very long name indeed.json"
        $0.state = .done
        $0.framesTotal = 330
        $0.elapsedSeconds = 93
        $0.renderingSeconds = 4.21
        $0.submittedSecondsAgo = 7300
      },
      .with {
        $0.job = "mnopqrstuvwx"
        $0.name = "new\u{1B}\nlines"
        $0.state = .probing
        $0.filesDone = 2
        $0.filesTotal = 5
        $0.submittedSecondsAgo = 1.5
      },
    ]
  }

  @Test func `the list of jobs on a pipe`() {
    #expect(
      StatusText.list(jobs, notices: ["the disk is full"], width: nil) == [
        "the disk is full",
        "JOB           NAME                                      STATE      PROGRESS               PRIORITY    AGE",
        "k3v9x2m4q7ab  first-film.json                           rendering  64 %, 640/1000 frames         5  2 min",
        "  waits: no worker has a free slot",
        "abcdefghijkl  a film with a very long name indeed.json  done       330 frames in 4.2 s           0    2 h",
        "mnopqrstuvwx  new\\u{1B} lines                           probing    2 of 5 files                  0    1 s",
      ])
  }

  @Test func `the list of jobs at 80 columns`() {
    #expect(
      StatusText.list(jobs, notices: [], width: 80) == [
        "JOB           NAME             STATE      PROGRESS               PRIORITY    AGE",
        "k3v9x2m4q7ab  first-film.json  rendering  64 %, 640/1000 frames         5  2 min",
        "  waits: no worker has a free slot",
        "abcdefghijkl  a film with a …  done       330 frames in 4.2 s           0    2 h",
        "mnopqrstuvwx  new\\u{1B} lines  probing    2 of 5 files                  0    1 s",
      ])
  }

  @Test func `the list of jobs at 40 columns`() {
    let lines = StatusText.list(jobs, notices: [], width: 40)
    #expect(lines.allSatisfy { $0.displayWidth <= 40 }, "\(lines)")
    #expect(lines[0].hasPrefix("JOB           NAME"), "\(lines)")
    #expect(lines[1].contains("rendering") && lines[1].contains("64"), "\(lines)")
    #expect(StatusText.list([], notices: [], width: 40) == ["no jobs"])
  }

  @Test func `workers are listed with short builds and why they pause`() {
    let build = "sheaf 0.1.0; libavcodec 59.37.100; x86-64"
    let workers: [WorkerStatus] = [
      .with {
        $0.name = "anna"
        ($0.busy, $0.slots) = (1, 8)
        ($0.build, $0.shortBuild) = (build, ShortBuild.of(build))
        $0.connectedSeconds = 3700
        $0.coordinator = "farm:7433"
      },
      .with {
        $0.name = "bert"
        $0.slots = 16
        ($0.build, $0.shortBuild) = (build, ShortBuild.of(build))
        $0.connectedSeconds = 61
        $0.coordinator = "farm:7433"
        $0.paused = "its disk is full"
      },
    ]
    let short = ShortBuild.of(build)
    #expect(short.utf8.count == 8)
    #expect(
      StatusText.workers(workers, long: false, width: 80) == [
        "NAME  BUSY  BUILD     CONNECTED  COORDINATOR", "anna   1/8  \(short)        1 h  farm:7433",
        "bert  0/16  \(short)      1 min  farm:7433", "  paused: its disk is full",
      ])
    #expect(StatusText.workers(workers, long: true, width: 80).suffix(3) == ["", "builds:", "  \(short)  \(build)"])
    #expect(StatusText.workers([], long: false, width: nil) == ["no workers"])
  }

  @Test func `the JSON has every attempt`() throws {
    let bytes = try JSONCoding.encoder.encode(status)
    let json = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
    let tasks = try #require(json["tasks"] as? [[String: Any]])
    #expect(json["state"] as? String == "rendering")
    #expect(tasks[1]["secondWorker"] as? String == "id-b")
    #expect(tasks[1]["workerName"] as? String == "anna" && tasks[1]["label"] as? String != nil)
    #expect(tasks[2]["error"] as? String == attempt.message)
    let attempts = try #require(tasks[2]["attempts"] as? [[String: Any]])
    #expect(attempts.count == 1)
    #expect(attempts[0]["end"] as? String == "crashed" && attempts[0]["worker"] as? String == "id-c")
    #expect(attempts[0]["workerName"] as? String == "carl" && attempts[0]["ranSeconds"] as? Double == 12.5)
    #expect(attempts[0]["signal"] as? Int == 11 && attempts[0]["exitCode"] as? Int == 0)
    #expect(attempts[0]["cpuSeconds"] as? Double == 1.5 && attempts[0]["peakBytes"] as? Int == 4096)
    #expect(attempts[0]["log"] as? String == "a line\nthe end\n")
  }

  /// `plan --json` keeps its keys, whatever the names in the program.
  @Test func `a plan is read and shown`() throws {
    let json = """
      {"container":"mov","damage":[],"duration":"8","frames":80,"instructions":[{"background":"#000000","layers":["A"],"range":{"duration":"8","start":"0"}}],\
      "losses":[],"picture":{"codec":"ffv1","frameDuration":"1/10","height":48,"pixelFormat":"yuv420p","width":64},\
      "segments":[{"action":"encoded","boundary":"the film starts","cost":1,"endFrame":80,"firstFrame":0,"range":{"duration":"8","start":"0"}}],\
      "sound":{"action":"cached","channels":2,"codec":"aac","sampleRate":48000,"samples":384000},"warnings":[]}
      """
    let plan = try JSONDecoder().decode(PlanReport.self, from: Data(json.utf8))
    #expect(String(decoding: try JSONCoding.encoder.encode(plan), as: UTF8.self) == json)
    #expect(
      PlanText.lines(plan) == [
        "film: mov, 8 s, 80 frames", "video: ffv1, 64x48, yuv420p, a frame every 1/10 s (0.100)",
        "audio: aac, 48000 Hz, channels: 2, samples: 384000, cached", "instructions:", "  0..8  A over #000000",
        "segments:", "  0  frames 0..<80  0..8  cost 100.0 %  encoded  starts because: the film starts",
      ])
  }
}
