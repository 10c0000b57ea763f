package import FarmAPI
package import FarmModel
import Jobs

// What holds jobs up, and who goes first.

extension FarmService {
  /// The priorities that a submitter may give its jobs.
  static let submitterPriorities: ClosedRange<Int32> = -100...100
  private static let weights = 0.001...1000.0

  /// Pauses a job: none of its tasks is granted until it is resumed.
  /// - Parameter stopping: Whether what runs is stopped at once, by which each worker loses at most what it has done of
  ///   one task. Otherwise it goes on to its end.
  /// - Returns: The job's state; one that has ended is not changed. Nil: there is no such job.
  package func pause(_ job: JobID, stopping: Bool) async throws -> JobState? {
    try await steer(job, .jobPaused, stopping ? "at once" : "") { store in
      try await store.pause(job, stopping: stopping)
    }
  }

  /// Takes up a job that is paused, or held until a time.
  /// - Returns: As `pause`.
  package func resume(_ job: JobID) async throws -> JobState? {
    try await steer(job, .jobResumed) { store in try await store.resume(job) }
  }

  /// - Returns: As `pause`.
  package func setPriority(of job: JobID, to priority: Int32) async throws -> JobState? {
    try check(priority: priority)
    return try await steer(job, .jobPriorityChanged, "\(priority)") { store in
      try await store.setPriority(of: job, to: priority)
    }
  }

  /// Gives a job another pool, or none.
  /// - Returns: As `pause`.
  package func setPool(of job: JobID, to pool: String?) async throws -> JobState? {
    try check(pool: pool)
    return try await steer(job, .jobPoolChanged, pool ?? "none") { store in
      try await store.setPool(of: job, to: pool)
    }
  }

  /// Changes the priority and the pool of a job: both or, if the caller may not give it one of them, neither.
  /// - Returns: As `pause`.
  package func change(_ job: JobID, priority: Int32, pool: String?) async throws -> JobState? {
    try check(priority: priority)
    try check(pool: pool)
    let state = try await setPool(of: job, to: pool)
    guard let state, !state.hasEnded else { return state }
    return try await setPriority(of: job, to: priority)
  }

  /// Throws unless the caller may move a job into a pool, or out of any.
  private func check(pool: String?) throws(FarmError) {
    if let pool, !PoolName.isValid(pool) { throw FarmError(.invalid, "a job's pool is \(PoolName.rule)") }
    if let own = caller.pool, pool == nil { throw refusal("the token is for the pool \"\(own)\" alone, not for none") }
    _ = try self.pool(asking: pool)
  }

  /// The pool of a job for which the caller asks for one, or for none. Throws `.forbidden` if it may not have it.
  func pool(asking name: String?) throws(FarmError) -> String? {
    do {
      return try caller.pool(asking: name)
    } catch {
      throw refusal(error.description)
    }
  }

  /// Records that something is refused to the caller.
  private func refusal(_ message: String) -> FarmError {
    coordinator.audit.recordRefusal(AuditEntry(.refused, by: caller, of: "", detail: message))
    return FarmError(.forbidden, message)
  }

  private func steer(
    _ job: JobID, _ action: AuditEntry.Action, _ detail: String = "",
    _ body: @Sendable (any JobStore) async throws -> JobState?
  ) async throws -> JobState? {
    guard try await sees(job, to: .submit) else { return nil }
    return try await withStore {
      let state = try await body(coordinator.store)
      if let state, !state.hasEnded { try await audit(action, job.description, detail) }
      return state
    }
  }

  /// Throws `.forbidden` if the caller may give no job this priority.
  func check(priority: Int32) throws(FarmError) {
    guard caller.role == .submitter, !Self.submitterPriorities.contains(priority) else { return }
    let (lowest, highest) = (Self.submitterPriorities.lowerBound, Self.submitterPriorities.upperBound)
    throw refusal("a submitter's priorities are \(lowest) to \(highest), not \(priority)")
  }

  // MARK: Owners

  /// Everybody who has jobs, or has had some, or for whom something is set.
  package func owners() async throws -> [OwnerReport] {
    try require(.see)
    return try await withStore {
      try await coordinator.store.owners().filter { caller.sees(jobOf: $0.owner) }.map { OwnerReport($0) }
    }
  }

  /// Sets what an owner may have.
  package func changeOwner(_ owner: String, _ request: OwnerRequest) async throws -> [OwnerReport] {
    try require(.operate)
    guard owner.utf8.count <= 64, owner.utf8.allSatisfy({ (33...126).contains($0) }) else {
      throw FarmError(.invalid, "an owner is at most 64 visible ASCII characters")
    }
    guard request.weight.map(Self.weights.contains) ?? true else {
      throw FarmError(.invalid, "an owner's weight is 0.001 to 1000")
    }
    guard [request.mostRunning, request.mostJobs, request.mostBytes].allSatisfy({ $0 ?? 0 >= OwnerRequest.any }) else {
      throw FarmError(.invalid, "an owner may have a number of tasks, jobs and bytes from 0, or any number of them")
    }
    var change = OwnerChange()
    change.weight = request.weight
    change.mostRunning = request.mostRunning.map { $0 == OwnerRequest.any ? .any : .most($0) }
    change.mostOpen = request.mostJobs.map { $0 == OwnerRequest.any ? .any : .most($0) }
    change.mostStored = request.mostBytes.map { $0 == OwnerRequest.any ? .any : .most($0) }
    return try await withStore { [change] in
      try await coordinator.store.change(owner, change)
      let reports = try await coordinator.store.owners().filter { $0.owner == owner }.map { OwnerReport($0) }
      try await audit(.ownerChanged, owner, reports.first?.words ?? "")
      return reports
    }
  }
}

extension OwnerReport {
  fileprivate init(_ owner: Owner) {
    self.init(owner: owner.owner, weight: owner.weight, running: owner.running, jobs: owner.open)
    (mostRunning, mostJobs, mostBytes) = (owner.mostRunning, owner.mostOpen, owner.mostStored)
  }

  /// For people.
  fileprivate var words: String {
    "weight \(weight), tasks \(mostRunning.map { "\($0)" } ?? "any"), jobs \(mostJobs.map { "\($0)" } ?? "any"), "
      + "bytes \(mostBytes.map { "\($0)" } ?? "any")"
  }
}
