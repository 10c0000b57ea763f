/// One try of a task at this worker.
struct TaskRun: Sendable, Hashable {
  enum Stage: Sendable, Hashable {
    /// Granted beyond the free slots, as may happen when a grant and a heartbeat cross.
    case queued
    /// Its process runs. `lastSign` is when it last gave a sign of life.
    case working(lastSign: Duration, isWaiting: Bool)
    /// Its process has been told to end; what it made, and the lease, are no longer of interest.
    case stopping
    case uploading(TaskResult, triesLeft: Int)
    case publishing(TaskResult, triesLeft: Int)
  }

  let id: RunID
  let grant: TaskGrant
  var done: UInt64 = 0
  var stage: Stage

  var lease: TaskLease { grant.lease }

  /// Whether it has a process, and so takes a slot.
  var hasProcess: Bool {
    switch stage {
    case .working, .stopping: true
    case .queued, .uploading, .publishing: false
    }
  }

  /// Whether its lease is still the worker's to renew.
  var isHeld: Bool { stage != .stopping }
}
