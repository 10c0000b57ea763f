import Digest
import Jobs
import Synchronization
import Testing
import Wire

@testable import Coordinator

struct JobReportTests {
  private let job = JobID("job1")

  private func waitsFor(_ store: MemoryJobStore) async throws -> String {
    try #require(try await JobReport.status(of: job, store: store)).waitsFor
  }

  private func register(_ worker: String, build: String, in store: MemoryJobStore) async throws {
    try await store.register(
      WorkerRecord(
        id: WorkerID(worker), session: SessionID(worker), name: worker, slots: 1, build: build, coordinator: "here"))
  }

  @Test func aJobOfWhichNoTaskRunsHasAReason() async throws {
    let now = Mutex(Duration.zero)
    let store = MemoryJobStore { now.withLock { $0 } }
    let task = NewTask(
      kind: .probe, payload: [], inputs: [], fingerprint: SHA256Digest.of([]), cost: 1, work: 0)
    try await store.submit(NewJob(id: job, name: "edit.json", priority: 0, request: [], tasks: [task]))
    #expect(try await waitsFor(store).isEmpty, "it was submitted just now")
    now.withLock { $0 = .seconds(5) }
    #expect(try await waitsFor(store) == "no worker is connected")

    try await register("old", build: "build 1", in: store)
    #expect(try await waitsFor(store).isEmpty, "the worker is busy with other jobs")
    let grants = try await store.claim(worker: WorkerID("old"), session: SessionID("old"), build: "build 1", limit: 1)
    #expect(grants.count == 1)
    #expect(try await waitsFor(store).isEmpty, "a task runs")

    _ = try await store.release(worker: WorkerID("old"), session: SessionID("old"))
    try await register("new", build: "build 2", in: store)
    #expect(try await waitsFor(store).hasSuffix("connected: build 1"))
  }
}
