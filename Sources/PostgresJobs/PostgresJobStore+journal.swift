import FarmModel
package import Jobs

// What has happened. The triggers of the schema record it.

extension PostgresJobStore {
  package func events(
    after position: JournalPosition?, limit: Int
  ) async throws(JobStoreError) -> [JournalEvent]? {
    // No transaction has the number 0.
    let place: [Parameter] = [.long(position?.transaction ?? 0), .long(position?.number ?? 0)]
    return try await results.perform { (connection) throws(JobStoreError) in
      let settled = try connection.settled()
      // In this order: what is removed between the two is not missed.
      let answers = try connection.pipeline([
        (.events, [settled] + place + [.long(Int64(max(limit, 0)))]), (.isRemoved, place),
      ])
      guard var fields = answers[1].first else {
        throw JobStoreError(.internal, "the database has no row in sheaf.farm")
      }
      if try fields.flag() { return nil }
      return try answers[0].map { (fields) throws(JobStoreError) in try fields.event() }
    }
  }

  package func newestEvents(limit: Int) async throws(JobStoreError) -> [JournalEvent] {
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.newestEvents, [connection.settled(), .long(Int64(max(limit, 0)))])
        .map { (fields) throws(JobStoreError) in try fields.event() }
    }
  }

  package func removeEvents(
    olderThan age: Duration, most: Int, limit: Int
  ) async throws(JobStoreError) -> Int {
    let limits: [Parameter] = [
      .long(age.microseconds), .long(Int64(max(most, 0))), .long(Int64(max(limit, 0))),
    ]
    return try await bulk.perform { (connection) throws(JobStoreError) in
      guard var fields = try connection.run(.hideEvents, [connection.settled()] + limits).first else { return 0 }
      let count = Int(try fields.long())
      // A transaction of its own: the row of the farm is locked for a moment.
      if count > 0 { _ = try connection.run(.deleteHidden) }
      return count
    }
  }
}

extension Connection {
  /// The number of the first transaction that may still record events. A statement of its own, before the one that
  /// reads: what has ended by now, that one sees.
  func settled() throws(JobStoreError) -> Parameter {
    var number: Int64 = 0
    // A transaction without its lock has it a moment later.
    for _ in 0..<Self.looks {
      guard var fields = try run(.settled).first else {
        throw JobStoreError(.internal, "the database does not say which transactions are under way")
      }
      number = try fields.long()
      if try fields.flag() { break }
    }
    return .long(number)
  }

  /// How often it is looked which database a transaction is of, before it is held to be of this one.
  private static var looks: Int { 20 }
}

extension Fields {
  /// Reads `Statement.eventColumns`.
  mutating func event() throws(JobStoreError) -> JournalEvent {
    let position = JournalPosition(transaction: try long(), number: try long())
    let at = Duration.microseconds(try long())
    var event = JournalEvent(try named("kind of event"), at: at, position: position)
    event.job = optionalText().map { JobID($0) }
    (event.name, event.owner) = (optionalText(), optionalText())
    event.state = try optionalNamed("job state")
    event.ordinal = try optionalInt()
    event.epoch = try optionalLong()
    event.label = optionalText()
    event.worker = optionalText().map { WorkerID($0) }
    event.workerName = optionalText()
    event.end = try optionalNamed("end of an attempt")
    event.took = try optionalLong().map { .microseconds($0) }
    let phases = [try optionalLong(), try optionalLong(), try optionalLong(), try optionalLong()].compactMap(\.self)
    if phases.count == 4 { event.phases = phases.map { .microseconds($0) } }
    (event.tasks, event.cached) = (try optionalLong(), try optionalLong())
    event.message = optionalText()
    event.output = try optionalContent()
    return event
  }
}

extension Statement {
  static let eventColumns = """
    event.xact, event.number, \(microseconds("event.at")), event.kind, event.job, event.name, event.owner, event.state,
    event.ordinal, event.epoch, event.label, event.worker, event.worker_name, event.ended_as, event.took, event.waited,
    event.fetched, event.rendered, event.uploaded, event.tasks, event.cached, event.message, event.result_digest, event.result_size
    """

