package import Digest
package import FarmModel

/// A job that a user submitted: a set of tasks with one output. The store does not know media or compositions: the
/// tasks' payloads and the job's request are opaque bytes here.
package struct Job: Sendable, Hashable {
  package var id: JobID
  /// Shown to people.
  package var name: String
  /// Of the token with which it was submitted. Nil: the farm's own, or none.
  package var owner: String?
  /// The workers that take its tasks are of this pool. Nil: of any, and of none.
  package var pool: String?
  package var purpose: JobPurpose
  /// Jobs of a higher priority go first.
  package var priority: Int32
  /// Whether its tasks are not granted until it is taken up.
  package var isPaused = false
  /// Its tasks are not granted before, since 1970. Nil: at any time.
  package var heldUntil: Duration?
  /// Jobs that are to be done before.
  package var after: [JobID] = []
  /// The first of those that is not done. Nil: there is none.
  package var unfinishedBefore: Before?
  package var state: JobState
  /// What the coordinator needs to plan the job, as it was submitted.
  package var request: [UInt8]
  /// The build of the workers that may take the job's tasks, except its probe tasks. Nil while the job is `probing`.
  package var build: String?
  /// Set if, and only if, `state` is `.done`.
  package var output: Content?
  /// Why the output of a job that is done may be wrong, for a person. Nil: nothing is known against it.
  package var doubt: String?
  /// Set if, and only if, `state` is `.failed`.
  package var failure: JobFailure?
  /// When it was submitted, since 1970. With the next two, the only points in time that the store returns of a job: for
  /// people, and for `JobFilter`.
  package var submittedAt: Duration
  /// When it ended, since 1970. Set if, and only if, `state` is one that has ended.
  package var endedAt: Duration?
  /// When the first of its published tasks was granted, but for its probe tasks, since 1970. Nil: none is published.
  package var renderingSince: Duration?
  /// Time since the submission, by the store's clock.
  package var age: Duration
  /// Time from the submission to the end, or to now.
  package var elapsed: Duration
  /// Time from the grant of the first of its published tasks, but for its probe tasks, to the end, or to now. Nil: none
  /// of them is published.
  package var rendering: Duration?

  /// Whether it has ended without an output that can be relied upon.
  package var mayBeRetried: Bool { state == .failed || state == .cancelled || state == .done && doubt != nil }

  /// A job that is to be done before another one.
  package struct Before: Sendable, Hashable {
    package var job: JobID
    package var state: JobState

    package init(job: JobID, state: JobState) {
      (self.job, self.state) = (job, state)
    }
  }

  package init(
    id: JobID, name: String, owner: String? = nil, purpose: JobPurpose = .render, priority: Int32, state: JobState,
    request: [UInt8],
    build: String? = nil, output: Content? = nil, failure: JobFailure? = nil, submittedAt: Duration = .zero,
    endedAt: Duration? = nil, renderingSince: Duration? = nil, age: Duration = .zero, elapsed: Duration = .zero,
    rendering: Duration? = nil
  ) {
    self.submittedAt = submittedAt
    self.endedAt = endedAt
    self.renderingSince = renderingSince
    self.rendering = rendering
    self.id = id
    self.name = name
    self.owner = owner
    self.purpose = purpose
    self.priority = priority
    self.state = state
    self.request = request
    self.build = build
    self.output = output
    self.failure = failure
    self.age = age
    self.elapsed = elapsed
  }
}

