package import Digest

/// The farm's jobs, tasks and leases. The store is the only copy of them: a coordinator keeps none in memory.
///
/// Every operation is one transaction (a claim that finds too little: two), and none leaves a transaction open. All
/// times are of the store's own clock: operations take and return durations, and never points in time. `MemoryJobStore` is the reference: the same
/// operations leave every store in the same state. `docs/architecture.md` has the diagrams of the states.
package protocol JobStore: Sendable {
  // MARK: Jobs

  /// Writes a job in `probing` with its probe tasks, which are `ready` unless cached. A job without any can be planned at
  /// once.
  func submit(_ job: NewJob) async throws(JobStoreError)

  /// The jobs that can be planned now: of purpose `.render`, in `probing`, with all tasks done. Oldest first.
  func jobsToPlan() async throws(JobStoreError) -> [JobID]

  /// The inspections that were submitted more than `age` ago and have not ended: the coordinator that submitted them is
  /// gone. Oldest first.
  func inspections(olderThan age: Duration) async throws(JobStoreError) -> [JobID]

  /// Turns a job from `probing` to `rendering` and adds its tasks, numbered on from the probe tasks: video and audio
  /// tasks are `ready` unless cached, the stitch task is `waiting` until all of those are done. Binds the job to `build`,
  /// for which the tasks' fingerprints were made.
  ///
  /// - Returns: False, with nothing written, if the job is not in `probing` (another coordinator planned it, or it has
  ///   ended), is bound to another build, or is an inspection.
  func plan(_ job: JobID, build: String, tasks: [NewTask]) async throws(JobStoreError) -> Bool

  /// Ends a job that has not ended as `failed`, such as one whose document does not match its media. False if the
  /// job had ended.
  func fail(_ job: JobID, failure: JobFailure) async throws(JobStoreError) -> Bool

  /// Ends a job that has not ended as `cancelled`.
  ///
  /// - Returns: The job's state after this: `cancelled`, or how it had ended before. Nil if there is no such job.
  func cancel(_ job: JobID) async throws(JobStoreError) -> JobState?

  func job(_ id: JobID) async throws(JobStoreError) -> Job?

  /// The jobs of one purpose, newest first, at most `limit`.
  func jobs(_ purpose: JobPurpose, limit: Int) async throws(JobStoreError) -> [Job]

  /// A job's tasks by ordinal; none if there is no such job.
  ///
  /// - Parameter payloads: False leaves each payload empty: they may be megabytes, and a status needs none.
  func tasks(of job: JobID, payloads: Bool) async throws(JobStoreError) -> [RenderTask]

  // MARK: Leases

  /// Grants up to `limit` leases of `ready` tasks to a worker: jobs by priority then age, within a job the highest cost
  /// first, then by ordinal. Excluded are tasks that are backing off, tasks of which an attempt on this worker was
  /// counted (until `LeasePolicy.exclusion` after their back-off, so that another worker may take them first), and jobs
  /// that are bound to another build. The first grant binds a job to the worker's build. Each grant raises the task's
  /// epoch by one.
  ///
  /// If that finds fewer than `limit`, the rest are backup leases of slow video tasks that another worker holds: jobs
  /// bound to the build in the same order, within a job the task that has run longest first, then by ordinal. A video
  /// task is slow when its lease is older than `LeasePolicy.slowness` times the median time of the job's rendered video
  /// tasks, by cost, and at least `LeasePolicy.shortestSlow` old. A task that is backing off, or of which an attempt on
  /// this worker was counted, gets none. A task has at most two leases, never two of one worker. Each lease is renewed,
  /// ended and lost by itself; a task that has lost its last lease is `ready` again.
  func claim(
    worker: WorkerID, session: SessionID, build: String, limit: Int
  ) async throws(JobStoreError) -> [Grant]

  /// Renews the leases that the worker holds, and records their progress.
  ///
  /// - Returns: Those that the worker does not hold.
  func renew(worker: WorkerID, leases: [LeaseProgress]) async throws(JobStoreError) -> [Lease]

  /// Publishes a result if, and only if, the worker holds the lease. The task is done and has no lease any more: of two
  /// leases the first one to publish wins. The last video or audio task makes the stitch task `ready`; the stitch task
  /// makes the job `done`, and its result is the job's output.
  func publish(_ lease: Lease, worker: WorkerID, result: Content) async throws(JobStoreError) -> PublishOutcome

  /// Ends a lease with an attempt that has no result.
  ///
  /// - `released`: Not counted. The task is `ready` at once.
  /// - `media`, `crashed`, `hung`: Counted. The task backs off for 1 s, doubled with each further failure, lengthened by up to a
  ///   half by the failure's jitter. At the `LeasePolicy.maximumFailures`th the task and the job fail.
  /// - `document`: The task and the job fail at once.
  ///
  /// - Returns: False, with nothing written, if the worker does not hold the lease.
  func fail(_ lease: Lease, worker: WorkerID, failure: TaskFailure) async throws(JobStoreError) -> Bool

  /// Ends the leases that a session holds, because its connection is closed. The attempts end as `released`. Removes the
  /// worker's registration if it is this session's. Leases that the worker was granted in another session stay.
  ///
  /// - Returns: How many leases ended.
  func release(worker: WorkerID, session: SessionID) async throws(JobStoreError) -> Int

  /// Ends the leases that are past their time, as `released`, and those that were renewed without progress for
  /// `LeasePolicy.hang`, as `hung`, which is counted as `media` is.
  ///
  /// - Returns: The leases that ended.
  func expire() async throws(JobStoreError) -> [Lease]

  // MARK: Workers

  /// Records that a worker is connected. To be repeated within `LeasePolicy.lease`.
  func register(_ worker: WorkerRecord) async throws(JobStoreError)

  /// The workers that were registered within `LeasePolicy.lease`, by name then id.
  func workers() async throws(JobStoreError) -> [WorkerRecord]

  // MARK: Changes

  /// Hints that a task has become ready, a job has changed its state, or a lease has ended. A hint has no content, some
  /// may be missing, and several changes may make one. The stream ends when the store is closed.
  func changes() -> AsyncStream<Void>
}

extension JobStore {
  /// A job's tasks by ordinal, with their payloads.
  package func tasks(of job: JobID) async throws(JobStoreError) -> [RenderTask] {
    try await tasks(of: job, payloads: true)
  }
}

/// Why a store did not carry out an operation. Equal when the codes are.
package struct JobStoreError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable, Hashable, CaseIterable {
    /// The database cannot be reached, or its connection was lost. Whether the operation took place is not known. It can
    /// be repeated, as every operation can.
    case unavailable
    /// The database was set up by a newer Sheaf.
    case schemaTooNew
    /// The database's schema does not match its recorded version.
    case schemaChanged
    /// There is a job of this id already.
    case duplicateJob
    /// The call has no meaning: a malformed id, a plan without a stitch task, a malformed database URL.
    case invalid
    /// This process closed the store.
    case closed
    /// The database answered with something that this version does not expect.
    case `internal`
  }

  package var code: Code
  /// For a person: what was wrong, and what would be right.
  package var message: String
  /// PostgreSQL's five-character condition, if PostgreSQL reported the error.
  package var condition: String?

  package init(_ code: Code, _ message: String, condition: String? = nil) {
    self.code = code
    self.message = message
    self.condition = condition
  }

  package static func == (left: JobStoreError, right: JobStoreError) -> Bool { left.code == right.code }

  package var description: String {
    guard let condition else { return message }
    return "\(message) (SQLSTATE \(condition))"
  }
}
