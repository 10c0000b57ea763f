/// The reference store: the farm's state in this process, for a farm that lives no longer than it.
package actor MemoryJobStore: JobStore {
  private(set) var state: FarmState
  private let now: @Sendable () -> Duration
  private let streams = WakeStreams()
  private var isClosed = false

  /// - Parameter now: time since any fixed moment, never running back; the store's only clock.
  package init(policy: LeasePolicy = LeasePolicy(), now: @escaping @Sendable () -> Duration) {
    state = FarmState(policy: policy)
    self.now = now
  }

  /// Ends every `wakes()`; operations after it throw `.closed`.
  package func close() {
    isClosed = true
    streams.finish()
  }

  package func submit(_ job: NewJob) throws(JobStoreError) {
    try change { (state, now) throws(JobStoreError) in try state.submit(job, now: now) }
  }

  package func jobsToPlan() throws(JobStoreError) -> [JobID] {
    try change { (state, _) in state.jobsToPlan() }
  }

  package func plan(_ job: JobID, build: String, tasks: [NewTask]) throws(JobStoreError) -> Bool {
    try change { (state, now) throws(JobStoreError) in
      try state.plan(job, build: build, tasks: tasks, now: now)
    }
  }

  package func claim(worker: WorkerID, build: String, limit: Int) throws(JobStoreError) -> [Grant] {
    try change { (state, now) throws(JobStoreError) in
      try state.claim(worker: worker, build: build, limit: limit, now: now)
    }
  }

  package func renew(worker: WorkerID, leases: [LeaseProgress]) throws(JobStoreError) -> [Lease] {
    try change { (state, now) in state.renew(worker: worker, leases: leases, now: now) }
  }

  package func publish(_ lease: Lease, result: Content) throws(JobStoreError) -> PublishOutcome {
    try change { (state, now) throws(JobStoreError) in try state.publish(lease, result: result, now: now) }
  }

  package func fail(_ lease: Lease, worker: WorkerID, failure: TaskFailure) throws(JobStoreError) -> Bool {
    try change { (state, now) in state.fail(lease, worker: worker, failure: failure, now: now) }
  }

  package func fail(_ job: JobID, error: String) throws(JobStoreError) -> Bool {
    try change { (state, now) in state.fail(job, error: error, now: now) }
  }

  package func release(worker: WorkerID) throws(JobStoreError) -> Int {
    try change { (state, _) in state.release(worker: worker) }
  }

  package func expire() throws(JobStoreError) -> [Lease] {
    try change { (state, now) in state.expire(now: now) }
  }

  package func cancel(_ job: JobID) throws(JobStoreError) -> JobState? {
    try change { (state, now) in state.cancel(job, now: now) }
  }

  package func job(_ id: JobID) throws(JobStoreError) -> Job? {
    try change { (state, now) in state.job(id, now: now) }
  }

  package func jobs(limit: Int) throws(JobStoreError) -> [Job] {
    try change { (state, now) in state.jobs(limit: limit, now: now) }
  }

  package func tasks(of job: JobID, payloads: Bool) throws(JobStoreError) -> [RenderTask] {
    try change { (state, _) in state.tasks(of: job, payloads: payloads) }
  }

  package func note(_ worker: WorkerRecord) throws(JobStoreError) {
    try change { (state, now) throws(JobStoreError) in try state.note(worker, now: now) }
  }

  package func workers() throws(JobStoreError) -> [WorkerRecord] {
    try change { (state, now) in state.workers(now: now) }
  }

  package nonisolated func wakes() -> AsyncStream<Void> { streams.add() }

  private func change<Value>(
    _ transition: (inout FarmState, Duration) throws(JobStoreError) -> Value
  ) throws(JobStoreError) -> Value {
    guard !isClosed else { throw JobStoreError(.closed, "the job store is closed") }
    let news = state.news
    let value = try transition(&state, now())
    if state.news != news { streams.wake() }
    return value
  }
}
