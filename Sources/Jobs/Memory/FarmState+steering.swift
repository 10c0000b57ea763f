import Digest
package import FarmModel

// What holds jobs up, and who goes first. `JobSteering` specifies each operation.

struct OwnerRecord: Sendable {
  var owner: String
  var weight = 1.0
  var mostRunning: Int64?
  var mostOpen: Int64?
  var mostStored: Int64?
}

extension JobRecord {
  /// Nobody is an owner too; and inspections are nobody's, and nobody waits for them.
  var owner: String { job.purpose == .inspection ? " " : job.owner ?? "" }
}

extension FarmState {
  /// Whether a job's ready tasks are work for which workers are wanted: not those of an owner that may have no more.
  func isWanted(_ number: Int, now: Duration) -> Bool {
    guard mayGoOn(number, now: now), jobs[number].job.pool.map({ isOpen($0, now: now) }) ?? true else { return false }
    guard let most = ownerRecords[jobs[number].owner]?.mostRunning else { return true }
    return Int64(runningTasks(of: jobs[number].owner)) < most
  }

  /// The first of the jobs before one that is not done.
  func unfinished(before number: Int) -> (JobID, JobState)? {
    let before = jobs[number].job.after.compactMap { numbers[$0] }.filter { jobs[$0].job.state != .done }
    return before.min().map { (jobs[$0].job.id, jobs[$0].job.state) }
  }

  /// Whether a job's tasks are granted: it is not paused, its time has come, and what is to be done before is done.
  func mayGoOn(_ number: Int, now: Duration) -> Bool {
    if jobs[number].job.isPaused { return false }
    if let until = jobs[number].heldUntil, until > now { return false }
    for id in jobs[number].job.after {
      if let before = numbers[id], jobs[before].job.state != .done { return false }
    }
    return true
  }

  package mutating func pause(_ id: JobID, stopping: Bool, now: Duration) -> JobState? {
    guard let number = numbers[id] else { return nil }
    let state = jobs[number].job.state
    if state.hasEnded { return state }
    if !jobs[number].job.isPaused {
      jobs[number].job.isPaused = true
      record(.jobPaused, ofJob: number, now: now)
    }
    if stopping {
      for lease in leases[leases(ofJob: number)] {
        end(lease, with: TaskFailure(end: .released, message: FailureMessage.paused), now: now)
      }
    }
    changeCount += 1
    return state
  }

  package mutating func resume(_ id: JobID, now: Duration) -> JobState? {
    guard let number = numbers[id] else { return nil }
    if !jobs[number].job.state.hasEnded { release(number, now: now) }
    return jobs[number].job.state
  }

  /// Nothing but other jobs holds it up any more.
  mutating func release(_ number: Int, now: Duration) {
    let wasPaused = jobs[number].job.isPaused
    jobs[number].job.isPaused = false
    jobs[number].heldUntil = nil
    changeCount += 1
    if wasPaused { record(.jobResumed, ofJob: number, now: now) }
  }

  package mutating func watch(_ id: JobID, now: Duration) -> JobState? {
    guard let number = numbers[id] else { return nil }
    let state = jobs[number].job.state
    if !state.hasEnded { jobs[number].watchedUntil = now + LeasePolicy.watching }
    return state
  }

  package mutating func setPriority(of id: JobID, to priority: Int32, now: Duration) -> JobState? {
    guard let number = numbers[id] else { return nil }
    let job = jobs[number].job
    guard !job.state.hasEnded, job.priority != priority else { return job.state }
    jobs[number].job.priority = priority
    jobs[number].share = FairShare()
    active.removeAll { $0 == number }
    activate(number)
    changeCount += 1
    record(.jobPriorityChanged, ofJob: number, message: "priority \(priority)", now: now)
    return job.state
  }

  // MARK: Owners

  package func owners() -> [Owner] {
    let names = Set(ownerRecords.keys).union(active.map { jobs[$0].owner }).union(shares.keys.map(\.owner))
      .subtracting([" "])
    return names.sorted { Array($0.utf8).lexicographicallyPrecedes(Array($1.utf8)) }.map { name in
      let record = ownerRecords[name] ?? OwnerRecord(owner: name)
      return Owner(
        owner: name, weight: record.weight, mostRunning: record.mostRunning, mostOpen: record.mostOpen,
        mostStored: record.mostStored,
        running: Int64(runningTasks(of: name)), open: openJobs(of: name))
    }
  }

  /// How many jobs of an owner have not ended. Inspections are not counted.
  private func openJobs(of owner: String) -> Int64 {
    Int64(active.count { jobs[$0].owner == owner && jobs[$0].job.purpose == .render })
  }

  package mutating func change(_ owner: String, _ change: OwnerChange) throws(JobStoreError) {
    try change.validate(owner)
    var record = ownerRecords[owner] ?? OwnerRecord(owner: owner)
    if let weight = change.weight { record.weight = weight }
    if let most = change.mostRunning { record.mostRunning = most.number }
    if let most = change.mostOpen { record.mostOpen = most.number }
    if let most = change.mostStored { record.mostStored = most.number }
    ownerRecords[owner] = record
    changeCount += 1
  }

  package func storage(of owner: String?) -> OwnerStorage? {
    let owner = owner ?? ""
    guard let most = ownerRecords[owner]?.mostStored else { return nil }
    var contents: [SHA256Digest: Content] = [:]
    for record in jobs where !record.isDeleted && record.owner == owner {
      let named = record.tasks.flatMap { $0.task.inputs + [$0.task.result].compactMap(\.self) }
      for content in named + [record.job.output].compactMap(\.self) { contents[content.digest] = content }
    }
    return OwnerStorage(most: most, contents: contents.values.sorted { $0.digest.hex < $1.digest.hex })
  }

  /// How many of its tasks run. Backup leases are not counted.
  func runningTasks(of owner: String) -> Int { leases.count { !$0.isBackup && jobs[$0.place.number].owner == owner } }

  func requireRoom(for owner: String?) throws(JobStoreError) {
    let owner = owner ?? ""
    guard let most = ownerRecords[owner]?.mostOpen, openJobs(of: owner) >= most else { return }
    throw JobStoreError.tooMany(most)
  }
}
