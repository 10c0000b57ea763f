package import FarmModel

// Which workers take which jobs, and when. `PoolStore` specifies each operation.

struct PoolRecord: Sendable {
  var pool: Pool
  var rules: TimeZoneRules
}

extension FarmState {
  package func pools(now: Duration) -> [Pool] {
    poolRecords.values.map { record in
      var pool = record.pool
      let openings = record.openings(around: origin + now)
      pool.isOpen = openings.isOpen(at: origin + now)
      pool.changesAt = openings.change(after: origin + now)
      return pool
    }.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  package func openJobsByPool() -> [String: Int64] {
    active.map { jobs[$0].job }.filter { $0.purpose == .render }.compactMap(\.pool).reduce(into: [:]) {
      $0[$1, default: 0] += 1
    }
  }

  /// - Parameter rules: Those of the pool's time zone. Nil: there is no such zone.
  mutating func setPool(_ pool: Pool, rules: TimeZoneRules?) throws(JobStoreError) {
    try pool.validate()
    guard let rules else { throw Pool.unknown(pool.timeZone) }
    poolRecords[pool.name] = PoolRecord(pool: pool, rules: rules)
    changeCount += 1
  }

  package mutating func removePool(_ name: String) -> Bool {
    guard poolRecords.removeValue(forKey: name) != nil else { return false }
    changeCount += 1
    return true
  }

  package mutating func setPool(of id: JobID, to pool: String?, now: Duration) throws(JobStoreError) -> JobState? {
    try Pool.validate(jobsPool: pool)
    guard let number = numbers[id] else { return nil }
    let job = jobs[number].job
    guard !job.state.hasEnded, job.pool != pool else { return job.state }
    jobs[number].job.pool = pool
    changeCount += 1
    record(.jobPoolChanged, ofJob: number, message: pool.map { "pool \($0)" } ?? "no pool", now: now)
    return job.state
  }

  func isOpen(_ pool: String, now: Duration) -> Bool {
    poolRecords[pool]?.openings(around: origin + now, daysAfter: 0).isOpen(at: origin + now) ?? true
  }

  /// Whether a worker of some pools is granted nothing because all of them are closed.
  func areClosed(_ pools: [String], now: Duration) -> Bool {
    !pools.isEmpty && !pools.contains { isOpen($0, now: now) }
  }

  /// Whether a worker of some pools is granted a job's tasks now, as far as pools decide that.
  func takes(_ number: Int, _ pools: [String], now: Duration) -> Bool {
    guard let pool = jobs[number].job.pool else { return !areClosed(pools, now: now) }
    return pools.contains(pool) && isOpen(pool, now: now)
  }
}

extension PoolRecord {
  /// - Parameter now: Since 1970.
  fileprivate func openings(around now: Duration, daysAfter: Int = Opening.daysAfter) -> [Opening] {
    let seconds = CivilDay.floor(now.microseconds, 1_000_000)
    let today = CivilDay.floor(seconds + rules.offset(at: seconds), 86_400)
    return (today - Int64(Opening.daysBefore)...today + Int64(daysAfter)).flatMap { day in
      pool.hours.spans.filter { Int64($0.day % 7) == CivilDay.weekday(day) }.map { span in
        Opening(
          opens: .seconds(rules.time(showing: day * 86_400 + Int64(span.opens) * 60)),
          closes: .seconds(rules.time(showing: day * 86_400 + Int64(span.closes) * 60)))
      }
    }
  }
}
