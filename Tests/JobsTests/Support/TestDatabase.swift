import Glibc
import Synchronization

@testable import Jobs

/// A database of a test's own, made on the server of the `PG…` environment and dropped after the test.
struct TestDatabase: Sendable {
  struct Missing: Error, CustomStringConvertible {
    var cause: String
    var description: String {
      "these tests need a PostgreSQL server: run them as `pg_virtualenv swift test` (\(cause))"
    }
  }

  let name: String
  var url: String { "dbname=\(name)" }

  private static let made = Atomic<Int>(0)
  private static let turnstile = Turnstile(places: 4)

  static func with<Value>(_ body: (TestDatabase) async throws -> Value) async throws -> Value {
    await turnstile.enter()
    let result: Result<Value, any Error>
    do { result = .success(try await withoutWaiting(body)) } catch { result = .failure(error) }
    await turnstile.leave()
    return try result.get()
  }

  private static func withoutWaiting<Value>(_ body: (TestDatabase) async throws -> Value) async throws -> Value {
    let number = made.add(1, ordering: .relaxed).newValue
    let database = TestDatabase(name: "sheaf_test_\(getpid())_\(number)")
    do {
      try administer("CREATE DATABASE \(database.name) TEMPLATE template0")
    } catch {
      throw Missing(cause: error.message)
    }
    let result: Result<Value, any Error>
    do { result = .success(try await body(database)) } catch { result = .failure(error) }
    try administer("DROP DATABASE \(database.name) WITH (FORCE)")
    return try result.get()
  }

  private static func administer(_ command: String) throws(JobStoreError) {
    try Connection(url: "").script(command)
  }

  /// A connection beside the store's.
  func connect() throws -> Connection { try Connection(url: url) }

  /// What a query returns, its one column as text.
  func query(_ text: String) throws -> [String] {
    try connect().run(Statement("query", text)).map { (fields) throws(JobStoreError) in try fields.text() }
  }

  /// Puts a clock that stands until it is moved in the place of the database's.
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
