import Digest
import Foundation
import SwiftProtobuf
import SystemSupport
import Testing
import Wire

@testable import Coordinator
@testable import SheafCLI

struct StatusTextTests {
  private let attempt = Sheaf_Attempt.with {
    $0.epoch = 1
    $0.worker = "carl"
    $0.end = .crashed
    $0.message = "the task process was ended by signal 11"
    $0.process = .with {
      $0.signal = 11
      $0.cpuMilliseconds = 1500
      $0.peakBytes = 4096
      $0.log = "a line\n"
    }
  }

  private var status: Sheaf_JobStatus {
    .with {
      $0.job = "j1"
      $0.name = "film"
      $0.state = .rendering
      $0.tasks = [
        .with {
          $0.kind = .probe
          $0.state = .done
          $0.cached = true
        },
        .with {
          $0.ordinal = 1
          $0.kind = .video
          $0.state = .running
          $0.worker = "anna"
          $0.backupWorker = "bert"
          $0.done = 40
          $0.work = 100
          $0.attempts = 2
        },
        .with {
          $0.ordinal = 2
          $0.kind = .audio
          $0.state = .ready
          $0.attempts = 1
          $0.endedAttempts = [attempt]
        },
      ]
    }
  }

  @Test func tasksAreListedWithTheirWorkersAndAttempts() {
    let lines = StatusText.lines(status)
    #expect(lines.contains("  0  probe  done (from the cache)"))
    #expect(lines.contains("  1  video  running  40/100  on anna and bert  attempt 2"))
    #expect(lines.contains("  2  audio  ready  the task process was ended by signal 11"))
  }

  @Test func theJSONHasEveryAttempt() throws {
    let bytes = try JSONCoding.encoder.encode(JobView(status))
    let json = try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
    let tasks = try #require(json["tasks"] as? [[String: Any]])
    #expect(json["state"] as? String == "rendering")
    #expect(tasks[1]["secondWorker"] as? String == "bert")
    #expect(tasks[2]["error"] as? String == attempt.message)
    let attempts = try #require(tasks[2]["attempts"] as? [[String: Any]])
    #expect(attempts.count == 1)
    #expect(attempts[0]["end"] as? String == "crashed" && attempts[0]["worker"] as? String == "carl")
    #expect(attempts[0]["signal"] as? Int == 11 && attempts[0]["exitCode"] as? Int == 0)
    #expect(attempts[0]["cpuSeconds"] as? Double == 1.5 && attempts[0]["peakBytes"] as? Int == 4096)
    #expect(attempts[0]["log"] as? String == "a line\n")
  }

  @Test func everyStateHasItsName() {
    let states: [(Sheaf_JobState, String)] = [
      (.probing, "probing media: 1/1 files"), (.rendering, "rendering: 0/0 frames, 0/0 segments"),
      (.done, "done: 0 frames, 0 segments, 0.0 s"), (.failed, "failed"), (.cancelled, "cancelled"),
    ]
    for (state, text) in states {
      var status = status
      status.state = state
      #expect(ProgressLine.plain(status, rate: nil) == text)
    }
  }

  /// `plan --json` keeps its keys, whatever the names in the program.
  @Test func aPlanIsReadAndShown() throws {
    let json = """
      {"container":"mov","duration":"8","frames":80,"instructions":[{"background":"#000000","layers":["A"],"range":{"duration":"8","start":"0"}}],\
      "picture":{"codec":"ffv1","frameDuration":"1/10","height":48,"pixelFormat":"yuv420p","width":64},\
      "segments":[{"action":"encoded","boundary":"the film starts","cost":1,"endFrame":80,"firstFrame":0,"range":{"duration":"8","start":"0"}}],\
      "sound":{"action":"cached","channels":2,"codec":"aac","sampleRate":48000,"samples":384000}}
      """
    let plan = try JSONDecoder().decode(PlanReport.self, from: Data(json.utf8))
    #expect(String(decoding: try JSONCoding.encoder.encode(plan), as: UTF8.self) == json)
    #expect(
      PlanText.lines(plan) == [
        "film: mov, 8 s, 80 frames", "video: ffv1, 64x48, yuv420p, a frame every 1/10 s",
        "audio: aac, 48000 Hz, channels: 2, samples: 384000, cached", "instructions:", "  0..8  A over #000000",
        "segments:", "  0  frames 0..<80  0..8  cost 100.0 %  encoded  starts because: the film starts",
      ])
  }
}
