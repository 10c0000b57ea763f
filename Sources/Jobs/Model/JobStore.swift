/// What the farm owes and to whom. The only truth: coordinators keep none of it in memory.
///
/// Every operation is one transaction (a claim that finds too little: two), and none leaves one open. Times are the
/// store's own clock's; only durations go in and out. `MemoryJobStore` is the reference: the same trace of operations
/// leaves every store in the same state (DESIGN 4).
package protocol JobStore: Sendable {
  /// Writes a job in `describing` with its describe tasks, `ready` unless cached. A job without any is planned next.
  func submit(_ job: NewJob) async throws(JobStoreError)

  /// Jobs in `describing` all of whose tasks are done, oldest first: what is to be planned now.
  func jobsToPlan() async throws(JobStoreError) -> [JobID]

  /// Turns a job from `describing` to `rendering` and adds its tasks, numbered on from the describe tasks: pictures and
  /// sound `ready` unless cached, the stitch `waiting` until all of those are done. Binds the job to `build`, for which
  /// the tasks' fingerprints were made. False, and nothing written, if the job is not in `describing` (somebody else
  /// planned it or it has ended) or is bound to another build.
  func plan(_ job: JobID, build: String, tasks: [NewTask]) async throws(JobStoreError) -> Bool

  /// Grants up to `limit` leases of `ready` tasks to a worker: jobs by priority then age, within a job by cost, dearest
  /// first, then by ordinal. Passes over tasks that are backing off, tasks that failed on this worker until 5 s after
  /// their back-off (so that another may try first), and jobs bound to another build; binds the job to the worker's
  /// build at its first grant. Each grant raises the task's epoch.
  ///
  /// Where that finds fewer, the rest of `limit` are second leases of slow pictures (DESIGN 4), each beside the one that
  /// another worker holds: jobs bound to the build in the same order, within a job those leased the longest first, then
  /// by ordinal. A picture is slow when its lease is older than `slowness` times the median of the job's rendered
  /// pictures, by cost, and at least `shortestSlow` old; never while it is backing off, and never for a worker that it
  /// failed on. A task has at most two leases. Each is renewed, given up and lost by itself; where the first is lost the
  /// second takes its place, and only a task that lost both is `ready` again.
  func claim(worker: WorkerID, build: String, limit: Int) async throws(JobStoreError) -> [Grant]

  /// Renews the leases that are still the worker's at that epoch and notes progress; returns the others.
  func renew(worker: WorkerID, leases: [LeaseProgress]) async throws(JobStoreError) -> [Lease]

  /// Publishes a result if, and only if, the task is leased at this epoch; of two leases the first to publish wins, and
  /// the other is lost. The last picture or sound makes the stitch `ready`; the stitch makes the job `done`, its result
  /// the job's output.
  func publish(_ lease: Lease, result: Content) async throws(JobStoreError) -> PublishOutcome

  /// Gives up a lease. Infrastructure: uncharged, the task `ready` at once. Media: charged to the worker and backed off
  /// by 1 s, doubling with each charge, lengthened by up to a half by the failure's jitter; at the third charge the task
  /// and the job fail. Document: task and job fail now. Returns false if the lease was not held.
  func fail(_ lease: Lease, worker: WorkerID, failure: TaskFailure) async throws(JobStoreError) -> Bool

  /// Ends a job that has not ended with an error of the coordinator's own, such as a document that does not hold
  /// against its media. False if it had ended.
  func fail(_ job: JobID, error: String) async throws(JobStoreError) -> Bool

  /// A connection closed: its leases are lost at once, uncharged. Returns how many.
  func release(worker: WorkerID) async throws(JobStoreError) -> Int

  /// Leases past their time are lost, uncharged; those with no progress for `hang` are charged as media failures.
  /// Returns the leases lost.
  func expire() async throws(JobStoreError) -> [Lease]

  /// The state that the job is in now: `cancelled`, or how it had ended before. Nil: no such job.
  func cancel(_ job: JobID) async throws(JobStoreError) -> JobState?

  func job(_ id: JobID) async throws(JobStoreError) -> Job?
  /// Newest first.
  func jobs(limit: Int) async throws(JobStoreError) -> [Job]
  /// By ordinal; none if there is no such job. Without `payloads` each payload is left empty: a status needs none, and
  /// they may be megabytes.
  func tasks(of job: JobID, payloads: Bool) async throws(JobStoreError) -> [RenderTask]

  /// Notes that a worker is connected; to be said again within the lease time.
  func note(_ worker: WorkerRecord) async throws(JobStoreError)
  /// Workers noted within the lease time, by name then id.
  func workers() async throws(JobStoreError) -> [WorkerRecord]

  /// Says that something may have changed: a hint, carrying nothing (DESIGN 4). Ends when the store is closed.
  func wakes() -> AsyncStream<Void>
}

