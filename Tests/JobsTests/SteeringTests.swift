import Digest
import FarmModel
import Testing

@testable import Jobs

@Suite("Steering", .timeLimit(.minutes(10)), .database)
struct SteeringTests {
  @Test(arguments: StoreKind.allCases)
  func `a paused job gets no leases, and what runs goes on unless it is stopped`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await store.submitRendering("j1", tasks: .videos(4))
      let grants = try await store.claim(worker: .anna, build: "b1", limit: 2)
      #expect(try await store.pause(JobID("j1"), stopping: false) == .rendering)
      #expect(try await store.job(JobID("j1"))?.isPaused == true)
      #expect(try await store.claim(worker: .bert, build: "b1", limit: 9).isEmpty)
      #expect(try await store.renew(worker: .anna, leases: [grants[0].lease], done: 3).isEmpty)
      #expect(try await store.publish(grants[0].lease, worker: .anna, result: content(1)) == .published)
      // Its ready tasks are no work that workers are wanted for.
      let counts = try await store.counts()
      #expect(counts.tasks[.init(kind: .video, state: .ready)] == nil && counts.oldestReady == nil)
      #expect(counts.tasks[.init(kind: .video, state: .waiting)] == 2)
      #expect(try await store.pause(JobID("j1"), stopping: true) == .rendering)
      #expect(try await store.publish(grants[1].lease, worker: .anna, result: content(1)) == .stale)
      let attempts = try await store.task("j1", 1).attempts
      #expect(attempts.map(\.end) == [.released] && attempts.map(\.message) == ["the job was paused"])
      #expect(try await store.resume(JobID("j1")) == .rendering)
      #expect(try await store.claim(worker: .bert, build: "b1", limit: 9).map(\.name) == ["j1/1", "j1/2", "j1/3"])
      let kinds = try #require(try await store.events(after: nil, limit: 100)).map(\.kind)
      #expect(kinds.filter { [.jobPaused, .jobResumed].contains($0) } == [.jobPaused, .jobResumed])
      #expect(try await store.pause(JobID("none"), stopping: true) == nil)
      #expect(try await store.resume(JobID("none")) == nil)
      _ = try await store.cancel(JobID("j1"))
      #expect(try await store.pause(JobID("j1"), stopping: true) == .cancelled)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a job is held until its time, and until those before it are done`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      var late = NewJob.sample("late", tasks: [.sample(.probe)])
      late.hold = .seconds(30)
      var last = NewJob.sample("last", tasks: [.sample(.probe)])
      last.after = [JobID("first"), JobID("never")]
      try await store.submitRendering("first", tasks: [])
      try await store.submit(late)
      try await store.submit(last)
      let held = try #require(try await store.job(JobID("late")))
      #expect(held.heldUntil == held.submittedAt + .seconds(30))
      #expect(try await store.job(JobID("last"))?.after == [JobID("first"), JobID("never")])
      #expect(try await store.claim(worker: .anna, build: "b1", limit: 9).map(\.name) == ["first/0"])
      try farm.advance(.milliseconds(29_999))
      #expect(try await store.claim(worker: .anna, build: "b1", limit: 9).isEmpty)
      try farm.advance(.milliseconds(1))
      #expect(try await store.claim(worker: .anna, build: "b1", limit: 9).map(\.name) == ["late/0"])
      // One that failed or was cancelled is waited for: it may be taken up. One that is deleted is not.
      _ = try await store.cancel(JobID("first"))
      #expect(try await store.claim(worker: .anna, build: "b1", limit: 9).isEmpty)
      #expect(try await store.delete(JobID("first")))
      #expect(try await store.claim(worker: .anna, build: "b1", limit: 9).map(\.name) == ["last/0"])
      // What is held goes on at once when it is taken up.
      var again = NewJob.sample("again", tasks: [.sample(.probe)])
      (again.hold, again.isPaused) = (.seconds(3600), true)
      try await store.submit(again)
      #expect(try await store.claim(worker: .anna, build: "b1", limit: 9).isEmpty)
      #expect(try await store.resume(JobID("again")) == .probing)
      #expect(try await store.claim(worker: .anna, build: "b1", limit: 9).map(\.name) == ["again/0"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `the tasks of a film that somebody watches are granted in its order, for as long as they do`(
    _ kind: StoreKind
  ) async throws {
    try await kind.run { farm in
      let store = farm.store
      // The later segments cost more, and the sound most.
      let tasks = (0..<4).map { NewTask.sample(.video, $0, cost: Double(10 + $0)) } + [.sample(.audio, 4, cost: 90)]
      try await store.submitRendering("j1", tasks: tasks)
      #expect(try await store.watch(JobID("none")) == nil)
      #expect(try await store.claim(worker: .anna, build: "b1", limit: 1).map(\.name) == ["j1/4"])
      #expect(try await store.watch(JobID("j1")) == .rendering)
      #expect(try await store.claim(worker: .anna, build: "b1", limit: 1).map(\.name) == ["j1/0"])
      try farm.advance(LeasePolicy.watching - .microseconds(1))
      #expect(try await store.claim(worker: .bert, build: "b1", limit: 1).map(\.name) == ["j1/1"])
      try farm.advance(.microseconds(1))
      #expect(try await store.claim(worker: .carl, build: "b1", limit: 9).map(\.name) == ["j1/3", "j1/2"])
      _ = try await store.cancel(JobID("j1"))
      #expect(try await store.watch(JobID("j1")) == .cancelled)
      // The sound is after the first pictures.
      try await store.submitRendering("j2", tasks: tasks)
      #expect(try await store.watch(JobID("j2")) == .rendering)
      let names = try await store.claim(worker: .anna, build: "b1", limit: 9).map(\.name)
      #expect(names == ["j2/0", "j2/4", "j2/1", "j2/2", "j2/3"])
      // Each part of the sound is after the pictures with which it begins, by its work: at 0, 2 and 3 of 4.
      try await store.submitRendering(
        "j3",
        tasks: tasks.dropLast() + [
          .sample(.audio, 4, cost: 90, work: 50), .sample(.audio, 5, cost: 95, work: 30), .sample(.audio, 6, work: 20),
        ])
      #expect(try await store.watch(JobID("j3")) == .rendering)
      let parts = try await store.claim(worker: .bert, build: "b1", limit: 9).map(\.name)
      #expect(parts == ["j3/0", "j3/4", "j3/1", "j3/2", "j3/5", "j3/3", "j3/6"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a changed priority counts from the next claim on`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await store.submitRendering("j1", tasks: .videos(2))
      try await store.submitRendering("j2", tasks: .videos(2))
      #expect(try await store.setPriority(of: JobID("j2"), to: 5) == .rendering)
      #expect(try await store.claim(worker: .anna, build: "b1", limit: 2).map(\.name) == ["j2/0", "j2/1"])
      #expect(try await store.job(JobID("j2"))?.priority == 5)
      #expect(try await store.setPriority(of: JobID("none"), to: 5) == nil)
      let events = try #require(try await store.events(after: nil, limit: 100))
      #expect(events.filter { $0.kind == .jobPriorityChanged }.map(\.message) == ["priority 5"])
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `owners share by weight, and have no more than they may`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      for owner in ["anna", "bert"] {
        try await store.submit(.sample(owner, owner: owner, tasks: (0..<20).map { .sample(.probe, $0) }))
      }
      var change = OwnerChange()
      change.weight = 3
      try await store.change("bert", change)
      let grants = try await store.claim(worker: .anna, build: "b1", limit: 12)
      #expect(grants.count { $0.name.hasPrefix("bert") } == 9)
      change = OwnerChange()
      (change.mostRunning, change.mostOpen) = (.most(5), .most(1))
      try await store.change("anna", change)
      let others = try await store.claim(worker: .bert, build: "b1", limit: 40)
      #expect(others.count { $0.name.hasPrefix("anna") } == 2)
      let full = await #expect(throws: JobStoreError.self) {
        _ = try await store.submit(.sample("more", owner: "anna"))
      }
      #expect(full?.code == .full && full?.message.contains("1 jobs") == true)
      // Inspections are nobody's, and nobody waits for them.
      try await store.submit(.sample("look", owner: "anna", purpose: .inspection, tasks: [.sample(.probe)]))
      #expect(try await store.claim(worker: .carl, build: "b1", limit: 9).map(\.name) == ["look/0"])
      let owners = try await store.owners()
      #expect(owners.map(\.owner) == ["anna", "bert"] && owners.map(\.weight) == [1, 3])
      #expect(owners.map(\.running) == [5, 20] && owners.map(\.open) == [1, 1])
      change.weight = 0
      let nothing = change
      await #expect(throws: JobStoreError(.invalid, "")) { try await store.change("anna", nothing) }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a job that is held up is not planned, and one that is taken up again counts to the limit`(
    _ kind: StoreKind
  ) async throws {
    try await kind.run { farm in
      let store = farm.store
      var held = NewJob.sample("held", owner: "anna")
      held.hold = .seconds(10)
      try await store.submit(held)
      try await store.submit(.sample("free", owner: "anna"))
      #expect(try await store.jobsToPlan() == [JobID("free")])
      try farm.advance(.seconds(10))
      #expect(try await store.jobsToPlan() == [JobID("held"), JobID("free")])
      _ = try await store.pause(JobID("free"), stopping: false)
      #expect(try await store.jobsToPlan() == [JobID("held")])
      _ = try await store.cancel(JobID("free"))
      var change = OwnerChange()
      change.mostOpen = .most(1)
      try await store.change("anna", change)
      let full = await #expect(throws: JobStoreError.self) { _ = try await store.retry(JobID("free")) }
      #expect(full?.code == .full)
      _ = try await store.cancel(JobID("held"))
      #expect(try await store.retry(JobID("free")) == .probing)
      #expect(try await store.job(JobID("free"))?.isPaused == false)
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `an owner that may not store any number of bytes has those that its jobs name, each once`(
    _ kind: StoreKind
  ) async throws {
    try await kind.run { farm in
      let store = farm.store
      let (small, large) = (content(0xa1, size: 70), content(0xa2, size: 1_000_000))
      let (probe, other) = (NewTask.sample(.probe, inputs: [small, large]), NewTask.sample(.probe, 1, inputs: [small]))
      try await store.submit(.sample("a", owner: "anna", tasks: [probe, other]))
      try await store.submit(.sample("b", owner: "anna", tasks: [other]))
      try await store.submit(.sample("c", owner: "bert", tasks: [probe]))
      try await store.submit(.sample("d", owner: "anna", purpose: .inspection, tasks: [probe]))
      for owner in ["anna", nil] { #expect(try await store.storage(of: owner) == nil) }
      var change = OwnerChange()
      change.mostStored = .most(1_000_003)
      try await store.change("anna", change)
      try await store.change("", change)
      #expect(try await store.storage(of: nil) == OwnerStorage(most: 1_000_003, contents: []))
      let named = [small, large].sorted { $0.digest.hex < $1.digest.hex }
      #expect(try await store.storage(of: "anna") == OwnerStorage(most: 1_000_003, contents: named))
      #expect(try await store.owners().map(\.mostStored) == [1_000_003, 1_000_003, nil])
      // A result is one more, also if two tasks have the same.
      let grants = try await store.claim(worker: .anna, build: "b1", limit: 9)
      let result = content(0xa3, size: 12)
      for grant in grants where grant.name.hasPrefix("a") || grant.name.hasPrefix("b") {
        _ = try await store.publish(grant.lease, worker: .anna, result: result)
      }
      let after = (named + [result]).sorted { $0.digest.hex < $1.digest.hex }
      #expect(try await store.storage(of: "anna")?.contents == after)
      change.mostStored = .any
      try await store.change("anna", change)
      #expect(try await store.storage(of: "anna") == nil)
      change.mostStored = .most(-1)
      let wrong = change
      await #expect(throws: JobStoreError(.invalid, "")) { try await store.change("anna", wrong) }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `tasks of an owner that may have no more are no work for workers`(_ kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await store.submit(.sample("j1", owner: "anna", tasks: (0..<5).map { .sample(.probe, $0) }))
      var change = OwnerChange()
      change.mostRunning = .most(2)
      try await store.change("anna", change)
      #expect(try await store.counts().tasks == [.init(kind: .probe, state: .ready): 5])
      let grants = try await store.claim(worker: .anna, build: "b1", limit: 9)
      #expect(grants.map(\.name) == ["j1/0", "j1/1"])
      #expect(
        try await store.counts().tasks == [
          .init(kind: .probe, state: .running): 2, .init(kind: .probe, state: .waiting): 3,
        ])
      #expect(try await store.publish(grants[0].lease, worker: .anna, result: content(1)) == .published)
      #expect(try await store.claim(worker: .anna, build: "b1", limit: 9).map(\.name) == ["j1/2"])
    }
  }
}
