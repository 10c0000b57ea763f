import Digest

// Jobs from their submission to their end. `JobStore` specifies each operation.

extension FarmState {
  package mutating func submit(_ new: NewJob, now: Duration) throws(JobStoreError) {
    try new.validate()
    guard numbers[new.id] == nil else { throw JobStoreError.duplicate(new.id) }
    let number = jobs.count
    let job = Job(
      id: new.id, name: new.name.withoutNul, purpose: new.purpose, priority: new.priority, state: .probing,
      request: new.request)
    jobs.append(JobRecord(job: job, submitted: now))
    numbers[new.id] = number
    active.insert(number, at: active.partitioningIndex { jobs[$0].job.priority < new.priority })
    for task in new.tasks { add(task, to: number) }
    changeCount += 1
  }

  package func jobsToPlan() -> [JobID] {
    active.sorted().map { jobs[$0] }.filter { record in
      record.job.purpose == .render && record.job.state == .probing && record.unfinished == 0
    }.map(\.job.id)
  }

  package func inspections(olderThan age: Duration, now: Duration) -> [JobID] {
    active.sorted().map { jobs[$0] }.filter { $0.job.purpose == .inspection && now - $0.submitted > age }.map(\.job.id)
  }

  package mutating func plan(
    _ id: JobID, build: String, tasks: [NewTask], now: Duration
  ) throws(JobStoreError) -> Bool {
    try tasks.validatePlan()
    let build = build.withoutNul
    guard let number = numbers[id], jobs[number].job.purpose == .render, jobs[number].job.state == .probing,
      jobs[number].job.build == nil || jobs[number].job.build == build
    else { return false }
    guard jobs[number].unfinished == 0 else { throw JobStoreError.probing(id) }
    jobs[number].job.state = .rendering
    jobs[number].job.build = build
    for task in tasks { add(task, to: number) }
    changeCount += 1
    advance(number, now: now)
    return true
  }

  /// Makes a job's stitch task ready, or the job done, if all that this needs is done.
  mutating func advance(_ number: Int, now: Duration) {
    guard jobs[number].job.state == .rendering, let stitch = jobs[number].tasks.last?.task, stitch.kind == .stitch
    else { return }
    if stitch.state == .done {
      end(number, as: .done, output: stitch.result, now: now)
    } else if stitch.state == .waiting, jobs[number].unfinished == 0 {
      makeReady(Place(number: number, ordinal: Int(stitch.id.ordinal)))
    }
  }

  package mutating func fail(_ job: JobID, failure: JobFailure, now: Duration) throws(JobStoreError) -> Bool {
    try failure.validate()
    guard let number = numbers[job], !jobs[number].job.state.hasEnded else { return false }
    var failure = failure
    failure.message = failure.message.withoutNul
    end(number, as: .failed, failure: failure, now: now)
    return true
  }

  package mutating func cancel(_ job: JobID, now: Duration) -> JobState? {
    guard let number = numbers[job] else { return nil }
    if !jobs[number].job.state.hasEnded { end(number, as: .cancelled, now: now) }
    return jobs[number].job.state
  }

  /// Ends a job: removes its leases, and turns its ready and running tasks to `waiting`, for ever.
  mutating func end(
    _ number: Int, as state: JobState, output: Content? = nil, failure: JobFailure? = nil, now: Duration
  ) {
    jobs[number].job.state = state
    jobs[number].job.output = output
    jobs[number].job.failure = failure
    jobs[number].ended = now
    jobs[number].ready = []
    active.removeAll { $0 == number }
    leases.removeAll { $0.place.number == number }
    for ordinal in jobs[number].tasks.indices {
      switch jobs[number].tasks[ordinal].task.state {
      case .waiting, .done, .failed: break
      case .running, .ready: jobs[number].tasks[ordinal].task.state = .waiting
      }
    }
    changeCount += 1
  }

  package func job(_ id: JobID, now: Duration) -> Job? {
    numbers[id].map { job(number: $0, now: now) }
  }

  package func jobs(_ purpose: JobPurpose, limit: Int, now: Duration) -> [Job] {
    jobs.indices.reversed().filter { jobs[$0].job.purpose == purpose }.prefix(max(limit, 0))
      .map { job(number: $0, now: now) }
  }

  package func tasks(of id: JobID, payloads: Bool) -> [RenderTask] {
    guard let number = numbers[id] else { return [] }
    return jobs[number].tasks.indices.map { ordinal in
      let place = Place(number: number, ordinal: ordinal)
      var task = self[place].task
      task.leases = leases[leases(at: place)].map { lease in
        HeldLease(
          epoch: lease.epoch, worker: lease.worker, session: lease.session, isBackup: lease.isBackup,
          progress: lease.progress)
      }
      if !payloads { task.payload = [] }
      return task
    }
  }

  private func job(number: Int, now: Duration) -> Job {
    var job = jobs[number].job
    job.age = now - jobs[number].submitted
    job.elapsed = (jobs[number].ended ?? now) - jobs[number].submitted
    return job
  }

  private mutating func add(_ new: NewTask, to number: Int) {
    let ordinal = jobs[number].tasks.count
    var task = RenderTask(
      id: TaskID(job: jobs[number].job.id, ordinal: Int32(ordinal)), kind: new.kind, state: .waiting,
      payload: new.payload, inputs: new.inputs, fingerprint: new.fingerprint, cost: new.cost, work: new.work)
    if let cached = new.cached {
      task.state = .done
      task.result = cached
      task.isCached = true
    }
    jobs[number].tasks.append(TaskRecord(task: task))
    guard new.kind != .stitch, new.cached == nil else { return }
    jobs[number].unfinished += 1
    jobs[number].tasks[ordinal].task.state = .ready
    jobs[number].insertReady(ordinal)
  }
}

extension JobStoreError {
  static func duplicate(_ job: JobID) -> JobStoreError {
    JobStoreError(.duplicateJob, "there is already a job \(job)")
  }

  static func probing(_ job: JobID) -> JobStoreError {
    JobStoreError(.invalid, "job \(job) cannot be planned: not all of its probe tasks are done")
  }
}
