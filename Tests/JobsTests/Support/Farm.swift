import Synchronization
import TestPrograms
import Testing

@testable import Jobs
@testable import PostgresJobs

/// The stores, which must all behave alike.
enum StoreKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case memory, postgres

  /// With `make quick` the one that needs no database.
  static var allCases: [StoreKind] { QuickTests.areRun ? [.memory] : [.memory, .postgres] }

  var testDescription: String { rawValue }

  /// Runs a test on a new store whose clock stands until the test moves it.
  ///
  /// - Parameter outages: Without, no step of the clock is an outage, however long it is.
  func run(
    policy: LeasePolicy = LeasePolicy(), outages: Bool = false, _ body: (Farm) async throws -> Void
  ) async throws {
    var policy = policy
    if !outages { policy.outage = .seconds(1_000_000) }
    switch self {
    case .memory:
      let clock = TestClock()
      let store = MemoryJobStore(policy: policy, origin: TestClock.origin) { clock.now }
      try await body(Farm(store: store) { clock.advance(by: $0) })
      await store.close()
    case .postgres:
      try await TestDatabase.withStoppedClock { database in
        let store = try await PostgresJobStore.connect(url: database.url, policy: policy)
        let clock = try database.connect()
        try await body(Farm(store: store) { try clock.advance(by: $0) })
        await store.close()
      }
    }
  }
}

/// A store and its clock.
struct Farm {
  let store: any JobStore
  let advance: (Duration) throws -> Void

  init(store: any JobStore, advance: @escaping (Duration) throws -> Void) {
    self.store = store
    self.advance = advance
  }
}

final class TestClock: Sendable {
  /// Of its zero, since 1970: with it, the clock begins at the same time of day as `TestDatabase.stopClock()`.
  static let origin = Duration.seconds(1_767_225_600 - 1_000)

  private let time = Mutex(Duration.seconds(1_000))

  var now: Duration { time.withLock { $0 } }

  func advance(by duration: Duration) { time.withLock { $0 += duration } }
}
