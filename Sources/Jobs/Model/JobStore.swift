package import Digest
package import FarmModel

/// The farm's jobs, tasks and leases. The store is the only copy of them: a coordinator keeps none in memory.
///
/// Every operation is one transaction, but for a claim, whose grants of ready tasks and of backup leases are one each;
/// none leaves a transaction open. All times are of the store's own clock: operations take durations, and
/// return durations and, for people, when something happened. `JobFilter` alone takes points in time.
/// `MemoryJobStore` is the reference: the same operations leave every store in the same state.
/// `docs/design/states.md` has the diagrams of the states.
package protocol JobStore: Journal, WebhookStore, AccessStore, JobSteering, PoolStore, WorkerControl {
  // MARK: Jobs

  /// Writes a job in `probing` with its probe tasks, which are `ready` unless cached. A job without any can be planned
  /// at once.
  ///
  /// - Returns: The job's id. If there is a job of the same `submission` already, its id, with nothing written. Throws
  ///   `.full` if the owner has as many jobs as it may have.
  @discardableResult
  func submit(_ job: NewJob) async throws(JobStoreError) -> JobID

  /// The jobs that can be planned now: of purpose `.render`, in `probing` or `measuring`, with all tasks done, and held
  /// up by nothing. Oldest first.
  func jobsToPlan() async throws(JobStoreError) -> [JobID]

  /// Records that a coordinator plans a job, for `LeasePolicy.lease`, before it does. To be repeated while it plans. An
  /// attempt that ran out, because its coordinator did neither repeat nor end it, was lost with it: it is counted when
  /// another coordinator asks, and after `LeasePolicy.mostLostPlannings` of them the answer is `.failed`; before that,
  /// after any, it is `.mustBeAlone` for a coordinator that plans others meanwhile. The count begins anew when the job
  /// has another state.
  ///
  /// - Parameters:
  ///   - planner: Unique to the coordinator's process.
  ///   - isAlone: Whether the coordinator plans no other job for as long as the attempt lasts.
  func beginPlanning(_ job: JobID, by planner: String, isAlone: Bool) async throws(JobStoreError) -> PlanningStart

  /// Ends a coordinator's attempt to plan a job, whatever came of it. An attempt that is not its own stays.
  func endPlanning(_ job: JobID, by planner: String) async throws(JobStoreError)

  /// The inspections that were submitted more than `age` ago and have not ended: the coordinator that submitted them is
  /// gone. Oldest first.
  func inspections(olderThan age: Duration) async throws(JobStoreError) -> [JobID]

  /// Turns a job from `probing` to `measuring` and adds its measure tasks, numbered on from the probe tasks, which are
  /// `ready` unless cached. Binds the job to `build`, for which the tasks' fingerprints were made.
  ///
  /// - Returns: False, with nothing written, if the job is not in `probing` (another coordinator planned it, or it has
  ///   ended), or is an inspection.
  func measure(_ job: JobID, build: String, tasks: [NewTask]) async throws(JobStoreError) -> Bool

  /// Turns a job from `probing` or `measuring` to `rendering` and adds its tasks, numbered on from those that it has:
  /// video and audio tasks are `ready` unless cached, the stitch task is `waiting` until all of those are done. Binds
  /// the job to `build`, for which the tasks' fingerprints were made.
  ///
  /// - Returns: False, with nothing written, if the job is in another state (another coordinator planned it, or it has
  ///   ended), or is bound to another build, or is an inspection.
  func plan(_ job: JobID, build: String, tasks: [NewTask]) async throws(JobStoreError) -> Bool

  /// The jobs in `measuring` or `rendering` to bind anew: no worker of their build was registered for
  /// `LeasePolicy.rebind`, and a worker of another build is registered now. Only workers that take jobs of the job's
  /// pool count. Oldest first.
  func jobsToRebind() async throws(JobStoreError) -> [JobID]

  /// Turns a job from `measuring` or `rendering` back to `probing`, to be planned again: removes its tasks but the
  /// probe tasks, with their leases and attempts, and its build. Published results stay in the content store, where the
  /// next plan finds those of its build.
  ///
  /// - Parameter reason: For a person: recorded with the event.
  /// - Returns: False, with nothing written, if the job is in another state.
  func replan(_ job: JobID, reason: String) async throws(JobStoreError) -> Bool

  /// Makes probe tasks of a job in `probing` that are done `ready` again, because their results are lost. A task that
  /// is not done, or does not exist, is left as it is.
  ///
  /// - Parameter tasks: Ordinals.
  /// - Returns: How many tasks are ready again.
  func reprobe(_ job: JobID, tasks: [Int32]) async throws(JobStoreError) -> Int

  /// Takes up a job that has failed or was cancelled, or whose output is in doubt: turns it to `probing`, as `replan`
  /// does, and its probe tasks that are not done to `ready`. Attempts up to now are kept and are not counted any more.
  /// It is not paused or held then. Throws `.full` if its owner has as many jobs as it may have.
  ///
  /// - Returns: The job's state after this: `probing` if it was taken up, or the state that it has. Nil if there is no
  ///   such job. An inspection is never taken up.
  func retry(_ job: JobID) async throws(JobStoreError) -> JobState?

  /// Ends a job that has not ended as `failed`, such as one whose document does not match its media. False if the
  /// job had ended.
  func fail(_ job: JobID, failure: JobFailure) async throws(JobStoreError) -> Bool

  /// Ends a job that has not ended as `cancelled`.
  ///
  /// - Returns: The job's state after this: `cancelled`, or how it had ended before. Nil if there is no such job.
  func cancel(_ job: JobID) async throws(JobStoreError) -> JobState?

  /// Deletes a job that has ended, with its tasks. False if there is no such job or it has not ended.
  func delete(_ job: JobID) async throws(JobStoreError) -> Bool

  /// Deletes the jobs that ended more than `age` ago, the oldest first, at most `limit`, so that no call takes long.
  ///
  /// - Returns: How many were deleted.
  func deleteJobs(endedBefore age: Duration, limit: Int) async throws(JobStoreError) -> Int

  /// Records that a client has the job's output.
  func markFetched(_ job: JobID) async throws(JobStoreError)

  /// The digests that must stay in the content store: the inputs and results of the tasks of jobs that have not ended,
  /// and the outputs of the jobs that ended as `done` less than `keepingResults` ago and were not fetched. In no order,
  /// without duplicates.
  func contentsInUse(keepingResults: Duration) async throws(JobStoreError) -> [SHA256Digest]

  func job(_ id: JobID) async throws(JobStoreError) -> Job?

  /// A job and the counts of its tasks. Its cost does not depend on how many tasks the job has, or how large its
  /// request is.
  func summary(of job: JobID) async throws(JobStoreError) -> JobSummary?

  /// The jobs of one purpose, newest first, at most `limit`, each at the cost of `summary(of:)`.
  ///
  /// - Parameters:
  ///   - after: Only jobs that were submitted before this one; none if it does not exist. Nil: from the newest on.
  ///   - filter: Which of them.
  func summaries(
    _ purpose: JobPurpose, limit: Int, after: JobID?, filter: JobFilter
  ) async throws(JobStoreError) -> [JobSummary]

  /// A job's tasks by ordinal; none if there is no such job.
  ///
  /// - Parameter payloads: False leaves each payload empty: they may be megabytes, and a status needs none.
  func tasks(of job: JobID, payloads: Bool) async throws(JobStoreError) -> [RenderTask]

  /// What the attempts at a job's tasks took, by worker. Those of tasks that a new plan has replaced are not counted.
  func usage(of job: JobID) async throws(JobStoreError) -> [WorkerUsage]

  /// What is left of the jobs that render, in the order of their submission. Its cost is that of the tasks that they
  /// have.
  func workloads() async throws(JobStoreError) -> [Workload]

  /// How many jobs and tasks there are, for metrics. Its cost is that of the jobs and of the tasks of those that have
  /// not ended. Inspections are not counted.
  ///
  /// - Parameter pool: Only the jobs of this pool are counted; empty: only those without one. Nil: all are.
  func counts(ofPool pool: String?) async throws(JobStoreError) -> StoreCounts

  /// How long this process's calls took that have succeeded, by the connection that carried them out. Empty: there are
  /// no connections.
  var calls: [String: DurationHistogram] { get }

  // MARK: Leases

  /// Grants leases of `ready` tasks to workers of one build and of the same pools. Each element of `slots` is one free
  /// slot of a worker, so a worker is listed as often as it has free slots.
  ///
  /// The tasks are taken in this order: of the jobs of the highest priority by `FairQueue`, which shares the farm
  /// between their owners and then between the jobs of each; within a job the highest cost first, then by ordinal. Of a
  /// job that is watched (`JobSteering.watch`) they are taken by ordinal, which is the order of the film, and each
  /// audio task after a video task as far into the film. No task is taken of a job that is paused, is held until a time
  /// that has not come, or comes after jobs that are not done. Nor is one taken of a job of another pool than the
  /// workers', or of a pool that is closed; and if they have pools and all of them are closed, none is taken. Each goes
  /// to the first slot that is left and whose worker may have it. Excluded are tasks that are backing off, and the
  /// tasks of jobs that are bound to another build; a probe task goes to any build. A worker may not have a task of
  /// which an attempt on it was counted, until `LeasePolicy.exclusion` after the task's back-off, so that another
  /// worker may take it first. Each grant raises the task's epoch by one.
  ///
  /// Slots that are left then get backup leases, of running tasks of which another worker holds the only lease:
  /// - tasks whose holder is away (`HeldLease.isAway`);
  /// - slow video and audio tasks: the lease is older than `LeasePolicy.slowness` times the median time of the job's
  ///   rendered video tasks, by cost, and at least `LeasePolicy.shortestSlow` old.
  ///
  /// They are taken in this order: jobs by priority then age, within a job the lease that was granted first, then by
  /// ordinal. Each goes to the first slot that is left, whose worker does not hold the task and had no counted attempt
  /// at it. A task that is backing off gets no backup lease. A task has at most two leases, never two of one worker.
  /// Each lease is renewed, ended and lost by itself; a task that has lost its last lease is `ready` again.
  ///
  /// - Returns: The grants, ready tasks first, in the order in which the tasks were taken.
  func claim(build: String, pools: [String], slots: [Holder]) async throws(JobStoreError) -> [Grant]

  /// Renews leases of any number of workers, and records their progress. A lease that its worker held in an earlier
  /// session belongs to the renewal's session from then on.
  ///
  /// - Returns: The renewals whose holder does not hold the lease.
  func renew(_ renewals: [Renewal]) async throws(JobStoreError) -> [Renewal]

  /// Publishes a result if, and only if, the holder holds the lease. The task is done and has no lease any more: of two
  /// leases the first one to publish wins. The last video or audio task makes the stitch task `ready`; the stitch task
  /// makes the job `done`, and its result is the job's output.
  ///
  /// - Parameters:
  ///   - usage: What the attempt took. Nil: it is not known. Only that of a result that is not dropped is kept.
  ///   - account: That of the holder. Nil: as the worker was registered.
  ///   - draw: Decides whether the result is compared with another worker's first, as `WorkerControl` describes it:
  ///     from 0 to 1, chosen by the caller, so that the stores need no random numbers.
  func publish(
    _ lease: Lease, holder: Holder, result: Content, usage: AttemptUsage?, account: String?, draw: Double
  ) async throws(JobStoreError) -> PublishOutcome

  /// Ends a lease with an attempt that has no result.
  ///
  /// - `released`: Not counted. The task is `ready` at once. Of a task's released attempts the store keeps the last
  ///   `LeasePolicy.keptReleases`.
  /// - `media`, `crashed`, `hung`: Counted. The task backs off for 1 s, doubled with each further failure, lengthened
  ///   by up to a half by the failure's jitter. At the `LeasePolicy.maximumFailures`th the task and the job fail.
  /// - `document`: The task and the job fail at once.
  ///
  /// - Returns: False, with nothing written, if the holder does not hold the lease.
  func fail(_ lease: Lease, holder: Holder, failure: TaskFailure) async throws(JobStoreError) -> Bool

  /// Records that a worker's connection is closed: the leases that the holder holds are away, and the worker is not
  /// registered any more if this is its session. The leases go on until they run out, because the worker may connect
  /// again and renew them; meanwhile an idle worker may have a backup lease of their tasks. Leases that the worker
  /// holds in a later session are not changed.
  ///
  /// - Returns: How many leases are away.
  func disconnect(_ holder: Holder) async throws(JobStoreError) -> Int

  /// Ends the leases that are past their time, as `released`, and those that were renewed without movement for
  /// `LeasePolicy.hang`, as `hung`, which is counted as `media` is. To be called once a second by every coordinator.
  ///
  /// If no coordinator has called it for more than `LeasePolicy.outage`, no worker could renew its leases, because the
  /// database or every coordinator was away. Then nothing ends: the times of all leases and workers, and of builds
  /// that left, are moved on by that time.
  ///
  /// - Returns: The leases that ended.
  func expire() async throws(JobStoreError) -> [Lease]

  // MARK: Workers

  /// Records that workers are connected. To be repeated within `LeasePolicy.lease`. A worker that is registered with a
  /// later session is not changed.
  func register(_ workers: [WorkerRecord]) async throws(JobStoreError)

  /// The workers that were registered within `LeasePolicy.lease`, by name then id.
  func workers() async throws(JobStoreError) -> [WorkerRecord]

  // MARK: The farm

  /// The identity of the farm's content store. The first call records `identity`; so does every call with `replacing`.
  ///
  /// - Returns: The identity that is recorded after this.
  func contentStore(_ identity: String, replacing: Bool) async throws(JobStoreError) -> String

  // MARK: Changes

  /// Hints that a task has become ready, a job has changed its state, or a lease has ended or is away. A hint has no
  /// content, some may be missing, and several changes may make one. The stream ends when the store is closed.
  func changes() -> AsyncStream<Void>
}

