package import Digest
package import FarmModel

/// What is left of a job that renders, and how long what is done of it took: a forecast is made of it.
package struct Workload: Sendable, Hashable {
  /// A task that is not done, but for a stitch task that waits for others.
  package struct Task: Sendable, Hashable {
    package var kind: TaskKind
    package var cost: Double
    package var work: Int64
    package var inputs: [SHA256Digest]
    /// The attempt that has advanced most. Nil: no worker has the task.
    package var attempt: Attempt?

    package init(
      kind: TaskKind, cost: Double, work: Int64, inputs: [SHA256Digest] = [], attempt: Attempt? = nil
    ) {
      (self.kind, self.cost, self.work, self.inputs, self.attempt) = (kind, cost, work, inputs, attempt)
    }
  }

  package struct Attempt: Sendable, Hashable {
    package var worker: WorkerID
    /// How much of the task's `work` is done.
    package var progress: Int64
    /// Time from the grant to the last renewal that reported progress.
    package var moved: Duration
    /// Time since the grant.
    package var ran: Duration

    package init(worker: WorkerID, progress: Int64, moved: Duration, ran: Duration) {
      (self.worker, self.progress, self.moved, self.ran) = (worker, progress, moved, ran)
    }
  }

  /// The video tasks with the same inputs that were rendered for the job.
  package struct Rendered: Sendable, Hashable {
    package var inputs: [SHA256Digest]
    package var count: Int
    package var cost: Double
    package var took: Duration

    package init(inputs: [SHA256Digest] = [], count: Int = 0, cost: Double = 0, took: Duration = .zero) {
      (self.inputs, self.count, self.cost, self.took) = (inputs, count, cost, took)
    }
  }

  package var job: JobID
  /// As `Owner.owner`.
  package var owner: String
  package var priority: Int32
  package var pool: String?
  package var build: String
  /// Whether its tasks are granted: nothing holds the job up, and its pool is open.
  package var mayGoOn: Bool
  /// In the order in which they are granted.
  package var left: [Task]
  /// In the order of their inputs.
  package var rendered: [Rendered]
  /// Of all video tasks that are done, also those that were cached: their cost, and the bytes of their results.
  package var doneCost: Double
  package var doneBytes: Int64

  package init(
    job: JobID, owner: String, priority: Int32 = 0, pool: String? = nil, build: String, mayGoOn: Bool = true,
    left: [Task] = [], rendered: [Rendered] = [], doneCost: Double = 0, doneBytes: Int64 = 0
  ) {
    (self.job, self.owner, self.priority, self.pool, self.build) = (job, owner, priority, pool, build)
    (self.mayGoOn, self.left, self.rendered) = (mayGoOn, left, rendered)
    (self.doneCost, self.doneBytes) = (doneCost, doneBytes)
  }
}
