import Digest
import FarmAPI
import FarmModel
import Jobs
import Testing
import Wire

@testable import Coordinator

@Suite("A slow segment on two workers")
struct BackupLeaseTests {
  private let anna = Holder(worker: WorkerID("anna"), session: SessionID(1))
  private let bert = Holder(worker: WorkerID("bert"), session: SessionID(1))
  private let job = JobID("j1")
  private let policy = LeasePolicy(slowness: 0, shortestSlow: .zero, fewestRendered: 1)

  @Test func `a status has both workers and the progress of the further one`() async throws {
    try await TestCoordinator.run(policy: policy) { coordinator in
      let (first, backup) = try await leases(coordinator.store)
      let store = coordinator.store
      let renewals = [
        Renewal(lease: first, holder: anna, done: 30, moved: 1),
        Renewal(lease: backup, holder: bert, done: 40, moved: 1),
      ]
      #expect(try await store.renew(renewals).isEmpty)
      let reader = coordinator.service.status
      let status = try #require(try await reader.status(of: job))
      #expect(status.framesDone == 140)
      #expect(status.framesTotal == 200)
      let task = try await reader.tasks(of: job)[1]
      #expect((task.worker, task.secondWorker) == ("anna", "bert"))
      #expect(task.done == 40)
    }
  }

  /// The leases of a job with two video tasks: one task was rendered, the other one is with Anna and with Bert.
  private func leases(_ store: MemoryJobStore) async throws -> (first: Lease, backup: Lease) {
    _ = try await store.submit(NewJob(id: job, name: "film", purpose: .render, priority: 0, request: [], tasks: []))
    let digest = SHA256Digest.of([])
    let tasks = [TaskKind.video, .video, .stitch].map { kind in
      NewTask(kind: kind, payload: [], inputs: [], fingerprint: digest, cost: 1, work: kind == .stitch ? 0 : 100)
    }
    #expect(try await store.plan(job, build: "b1", tasks: tasks))
    let leases = try await store.claim(build: "b1", slots: [anna, anna]).map(\.lease)
    let result = Content(digest: digest, size: 1)
    #expect(try await store.publish(try #require(leases.first), holder: anna, result: result, usage: nil) == .published)
    let backup = try #require(try await store.claim(build: "b1", slots: [bert]).first)
    #expect(backup.lease.task == leases.last?.task)
    return (leases[1], backup.lease)
  }
}
