import Testing

@testable import Jobs

@Suite("A task with two leases")
struct TwinTests {
  /// The two leases of the slow picture, each with its worker: the first and its twin.
  private typealias Holder = (lease: Lease, worker: WorkerID)

  private static func both(on farm: Farm) async throws -> [Holder] {
    let slow = try await SlowPicture(on: farm)
    return [(slow.lease, .anna), (try await slow.double(on: farm), .bert)]
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func theFirstValidPieceWins(_ kind: StoreKind, winner: Int) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      let (won, lost) = (both[winner], both[1 - winner])
      #expect(try await farm.store.publish(won.lease, result: content(7)) == .published)
      let task = try await farm.store.task("j1", 3)
      #expect(task.state == .done)
      #expect(task.result == content(7))
      #expect(task.epoch == won.lease.epoch)
      #expect(task.grants == 2)
      #expect(task.worker == nil && task.twin == nil)
      #expect(try await farm.store.publish(won.lease, result: content(7)) == .duplicate)
      #expect(try await farm.store.publish(lost.lease, result: content(7)) == .stale)
      #expect(try await farm.store.lost(lost.lease, of: lost.worker) == [lost.lease])
      let failure = TaskFailure(cause: .media, message: "too late")
      #expect(try await !farm.store.fail(lost.lease, worker: lost.worker, failure: failure))
      #expect(try await farm.store.claim(worker: .carl, build: "b1", limit: 9).map(\.kind) == [.stitch])
    }
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func anInfrastructureFailureOfOneDropsThatOneAlone(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      let (lost, kept) = (both[gone], both[1 - gone])
      #expect(try await farm.store.lost(kept.lease, of: kept.worker, done: 9).isEmpty)
      let failure = TaskFailure(cause: .infrastructure, message: "disk full")
      #expect(try await farm.store.fail(lost.lease, worker: lost.worker, failure: failure))
      #expect(try await !farm.store.fail(lost.lease, worker: lost.worker, failure: failure))
      try await Self.requireAlone(kept, progress: 9, on: farm)
      #expect(try await farm.store.task("j1", 3).error == "disk full")
      #expect(try await farm.store.task("j1", 3).failedOn.isEmpty)
      #expect(try await farm.store.publish(lost.lease, result: content(1)) == .stale)
      #expect(try await farm.store.publish(kept.lease, result: content(1)) == .published)
    }
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func aMediaFailureOfOneIsChargedAndTheOtherGoesOn(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      let (lost, kept) = (both[gone], both[1 - gone])
      let failure = TaskFailure(cause: .media, message: "bad packet")
      #expect(try await farm.store.fail(lost.lease, worker: lost.worker, failure: failure))
      try await Self.requireAlone(kept, progress: 0, on: farm)
      #expect(try await farm.store.task("j1", 3).failedOn == [lost.worker])
      #expect(try await farm.store.fail(kept.lease, worker: kept.worker, failure: failure))
      let task = try await farm.store.task("j1", 3)
      #expect(task.state == .ready)
      #expect(task.failedOn == [lost.worker, kept.worker])
      try farm.advance(.seconds(2))
      #expect(try await farm.store.claimOne(.carl)?.lease.epoch == 3)
    }
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func theOneChargeTooManyEndsBoth(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run(policy: LeasePolicy(maximumCharges: 1)) { farm in
      let both = try await Self.both(on: farm)
      let (lost, other) = (both[gone], both[1 - gone])
      let failure = TaskFailure(cause: .media, message: "bad packet")
      #expect(try await farm.store.fail(lost.lease, worker: lost.worker, failure: failure))
      let task = try await farm.store.task("j1", 3)
      #expect(task.state == .failed)
      #expect(task.worker == nil && task.twin == nil)
      #expect(try await farm.store.state("j1") == .failed)
      #expect(try await farm.store.lost(other.lease, of: other.worker) == [other.lease])
      #expect(try await farm.store.publish(other.lease, result: content(1)) == .stale)
    }
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func aDocumentFailureOfOneEndsTheJob(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      let failure = TaskFailure(cause: .document, message: "no such font")
      #expect(try await farm.store.fail(both[gone].lease, worker: both[gone].worker, failure: failure))
      #expect(try await farm.store.job(JobID("j1"))?.error == "no such font")
      #expect(try await farm.store.task("j1", 3).state == .failed)
      #expect(try await farm.store.task("j1", 3).twin == nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func cancellingTakesBothBack(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      #expect(try await farm.store.cancel(JobID("j1")) == .cancelled)
      #expect(try await farm.store.task("j1", 3).state == .waiting)
      #expect(try await farm.store.task("j1", 3).twin == nil)
      for (lease, worker) in both { #expect(try await farm.store.lost(lease, of: worker) == [lease]) }
    }
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func aClosedConnectionFreesItsOwnLeaseAlone(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      let (lost, kept) = (both[gone], both[1 - gone])
      #expect(try await farm.store.release(worker: lost.worker) == 1)
      try await Self.requireAlone(kept, progress: 0, on: farm)
      #expect(try await farm.store.task("j1", 3).error == "the connection of worker \(lost.worker) closed")
      #expect(try await farm.store.release(worker: kept.worker) == 1)
      #expect(try await farm.store.task("j1", 3).state == .ready)
      #expect(try await farm.store.claimOne(.carl)?.lease.epoch == 3)
    }
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func eachLeaseRunsOutByItself(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      let (lost, kept) = (both[gone], both[1 - gone])
      try farm.advance(.seconds(7))
      #expect(try await farm.store.lost(kept.lease, of: kept.worker, done: 2).isEmpty)
      try farm.advance(.seconds(8))
      #expect(try await farm.store.expire() == [lost.lease])
      try await Self.requireAlone(kept, progress: 2, on: farm)
      #expect(try await farm.store.task("j1", 3).error == "the lease of worker \(lost.worker) ran out")
      #expect(try await farm.store.publish(kept.lease, result: content(1)) == .published)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aTaskThatLostBothIsReady(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      try farm.advance(.seconds(15))
      #expect(try await farm.store.expire() == both.map(\.lease))
      let task = try await farm.store.task("j1", 3)
      #expect(task.state == .ready)
      #expect(task.failedOn.isEmpty)
      #expect(task.error == "the lease of worker bert ran out")
      #expect(try await farm.store.claimOne(.carl)?.lease.epoch == 3)
    }
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func eachLeaseHangsByItself(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      let (lost, kept) = (both[gone], both[1 - gone])
      for done in 1...5 as ClosedRange<Int64> {
        try farm.advance(.seconds(10))
        #expect(try await farm.store.lost(kept.lease, of: kept.worker, done: done).isEmpty)
        #expect(try await farm.store.lost(lost.lease, of: lost.worker).isEmpty)
        #expect(try await farm.store.expire().isEmpty)
      }
      try farm.advance(.seconds(10))
      #expect(try await farm.store.expire() == [lost.lease])
      try await Self.requireAlone(kept, progress: 5, on: farm)
      #expect(try await farm.store.task("j1", 3).failedOn == [lost.worker])
    }
  }

  @Test(arguments: StoreKind.allCases, 1...3)
  func bothMayHangAtOnce(_ kind: StoreKind, maximumCharges: Int) async throws {
    try await kind.run(policy: LeasePolicy(maximumCharges: maximumCharges)) { farm in
      let both = try await Self.both(on: farm)
      for _ in 0..<6 {
        try farm.advance(.seconds(10))
        for (lease, worker) in both { #expect(try await farm.store.lost(lease, of: worker).isEmpty) }
      }
      #expect(try await farm.store.expire() == both.map(\.lease))
      let task = try await farm.store.task("j1", 3)
      #expect(task.state == (maximumCharges > 2 ? .ready : .failed))
      #expect(task.failedOn == [.anna, .bert].prefix(maximumCharges).map(\.self))
      #expect(try await farm.store.state("j1") == (maximumCharges > 2 ? .rendering : .failed))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func aTwinThatStandsAloneMayBeSlowItself(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      #expect(try await farm.store.release(worker: .anna) == 1)
      try farm.advance(.seconds(6))
      #expect(try await farm.store.claimOne(.anna) == nil)
      try farm.advance(.microseconds(1))
      // Nobody's fault, so Anna may try again.
      #expect(try await farm.store.claimOne(.anna)?.lease == Lease(task: both[0].lease.task, epoch: 3))
      let task = try await farm.store.task("j1", 3)
      #expect(task.worker == .bert)
      #expect(task.epoch == 2)
      #expect(task.twin?.epoch == 3)
      #expect(try await farm.store.publish(both[0].lease, result: content(1)) == .stale)
    }
  }

  /// The picture is leased, to this worker alone.
  private static func requireAlone(_ kept: Holder, progress: Int64, on farm: Farm) async throws {
    let task = try await farm.store.task("j1", 3)
    #expect(task.state == .leased)
    #expect(task.worker == kept.worker)
    #expect(task.epoch == kept.lease.epoch)
    #expect(task.progress == progress)
    #expect(task.twin == nil)
    #expect(task.grants == 2)
  }
}
