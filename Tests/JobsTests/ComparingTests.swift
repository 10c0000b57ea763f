import Digest
import FarmModel
import Testing

@testable import Jobs

/// Results that are compared before they are used, and what becomes of workers that are not believed.
@Suite("Comparing")
struct ComparingTests {
  private static let drawn = LeasePolicy(comparedShare: 0.1, firstCompared: 0)
  private static let new = LeasePolicy(comparedShare: 0.1, firstCompared: 2)

  @Test(arguments: StoreKind.allCases)
  func `a drawn result waits for the same one of another worker, whose account is another`(_ kind: StoreKind)
    async throws
  {
    try await kind.run(policy: Self.drawn) { farm in
      try await farm.store.register([.sample(.anna, name: "a"), .sample(.carl, name: "a"), .sample(.bert, name: "b")])
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.publish(lease, .anna, 7, draw: 0.09) == .compared)
      let task = try await farm.store.task("j1", 0)
      #expect(task.state == .ready && task.result == nil && task.compared.map(\.account) == ["a"])
      #expect(try await farm.store.contentsInUse(keepingResults: .zero).contains(content(7).digest))
      #expect(try await farm.store.acceptUnchecked().isEmpty)
      for worker in [WorkerID.anna, .carl] { #expect(try await farm.store.claimOne(worker) == nil) }
      let other = try #require(try await farm.store.claimOne(.bert)).lease
      #expect(try await farm.store.publish(other, .bert, 7, draw: 0.9) == .published)
      let done = try await farm.store.task("j1", 0)
      #expect(done.state == .done && done.maker == "b" && done.compared.isEmpty && done.publishedEpoch == 2)
      #expect(try await farm.store.task("j1", 1).state == .ready)
      #expect(try await farm.store.standings().map(\.confirmed) == [1, 1])
      let kinds = try await farm.store.newestEvents(limit: 4).map(\.kind)
      #expect(kinds.contains(.taskCompared) && kinds.contains(.taskDone))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `the first results of an account are compared, others as they are drawn, and only what makes the film`(
    _ kind: StoreKind
  ) async throws {
    try await kind.run(policy: Self.new) { farm in
      try await farm.store.register([.sample(.anna, name: "a"), .sample(.bert, name: "b")])
      try await farm.store.submit(.sample("p", tasks: [.sample(.probe)]))
      let probe = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.publish(probe, .anna, 1, draw: 0) == .published)
      try await farm.store.submitRendering("j1", tasks: .videos(4))
      for (number, outcome) in [PublishOutcome.compared, .compared, .published].enumerated() {
        let lease = try #require(try await farm.store.claimOne()).lease
        #expect(try await farm.store.publish(lease, .anna, number, draw: 0.5) == outcome)
      }
      for number in 0...1 {
        let lease = try #require(try await farm.store.claimOne(.bert)).lease
        #expect(lease.task.ordinal == number)
        #expect(try await farm.store.publish(lease, .bert, number, draw: 0.5) == .published)
      }
      #expect(try await farm.store.standings().map(\.confirmed) == [2, 2])
      let last = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.publish(last, .anna, 9, draw: 0.5) == .published)
      let stitch = try #require(try await farm.store.claimOne(.bert))
      #expect(stitch.kind == .stitch)
      #expect(try await farm.store.publish(stitch.lease, .bert, 10, draw: 0) == .compared)
      let again = try #require(try await farm.store.claimOne())
      #expect(again.kind == .stitch && again.inputs == stitch.inputs)
      #expect(try await farm.store.publish(again.lease, .anna, 10, draw: 0) == .published)
      #expect(try await farm.store.state("j1") == .done)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a third worker decides, and what the liar has made is made again`(_ kind: StoreKind) async throws {
    try await kind.run(policy: Self.drawn) { farm in
      for (worker, name) in [(WorkerID.anna, "a"), (.bert, "b"), (.carl, "c")] {
        try await farm.store.register(.sample(worker, name: name))
      }
      // A film that is done, one that is not and uses a known result, and one that has only been probed, all of bert.
      try await farm.store.submitRendering("old", tasks: .videos(1))
      for result in [50, 51] {
        let lease = try #require(try await farm.store.claimOne(.bert)).lease
        #expect(try await farm.store.publish(lease, .bert, result, draw: 0.5) == .published)
      }
      var cached = NewTask.sample(.video, 1, cached: content(50))
      cached.maker = "b"
      try await farm.store.submitRendering("open", tasks: [cached, .sample(.video, 2)])
      try await farm.store.submit(.sample("probed", tasks: [.sample(.probe)]))
      let open = try #require(try await farm.store.claimOne(.anna))
      let probe = try #require(try await farm.store.claimOne(.bert))
      #expect(probe.kind == .probe)
      #expect(try await farm.store.publish(probe.lease, .bert, 52, draw: 0.5) == .published)
      #expect(try await farm.store.publish(open.lease, .anna, 53, draw: 0) == .compared)
      let lie = try #require(try await farm.store.claimOne(.bert)).lease
      #expect(try await farm.store.publish(lie, .bert, 54, draw: 0.9) == .compared)
      #expect(try await farm.store.acceptUnchecked().isEmpty)
      let judge = try #require(try await farm.store.claimOne(.carl)).lease
      #expect(judge.task == open.lease.task)
      try await farm.store.submitRendering("next", tasks: .videos(2))
      let held = try #require(try await farm.store.claimOne(.bert)).lease
      #expect(try await farm.store.publish(judge, .carl, 53, draw: 0.9) == .published)

      #expect(try await farm.store.claimOne(.bert) == nil)
      #expect(try await farm.store.publish(held, .bert, 55, draw: 0.9) == .stale)
      let standings = try await farm.store.standings()
      #expect(standings.map(\.account) == ["a", "b", "c"] && standings.map(\.confirmed) == [1, 0, 1])
      #expect(standings[1].hold == .quarantined && standings[1].reason.contains("\(open.lease.task)"))
      #expect(try await farm.store.workers().map(\.hold) == [nil, .quarantined, nil])
      let purge = try await farm.store.purge()
      #expect(purge.doubted == [JobID("old")] && purge.replanned == [JobID("open"), JobID("probed")])
      #expect(try await farm.store.purge() == Purge())
      #expect(try await farm.store.state("open") == .probing)
      #expect(try await farm.store.task("probed", 0).state == .ready)
      #expect(try await farm.store.task("next", 0).leases.isEmpty)
      #expect(try await farm.store.job(JobID("old"))?.doubt?.contains("worker b") == true)
      #expect(try await farm.store.retry(JobID("old")) == .probing)
      let retried = try #require(try await farm.store.job(JobID("old")))
      #expect(retried.doubt == nil && retried.output == nil)
      #expect(try await farm.store.setHold(nil, of: "b", reason: ""))
      #expect(try await farm.store.claimOne(.bert) != nil)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `without another worker a result is used as it is, also if the other one leaves or is held`(_ kind: StoreKind)
    async throws
  {
    try await kind.run(policy: Self.drawn) { farm in
      try await farm.store.register(.sample(.anna, name: "a"))
      try await farm.store.submitRendering("j1", tasks: .videos(3))
      func publish(_ result: Int) async throws -> PublishOutcome {
        let lease = try #require(try await farm.store.claimOne()).lease
        return try await farm.store.publish(lease, .anna, result, draw: 0)
      }
      #expect(try await publish(1) == .published)
      try await farm.store.register([.sample(.bert, name: "b", memory: 1), .sample(.carl, name: "c", build: "b2")])
      var large = NewTask.sample(.video, 1)
      large.memory = 2
      try await farm.store.submitRendering("large", priority: 1, tasks: [large])
      #expect(try await publish(2) == .published)
      try await farm.store.register(.sample(.bert, session: 2, name: "b"))
      let stitch = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.publish(stitch, .anna, 3, draw: 0.5) == .published)
      #expect(try await publish(4) == .compared)
      #expect(try await publish(5) == .compared)
      _ = try await farm.store.disconnect(WorkerID.bert.holder(in: 2))
      // It may connect again.
      #expect(try await farm.store.acceptUnchecked().isEmpty)
      try farm.advance(.seconds(15))
      let accepted = try await farm.store.acceptUnchecked()
      #expect(accepted.map(\.result) == [content(4), content(5)] && accepted.allSatisfy { $0.account == "a" })
      #expect(try await farm.store.standings().isEmpty)
      let tasks = try await farm.store.tasks(of: JobID("j1"))
      #expect(tasks.dropLast().allSatisfy { $0.state == .done && $0.maker == "a" } && tasks[3].state == .ready)
      #expect(tasks[1].publisher?.worker == .anna)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a result waits for no worker that takes no tasks, and for none longer than its time`(_ kind: StoreKind)
    async throws
  {
    try await kind.run(policy: LeasePolicy(lease: .seconds(600), hang: .seconds(6_000), comparedShare: 0.1)) { farm in
      var paused = WorkerRecord.sample(.bert, name: "b")
      paused.paused = "its disk is full"
      try await farm.store.register([.sample(.anna, name: "a"), paused])
      try await farm.store.submitRendering("j1", tasks: .videos(2))
      let first = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.publish(first, .anna, 1, draw: 0) == .published)
      try await farm.store.register(.sample(.bert, session: 2, name: "b"))
      let second = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.publish(second, .anna, 2, draw: 0) == .compared)
      #expect(try await farm.store.publish(second, .anna, 2, draw: 0) == .duplicate)
      // The other one has it, and never ends.
      let other = try #require(try await farm.store.claim(worker: .bert, session: 2, build: "b1", limit: 1).first).lease
      try farm.advance(.seconds(599))
      #expect(try await farm.store.renew(worker: .bert, session: 2, leases: [other], done: 5).isEmpty)
      #expect(try await farm.store.acceptUnchecked().isEmpty)
      try farm.advance(.seconds(2))
      #expect(try await farm.store.acceptUnchecked().map(\.result) == [content(2)])
      #expect(try await farm.store.publish(other, .bert, 2, draw: 0) == .stale)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a task that fails on all others has the result that it has, and what two have shown to be wrong has none`(
    _ kind: StoreKind
  ) async throws {
    try await kind.run(policy: LeasePolicy(exclusion: .zero, isolation: 9, comparedShare: 0.1, firstCompared: 0)) {
      farm in
      try await farm.store.register([.sample(.anna, name: "a"), .sample(.bert, name: "b")])
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      let first = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.publish(first, .anna, 1, draw: 0) == .compared)
      for _ in 0..<3 {
        let lease = try #require(try await farm.store.claimOne(.bert)).lease
        #expect(try await farm.store.fail(lease, worker: .bert, failure: TaskFailure(end: .crashed, message: "x")))
        try farm.advance(.seconds(60))
        try await farm.store.register([.sample(.anna, name: "a"), .sample(.bert, name: "b")])
      }
      let task = try await farm.store.task("j1", 0)
      #expect(task.state == .done && task.result == content(1) && task.maker == "a" && task.attempts.count == 3)
      #expect(try await farm.store.state("j1") == .rendering)
      // One that is not believed any more ends nothing.
      let stitch = try #require(try await farm.store.claimOne(.bert)).lease
      #expect(try await farm.store.setHold(.quarantined, of: "b", reason: "by hand"))
      #expect(try await !farm.store.setHold(.draining, of: "b", reason: "by hand"))
      let failure = TaskFailure(end: .document, message: "no")
      #expect(try await farm.store.fail(stitch, worker: .bert, failure: failure))
      #expect(try await farm.store.task("j1", 1).attempts.map(\.end) == [.released])
      #expect(try await farm.store.standings().map(\.quarantines) == [1])
      #expect(try await farm.store.accounts(named: "b") == ["b"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `results of a quarantined worker that a plan brings are purged before the film is used`(_ kind: StoreKind)
    async throws
  {
    try await kind.run(policy: Self.drawn) { farm in
      try await farm.store.register([.sample(.anna, name: "a"), .sample(.bert, name: "b")])
      #expect(try await farm.store.setHold(.quarantined, of: "b", reason: "by hand"))
      #expect(try await farm.store.purge() == Purge())
      var cached = NewTask.sample(.video, 1, cached: content(50))
      cached.maker = "b"
      try await farm.store.submitRendering("j1", tasks: [cached])
      #expect(try await farm.store.task("j1", 1).state == .ready)
      #expect(try await farm.store.purge().replanned == [JobID("j1")])
      #expect(try await farm.store.purge() == Purge())
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a result that no two workers share fails its task`(_ kind: StoreKind) async throws {
    try await kind.run(policy: Self.drawn) { farm in
      for (worker, name) in [(WorkerID.anna, "a"), (.bert, "b"), (.carl, "c")] {
        try await farm.store.register(.sample(worker, name: name))
      }
      try await farm.store.submitRendering("j1", tasks: .videos(1))
      for (number, worker) in [WorkerID.anna, .bert, .carl].enumerated() {
        let lease = try #require(try await farm.store.claimOne(worker)).lease
        #expect(try await farm.store.publish(lease, worker, number, draw: 0) == .compared)
      }
      let failure = try #require(try await farm.store.job(JobID("j1"))?.failure)
      #expect(failure.task == 0 && failure.message.contains("3 different results"), "\(failure)")
      #expect(try await farm.store.standings().allSatisfy { $0.hold == nil })
      #expect(try await farm.store.task("j1", 0).compared.isEmpty)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `workers of an account are held until it is lifted, and none of it is lost`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      try await farm.store.register([.sample(.anna, name: "a"), .sample(.bert, name: "b")])
      try await farm.store.submitRendering("j1", tasks: .videos(2))
      let lease = try #require(try await farm.store.claimOne()).lease
      #expect(try await farm.store.setHold(.paused, of: "a", reason: "the host is wanted"))
      #expect(try await !farm.store.setHold(.paused, of: "a", reason: "the host is wanted"))
      #expect(try await !farm.store.setHold(nil, of: "nobody", reason: ""))
      #expect(try await farm.store.claimOne() == nil)
      #expect(try await farm.store.publish(lease, worker: .anna, result: content(1)) == .published)
      let worker = try #require(try await farm.store.workers().first)
      #expect(worker.hold == .paused && worker.holdReason == "the host is wanted")
      #expect(try await farm.store.claimOne(.bert) != nil)
      #expect(try await farm.store.setHold(nil, of: "a", reason: "ignored"))
      let events = try await farm.store.newestEvents(limit: 9).filter { $0.name == "a" }
      #expect(events.map(\.kind).suffix(2) == [.workerHeld, .workerReleased])
      #expect(events.dropLast().last?.message == "paused: the host is wanted")
      #expect(try await farm.store.standings().map(\.hold) == [nil])
      await #expect(throws: JobStoreError.self) { _ = try await farm.store.setHold(.paused, of: "", reason: "") }
    }
  }
}

extension JobStore {
  fileprivate func publish(
    _ lease: Lease, _ worker: WorkerID, _ result: Int, draw: Double
  ) async throws -> PublishOutcome {
    let session = try await workers().first { $0.id == worker }?.session ?? SessionID(1)
    return try await publish(
      lease, holder: Holder(worker: worker, session: session), result: content(result), usage: nil, account: nil,
      draw: draw)
  }
}
