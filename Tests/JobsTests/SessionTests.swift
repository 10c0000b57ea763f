import FarmModel
import Testing

@testable import Jobs

/// A worker whose connection is lost keeps its tasks, if it comes back before its leases run out.
@Suite("Sessions")
struct SessionTests {
  /// The coordinator was stopped and started, or the network failed: nothing is lost.
  @Test(arguments: StoreKind.allCases)
  func `a worker that connects again takes its leases over`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(2))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      try farm.advance(.seconds(10))
      #expect(try await farm.store.disconnect(WorkerID.anna.holder) == 2)
      #expect(try await farm.store.task("j1", 0).held == [HeldLease(epoch: 1, worker: .anna, isAway: true)])
      try farm.advance(.seconds(4))
      #expect(try await farm.store.expire().isEmpty)
      #expect(try await farm.store.renew(worker: .anna, session: 2, leases: leases, done: 5).isEmpty)
      try farm.advance(.seconds(14))
      #expect(try await farm.store.expire().isEmpty)
      let task = try await farm.store.task("j1", 0)
      #expect(task.held == [HeldLease(epoch: 1, worker: .anna, session: 2, progress: 5)])
      #expect(task.leases.map(\.ran) == [.seconds(28)])
      let holder = WorkerID.anna.holder(in: 2)
      #expect(try await farm.store.publish(leases[0], holder: holder, result: content(1)) == .published)
      #expect(try await farm.store.task("j1", 0).attempts.isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `the leases of a worker that does not come back run out`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: [.sample(.video)])
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.disconnect(WorkerID.anna.holder) == 1)
      try farm.advance(.seconds(15))
      #expect(try await farm.store.expire() == [lease])
      let task = try await farm.store.task("j1", 0)
      #expect(task.state == .ready && task.failedOn.isEmpty)
      #expect(try await farm.store.disconnect(WorkerID.anna.holder) == 0)
    }
  }

  /// What a coordinator that was stopped for some time still reports of a connection that is not the worker's any more.
  @Test(arguments: StoreKind.allCases)
  func `an earlier session changes nothing`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(2))
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.renew(worker: .anna, session: 2, leases: [lease], done: 7).isEmpty)
      try await farm.store.register(.sample(.anna, session: 2, name: "late"))
      let before = try await farm.store.tasks(of: JobID("j1"))
      let (old, failure) = (WorkerID.anna.holder, TaskFailure(end: .released, message: "m"))
      #expect(try await farm.store.lost(lease, of: .anna, done: 9) == [lease])
      #expect(try await farm.store.publish(lease, holder: old, result: content(1)) == .stale)
      #expect(try await !farm.store.fail(lease, holder: old, failure: failure))
      #expect(try await farm.store.disconnect(old) == 0)
      try await farm.store.register(.sample(.anna, session: 1, name: "early"))
      #expect(try await farm.store.tasks(of: JobID("j1")) == before)
      #expect(try await farm.store.workers().map(\.name) == ["late"])
    }
  }

  /// The close of a connection may be recorded after the worker's next one has opened.
  @Test(arguments: StoreKind.allCases)
  func `the end of an earlier session leaves a later one's leases`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(3))
      let first = try await farm.store.claim(worker: .anna, session: 1, build: "b1", limit: 1)
      let second = try await farm.store.claim(worker: .anna, session: 2, build: "b1", limit: 1)
      try await farm.store.register(.sample(.anna, session: 2))
      #expect(try await farm.store.disconnect(WorkerID.bert.holder(in: 2)) == 0)
      #expect(try await farm.store.disconnect(WorkerID.anna.holder) == 1)
      #expect(try await farm.store.workers().map(\.busy) == [2])
      #expect(try await farm.store.task("j1", 0).leases.map(\.isAway) == [true])
      #expect(try await farm.store.task("j1", 1).leases.map(\.isAway) == [false])
      let leases = (first + second).map(\.lease)
      #expect(try await farm.store.renew(worker: .anna, session: 2, leases: leases).isEmpty)
      #expect(try await farm.store.task("j1", 0).leases.map(\.isAway) == [false])
      #expect(try await farm.store.disconnect(WorkerID.anna.holder(in: 2)) == 2)
      #expect(try await farm.store.workers().isEmpty)
    }
  }

  /// A renewal that was on its way when the connection closed does not bring the worker back.
  @Test(arguments: StoreKind.allCases)
  func `a renewal of a closed connection leaves the lease away`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: [.sample(.video)])
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.disconnect(WorkerID.anna.holder) == 1)
      #expect(try await farm.store.lost(lease, of: .anna).isEmpty)
      #expect(try await farm.store.task("j1", 0).leases.map(\.isAway) == [true])
    }
  }

  /// A dead worker costs no wait: an idle one starts its tasks at once, of whatever kind they are.
  @Test(arguments: StoreKind.allCases, TaskKind.allCases)
  func `an idle worker gets a backup lease of a task whose holder is away`(_ kind: StoreKind, task: TaskKind)
    async throws
  {
    try await kind.run { farm in
      let cached = content(9)
      switch task {
      case .probe: try await farm.store.submit(.sample("j1", tasks: [.sample(.probe)]))
      case .measure:
        try await farm.store.submit(.sample("j1"))
        #expect(try await farm.store.measure(JobID("j1"), build: "b1", tasks: [.sample(.measure)]))
      case .video: try await farm.store.submitRendering("j1", tasks: [.sample(.video)])
      case .audio:
        try await farm.store.submitRendering("j1", tasks: [.sample(.video, cached: cached), .sample(.audio)])
      case .stitch: try await farm.store.submitRendering("j1", tasks: [.sample(.video, cached: cached)])
      }
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.claimOne(.bert) == nil)
      #expect(try await farm.store.disconnect(WorkerID.anna.holder) == 1)
      #expect(try await farm.store.claimOne(.anna) == nil)
      let grant = try #require(try await farm.store.claimOne(.bert))
      #expect(grant.lease == Lease(task: lease.task, epoch: 2) && grant.kind == task)
      #expect(grant.inputs == (task == .stitch ? [cached] : []))
      #expect(try await farm.store.claimOne(.carl) == nil)
      #expect(
        try await farm.store.task("j1", Int(lease.task.ordinal)).held == [
          HeldLease(epoch: 1, worker: .anna, isAway: true), HeldLease(epoch: 2, worker: .bert, isBackup: true),
        ])
      // Whoever is first wins, also the worker that was away.
      let holder = WorkerID.anna.holder(in: 2)
      #expect(try await farm.store.publish(lease, holder: holder, result: content(1)) == .published)
      #expect(try await farm.store.publish(grant.lease, worker: .bert, result: content(1)) == .stale)
    }
  }

  /// One call serves several workers with backup leases: each task goes to the first slot whose worker may have it.
  @Test(arguments: StoreKind.allCases)
  func `backup leases go to the first slots that may have them`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(3))
      for worker in [WorkerID.anna, .bert, .anna] { #expect(try await farm.store.claimOne(worker) != nil) }
      for worker in [WorkerID.anna, .bert] { _ = try await farm.store.disconnect(worker.holder) }
      let (anna, bert, carl) = (WorkerID.anna.holder(in: 2), WorkerID.bert.holder(in: 2), WorkerID.carl.holder)
      let grants = try await farm.store.claim(build: "b1", slots: [anna, bert, anna, carl])
      #expect(grants.map(\.name) == ["j1/0", "j1/1", "j1/2"])
      #expect(grants.map(\.holder) == [bert, anna, carl])
    }
  }

  /// Each session counts its movement anew, and a worker that was away could not report any.
  @Test(arguments: StoreKind.allCases)
  func `progress of any kind keeps a task from hanging`(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(hang: .seconds(20))) { farm in
      try await farm.store.submitRendering("j1", tasks: [.sample(.video)])
      let lease = try #require(try await farm.store.claimOne()).lease
      var last: [Lease] = []
      for (session, done, moved) in [
        (1, 0, 5), (1, 0, 6), (1, 3, 6), (2, 3, 1), (2, 3, 2), (2, 3, 2), (2, 2, 1),
      ] as [(Int64, Int64, Int64)] {
        #expect(last.isEmpty)
        try farm.advance(.seconds(10))
        let renewal = Renewal(lease: lease, holder: WorkerID.anna.holder(in: session), done: done, moved: moved)
        #expect(try await farm.store.renew([renewal]).isEmpty)
        last = try await farm.store.expire()
      }
      #expect(last == [lease])
      #expect(try await farm.store.task("j1", 0).attempts.map(\.end) == [.hung])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `one call renews the leases of many workers`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(3))
      let lease = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      let other = try #require(try await farm.store.claimOne(.bert)).lease
      func renewal(_ lease: Lease, _ worker: WorkerID, _ session: Int64, _ done: Int64) -> Renewal {
        Renewal(lease: lease, holder: worker.holder(in: session), done: done, moved: 0)
      }
      let lost = [renewal(lease[0], .anna, 1, 50), renewal(other, .anna, 9, 3), renewal(lease[1], .bert, 2, 4)]
      let held = [renewal(lease[0], .anna, 2, 1), renewal(other, .bert, 1, 5), renewal(other, .bert, 1, 2)]
      #expect(try await farm.store.renew([lost[0], held[0], lost[1], held[1], lost[2], held[2]]) == lost)
      let tasks = try await farm.store.tasks(of: JobID("j1"))
      #expect(tasks[0].held == [HeldLease(epoch: 1, worker: .anna, session: 2, progress: 1)])
      #expect(tasks[2].held == [HeldLease(epoch: 1, worker: .bert, progress: 5)])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a worker's name is shown with what it did, also after it left`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(2))
      try await farm.store.register([.sample(.anna, name: "studio 4"), .sample(.bert, name: "")])
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      #expect(try await farm.store.task("j1", 0).leases.map(\.workerName) == ["studio 4"])
      try farm.advance(.seconds(3))
      #expect(try await farm.store.publish(leases[0], worker: .anna, result: content(1)) == .published)
      let failure = TaskFailure(end: .media, message: "bad packet", process: .sample)
      #expect(try await farm.store.fail(leases[1], worker: .anna, failure: failure))
      #expect(try await farm.store.disconnect(WorkerID.anna.holder) == 0)
      #expect(try await farm.store.workers().map(\.id) == [.bert])
      let tasks = try await farm.store.tasks(of: JobID("j1"))
      #expect(
        tasks[0].publisher
          == Publisher(
            worker: .anna, workerName: "studio 4", took: .seconds(3), publishedAt: tasks[0].publisher?.publishedAt))
      #expect(tasks[1].attempts.map(\.workerName) == ["studio 4"])
      #expect(tasks[1].attempts.map(\.process) == [.sample])
      try farm.advance(LeasePolicy.keptWorker + .seconds(1))
      #expect(try await farm.store.expire().isEmpty)
      #expect(try await farm.store.task("j1", 0).publisher?.workerName == "anna")
    }
  }
}
