// Leases that end without a result.

extension FarmState {
  package mutating func fail(
    _ lease: Lease, worker: WorkerID, failure: TaskFailure, now: Duration
  ) throws(JobStoreError) -> Bool {
    try failure.validate()
    guard let index = index(of: lease, heldBy: worker) else { return false }
    let number = leases[index].place.number
    if let jobFailure = end(leases[index], with: failure, now: now) {
      end(number, as: .failed, failure: jobFailure, now: now)
    }
    return true
  }

  package mutating func release(worker: WorkerID, session: SessionID, now: Duration) -> Int {
    let lost = leases.filter { $0.worker == worker && $0.session == session }
    for lease in lost {
      end(lease, with: TaskFailure(end: .released, message: FailureMessage.connectionClosed(worker)), now: now)
    }
    workers.removeAll { $0.record.id == worker && $0.record.session == session }
    return lost.count
  }

  package mutating func expire(now: Duration) -> [Lease] {
    workers.removeAll { now - $0.lastSeen > policy.lease }
    let lost = leases.filter { $0.until <= now || now - $0.movedAt >= policy.hang }
    for lease in lost where lease.until <= now {
      end(lease, with: TaskFailure(end: .released, message: FailureMessage.leaseRanOut(lease.worker)), now: now)
    }
    // All attempts are counted before any job ends. A job ends with the failure of the first of its tasks.
    var failures: [(number: Int, failure: JobFailure)] = []
    for lease in lost where lease.until > now {
      let failure = TaskFailure(end: .hung, message: FailureMessage.hung(lease.worker))
      // The lease is gone where the task's other lease was the one failure too many.
      guard leases(at: lease.place).contains(where: { leases[$0].epoch == lease.epoch }),
        let jobFailure = end(lease, with: failure, now: now), failures.last?.number != lease.place.number
      else { continue }
      failures.append((lease.place.number, jobFailure))
    }
    for (number, failure) in failures { end(number, as: .failed, failure: failure, now: now) }
    return lost.map { Lease(task: self[$0.place].task.id, epoch: $0.epoch) }
  }

  /// Ends a lease with an attempt. The task keeps its other lease, or is ready, or has failed for good.
  ///
  /// - Returns: The job's failure, if the task has failed for good. The caller ends the job.
  @discardableResult
  private mutating func end(_ lease: LeaseRecord, with failure: TaskFailure, now: Duration) -> JobFailure? {
    let place = lease.place
    let failure = failure.withoutNul
    leases.removeAll { $0.place == place && $0.epoch == lease.epoch }
    self[place].task.attempts.append(
      Attempt(
        epoch: lease.epoch, worker: lease.worker, end: failure.end, message: failure.message, process: failure.process,
        ran: now - lease.grantedAt))
    let task = self[place].task
    if let message = policy.finalMessage(of: task.kind, task.id, failures: task.failedOn.count, lease.worker, failure) {
      leases.removeSubrange(leases(at: place))
      self[place].task.state = .failed
      return JobFailure(reason: .task, message: message, task: task.id.ordinal)
    }
    if failure.end.isCounted {
      self[place].notBefore = now + policy.backOff(afterFailure: task.failedOn.count, jitter: failure.jitter)
    }
    if let other = leases(at: place).first {
      leases[other].isBackup = false
      changeCount += 1
    } else {
      makeReady(place)
    }
    return nil
  }
}
