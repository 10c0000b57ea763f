import Digest
package import FarmModel

// What a store shows of its jobs and tasks. Points in time are of the clock that the transitions get.

extension FarmState {
  package func job(_ id: JobID, now: Duration) -> Job? {
    numbers[id].map { job(number: $0, now: now) }
  }

  private func job(number: Int, now: Duration) -> Job {
    var job = jobs[number].job
    job.submittedAt = jobs[number].submitted
    job.endedAt = jobs[number].ended
    job.heldUntil = jobs[number].heldUntil
    job.unfinishedBefore = unfinished(before: number).map { Job.Before(job: $0.0, state: $0.1) }
    job.renderingSince = jobs[number].renderingSince
    job.age = now - jobs[number].submitted
    job.elapsed = (jobs[number].ended ?? now) - jobs[number].submitted
    job.rendering = jobs[number].renderingSince.map { (jobs[number].ended ?? now) - $0 }
    return job
  }

  package func summary(of id: JobID, now: Duration) -> JobSummary? {
    numbers[id].map { summary(number: $0, now: now) }
  }

  package func summaries(
    _ purpose: JobPurpose, limit: Int, after: JobID?, filter: JobFilter, now: Duration
  ) -> [JobSummary] {
    guard let end = after.map({ numbers[$0] }) ?? jobs.count else { return [] }
    let name = filter.name.withoutNul.lowercased()
    return (0..<end).reversed().lazy.filter { number in
      let record = jobs[number]
      return !record.isDeleted && record.job.purpose == purpose
        && (filter.owner.map { record.job.owner == $0 } ?? true)
        && (filter.pool.map { record.job.pool ?? "" == $0 } ?? true)
        && (filter.states.isEmpty || filter.states.contains(record.job.state))
        && (filter.since.map { record.submitted >= $0 } ?? true)
        && (filter.before.map { record.submitted < $0 } ?? true)
        && (name.isEmpty || record.job.name.lowercased().contains(name))
    }.prefix(max(limit, 0)).map { summary(number: $0, now: now) }
  }

  private func summary(number: Int, now: Duration) -> JobSummary {
    let counts = jobs[number].counts
    var summary = JobSummary(
      job: job(number: number, now: now), probes: counts.probes, measures: counts.measures, videos: counts.videos,
      cachedVideos: counts.cachedVideos, work: counts.work, audios: counts.audios,
      memory: counts.memory)
    summary.job.request = []
    summary.compared = Int64(jobs[number].tasks.count { !$0.compared.isEmpty })
    var held = leases[leases(ofJob: number)]
    while let place = held.first?.place {
      let both = held.prefix { $0.place == place }
      held = held.dropFirst(both.count)
      summary.running += 1
      if both.allSatisfy(\.isAway) { summary.away += 1 }
      let task = self[place].task
      if task.kind == .video { summary.work.done += min(both.map(\.progress).max() ?? 0, task.work) }
    }
    return summary
  }

  package func tasks(of id: JobID, payloads: Bool, now: Duration) -> [RenderTask] {
    guard let number = numbers[id] else { return [] }
    return jobs[number].tasks.indices.map { ordinal in
      let place = Place(number: number, ordinal: ordinal)
      var task = self[place].task
      task.leases = leases[leases(at: place)].map { lease in
        HeldLease(
          epoch: lease.epoch, worker: lease.holder.worker, workerName: name(of: lease.holder.worker),
          session: lease.holder.session, isAway: lease.isAway, isBackup: lease.isBackup, progress: lease.progress,
          grantedAt: lease.grantedAt, ran: now - lease.grantedAt)
      }
      for index in task.attempts.indices {
        task.attempts[index].workerName = name(of: task.attempts[index].worker)
        task.attempts[index].usage = self[place].usage(of: task.attempts[index].epoch)
      }
      task.compared = self[place].compared.map {
        ComparedResult(epoch: $0.epoch, account: $0.account, digest: $0.result.digest)
      }
      if let publisher = task.publisher { task.publisher?.workerName = name(of: publisher.worker) }
      task.publisher?.usage = self[place].usage(of: task.publishedEpoch)
      if !payloads { task.payload = [] }
      return task
    }
  }

  package func usage(of id: JobID) -> [WorkerUsage] {
    guard let number = numbers[id] else { return [] }
    let usages = jobs[number].tasks.flatMap(\.usages)
    return Dictionary(grouping: usages, by: \.worker).map { worker, usages in
      WorkerUsage(
        worker: worker, workerName: name(of: worker), attempts: Int64(usages.count),
        usage: usages.map(\.usage).reduce(AttemptUsage(), +))
    }.sorted { $0.worker < $1.worker }
  }

  package func counts(ofPool pool: String? = nil, now: Duration) -> StoreCounts {
    var counts = StoreCounts()
    for (number, record) in jobs.enumerated() where !record.isDeleted {
      if let pool, record.job.pool ?? "" != pool { continue }
      guard record.job.purpose == .render else {
        if record.job.state.hasEnded { continue }
        for task in record.tasks where task.task.state == .ready || task.task.state == .running {
          counts.inspections[task.task.state, default: 0] += 1
        }
        continue
      }
      counts.jobs[record.job.state, default: 0] += 1
      if record.job.state.hasEnded { continue }
      let waits = !isWanted(number, now: now)
      for task in record.tasks {
        let state = waits && task.task.state == .ready ? .waiting : task.task.state
        counts.tasks[.init(kind: task.task.kind, state: state), default: 0] += 1
      }
      if waits { continue }
      if record.isUnplanned { counts.unplanned += 1 }
      for task in record.tasks {
        guard let work = pacedWork(of: task.task, medianPace: record.medianPace) else { continue }
        counts.pacedTasks += 1
        counts.pacedWork += work
      }
      for entry in record.tasks {
        guard let lost = entry.lost, entry.task.state == .ready, entry.task.epoch == lost.epoch,
          entry.task.epoch > entry.task.retriedAt
        else { continue }
        counts.oldestLost = max(counts.oldestLost ?? .zero, now - lost.at)
      }
      if !record.ready.isEmpty { counts.oldestReady = max(counts.oldestReady ?? .zero, now - record.submitted) }
    }
    return counts
  }

  /// Nil if it is not known how long the task takes, or it need not be executed now.
  private func pacedWork(of task: RenderTask, medianPace: Double?) -> Double? {
    guard let medianPace, task.kind == .video, task.state == .ready || task.state == .running else { return nil }
    let place = task.state == .running ? place(of: task.id) : nil
    let progress = place.flatMap { leases[leases(at: $0)].map(\.progress).max() } ?? 0
    return policy.work(cost: task.cost, medianPace: medianPace, progress: progress, of: task.work)
  }
}
