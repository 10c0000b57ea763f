import CompositionModel
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import Jobs
import Logging
import Runtime
import Segmenter

/// Plans the jobs whose assets are probed, and once more those whose segments had to be measured. Every coordinator may
/// plan every job: the store accepts the first plan.
struct Planner: Sendable {
  let store: any JobStore
  let content: ContentLocator
  let results: ResultCache
  let standings: WorkerStandings
  let notes: ResultNotes
  let facts: TaskFacts
  let inputs: DamagedInputs
  /// See `CoordinatorConfiguration.waitsForCompositors`.
  let waitsForCompositors: Bool
  /// See `CoordinatorConfiguration.segments`.
  let segments: Set<Int>?
  let attempts: PlanningAttempts
  let traces: JobTraces
  let events: FarmEvents
  let logger: Logger

  /// What comes next for a job.
  private enum Step {
    /// The task that tries its compositors, before it can be planned.
    case trial(NewTask)
    case plan(PlannedJob)
  }

  /// Plans a job, unless no worker is connected whose build it could be bound to.
  ///
  /// - Parameter isAlone: Whether no other job is planned until this returns.
  /// - Returns: Whether the job must be planned alone, and was not.
  func plan(_ id: JobID, isAlone: Bool) async throws(JobStoreError) -> Bool {
    guard let job = try await store.job(id), job.state.precedesPlan else { return false }
    // What cannot be read is reported when the job is planned.
    let decoded = Result { try JobRequest(encoded: job.request) }
    let request = try? decoded.get()
    traces.keep(request?.traceparent.flatMap { TraceContext($0) }, of: id)
    // A job that is measured is bound already.
    var build = job.build
    var lacking: [Problem] = []
    if build == nil {
      let builds = try await ConnectedBuilds(store, pool: job.pool)
      build = builds.best(with: request?.compositors ?? [])
      if build == nil, !waitsForCompositors, let request {
        // The other problems are found with any build.
        build = builds.best(with: [])
        lacking = builds.problems(of: request)
      }
    }
    guard let build else { return false }
    switch try await attempts.run(
      id, isAlone: isAlone,
      { () async throws(JobStoreError) in
        try await plan(id, job, decoded, build: build, lacking: lacking)
      })
    {
    case .begun, .underWay, .notPlannable: return false
    case .mustBeAlone: return true
    case .failed:
      try await fail(id, "the coordinator ended more than once while it planned it; its log may have the reason")
      return false
    }
  }

  /// - Parameter lacking: The problems with the compositors of a document that no worker's build has.
  private func plan(
    _ id: JobID, _ job: Job, _ decoded: Result<JobRequest, any Error>, build: String, lacking: [Problem]
  ) async throws(JobStoreError) {
    let tasks = try await store.tasks(of: id, payloads: false)
    try await standings.refresh()
    // On one machine no worker will come that gives a task more memory.
    let limits = waitsForCompositors ? nil : try await ConnectedBuilds(store, pool: job.pool)
    let step: Step
    let started = ContinuousClock.now
    do {
      step = try await BlockingWork.run(.planning) { [self, lacking] in
        try next(job, try decoded.get(), tasks, build: build, limits: limits, isPlannable: lacking.isEmpty)
      }
    } catch let error as DocumentError {
      try await fail(id, JobFailure(problems: lacking + error.problems))
      return
    } catch let error as PlanError {
      try await fail(id, JobFailure(problems: [error.problem]))
      return
    } catch {
      try await goOn(id, tasks, after: error)
      return
    }
    guard lacking.isEmpty else {
      try await fail(id, JobFailure(problems: lacking))
      return
    }
    switch step {
    case .trial(let trial): try await begin(trial, of: job, tasks, build: build)
    case .plan(let planned): try await begin(planned, of: job, tasks, build: build, since: started)
    }
  }

