import FarmModel
import Testing

@testable import Jobs
@testable import PostgresJobs

@Suite("The journal", .timeLimit(.minutes(10)))
struct JournalTests {
  @Test(arguments: StoreKind.allCases)
  func `what becomes of a job and its tasks is recorded in order`(kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      try await store.register([.sample(.anna), .sample(.bert)])
      try await store.submitRendering("j1", tasks: [.sample(.video), .sample(.audio)])
      let first = try #require(try await store.claim(worker: .anna, build: "b1", limit: 1).first)
      try farm.advance(.milliseconds(1_250))
      _ = try await store.fail(first.lease, worker: .anna, failure: TaskFailure(end: .media, message: "bad packet"))
      try farm.advance(.seconds(70))
      let second = try #require(try await store.claim(worker: .bert, build: "b1", limit: 1).first)
      try farm.advance(.milliseconds(3))
      let holder = Holder(worker: .bert, session: SessionID(1))
      _ = try await store.publish(second.lease, holder: holder, result: content(7))
      _ = try await store.cancel(JobID("j1"))
      _ = try await store.retry(JobID("j1"))
      _ = try await store.cancel(JobID("j1"))
      _ = try await store.delete(JobID("j1"))
      let events = try #require(try await store.events(after: nil, limit: 100))
      #expect(
        events.map(\.kind) == [
          .workerConnected, .workerConnected, .jobSubmitted, .jobPlanned, .taskGranted, .taskFailed, .taskGranted,
          .taskDone, .jobEnded, .jobRetried, .jobEnded, .jobDeleted,
        ])
      let times = events.map { $0.at - events[0].at }
      #expect(times[4] == .zero && times[5] == .milliseconds(1_250) && times[8] == .milliseconds(71_253))
      let (failed, done) = (events[5], events[7])
      #expect((failed.worker, failed.end, failed.took) == (.anna, .media, .milliseconds(1_250)))
      #expect((failed.message, failed.epoch, failed.ordinal) == ("bad packet", 1, first.lease.task.ordinal))
      #expect((done.worker, done.took, done.job) == (.bert, .milliseconds(3), JobID("j1")))
      #expect(done.label == failed.label && done.label != nil)
      #expect((events[3].tasks, events[3].cached, events[3].state) == (3, 0, .rendering))
      #expect((events[8].state, events[8].took) == (.cancelled, .milliseconds(71_253)))
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `a reader goes on after its place, or gets nil if events after it are removed`(kind: StoreKind) async throws {
    try await kind.run { farm in
      let store = farm.store
      for number in 1...9 {
        try await store.submit(.sample("j\(number)"))
        try farm.advance(.seconds(10))
      }
      let all = try #require(try await store.events(after: nil, limit: 100))
      #expect(all.map(\.job) == (1...9).map { JobID("j\($0)") })
      var read: [JournalEvent] = []
      while let next = try await store.events(after: read.last?.position, limit: 4), !next.isEmpty { read += next }
      #expect(read == all)
      #expect(try await store.newestEvents(limit: 3) == Array(all.suffix(3)))
      // Two are older than 75 s, and the third is one of the four oldest of nine of which six are kept.
      #expect(try await store.removeEvents(olderThan: .seconds(75), most: 100, limit: 100) == 2)
      #expect(try await store.removeEvents(olderThan: .seconds(1_000), most: 6, limit: 100) == 1)
      #expect(try await store.removeEvents(olderThan: .seconds(1_000), most: 6, limit: 100) == 0)
      #expect(try await store.removeEvents(olderThan: .seconds(30), most: 100, limit: 2) == 2)
      #expect(try await store.events(after: all[3].position, limit: 100) == nil)
      #expect(try await store.events(after: all[4].position, limit: 100) == Array(all[5...]))
      #expect(try await store.events(after: nil, limit: 100) == Array(all[5...]))
      #expect(try await store.newestEvents(limit: 100) == Array(all[5...]))
      #expect(try await store.removeEvents(olderThan: .zero, most: 0, limit: 100) == 4)
      #expect(try await store.events(after: all[8].position, limit: 100) == [])
      #expect(try await store.events(after: all[7].position, limit: 100) == nil)
    }
  }

