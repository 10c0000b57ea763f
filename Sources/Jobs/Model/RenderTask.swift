package import Digest
package import FarmModel

/// One part of a job's work. It is executed at least once, and its result is published exactly once.
package struct RenderTask: Sendable, Hashable {
  package var id: TaskID
  package var kind: TaskKind
  /// What the task makes, for people.
  package var label: String
  /// Why the segment that it renders starts where it does, for people. Empty: it renders none.
  package var boundary: String
  package var state: TaskState
  /// For the task process; opaque here.
  package var payload: [UInt8]
  /// The files that the task reads. A stitch task reads the results of the job's other tasks before them.
  package var inputs: [Content]
  /// The digest of everything that the result depends on.
  package var fingerprint: SHA256Digest
  /// Orders the claims within a job: the highest cost first. Finite, from 0.
  package var cost: Double
  /// The value at which the progress is complete.
  package var work: Int64
  /// How much of the film it makes. Zero: it renders no segment.
  package var duration: Duration
  /// How many bytes of memory its process needs at most, as the plan estimates it; 0 if it needs little. Only workers
  /// whose `WorkerRecord.memory` is as much are granted the task.
  package var memory: Int64
  /// The highest epoch granted so far, which is how often the task was granted. 0 before the first grant.
  package var epoch: Int64
  /// The epoch at which the job was last taken up by `JobStore.retry`: attempts up to it are not counted. 0 if it never
  /// was.
  package var retriedAt: Int64
  /// Ascending by epoch. A running task has one lease, or two of which the second is a backup lease; any other task has
  /// none.
  package var leases: [HeldLease]
  /// The attempts that ended without a result, oldest first. They are kept as long as the job is.
  package var attempts: [Attempt]
  /// The epoch of the lease that published the result. Set if, and only if, the task is done and was rendered for this
  /// job.
  package var publishedEpoch: Int64?
  /// Who published the result, and how long that took. Set together with `publishedEpoch`, except for tasks that an
  /// earlier version published.
  package var publisher: Publisher?
  /// Set if, and only if, `state` is `.done`.
  package var result: Content?
  /// The account of the worker that made the result. Nil: it is not known, or there is none.
  package var maker: String?
  /// The results that are compared before one of them is the task's, in the order in which they came.
  package var compared: [ComparedResult] = []
  /// Whether the result was known when the task was made, so that it was not rendered for this job.
  package var isCached: Bool
  /// Whether the task is isolated, as `LeasePolicy.isolation` describes it.
  package var isIsolated: Bool

  package init(
    id: TaskID, kind: TaskKind, label: String, boundary: String = "", state: TaskState, payload: [UInt8],
    inputs: [Content],
    fingerprint: SHA256Digest,
    cost: Double, work: Int64, duration: Duration = .zero, memory: Int64 = 0, epoch: Int64 = 0, retriedAt: Int64 = 0,
    leases: [HeldLease] = [],
    attempts: [Attempt] = [],
    publishedEpoch: Int64? = nil, publisher: Publisher? = nil, result: Content? = nil, maker: String? = nil,
    isCached: Bool = false, isIsolated: Bool = false
  ) {
    self.id = id
    self.kind = kind
    self.label = label
    self.boundary = boundary
    self.state = state
    self.payload = payload
    self.inputs = inputs
    self.fingerprint = fingerprint
    self.cost = cost
    self.work = work
    self.duration = duration
    self.memory = memory
    self.epoch = epoch
    self.retriedAt = retriedAt
    self.leases = leases
    self.attempts = attempts
    self.publishedEpoch = publishedEpoch
    self.publisher = publisher
    self.result = result
    self.maker = maker
    self.isCached = isCached
    self.isIsolated = isIsolated
  }

  /// The workers of the counted attempts since the job was last taken up by `JobStore.retry`, oldest first. The task
  /// has failed for good when they are `LeasePolicy.maximumFailures`.
  package var failedOn: [WorkerID] { attempts.filter { $0.end.isCounted && $0.epoch > retriedAt }.map(\.worker) }

  /// How many attempts ended as `end` since the job was last taken up by `JobStore.retry`, as far as they are kept.
  func count(of end: AttemptEnd) -> Int { attempts.count { $0.end == end && $0.epoch > retriedAt } }

  /// The workers of the suspect attempts since the job was last taken up by `JobStore.retry`, oldest first.
  package var suspectOn: [WorkerID] { attempts.filter { $0.end.isSuspect && $0.epoch > retriedAt }.map(\.worker) }
}

/// The worker that published a task's result.
package struct Publisher: Sendable, Hashable {
  package var worker: WorkerID
  /// For people.
  package var workerName: String
  /// Time from the grant to the result.
  package var took: Duration
  /// When it published the result, since 1970. Nil: an earlier version did not record it.
  package var publishedAt: Duration?
  /// Nil: the worker did not say.
  package var usage: AttemptUsage?

  package init(
    worker: WorkerID, workerName: String, took: Duration, publishedAt: Duration? = nil, usage: AttemptUsage? = nil
  ) {
    self.worker = worker
    self.workerName = workerName
    self.took = took
    self.publishedAt = publishedAt
    self.usage = usage
  }
}

/// A task as a submission or a plan makes it. `RenderTask` has the meaning of the properties.
package struct NewTask: Sendable, Hashable {
  package var kind: TaskKind
  package var label: String
  package var boundary: String
  package var payload: [UInt8]
  package var inputs: [Content]
  package var fingerprint: SHA256Digest
  package var cost: Double
  package var work: Int64
  package var duration: Duration
  package var memory: Int64
  /// The result, if it is known already: the task is done from the start.
  package var cached: Content?
  /// The account of the worker that made it. Nil: it is not known, or there is no result.
  package var maker: String?

  package init(
    kind: TaskKind, label: String = "", boundary: String = "", payload: [UInt8], inputs: [Content],
    fingerprint: SHA256Digest, cost: Double, work: Int64, duration: Duration = .zero, memory: Int64 = 0,
    cached: Content? = nil, maker: String? = nil
  ) {
    self.kind = kind
    self.label = label
    self.boundary = boundary
    self.payload = payload
    self.inputs = inputs
    self.fingerprint = fingerprint
    self.cost = cost
    self.work = work
    self.duration = duration
    self.memory = memory
    self.cached = cached
    self.maker = maker
  }
}
