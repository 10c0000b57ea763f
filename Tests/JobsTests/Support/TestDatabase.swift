import Glibc
import Synchronization
import TestPrograms
import Testing

@testable import Jobs
@testable import PostgresJobs

extension Trait where Self == ConditionTrait {
  /// Needs a database, and so is no part of `make quick`.
  static var database: Self { .enabled(if: !QuickTests.areRun, "make quick starts no PostgreSQL") }
}

/// A database of one test, which is created on the server of the `PG…` environment and dropped after the test.
struct TestDatabase: Sendable {
  struct Missing: Error, CustomStringConvertible {
    var cause: String
    var description: String {
      "these tests need a PostgreSQL server: run them as `pg_virtualenv swift test` (\(cause))"
    }
  }

  let name: String
  var url: String { "dbname=\(name)" }

  private static let created = Atomic<Int>(0)
  /// All tests start at once, and a server has a limited number of connections.
  private static let semaphore = Semaphore(count: 4)

  /// - Parameter isEmpty: Whether it has nothing, in place of the present schema.
  static func with<Value>(
    isEmpty: Bool = false, _ body: (TestDatabase) async throws -> Value
  ) async throws -> Value {
    await semaphore.wait()
    let result: Result<Value, any Error>
    do { result = .success(try await withoutWaiting(isEmpty, body)) } catch { result = .failure(error) }
    await semaphore.signal()
    return try result.get()
  }

  /// The same with the present schema, a clock that stands, and no rows, in a database that another test may have used:
  /// emptying its tables takes a tenth of the time of making another. The test has to close its connections, and must
  /// not change the schema.
  static func withStoppedClock<Value>(_ body: (TestDatabase) async throws -> Value) async throws -> Value {
    await semaphore.wait()
    let result: Result<Value, any Error>
    do { result = .success(try await withEmptied(body)) } catch { result = .failure(error) }
    await semaphore.signal()
    return try result.get()
  }

  private static func withEmptied<Value>(_ body: (TestDatabase) async throws -> Value) async throws -> Value {
    let database = try emptied.withLock { $0.popLast() } ?? create(isEmpty: false, stopsClock: true)
    do {
      let value = try await body(database)
      try database.empty()
      emptied.withLock { $0.append(database) }
      return value
    } catch {
      try database.drop()
      throw error
    }
  }

  /// Those of `withStoppedClock` that no test uses. They go with their server.
  private static let emptied = Mutex<[TestDatabase]>([])

  private static func withoutWaiting<Value>(
    _ isEmpty: Bool, _ body: (TestDatabase) async throws -> Value
  ) async throws -> Value {
    let database = try create(isEmpty: isEmpty)
    let result: Result<Value, any Error>
    do { result = .success(try await body(database)) } catch { result = .failure(error) }
    try database.drop()
    return try result.get()
  }

  private static func create(isEmpty: Bool, stopsClock: Bool = false) throws -> TestDatabase {
    let number = created.add(1, ordering: .relaxed).newValue
    let database = TestDatabase(name: "sheaf_test_\(getpid())_\(number)")
    do {
      let template = isEmpty ? "template0" : try template.get()
      // On a server that does not wait for its disk, copying files takes a sixth of the time of copying blocks.
      try administer("CREATE DATABASE \(database.name) TEMPLATE \(template) STRATEGY FILE_COPY")
    } catch {
      throw Missing(cause: error.message)
    }
    if stopsClock { try database.stopClock() }
    return database
  }

  private func drop() throws(JobStoreError) { try Self.administer("DROP DATABASE \(name) WITH (FORCE)") }

  /// Removes every row that was not there at first, and sets the clock that was stopped back. TRUNCATE would make new
  /// files for every table and index, which takes twenty times as long as to delete a few rows.
  private func empty() throws {
    try connect().script(
      """
      DO $$ DECLARE made record; BEGIN
        SET LOCAL session_replication_role = replica;
        FOR made IN SELECT tablename FROM pg_tables
          WHERE schemaname = 'sheaf' AND tablename NOT IN ('migration', 'test_clock')
        LOOP EXECUTE format('DELETE FROM sheaf.%I', made.tablename); END LOOP;
        PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
          FROM pg_sequences WHERE schemaname = 'sheaf';
      END $$;
      INSERT INTO sheaf.farm DEFAULT VALUES;
      UPDATE sheaf.test_clock SET at = '2026-01-01 00:00:00+00';
      """)
  }

  /// A database with the present schema, which is made once: copying it takes a tenth of the time of its migrations. It
  /// goes with its server.
  private static let template = Result { () throws(JobStoreError) in
    let database = TestDatabase(name: "sheaf_test_\(getpid())_template")
    try administer("CREATE DATABASE \(database.name) TEMPLATE template0")
    try Schema.update(try Connection(url: database.url))
    return database.name
  }

  private static func administer(_ command: String) throws(JobStoreError) {
    try Connection(url: "").script(command)
  }

  /// A connection of the test's own, whose transactions may be idle for as long as the test is.
  func connect() throws -> Connection {
    let connection = try Connection(url: url)
    try connection.script("SET idle_in_transaction_session_timeout = 0")
    return connection
  }

  /// The rows of a query of one text column.
  func query(_ text: String) throws -> [String] {
    try connect().run(Statement("query", text)).map { (fields) throws(JobStoreError) in try fields.text() }
  }

  /// Replaces the database's clock with one that stands until `Connection.advance(by:)` moves it.
  func stopClock() throws {
    try connect().script(
      """
      CREATE TABLE sheaf.test_clock (at timestamptz NOT NULL);
      INSERT INTO sheaf.test_clock VALUES ('2026-01-01 00:00:00+00');
      CREATE OR REPLACE FUNCTION sheaf.now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE
        AS 'SELECT at FROM sheaf.test_clock';
      """)
  }
}

extension Connection {
  /// Moves a clock that `TestDatabase.stopClock()` stopped.
  func advance(by duration: Duration) throws {
    _ = try run(
      Statement("advance", "UPDATE sheaf.test_clock SET at = at + $1 * interval '1 microsecond'"),
      [.long(duration.microseconds)])
  }
}

/// A counting semaphore that suspends its tasks.
private actor Semaphore {
  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(count: Int) { free = count }

  func wait() async {
    guard free == 0 else {
      free -= 1
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  func signal() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}