  /// Finds out what comes next for a job whose tasks so far are done. Blocks.
  /// - Parameters:
  ///   - limits: The connected workers, if no other will come.
  ///   - isPlannable: Whether the build has the document's compositors.
  private func next(
    _ job: Job, _ request: JobRequest, _ tasks: [RenderTask], build: String, limits: ConnectedBuilds?,
    isPlannable: Bool
  ) throws -> Step {
    let descriptions = try ProbeTasks.read(tasks, request, store: content.store)
    let fonts = try FontTasks.read(tasks, request, store: content.store)
    let measured = Measurements.results(tasks)
    let trial = try Trial(
      of: request, descriptions: descriptions, isPlannable: isPlannable, build: build, measured: measured,
      isMeasured: job.state == .measuring, results: results, store: content.store)
    if let task = trial.task {
      try requireStore()
      return .trial(task)
    }
    var planned = try trial.adding {
      try PlannedJob(
        request, descriptions: descriptions, fonts: fonts, build: build, segments: segments,
        motion: { try MotionTasks.read($0, store: content.store) },
        measurement: { try Measurements.read($0, store: content.store) },
        result: { measured[$0].map { KnownResult($0) } ?? results.result(of: $0) })
    }
    if let problem = limits?.problem(of: planned.tasks, build: build) { throw DocumentError(problems: [problem]) }
    dropUnknownFilms(&planned)
    try requireStrictness(planned, request)
    try notes.record(planned.warnings, of: job.request)
    if let outputs = planned.outputs { try notes.record(outputs, of: job.request) }
    if let film = planned.film { try notes.record(film, of: job.request) }
    try requireStore()
    return .plan(planned)
  }

  /// What a store that is away seemed not to have may be there.
  private func requireStore() throws(ContentStoreError) {
    if let absence = content.store.absence { throw ContentStoreError(.away, absence) }
  }

  /// A film of which it is not known what damage it shows is stitched again: its pieces have all that they show.
  private func dropUnknownFilms(_ planned: inout PlannedJob) {
    for (index, task) in planned.tasks.enumerated() where task.kind == .stitch {
      if let film = task.cached, notes.damage(of: film.digest) == nil { planned.tasks[index].cached = nil }
    }
  }

  /// Throws what a job does not accept that others do.
  private func requireStrictness(_ planned: PlannedJob, _ request: JobRequest) throws {
    if request.options.strict, !planned.warnings.isEmpty { throw DocumentError(problems: planned.warnings) }
    if request.options.strictMedia {
      let (damage, isWhole) = notes.damage(ofCached: planned.tasks)
      let problems = request.problems(with: damage, isWhole: isWhole)
      guard problems.isEmpty else { throw DocumentError(problems: problems) }
    }
  }

  /// Has the compositors of a job tried.
  private func begin(
    _ trial: NewTask, of job: Job, _ tasks: [RenderTask], build: String
  ) async throws(JobStoreError) {
    // One that was lost is made again.
    if job.state == .measuring {
      _ = try await store.replan(job.id, reason: "the result of the trial of its compositors is lost")
    } else if try await store.measure(job.id, build: build, tasks: [trial]) {
      await keepFacts(of: job.id, tasks, [trial])
    }
  }

  /// Has a job rendered, or measured first.
  private func begin(
    _ planned: PlannedJob, of job: Job, _ tasks: [RenderTask], build: String, since started: ContinuousClock.Instant
  ) async throws(JobStoreError) {
    do throws(JobStoreError) {
      if planned.isMeasuring, job.state == .measuring {
        try await measureAgain(planned, job.id, tasks)
        return
      }
      guard
        try await planned.isMeasuring
          ? store.measure(job.id, build: build, tasks: planned.tasks)
          : store.plan(job.id, build: build, tasks: planned.tasks)
      else { return }
    } catch  where error.code == .invalid {
      try await fail(job.id, "\(error)")
      return
    }
    await keepFacts(of: job.id, tasks, planned.tasks)
    events.emit(
      .jobPlanned(
        job: job.id.description, name: job.name, tasks: planned.tasks.count,
        cached: planned.tasks.count { $0.cached != nil }, frames: planned.plan.frameCount,
        seconds: (ContinuousClock.now - started).roundedSeconds, isMeasuring: planned.isMeasuring))
  }

