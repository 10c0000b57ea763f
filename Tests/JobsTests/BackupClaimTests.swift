import FarmModel
import Testing

@testable import Jobs

@Suite("Claiming backup leases")
struct BackupClaimTests {
  @Test(arguments: StoreKind.allCases)
  func `a slow video task is granted to a second worker`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let slow = try await SlowVideo(on: farm)
      #expect(try await farm.store.lost(slow.lease, of: .anna, done: 7).isEmpty)
      try farm.advance(.seconds(2))
      #expect(try await farm.store.claimOne(.bert) == nil)
      try farm.advance(.microseconds(1))
      let grant = try #require(try await farm.store.claimOne(.bert))
      let video = NewTask.sample(.video, 3)
      #expect(
        grant
          == Grant(
            lease: Lease(task: slow.lease.task, epoch: 2), holder: WorkerID.bert.holder, kind: .video,
            payload: video.payload,
            inputs: video.inputs, work: video.work))
      #expect(try await farm.store.lost(grant.lease, of: .bert, done: 3).isEmpty)
      let task = try await farm.store.task("j1", 3)
      #expect(task.state == .running)
      #expect(task.epoch == 2)
      #expect(
        task.held
          == [
            HeldLease(epoch: 1, worker: .anna, progress: 7),
            HeldLease(epoch: 2, worker: .bert, isBackup: true, progress: 3),
          ])
      for worker in [WorkerID.anna, .bert, .carl] { #expect(try await farm.store.claimOne(worker) == nil) }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `the holder gets no backup lease`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      _ = try await SlowVideo(on: farm)
      try farm.advance(.seconds(9))
      #expect(try await farm.store.claimOne(.anna) == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `both workers of a task are listed as busy`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      for worker in [WorkerID.anna, .bert] {
        try await farm.store.register(.sample(worker, name: "\(worker)"))
      }
      _ = try await SlowVideo(on: farm).backUp(on: farm)
      #expect(try await farm.store.workers().map(\.busy) == [1, 1])
      #expect(try await farm.store.release(worker: .bert) == 1)
      #expect(try await farm.store.workers().map(\.busy) == [1, 0])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `ready tasks go first`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      _ = try await SlowVideo(on: farm)
      try farm.advance(.seconds(3))
      try await farm.store.submitRendering("j2", tasks: .videos(2))
      #expect(try await farm.store.claimOne(.bert)?.name == "j2/0")
      #expect(try await farm.store.claim(worker: .bert, build: "b1", limit: 2).map(\.name) == ["j2/1", "j1/3"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `the longest-running go first`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(7))
      let first = try await farm.store.claim(worker: .anna, build: "b1", limit: 4).map(\.lease)
      #expect(try await farm.store.release(worker: .anna) == 4)
      try farm.advance(.seconds(1))
      let rendered = try await farm.store.claim(worker: .carl, build: "b1", limit: 3).map(\.lease)
      #expect(rendered.map(\.task) == first.prefix(3).map(\.task))
      let late = try #require(try await farm.store.claim(worker: .anna, build: "b1", limit: 2).last).lease
      try farm.advance(.seconds(1))
      for lease in rendered {
        #expect(try await farm.store.publish(lease, worker: .carl, result: content(1)) == .published)
      }
      #expect(try await farm.store.claim(worker: .anna, build: "b1", limit: 9).map(\.name) == ["j1/5", "j1/6"])
      try farm.advance(.seconds(6))
      #expect(late.task.ordinal == 4)
      #expect(
        try await farm.store.claim(worker: .bert, build: "b1", limit: 3).map(\.name) == ["j1/3", "j1/4", "j1/5"])
      #expect(try await farm.store.claim(worker: .bert, build: "b1", limit: 3).map(\.name) == ["j1/6"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a task of a higher cost may take longer`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering(
        "j1", tasks: [.sample(.video, cost: 0), .sample(.video, cost: 4)] + .videos(3))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 5).map(\.lease)
      #expect(leases.map(\.task.ordinal) == [1, 2, 3, 4, 0])
      try farm.advance(.seconds(2))
      for lease in leases[1...3] {
        #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published)
      }
      try farm.advance(.seconds(10))
      #expect(try await farm.store.claim(worker: .bert, build: "b1", limit: 9).isEmpty)
      try farm.advance(.microseconds(1))
      // Never the one of cost 0: how long that may take is not known.
      #expect(try await farm.store.claim(worker: .bert, build: "b1", limit: 9).map(\.lease.task) == [leases[0].task])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `the median is the lower middle of the rendered tasks`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(5))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 5).map(\.lease)
      for (lease, seconds) in zip(leases, [1, 3, 1, 4]) {
        try farm.advance(.seconds(seconds))
        #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published)
      }
      // They took 1, 4, 5 and 9 s: the median is 4.
      #expect(try await farm.store.claimOne(.bert)?.lease.task.ordinal == 4)
    }
  }

  @Test(arguments: StoreKind.allCases, [false, true])
  func `without three rendered video tasks, nothing is slow`(_ kind: StoreKind, cached: Bool) async throws {
    try await kind.run { farm in
      let known: [NewTask] = (0..<3).map { .sample(.video, $0, cached: cached ? content(1) : nil) }
      try await farm.store.submitRendering("j1", tasks: (cached ? known : []) + .videos(3))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 9).map(\.lease)
      try farm.advance(.seconds(1))
      for lease in leases.dropLast() {
        #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published)
      }
      try farm.advance(.seconds(13))
      #expect(try await farm.store.claimOne(.bert) == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `nothing is slow in its first five seconds`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(4))
      for lease in try await farm.store.claim(worker: .anna, build: "b1", limit: 4).map(\.lease).prefix(3) {
        #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published)
      }
      try farm.advance(.seconds(5) - .microseconds(1))
      #expect(try await farm.store.claimOne(.bert) == nil)
      try farm.advance(.microseconds(1))
      #expect(try await farm.store.claimOne(.bert)?.name == "j1/3")
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `video and audio tasks have backup leases by their cost, and stitch tasks none`(
    _ kind: StoreKind
  ) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(3) + [.sample(.audio, 3, cost: 0.5)])
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 9).map(\.lease)
      try farm.advance(.seconds(12))
      for lease in leases.prefix(3) {
        #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published)
      }
      // Half of the cost of a segment, and so slow after 1.5 times half of the 12 s.
      #expect(try await farm.store.claimOne(.bert)?.lease == Lease(task: leases[3].task, epoch: 2))
      #expect(try await farm.store.publish(leases[3], worker: .anna, result: content(1)) == .published)
      #expect(try await farm.store.claimOne(.anna)?.kind == .stitch)
      try farm.advance(.seconds(14))
      #expect(try await farm.store.claimOne(.bert) == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `only a worker of the same build that has not failed on it gets one`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let slow = try await SlowVideo(on: farm)
      let failure = TaskFailure(end: .media, message: "bad packet")
      #expect(try await farm.store.fail(slow.lease, worker: .anna, failure: failure))
      try farm.advance(.seconds(1))
      #expect(try await farm.store.claimOne(.bert)?.lease.epoch == 2)
      try farm.advance(.seconds(7))
      #expect(try await farm.store.claimOne(.anna) == nil)
      #expect(try await farm.store.claimOne(.carl, build: "b2") == nil)
      #expect(try await farm.store.claimOne(.carl)?.lease == Lease(task: slow.lease.task, epoch: 3))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `the policy defines what is slow`(_ kind: StoreKind) async throws {
    let policy = LeasePolicy(slowness: 3, shortestSlow: .seconds(13), fewestRendered: 1)
    try await kind.run(policy: policy) { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(2))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      try farm.advance(.seconds(4))
      #expect(try await farm.store.publish(leases[0], worker: .anna, result: content(1)) == .published)
      try farm.advance(.seconds(9) - .microseconds(1))
      #expect(try await farm.store.claimOne(.bert) == nil)
      try farm.advance(.microseconds(1))
      #expect(try await farm.store.claimOne(.bert)?.lease.task == leases[1].task)
    }
  }
}