/// A job and the counts of its tasks.
package struct JobSummary: Sendable, Hashable {
  /// The number of tasks of one kind.
  package struct Count: Sendable, Hashable {
    package var done: Int64
    package var total: Int64

    package init(done: Int64 = 0, total: Int64 = 0) {
      self.done = done
      self.total = total
    }
  }

  /// Its `request` is empty.
  package var job: Job
  package var probes: Count
  package var measures: Count
  package var videos: Count
  /// How many of the video tasks were cached.
  package var cachedVideos: Int64
  /// The work of the video tasks: frames. A running task counts with the progress of the lease that has advanced most.
  package var work: Count
  /// The audio tasks.
  package var audios: Count
  /// The most bytes of memory that one of the job's tasks needs, as the plan estimates it.
  package var memory: Int64
  /// How many tasks have a lease.
  package var running: Int64
  /// How many tasks have a lease, and each of their leases is away.
  package var away: Int64
  /// How many tasks have results that are compared before one of them is used.
  package var compared: Int64

  package init(
    job: Job, probes: Count = Count(), measures: Count = Count(), videos: Count = Count(), cachedVideos: Int64 = 0,
    work: Count = Count(), audios: Count = Count(), memory: Int64 = 0, running: Int64 = 0, away: Int64 = 0,
    compared: Int64 = 0
  ) {
    self.job = job
    self.probes = probes
    self.measures = measures
    self.videos = videos
    self.cachedVideos = cachedVideos
    self.work = work
    self.audios = audios
    self.memory = memory
    self.running = running
    self.away = away
    self.compared = compared
  }
}

/// Which jobs of one purpose are listed.
package struct JobFilter: Sendable, Hashable {
  /// Only jobs in these states. Empty: in any.
  package var states: [JobState]
  /// Only jobs whose name has this as a part, whatever the case of the letters. Empty: any name. Letters beyond ASCII
  /// are compared as the store's locale knows their case.
  package var name: String
  /// Only jobs that were submitted at this time or later, since 1970.
  package var since: Duration?
  /// Only jobs that were submitted before this time, since 1970.
  package var before: Duration?
  /// Only jobs of this owner. Nil: of any, and of none.
  package var owner: String?
  /// Only jobs of this pool; empty: only those without one. Nil: of any, and of none.
  package var pool: String?

  package init(
    states: [JobState] = [], name: String = "", since: Duration? = nil, before: Duration? = nil, owner: String? = nil,
    pool: String? = nil
  ) {
    self.owner = owner
    self.pool = pool
    self.states = states
    self.name = name
    self.since = since
    self.before = before
  }
}

/// Why a job failed.
package struct JobFailure: Sendable, Hashable {
  package enum Reason: String, Sendable, Hashable, CaseIterable {
    /// The document does not match its media.
    case document
    /// One of the job's tasks failed for good. The task's last attempt has the details.
    case task
    /// The coordinator could not go on.
    case farm
  }

  package var reason: Reason
  /// One sentence for a person.
  package var message: String
  /// The ordinal of the task that failed. Set if, and only if, `reason` is `.task`.
  package var task: Int32?
  /// The document's problems in the coordinator's encoding, which is opaque here. Empty unless `reason` is `.document`.
  package var problems: [UInt8]

  package init(reason: Reason, message: String, task: Int32? = nil, problems: [UInt8] = []) {
    self.reason = reason
    self.message = message
    self.task = task
    self.problems = problems
  }
}

/// A job as it is submitted.
package struct NewJob: Sendable, Hashable {
  package var id: JobID
  /// Chosen by the client, unique to its submission: 1 to 64 visible ASCII characters. Nil: every submission is a new
  /// job.
  package var submission: String?
  package var name: String
  /// 1 to 64 visible ASCII characters. Nil: nobody's.
  package var owner: String?
  /// As `Job.pool`.
  package var pool: String?
  package var purpose: JobPurpose
  package var priority: Int32
  /// Whether its tasks are not granted until it is taken up.
  package var isPaused = false
  /// Its tasks are not granted for so long. Nil: at once.
  package var hold: Duration?
  /// Jobs that are to be done before its tasks are granted. One that does not exist holds nothing up.
  package var after: [JobID] = []
  package var request: [UInt8]
  /// All of kind `.probe`.
  package var tasks: [NewTask]

  package init(
    id: JobID, submission: String? = nil, name: String, owner: String? = nil, pool: String? = nil,
    purpose: JobPurpose = .render, priority: Int32, request: [UInt8], tasks: [NewTask]
  ) {
    self.id = id
    self.submission = submission
    self.name = name
    self.owner = owner
    self.pool = pool
    self.purpose = purpose
    self.priority = priority
    self.request = request
    self.tasks = tasks
  }
}