extension JobStore {
  /// By ordinal, payloads and all.
  package func tasks(of job: JobID) async throws(JobStoreError) -> [RenderTask] {
    try await tasks(of: job, payloads: true)
  }
}

package struct NewJob: Sendable, Hashable {
  package var id: JobID
  package var name: String
  package var priority: Int32
  package var request: [UInt8]
  /// All of kind `.describe`.
  package var tasks: [NewTask]

  package init(id: JobID, name: String, priority: Int32, request: [UInt8], tasks: [NewTask]) {
    self.id = id
    self.name = name
    self.priority = priority
    self.request = request
    self.tasks = tasks
  }
}

package struct Lease: Sendable, Hashable {
  package var task: TaskID
  package var epoch: Int64

  package init(task: TaskID, epoch: Int64) {
    self.task = task
    self.epoch = epoch
  }
}

package struct LeaseProgress: Sendable, Hashable {
  package var lease: Lease
  package var done: Int64

  package init(lease: Lease, done: Int64) {
    self.lease = lease
    self.done = done
  }
}

package struct Grant: Sendable, Hashable {
  package var lease: Lease
  package var kind: TaskKind
  package var payload: [UInt8]
  /// For a stitch task: the results of pictures by ordinal, then of the sound.
  package var inputs: [Content]
  package var work: Int64

  package init(lease: Lease, kind: TaskKind, payload: [UInt8], inputs: [Content], work: Int64) {
    self.lease = lease
    self.kind = kind
    self.payload = payload
    self.inputs = inputs
    self.work = work
  }
}

package enum PublishOutcome: Sendable, Hashable {
  case published
  /// The same epoch and digest were published before.
  case duplicate
  /// Anything else: dropped.
  case stale
}

package struct TaskFailure: Sendable, Hashable {
  package enum Cause: String, Sendable, Hashable, CaseIterable {
    case media, infrastructure, document
  }

  package var cause: Cause
  package var message: String
  /// 0…1, of the caller's choice, so that the stores need no source of chance.
  package var jitter: Double

  package init(cause: Cause, message: String, jitter: Double = 0) {
    self.cause = cause
    self.message = message
    self.jitter = jitter
  }
}

/// A worker as `sheaf workers` shows it.
package struct WorkerRecord: Sendable, Hashable {
  package var id: WorkerID
  /// For people, such as the host's.
  package var name: String
  package var slots: Int32
  package var build: String
  /// The coordinator that it is connected to.
  package var coordinator: String
  /// Leases it holds. Filled in by the store.
  package var busy: Int32
  /// Since it was first noted. Filled in by the store.
  package var connected: Duration

  package init(
    id: WorkerID, name: String, slots: Int32, build: String, coordinator: String, busy: Int32 = 0,
    connected: Duration = .zero
  ) {
    self.id = id
    self.name = name
    self.slots = slots
    self.build = build
    self.coordinator = coordinator
    self.busy = busy
    self.connected = connected
  }
}
