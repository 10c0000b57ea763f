import Client
import FarmAPI
import FarmModel
import Synchronization

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
