package import Digest
package import FarmModel

// Leases to their result. `JobStore` specifies each operation.

extension FarmState {
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
    _ lease: Lease, holder: Holder, result: Content, usage: AttemptUsage?, account: String?, draw: Double,
    now: Duration
  ) throws(JobStoreError) -> PublishOutcome {
    try result.validate()
    try usage?.validate()
    guard let place = place(of: lease.task) else { return .stale }
    guard let index = index(of: lease, heldBy: holder) else {
      let task = self[place].task
      let isKept = self[place].compared.contains { $0.epoch == lease.epoch && $0.result.digest == result.digest }
      return isKept || task.publishedEpoch == lease.epoch && task.result?.digest == result.digest ? .duplicate : .stale
    }
    let account = account?.withoutNul ?? self.account(of: holder.worker)
    if let account, standings[account]?.hold == .quarantined { return .stale }
    let held = leases[index]
    if let usage { self[place].usages.append((lease.epoch, holder.worker, usage)) }
    if let account, mustCompare(place, result, by: account, draw: draw, now: now) {
      compare(held, account, result, now: now)
      return .compared
    }
    leases.removeSubrange(leases(at: place))
    finish(
      place,
      ComparedRecord(
        epoch: lease.epoch, worker: holder.worker, account: account ?? "", result: result, grantedAt: held.grantedAt,
        publishedAt: now, took: now - held.grantedAt), now: now)
    return .published
  }

  /// Makes a task without leases done.
  mutating func finish(_ place: Place, _ made: ComparedRecord, now: Duration) {
    self[place].task.state = .done
    self[place].task.publishedEpoch = made.epoch
    self[place].task.publisher = Publisher(
      worker: made.worker, workerName: "", took: made.took, publishedAt: made.publishedAt)
    self[place].task.result = made.result
    self[place].task.maker = made.account.isEmpty ? nil : made.account
    settle(place, now: now)
    let (kind, work) = (self[place].task.kind, self[place].task.work)
    jobs[place.number].counts.finish(kind, work: work)
    if kind != .probe {
      jobs[place.number].renderingSince = min(jobs[place.number].renderingSince ?? made.grantedAt, made.grantedAt)
    }
    if kind == .video { findMedianPace(ofJob: place.number) }
    if self[place].task.isIsolated { liftIsolation(ofJob: place.number) }
    changeCount += 1
    recordResult(of: place, now: now)
    advance(place.number, now: now)
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
