package import FarmModel

/// A `FarmEvent` as clients get it. Its JSON is stable: keys may be added, but are never changed.
package struct FarmEventReport: Sendable, Hashable, Codable {
  package enum Name: String, Sendable, Hashable, Codable, CaseIterable {
    case jobSubmitted, jobPlanned, jobReplanned, jobRetried, jobEnded, jobDeleted
    case taskGranted, taskDone, taskFailed, leaseExpired
    case workerConnected, workerDisconnected, workerPaused, workerResumed
  }

  package var event: Name
  /// When the coordinator saw it, in seconds since 1970.
  package var time = 0.0
  /// Nil: it is about no job.
  package var job: String?
  /// The job's name, or the worker's, for people.
  package var name: String?
  /// How the job ended.
  package var state: JobState?
  /// The task's ordinal in its job.
  package var ordinal: Int?
  /// What the task makes.
  package var label: String?
  /// The worker's name if it is about a task, and its id if it is about the worker.
  package var worker: String?
  /// How the attempt ended.
  package var end: AttemptEnd?
  /// How long it took. Nil: it is not known.
  package var seconds: Double?
  /// Of the plan: how many tasks there are, and how many results were known.
  package var tasks: Int?
  package var cached: Int?
  /// Why, for a person.
  package var reason: String?

  private init(_ event: Name, job: String? = nil, name: String? = nil) {
    self.event = event
    self.job = job
    self.name = name
  }

  private init(_ event: Name, _ task: FarmEvent.Task, worker: String? = nil) {
    self.init(event, job: task.job)
    ordinal = task.ordinal
    label = task.label
    self.worker = worker
  }

  private init(_ event: Name, _ worker: FarmEvent.Worker) {
    self.init(event, name: worker.name)
    self.worker = worker.id
  }

  /// - Parameter time: When it was seen, in seconds since 1970.
  package init(_ event: FarmEvent, time: Double) {
    self.init(event)
    self.time = time
  }

  private init(_ event: FarmEvent) {
    switch event {
    case .jobSubmitted(let job, let name, _, _): self.init(.jobSubmitted, job: job, name: name)
    case .jobPlanned(let job, let name, let tasks, let cached, _, let seconds, _):
      self.init(.jobPlanned, job: job, name: name)
      (self.tasks, self.cached, self.seconds) = (tasks, cached, seconds)
    case .jobReplanned(let job, let reason, _, let message):
      self.init(.jobReplanned, job: job)
      self.reason = message ?? reason.rawValue
    case .jobRetried(let job, let name): self.init(.jobRetried, job: job, name: name)
    case .jobEnded(let job, let name, let state, let seconds, let reason):
      self.init(.jobEnded, job: job, name: name)
      (self.state, self.seconds, self.reason) = (state, seconds, reason)
    case .jobDeleted(let job): self.init(.jobDeleted, job: job)
    case .taskGranted(let task, let worker): self.init(.taskGranted, task, worker: worker)
    case .taskDone(let task, let worker, let seconds):
      self.init(.taskDone, task, worker: worker)
      self.seconds = seconds
    case .taskFailed(let task, let worker, let end, let seconds, let reason):
      self.init(.taskFailed, task, worker: worker)
      (self.end, self.seconds, self.reason) = (end, seconds, reason)
    case .leaseExpired(let task): self.init(.leaseExpired, task)
    case .workerConnected(let worker): self.init(.workerConnected, worker)
    case .workerDisconnected(let worker): self.init(.workerDisconnected, worker)
    case .workerPaused(let worker, let reason):
      self.init(reason == nil ? .workerResumed : .workerPaused, worker)
      self.reason = reason
    }
  }
}
