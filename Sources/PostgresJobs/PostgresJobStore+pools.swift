package import FarmModel
package import Jobs

// Which workers take which jobs, and when.

extension PostgresJobStore {
  package func pools() async throws(JobStoreError) -> [Pool] {
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.run(.pools, [.int(Int32(Opening.daysAfter))]).map { (fields) throws(JobStoreError) in
        try fields.pool()
      }
    }
  }

  package func openJobsByPool() async throws(JobStoreError) -> [String: Int64] {
    try await results.perform { (connection) throws(JobStoreError) in
      let counts = try connection.run(.openJobsByPool).map { (fields) throws(JobStoreError) in
        (try fields.text(), try fields.long())
      }
      return Dictionary(uniqueKeysWithValues: counts)
    }
  }

  package func setPool(_ pool: Pool) async throws(JobStoreError) {
    try pool.validate()
    let spans = pool.hours.spans
    let name = Parameter.text(pool.name)
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        if try connection.run(.timeZone, [.text(pool.timeZone)]).isEmpty { throw Pool.unknown(pool.timeZone) }
        _ = try connection.pipeline([
          (.setPool, [name, .text(pool.hours.description), .text(pool.timeZone)]), (.removeSpans, [name]),
          (
            .addSpans,
            [
              name, .ints(spans.map { Int32($0.day) }), .ints(spans.map { Int32($0.opens) }),
              .ints(spans.map { Int32($0.closes) }),
            ]
          ), (.notify, []),
        ])
      }
    }
  }

  package func removePool(_ name: String) async throws(JobStoreError) -> Bool {
    try await results.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        guard try !connection.run(.removePool, [.text(name.withoutNul)]).isEmpty else { return false }
        _ = try connection.run(.notify)
        return true
      }
    }
  }

  package func setPool(of job: JobID, to pool: String?) async throws(JobStoreError) -> JobState? {
    try Pool.validate(jobsPool: pool)
    let id = Parameter.text(job.description.withoutNul)
    return try await bulk.perform { (connection) throws(JobStoreError) in
      try connection.transaction { () throws(JobStoreError) in
        guard let job = try connection.lockForEnd(id) else { return nil }
        guard !job.state.hasEnded, try !connection.run(.setJobsPool, [.long(job.number), .text(pool)]).isEmpty
        else { return job.state }
        _ = try connection.run(.notify)
        return job.state
      }
    }
  }
}

extension Fields {
  /// Reads the columns of `Statement.pools`.
  fileprivate mutating func pool() throws(JobStoreError) -> Pool {
    let (name, text, timeZone) = (try text(), try text(), try text())
    let hours: WorkingHours
    do {
      hours = try WorkingHours(parsing: text)
    } catch {
      throw JobStoreError(.internal, "the database has hours of pool \(name) that cannot be read: \(error)")
    }
    var pool = Pool(name: name, hours: hours, timeZone: timeZone, isOpen: try flag())
    let now = Duration.microseconds(try long())
    let (opens, closes) = (try longs(), try longs())
    let openings = zip(opens, closes).map { Opening(opens: .microseconds($0), closes: .microseconds($1)) }
    pool.changesAt = openings.change(after: now)
    return pool
  }
}

extension Statement {
  /// The times during which a pool is open, of the spans that begin up to so many days after the present one. A row has
  /// the columns `opens_at` and `closes_at`.
  private static func openings(of pool: String, daysAfter: String) -> String {
    """
    SELECT (day.begins + span.opens * interval '1 minute') AT TIME ZONE zoned.time_zone AS opens_at,
      (day.begins + span.closes * interval '1 minute') AT TIME ZONE zoned.time_zone AS closes_at
    FROM sheaf.pool zoned JOIN sheaf.pool_span span ON span.pool = zoned.name
      CROSS JOIN LATERAL (
        SELECT date_trunc('day', sheaf.now() AT TIME ZONE zoned.time_zone) + number * interval '1 day' AS begins
        FROM generate_series(-\(Opening.daysBefore), \(daysAfter)) AS number
      ) AS day
    WHERE zoned.name = \(pool) AND span.day = extract(isodow FROM day.begins)
    """
  }

