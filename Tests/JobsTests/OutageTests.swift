import FarmModel
import Testing

@testable import Jobs
@testable import PostgresJobs

/// While the database or every coordinator is away no worker can renew its leases.
@Suite("Outages")
struct OutageTests {
  @Test(arguments: StoreKind.allCases, [6, 20, 120] as [Int64])
  func `no lease ends of an outage`(_ kind: StoreKind, seconds: Int64) async throws {
    try await kind.run(outages: true) { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(2))
      try await farm.store.register(.sample(.anna))
      let leases = try await farm.store.claim(worker: .anna, build: "b1", limit: 2).map(\.lease)
      #expect(try await farm.store.expire().isEmpty)
      for _ in 0..<2 {
        try farm.advance(.seconds(5))
        #expect(try await farm.store.expire().isEmpty)
      }
      try farm.advance(.seconds(seconds))
      #expect(try await farm.store.expire().isEmpty)
      #expect(try await farm.store.workers().map(\.id) == [.anna])
      // 5 s were left.
      try farm.advance(.seconds(5) - .microseconds(1))
      #expect(try await farm.store.expire().isEmpty)
      #expect(try await farm.store.workers().map(\.id) == [.anna])
      #expect(try await farm.store.lost(leases[0], of: .anna).isEmpty)
      try farm.advance(.microseconds(1))
      #expect(try await farm.store.expire() == [leases[1]])
      #expect(try await farm.store.task("j1", 0).leases.map(\.ran) == [.seconds(15)])
      #expect(try await farm.store.task("j1", 1).failedOn.isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `no task hangs and none is slow of an outage`(_ kind: StoreKind) async throws {
    try await kind.run(policy: LeasePolicy(hang: .seconds(20)), outages: true) { farm in
      let slow = try await SlowVideo(on: farm)
      #expect(try await farm.store.expire().isEmpty)
      try farm.advance(.seconds(60))
      #expect(try await farm.store.expire().isEmpty)
      #expect(try await farm.store.claimOne(.bert) == nil)
      #expect(try await farm.store.lost(slow.lease, of: .anna).isEmpty)
      try farm.advance(.seconds(2))
      #expect(try await farm.store.claimOne(.bert) == nil)
      try farm.advance(.seconds(2))
      #expect(try await farm.store.expire().isEmpty)
      #expect(try await farm.store.claimOne(.bert)?.lease.task == slow.lease.task)
    }
  }

  /// What happened after the outage and before the first call is not moved into the future.
  @Test(arguments: StoreKind.allCases)
  func `no time is moved past now`(_ kind: StoreKind) async throws {
    try await kind.run(outages: true) { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      #expect(try await farm.store.expire().isEmpty)
      try farm.advance(.seconds(100))
      try await farm.store.register(.sample(.anna))
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.expire().isEmpty)
      #expect(try await farm.store.task("j1", 0).leases.map(\.ran) == [.zero])
      for _ in 0..<3 {
        #expect(try await farm.store.workers().count == 1)
        try farm.advance(.seconds(4))
        #expect(try await farm.store.expire().isEmpty)
      }
      try farm.advance(.seconds(3))
      #expect(try await farm.store.expire() == [lease])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a build whose workers were cut off has not left`(_ kind: StoreKind) async throws {
    try await kind.run(outages: true) { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      try await farm.store.register(.sample(.anna))
      #expect(try await farm.store.expire().isEmpty)
      try farm.advance(.seconds(100))
      #expect(try await farm.store.expire().isEmpty)
      try await farm.store.register(.sample(.bert, build: "b2"))
      #expect(try await farm.store.jobsToRebind().isEmpty)
    }
  }

  /// Not only when the outage is over: a database that answers again answers questions before `expire` is called.
  @Test(arguments: StoreKind.allCases)
  func `no worker and no build leaves in an outage`(_ kind: StoreKind) async throws {
    try await kind.run(outages: true) { farm in
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      try await farm.store.register(.sample(.anna))
      #expect(try await farm.store.expire().isEmpty)
      try farm.advance(.seconds(100))
      #expect(try await farm.store.workers().map(\.id) == [.anna])
      try await farm.store.register(.sample(.bert, build: "b2"))
      #expect(try await farm.store.workers().map(\.id) == [.anna, .bert])
      #expect(try await farm.store.jobsToRebind().isEmpty)
      // The worker is the one of before.
      try await farm.store.register(.sample(.anna))
      #expect(try await farm.store.workers().map(\.connected) == [.seconds(100), .zero])
    }
  }

  /// Two coordinators find the same outage: times are moved once.
  @Test(.database) func `coordinators that come back at once move the times once`() async throws {
    try await TestDatabase.with { database in
      var stores: [PostgresJobStore] = []
      for _ in 0..<4 { stores.append(try await PostgresJobStore.connect(url: database.url)) }
      try database.stopClock()
      let clock = try database.connect()
      try await stores[0].submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await stores[0].claimOne()).lease
      #expect(try await stores[0].expire().isEmpty)
      try clock.advance(by: .seconds(14))
      try await withThrowingTaskGroup(of: [Lease].self) { group in
        for store in stores { group.addTask { try await store.expire() } }
        for try await lost in group { #expect(lost.isEmpty) }
      }
      try clock.advance(by: .seconds(5))
      #expect(try await stores[1].expire().isEmpty)
      try clock.advance(by: .seconds(5))
      #expect(try await stores[2].expire().isEmpty)
      try clock.advance(by: .seconds(5))
      #expect(try await stores[3].expire() == [lease])
      for store in stores { await store.close() }
    }
  }
}
