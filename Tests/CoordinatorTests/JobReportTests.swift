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

  private func note(_ worker: String, build: String, in store: MemoryJobStore) async throws {
    try await store.note(
      WorkerRecord(id: WorkerID(worker), name: worker, slots: 1, build: build, coordinator: "here"))
  }

  @Test func aJobThatNobodyWorksOnSaysWhy() async throws {
    let now = Mutex(Duration.zero)
    let store = MemoryJobStore { now.withLock { $0 } }
    let task = NewTask(
      kind: .describe, payload: [], inputs: [], fingerprint: String(repeating: "0", count: 64), cost: 1, work: 0)
    try await store.submit(NewJob(id: job, name: "edit.json", priority: 0, request: [], tasks: [task]))
    #expect(try await waitsFor(store).isEmpty, "nobody has had the time")
    now.withLock { $0 = .seconds(5) }
    #expect(try await waitsFor(store) == "no worker is connected")

    try await note("old", build: "build 1", in: store)
    #expect(try await waitsFor(store).isEmpty, "it waits for its turn alone")
    let grants = try await store.claim(worker: WorkerID("old"), build: "build 1", limit: 1)
    #expect(grants.count == 1)
    #expect(try await waitsFor(store).isEmpty, "somebody works on it")

    _ = try await store.release(worker: WorkerID("old"))
    try await note("new", build: "build 2", in: store)
    #expect(try await waitsFor(store).hasSuffix("connected: build 1"))
  }
}
