package import CompositionModel
package import Digest
package import FarmModel

/// What is known of a job. Its JSON is stable: keys may be added, but are never changed.
package struct JobStatus: Sendable, Hashable, Codable {
  /// The result of a job that is done: the film, or a package of the files of several outputs.
  package struct Output: Sendable, Hashable, Codable {
    /// SHA-256, in hexadecimal.
    package var digest: String
    package var bytes: Int64

    package init(_ content: Content) {
      (digest, bytes) = (content.digest.hex, content.size)
    }

    /// Nil if `digest` is no SHA-256.
    package var content: Content? { SHA256Digest(hex: digest).map { Content(digest: $0, size: bytes) } }
  }

  package var job: String
  /// For people: the document's file name.
  package var name: String
  /// Of the token with which it was submitted. Nil: the farm's own, or none.
  package var owner: String?
  /// Nil: a state that this version does not know.
  @NamedValue package var state: JobState?
  /// Jobs of a higher priority go first.
  package var priority: Int32 = 0
  /// The pool of the workers that take its tasks. Nil: all workers do.
  package var pool: String?
  /// Whether it waits until it is resumed.
  package var isPaused = false
  /// Why the film of a job that is done may be wrong, for a person. Nil: nothing is known against it.
  package var doubt: String?
  /// Until when it waits. Nil: it does not wait for a time.
  package var holdUntil: Timestamp?
  /// The ids of jobs that are to be done before. Nil: there are none.
  package var after: [String]?
  package var framesDone = 0
  package var framesTotal = 0
  package var segmentsDone = 0
  package var segmentsTotal = 0
  package var segmentsCached = 0
  /// How many files have been probed, of `filesTotal`.
  package var filesDone = 0
  package var filesTotal = 0
  /// How many segments, or stretches of stabilized clips, have been measured, of `measuredTotal`, before the film is
  /// rendered.
  package var measuredDone = 0
  package var measuredTotal = 0
  /// How many of the job's tasks run.
  package var running = 0
  package var hasAudio = false
  package var audioDone = false
  /// The build that the job is bound to. Nil: it is not planned.
  package var build: String?
  /// The short name of `build`.
  package var shortBuild: String?
  /// Nil: the coordinator is of another version.
  package var submittedAt: Timestamp?
  /// Nil: it has not ended.
  package var endedAt: Timestamp?
  /// When the first task of the film was granted. Nil: none is done.
  package var renderingSince: Timestamp?
  package var submittedSecondsAgo = 0.0
  /// From the submission to the end, or to now.
  package var elapsedSeconds = 0.0
  /// From the first task of the film to the end, or to now. Nil: none is done.
  package var renderingSeconds: Double?
  /// In how many seconds the farm expects a job that renders to have ended. Nil: it is not known.
  package var secondsLeft: Double?
  /// What the job waits for, for a person. Nil: its tasks run, or it has ended.
  package private(set) var waitsFor: String?
  /// The same as one of a few reasons.
  package private(set) var waitReason: WaitReason?
  /// What holds up the whole farm, for a person.
  package var notices: [String] = []
  /// Why a failed job failed, if its problems do not say it.
  package var error: String?
  package var problems: [Problem] = []
  /// Set if, and only if, the job is done.
  package var output: Output?
  /// The damaged media that the film shows. Only of one job that is done.
  package var damage: [DamageReport] = []
  /// What is allowed in the document but most likely not meant. Only of one job that is planned.
  package private(set) var warnings: [Problem] = []
  /// What of the media is not in the film, of the warnings.
  package private(set) var losses: [LossReport] = []
  /// Only of one job that is planned, has video, and is asked for by HTTP.
  package var film: FilmReport?
  /// What smart rendering copies. Nil: the film has none, the job is not planned, or this is a status in a list.
  package var smart: SmartReport?
  /// Those of a document with several. Nil: it has one, or this is a status in a list.
  package var outputs: [OutputReport]?
  /// The id of the job's trace, as the logs have it. Nil: it has none, or this is a status in a list.
  package var trace: String?
  /// What the attempts at its tasks took. Nil: none was measured yet, or this is a status in a list.
  package var usage: JobUsage?
  /// Only if they were asked for.
  package var tasks: [TaskStatus] = []

  package init(job: String, name: String = "", state: JobState?) {
    self.job = job
    self.name = name
    self.state = state
  }

  /// Sets `warnings`, and `losses` with them.
  package mutating func setWarnings(_ warnings: [Problem]) {
    self.warnings = warnings
    losses = warnings.losses
  }

  package var hasEnded: Bool { state?.hasEnded ?? false }

  /// What the job waits for. Nil: its tasks run, or it has ended.
  package var wait: JobWait? {
    get { waitsFor.map { JobWait(waitReason ?? .other, $0) } }
    set { (waitsFor, waitReason) = (newValue?.text, newValue?.reason) }
  }

  /// Without the times, which change even when nothing happens.
  package var withoutTimes: JobStatus {
    var status = self
    status.elapsedSeconds = 0
    status.renderingSeconds = nil
    status.secondsLeft = nil
    status.submittedSecondsAgo = 0
    return status
  }
}

