package import FarmModel

/// A pool that has working hours. One without has no row, and is always open.
package struct Pool: Sendable, Hashable {
  package var name: String
  package var hours: WorkingHours
  /// The name of the time zone of the hours, of the IANA time zone database: such as `Europe/Berlin`.
  package var timeZone: String
  /// Whether its jobs' tasks are granted now. Set by the store, with `changesAt`.
  package var isOpen: Bool
  /// When it closes, or opens, next, since 1970. Nil: it is open for the next two weeks.
  package var changesAt: Duration?

  package init(
    name: String, hours: WorkingHours, timeZone: String, isOpen: Bool = true, changesAt: Duration? = nil
  ) {
    self.name = name
    self.hours = hours
    self.timeZone = timeZone
    self.isOpen = isOpen
    self.changesAt = changesAt
  }

  package func validate() throws(JobStoreError) {
    try Self.validate(jobsPool: name)
    let bytes = timeZone.utf8
    // Names of files, so none that leads out of their folder.
    guard (1...64).contains(bytes.count), bytes.allSatisfy(Self.isOfTimeZone), bytes.first != 47,
      !timeZone.split(separator: "/", omittingEmptySubsequences: false).contains(where: { $0.isEmpty })
    else { throw Self.unknown(timeZone) }
  }

  package static func validate(jobsPool pool: String?) throws(JobStoreError) {
    guard let pool, !PoolName.isValid(pool) else { return }
    throw JobStoreError(.invalid, "\"\(pool)\" is no pool's name: \(PoolName.rule)")
  }

  private static func isOfTimeZone(_ byte: UInt8) -> Bool {
    (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
      || [43, 45, 47, 95].contains(byte)
  }

  package static func unknown(_ timeZone: String) -> JobStoreError {
    JobStoreError(
      .invalid,
      "\"\(timeZone.prefix(64))\" is no time zone: write a name of the IANA time zone database, such as Europe/Berlin "
        + "or UTC")
  }
}

/// A time during which a pool is open, since 1970: `closes` is not part of it.
package struct Opening: Sendable, Hashable {
  package var opens: Duration
  package var closes: Duration

  package init(opens: Duration, closes: Duration) {
    self.opens = opens
    self.closes = closes
  }

  /// How many days before and after the present one are looked at: no span lasts longer than two, and a clock that is
  /// set on may leave out the only span of a week.
  package static let (daysBefore, daysAfter) = (2, 15)
}

extension [Opening] {
  package func isOpen(at now: Duration) -> Bool { contains { $0.opens <= now && now < $0.closes } }

  /// When the first time begins or ends that all of them together make.
  /// - Returns: Nil: they end with the last day that was looked at.
  package func change(after now: Duration) -> Duration? {
    guard isOpen(at: now) else { return filter { $0.opens > now && $0.opens < $0.closes }.map(\.opens).min() }
    var end = now
    while let later = filter({ $0.opens <= end && end < $0.closes }).map(\.closes).max() { end = later }
    return end - now > .seconds(86_400 * (Opening.daysAfter - 1)) ? nil : end
  }
}

/// Which workers take which jobs, and when. Part of a `JobStore`.
package protocol PoolStore: Sendable {
  /// The pools that have working hours, in the order of their names as bytes.
  func pools() async throws(JobStoreError) -> [Pool]

  /// How many jobs of purpose `.render` of each pool have not ended. Pools without any are not there.
  func openJobsByPool() async throws(JobStoreError) -> [String: Int64]

  /// Gives a pool working hours in place of those that it has. `isOpen` and `changesAt` are ignored.
  ///
  /// Outside of them the tasks of the pool's jobs are granted to nobody, and a worker all of whose pools are closed is
  /// granted nothing. What runs goes on to its end. A time of day that the zone's clock skips is that much later; of
  /// one that it shows twice the second one counts.
  func setPool(_ pool: Pool) async throws(JobStoreError)

  /// Removes a pool's working hours: it is always open.
  ///
  /// - Returns: False: it has none.
  func removePool(_ name: String) async throws(JobStoreError) -> Bool

  /// Gives a job that has not ended another pool, or none. What runs goes on to its end.
  ///
  /// - Returns: The job's state. Nil: there is no such job.
  func setPool(of job: JobID, to pool: String?) async throws(JobStoreError) -> JobState?
}
