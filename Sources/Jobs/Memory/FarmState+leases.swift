package import Digest

// Leases from their grant to the result, or to an end without one. `JobStore` specifies each operation.

extension FarmState {
  package mutating func claim(
    worker: WorkerID, session: SessionID, build: String, limit: Int, now: Duration
  ) throws(JobStoreError) -> [Grant] {
    try worker.validate()
    try session.validate()
    let build = build.withoutNul
    var grants: [Grant] = []
    for number in active where jobs[number].job.build == nil || jobs[number].job.build == build {
      var index = 0
      while grants.count < limit, index < jobs[number].ready.count {
        let place = Place(number: number, ordinal: jobs[number].ready[index])
        guard isClaimable(self[place], by: worker, now: now) else {
          index += 1
          continue
        }
        jobs[number].ready.remove(at: index)
        jobs[number].job.build = build
        self[place].task.state = .running
        grants.append(grant(place, to: worker, session, isBackup: false, now: now))
      }
    }
    for place in slowTasks(for: worker, build: build, limit: limit - grants.count, now: now) {
      grants.append(grant(place, to: worker, session, isBackup: true, now: now))
    }
    return grants
  }

  package mutating func renew(worker: WorkerID, leases renewals: [LeaseProgress], now: Duration) -> [Lease] {
    var notHeld: [Lease] = []
    for renewal in renewals {
      guard let index = index(of: renewal.lease, heldBy: worker) else {
        notHeld.append(renewal.lease)
        continue
      }
      leases[index].until = now + policy.lease
      guard renewal.done > leases[index].progress else { continue }
      leases[index].progress = renewal.done
      leases[index].movedAt = now
    }
    return notHeld
  }

  package mutating func publish(
    _ lease: Lease, worker: WorkerID, result: Content, now: Duration
  ) throws(JobStoreError) -> PublishOutcome {
    try result.validate()
    guard let place = place(of: lease.task) else { return .stale }
    guard let index = index(of: lease, heldBy: worker) else {
      let task = self[place].task
      return task.publishedEpoch == lease.epoch && task.result?.digest == result.digest ? .duplicate : .stale
    }
    self[place].took = now - leases[index].grantedAt
    leases.removeSubrange(leases(at: place))
    self[place].task.state = .done
    self[place].task.publishedEpoch = lease.epoch
    self[place].task.result = result
    if self[place].task.kind != .stitch { jobs[place.number].unfinished -= 1 }
    changeCount += 1
    advance(place.number, now: now)
    return .published
  }

  private func isClaimable(_ record: TaskRecord, by worker: WorkerID, now: Duration) -> Bool {
    guard let notBefore = record.notBefore else { return true }
    let exclusion = record.task.failedOn.contains(worker) ? policy.exclusion : .zero
    return notBefore + exclusion <= now
  }

  private mutating func grant(
    _ place: Place, to worker: WorkerID, _ session: SessionID, isBackup: Bool, now: Duration
  ) -> Grant {
    self[place].task.epoch += 1
    let task = self[place].task
    let lease = LeaseRecord(
      place: place, epoch: task.epoch, worker: worker, session: session, isBackup: isBackup, grantedAt: now,
      until: now + policy.lease, movedAt: now)
    // The highest epoch of the task, so after its other lease.
    leases.insert(lease, at: leases(at: place).upperBound)
    let inputs = task.kind == .stitch ? pieces(of: place.number) : task.inputs
    return Grant(
      lease: Lease(task: task.id, epoch: task.epoch), kind: task.kind, payload: task.payload, inputs: inputs,
      work: task.work)
  }

  /// The inputs of a stitch task: a plan has its video tasks in order, then the audio task.
  private func pieces(of number: Int) -> [Content] {
    jobs[number].tasks.map(\.task).filter { $0.kind == .video || $0.kind == .audio }.compactMap(\.result)
  }

  // MARK: Backup leases

  /// The tasks of which a worker may have a backup lease: jobs in their order, within a job those that have run longest
  /// first, then by ordinal.
  private func slowTasks(for worker: WorkerID, build: String, limit: Int, now: Duration) -> [Place] {
    guard limit > 0 else { return [] }
    var slow: [Place] = []
    for number in active where jobs[number].job.build == build {
      let single = leases.indices.filter { index in
        leases[index].place.number == number && mayHaveBackup(index, on: worker, now: now)
      }
      guard !single.isEmpty, let pace = medianPace(ofJob: number) else { continue }
      let slowest = single.map { leases[$0] }.filter { lease in
        policy.isSlow(after: now - lease.grantedAt, cost: self[lease.place].task.cost, medianPace: pace)
      }
      slow += slowest.sorted { ($0.grantedAt, $0.place) < ($1.grantedAt, $1.place) }.map(\.place)
    }
    return Array(slow.prefix(limit))
  }

  private func mayHaveBackup(_ index: Int, on worker: WorkerID, now: Duration) -> Bool {
    let lease = leases[index]
    let record = self[lease.place]
    return record.task.kind == .video && leases(at: lease.place).count == 1 && lease.worker != worker
      && !record.task.failedOn.contains(worker) && (record.notBefore ?? now) <= now
      && now - lease.grantedAt >= policy.shortestSlow
  }

  private func medianPace(ofJob number: Int) -> Double? {
    policy.medianPace(
      of: jobs[number].tasks.filter { $0.task.kind == .video }.compactMap { record in
        record.took.map { (took: $0, cost: record.task.cost) }
      })
  }
}

// MARK: - Leases that end without a result

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
      // The lease has been removed if the failure of the task's other lease was its last.
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
