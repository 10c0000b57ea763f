import Digest
import FarmModel
import Synchronization
import TestPrograms
import Testing

@testable import Jobs
@testable import PostgresJobs

@Suite("Several coordinators at once", .timeLimit(.minutes(10)), .database)
struct ConcurrencyTests {
  /// Several stores on one database, one for each coordinator.
  private func coordinators(
    _ count: Int, on database: TestDatabase, policy: LeasePolicy = LeasePolicy(),
    _ body: ([PostgresJobStore]) async throws -> Void
  ) async throws {
    var stores: [PostgresJobStore] = []
    for _ in 0..<count { stores.append(try await PostgresJobStore.connect(url: database.url, policy: policy)) }
    let result: Result<Void, any Error>
    do { result = .success(try await body(stores)) } catch { result = .failure(error) }
    for store in stores { await store.close() }
    try result.get()
  }

  @Test func `each of many tasks is granted and published once`() async throws {
    try await TestDatabase.with { database in
      try await coordinators(8, on: database) { stores in
        let videos = TestExtent.of(150, whole: 500)
        try await stores[0].submitRendering("j1", tasks: .videos(videos))
        let granted = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (index, store) in stores.enumerated() {
            group.addTask {
              let worker = WorkerID("w\(index)")
              while true {
                let grants = try await store.claim(worker: worker, build: "b1", limit: 3)
                if grants.isEmpty { break }
                for grant in grants {
                  granted.add(grant.lease.task)
                  let result = content(Int(grant.lease.task.ordinal))
                  let outcome = try await store.publish(grant.lease, worker: worker, result: result)
                  #expect(outcome == .published)
                }
              }
            }
          }
          try await group.waitForAll()
        }
        // The worker that published last may have claimed before the stitch task was ready; the others are done.
        if let stitch = try await stores[0].claimOne() {
          granted.add(stitch.lease.task)
          #expect(stitch.inputs.map(\.digest) == (0..<videos).map { content($0).digest })
          #expect(try await stores[1].publish(stitch.lease, worker: .anna, result: content(9)) == .published)
        }
        #expect(granted.count == videos + 1)
        #expect(granted.isOnceEach)
        #expect(try await stores[0].state("j1") == .done)
      }
    }
  }

  @Test func `the last two pieces at once make the stitch ready`() async throws {
    try await TestDatabase.with { database in
      try await coordinators(4, on: database) { stores in
        for round in 0..<40 {
          let job = "j\(round)"
          try await stores[0].submitRendering(job, tasks: .videos(4))
          let grants = try await stores[0].claim(worker: .anna, build: "b1", limit: 4)
          try #require(grants.count == 4)
          try await withThrowingTaskGroup(of: PublishOutcome.self) { group in
            for (store, grant) in zip(stores, grants) {
              group.addTask { try await store.publish(grant.lease, worker: .anna, result: content(1)) }
            }
            for try await outcome in group { #expect(outcome == .published) }
          }
          let state = try await stores[1].task(job, 4).state
          try #require(state == .ready, "round \(round)")
          #expect(try await stores[1].claimOne(.bert)?.kind == .stitch)
        }
      }
    }
  }

  @Test func `one plan of many is written`() async throws {
    try await TestDatabase.with { database in
      try await coordinators(6, on: database) { stores in
        try await stores[0].submit(.sample("j1"))
        let written = try await withThrowingTaskGroup(of: Bool.self) { group in
          for store in stores {
            group.addTask {
              try await store.plan(JobID("j1"), build: "b1", tasks: .videos(50) + [.sample(.stitch)])
            }
          }
          return try await group.reduce(0) { $1 ? $0 + 1 : $0 }
        }
        #expect(written == 1)
        #expect(try await stores[0].tasks(of: JobID("j1")).count == 51)
      }
    }
  }

  /// Workers that claim, publish, fail and leave, coordinators that expire and cancel, all at once: nothing is
  /// published twice, also if every task is slow and has two leases, every job ends, and no operation throws.
  @Test(arguments: [1.5, 0]) func `every job ends when all operations run at once`(slowness: Double) async throws {
    let policy = LeasePolicy(
      lease: .milliseconds(50), hang: .milliseconds(40), maximumFailures: 50, backOff: .milliseconds(1),
      exclusion: .zero, slowness: slowness, shortestSlow: .zero, fewestRendered: 1)
    try await TestDatabase.with { database in
      try await coordinators(6, on: database, policy: policy) { stores in
        try database.connect().script(Self.logBackups)
        for number in 0..<4 { try await stores[0].submitRendering("j\(number)", tasks: .videos(40)) }
        let published = Tally()
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (index, store) in stores.enumerated() {
            group.addTask {
              try await stress(store, WorkerID("w\(index)"), seed: UInt64(index), published)
            }
          }
          try await group.waitForAll()
        }
        let jobs = try await stores[0].jobs(.render, limit: 9)
        #expect(jobs.map(\.state) == [.cancelled, .done, .done, .done])
        for job in jobs {
          let done = try await stores[0].tasks(of: job.id).filter { $0.state == .done }.map(\.id)
          #expect(done.allSatisfy { published[$0] == 1 })
          #expect(job.state == .cancelled || done.count == 41)
        }
        #expect(try database.misplacedRows().isEmpty)
        let backups = try database.query("SELECT job::text FROM sheaf.test_backup")
        #expect(slowness > 0 || !backups.isEmpty)
      }
    }
  }

  /// Records the backup leases that are granted.
  private static let logBackups = """
    CREATE TABLE sheaf.test_backup (job bigint);
    CREATE FUNCTION sheaf.test_log_backup() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN INSERT INTO sheaf.test_backup VALUES (NEW.job); RETURN NEW; END';
    CREATE TRIGGER test_log_backup AFTER INSERT ON sheaf.lease FOR EACH ROW WHEN (NEW.is_backup)
      EXECUTE FUNCTION sheaf.test_log_backup();
    """

  private func stress(
    _ store: PostgresJobStore, _ worker: WorkerID, seed: UInt64, _ published: Tally
  ) async throws {
    var random = SeededRandom(seed: seed)
    var hasCancelled = false
    while try await store.jobs(.render, limit: 9).contains(where: { !$0.state.hasEnded }) {
      let grants = try await store.claim(worker: worker, build: "b1", limit: 4)
      let lost = try await store.renew(worker: worker, leases: grants.map(\.lease), done: 1)
      for grant in grants where !lost.contains(grant.lease) {
        let failure = TaskFailure(end: random.chance(50) ? .media : .released, message: "m")
        if random.chance(70) {
          let outcome = try await store.publish(grant.lease, worker: worker, result: content(1))
          if outcome == .published { published.add(grant.lease.task) }
        } else if random.chance(70) {
          _ = try await store.fail(grant.lease, worker: worker, failure: failure)
        }
      }
      if random.chance(10) { _ = try await store.disconnect(worker.holder) }
      if random.chance(30) { _ = try await store.expire() }
      if !hasCancelled, random.chance(20) {
        hasCancelled = true
        #expect(try await store.cancel(JobID("j3")) == .cancelled)
      }
    }
  }
}

/// How often each task occurred; several tasks may add to it at once.
private final class Tally: Sendable {
  private let counts = Mutex<[TaskID: Int]>([:])

  func add(_ task: TaskID) { counts.withLock { $0[task, default: 0] += 1 } }

  subscript(task: TaskID) -> Int { counts.withLock { $0[task, default: 0] } }

  var count: Int { counts.withLock { $0.count } }

  var isOnceEach: Bool { counts.withLock { $0.values.allSatisfy { $0 == 1 } } }
}
