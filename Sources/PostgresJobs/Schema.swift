import Jobs

/// The database's tables, which numbered migration files create and change.
enum Schema {
  struct Migration: Sendable {
    var version: Int32
    var name: String
    var script: [UInt8]
  }

  /// Ascending from 1, without gaps. A released file is never changed, because databases record its checksum: a change
  /// is a new file.
  static let migrations = [
    Migration(version: 1, name: "0001_farm", script: PackageResources._001_farm_sql),
    Migration(version: 2, name: "0002_events", script: PackageResources._002_events_sql),
    Migration(version: 3, name: "0003_usage", script: PackageResources._003_usage_sql),
    Migration(version: 4, name: "0004_sound_rows", script: PackageResources._004_sound_rows_sql),
    Migration(version: 5, name: "0005_access", script: PackageResources._005_access_sql),
    Migration(version: 6, name: "0006_scheduling", script: PackageResources._006_scheduling_sql),
    Migration(version: 7, name: "0007_standing", script: PackageResources._007_standing_sql),
    Migration(version: 8, name: "0008_pools", script: PackageResources._008_pools_sql),
    Migration(version: 9, name: "0009_stored", script: PackageResources._009_stored_sql),
    Migration(version: 10, name: "0010_watching", script: PackageResources._010_watching_sql),
    Migration(version: 11, name: "0011_audio_parts", script: PackageResources._011_audio_parts_sql),
  ]

  /// Applies the missing migrations, as one transaction under a lock: of the coordinators that start at once, one does
  /// it, and the others wait.
  static func update(
    _ connection: Connection, to migrations: [Migration] = migrations
  ) throws(JobStoreError) {
    try connection.transaction { () throws(JobStoreError) in
      _ = try connection.run(lock)
      if try !isThere(connection) { try connection.script(begin) }
      let applied = try connection.run(list).map { (fields) throws(JobStoreError) in
        (version: try fields.int(), checksum: try fields.text())
      }
      if let newest = applied.last?.version, newest > migrations.count {
        throw JobStoreError(
          .schemaTooNew,
          """
          the database's schema has version \(newest), which a newer Sheaf made; this one supports versions up to \
          \(migrations.count): update it, or give it another database
          """)
      }
      for (index, migration) in migrations.enumerated() {
        if index < applied.count {
          try verify(migration, applied[index].version, applied[index].checksum, connection)
        } else {
          try connection.script(String(decoding: migration.script, as: UTF8.self))
          _ = try connection.run(
            record, [.int(migration.version), .text(migration.name), .bytes(migration.script)])
        }
      }
    }
  }

  private static func isThere(_ connection: Connection) throws(JobStoreError) -> Bool {
    guard var fields = try connection.run(find).first else { return false }
    return try fields.flag()
  }

  private static func verify(
    _ migration: Migration, _ version: Int32, _ checksum: String, _ connection: Connection
  ) throws(JobStoreError) {
    var fields = try connection.run(digest, [.bytes(migration.script)]).first
    guard version == migration.version, try fields?.text() == checksum else {
      throw JobStoreError(
        .schemaChanged,
        """
        the database records another content of \(migration.name).sql than this Sheaf has: an unreleased build set \
        it up. Use another database, or drop the schema "sheaf" of this one, which deletes all jobs
        """)
    }
  }

  /// The key is arbitrary. It is the same in all versions.
  private static let lock = Statement("schema-lock", "SELECT pg_catalog.pg_advisory_xact_lock(5350912460387174)")
  private static let find = Statement("schema-find", "SELECT pg_catalog.to_regclass('sheaf.migration') IS NOT NULL")
  private static let begin = """
    CREATE SCHEMA IF NOT EXISTS sheaf;
    CREATE TABLE sheaf.migration (
      version integer PRIMARY KEY CHECK (version > 0),
      name text NOT NULL,
      checksum text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
    );
    """
  private static let list = Statement(
    "schema-list", "SELECT version, checksum FROM sheaf.migration ORDER BY version")
  private static let digest = Statement(
    "schema-digest", "SELECT pg_catalog.encode(pg_catalog.sha256($1), 'hex')")
  private static let record = Statement(
    "schema-record",
    """
    INSERT INTO sheaf.migration (version, name, checksum)
    VALUES ($1, $2, pg_catalog.encode(pg_catalog.sha256($3), 'hex'))
    """)
}
