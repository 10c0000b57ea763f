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
  var filesDone: UInt32
  var filesTotal: UInt32
  /// Of the segments that are measured before the film is rendered.
  var measuredDone: UInt32
  var measuredTotal: UInt32
  /// How many of the job's tasks run.
  var running: UInt32
  var hasAudio: Bool
  var audioDone: Bool
  /// The build that the job is bound to, in full and its short name.
  var build: String?
  var shortBuild: String?
  var submittedSecondsAgo: Double
  var elapsedSeconds: Double
  /// From the first task of the film to the end, or to now. Absent: none is done.
  var renderingSeconds: Double?
  var waitsFor: String?
  /// What holds up the whole farm.
  var notices: [String]
  var error: String?
  var problems: [Problem]
  var output: Output?
  /// The damaged media that the film shows.
  var damage: [DamageReport]
  /// What is most likely not meant in the document.
  var warnings: [Problem]
  var losses: [LossReport]
  /// Of a document with several; absent if it has one.
  var outputs: [OutputView]?
  var tasks: [TaskView]

  init(_ status: Sheaf_JobStatus, notices: [String] = []) {
    job = status.job
    name = status.name
    state = status.state.name
    priority = status.priority
    framesDone = status.framesDone
    framesTotal = status.framesTotal
    segmentsDone = status.segmentsDone
    segmentsTotal = status.segmentsTotal
    segmentsCached = status.segmentsCached
    filesDone = status.filesDone
    filesTotal = status.filesTotal
    measuredDone = status.measuredDone
    measuredTotal = status.measuredTotal
    running = status.running
    hasAudio = status.hasAudio_p
    audioDone = status.audioDone
    build = status.build.isEmpty ? nil : status.build
    shortBuild = build.map(Measure.shortBuild)
    submittedSecondsAgo = Double(status.submittedMillisecondsAgo) / 1000
    elapsedSeconds = Double(status.elapsedMilliseconds) / 1000
    renderingSeconds = status.renderingMilliseconds == 0 ? nil : Double(status.renderingMilliseconds) / 1000
    waitsFor = status.waitsFor.isEmpty ? nil : status.waitsFor
    self.notices = notices
    error = status.error.isEmpty ? nil : status.error
    problems = status.problems.map { Problem($0) }
    if status.hasOutput, let film = status.output.content {
      output = Output(digest: film.digest.hex, bytes: status.output.size)
    }
    damage = status.damage.map { DamageReport($0) }
    warnings = status.warnings.map { Problem($0) }
    losses = warnings.losses
    // What another version has written is left out.
    outputs = (try? status.outputList).flatMap { $0.isEmpty ? nil : $0.map { OutputView($0) } }
    tasks = status.tasks.map(TaskView.init)
  }
}

/// One of several outputs as JSON. It is stable: keys may be added, but are never changed.
struct OutputView: Encodable, Sendable {
  var file: String
  /// The rest of these is absent if the file is not written.
  var path: String?
  var digest: String?
  var bytes: Int64?
  var container: String?
  var video: OutputReport.Video?
  var audio: OutputReport.Audio?

  /// - Parameter files: Those that were written.
  init(_ output: OutputReport, folder: String? = nil, _ files: [ContentPackage.File] = []) {
    (file, container, video, audio) = (output.file, output.container, output.video, output.audio)
    guard let written = files.first(where: { $0.name == output.file }) else { return }
    path = folder.map { "\($0)/\(output.file)" }
    (digest, bytes) = (written.content.digest.hex, written.content.size)
  }
}

struct TaskView: Encodable, Sendable {
  /// An attempt that ended without a result.
  struct Attempt: Encodable, Sendable {
    var epoch: Int64
    /// The worker's id.
    var worker: String
    var workerName: String?
    var ranSeconds: Double
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
      workerName = attempt.workerName.isEmpty ? nil : attempt.workerName
      ranSeconds = Double(attempt.ranMilliseconds) / 1000
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
  /// What the task makes, such as `frames 0..299 of beach.mp4`.
  var label: String?
  var state: String
  var ordinal: UInt32
  var epoch: Int64
  /// The worker's id.
  var worker: String?
  var workerName: String?
  /// Has the backup lease.
  var secondWorker: String?
  var secondWorkerName: String?
  var done: UInt64
  var work: UInt64
  var ranSeconds: Double
  /// The message of the last attempt.
  var error: String?
  var cached: Bool
  var attempts: [Attempt]

  init(_ task: Sheaf_TaskStatus) {
    self.task = task.task
    kind = task.kind.name
    label = task.label.isEmpty ? nil : task.label
    state = task.state.name
    ordinal = task.ordinal
    epoch = task.epoch
    worker = task.worker.isEmpty ? nil : task.worker
    workerName = task.workerName.isEmpty ? nil : task.workerName
    secondWorker = task.backupWorker.isEmpty ? nil : task.backupWorker
    secondWorkerName = task.backupWorkerName.isEmpty ? nil : task.backupWorkerName
    done = task.done
    work = task.work
    ranSeconds = Double(task.ranMilliseconds) / 1000
    error = task.endedAttempts.last?.message
    cached = task.cached
    attempts = task.endedAttempts.map(Attempt.init)
  }
}

/// A worker as JSON. It is stable: keys may be added, but are never changed.
struct WorkerView: Encodable, Sendable {
  var name: String
  var id: String
  var slots: UInt32
  var busy: UInt32
  var build: String
  var shortBuild: String
  var connectedSeconds: Double
  var coordinator: String
  /// How many bytes of memory each of its tasks may use; none if as many as it needs.
  var taskMemory: UInt64?
  /// Why the worker takes no tasks for now.
  var paused: String?

  init(_ worker: Sheaf_WorkersReply.Worker) {
    name = worker.name
    id = worker.id
    slots = worker.slots
    busy = worker.busy
    build = worker.build
    shortBuild = Measure.shortBuild(worker.build)
    connectedSeconds = Double(worker.connectedMilliseconds) / 1000
    coordinator = worker.coordinator
    taskMemory = worker.taskMemory > 0 ? worker.taskMemory : nil
    paused = worker.paused.isEmpty ? nil : worker.paused
  }
}

// Names in the output of commands.

extension Sheaf_TaskKind {
  var name: String {
    switch self {
    case .probe: "probe"
    case .measure: "measure"
    case .video: "video"
    case .audio: "audio"
    case .stitch: "stitch"
    case .unspecified, .UNRECOGNIZED: "unknown"
    }
  }
}

extension Sheaf_TaskState {
  var name: String {
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
  var name: String {
    switch self {
    case .released: "released"
    case .media: "media"
    case .document: "document"
    case .crashed: "crashed"
    case .hung: "hung"
    case .exhausted: "exhausted"
    case .killed: "killed"
    case .unspecified, .UNRECOGNIZED: "unknown"
    }
  }
}
