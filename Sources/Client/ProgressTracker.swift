package import FarmAPI
import FarmModel

/// What a watch knows of a job's progress. Pure: it gets each status with its time.
package struct ProgressTracker: Sendable {
  /// A status to show.
  package struct Shown: Sendable {
    package var status: JobStatus
    /// Frames a second since the first look. Nil: not known yet.
    package var rate: Double?
    /// As the farm expects it, in seconds. Nil: it is not known.
    package var left: Double? { status.secondsLeft }

    package init(status: JobStatus, rate: Double? = nil) {
      self.status = status
      self.rate = rate
    }
  }

  private var start: (time: Duration, frames: Int)?
  private var highest: JobStatus?

  package init() {}

  /// The status to show, whose progress is never less than before, with its rate.
  ///
  /// The farm's own numbers may fall: a task that starts again begins at its first frame.
  package mutating func show(_ status: JobStatus, at now: Duration) -> Shown {
    var shown = status
    // After an edit of the plan the numbers count something else.
    if let highest, highest.framesTotal == status.framesTotal, highest.segmentsTotal == status.segmentsTotal {
      shown.framesDone = max(status.framesDone, highest.framesDone)
      shown.segmentsDone = max(status.segmentsDone, highest.segmentsDone)
      shown.segmentsCached = max(status.segmentsCached, highest.segmentsCached)
    } else {
      start = nil
    }
    shown.filesDone = max(status.filesDone, min(highest?.filesDone ?? 0, status.filesTotal))
    shown.measuredDone = max(status.measuredDone, min(highest?.measuredDone ?? 0, status.measuredTotal))
    highest = shown
    guard status.state == .rendering else { return Shown(status: shown) }
    guard let start else {
      start = (now, shown.framesDone)
      return Shown(status: shown)
    }
    let elapsed = (now - start.time) / .seconds(1)
    guard elapsed > 0, shown.framesDone > start.frames else { return Shown(status: shown) }
    return Shown(status: shown, rate: Double(shown.framesDone - start.frames) / elapsed)
  }
}
