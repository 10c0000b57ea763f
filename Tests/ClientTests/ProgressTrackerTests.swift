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
