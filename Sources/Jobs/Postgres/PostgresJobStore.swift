/// The farm's state in PostgreSQL, shared by any number of coordinators.
package actor PostgresJobStore: JobStore {
  /// Connects, and brings the database's schema up to this version's.
  ///
  /// - Parameter url: what libpq takes: `postgres://user:password@host:port/database`, or `key=value` pairs. Whatever it
  ///   leaves out comes from the `PG…` environment.
  package static func connect(
    url: String, policy: LeasePolicy = LeasePolicy()
  ) async throws(JobStoreError) -> PostgresJobStore {
    throw JobStoreError(.internal, "not built yet")
  }

  /// Ends every `wakes()` and gives up the connections; operations after it throw `.closed`.
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
