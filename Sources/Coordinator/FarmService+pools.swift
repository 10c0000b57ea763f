package import FarmAPI
import FarmModel
import Jobs

// Pools of workers, and their working hours.

extension FarmService {
  /// The pools that have working hours, workers or jobs that have not ended, in the order of their names as bytes.
  package func pools() async throws -> [PoolReport] {
    try require(.see)
    return try await withStore { try await poolReports() }
  }

  /// Gives a pool working hours.
  package func changePool(_ pool: String, _ request: PoolRequest) async throws -> PoolReport {
    try require(.operate)
    guard PoolName.isValid(pool) else { throw FarmError(.invalid, "a pool's name is \(PoolName.rule)") }
    let hours = try WorkingHours.requested(request.hours)
    return try await withStore {
      if let refusal = try await set(Pool(name: pool, hours: hours, timeZone: request.timeZone)) { throw refusal }
      try await audit(.poolChanged, pool, "\(hours), \(request.timeZone)")
      return try await poolReports().first { $0.pool == pool } ?? PoolReport(pool: pool)
    }
  }

  /// Removes a pool's working hours: it is always open.
  /// - Returns: The pool after this. Nil: it has none.
  package func removePool(_ pool: String) async throws -> PoolReport? {
    try require(.operate)
    return try await withStore {
      guard try await coordinator.store.removePool(pool) else { return nil }
      try await audit(.poolRemoved, pool)
      return try await poolReports().first { $0.pool == pool } ?? PoolReport(pool: pool)
    }
  }

  /// Returns why the store does not take the pool: it knows which time zones there are.
  private func set(_ pool: Pool) async throws(JobStoreError) -> FarmError? {
    do throws(JobStoreError) {
      try await coordinator.store.setPool(pool)
      return nil
    } catch {
      guard error.code == .invalid else { throw error }
      return FarmError(.invalid, error.message)
    }
  }

  private func poolReports() async throws(JobStoreError) -> [PoolReport] {
    var reports: [String: PoolReport] = [:]
    for pool in try await coordinator.store.pools() { reports[pool.name] = PoolReport(pool) }
    for worker in try await coordinator.store.workers() {
      for pool in worker.pools {
        reports[pool, default: PoolReport(pool: pool)].workers += 1
        reports[pool]?.slots += Int(worker.slots)
      }
    }
    for (pool, count) in try await coordinator.store.openJobsByPool() {
      reports[pool, default: PoolReport(pool: pool)].jobs = count
    }
    return PoolName.sorted(reports.keys).compactMap { reports[$0] }
  }
}

extension PoolReport {
  fileprivate init(_ pool: Pool) {
    self.init(pool: pool.name, isOpen: pool.isOpen)
    (hours, timeZone) = (pool.hours.description, pool.timeZone)
    changesAt = pool.changesAt.map { Timestamp(since1970: $0) }
  }
}
