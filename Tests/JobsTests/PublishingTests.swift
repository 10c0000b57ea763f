import FarmModel
import Testing

@testable import Jobs

@Suite("Publishing")
struct PublishingTests {
  @Test(arguments: StoreKind.allCases)
  func `a job goes to its output`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submit(.sample("j1", tasks: [.sample(.probe)]))
      let probe = try #require(try await farm.store.claimOne())
      #expect(try await farm.store.publish(probe.lease, worker: .anna, result: content(1)) == .published)
      let tasks: [NewTask] = [.sample(.video, 1), .sample(.video, 2), .sample(.audio), .sample(.stitch)]
      #expect(try await farm.store.plan(JobID("j1"), build: "b1", tasks: tasks))
      let grants = try await farm.store.claim(worker: .anna, build: "b1", limit: 9)
      #expect(grants.map(\.kind) == [.video, .video, .audio])
      for (index, grant) in grants.reversed().enumerated() {
        #expect(try await farm.store.task("j1", 4).state == .waiting)
        #expect(try await farm.store.claimOne() == nil)
        let result = content(12 - index, size: Int64(index))
        #expect(try await farm.store.publish(grant.lease, worker: .anna, result: result) == .published)
      }
      let stitch = try #require(try await farm.store.claimOne(.bert))
      #expect(stitch.kind == .stitch)
      #expect(stitch.inputs == [content(10, size: 2), content(11, size: 1), content(12, size: 0)])
      try farm.advance(.seconds(3))
      #expect(try await farm.store.publish(stitch.lease, worker: .bert, result: content(20)) == .published)
      try farm.advance(.seconds(4))
      let job = try #require(try await farm.store.job(JobID("j1")))
      #expect(job.state == .done)
      #expect(job.output == content(20))
      #expect(job.elapsed == .seconds(3))
      #expect(job.age == .seconds(7))
      let done = try await farm.store.tasks(of: JobID("j1"))
      #expect(done.allSatisfy { $0.state == .done && $0.leases.isEmpty && $0.publishedEpoch == 1 && !$0.isCached })
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `publishing again is a duplicate, and anything else is stale`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(2))
      let lost = try #require(try await farm.store.claimOne(.bert)).lease
      #expect(try await farm.store.release(worker: .bert) == 1)
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(lease.task == lost.task)
      #expect(try await farm.store.publish(lost, worker: .bert, result: content(1)) == .stale)
      #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published)
      #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .duplicate)
      #expect(try await farm.store.publish(lease, worker: .anna, result: content(2)) == .stale)
      #expect(try await farm.store.publish(lost, worker: .bert, result: content(1)) == .stale)
      for absent in [TaskID(job: lease.task.job, ordinal: 9), TaskID(job: JobID("none"), ordinal: 0)] {
        #expect(
          try await farm.store.publish(Lease(task: absent, epoch: 1), worker: .anna, result: content(1)) == .stale)
      }
      let future = Lease(task: lease.task, epoch: 9)
      #expect(try await farm.store.publish(future, worker: .anna, result: content(1)) == .stale)
      #expect(try await farm.store.task("j1", 0).result == content(1))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a task that is ready again cannot be published`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      try farm.advance(.seconds(20))
      #expect(try await farm.store.expire() == [lease])
      #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .stale)
      #expect(try await farm.store.task("j1", 0).state == .ready)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a lease past its time that has not expired still publishes`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      try farm.advance(.seconds(20))
      #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published)
      #expect(try await farm.store.expire().isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a result of a negative size is rejected`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      await #expect(throws: JobStoreError(.invalid, "")) {
        try await farm.store.publish(lease, worker: .anna, result: content(1, size: -1))
      }
      #expect(try await farm.store.task("j1", 0).state == .running)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `only the holder publishes, whatever the epoch`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.publish(lease, worker: .bert, result: content(1)) == .stale)
      #expect(try await farm.store.publish(lease, worker: WorkerID("a\0"), result: content(1)) == .stale)
      #expect(try await farm.store.task("j1", 0).state == .running)
      #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published)
    }
  }
}