  /// The oldest transaction that is under way, or else the next one; but none that is known to be of another database
  /// of the server, which may last for hours. Which database a transaction is of is known from its lock on its own
  /// number, of 32 bits. It has its number a moment before it has the lock: without one it may be of this database.
  fileprivate static let settled = Statement(
    "settled",
    """
    WITH snapshot AS MATERIALIZED (SELECT pg_catalog.pg_current_snapshot() AS taken),
    underway AS MATERIALIZED (
      SELECT xact::text::bigint AS number FROM snapshot, pg_catalog.pg_snapshot_xip(taken) AS xact
    ), known AS MATERIALIZED (
      SELECT transactionid::text::bigint AS number, datname AS database
      FROM pg_catalog.pg_locks JOIN pg_catalog.pg_stat_activity USING (pid)
      WHERE locktype = 'transactionid' AND mode = 'ExclusiveLock' AND granted AND EXISTS (SELECT FROM underway)
      UNION ALL
      SELECT transaction::text::bigint, database FROM pg_catalog.pg_prepared_xacts
    ), held AS MATERIALIZED (
      SELECT underway.number, known.number IS NOT NULL AS is_known
      FROM underway LEFT JOIN known ON known.number = underway.number & 4294967295
      WHERE known.number IS NULL OR known.database = pg_catalog.current_database()
    )
    SELECT coalesce((SELECT min(number) FROM held), pg_catalog.pg_snapshot_xmax(taken)::text::bigint),
      coalesce((SELECT bool_and(is_known) FROM held), true)
    FROM snapshot
    """)

  /// A condition on an event: every transaction that began before its own has ended, and it is not removed.
  private static let isVisible = """
    event.xact < $1 AND (event.xact, event.number) > (SELECT removed_xact, removed_number FROM sheaf.farm)
    """

  fileprivate static let events = Statement(
    "events",
    """
    SELECT \(eventColumns) FROM sheaf.event
    WHERE (event.xact, event.number) > ($2, $3) AND \(isVisible)
    ORDER BY event.xact, event.number LIMIT $4
    """)

  fileprivate static let isRemoved = Statement(
    "is-removed", "SELECT $1 > 0 AND ($1, $2) < (removed_xact, removed_number) FROM sheaf.farm")

  fileprivate static let newestEvents = Statement(
    "newest-events",
    """
    SELECT * FROM (
      SELECT \(eventColumns) FROM sheaf.event WHERE \(isVisible)
      ORDER BY event.xact DESC, event.number DESC LIMIT $2
    ) AS newest ORDER BY 1, 2
    """)

  fileprivate static let hideEvents = Statement(
    "hide-events",
    """
    WITH oldest AS MATERIALIZED (
      SELECT xact, number, at FROM sheaf.event WHERE \(isVisible) ORDER BY xact, number LIMIT $4
    ), excess AS MATERIALIZED (
      SELECT xact, number FROM sheaf.event WHERE \(isVisible) ORDER BY xact DESC, number DESC OFFSET $3 LIMIT 1
    ), newest AS MATERIALIZED (
      SELECT xact, number FROM oldest
      WHERE at < sheaf.now() - $2 * interval '1 microsecond'
        OR (xact, number) <= (SELECT xact, number FROM excess)
      ORDER BY xact DESC, number DESC LIMIT 1
    ), hidden AS (
      UPDATE sheaf.farm SET removed_xact = newest.xact, removed_number = newest.number FROM newest
      WHERE (farm.removed_xact, farm.removed_number) < (newest.xact, newest.number)
    )
    SELECT count(*) FROM oldest JOIN newest ON (oldest.xact, oldest.number) <= (newest.xact, newest.number)
    """)

  fileprivate static let deleteHidden = Statement(
    "delete-hidden",
    """
    DELETE FROM sheaf.event USING sheaf.farm
    WHERE (event.xact, event.number) <= (farm.removed_xact, farm.removed_number)
      AND NOT EXISTS (SELECT FROM sheaf.delivery WHERE delivery.event = event.number)
    """)
}