/// What is known of a task.
package struct TaskStatus: Sendable, Hashable, Codable {
  /// An attempt that ended without a result.
  package struct Attempt: Sendable, Hashable, Codable {
    package var epoch: Int64
    /// The worker's id.
    package var worker: String
    package var workerName: String?
    /// Nil: it is not known.
    package var endedAt: Timestamp?
    /// From the grant to the end.
    package var ranSeconds: Double
    /// Nil: an end that this version does not know.
    @NamedValue package var end: AttemptEnd?
    /// What went wrong, for a person.
    package var message: String
    /// This and the rest are nil if the worker has not reported the end of a task process.
    package var exitCode: Int32?
    package var signal: Int32?
    package var cpuSeconds: Double?
    package var peakBytes: Int64?
    /// The end of what the process wrote to its standard error.
    package var log: String?
    /// Nil: the worker did not say.
    package var usage: UsageReport?

    package init(
      epoch: Int64, worker: String, workerName: String? = nil, ranSeconds: Double = 0, end: AttemptEnd?,
      message: String, process: ProcessEnd? = nil, endedAt: Timestamp? = nil, usage: UsageReport? = nil
    ) {
      self.epoch = epoch
      self.worker = worker
      self.workerName = workerName
      self.endedAt = endedAt
      self.usage = usage
      self.ranSeconds = ranSeconds
      self.end = end
      self.message = message
      guard let process else { return }
      exitCode = process.exitCode
      signal = process.signal
      cpuSeconds = Double(process.cpuMilliseconds) / 1000
      peakBytes = process.peakBytes
      log = process.log
    }

    /// Nil if the worker has not reported the end of a task process.
    package var process: ProcessEnd? {
      guard let exitCode, let signal, let cpuSeconds, let peakBytes, let log else { return nil }
      // A worker may have reported any number.
      let milliseconds = Int64(exactly: (cpuSeconds * 1000).rounded()) ?? .max
      return ProcessEnd(
        exitCode: exitCode, signal: signal, cpuMilliseconds: milliseconds, peakBytes: peakBytes, log: log)
    }
  }

  package var task: String
  /// Nil: a kind that this version does not know.
  @NamedValue package var kind: TaskKind?
  /// What the task makes, such as `frames 0..299 of beach.mp4`.
  package var label: String?
  /// Why the segment that it renders starts where it does, for a person. Nil: it renders none.
  package var boundary: String?
  /// Nil: a state that this version does not know.
  @NamedValue package var state: TaskState?
  package var ordinal = 0
  package var epoch: Int64 = 0
  /// The id of the worker that has the task, or has published its result.
  package var worker: String?
  package var workerName: String?
  /// Has the backup lease.
  package var secondWorker: String?
  package var secondWorkerName: String?
  package var done: Int64 = 0
  package var work: Int64 = 0
  /// When the worker was granted the task. Nil: no worker has or had it, or it is not known.
  package var grantedAt: Timestamp?
  /// When it published the result. Nil: it has not, or it is not known.
  package var endedAt: Timestamp?
  /// From the grant to the result, or to now.
  package var ranSeconds = 0.0
  /// What the attempt took that published the result. Nil: none has, or the worker did not say.
  package var usage: UsageReport?
  /// The message of the last attempt.
  package private(set) var error: String?
  package var cached = false
  /// The accounts of the workers whose results of it are compared before one of them is used. Nil: there are none.
  package var compared: [String]?
  /// Those that ended without a result, oldest first.
  package private(set) var attempts: [Attempt] = []

  package init(task: String, kind: TaskKind?, state: TaskState?) {
    self.task = task
    self.kind = kind
    self.state = state
  }

  /// Sets `attempts`, and `error` with them.
  package mutating func setAttempts(_ attempts: [Attempt]) {
    self.attempts = attempts
    error = attempts.last?.message
  }
}

/// A worker as the farm lists it. Its JSON is stable: keys may be added, but are never changed.
package struct WorkerStatus: Sendable, Hashable, Codable {
  package var name: String
  package var id: String
  /// How many tasks it executes at a time.
  package var slots = 0
  /// How many it has.
  package var busy = 0
  package var build = ""
  package var shortBuild = ""
  package var connectedSeconds = 0.0
  /// Nil: the coordinator is of another version.
  package var connectedAt: Timestamp?
  /// The coordinator that it is connected to.
  package var coordinator = ""
  /// How many bytes of memory each of its tasks may use. Nil: as many as it needs.
  package var taskMemory: Int64?
  /// Why it takes no tasks for now. Nil: it takes some.
  package var paused: String?
  /// By what the farm knows it beyond its connection: its name, behind the owner of its token and a slash if it has
  /// one.
  package var account = ""
  /// Why the farm grants it none, as in `WorkerHoldReport`. Nil: it does.
  package var hold: String?
  /// For a person.
  package var holdReason: String?
  /// The pools whose jobs it takes, besides those without a pool.
  package var pools: [String] = []
  /// Whether it is granted nothing because all of its pools are closed now.
  package var isClosed = false

  package init(name: String, id: String) {
    self.name = name
    self.id = id
  }
}

/// The short name of a worker's build: it is different where the build is.
package enum ShortBuild {
  package static func of(_ build: String) -> String {
    build.isEmpty ? "" : String(SHA256Digest.of(build.utf8).hex.prefix(8))
  }
}

/// One of a closed set of values, written in JSON as its name. A name that this version does not know is nil, and
/// `unknown` as JSON.
@propertyWrapper
package struct NamedValue<Value>: Sendable, Hashable, Codable
where Value: RawRepresentable & Sendable & Hashable, Value.RawValue == String {
  package var wrappedValue: Value?

  package init(wrappedValue: Value?) {
    self.wrappedValue = wrappedValue
  }

  package init(from decoder: any Decoder) throws {
    wrappedValue = Value(rawValue: try decoder.singleValueContainer().decode(String.self))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(wrappedValue.nameOrUnknown)
  }
}

extension Optional where Wrapped: RawRepresentable, Wrapped.RawValue == String {
  /// The name of the value, or `unknown` for one that this version does not know.
  package var nameOrUnknown: String { self?.rawValue ?? "unknown" }
}