  /// A job that was measured has not been measured as its plan needs.
  private func measureAgain(
    _ planned: PlannedJob, _ id: JobID, _ tasks: [RenderTask]
  ) async throws(JobStoreError) {
    let measured = Measurements.results(tasks)
    let lost = planned.tasks.filter { $0.cached == nil && measured[$0.fingerprint] != nil }
    if lost.isEmpty {
      // What was measured is not what has to be measured: it was the trial of the compositors, or another version of
      // the coordinator planned it.
      _ = try await store.replan(id, reason: "what was measured is not what has to be measured")
    } else {
      try await inputs.makeAgain(id, results: lost.map(\.label))
    }
  }

  private func keepFacts(of id: JobID, _ tasks: [RenderTask], _ new: [NewTask]) async {
    let kept =
      tasks.map {
        TaskFacts.Fact($0.kind, label: $0.label, fingerprint: $0.fingerprint, duration: $0.duration, cost: $0.cost)
      }
      + new.map {
        TaskFacts.Fact($0.kind, label: $0.label, fingerprint: $0.fingerprint, duration: $0.duration, cost: $0.cost)
      }
    await facts.keep(kept, of: id)
  }

  /// What is needed for the plan could not be read. Results of probe tasks that are damaged or lost are made again.
  private func goOn(_ id: JobID, _ tasks: [RenderTask], after error: any Error) async throws(JobStoreError) {
    do {
      if try await LostProbes(store: store, content: content.store, logger: logger).makeAgain(id, tasks) { return }
      throw error
    } catch let error as JobStoreError {
      throw error
    } catch let error as ContentStoreError where error.code == .away {
      // The service has logged it, and the job is planned when the store is back.
    } catch let error as ContentStoreError where error.code != .missing {
      // The disk may answer again, and the job is planned then.
      logger.error("job not planned yet", metadata: ["job": "\(id)", "error": "\(error)"])
    } catch {
      try await fail(id, "\(error)")
    }
  }

  private func fail(_ id: JobID, _ reason: String) async throws(JobStoreError) {
    try await fail(id, JobFailure(reason: .farm, message: "the job cannot be planned: \(reason)"))
  }

  private func fail(_ id: JobID, _ failure: JobFailure) async throws(JobStoreError) {
    // The service reports how the job has ended.
    _ = try await store.fail(id, failure: failure)
  }
}

/// What is known of the compositors of a request.
private struct Trial {
  /// The task that has to try them first. Nil: what it finds is known, or there is nothing to try.
  var task: NewTask?
  private var problems: [Problem] = []

  /// - Parameters:
  ///   - isPlannable: Whether the build has the compositors.
  ///   - measured: The results of the job's measure tasks.
  ///   - isMeasured: Whether the job has measure tasks, which are done.
  init(
    of request: JobRequest, descriptions: [AssetID: AssetDescription], isPlannable: Bool, build: String,
    measured: [SHA256Digest: Content], isMeasured: Bool, results: ResultCache, store: ContentStore
  ) throws {
    guard isPlannable,
      let trial = try CompositorTasks.make(.measure, request, descriptions: descriptions, build: build)
    else { return }
    let own = measured[trial.fingerprint]
    if let result = own ?? results.result(of: trial.fingerprint)?.content,
      let found = try CompositorTasks.problems(result, request, store: store)
    {
      problems = found
    } else if !isMeasured || own != nil {
      task = trial
    }
    // Else the segments were measured since, and the cache does not have the result any more.
  }

  /// A plan, or all problems of the document together.
  func adding(_ plan: () throws -> PlannedJob) throws -> PlannedJob {
    let planned: PlannedJob
    do {
      planned = try plan()
    } catch let error as DocumentError {
      throw DocumentError(problems: problems + error.problems)
    } catch let error as PlanError {
      if problems.isEmpty { throw error }
      throw DocumentError(problems: problems)
    }
    guard problems.isEmpty else { throw DocumentError(problems: problems) }
    return planned
  }
}
