import Client
import Synchronization
import Wire

/// What a watch knows of a job's progress. Pure: it gets each status with its time.
struct ProgressTracker {
  private var start: (time: Duration, frames: UInt64)?
  private var highest: Sheaf_JobStatus?

  /// The status to show, whose progress is never less than before, and the rate in frames a second.
  ///
  /// The farm's own numbers may fall: a task that starts again begins at its first frame.
  mutating func show(_ status: Sheaf_JobStatus, at now: Duration) -> (status: Sheaf_JobStatus, rate: Double?) {
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
    guard status.state == .rendering else { return (shown, nil) }
    guard let start else {
      start = (now, shown.framesDone)
      return (shown, nil)
    }
    let elapsed = (now - start.time) / .seconds(1)
    guard elapsed > 0, shown.framesDone > start.frames else { return (shown, nil) }
    return (shown, Double(shown.framesDone - start.frames) / elapsed)
  }
}

/// Decides which statuses get a line where lines cannot be repainted. Pure.
struct LineFilter {
  private var lastTime: Duration?
  private var lastKey: [String] = []
  private var lastTenth: UInt64 = 0

  /// Whether the status is worth a line: another state, another tenth of the work, another reason to wait, or 5 s
  /// later.
  /// - Parameter key: What is always worth a line when it changes.
  mutating func passes(_ done: UInt64, of total: UInt64, key: [String], at now: Duration) -> Bool {
    let tenth = total == 0 ? 0 : UInt64(Double(done) / Double(total) * 10)
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

  /// - Parameters:
  ///   - notices: What holds up the whole farm.
  ///   - film: The path of the film that was made.
  func report(_ status: Sheaf_JobStatus, notices: [String] = [], film: String? = nil) {
    let now = now
    state.withLock { state in
      let (shown, rate) = state.tracker.show(status, at: now)
      guard let terminal else {
        let key = [shown.state.name, shown.waitsFor, ProgressLine.step(shown) ?? ""] + notices
        let (done, total) =
          shown.state == .measuring
          ? (UInt64(shown.measuredDone), UInt64(shown.measuredTotal)) : (shown.framesDone, shown.framesTotal)
        guard state.filter.passes(done, of: total, key: key, at: now) else { return }
        Console.printError(ProgressLine.plain(shown, rate: rate, film: film))
        for notice in notices { Console.printError("  \(notice)") }
        return
      }
      let width = terminal.width
      guard !status.state.hasEnded else {
        state.painted.paint([], on: terminal)
        return Console.printError(ProgressLine.plain(shown, film: film))
      }
      state.painted.paint(Self.lines(shown, rate: rate, notices, width: width), on: terminal)
    }
  }

  /// The lines that a terminal shows of a job that goes on.
  static func lines(_ status: Sheaf_JobStatus, rate: Double?, _ notices: [String], width: Int) -> [String] {
    var lines = [ProgressLine.bar(status, rate: rate, width: width)]
    // Without frames the bar is a text, which has the reason.
    if !status.waitsFor.isEmpty, status.state == .rendering, status.framesTotal > 0 {
      lines.append("waits: \(status.waitsFor)")
    }
    return (lines + notices).map { $0.shortened(to: width - 1) }
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
