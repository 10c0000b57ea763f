import FarmAPI
import FarmModel
import TestPrograms
import Testing

@testable import SheafCLI

/// The pictures of `sheaf top` follow from what is known, the size and the time.
struct TopFrameTests {
  private static let time = Timestamp(milliseconds: 1_795_838_706_789)

  private static func job(_ id: String, _ name: String, _ state: JobState, frames: Int = 0) -> JobStatus {
    .with {
      ($0.job, $0.name, $0.state) = (id, name, state)
      ($0.framesDone, $0.framesTotal) = (frames, state == .probing ? 0 : 1000)
      ($0.segmentsDone, $0.segmentsTotal) = (frames / 100, state == .probing ? 0 : 10)
      $0.submittedSecondsAgo = 125
      $0.submittedAt = Timestamp(milliseconds: Int64(id.utf8.first ?? 0))
    }
  }

  private static var look: FarmLook {
    var look = FarmLook()
    look.workers = [
      .with { ($0.name, $0.slots, $0.busy) = ("anna", 8, 3) },
      .with { ($0.name, $0.slots, $0.busy, $0.paused) = ("bert", 2, 0, "its disk\nis full") },
    ]
    var waiting = job("c", "clip.json", .probing)
    waiting.wait = JobWait(.noWorker, "no worker is connected")
    (waiting.filesDone, waiting.filesTotal) = (1, 3)
    var running = job("b", "beach.json", .rendering, frames: 250)
    running.running = 3
    look.active = [waiting, running]
    look.ended = [job("a", "art.json", .done, frames: 1000)]
    look.notices = ["the coordinator's disk is nearly full"]
    return look
  }

  private func frame(_ state: TopState, _ width: Int, _ height: Int?) -> TopFrame {
    TopFrame(state, farm: "farm.example:7433", size: .init(width: width, height: height), time: Self.time, keys: true)
  }

