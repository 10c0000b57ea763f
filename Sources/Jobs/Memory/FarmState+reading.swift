extension FarmState {
  package func job(_ id: JobID, now: Duration) -> Job? {
    numbers[id].map { job(number: $0, now: now) }
  }

  package func jobs(limit: Int, now: Duration) -> [Job] {
    jobs.indices.suffix(max(limit, 0)).reversed().map { job(number: $0, now: now) }
  }

  package func tasks(of id: JobID, payloads: Bool) -> [RenderTask] {
    guard let number = numbers[id] else { return [] }
    return jobs[number].tasks.map { record in
      var task = record.task
      if !payloads { task.payload = [] }
      return task
    }
  }

  package mutating func note(_ worker: WorkerRecord, now: Duration) throws(JobStoreError) {
    try worker.validate()
    var record = worker
    record.name = worker.name.withoutNul
    record.build = worker.build.withoutNul
    record.coordinator = worker.coordinator.withoutNul
    let index = workers.partitioningIndex { $0.record.id >= worker.id }
    if index < workers.count, workers[index].record.id == worker.id {
      if now - workers[index].lastNoted > policy.lease { workers[index].firstNoted = now }
      workers[index].record = record
      workers[index].lastNoted = now
    } else {
      workers.insert(WorkerEntry(record: record, firstNoted: now, lastNoted: now), at: index)
    }
  }

  package func workers(now: Duration) -> [WorkerRecord] {
    let shown = workers.filter { now - $0.lastNoted <= policy.lease }.map { entry in
      var record = entry.record
      record.busy = Int32(leased.count { jobs[$0.number].tasks[$0.ordinal].seat(of: record.id) != nil })
      record.connected = now - entry.firstNoted
      return record
    }
    return shown.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
  }

  private func job(number: Int, now: Duration) -> Job {
    var job = jobs[number].job
    job.age = now - jobs[number].submitted
    job.elapsed = (jobs[number].ended ?? now) - jobs[number].submitted
    return job
  }
}
