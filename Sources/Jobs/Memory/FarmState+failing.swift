package import FarmModel

// Leases that end without a result. `JobStore` specifies each operation.

extension FarmState {
  package mutating func fail(
    _ lease: Lease, holder: Holder, failure: TaskFailure, now: Duration
  ) throws(JobStoreError) -> Bool {
    try failure.validate()
    guard let index = index(of: lease, heldBy: holder) else { return false }
    let number = leases[index].place.number
    var failure = failure
    if hold(of: holder.worker) == .quarantined {
      failure = TaskFailure(end: .released, message: FailureMessage.quarantined)
    }
    if let jobFailure = end(leases[index], with: failure, now: now) {
      end(number, as: .failed, failure: jobFailure, now: now)
    }
    return true
  }

  package mutating func expire(now: Duration) -> [Lease] {
    let since = now - (lastExpiry ?? now)
    lastExpiry = now
    guard since <= policy.outage else {
      moveTimes(by: since, now: now)
      return []
    }
    for index in workers.indices where !workers[index].hasLeft && !isPresent(workers[index], now: now) {
      workers[index].hasLeft = true
      recordDeparture(of: workers[index].record, now: now)
    }
    workers.removeAll { now - $0.lastSeen > LeasePolicy.keptWorker }
    builds.removeAll { now - $0.lastSeen > policy.rebind }
    let lost = leases.filter { $0.until <= now || now - $0.movedAt >= policy.hang }
    for lease in lost where lease.until <= now {
      end(lease, with: TaskFailure(end: .released, message: FailureMessage.leaseRanOut(lease.holder.worker)), now: now)
    }
    // All attempts are counted before any job ends. A job ends with the failure of the first of its tasks.
    var failures: [(number: Int, failure: JobFailure)] = []
    for lease in lost where lease.until > now {
      let failure = TaskFailure(end: .hung, message: FailureMessage.hung(lease.holder.worker))
      // The lease has been removed if the failure of the task's other lease was its last.
      guard leases(at: lease.place).contains(where: { leases[$0].epoch == lease.epoch }),
        let jobFailure = end(lease, with: failure, now: now), failures.last?.number != lease.place.number
      else { continue }
      failures.append((lease.place.number, jobFailure))
    }
    for (number, failure) in failures { end(number, as: .failed, failure: failure, now: now) }
    return lost.map { Lease(task: self[$0.place].task.id, epoch: $0.epoch) }
  }

  /// After an outage: nothing happened in it. No time is moved further than if it were now.
  private mutating func moveTimes(by outage: Duration, now: Duration) {
    for index in leases.indices {
      leases[index].grantedAt = min(leases[index].grantedAt + outage, now)
      leases[index].movedAt = min(leases[index].movedAt + outage, now)
      leases[index].until = min(leases[index].until + outage, now + policy.lease)
    }
    for number in jobs.indices {
      guard let until = jobs[number].planning?.until else { continue }
      jobs[number].planning?.until = min(until + outage, now + policy.lease)
    }
    for index in workers.indices where !workers[index].hasLeft {
      workers[index].lastSeen = min(workers[index].lastSeen + outage, now)
    }
    for index in builds.indices { builds[index].lastSeen = min(builds[index].lastSeen + outage, now) }
  }

  /// Ends a lease with an attempt. The task keeps its other lease, or is ready, or has failed for good.
  ///
  /// - Returns: The job's failure, if the task has failed for good. The caller ends the job.
  @discardableResult
  mutating func end(_ lease: LeaseRecord, with failure: TaskFailure, now: Duration) -> JobFailure? {
    let (place, worker) = (lease.place, lease.holder.worker)
    let failure = failure.withoutNul
    leases.removeAll { $0.place == place && $0.epoch == lease.epoch }
    self[place].task.attempts.append(
      Attempt(
        epoch: lease.epoch, worker: worker, workerName: "", end: failure.end, message: failure.message,
        process: failure.process, ran: now - lease.grantedAt, endedAt: now))
    if let usage = failure.usage { self[place].usages.append((lease.epoch, worker, usage)) }
    recordAttempt(lease, failure, now: now)
    self[place].task.attempts.dropReleased(keeping: policy.keptReleases)
    if lease.epoch == self[place].task.epoch { self[place].lost = (lease.epoch, now) }
    let task = self[place].task
    let suspects = task.suspectOn.count
    let message = policy.finalMessage(
      of: task.kind, task.id, failures: task.failedOn.count, kills: task.count(of: .killed), worker, failure)
    if message != nil, failure.end != .document, let result = unanimous(place) {
      accept(place, result, now: now)
      return nil
    }
    if let message {
      leases.removeSubrange(leases(at: place))
      self[place].task.state = .failed
      return JobFailure(reason: .task, message: message, task: task.id.ordinal)
    }
    if failure.end.isSuspect || failure.delaysTask {
      let attempts = failure.end.isSuspect ? suspects : task.count(of: .released)
      self[place].notBefore = now + policy.backOff(afterFailure: attempts, jitter: failure.jitter)
    }
    if failure.end.isSuspect { isolate(place, now: now) }
    if let other = leases(at: place).first {
      leases[other].isBackup = false
      changeCount += 1
    } else {
      makeReady(place)
    }
    return nil
  }

  /// Isolates a task of which enough attempts are suspect, and, if there are enough of its job together, all that the
  /// job is still to begin, which has been ready for no time then.
  private mutating func isolate(_ place: Place, now: Duration) {
    if self[place].task.suspectOn.count >= policy.isolation { self[place].task.isIsolated = true }
    let open = jobs[place.number].tasks.indices.filter { jobs[place.number].tasks[$0].task.state.isOpen }
    let suspects = open.reduce(0) { $0 + jobs[place.number].tasks[$1].task.suspectOn.count }
    guard suspects >= policy.isolation else { return }
    self[place].task.isIsolated = true
    for ordinal in open where jobs[place.number].tasks[ordinal].task.state != .running {
      guard !jobs[place.number].tasks[ordinal].task.isIsolated else { continue }
      jobs[place.number].tasks[ordinal].task.isIsolated = true
      jobs[place.number].tasks[ordinal].notBefore = max(jobs[place.number].tasks[ordinal].notBefore ?? now, now)
    }
  }

  /// After an isolated task has a result, those of its job are no longer isolated that are not at fault themselves.
  mutating func liftIsolation(ofJob number: Int) {
    for ordinal in jobs[number].tasks.indices {
      let task = jobs[number].tasks[ordinal].task
      guard task.isIsolated, task.state.isOpen, task.suspectOn.count < policy.isolation else { continue }
      jobs[number].tasks[ordinal].task.isIsolated = false
    }
  }
}

extension TaskState {
  /// Whether the task may still run.
  fileprivate var isOpen: Bool { self == .waiting || self == .ready || self == .running }
}

extension [Attempt] {
  /// Removes the oldest released attempts that are more than `limit`, which is at least 1.
  fileprivate mutating func dropReleased(keeping limit: Int) {
    let released = indices.filter { self[$0].end == .released }
    for index in released.dropLast(Swift.max(limit, 1)).reversed() { remove(at: index) }
  }
}
