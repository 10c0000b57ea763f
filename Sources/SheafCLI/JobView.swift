import CompositionModel
import Digest
import FoundationEssentials
import Wire

/// A job as JSON. Stable: keys are added, never changed.
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
    state = status.state
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
    if status.hasOutput, let digest = status.output.sha256 {
      output = Output(digest: digest.hex, bytes: status.output.size)
    }
    tasks = status.tasks.map(TaskView.init)
  }
}

struct TaskView: Encodable, Sendable {
  var task: String
  var kind: String
  var state: String
  var ordinal: UInt32
  var epoch: Int64
  var worker: String?
  var secondWorker: String?
  var done: UInt64
  var work: UInt64
  var error: String?
  var cached: Bool

  init(_ task: Sheaf_TaskStatus) {
    self.task = task.task
    kind = Self.name(task.kind)
    state = task.state
    ordinal = task.ordinal
    epoch = task.epoch
    worker = task.worker.isEmpty ? nil : task.worker
    secondWorker = task.secondWorker.isEmpty ? nil : task.secondWorker
    done = task.done
    work = task.work
    error = task.error.isEmpty ? nil : task.error
    cached = task.cached
  }

  static func name(_ kind: Sheaf_TaskKind) -> String {
    switch kind {
    case .describe: "describe"
    case .picture: "picture"
    case .sound: "sound"
    case .stitch: "stitch"
    case .unspecified, .UNRECOGNIZED: "unknown"
    }
  }
}

extension Console {
  /// One object on one line.
  static func printLine(_ value: some Encodable) {
    do {
      print(String(decoding: try JSONCoding.encoder.encode(value), as: UTF8.self))
    } catch {
      complain("sheaf: the result cannot be written as JSON: \(error)")
    }
  }
}
