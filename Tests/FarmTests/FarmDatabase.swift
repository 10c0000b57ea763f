import Glibc
import Jobs

@testable import PostgresJobs

/// The databases of farms of programs, on the server of the `PG…` environment.
enum FarmDatabase {
  /// - Parameter isEmpty: Whether it has nothing, in place of the present schema, which a coordinator then makes.
  static func create(_ name: String, isEmpty: Bool) throws {
    let template = isEmpty ? "template0" : try template.get()
    try administer("CREATE DATABASE \(name) TEMPLATE \(template) STRATEGY FILE_COPY")
  }

  static func drop(_ name: String) throws { try administer("DROP DATABASE \(name) WITH (FORCE)") }

  /// The rows of a query, columns separated by `|`. psql would take longer to start than most queries.
  static func rows(of query: String, _ connection: Connection) throws -> [String] {
    let text = "SELECT (SELECT string_agg(value, '|') FROM json_each_text(row_to_json(made))) FROM (\(query)) AS made"
    // A connection knows a statement by its name.
    return try connection.run(Statement("query-\(text.hashValue)", text)).map { (fields) throws(JobStoreError) in
      try fields.text()
    }
  }

  /// One with the present schema, which is made once: copying it takes a tenth of the time of its migrations. It goes
  /// with its server.
  private static let template = Result { () throws(JobStoreError) in
    let name = "sheaf_template_\(getpid())"
    try administer("CREATE DATABASE \(name) TEMPLATE template0")
    try Schema.update(try Connection(url: "dbname=\(name)"))
    return name
  }

  static func connect(_ name: String) throws(JobStoreError) -> Connection { try Connection(url: "dbname=\(name)") }

  private static func administer(_ command: String) throws(JobStoreError) {
    try Connection(url: "").script(command)
  }
}