extension JobStore {
  /// Grants leases to workers without pools.
  package func claim(build: String, slots: [Holder]) async throws(JobStoreError) -> [Grant] {
    try await claim(build: build, pools: [], slots: slots)
  }

  /// How many jobs and tasks there are, of all pools.
  package func counts() async throws(JobStoreError) -> StoreCounts { try await counts(ofPool: nil) }

  /// Publishes a result that was not drawn.
  package func publish(
    _ lease: Lease, holder: Holder, result: Content, usage: AttemptUsage?
  ) async throws(JobStoreError) -> PublishOutcome {
    try await publish(lease, holder: holder, result: result, usage: usage, account: nil, draw: 1)
  }

  package var calls: [String: DurationHistogram] { [:] }

  /// The newest jobs of one purpose.
  package func summaries(_ purpose: JobPurpose, limit: Int) async throws(JobStoreError) -> [JobSummary] {
    try await summaries(purpose, limit: limit, after: nil, filter: JobFilter())
  }

  /// A job's tasks by ordinal, with their payloads.
  package func tasks(of job: JobID) async throws(JobStoreError) -> [RenderTask] {
    try await tasks(of: job, payloads: true)
  }
}

/// Why a store did not carry out an operation. Equal when the codes are.
package struct JobStoreError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable, Hashable, CaseIterable {
    /// The database cannot be reached, or its connection was lost. Whether the operation took place is not known. It
    /// can be repeated, as every operation can.
    case unavailable
    /// The database was set up by a newer Sheaf.
    case schemaTooNew
    /// The database's schema does not match its recorded version.
    case schemaChanged
    /// The owner has as many jobs, or as many bytes, as it may have.
    case full
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

  /// PostgreSQL's condition for a lock that was not released in time.
  package static let lockNotAvailable = "55P03"
  /// Its condition for a statement that took too long.
  package static let queryCanceled = "57014"

  /// Whether the database answers, and did not carry out the operation because something else has a lock, or takes
  /// long. Other operations may succeed meanwhile.
  package var isAboutLocks: Bool { condition == Self.lockNotAvailable || condition == Self.queryCanceled }

  package static func == (left: JobStoreError, right: JobStoreError) -> Bool { left.code == right.code }

  package var description: String {
    guard let condition else { return message }
    return "\(message) (SQLSTATE \(condition))"
  }
}
