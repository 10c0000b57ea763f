/// The reference store: the farm's state in this process, for a farm that lives no longer than it.
package actor MemoryJobStore: JobStore {
  /// - Parameter now: time since any fixed moment, never running back; the store's only clock.
  package init(policy: LeasePolicy = LeasePolicy(), now: @escaping @Sendable () -> Duration) {}

  /// Ends every `wakes()`; operations after it throw `.closed`.
  package func close() {}

  package func submit(_ job: NewJob) async throws(JobStoreError) { throw unbuilt }
  package func jobsToPlan() async throws(JobStoreError) -> [JobID] { throw unbuilt }
  package func plan(_ job: JobID, build: String, tasks: [NewTask]) async throws(JobStoreError) -> Bool { throw unbuilt }
  package func claim(worker: WorkerID, build: String, limit: Int) async throws(JobStoreError) -> [Grant] {
    throw unbuilt
  }
  package func renew(worker: WorkerID, leases: [LeaseProgress]) async throws(JobStoreError) -> [Lease] { throw unbuilt }
  package func publish(_ lease: Lease, result: Content) async throws(JobStoreError) -> PublishOutcome { throw unbuilt }
  package func fail(_ lease: Lease, worker: WorkerID, failure: TaskFailure) async throws(JobStoreError) -> Bool {
    throw unbuilt
  }
  package func fail(_ job: JobID, error: String) async throws(JobStoreError) -> Bool { throw unbuilt }
  package func release(worker: WorkerID) async throws(JobStoreError) -> Int { throw unbuilt }
  package func expire() async throws(JobStoreError) -> [Lease] { throw unbuilt }
  package func cancel(_ job: JobID) async throws(JobStoreError) -> JobState? { throw unbuilt }
  package func job(_ id: JobID) async throws(JobStoreError) -> Job? { throw unbuilt }
  package func jobs(limit: Int) async throws(JobStoreError) -> [Job] { throw unbuilt }
  package func tasks(of job: JobID, payloads: Bool) async throws(JobStoreError) -> [RenderTask] { throw unbuilt }
  package func note(_ worker: WorkerRecord) async throws(JobStoreError) { throw unbuilt }
  package func workers() async throws(JobStoreError) -> [WorkerRecord] { throw unbuilt }
  package nonisolated func wakes() -> AsyncStream<Void> { AsyncStream { $0.finish() } }
  private var unbuilt: JobStoreError { JobStoreError(.internal, "not built yet") }
}
