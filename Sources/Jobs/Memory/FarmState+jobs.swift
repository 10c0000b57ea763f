package import Digest
package import FarmModel

// Jobs from their submission to their end. `JobStore` specifies each operation.

extension FarmState {
  package mutating func submit(_ new: NewJob, now: Duration) throws(JobStoreError) -> JobID {
    try new.validate()
    if let submission = new.submission, let id = submissions[submission] { return id }
    guard numbers[new.id] == nil else { throw JobStoreError.duplicate(new.id) }
    if new.purpose == .render { try requireRoom(for: new.owner) }
    let number = jobs.count
    var job = Job(
      id: new.id, name: new.name.withoutNul, owner: new.owner, purpose: new.purpose, priority: new.priority,
      state: .probing, request: new.request)
    (job.pool, job.isPaused, job.after) = (new.pool, new.isPaused, new.after)
    jobs.append(JobRecord(job: job, submission: new.submission, submitted: now))
    jobs[number].heldUntil = new.hold.map { now + $0 }
    numbers[new.id] = number
    if let submission = new.submission { submissions[submission] = new.id }
    activate(number)
    for task in new.tasks { add(task, to: number) }
    changeCount += 1
    record(.jobSubmitted, ofJob: number, now: now)
    return new.id
  }

  mutating func activate(_ number: Int) {
    let priority = jobs[number].job.priority
    let place = active.partitioningIndex { other in
      let otherPriority = jobs[other].job.priority
      return otherPriority == priority ? other > number : otherPriority < priority
    }
    active.insert(number, at: place)
  }

  package func jobsToPlan(now: Duration) -> [JobID] {
    active.sorted().filter { jobs[$0].isUnplanned && mayGoOn($0, now: now) }.map { jobs[$0].job.id }
  }

  package func inspections(olderThan age: Duration, now: Duration) -> [JobID] {
    active.sorted().map { jobs[$0] }.filter { $0.job.purpose == .inspection && now - $0.submitted > age }.map(\.job.id)
  }

  package mutating func measure(
    _ id: JobID, build: String, tasks: [NewTask], now: Duration
  ) throws(JobStoreError) -> Bool {
    try tasks.validateMeasures()
    guard let number = numbers[id], jobs[number].job.purpose == .render, jobs[number].job.state == .probing
    else { return false }
    guard jobs[number].counts.isFinished else { throw JobStoreError.unfinished(id) }
    jobs[number].job.state = .measuring
    jobs[number].planning = nil
    jobs[number].job.build = build.withoutNul
    for task in tasks { add(task, to: number) }
    changeCount += 1
    record(.jobPlanned, ofJob: number, now: now)
    return true
  }

  package mutating func plan(
    _ id: JobID, build: String, tasks: [NewTask], now: Duration
  ) throws(JobStoreError) -> Bool {
    try tasks.validatePlan()
    let build = build.withoutNul
    guard let number = numbers[id], jobs[number].job.purpose == .render else { return false }
    let job = jobs[number].job
    guard job.state == .probing || job.state == .measuring && job.build == build else { return false }
    guard jobs[number].counts.isFinished else { throw JobStoreError.unfinished(id) }
    jobs[number].job.state = .rendering
    jobs[number].planning = nil
    jobs[number].job.build = build
    for task in tasks { add(task, to: number) }
    changeCount += 1
    record(.jobPlanned, ofJob: number, now: now)
    advance(number, now: now)
    return true
  }

  package mutating func replan(_ id: JobID, reason: String, now: Duration) -> Bool {
    guard let number = numbers[id], jobs[number].job.state.isBound else { return false }
    unplan(number)
    changeCount += 1
    record(.jobReplanned, ofJob: number, message: reason.withoutNul, now: now)
    return true
  }

  package mutating func reprobe(_ id: JobID, tasks: [Int32]) -> Int {
    guard let number = numbers[id], jobs[number].job.state == .probing else { return 0 }
    var count = 0
    for ordinal in jobs[number].tasks.indices where tasks.contains(Int32(ordinal)) {
      let place = Place(number: number, ordinal: ordinal)
      guard self[place].task.state == .done else { continue }
      self[place].task.result = nil
      self[place].task.maker = nil
      self[place].task.isCached = false
      self[place].task.publishedEpoch = nil
      self[place].task.publisher = nil
      jobs[number].counts.probes.done -= 1
      makeReady(place)
      count += 1
    }
    return count
  }

  package mutating func retry(_ id: JobID, now: Duration) throws(JobStoreError) -> JobState? {
    guard let number = numbers[id] else { return nil }
    let job = jobs[number].job
    guard job.purpose == .render, job.mayBeRetried else { return job.state }
    try requireRoom(for: job.owner)
    jobs[number].job.failure = nil
    jobs[number].job.output = nil
    jobs[number].job.doubt = nil
    jobs[number].isFetched = false
    jobs[number].ended = nil
    unplan(number)
    activate(number)
    for ordinal in jobs[number].tasks.indices {
      jobs[number].tasks[ordinal].task.retriedAt = jobs[number].tasks[ordinal].task.epoch
      jobs[number].tasks[ordinal].notBefore = nil
      jobs[number].tasks[ordinal].task.isIsolated = false
      guard jobs[number].tasks[ordinal].task.state != .done else { continue }
      jobs[number].tasks[ordinal].task.state = .ready
      jobs[number].insertReady(ordinal)
    }
    changeCount += 1
    record(.jobRetried, ofJob: number, now: now)
    release(number, now: now)
    return .probing
  }

