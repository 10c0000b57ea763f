extension FarmState {
  package mutating func claim(
    worker: WorkerID, build: String, limit: Int, now: Duration
  ) throws(JobStoreError) -> [Grant] {
    try worker.validate()
    let build = build.withoutNul
    var grants: [Grant] = []
    for number in active where jobs[number].job.build == nil || jobs[number].job.build == build {
      var index = 0
      while grants.count < limit, index < jobs[number].ready.count {
        let place = Place(number: number, ordinal: jobs[number].ready[index])
        if isOpen(jobs[number].tasks[place.ordinal], to: worker, now: now) {
          jobs[number].ready.remove(at: index)
          jobs[number].job.build = build
          grants.append(grant(place, to: worker, now: now))
        } else {
          index += 1
        }
      }
    }
    if grants.count < limit {
      grants += double(worker: worker, build: build, limit: limit - grants.count, now: now)
    }
    return grants
  }

  package mutating func renew(
    worker: WorkerID, leases: [LeaseProgress], now: Duration
  ) -> [Lease] {
    var lost: [Lease] = []
    for renewal in leases {
      guard let held = held(renewal.lease, by: worker) else {
        lost.append(renewal.lease)
        continue
      }
      jobs[held.place.number].tasks[held.place.ordinal]
        .renew(held.seat, done: renewal.done, until: now + policy.lease, now: now)
    }
    return lost
  }

  package mutating func publish(
    _ lease: Lease, result: Content, now: Duration
  ) throws(JobStoreError) -> PublishOutcome {
    try result.validate()
    guard let place = place(of: lease.task) else { return .stale }
    let record = jobs[place.number].tasks[place.ordinal]
    let task = record.task
    guard task.state == .leased else {
      let isDuplicate = task.state == .done && task.epoch == lease.epoch && task.result?.digest == result.digest
      return isDuplicate ? .duplicate : .stale
    }
    guard let seat = record.seat(at: lease.epoch) else { return .stale }
    jobs[place.number].tasks[place.ordinal].took = now - record.times(of: seat).grantedAt
    // The winner's, so that it is known again if it says so twice.
    jobs[place.number].tasks[place.ordinal].task.epoch = lease.epoch
    unlease(place)
    jobs[place.number].tasks[place.ordinal].task.state = .done
    jobs[place.number].tasks[place.ordinal].task.result = result
    jobs[place.number].tasks[place.ordinal].task.progress = task.work
    if task.kind != .stitch { jobs[place.number].unfinished -= 1 }
    news += 1
    settle(place.number, now: now)
    return .published
  }

  private func isOpen(_ record: TaskRecord, to worker: WorkerID, now: Duration) -> Bool {
    guard let restsUntil = record.restsUntil else { return true }
    let kept = record.task.failedOn.contains(worker) ? policy.preference : .zero
    return restsUntil + kept <= now
  }

  private mutating func grant(_ place: Place, to worker: WorkerID, now: Duration) -> Grant {
    var record = jobs[place.number].tasks[place.ordinal]
    record.task.state = .leased
    record.task.worker = worker
    record.task.grants += 1
    record.task.epoch = record.task.grants
    record.times = LeaseTimes(grantedAt: now, until: now + policy.lease)
    jobs[place.number].tasks[place.ordinal] = record
    leased.insert(place, at: leased.partitioningIndex { $0 >= place })
    let task = record.task
    let inputs = task.kind == .stitch ? pieces(of: place.number) : task.inputs
    return Grant(
      lease: Lease(task: task.id, epoch: task.epoch), kind: task.kind, payload: task.payload, inputs: inputs,
      work: task.work)
  }

  /// What a stitch joins: a plan has its pictures in order, then the sound.
  private func pieces(of number: Int) -> [Content] {
    jobs[number].tasks.compactMap { $0.task.kind == .picture || $0.task.kind == .sound ? $0.task.result : nil }
  }
}
