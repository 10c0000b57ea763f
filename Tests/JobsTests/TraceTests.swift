import Testing

@testable import Jobs

@Suite("Random traces")
struct TraceTests {
  /// The same operations leave both stores in the same state, with the same answers and the same hints, after every
  /// step. Seeds are fixed: a failure says which, and at which step.
  @Test func bothStoresAgreeAfterEveryStep() async throws {
    let seen = try await withThrowingTaskGroup(of: [String: Int].self) { group in
      for seed in 1...6 as ClosedRange<UInt64> {
        group.addTask { try await trace(seed: seed, steps: 500, policy: LeasePolicy()) }
      }
      // Where almost everything is slow.
      let hasty = LeasePolicy(
        maximumCharges: 2, slowness: 0.1, shortestSlow: .milliseconds(250), fewestRendered: 1)
      for seed in 7...16 as ClosedRange<UInt64> {
        group.addTask { try await trace(seed: seed, steps: 500, policy: hasty) }
      }
      return try await group.reduce(into: [:]) { seen, more in seen.merge(more, uniquingKeysWith: +) }
    }
    // A trace that never gets anywhere proves nothing.
    for label in [
      "published", "duplicate", "stale", "planned true", "planned false", "granted", "granted nothing", "lost",
      "lost nothing", "failed task true", "failed task false", "failed job true", "released true",
      "cancelled, now cancelled", "cancelled, now done", "refused", "job done", "job failed", "task failed",
      "twin granted", "twin moved", "twin took over", "twin lost", "twin won", "twin was too late", "both lost",
      "twin failed",
    ] {
      #expect(seen[label, default: 0] > 0, "no trace came to: \(label); they came to \(seen)")
    }
  }

  private func trace(seed: UInt64, steps: Int, policy: LeasePolicy) async throws -> [String: Int] {
    try await TestDatabase.with { database in
      let clock = TestClock()
      let memory = MemoryJobStore(policy: policy) { clock.now }
      let reference = Farm(store: memory) { clock.advance(by: $0) }
      let postgres = try await PostgresJobStore.connect(url: database.url, policy: policy)
      try database.stopClock()
      let observer = Observer(try database.connect())
      try observer.listen()
      let subject = Farm(store: postgres) { try observer.advance(by: $0) }
      var maker = TraceMaker(seed: seed)
      var state = try await Visible(of: memory)
      var seen: [String: Int] = [:]
      for step in 1...steps {
        let operation = maker.next(state)
        let news = await memory.state.news
        let expected = try await operation.run(on: reference)
        let actual = try await operation.run(on: subject)
        let place = "seed \(seed), step \(step): \(operation)"
        try #require(actual == expected, "\(place)")
        #expect(try observer.wasNotified() == (await memory.state.news != news), "\(place)")
        maker.learn(expected)
        seen[expected.label, default: 0] += 1
        let before = state
        state = try await Visible(of: memory)
        for change in state.twinChanges(since: before) { seen[change, default: 0] += 1 }
        let other = try await Visible(of: postgres)
        try #require(other == state, "\(place)\n\(other.difference(from: state))")
      }
      for job in state.jobs { seen["job \(job.state.rawValue)", default: 0] += 1 }
      for task in state.tasks.joined() { seen["task \(task.state.rawValue)", default: 0] += 1 }
      let astray = try database.query(
        """
        SELECT id FROM sheaf.job JOIN sheaf.task ON task.job = job.number
        WHERE job.state NOT IN ('describing', 'rendering') AND task.state IN ('ready', 'leased')
        """)
      #expect(astray.isEmpty, "seed \(seed): jobs that have ended have open tasks")
      await postgres.close()
      return seen
    }
  }
}

/// A connection that looks on.
private final class Observer {
  private let connection: Connection

  init(_ connection: Connection) { self.connection = connection }

  func listen() throws { try connection.script("LISTEN sheaf_wake") }

  func advance(by duration: Duration) throws { try connection.advance(by: duration) }

  /// Notifications of a transaction that was committed before come no later than the answer to a statement after it.
  func wasNotified() throws -> Bool {
    try connection.script("SELECT 1")
    return try connection.takeNotifications()
  }
}