  /// A condition: a pool is open.
  static func isOpen(_ pool: String) -> String {
    """
    (NOT EXISTS (SELECT FROM sheaf.pool WHERE pool.name = \(pool)) OR EXISTS (
      SELECT FROM (\(openings(of: pool, daysAfter: "0"))) AS opening
      WHERE opens_at <= sheaf.now() AND sheaf.now() < closes_at))
    """
  }

  /// A condition: workers of some pools are granted nothing, because all of them are closed.
  static func areClosed(_ pools: String) -> String {
    """
    (\(pools) <> '{}' AND NOT EXISTS (
      SELECT FROM unnest(\(pools)) AS one (name) WHERE \(isOpen("one.name"))))
    """
  }

  /// A condition: workers of some pools are granted the tasks of a job now, as far as pools decide that.
  static func takes(_ pools: String, jobsOf pool: String) -> String {
    """
    CASE WHEN \(pool) IS NULL THEN NOT \(areClosed(pools))
      ELSE \(pool) = ANY (\(pools)) AND \(isOpen(pool)) END
    """
  }

  /// Those of the pools `$1` that are open, in their order.
  static let openPools = Statement(
    "open-pools",
    """
    SELECT one.name FROM (SELECT DISTINCT name COLLATE "C" AS name FROM unnest($1) AS named (name)) AS one
    WHERE \(isOpen("one.name")) ORDER BY one.name
    """)

  fileprivate static let pools = Statement(
    "pools",
    """
    SELECT name, hours, time_zone, \(isOpen("named.name")), \(microseconds("sheaf.now()")),
      ARRAY(SELECT \(microseconds("opens_at")) FROM (\(openings(of: "named.name", daysAfter: "$1"))) AS opening
        ORDER BY opens_at, closes_at),
      ARRAY(SELECT \(microseconds("closes_at")) FROM (\(openings(of: "named.name", daysAfter: "$1"))) AS opening
        ORDER BY opens_at, closes_at)
    FROM sheaf.pool named ORDER BY name
    """)

  fileprivate static let openJobsByPool = Statement(
    "open-jobs-by-pool",
    """
    SELECT pool, count(*) FROM sheaf.job
    WHERE \(hasNotEnded) AND purpose = 'render' AND pool IS NOT NULL GROUP BY pool
    """)

  /// With the exact name: others would depend on the letters' case, or be abbreviations.
  fileprivate static let timeZone = Statement(
    "time-zone", "SELECT true FROM pg_catalog.pg_timezone_names WHERE name = $1 LIMIT 1")

  fileprivate static let setPool = Statement(
    "set-pool",
    """
    INSERT INTO sheaf.pool (name, hours, time_zone) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET hours = excluded.hours, time_zone = excluded.time_zone
    """)

  fileprivate static let removeSpans = Statement("remove-spans", "DELETE FROM sheaf.pool_span WHERE pool = $1")

  fileprivate static let addSpans = Statement(
    "add-spans",
    "INSERT INTO sheaf.pool_span (pool, day, opens, closes) SELECT $1, * FROM unnest($2, $3, $4)")

  fileprivate static let removePool = Statement(
    "remove-pool", "DELETE FROM sheaf.pool WHERE name = $1 RETURNING name")

  fileprivate static let setJobsPool = Statement(
    "set-jobs-pool",
    "UPDATE sheaf.job SET pool = $2 WHERE number = $1 AND pool IS DISTINCT FROM $2 RETURNING number")

  /// What `FairQueue` knows of pools, as far as it counts.
  static let poolTimes = Statement(
    "pool-times",
    """
    SELECT priority, pool, start FROM sheaf.pool_share
    WHERE pool = ANY ($1) AND at >= sheaf.now() - interval '\(PoolTime.lifetime.components.seconds) seconds'
    """)

  /// `PoolTime.init`. The rows are in order, so that no two claims wait for each other for ever.
  static let chargePools = Statement(
    "charge-pools",
    """
    INSERT INTO sheaf.pool_share (priority, pool, start, at)
    SELECT priority, pool, start, sheaf.now() FROM unnest($1, $2, $3) AS charged (priority, pool, start)
    ORDER BY priority, pool COLLATE "C"
    ON CONFLICT (priority, pool) DO UPDATE SET at = greatest(pool_share.at, excluded.at),
      start = CASE WHEN pool_share.at >= sheaf.now() - interval '\(PoolTime.lifetime.components.seconds) seconds'
        THEN greatest(pool_share.start, excluded.start) ELSE excluded.start END
    """)
}
