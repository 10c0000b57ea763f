/// The right of one worker to execute a task and to publish its result.
package struct Lease: Sendable, Hashable {
  package var task: TaskID
  /// Counts the task's grants from 1, so no two leases of a task have the same.
  package var epoch: Int64

  package init(task: TaskID, epoch: Int64) {
    self.task = task
    self.epoch = epoch
  }
}

/// Why an attempt ended without a result.
package enum AttemptEnd: String, Sendable, Hashable, Codable, CaseIterable {
  /// The worker's surroundings: a lease past its time, a full disk, memory that the kernel took, a shutdown.
  case released
  /// The media or the codec.
  case media
  /// The document or its media can never be rendered: the job fails at once.
  case document
  /// The task process was ended by a signal, or ended without a result.
  case crashed
  /// The task did not move for too long, as its worker reports, or as the store finds after `LeasePolicy.hang`.
  case hung
  /// The task reached the limit of its memory, or was killed from outside while other tasks succeed on its worker.
  case exhausted
  /// The task process was killed from outside, most likely for lack of memory, and nothing shows that the task is the
  /// cause: other tasks of its worker may suffer the same.
  case killed

  /// Whether the attempt is one of the `LeasePolicy.maximumFailures` after which the task fails for good.
  package var isCounted: Bool { self == .media || self == .crashed || self == .hung || self == .exhausted }

  /// Whether the attempt may be the task's own doing: the task backs off and is kept from its worker for some time, and
  /// after `LeasePolicy.isolation` such attempts it is isolated.
  package var isSuspect: Bool { isCounted || self == .killed }
}

/// How a task process ended.
package struct ProcessEnd: Sendable, Hashable {
  /// 0 if a signal ended it.
  package var exitCode: Int32
  /// 0 if it exited.
  package var signal: Int32
  /// User and system time. From 0.
  package var cpuMilliseconds: Int64
  /// The most memory that it used at a time. From 0.
  package var peakBytes: Int64
  /// The end of what it wrote to its standard error.
  package var log: String

  package init(exitCode: Int32, signal: Int32, cpuMilliseconds: Int64, peakBytes: Int64, log: String = "") {
    self.exitCode = exitCode
    self.signal = signal
    self.cpuMilliseconds = cpuMilliseconds
    self.peakBytes = peakBytes
    self.log = log
  }
}
