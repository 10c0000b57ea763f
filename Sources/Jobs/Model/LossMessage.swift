/// The words for what a task or a job went through, the same in every store.
enum LossMessage {
  static func leaseRanOut(_ worker: WorkerID) -> String { "the lease of worker \(worker) ran out" }

  static func hung(_ worker: WorkerID) -> String { "worker \(worker) made no progress for too long" }

  static func connectionClosed(_ worker: WorkerID) -> String { "the connection of worker \(worker) closed" }

  /// A job's error when one of its tasks has failed for good.
  static func gaveUp(
    _ kind: TaskKind, _ task: TaskID, charges: Int, worker: WorkerID, message: String
  ) -> String {
    "\(kind.rawValue) task \(task) failed for good (failures: \(charges), the last on worker \(worker)): \(message)"
  }
}
