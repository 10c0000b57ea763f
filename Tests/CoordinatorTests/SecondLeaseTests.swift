import Jobs
import Testing
import Wire

@testable import Coordinator

@Suite("A slow segment on two workers")
struct SecondLeaseTests {
  private let anna = WorkerID("anna")
  private let bert = WorkerID("bert")
  private let job = JobID("j1")

  @Test func aFullDiskDoesNotEndWhatAnotherWorkerStillRenders() async throws {
    let policy = LeasePolicy(slowness: 0, shortestSlow: .zero, fewestRendered: 1)
    try await TestFarm.run(policy: policy) { farm in
      let (first, twin) = try await doubled(farm.store)
      for _ in 0...StrikeCount.maximum { await farm.service.strike(twin, message: "disk full") }
      #expect(try await farm.store.job(job)?.state == .rendering)
      let failure = TaskFailure(cause: .infrastructure, message: "disk full")
      #expect(try await farm.store.fail(twin, worker: bert, failure: failure))
      await farm.service.strike(first, message: "disk full, here too")
      #expect(try await farm.store.job(job)?.error?.hasSuffix("disk full, here too") == true)
    }
  }

  @Test func aStatusNamesBothAndCountsTheFurtherOne() async throws {
    let policy = LeasePolicy(slowness: 0, shortestSlow: .zero, fewestRendered: 1)
    try await TestFarm.run(policy: policy) { farm in
      let (first, twin) = try await doubled(farm.store)
      #expect(try await farm.store.renew(worker: anna, leases: [LeaseProgress(lease: first, done: 30)]).isEmpty)
      #expect(try await farm.store.renew(worker: bert, leases: [LeaseProgress(lease: twin, done: 40)]).isEmpty)
      let status = try #require(try await JobReport.status(of: job, store: farm.store))
      #expect(status.framesDone == 140)
      #expect(status.framesTotal == 200)
      let task = status.tasks[1]
      #expect((task.worker, task.secondWorker) == ("anna", "bert"))
      #expect((task.done, task.attempts) == (40, 2))
      #expect(TaskView(task).secondWorker == "bert")
      #expect(StatusText.lines(status).contains("  1  picture  leased  40/100  on anna and bert  attempt 2"))
    }
  }

  /// A job of two pictures: one was rendered, the other is Anna's, and Bert's too.
  private func doubled(_ store: MemoryJobStore) async throws -> (first: Lease, twin: Lease) {
    try await store.submit(NewJob(id: job, name: "film", priority: 0, request: [], tasks: []))
    let digest = String(repeating: "0", count: 64)
    let tasks = [TaskKind.picture, .picture, .stitch].map { kind in
      NewTask(kind: kind, payload: [], inputs: [], fingerprint: digest, cost: 1, work: 100)
    }
    #expect(try await store.plan(job, build: "b1", tasks: tasks))
    let leases = try await store.claim(worker: anna, build: "b1", limit: 2).map(\.lease)
    let result = Content(digest: digest, size: 1)
    #expect(try await store.publish(try #require(leases.first), result: result) == .published)
    let twin = try #require(try await store.claim(worker: bert, build: "b1", limit: 1).first)
    #expect(twin.lease.task == leases.last?.task)
    return (leases[1], twin.lease)
  }
}
