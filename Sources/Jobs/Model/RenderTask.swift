/// One piece of a job's work, executed at least once and published exactly once (DESIGN 1.3).
package struct RenderTask: Sendable, Hashable {
  package var id: TaskID
  package var kind: TaskKind
  package var state: TaskState
  /// For the task process; opaque here.
  package var payload: [UInt8]
  /// Files it reads. Empty for a stitch task: its inputs are the results of the job's other tasks.
  package var inputs: [Content]
  /// What the result is a function of. Lower-case hexadecimal SHA-256.
  package var fingerprint: String
  /// For the order of claims: dearest first within a job.
  package var cost: Double
  /// What its progress counts up to.
  package var work: Int64
  /// The lease's, or the last one's that there was; the winner's when `.done`. Zero before the first grant.
  package var epoch: Int64
  /// Who holds the lease, when leased: the first one, if there are two.
  package var worker: WorkerID?
  /// Of `work`, as last told by the holder.
  package var progress: Int64
  /// The second lease of a slow picture (DESIGN 4). Takes the first one's place where that is lost.
  package var twin: TwinLease?
  /// How often it was granted: the highest epoch so far.
  package var grants: Int64
  /// Charged failures, by the workers that had them.
  package var failedOn: [WorkerID]
  /// Set when `state` is `.done`.
  package var result: Content?
  /// Taken from the vault, not rendered for this job.
  package var isCached: Bool
  /// The last failure's message, charged or not.
  package var error: String?

  package init(
    id: TaskID, kind: TaskKind, state: TaskState, payload: [UInt8], inputs: [Content], fingerprint: String,
    cost: Double, work: Int64, epoch: Int64 = 0, worker: WorkerID? = nil, progress: Int64 = 0,
    twin: TwinLease? = nil, grants: Int64 = 0, failedOn: [WorkerID] = [], result: Content? = nil,
    isCached: Bool = false, error: String? = nil
  ) {
    self.id = id
    self.kind = kind
    self.state = state
    self.payload = payload
    self.inputs = inputs
    self.fingerprint = fingerprint
    self.cost = cost
    self.work = work
    self.epoch = epoch
    self.worker = worker
    self.progress = progress
    self.twin = twin
    self.grants = grants
    self.failedOn = failedOn
    self.result = result
    self.isCached = isCached
    self.error = error
  }
}

/// The same work on a second worker, for when the first is slow: both make the same bytes (DESIGN 4).
package struct TwinLease: Sendable, Hashable {
  /// Never the first lease's.
  package var worker: WorkerID
  /// Raised from the task's highest, so unlike any other of the task.
  package var epoch: Int64
  /// Of the task's `work`, as last told by the holder.
  package var progress: Int64

  package init(worker: WorkerID, epoch: Int64, progress: Int64 = 0) {
    self.worker = worker
    self.epoch = epoch
    self.progress = progress
  }
}

/// A task's place in its job: describe tasks, then pictures, then sound, then the stitch, numbered through.
package struct TaskID: Sendable, Hashable, Comparable, CustomStringConvertible {
  package var job: JobID
  package var ordinal: Int32

  package init(job: JobID, ordinal: Int32) {
    self.job = job
    self.ordinal = ordinal
  }

  package static func < (left: TaskID, right: TaskID) -> Bool {
    left.job == right.job ? left.ordinal < right.ordinal : left.job < right.job
  }

  /// `job/ordinal`, as on the wire.
  package var description: String { "\(job)/\(ordinal)" }

  package init?(_ text: String) {
    let parts = text.split(separator: "/")
    guard parts.count == 2, let ordinal = Int32(parts[1]), ordinal >= 0 else { return nil }
    self.init(job: JobID(String(parts[0])), ordinal: ordinal)
  }
}

package enum TaskKind: String, Sendable, Hashable, CaseIterable {
  case describe, picture, sound, stitch
}

/// `waiting -> ready -> leased -> done | failed`; back to `ready` when its last lease is lost.
package enum TaskState: String, Sendable, Hashable, CaseIterable {
  case waiting, ready, leased, done, failed
}

/// One run of one agent.
package struct WorkerID: Sendable, Hashable, Comparable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }

  package static func < (left: WorkerID, right: WorkerID) -> Bool { left.description < right.description }
}

/// A task as planning makes it.
package struct NewTask: Sendable, Hashable {
  package var kind: TaskKind
  package var payload: [UInt8]
  package var inputs: [Content]
  package var fingerprint: String
  package var cost: Double
  package var work: Int64
  /// Known already: the task is done from the start.
  package var cached: Content?

  package init(
    kind: TaskKind, payload: [UInt8], inputs: [Content], fingerprint: String, cost: Double, work: Int64,
    cached: Content? = nil
  ) {
    self.kind = kind
    self.payload = payload
    self.inputs = inputs
    self.fingerprint = fingerprint
    self.cost = cost
    self.work = work
    self.cached = cached
  }
}