  /// The number of an event is given before its transaction is committed, and a transaction may last.
  @Test(.database) func `an event that is committed late is not missed`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      try await store.submit(.sample("j0"))
      let before = try await store.events(after: nil, limit: 10)
      let first = try #require(before?.last)
      let late = try database.connect()
      try late.script("BEGIN; UPDATE sheaf.job SET state = 'cancelled', ended_at = sheaf.now() WHERE id = 'j0'")
      try await store.submit(.sample("j1"))
      // What is later is not shown before it.
      #expect(try await store.events(after: first.position, limit: 10) == [])
      #expect(try await store.newestEvents(limit: 10) == [first])
      #expect(try await store.removeEvents(olderThan: .zero, most: 0, limit: 10) == 1)
      try late.script("COMMIT")
      let after = try #require(try await store.events(after: first.position, limit: 10))
      #expect(after.map(\.job) == [JobID("j0"), JobID("j1")])
      await store.close()
    }
  }

  @Test(.database) func `for how long events are held back is counted`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      let other = try database.connect()
      _ = try other.run(Statement("a", "BEGIN"))
      _ = try other.run(Statement("b", "SELECT pg_catalog.pg_current_xact_id()::text"))
      try await store.submit(.sample("j1"))
      #expect(try await store.newestEvents(limit: 1).isEmpty)
      let held = try #require(try await store.counts().oldestHeldEvent)
      #expect(held >= .zero && held < .seconds(600))
      _ = try other.run(Statement("c", "COMMIT"))
      while try await store.newestEvents(limit: 1).isEmpty { await Task.yield() }
      while try await store.counts().oldestHeldEvent != nil { await Task.yield() }
      await store.close()
    }
  }

  @Test(.database) func `a transaction of another database holds up nothing`() async throws {
    try await TestDatabase.with { other in
      try await TestDatabase.with { database in
        let long = try other.connect()
        try long.script("BEGIN; CREATE TABLE long (a integer)")
        let store = try await PostgresJobStore.connect(url: database.url)
        try await store.submit(.sample("j1"))
        #expect(try await store.events(after: nil, limit: 10)?.map(\.kind) == [.jobSubmitted])
        try long.script("ROLLBACK")
        await store.close()
      }
    }
  }

  /// Many writers, and a reader that follows them: it sees each event once, and at the end it has seen all.
  @Test(.database) func `a reader that follows misses nothing of many writers`() async throws {
    try await TestDatabase.with { database in
      let store = try await PostgresJobStore.connect(url: database.url)
      let others = try await (0..<3).asyncMap { _ in try await PostgresJobStore.connect(url: database.url) }
      let writing = Task {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for (index, other) in others.enumerated() {
            group.addTask {
              for number in 0..<60 {
                try await other.submit(.sample("w\(index)-\(number)", tasks: [.sample(.probe, number)]))
                _ = try await other.claim(worker: .anna, build: "b1", limit: 1)
                if number.isMultiple(of: 3) { _ = try await other.cancel(JobID("w\(index)-\(number)")) }
              }
            }
          }
          try await group.waitForAll()
        }
      }
      var seen: [JournalEvent] = []
      while seen.count(where: { $0.kind == .jobSubmitted }) < 90 {
        seen += try #require(try await store.events(after: seen.last?.position, limit: 7))
        await Task.yield()
      }
      try await writing.value
      let newest = try database.query(
        "SELECT max(number)::text FROM sheaf.event WHERE xact = (SELECT max(xact) FROM sheaf.event)")
      // A transaction of another test's database may hold up the newest for a moment.
      while try await store.newestEvents(limit: 1).map({ "\($0.position.number)" }) != newest { await Task.yield() }
      while case let next = try #require(try await store.events(after: seen.last?.position, limit: 7)), !next.isEmpty {
        seen += next
      }
      let recorded = try database.query("SELECT number::text FROM sheaf.event ORDER BY xact, number")
      #expect(seen.map { "\($0.position.number)" } == recorded)
      for other in others { await other.close() }
      await store.close()
    }
  }
}

extension Sequence {
  fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
    var values: [Value] = []
    for element in self { values.append(try await transform(element)) }
    return values
  }
}
