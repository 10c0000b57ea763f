import Digest
import Jobs
import Testing
import Wire

@testable import Coordinator

@Suite("A slow segment on two workers")
struct BackupLeaseTests {
  private let anna = WorkerID("anna")
  private let bert = WorkerID("bert")
  private let job = JobID("j1")
  private let policy = LeasePolicy(slowness: 0, shortestSlow: .zero, fewestRendered: 1)

  @Test func aFullDiskDoesNotEndWhatAnotherWorkerStillRenders() async throws {
    try await TestCoordinator.run(policy: policy) { coordinator in
      let (first, backup) = try await leases(coordinator.store)
      for _ in 0...ReleaseCounter.maximum { await coordinator.service.countRelease(backup, message: "disk full") }
      #expect(try await coordinator.store.job(job)?.state == .rendering)
      let failure = TaskFailure(end: .released, message: "disk full")
      #expect(try await coordinator.store.fail(backup, worker: bert, failure: failure))
      await coordinator.service.countRelease(first, message: "disk full, here too")
      let end = try await coordinator.store.job(job)?.failure
      #expect(end?.reason == .farm && end?.message.hasSuffix("disk full, here too") == true)
    }
  }

  @Test func aStatusHasBothWorkersAndTheProgressOfTheFurtherOne() async throws {
    try await TestCoordinator.run(policy: policy) { coordinator in
      let (first, backup) = try await leases(coordinator.store)
      let store = coordinator.store
      #expect(try await store.renew(worker: anna, leases: [LeaseProgress(lease: first, done: 30)]).isEmpty)
      #expect(try await store.renew(worker: bert, leases: [LeaseProgress(lease: backup, done: 40)]).isEmpty)
      let status = try #require(try await JobReport.status(of: job, store: store))
      #expect(status.framesDone == 140)
      #expect(status.framesTotal == 200)
      let task = status.tasks[1]
      #expect((task.worker, task.backupWorker) == ("anna", "bert"))
      #expect((task.done, task.attempts) == (40, 2))
    }
  }

  /// The leases of a job with two video tasks: one task was rendered, the other one is with Anna and with Bert.
  private func leases(_ store: MemoryJobStore) async throws -> (first: Lease, backup: Lease) {
    try await store.submit(NewJob(id: job, name: "film", purpose: .render, priority: 0, request: [], tasks: []))
    let digest = SHA256Digest.of([])
    let tasks = [TaskKind.video, .video, .stitch].map { kind in
      NewTask(kind: kind, payload: [], inputs: [], fingerprint: digest, cost: 1, work: 100)
    }
    #expect(try await store.plan(job, build: "b1", tasks: tasks))
    let leases = try await store.claim(worker: anna, session: SessionID("a"), build: "b1", limit: 2).map(\.lease)
    let result = Content(digest: digest, size: 1)
    #expect(try await store.publish(try #require(leases.first), worker: anna, result: result) == .published)
    let backup = try #require(
      try await store.claim(worker: bert, session: SessionID("b"), build: "b1", limit: 1).first)
    #expect(backup.lease.task == leases.last?.task)
    return (leases[1], backup.lease)
  }
}
