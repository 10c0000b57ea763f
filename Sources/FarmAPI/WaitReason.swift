/// Why the tasks of a job do not run.
package enum WaitReason: String, Sendable, Hashable, Codable, CaseIterable {
  /// No worker is connected.
  case noWorker
  /// The coordinator's job store does not answer.
  case noStore
  /// None of the workers is of the build that the job is bound to.
  case noBuild
  /// The content store is away, or its disk is full.
  case storage
  /// The workers that have its tasks are not connected now.
  case away
  /// Its files are probed, and it is not planned yet.
  case plan
  /// No worker has the compositors of the author's own.
  case compositors
  /// No worker gives a task as much memory as it needs.
  case memory
  /// Its workers take no tasks for now.
  case paused
  /// The workers have no free slot.
  case noSlot
  /// Some of its files are not probed yet.
  case probing
  /// A worker with a free slot has not taken its tasks yet.
  case grant
  /// It is paused itself, until somebody resumes it.
  case pausedJob
  /// It is held until a time.
  case held
  /// A job that is to be done before is not done.
  case after
  /// Its owner has as many running tasks as it may have.
  case quota
  /// Its pool is closed, or the pools of all workers are.
  case poolClosed
  /// No worker of its pool is connected.
  case noPoolWorker
  /// A result of one of its tasks waits to be compared with another worker's.
  case comparison
  /// One that this version does not know.
  case other

  package init(from decoder: any Decoder) throws {
    let name = try decoder.singleValueContainer().decode(String.self)
    self = WaitReason(rawValue: name) ?? .other
  }
}

/// What a job waits for.
package struct JobWait: Sendable, Hashable {
  package var reason: WaitReason
  /// For a person.
  package var text: String

  package init(_ reason: WaitReason, _ text: String) {
    self.reason = reason
    self.text = text
  }

  package static let noWorker = JobWait(.noWorker, "no worker is connected")
  package static let noStore = JobWait(
    .noStore, "the coordinator's job store is not available; running tasks go on")
}
