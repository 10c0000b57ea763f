extension FarmState {
  /// Grants second leases of slow pictures to a worker for which nothing is ready (DESIGN 4): jobs in their order,
  /// within a job those that have run the longest first, then by ordinal.
  mutating func double(worker: WorkerID, build: String, limit: Int, now: Duration) -> [Grant] {
    var grants: [Grant] = []
    for number in active where jobs[number].job.build == build {
      let candidates = leased.filter { $0.number == number && mayDouble($0, on: worker, now: now) }
      guard !candidates.isEmpty, let pace = medianPace(ofJob: number) else { continue }
      let slow = candidates.filter { place in
        let record = jobs[place.number].tasks[place.ordinal]
        return policy.isSlow(after: now - record.times.grantedAt, cost: record.task.cost, medianPace: pace)
      }
      let longest = slow.sorted { left, right in
        let (leftTime, rightTime) = (grantTime(left), grantTime(right))
        return leftTime == rightTime ? left < right : leftTime < rightTime
      }
      for place in longest.prefix(limit - grants.count) { grants.append(grantTwin(place, to: worker, now: now)) }
    }
    return grants
  }

  private func mayDouble(_ place: Place, on worker: WorkerID, now: Duration) -> Bool {
    let record = jobs[place.number].tasks[place.ordinal]
    return record.task.kind == .picture && record.task.twin == nil && record.task.worker != worker
      && !record.task.failedOn.contains(worker) && (record.restsUntil ?? now) <= now
      && now - record.times.grantedAt >= policy.shortestSlow
  }

  private func medianPace(ofJob number: Int) -> Double? {
    policy.medianPace(
      of: jobs[number].tasks.compactMap { record in
        guard record.task.kind == .picture, let took = record.took else { return nil }
        return (took, record.task.cost)
      })
  }

  private func grantTime(_ place: Place) -> Duration { jobs[place.number].tasks[place.ordinal].times.grantedAt }

  private mutating func grantTwin(_ place: Place, to worker: WorkerID, now: Duration) -> Grant {
    var record = jobs[place.number].tasks[place.ordinal]
    record.task.grants += 1
    record.task.twin = TwinLease(worker: worker, epoch: record.task.grants)
    record.twinTimes = LeaseTimes(grantedAt: now, until: now + policy.lease)
    jobs[place.number].tasks[place.ordinal] = record
    let task = record.task
    return Grant(
      lease: Lease(task: task.id, epoch: task.grants), kind: task.kind, payload: task.payload, inputs: task.inputs,
      work: task.work)
  }
}
