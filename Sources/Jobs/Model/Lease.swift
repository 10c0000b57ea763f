package import Digest
package import FarmModel

/// A lease that a worker holds now.
package struct HeldLease: Sendable, Hashable {
  package var epoch: Int64
  package var worker: WorkerID
  /// For people.
  package var workerName: String
  /// The worker's connection that has the lease.
  package var session: SessionID
  /// Whether that connection is closed.
  package var isAway: Bool
  /// Whether another worker holds an earlier lease of the same task. When that one is lost, this one is the task's only
  /// lease and is not a backup lease any more.
  package var isBackup: Bool
  /// How much of the task's `work` is done, as the worker last reported it.
  package var progress: Int64
  /// When it was granted, since 1970.
  package var grantedAt: Duration
  /// Time since the grant.
  package var ran: Duration

  package init(
    epoch: Int64, worker: WorkerID, workerName: String, session: SessionID, isAway: Bool = false,
    isBackup: Bool = false,
    progress: Int64 = 0, grantedAt: Duration = .zero, ran: Duration = .zero
  ) {
    self.epoch = epoch
    self.worker = worker
    self.workerName = workerName
    self.session = session
    self.isAway = isAway
    self.isBackup = isBackup
    self.progress = progress
    self.grantedAt = grantedAt
    self.ran = ran
  }
}

/// What a worker is granted: the lease, and what it needs to execute the task.
package struct Grant: Sendable, Hashable {
  package var lease: Lease
  package var holder: Holder
  package var kind: TaskKind
  package var payload: [UInt8]
  /// For a stitch task: the results of the video tasks by ordinal, then those of the audio tasks, then its own inputs.
  package var inputs: [Content]
  package var work: Int64

  package init(lease: Lease, holder: Holder, kind: TaskKind, payload: [UInt8], inputs: [Content], work: Int64) {
    self.lease = lease
    self.holder = holder
    self.kind = kind
    self.payload = payload
    self.inputs = inputs
    self.work = work
  }
}

/// What a worker reports of a lease with each heartbeat.
package struct Renewal: Sendable, Hashable {
  package var lease: Lease
  package var holder: Holder
  /// How much of the task's `work` is done. A value below an earlier one is ignored.
  package var done: Int64
  /// Rises with any forward movement, such as bytes read or frames decoded. Each session of a worker may count anew.
  package var moved: Int64

  package init(lease: Lease, holder: Holder, done: Int64, moved: Int64) {
    self.lease = lease
    self.holder = holder
    self.done = done
    self.moved = moved
  }
}

/// What a store has done with a result.
package enum PublishOutcome: Sendable, Hashable {
  /// The task is done with this result.
  case published
  /// The same result was published before for the same task and epoch.
  case duplicate
  /// The worker does not hold the lease, or is quarantined. The result is dropped.
  case stale
  /// The result is kept until another worker's is compared with it.
  case compared
}

/// A lease that ended without a result.
package struct Attempt: Sendable, Hashable {
  package var epoch: Int64
  package var worker: WorkerID
  /// For people.
  package var workerName: String
  package var end: AttemptEnd
  /// For a person: what went wrong.
  package var message: String
  /// Nil if the worker reported none.
  package var process: ProcessEnd?
  /// Time from the grant to the end. Zero if it is not known.
  package var ran: Duration
  /// When it ended, since 1970. Nil if it is not known.
  package var endedAt: Duration?
  /// Nil if the worker reported none.
  package var usage: AttemptUsage?

  package init(
    epoch: Int64, worker: WorkerID, workerName: String, end: AttemptEnd, message: String, process: ProcessEnd? = nil,
    ran: Duration = .zero, endedAt: Duration? = nil, usage: AttemptUsage? = nil
  ) {
    self.epoch = epoch
    self.worker = worker
    self.workerName = workerName
    self.end = end
    self.message = message
    self.process = process
    self.ran = ran
    self.endedAt = endedAt
    self.usage = usage
  }
}

/// What a worker reports of an attempt that ended without a result.
package struct TaskFailure: Sendable, Hashable {
  package var end: AttemptEnd
  /// For a person: what went wrong.
  package var message: String
  /// Nil if no task process had been started.
  package var process: ProcessEnd?
  /// Nil if it is not known.
  package var usage: AttemptUsage?
  /// From 0 to 1, chosen by the caller, so that the stores need no random numbers.
  package var jitter: Double
  /// Whether the task waits before it is ready again though the attempt is not suspect: its worker could not execute
  /// it, for a reason that may be the task's as well as the worker's.
  package var delaysTask: Bool

  package init(
    end: AttemptEnd, message: String, process: ProcessEnd? = nil, usage: AttemptUsage? = nil, jitter: Double = 0,
    delaysTask: Bool = false
  ) {
    self.end = end
    self.message = message
    self.process = process
    self.usage = usage
    self.jitter = jitter
    self.delaysTask = delaysTask
  }
}

/// The messages of the failures that the stores find themselves, the same in every store.
package enum FailureMessage {
  package static func leaseRanOut(_ worker: WorkerID) -> String { "the lease of worker \(worker) ran out" }

  package static func hung(_ worker: WorkerID) -> String { "worker \(worker) made no progress for too long" }

  package static let paused = "the job was paused"
}

extension LeasePolicy {
  /// The job's message, if an attempt was the task's last and the task has failed for good. Nil if it may be tried
  /// again.
  ///
  /// - Parameters:
  ///   - failures: How many of the task's attempts are counted, this one included.
  ///   - kills: How many of them ended as `killed`, this one included.
  package func finalMessage(
    of kind: TaskKind, _ task: TaskID, failures: Int, kills: Int, _ worker: WorkerID, _ failure: TaskFailure
  ) -> String? {
    if failure.end == .document { return failure.message }
    let isLast = failure.end.isCounted && failures >= maximumFailures || failure.end == .killed && kills >= maximumKills
    guard isLast else { return nil }
    let count = failure.end == .killed ? kills : failures
    return """
      \(kind.rawValue) task \(task) failed for good (failures: \(count), the last on worker \(worker)): \
      \(failure.message)
      """
  }
}

/// What the attempts at a job's tasks took of one worker: of those that have ended, and whose worker said so.
package struct WorkerUsage: Sendable, Hashable {
  package var worker: WorkerID
  /// For people.
  package var workerName: String
  package var attempts: Int64
  /// Times and bytes are sums; the peak is the highest one.
  package var usage: AttemptUsage

  package init(worker: WorkerID, workerName: String, attempts: Int64, usage: AttemptUsage) {
    self.worker = worker
    self.workerName = workerName
    self.attempts = attempts
    self.usage = usage
  }
}
