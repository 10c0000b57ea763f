package import Digest
package import FarmModel

// Leases from their grant to the result. `JobStore` specifies each operation.

extension FarmState {
  package mutating func claim(build: String, slots: [Holder], now: Duration) throws(JobStoreError) -> [Grant] {
    for slot in slots { try slot.validate() }
    let build = build.withoutNul
    var slots = SlotAssignment(slots)
    var grants = claimIsolated(build, &slots, waitingFor: policy.isolationPatience, now: now)
    let open = active.filter { isOpen($0, to: build) }
    let stalled = Set(leases.filter { $0.movedAt + policy.stall <= now }.map(\.place.number))
    for number in open.filter({ !stalled.contains($0) }) + open.filter(stalled.contains) {
      var index = 0
      while slots.count > 0, index < jobs[number].ready.count {
        let place = Place(number: number, ordinal: jobs[number].ready[index])
        guard !self[place].task.isIsolated, let holder = slots.take(where: { isClaimable(place, by: $0, now: now) })
        else {
          index += 1
          continue
        }
        grants.append(grantReady(place, to: holder, now: now))
      }
    }
    grants += claimIsolated(build, &slots, waitingFor: .zero, now: now)
    // Granted after all are taken, so that no lease that was granted by this call is looked at.
    var backups: [(place: Place, holder: Holder)] = []
    for number in active where slots.count > 0 && isOpen(number, to: build) {
      for lease in backedUp(ofJob: number, now: now) {
        let task = self[lease.place].task
        let mayHave = { worker in
          worker != lease.holder.worker && !task.suspectOn.contains(worker) && self.has(worker, memory: task.memory)
        }
        guard let holder = slots.take(where: mayHave) else { continue }
        backups.append((lease.place, holder))
      }
    }
    for backup in backups { grants.append(grant(backup.place, to: backup.holder, isBackup: true, now: now)) }
    return grants
  }

  /// Grants an isolated task, unless one runs.
  /// - Parameter time: How long it must have been ready after its back-off.
  private mutating func claimIsolated(
    _ build: String, _ slots: inout SlotAssignment, waitingFor time: Duration, now: Duration
  ) -> [Grant] {
    guard slots.count > 0, !leases.contains(where: { self[$0.place].task.isIsolated }) else { return [] }
    for number in active where isOpen(number, to: build) {
      for ordinal in jobs[number].ready {
        let place = Place(number: number, ordinal: ordinal)
        guard self[place].task.isIsolated, (self[place].notBefore ?? now) + time <= now,
          let holder = slots.take(where: { isClaimable(place, by: $0, now: now) })
        else { continue }
        return [grantReady(place, to: holder, now: now)]
      }
    }
    return []
  }

  private mutating func grantReady(_ place: Place, to holder: Holder, now: Duration) -> Grant {
    jobs[place.number].ready.removeAll { $0 == place.ordinal }
    self[place].task.state = .running
    return grant(place, to: holder, isBackup: false, now: now)
  }

  /// Whether workers of a build may have a job's tasks.
  private func isOpen(_ number: Int, to build: String) -> Bool {
    jobs[number].job.state == .probing || jobs[number].job.build == build
  }

  private func isClaimable(_ place: Place, by worker: WorkerID, now: Duration) -> Bool {
    let record = self[place]
    guard has(worker, memory: record.task.memory) else { return false }
    guard let notBefore = record.notBefore else { return true }
    let exclusion = record.task.suspectOn.contains(worker) ? policy.exclusion : .zero
    return notBefore + exclusion <= now
  }

  /// Whether a worker's tasks may use so much memory. One that was never registered is not known to have too little.
  private func has(_ worker: WorkerID, memory: Int64) -> Bool {
    let index = workers.partitioningIndex { $0.record.id >= worker }
    return index == workers.count || workers[index].record.id != worker || workers[index].record.memory >= memory
  }

  /// The leases of whose tasks another worker may have a backup lease: the ones that were granted first are first.
  private func backedUp(ofJob number: Int, now: Duration) -> [LeaseRecord] {
    leases[leases(ofJob: number)].filter { lease in
      leases(at: lease.place).count == 1 && (self[lease.place].notBefore ?? now) <= now
        && !self[lease.place].task.isIsolated
        && (lease.isAway || isSlow(lease, now: now))
    }.sorted { ($0.grantedAt, $0.place) < ($1.grantedAt, $1.place) }
  }

  private func isSlow(_ lease: LeaseRecord, now: Duration) -> Bool {
    let task = self[lease.place].task
    guard task.kind == .video, let pace = jobs[lease.place.number].medianPace else { return false }
    return policy.isSlow(after: now - lease.grantedAt, cost: task.cost, medianPace: pace)
  }