  /// Turns a job to `probing`, with its probe tasks alone.
  private mutating func unplan(_ number: Int) {
    jobs[number].job.state = .probing
    jobs[number].planning = nil
    jobs[number].renderingSince = nil
    jobs[number].job.build = nil
    jobs[number].medianPace = nil
    jobs[number].tasks.removeAll { $0.task.kind != .probe }
    var counts = TaskCounts()
    counts.probes = jobs[number].counts.probes
    jobs[number].counts = counts
    let probes = jobs[number].tasks.count
    jobs[number].ready.removeAll { $0 >= probes }
    leases.removeAll { $0.place.number == number && $0.place.ordinal >= probes }
  }

  /// Makes a job's stitch task ready, or the job done, if all that this needs is done.
  mutating func advance(_ number: Int, now: Duration) {
    guard jobs[number].job.state == .rendering, let stitch = jobs[number].tasks.last?.task, stitch.kind == .stitch
    else { return }
    if stitch.state == .done || stitch.state == .waiting && jobs[number].counts.isFinished {
      suspectMakers(ofJob: number)
    }
    if stitch.state == .done {
      end(number, as: .done, output: stitch.result, now: now)
    } else if stitch.state == .waiting, jobs[number].counts.isFinished {
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

  /// Ends a job: removes its leases, and turns its ready and running tasks to `waiting`.
  mutating func end(
    _ number: Int, as state: JobState, output: Content? = nil, failure: JobFailure? = nil, now: Duration
  ) {
    jobs[number].job.state = state
    jobs[number].job.output = output
    jobs[number].job.failure = failure
    jobs[number].ended = now
    jobs[number].ready = []
    active.removeAll { $0 == number }
    leases.removeSubrange(leases(ofJob: number))
    for ordinal in jobs[number].tasks.indices {
      jobs[number].tasks[ordinal].compared = []
      switch jobs[number].tasks[ordinal].task.state {
      case .waiting, .done, .failed: break
      case .running, .ready: jobs[number].tasks[ordinal].task.state = .waiting
      }
    }
    changeCount += 1
    record(.jobEnded, ofJob: number, message: failure?.message, now: now)
  }

  private mutating func add(_ new: NewTask, to number: Int) {
    let ordinal = jobs[number].tasks.count
    var task = RenderTask(
      id: TaskID(job: jobs[number].job.id, ordinal: Int32(ordinal)), kind: new.kind, label: new.label.withoutNul,
      boundary: new.boundary.withoutNul, state: .waiting, payload: new.payload, inputs: new.inputs,
      fingerprint: new.fingerprint, cost: new.cost,
      work: new.work, duration: new.duration, memory: new.memory)
    if let cached = new.cached {
      task.state = .done
      task.result = cached
      task.maker = new.maker?.withoutNul
      task.isCached = true
    }
    jobs[number].tasks.append(TaskRecord(task: task))
    jobs[number].counts.add(new)
    guard new.kind != .stitch, new.cached == nil else { return }
    jobs[number].tasks[ordinal].task.state = .ready
    jobs[number].insertReady(ordinal)
  }
}

extension JobStoreError {
  package static func duplicate(_ job: JobID) -> JobStoreError {
    JobStoreError(.duplicateJob, "there is already a job \(job)")
  }

  package static func unfinished(_ job: JobID) -> JobStoreError {
    JobStoreError(.invalid, "job \(job) cannot be planned: not all of its tasks are done")
  }
}

// MARK: - Deleting

extension FarmState {
  package mutating func delete(_ id: JobID, now: Duration) -> Bool {
    guard let number = numbers[id], jobs[number].job.state.hasEnded else { return false }
    delete(number, now: now)
    return true
  }

  package mutating func deleteJobs(endedBefore age: Duration, limit: Int, now: Duration) -> Int {
    let old = jobs.indices.filter { number in
      guard !jobs[number].isDeleted, let ended = jobs[number].ended else { return false }
      return now - ended > age
    }
    let oldest = old.sorted { (jobs[$0].ended ?? now, $0) < (jobs[$1].ended ?? now, $1) }.prefix(max(limit, 0))
    for number in oldest { delete(number, now: now) }
    return oldest.count
  }

  private mutating func delete(_ number: Int, now: Duration) {
    record(.jobDeleted, ofJob: number, now: now)
    numbers[jobs[number].job.id] = nil
    if let submission = jobs[number].submission { submissions[submission] = nil }
    jobs[number].isDeleted = true
    jobs[number].submission = nil
    jobs[number].job.request = []
    jobs[number].tasks = []
  }

  package mutating func markFetched(_ id: JobID) {
    guard let number = numbers[id], jobs[number].job.state == .done else { return }
    jobs[number].isFetched = true
  }

  package func contentsInUse(keepingResults: Duration, now: Duration) -> [SHA256Digest] {
    var contents: [Content] = []
    for record in jobs where !record.isDeleted {
      if let ended = record.ended {
        guard record.job.state == .done, !record.isFetched, now - ended < keepingResults else { continue }
        contents += [record.job.output].compactMap(\.self)
      } else {
        for record in record.tasks {
          contents += record.task.inputs + [record.task.result].compactMap(\.self) + record.compared.map(\.result)
        }
      }
    }
    var seen: Set<SHA256Digest> = []
    return contents.map(\.digest).filter { seen.insert($0).inserted }
  }
}
