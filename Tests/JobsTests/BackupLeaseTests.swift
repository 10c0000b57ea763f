import FarmModel
import Testing

@testable import Jobs

@Suite("A task with a backup lease")
struct BackupLeaseTests {
  /// The two leases of the slow task, each with its worker: the first one and the backup lease.
  private typealias HeldBy = (lease: Lease, worker: WorkerID)

  private static func both(on farm: Farm) async throws -> [HeldBy] {
    let slow = try await SlowVideo(on: farm)
    return [(slow.lease, .anna), (try await slow.backUp(on: farm), .bert)]
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func `the first result wins`(_ kind: StoreKind, winner: Int) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      let (won, lost) = (both[winner], both[1 - winner])
      #expect(try await farm.store.publish(won.lease, worker: won.worker, result: content(7)) == .published)
      let task = try await farm.store.task("j1", 3)
      #expect(task.state == .done)
      #expect(task.result == content(7))
      #expect(task.publishedEpoch == won.lease.epoch)
      #expect(task.epoch == 2)
      #expect(task.leases.isEmpty && task.attempts.isEmpty)
      #expect(try await farm.store.publish(won.lease, worker: won.worker, result: content(7)) == .duplicate)
      #expect(try await farm.store.publish(lost.lease, worker: lost.worker, result: content(7)) == .stale)
      #expect(try await farm.store.lost(lost.lease, of: lost.worker) == [lost.lease])
      let failure = TaskFailure(end: .media, message: "too late")
      #expect(try await !farm.store.fail(lost.lease, worker: lost.worker, failure: failure))
      #expect(try await farm.store.claim(worker: .carl, build: "b1", limit: 9).map(\.kind) == [.stitch])
    }
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func `releasing one lease leaves the other`(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      let (lost, kept) = (both[gone], both[1 - gone])
      #expect(try await farm.store.lost(kept.lease, of: kept.worker, done: 9).isEmpty)
      let failure = TaskFailure(end: .released, message: "disk full")
      #expect(try await farm.store.fail(lost.lease, worker: lost.worker, failure: failure))
      #expect(try await !farm.store.fail(lost.lease, worker: lost.worker, failure: failure))
      try await Self.requireAlone(kept, progress: 9, on: farm)
      #expect(try await farm.store.task("j1", 3).messages == ["disk full"])
      #expect(try await farm.store.task("j1", 3).failedOn.isEmpty)
      #expect(try await farm.store.publish(lost.lease, worker: lost.worker, result: content(1)) == .stale)
      #expect(try await farm.store.publish(kept.lease, worker: kept.worker, result: content(1)) == .published)
    }
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func `a media failure of one lease is counted and the other continues`(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      let (lost, kept) = (both[gone], both[1 - gone])
      let failure = TaskFailure(end: .media, message: "bad packet")
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
  func `the failure that fails the task ends both leases`(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run(policy: LeasePolicy(maximumFailures: 1)) { farm in
      let both = try await Self.both(on: farm)
      let (lost, other) = (both[gone], both[1 - gone])
      let failure = TaskFailure(end: .media, message: "bad packet")
      #expect(try await farm.store.fail(lost.lease, worker: lost.worker, failure: failure))
      let task = try await farm.store.task("j1", 3)
      #expect(task.state == .failed)
      #expect(task.leases.isEmpty)
      #expect(task.attempts.map(\.worker) == [lost.worker])
      #expect(try await farm.store.state("j1") == .failed)
      #expect(try await farm.store.lost(other.lease, of: other.worker) == [other.lease])
      #expect(try await farm.store.publish(other.lease, worker: other.worker, result: content(1)) == .stale)
    }
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func `a document failure of one lease ends the job`(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      let failure = TaskFailure(end: .document, message: "no such font")
      #expect(try await farm.store.fail(both[gone].lease, worker: both[gone].worker, failure: failure))
      #expect(
        try await farm.store.job(JobID("j1"))?.failure == JobFailure(reason: .task, message: "no such font", task: 3))
      #expect(try await farm.store.task("j1", 3).state == .failed)
      #expect(try await farm.store.task("j1", 3).leases.isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `cancelling removes both leases`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      #expect(try await farm.store.cancel(JobID("j1")) == .cancelled)
      #expect(try await farm.store.task("j1", 3).state == .waiting)
      #expect(try await farm.store.task("j1", 3).leases.isEmpty)
      for (lease, worker) in both { #expect(try await farm.store.lost(lease, of: worker) == [lease]) }
    }
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func `a closed connection ends its own lease alone`(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      let (lost, kept) = (both[gone], both[1 - gone])
      #expect(try await farm.store.release(worker: lost.worker) == 1)
      try await Self.requireAlone(kept, progress: 0, on: farm)
      #expect(try await farm.store.task("j1", 3).messages == ["shutdown of \(lost.worker)"])
      #expect(try await farm.store.release(worker: kept.worker) == 1)
      #expect(try await farm.store.task("j1", 3).state == .ready)
      #expect(try await farm.store.claimOne(.carl)?.lease.epoch == 3)
    }
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func `each lease runs out by itself`(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      let (lost, kept) = (both[gone], both[1 - gone])
      try farm.advance(.seconds(7))
      #expect(try await farm.store.lost(kept.lease, of: kept.worker, done: 2).isEmpty)
      try farm.advance(.seconds(8))
      #expect(try await farm.store.expire() == [lost.lease])
      try await Self.requireAlone(kept, progress: 2, on: farm)
      #expect(try await farm.store.task("j1", 3).messages == ["the lease of worker \(lost.worker) ran out"])
      #expect(try await farm.store.publish(kept.lease, worker: kept.worker, result: content(1)) == .published)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a task that lost both leases is ready`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      try farm.advance(.seconds(15))
      #expect(try await farm.store.expire() == both.map(\.lease))
      let task = try await farm.store.task("j1", 3)
      #expect(task.state == .ready)
      #expect(task.failedOn.isEmpty)
      #expect(task.messages == ["the lease of worker anna ran out", "the lease of worker bert ran out"])
      #expect(try await farm.store.claimOne(.carl)?.lease.epoch == 3)
    }
  }

  @Test(arguments: StoreKind.allCases, [0, 1])
  func `each lease hangs by itself`(_ kind: StoreKind, gone: Int) async throws {
    try await kind.run(policy: LeasePolicy(hang: .seconds(60))) { farm in
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
  func `both leases may hang at once`(_ kind: StoreKind, maximumFailures: Int) async throws {
    try await kind.run(policy: LeasePolicy(hang: .seconds(60), maximumFailures: maximumFailures)) { farm in
      let both = try await Self.both(on: farm)
      for _ in 0..<6 {
        try farm.advance(.seconds(10))
        for (lease, worker) in both { #expect(try await farm.store.lost(lease, of: worker).isEmpty) }
      }
      #expect(try await farm.store.expire() == both.map(\.lease))
      let task = try await farm.store.task("j1", 3)
      #expect(task.state == (maximumFailures > 2 ? .ready : .failed))
      #expect(task.failedOn == [.anna, .bert].prefix(maximumFailures).map(\.self))
      #expect(try await farm.store.state("j1") == (maximumFailures > 2 ? .rendering : .failed))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a backup lease that is left alone may be slow itself`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let both = try await Self.both(on: farm)
      #expect(try await farm.store.release(worker: .anna) == 1)
      try farm.advance(.seconds(6))
      #expect(try await farm.store.claimOne(.anna) == nil)
      try farm.advance(.microseconds(1))
      // Her attempt was not counted, so Anna may try again.
      #expect(try await farm.store.claimOne(.anna)?.lease == Lease(task: both[0].lease.task, epoch: 3))
      let task = try await farm.store.task("j1", 3)
      #expect(
        task.held
          == [
            HeldLease(epoch: 2, worker: .bert),
            HeldLease(epoch: 3, worker: .anna, isBackup: true),
          ])
      #expect(try await farm.store.publish(both[0].lease, worker: .anna, result: content(1)) == .stale)
    }
  }

  /// Checks that the task is running on this worker alone.
  private static func requireAlone(_ kept: HeldBy, progress: Int64, on farm: Farm) async throws {
    let task = try await farm.store.task("j1", 3)
    #expect(task.state == .running)
    #expect(
      task.held
        == [
          HeldLease(epoch: kept.lease.epoch, worker: kept.worker, progress: progress)
        ])
    #expect(task.epoch == 2)
  }
}