  private mutating func grant(_ place: Place, to holder: Holder, isBackup: Bool, now: Duration) -> Grant {
    self[place].task.epoch += 1
    let task = self[place].task
    let lease = LeaseRecord(
      place: place, epoch: task.epoch, holder: holder, isBackup: isBackup, grantedAt: now, until: now + policy.lease,
      movedAt: now)
    // The highest epoch of the task, so after its other lease.
    leases.insert(lease, at: leases(at: place).upperBound)
    recordGrant(lease, now: now)
    let inputs = task.kind == .stitch ? pieces(of: place.number) + task.inputs : task.inputs
    return Grant(
      lease: Lease(task: task.id, epoch: task.epoch), holder: holder, kind: task.kind, payload: task.payload,
      inputs: inputs, work: task.work)
  }

  /// What a stitch task reads before its own inputs: a plan has its video tasks in order, then the audio task.
  private func pieces(of number: Int) -> [Content] {
    jobs[number].tasks.map(\.task).filter { $0.kind == .video || $0.kind == .audio }.compactMap(\.result)
  }

  package mutating func renew(_ renewals: [Renewal], now: Duration) -> [Renewal] {
    let batch = RenewalBatch(renewals)
    var held: Set<Int> = []
    for (place, renewal) in batch.merged.enumerated() {
      guard let index = index(of: renewal.lease, heldBy: renewal.holder) else { continue }
      held.insert(place)
      leases[index].renew(renewal, policy: policy, now: now)
    }
    return batch.notHeld(held: held)
  }

  package mutating func publish(
    _ lease: Lease, holder: Holder, result: Content, usage: AttemptUsage?, now: Duration
  ) throws(JobStoreError) -> PublishOutcome {
    try result.validate()
    try usage?.validate()
    guard let place = place(of: lease.task) else { return .stale }
    guard let index = index(of: lease, heldBy: holder) else {
      let task = self[place].task
      return task.publishedEpoch == lease.epoch && task.result?.digest == result.digest ? .duplicate : .stale
    }
    let grantedAt = leases[index].grantedAt
    let took = now - grantedAt
    leases.removeSubrange(leases(at: place))
    self[place].task.state = .done
    self[place].task.publishedEpoch = lease.epoch
    self[place].task.publisher = Publisher(
      worker: holder.worker, workerName: "", took: took, publishedAt: now)
    if let usage { self[place].usages.append((lease.epoch, holder.worker, usage)) }
    self[place].task.result = result
    let (kind, work) = (self[place].task.kind, self[place].task.work)
    jobs[place.number].counts.finish(kind, work: work)
    if kind != .probe {
      jobs[place.number].renderingSince = min(jobs[place.number].renderingSince ?? grantedAt, grantedAt)
    }
    if kind == .video { findMedianPace(ofJob: place.number) }
    if self[place].task.isIsolated { liftIsolation(ofJob: place.number) }
    changeCount += 1
    recordResult(of: place, now: now)
    advance(place.number, now: now)
    return .published
  }

  private mutating func findMedianPace(ofJob number: Int) {
    let counts = jobs[number].counts
    guard policy.findsMedianPace(at: counts.videos.done - counts.cachedVideos) else { return }
    let rendered = jobs[number].tasks.filter { $0.task.kind == .video && $0.task.publishedEpoch != nil }
    jobs[number].medianPace = policy.medianPace(
      of: rendered.compactMap { record in
        record.task.publisher.map { (took: $0.took, cost: record.task.cost) }
      })
  }

  package mutating func disconnect(_ holder: Holder, now: Duration) -> Int {
    let indices = leases.indices.filter { index in
      leases[index].holder.worker == holder.worker && leases[index].holder.session <= holder.session
    }
    for index in indices where !leases[index].isAway {
      leases[index].isAway = true
      changeCount += 1
    }
    for index in workers.indices
    where workers[index].record.id == holder.worker && workers[index].record.session == holder.session
      && !workers[index].hasLeft
    {
      workers[index].hasLeft = true
      recordDeparture(of: workers[index].record, now: now)
    }
    return indices.count
  }
}

extension LeaseRecord {
  /// Renews a lease that the renewal's holder holds.
  fileprivate mutating func renew(_ renewal: Renewal, policy: LeasePolicy, now: Duration) {
    let isTakenOver = renewal.holder.session > holder.session
    if isTakenOver {
      holder.session = renewal.holder.session
      isAway = false
    }
    // While the worker had no connection it could not report movement.
    if isTakenOver || renewal.moved > moved || renewal.done > progress { movedAt = now }
    until = now + policy.lease
    moved = isTakenOver ? renewal.moved : max(moved, renewal.moved)
    progress = max(progress, renewal.done)
  }
}
