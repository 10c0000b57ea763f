package import FarmModel

/// One thing that has happened in a farm, as a coordinator has seen it.
package enum FarmEvent: Sendable, Hashable, Codable {
  /// A task, and what it makes.
  package struct Task: Sendable, Hashable, Codable {
    package var job: String
    package var ordinal: Int
    package var label: String

    package init(job: String, ordinal: Int, label: String) {
      self.job = job
      self.ordinal = ordinal
      self.label = label
    }
  }

  /// What an attempt at a task took of its worker.
  package struct TaskUsage: Sendable, Hashable, Codable {
    package var kind: TaskKind
    /// How much of the film it has made.
    package var filmSeconds: Double
    package var usage: AttemptUsage

    package init(_ kind: TaskKind, filmSeconds: Double, usage: AttemptUsage) {
      self.kind = kind
      self.filmSeconds = filmSeconds
      self.usage = usage
    }
  }

  package struct Worker: Sendable, Hashable, Codable {
    package var name: String
    package var id: String

    package init(name: String, id: String) {
      self.name = name
      self.id = id
    }
  }

  /// Why a job is planned again.
  package enum ReplanReason: String, Sendable, Hashable, Codable, CaseIterable {
    /// No worker of its build is connected.
    case build
    /// Some of its results were damaged on the disk, and are made again.
    case damagedResults
    /// A piece does not fit, and is made again.
    case refusedPiece
    /// A piece does not fit once more, and all of them are made again.
    case refusedPieces
    /// Some of its results are of a worker that is quarantined.
    case quarantine
  }

  case jobSubmitted(job: String, name: String, files: Int, priority: Int32)
  /// - `isMeasuring`: Its segments are measured first, and it is planned once more.
  /// - `seconds`: How long planning took.
  case jobPlanned(
    job: String, name: String, tasks: Int, cached: Int, frames: Int, seconds: Double, isMeasuring: Bool)
  /// - `tasks`: The labels of those that are made again, if they are known.
  /// - `message`: Why a piece does not fit.
  case jobReplanned(job: String, reason: ReplanReason, tasks: [String] = [], message: String? = nil)
  case jobRetried(job: String, name: String)
  /// - `name`, `seconds`: From the submission. Nil: not known where it failed.
  case jobEnded(job: String, name: String?, state: JobState, seconds: Double?, reason: String?)
  case jobDeleted(job: String)
  /// It is done, with results of a worker that is quarantined.
  case jobDoubted(job: String)
  case taskGranted(Task, worker: String)
  /// - `seconds`: From the grant. Nil: another coordinator granted it.
  /// - `usage`: Nil: the worker did not say.
  case taskDone(Task, worker: String, seconds: Double?, usage: TaskUsage? = nil)
  case taskFailed(
    Task, worker: String, end: AttemptEnd, seconds: Double?, reason: String, usage: TaskUsage? = nil)
  /// Its result is kept until another worker's is compared with it.
  case taskCompared(Task, worker: String, seconds: Double?, usage: TaskUsage? = nil)
  /// It was not renewed, or its task did not move.
  case leaseExpired(Task)
  case workerConnected(Worker)
  case workerDisconnected(Worker)
  /// - `reason`: Nil: it takes tasks again.
  case workerPaused(Worker, reason: String?)
  /// The farm grants the workers of an account nothing, or some again.
  /// - `hold`: Nil: they are granted tasks again.
  case workerHeld(account: String, hold: String?, reason: String)
}
