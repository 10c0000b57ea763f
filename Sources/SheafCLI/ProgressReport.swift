import Client
import FarmAPI
import FarmModel
import Synchronization

/// What a watch knows of a job's progress. Pure: it gets each status with its time.
struct ProgressTracker {
  /// A status to show.
  struct Shown {
    var status: JobStatus
    /// Frames a second since the first look. Nil: not known yet.
    var rate: Double?
    /// In seconds. Nil: not known yet.
    var left: Double?
  }

  private var start: (time: Duration, frames: Int)?
  private var estimate = TimeLeft()
  private var highest: JobStatus?

  /// The status to show, whose progress is never less than before, with its rate.
  ///
  /// The farm's own numbers may fall: a task that starts again begins at its first frame.
  mutating func show(_ status: JobStatus, at now: Duration) -> Shown {
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
struct TimeLeft {
  private static let (shortest, fewestChanges, factor) = (2.0, 4, 2.0)
  /// The most looks that are kept. If there are more, every other one is forgotten.
  private static let mostLooks = 1000

  /// In seconds, rising, each with another number of frames but the first.
  private var looks: [(time: Double, frames: Double)] = []

  /// - Parameter now: In seconds since any fixed moment.
  mutating func seconds(done: Int, total: Int, at now: Double) -> Double? {
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

/// Decides which statuses get a line where lines cannot be repainted. Pure.
struct LineFilter {
  private var lastTime: Duration?
  private var lastKey: [String] = []
  private var lastTenth = 0

  /// Whether the status is worth a line: another state, another tenth of the work, another reason to wait, or 5 s
  /// later.
  /// - Parameter key: What is always worth a line when it changes.
  mutating func passes(_ done: Int, of total: Int, key: [String], at now: Duration) -> Bool {
    let tenth = total == 0 ? 0 : Int(Double(done) / Double(total) * 10)
    let isLate = lastTime.map { now - $0 >= .seconds(5) } ?? true
    guard key != lastKey || tenth != lastTenth || isLate else { return false }
    (lastTime, lastKey, lastTenth) = (now, key, tenth)
    return true
  }
}

/// Reports the progress of a command on standard error: a bar that is repainted on a terminal, lines elsewhere.
final class ProgressReport: Sendable {
  private struct State {
    var tracker = ProgressTracker()
    var filter = LineFilter()
    var painted = PaintedLines()
    var transferStart: (time: Duration, done: Int64, key: String)?
  }

  private let state = Mutex(State())
  private let terminal: Terminal?
  private let start = ContinuousClock.now

  /// - Parameter terminal: Where a bar is painted; nil: lines are printed.
  init(terminal: Terminal? = Terminal.errors) {
    self.terminal = terminal
  }

  private var now: Duration { start.duration(to: .now) }

  /// - Parameter film: The path of the film that was made.
  func report(_ status: JobStatus, film: String? = nil) {
    let now = now
    state.withLock { state in
      let tracked = state.tracker.show(status, at: now)
      let shown = tracked.status
      guard let terminal else {
        let key = [shown.state.nameOrUnknown, shown.waitsFor ?? "", ProgressLine.step(shown) ?? ""] + shown.notices
        let (done, total) =
          shown.state == .measuring
          ? (shown.measuredDone, shown.measuredTotal) : (shown.framesDone, shown.framesTotal)
        guard state.filter.passes(done, of: total, key: key, at: now) else { return }
        Console.printError(ProgressLine.plain(shown, rate: tracked.rate, left: tracked.left, film: film))
        // What holds up the farm means nothing to a job that has ended.
        for notice in shown.hasEnded ? [] : shown.notices { Console.printError("  \(notice)") }
        return
      }
      let width = terminal.width
      guard !status.hasEnded else {
        state.painted.paint([], on: terminal)
        return Console.printError(ProgressLine.plain(shown, film: film))
      }
      state.painted.paint(Self.lines(tracked, width: width), on: terminal)
    }
  }

  /// The lines that a terminal shows of a job that goes on.
  static func lines(_ tracked: ProgressTracker.Shown, width: Int) -> [String] {
    let status = tracked.status
    var lines = [ProgressLine.bar(status, rate: tracked.rate, left: tracked.left, width: width)]
    // Without frames the bar is a text, which has the reason.
    if let wait = status.waitsFor, status.state == .rendering, status.framesTotal > 0 {
      lines.append("waits: \(wait)")
    }
    return (lines + status.notices).map { $0.shortened(to: width - 1) }
  }

  func report(_ transfer: TransferProgress) {
    let now = now
    state.withLock { state in
      let key = "\(transfer.direction) \(transfer.total)"
      if state.transferStart?.key != key { state.transferStart = (now, transfer.done, key) }
      var rate: Double?
      if let start = state.transferStart, transfer.done > start.done, now > start.time {
        rate = Double(transfer.done - start.done) / ((now - start.time) / .seconds(1))
      }
      if let terminal {
        state.painted.paint([ProgressLine.bar(transfer, rate: rate, width: terminal.width)], on: terminal)
      } else if state.filter.passes(0, of: 0, key: [key], at: now) {
        Console.printError(ProgressLine.plain(transfer, rate: rate))
      }
    }
  }

  /// A notice about the connection, as a line that stays.
  func report(_ notice: FarmClient.Notice) {
    let text =
      switch notice {
      case .lost(let reason): "the coordinator does not answer; trying again (\(reason))"
      case .connectedAgain: "the coordinator answers again"
      case .uploadWaits(let reason): "the upload waits: \(reason)"
      }
    state.withLock { state in
      if let terminal { state.painted.paint([], on: terminal) }
      Console.printError("sheaf: \(text)")
    }
  }

  /// Removes what is painted, before anything else is printed.
  func end() {
    state.withLock { state in
      if let terminal { state.painted.paint([], on: terminal) }
    }
  }
}
