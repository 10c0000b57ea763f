import Client
import CompositionModel
import Coordinator
import Digest
import Wire

/// A job as JSON. It is stable: keys may be added, but are never changed.
struct JobView: Encodable, Sendable {
  struct Output: Encodable, Sendable {
    var digest: String
    var bytes: UInt64
  }

  var job: String
  var name: String
  var state: String
  var priority: Int32
  var framesDone: UInt64
  var framesTotal: UInt64
  var segmentsDone: UInt32
  var segmentsTotal: UInt32
  var segmentsCached: UInt32
  var submittedSecondsAgo: Double
  var elapsedSeconds: Double
  var waitsFor: String?
  var error: String?
  var problems: [Problem]
  var output: Output?
  var tasks: [TaskView]

  init(_ status: Sheaf_JobStatus) {
    job = status.job
    name = status.name
    state = status.state.name
    priority = status.priority
    framesDone = status.framesDone
    framesTotal = status.framesTotal
    segmentsDone = status.segmentsDone
    segmentsTotal = status.segmentsTotal
    segmentsCached = status.segmentsCached
    submittedSecondsAgo = Double(status.submittedMillisecondsAgo) / 1000
    elapsedSeconds = Double(status.elapsedMilliseconds) / 1000
    waitsFor = status.waitsFor.isEmpty ? nil : status.waitsFor
    error = status.error.isEmpty ? nil : status.error
    problems = status.problems.map { Problem($0) }
    if status.hasOutput, let film = status.output.content {
      output = Output(digest: film.digest.hex, bytes: status.output.size)
    }
    tasks = status.tasks.map(TaskView.init)
  }
}

struct TaskView: Encodable, Sendable {
  /// An attempt that ended without a result.
  struct Attempt: Encodable, Sendable {
    var epoch: Int64
    var worker: String
    var end: String
    var message: String
    /// This and the rest are absent if the worker has not reported the end of a task process.
    var exitCode: Int32?
    var signal: Int32?
    var cpuSeconds: Double?
    var peakBytes: UInt64?
    var log: String?

    init(_ attempt: Sheaf_Attempt) {
      epoch = attempt.epoch
      worker = attempt.worker
      end = attempt.end.name
      message = attempt.message
      guard attempt.hasProcess else { return }
      exitCode = attempt.process.exitCode
      signal = attempt.process.signal
      cpuSeconds = Double(attempt.process.cpuMilliseconds) / 1000
      peakBytes = attempt.process.peakBytes
      log = attempt.process.log
    }
  }

  var task: String
  var kind: String
  var state: String
  var ordinal: UInt32
  var epoch: Int64
  var worker: String?
  /// Has the backup lease.
  var secondWorker: String?
  var done: UInt64
  var work: UInt64
  /// The message of the last attempt.
  var error: String?
  var cached: Bool
  var attempts: [Attempt]

  init(_ task: Sheaf_TaskStatus) {
    self.task = task.task
    kind = task.kind.name
    state = task.state.name
    ordinal = task.ordinal
    epoch = task.epoch
    worker = task.worker.isEmpty ? nil : task.worker
    secondWorker = task.backupWorker.isEmpty ? nil : task.backupWorker
    done = task.done
    work = task.work
    error = task.endedAttempts.last?.message
    cached = task.cached
    attempts = task.endedAttempts.map(Attempt.init)
  }
}

/// A job as text.
enum StatusText {
  static func lines(_ status: Sheaf_JobStatus) -> [String] {
    var lines = [
      "job       \(status.job)", "document  \(status.name)", "state     \(ProgressLine.plain(status, rate: nil))",
    ]
    if !status.waitsFor.isEmpty { lines.append("waits     \(status.waitsFor)") }
    if !status.error.isEmpty { lines.append("error     \(status.error)") }
    for problem in status.problems { lines.append("problem   \(Problem(problem))") }
    if status.hasOutput, let film = status.output.content {
      lines.append("film      \(film.digest) (\(film.size) bytes)")
    }
    return lines + status.tasks.map(line)
  }

  private static func line(_ task: Sheaf_TaskStatus) -> String {
    var line = "  \(task.ordinal)  \(task.kind.name)  \(task.state.name)"
    if task.cached { line += " (from the cache)" }
    if task.state == .running {
      if task.work > 0 { line += "  \(task.done)/\(task.work)" }
      line += "  on \(task.worker)"
    }
    if !task.backupWorker.isEmpty { line += " and \(task.backupWorker)" }
    if task.attempts > 1 { line += "  attempt \(task.attempts)" }
    if task.state != .done, let last = task.endedAttempts.last { line += "  \(last.message)" }
    return line
  }
}

// Names in the output of commands.

extension Sheaf_TaskKind {
  fileprivate var name: String {
    switch self {
    case .probe: "probe"
    case .video: "video"
    case .audio: "audio"
    case .stitch: "stitch"
    case .unspecified, .UNRECOGNIZED: "unknown"
    }
  }
}

extension Sheaf_TaskState {
  fileprivate var name: String {
    switch self {
    case .waiting: "waiting"
    case .ready: "ready"
    case .running: "running"
    case .done: "done"
    case .failed: "failed"
    case .unspecified, .UNRECOGNIZED: "unknown"
    }
  }
}

extension Sheaf_AttemptEnd {
  fileprivate var name: String {
    switch self {
    case .released: "released"
    case .media: "media"
    case .document: "document"
    case .crashed: "crashed"
    case .hung: "hung"
    case .unspecified, .UNRECOGNIZED: "unknown"
    }
  }
}
