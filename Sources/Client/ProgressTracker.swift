package import FarmAPI
import FarmModel

/// What a watch knows of a job's progress. Pure: it gets each status with its time.
package struct ProgressTracker: Sendable {
  /// A status to show.
  package struct Shown: Sendable {
    package var status: JobStatus
    /// Frames a second since the first look. Nil: not known yet.
    package var rate: Double?
    /// In seconds. Nil: not known yet.
    package var left: Double?

    package init(status: JobStatus, rate: Double? = nil, left: Double? = nil) {
      self.status = status
      self.rate = rate
      self.left = left
    }
  }

  private var start: (time: Duration, frames: Int)?
  private var estimate = TimeLeft()
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
      estimate = TimeLeft()
    }
    shown.filesDone = max(status.filesDone, min(highest?.filesDone ?? 0, status.filesTotal))
    shown.measuredDone = max(status.measuredDone, min(highest?.measuredDone ?? 0, status.measuredTotal))
    highest = shown
    guard status.state == .rendering else { return Shown(status: shown) }
    let left = estimate.seconds(done: shown.framesDone, total: shown.framesTotal, at: now / .seconds(1))
    guard let start else {
      start = (now, shown.framesDone)
      return Shown(status: shown)
    }
    let elapsed = (now - start.time) / .seconds(1)
    guard elapsed > 0, shown.framesDone > start.frames else { return Shown(status: shown) }
    return Shown(status: shown, rate: Double(shown.framesDone - start.frames) / elapsed, left: left)
  }
}

/// How long a job will take from now, as far as its frames show it: not before the rate has held. Pure.
///
/// At first few frames are done, because files are read and segments begin, and later many at once, because workers
/// report every few seconds. So a time is given only when frames have come in the second half of the time since the
/// first look and in the quarter before it, at rates that differ by less than a factor of two. It follows from the rate
/// of the second half, which what came first does not change.
package struct TimeLeft: Sendable {
  private static let (shortest, fewestChanges, factor) = (2.0, 4, 2.0)
  /// The most looks that are kept. If there are more, every other one is forgotten.
  private static let mostLooks = 1000

  /// In seconds, rising, each with another number of frames but the first.
  private var looks: [(time: Double, frames: Double)] = []

  package init() {}

  /// - Parameter now: In seconds since any fixed moment.
  package mutating func seconds(done: Int, total: Int, at now: Double) -> Double? {
    let frames = Double(done)
    if looks.last.map({ $0.frames < frames && $0.time < now }) ?? true { looks.append((now, frames)) }
    if looks.count > Self.mostLooks { looks = looks.indices.filter { $0 % 2 == 0 }.map { looks[$0] } }
    guard let first = looks.first, done < total, looks.count > Self.fewestChanges else { return nil }
    let elapsed = now - first.time
    guard elapsed >= Self.shortest else { return nil }
    let (quarter, half) = (first.time + elapsed / 4, first.time + elapsed / 2)
    let before = (self.frames(at: half) - self.frames(at: quarter)) / (half - quarter)
    let rate = (frames - self.frames(at: half)) / (now - half)
    guard before > 0, rate > 0, rate < Self.factor * before, before < Self.factor * rate else { return nil }
    return (Double(total) - frames) / rate
  }

  /// Between two looks, as if the frames had come evenly.
  private func frames(at time: Double) -> Double {
    guard let next = looks.firstIndex(where: { $0.time > time }), next > 0 else { return looks.last?.frames ?? 0 }
    let (before, after) = (looks[next - 1], looks[next])
    return before.frames + (after.frames - before.frames) * (time - before.time) / (after.time - before.time)
  }
}
