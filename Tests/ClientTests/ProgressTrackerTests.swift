import FarmAPI
import FarmModel
import Testing

@testable import Client

struct ProgressTrackerTests {
  private let rendering: JobStatus = {
    var status = JobStatus(job: "j", state: .rendering)
    (status.framesDone, status.framesTotal) = (1234, 2750)
    (status.segmentsDone, status.segmentsTotal, status.segmentsCached) = (12, 30, 3)
    return status
  }()

  @Test func `progress never goes back within a watch`() {
    var tracker = ProgressTracker()
    var status = rendering
    var shown: [Int] = []
    for (second, frames) in [1234, 900, 1100, 1300].enumerated() {
      status.framesDone = frames
      shown.append(tracker.show(status, at: .seconds(second)).status.framesDone)
    }
    #expect(shown == [1234, 1234, 1234, 1300])
    // A job that is planned again for another build has other segments.
    status.segmentsTotal = 31
    status.framesDone = 10
    let planned = tracker.show(status, at: .seconds(9)).status
    #expect(planned.framesDone == 10)
  }

  @Test func `the rate counts from the first status`() {
    var tracker = ProgressTracker()
    var status = rendering
    let first = tracker.show(status, at: .seconds(10))
    status.framesDone += 50
    let second = tracker.show(status, at: .seconds(15))
    #expect(first.rate == nil && second.rate == 10)
  }

  /// Renders 600 frames as `frames` says, looked at as `times` says, and returns the times left that are shown, each
  /// with what is really left.
  private func timesLeft(
    _ times: [Double], until end: Double, _ frames: (Double) -> Double
  ) -> [(shown: Double, real: Double)] {
    var left = TimeLeft()
    return times.filter { $0 < end }.compactMap { now in
      left.seconds(done: Int(min(600, max(0, frames(now)))), total: 600, at: now).map { ($0, end - now) }
    }
  }

  /// The first frames of a render of 20 s took so long that 21:40 would have been left.
  @Test(arguments: [0.25, 0.5, 1, 4]) func `no time left is shown that is wrong by a factor of two`(interval: Double) {
    let times = Array(stride(from: 0, through: 60, by: interval))
    // Workers report every so often, and what is shown in between has not changed.
    func reported(_ frames: @escaping (Double) -> Double) -> (Double) -> Double {
      { now in frames((now / interval).rounded(.down) * interval) }
    }
    let films: [(end: Double, frames: (Double) -> Double)] = [
      (20, { $0 * 30 }),
      // Nothing, then one frame, then the rest.
      (20, { $0 < 2 ? 0 : $0 < 4 ? 1 : 1 + ($0 - 4) * 599 / 16 }),
      (20, { $0 < 6 ? $0 / 6 : 1 + ($0 - 6) * 599 / 14 }),
      // Segments that are read first: frames come in bursts.
      (40, { (($0 / 5).rounded(.down) + min(1, $0.truncatingRemainder(dividingBy: 5) / 4)) * 75 }),
      // Ever faster, up to three times as fast.
      (30, { $0 * 10 + $0 * $0 / 3 }),
    ]
    for (number, film) in films.enumerated() {
      let shown = timesLeft(times, until: film.end, reported(film.frames)).filter { $0.real > interval }
      for time in shown {
        // What was done since the last report is not known.
        #expect(
          time.shown < 2 * (time.real + interval) && time.shown > time.real / 2 - max(interval, 1),
          "film \(number): \(time.shown) s in place of \(time.real) s")
      }
      if interval <= 1 { #expect(!shown.isEmpty, "film \(number)") }
    }
    // Of an even film it is soon known.
    let even = timesLeft(times, until: 20, reported { $0 * 30 })
    if interval == 0.5 { #expect(even.first.map { $0.real > 17 } == true, "\(even)") }
  }

  @Test func `a job has a phase in each part of its life`() {
    var status = JobStatus(job: "j", state: .probing)
    status.filesTotal = 2
    #expect(status.phase == .probing)
    status.filesDone = 2
    #expect(status.phase == .planning)
    status.state = .measuring
    #expect(status.phase == .measuring)
    status.state = .rendering
    (status.framesTotal, status.segmentsTotal, status.hasAudio) = (10, 2, true)
    (status.framesDone, status.segmentsDone) = (10, 1)
    #expect(status.phase == .rendering)
    status.segmentsDone = 2
    #expect(status.phase == .mixing)
    status.audioDone = true
    #expect(status.phase == .stitching)
    for state in [JobState.done, .failed, .cancelled] {
      status.state = state
      #expect(status.phase == .ended)
    }
    status.state = nil
    #expect(status.phase == nil)
  }
}
