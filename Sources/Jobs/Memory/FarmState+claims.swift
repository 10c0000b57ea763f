import Digest
package import FarmModel

// Leases from free slots and tasks. `JobStore` specifies the operation.

/// The workers of a claim.
private struct Claimant {
  var build: String
  /// Those of their pools that are open.
  var pools: [String]
}

extension FarmState {
  package mutating func claim(
    build: String, pools: [String] = [], slots: [Holder], now: Duration
  ) throws(JobStoreError) -> [Grant] {
    for slot in slots { try slot.validate() }
    let claimant = Claimant(build: build.withoutNul, pools: PoolName.sorted(pools).filter { isOpen($0, now: now) })
    if !pools.isEmpty, claimant.pools.isEmpty { return [] }
    var slots = SlotAssignment(slots.filter { hold(of: $0.worker) == nil })
    var grants = claimIsolated(claimant, &slots, waitingFor: policy.isolationPatience, now: now)
    let open = active.filter { isOpen($0, to: claimant, now: now) }
    grants += claimFairly(open, claimant, &slots, now: now)
    grants += claimIsolated(claimant, &slots, waitingFor: .zero, now: now)
    // Granted after all are taken, so that no lease that was granted by this call is looked at.
    var backups: [(place: Place, holder: Holder)] = []
    for number in active where slots.count > 0 && isOpen(number, to: claimant, now: now) {
      for lease in backedUp(ofJob: number, now: now) {
        let task = self[lease.place].task
        let mayHave = { worker in
          worker != lease.holder.worker && !task.suspectOn.contains(worker) && self.has(worker, memory: task.memory)
            && !self.hasMade(lease.place, worker)
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
    _ claimant: Claimant, _ slots: inout SlotAssignment, waitingFor time: Duration, now: Duration
  ) -> [Grant] {
    guard slots.count > 0, !leases.contains(where: { self[$0.place].task.isIsolated }) else { return [] }
    for number in active where isOpen(number, to: claimant, now: now) {
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

  /// Whether some workers may have a job's tasks.
  private func isOpen(_ number: Int, to claimant: Claimant, now: Duration) -> Bool {
    let job = jobs[number].job
    return (job.state == .probing || job.build == claimant.build) && PoolName.takes(claimant.pools, jobsOf: job.pool)
      && mayGoOn(number, now: now)
  }

  /// Grants tasks by the rule of `FairQueue`.
  private mutating func claimFairly(
    _ open: [Int], _ claimant: Claimant, _ slots: inout SlotAssignment, now: Duration
  ) -> [Grant] {
    let ready = open.filter { number in
      jobs[number].ready.contains { ordinal in
        let record = jobs[number].tasks[ordinal]
        return !record.task.isIsolated && (record.notBefore ?? now) <= now
      }
    }
    let stalled = Set(leases.filter { $0.movedAt + policy.stall <= now }.map(\.place.number))
    var queue = FairQueue(
      ready.map { number in
        FairQueue.Job(
          number: Int64(number), owner: jobs[number].owner, priority: jobs[number].job.priority,
          pool: jobs[number].job.pool,
          isStalled: stalled.contains(number), share: jobs[number].share)
      },
      owners: ownerRecords.mapValues { record in
        FairQueue.Owner(
          weight: record.weight, room: record.mostRunning.map { $0 - Int64(runningTasks(of: record.owner)) })
      }, shares: shares, poolTimes: poolTimes.filter { $0.value.isFresh(now) }.mapValues(\.start))
    var grants: [Grant] = []
    while slots.count > 0 {
      let batch = queue.next()
      if batch.isEmpty { break }
      var isFull = true
      // The first task of each round may go to one of the slots, so this ends.
      while slots.count > 0, isFull {
        let (workers, limit) = (slots.workers, slots.count)
        isFull = false
        for number in batch {
          let found = candidates(of: Int(number), for: workers, limit, now: now)
          if found.count == limit { isFull = true }
          queue.setCandidates(found, of: number)
        }
        let matches = queue.match(&slots)
        if matches.isEmpty { break }
        for match in matches {
          let place = Place(number: Int(match.job), ordinal: Int(match.ordinal))
          grants.append(grantReady(place, to: match.holder, now: now))
        }
      }
    }
    for (level, charge) in queue.ownerCharges { shares[level] = charge.applied(to: shares[level] ?? FairShare()) }
    for (level, start) in queue.poolStarts(of: claimant.pools) {
      poolTimes[level] = PoolTime(poolTimes[level], start: start, now: now)
    }
    for (number, charge) in queue.jobCharges { jobs[Int(number)].share = charge.applied(to: jobs[Int(number)].share) }
    return grants
  }

  /// The first tasks of a job that one of some workers may have.
  private func candidates(
    of number: Int, for workers: [WorkerID], _ limit: Int, now: Duration
  ) -> [FairQueue.Candidate] {
    let found = claimOrder(of: number, now: now).lazy.compactMap { ordinal -> FairQueue.Candidate? in
      let place = Place(number: number, ordinal: ordinal)
      guard !self[place].task.isIsolated, (self[place].notBefore ?? now) <= now else { return nil }
      let excluded = Set(workers.filter { !isClaimable(place, by: $0, now: now) })
      guard excluded.count < workers.count else { return nil }
      return FairQueue.Candidate(ordinal: Int32(ordinal), cost: self[place].task.cost, excluded: excluded)
    }
    return Array(found.prefix(limit))
  }

  /// The ordinals of the `ready` tasks: those of a film that somebody watches in its order, and each part of the sound
  /// after the pictures with which it begins, as far as the work of the parts before it tells.
  private func claimOrder(of number: Int, now: Duration) -> [Int] {
    let record = jobs[number]
    guard let until = record.watchedUntil, until > now else { return record.ready }
    let videos = record.tasks.indices.filter { record.tasks[$0].task.kind == .video }
    let audios = record.tasks.indices.filter { record.tasks[$0].task.kind == .audio }
    let whole = Double(max(1, audios.reduce(0) { $0 + record.tasks[$1].task.work }))
    var (places, before): ([Int: Int], Int64) = ([:], 0)
    for ordinal in audios {
      places[ordinal] = Int((Double(videos.count) * Double(before) / whole).rounded(.down))
      before += record.tasks[ordinal].task.work
    }
    func rank(_ ordinal: Int) -> Int {
      guard let place = places[ordinal], let first = videos.first else { return ordinal * 2 }
      return (first + place) * 2 + 1
    }
    return record.ready.sorted { (rank($0), $0) < (rank($1), $1) }
  }

  private func isClaimable(_ place: Place, by worker: WorkerID, now: Duration) -> Bool {
    let record = self[place]
    guard has(worker, memory: record.task.memory), !hasMade(place, worker) else { return false }
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
    guard task.kind == .video || task.kind == .audio, let pace = jobs[lease.place.number].medianPace else {
      return false
    }
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

  /// What a stitch task reads before its own inputs: a plan has its video tasks in order, then the audio tasks.
  private func pieces(of number: Int) -> [Content] {
    jobs[number].tasks.map(\.task).filter { $0.kind == .video || $0.kind == .audio }.compactMap(\.result)
  }
}
