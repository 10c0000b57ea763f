package import Digest

/// The reference store: a farm's state in memory, for a farm that ends with its process.
package actor MemoryJobStore: JobStore {
  private(set) var state: FarmState
  private let now: @Sendable () -> Duration
  private let streams = ChangeStreams()
  private var isClosed = false

  /// - Parameter now: The time since any fixed moment, which never decreases; the store's only clock.
  package init(policy: LeasePolicy = LeasePolicy(), now: @escaping @Sendable () -> Duration) {
    state = FarmState(policy: policy)
    self.now = now
  }

  /// Ends every stream of `changes()`. Operations after it throw `.closed`.
  package func close() {
    isClosed = true
    streams.finish()
  }

  package func submit(_ job: NewJob) throws(JobStoreError) {
    try run { (state, now) throws(JobStoreError) in try state.submit(job, now: now) }
  }

  package func jobsToPlan() throws(JobStoreError) -> [JobID] {
    try run { (state, _) in state.jobsToPlan() }
  }

  package func inspections(olderThan age: Duration) throws(JobStoreError) -> [JobID] {
    try run { (state, now) in state.inspections(olderThan: age, now: now) }
  }

  package func plan(_ job: JobID, build: String, tasks: [NewTask]) throws(JobStoreError) -> Bool {
    try run { (state, now) throws(JobStoreError) in
      try state.plan(job, build: build, tasks: tasks, now: now)
    }
  }

  package func claim(
    worker: WorkerID, session: SessionID, build: String, limit: Int
  ) throws(JobStoreError) -> [Grant] {
    try run { (state, now) throws(JobStoreError) in
      try state.claim(worker: worker, session: session, build: build, limit: limit, now: now)
    }
  }

  package func renew(worker: WorkerID, leases: [LeaseProgress]) throws(JobStoreError) -> [Lease] {
    try run { (state, now) in state.renew(worker: worker, leases: leases, now: now) }
  }

  package func publish(
    _ lease: Lease, worker: WorkerID, result: Content
  ) throws(JobStoreError) -> PublishOutcome {
    try run { (state, now) throws(JobStoreError) in
      try state.publish(lease, worker: worker, result: result, now: now)
    }
  }

  package func fail(_ lease: Lease, worker: WorkerID, failure: TaskFailure) throws(JobStoreError) -> Bool {
    try run { (state, now) throws(JobStoreError) in
      try state.fail(lease, worker: worker, failure: failure, now: now)
    }
  }

  package func fail(_ job: JobID, failure: JobFailure) throws(JobStoreError) -> Bool {
    try run { (state, now) throws(JobStoreError) in try state.fail(job, failure: failure, now: now) }
  }

  package func release(worker: WorkerID, session: SessionID) throws(JobStoreError) -> Int {
    try run { (state, now) in state.release(worker: worker, session: session, now: now) }
  }

  package func expire() throws(JobStoreError) -> [Lease] {
    try run { (state, now) in state.expire(now: now) }
  }

  package func cancel(_ job: JobID) throws(JobStoreError) -> JobState? {
    try run { (state, now) in state.cancel(job, now: now) }
  }

  package func job(_ id: JobID) throws(JobStoreError) -> Job? {
    try run { (state, now) in state.job(id, now: now) }
  }

  package func jobs(_ purpose: JobPurpose, limit: Int) throws(JobStoreError) -> [Job] {
    try run { (state, now) in state.jobs(purpose, limit: limit, now: now) }
  }

  package func tasks(of job: JobID, payloads: Bool) throws(JobStoreError) -> [RenderTask] {
    try run { (state, _) in state.tasks(of: job, payloads: payloads) }
  }

  package func register(_ worker: WorkerRecord) throws(JobStoreError) {
    try run { (state, now) throws(JobStoreError) in try state.register(worker, now: now) }
  }

  package func workers() throws(JobStoreError) -> [WorkerRecord] {
    try run { (state, now) in state.workers(now: now) }
  }

  package nonisolated func changes() -> AsyncStream<Void> { streams.add() }

  private func run<Value>(
    _ transition: (inout FarmState, Duration) throws(JobStoreError) -> Value
  ) throws(JobStoreError) -> Value {
    guard !isClosed else { throw JobStoreError(.closed, "the job store is closed") }
    let changeCount = state.changeCount
    let value = try transition(&state, now())
    if state.changeCount != changeCount { streams.signal() }
    return value
  }
}
