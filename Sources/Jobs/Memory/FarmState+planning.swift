extension FarmState {
  package mutating func submit(_ new: NewJob, now: Duration) throws(JobStoreError) {
    try new.validate()
    guard numbers[new.id] == nil else { throw JobStoreError(.duplicateJob, "there is already a job \(new.id)") }
    let number = jobs.count
    let job = Job(
      id: new.id, name: new.name.withoutNul, priority: new.priority, state: .describing, request: new.request)
    jobs.append(JobRecord(job: job, submitted: now))
    numbers[new.id] = number
    active.insert(number, at: active.partitioningIndex { jobs[$0].job.priority < new.priority })
    for task in new.tasks { add(task, to: number) }
    news += 1
  }

  package func jobsToPlan() -> [JobID] {
    active.filter { jobs[$0].job.state == .describing && jobs[$0].unfinished == 0 }.sorted().map { jobs[$0].job.id }
  }

  package mutating func plan(
    _ id: JobID, build: String, tasks: [NewTask], now: Duration
  ) throws(JobStoreError) -> Bool {
    try tasks.validatePlan()
    let build = build.withoutNul
    guard let number = numbers[id], jobs[number].job.state == .describing,
      jobs[number].job.build == nil || jobs[number].job.build == build
    else { return false }
    guard jobs[number].unfinished == 0 else { throw JobStoreError.describing(id) }
    jobs[number].job.state = .rendering
    jobs[number].job.build = build
    for task in tasks { add(task, to: number) }
    news += 1
    settle(number, now: now)
    return true
  }

  /// What follows from the tasks that are done: the stitch is ready, or the job is done.
  mutating func settle(_ number: Int, now: Duration) {
    guard jobs[number].job.state == .rendering, let stitch = jobs[number].tasks.last?.task, stitch.kind == .stitch
    else { return }
    if stitch.state == .done {
      end(number, as: .done, at: now, output: stitch.result)
    } else if stitch.state == .waiting, jobs[number].unfinished == 0 {
      makeReady(Place(number: number, ordinal: Int(stitch.id.ordinal)))
    }
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
      task.progress = new.work
    }
    jobs[number].tasks.append(TaskRecord(task: task))
    guard new.kind != .stitch, new.cached == nil else { return }
    jobs[number].unfinished += 1
    jobs[number].tasks[ordinal].task.state = .ready
    jobs[number].insertReady(ordinal)
  }
}

extension JobStoreError {
  static func describing(_ job: JobID) -> JobStoreError {
    JobStoreError(.invalid, "job \(job) cannot be planned: not all of its describe tasks are done")
  }
}