  @Test func `a picture has the workers, the jobs and what holds up the farm`() {
    var state = TopState()
    state.update(Self.look, at: .zero)
    var next = Self.look
    next.active[1].framesDone = 300
    next.active[1].segmentsDone = 3
    state.update(next, at: .seconds(2))
    #expect(
      frame(state, 80, 22).plain == [
        "sheaf top  farm.example:7433                             2026-11-28 04:05:06 UTC",
        "2 workers  3/10 slots busy  25.0 frames/s  30.0 segments/min",
        "2 jobs: 1 at work, 1 waiting",
        "the coordinator's disk is nearly full",
        "",
        "WORKER  SLOTS       BUSY",
        "anna    [###.....]   3/8",
        "bert    [..]         0/2  paused: its disk is full",
        "",
        "JOB  NAME        STATE      PROGRESS              FRAMES/S  LEFT  TASKS    AGE",
        "b    beach.json  rendering  [###.........]  30 %      25.0            3  2 min",
        "c    clip.json   probing    1 of 3 files                              0  2 min",
        "  waits: no worker is connected",
        "",
        "ENDED  NAME      STATE                          AGO",
        "a      art.json  done   1000 frames in 0.0 s  2 min",
        "", "", "", "", "",
        "q quit  sort: [o order]  n name  p progress  r rate  a age",
      ])
  }

  @Test(arguments: [(60, 20), (20, 3), (40, 10), (80, 24), (200, 60), (61, 4), (30, 100)])
  func `a picture fits every size, with any number of workers and jobs`(_ width: Int, _ height: Int) {
    let counts = [(0, 0), (1, 1), (3, 200), (100, 2)]
    for (workers, jobs) in TestExtent.of(counts, whole: counts + [(100, 1000)]) {
      var state = TopState()
      #expect(frame(state, width, height).lines.count == height)
      var look = Self.look
      look.workers = (0..<workers).map { number in
        .with { ($0.name, $0.slots, $0.busy) = ("a worker 漢字 with a long name \(number)", 4 + number, number % 5) }
      }
      look.active = (0..<jobs).map { Self.job("job-\($0)", "a film 漢字 of a long name", .rendering, frames: $0) }
      state.update(look, at: .zero)
      for order in TopOrder.allCases {
        state.order = order
        let lines = frame(state, width, height).lines
        #expect(lines.count == height)
        for line in lines { #expect(line.text.displayWidth <= width, "\(width)x\(height): \(line.text)") }
      }
    }
  }

  @Test func `a small terminal has the workers, the jobs and the keys`() {
    var state = TopState()
    var look = Self.look
    look.workers = (1...9).map { number in .with { ($0.name, $0.slots, $0.busy) = ("worker-\(number)", 4, number % 5) }
    }
    look.active += (1...20).map { Self.job("d\($0)", "film \($0)", .probing) }
    state.update(look, at: .zero)
    let lines = frame(state, 60, 20).plain
    #expect(lines.contains { $0.hasPrefix("worker-1") } && lines.contains { $0.hasPrefix("… 7 workers more") })
    #expect(lines.contains { $0.contains("beach.json") && $0.contains("[##........]  25 %") }, "\(lines)")
    #expect(lines.contains { $0.hasPrefix("… ") && $0.hasSuffix("jobs more") })
    #expect(lines.last?.hasPrefix("q quit") == true)
  }

  @Test func `jobs are sorted as it is selected`() {
    var state = TopState()
    var look = FarmLook()
    var urgent = Self.job("z", "B", .rendering, frames: 10)
    urgent.priority = 9
    look.active = [Self.job("y", "c", .rendering, frames: 500), urgent, Self.job("x", "A", .rendering, frames: 100)]
    state.update(look, at: .zero)
    look.active[2].framesDone = 200
    state.update(look, at: .seconds(1))
    let orders: [(TopOrder, String)] = [
      (.queue, "zxy"), (.name, "xzy"), (.progress, "yxz"), (.rate, "xyz"), (.age, "xyz"),
    ]
    for (order, expected) in orders {
      state.order = order
      #expect(state.jobs.map(\.status.job).joined() == expected, "\(order)")
    }
  }

  @Test func `the rates are of the last while, and do not fall back with a task that starts again`() {
    var state = TopState()
    var look = FarmLook()
    look.active = [Self.job("a", "a", .rendering, frames: 400)]
    state.update(look, at: .zero)
    #expect(state.framesPerSecond == nil && state.jobs[0].rate == nil)
    for second in 1...20 {
      look.active[0].framesDone = 400 + 10 * second
      state.update(look, at: .seconds(second))
    }
    #expect(state.framesPerSecond == 10 && state.jobs[0].rate == 10)
    look.active[0].framesDone = 300
    state.update(look, at: .seconds(21))
    #expect(state.framesPerSecond == 9 && state.jobs[0].status.framesDone == 600)
    // The last frames of a job that has ended count too.
    look.ended = [Self.job("a", "a", .done, frames: 1000)]
    look.active = []
    state.update(look, at: .seconds(22))
    #expect(state.framesPerSecond == 48 && state.jobs.isEmpty)
    for second in 23...40 { state.update(look, at: .seconds(second)) }
    #expect(state.framesPerSecond == 0)
    #expect(state.segmentsPerMinute == 60 * 6 / 40.0)
  }

  @Test func `colors are around what they are about, and nowhere without them`() {
    var state = TopState()
    var look = Self.look
    look.active[0].name = "[##] \u{1B}[31mred"
    state.update(look, at: .zero)
    let frame = frame(state, 80, 24)
    #expect(frame.plain.allSatisfy { !$0.contains("\u{1B}") })
    #expect(frame.colored.contains { $0.contains("[\u{1B}[32m###\u{1B}[0m.....]") })
    let plain = frame.colored.map { $0.replacing(/\u{1B}\[[0-9]*m/, with: "") }
    #expect(plain == frame.lines.map(\.text))
  }

  @Test func `before the first look, and in an outage, it says so`() {
    var state = TopState()
    #expect(frame(state, 60, 20).plain[1] == "looking …")
    state.outage = "connection refused"
    #expect(frame(state, 60, 20).plain[1] == "connection refused")
    state.update(Self.look, at: .zero)
    #expect(frame(state, 60, 20).plain[3] == "the coordinator does not answer: connection refused")
    #expect(frame(state, 60, nil).plain.contains { $0.hasPrefix("a ") && $0.contains("art.json") })
  }
}
