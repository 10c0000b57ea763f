import Client
import Synchronization
import Wire

/// Reports the progress of a job on standard error: a bar that is redrawn on a terminal, lines elsewhere.
final class ProgressReport: Sendable {
  private struct State {
    var started: ContinuousClock.Instant?
    var framesAtStart: UInt64 = 0
    var lastLine: ContinuousClock.Instant?
    var lastState: Sheaf_JobState?
    var lastTenth: UInt64 = 0
    var hasBar = false
  }

  private let state = Mutex(State())
  private let isTerminal = Console.errorsAreATerminal

  func report(_ status: Sheaf_JobStatus) {
    let now = ContinuousClock.now
    state.withLock { state in
      if state.started == nil, status.state == .rendering {
        state.started = now
        state.framesAtStart = status.framesDone
      }
      let rate = Self.rate(status, since: state.started, from: state.framesAtStart, now: now)
      if isTerminal {
        Console.write("\r\u{1B}[K" + ProgressLine.bar(status, rate: rate, width: Console.width), to: 2)
        state.hasBar = true
        return
      }
      let tenth = status.framesTotal == 0 ? 0 : status.framesDone * 10 / status.framesTotal
      let isLate = state.lastLine.map { $0.duration(to: now) >= .seconds(5) } ?? true
      guard status.state != state.lastState || tenth != state.lastTenth || isLate else { return }
      state.lastState = status.state
      state.lastTenth = tenth
      state.lastLine = now
      Console.printError(ProgressLine.plain(status, rate: rate))
    }
  }

  /// Ends the line of the bar.
  func end() {
    state.withLock { state in
      if state.hasBar { Console.write("\n", to: 2) }
      state.hasBar = false
    }
  }

  /// In frames a second; nil while there is none.
  private static func rate(
    _ status: Sheaf_JobStatus, since started: ContinuousClock.Instant?, from first: UInt64,
    now: ContinuousClock.Instant
  ) -> Double? {
    guard let started, status.framesDone > first else { return nil }
    let (seconds, attoseconds) = started.duration(to: now).components
    let elapsed = Double(seconds) + Double(attoseconds) / 1e18
    return elapsed > 0 ? Double(status.framesDone - first) / elapsed : nil
  }
}

/// The progress of a job in one line.
enum ProgressLine {
  /// - Parameter rate: In frames a second.
  static func plain(_ status: Sheaf_JobStatus, rate: Double?) -> String {
    switch status.state {
    case .rendering:
      var parts = ["\(status.framesDone)/\(status.framesTotal) frames"]
      if let rate { parts.append("\(decimal(rate)) frames/s") }
      if let left = left(status, rate) { parts.append("\(left) left") }
      parts.append("\(status.segmentsDone)/\(status.segmentsTotal) segments" + cached(status))
      return "rendering: " + parts.joined(separator: ", ") + waits(status)
    case .done:
      let seconds = Double(status.elapsedMilliseconds) / 1000
      return
        "done: \(status.framesTotal) frames, \(status.segmentsTotal) segments\(cached(status)), \(decimal(seconds)) s"
    case .probing:
      let tasks = status.tasks.filter { $0.kind == .probe }
      // A list of jobs has no tasks.
      let files = tasks.isEmpty ? "" : ": \(tasks.count { $0.state == .done })/\(tasks.count) files"
      return "probing media" + files + waits(status)
    default: return status.state.name
    }
  }

  /// - Parameter width: Of the terminal, in columns.
  static func bar(_ status: Sheaf_JobStatus, rate: Double?, width: Int) -> String {
    let text = plain(status, rate: rate)
    guard status.state == .rendering, status.framesTotal > 0 else { return String(text.prefix(width - 1)) }
    let columns = min(40, width - text.count - 10)
    guard columns >= 10 else { return String(text.prefix(width - 1)) }
    let filled = Int(Double(columns) * Double(status.framesDone) / Double(status.framesTotal))
    return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: columns - filled) + "] " + text
  }

  private static func cached(_ status: Sheaf_JobStatus) -> String {
    status.segmentsCached == 0 ? "" : " (\(status.segmentsCached) from the cache)"
  }

  private static func waits(_ status: Sheaf_JobStatus) -> String {
    status.waitsFor.isEmpty ? "" : ": " + status.waitsFor
  }

  private static func left(_ status: Sheaf_JobStatus, _ rate: Double?) -> String? {
    guard let rate, rate > 0 else { return nil }
    let seconds = Int((Double(status.framesTotal - status.framesDone) / rate).rounded(.up))
    let (minutes, rest) = seconds.quotientAndRemainder(dividingBy: 60)
    return "\(minutes):\(rest < 10 ? "0" : "")\(rest)"
  }

  private static func decimal(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }
}
