import CompositionModel
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import FoundationEssentials
import Jobs
import RenderTasks
import Runtime
import SystemSupport

/// Reads the statuses of jobs. The reason why a job failed is made once and kept, because it takes the job's tasks and
/// its document to name the media in it.
actor StatusReader {
  /// Of so many jobs what was found is kept.
  private static let mostKept = 256
  /// How long a list of workers is used again, so that many looks at once make one list.
  private static let freshness = Duration.milliseconds(500)

  private let store: any JobStore
  private let notes: ResultNotes
  private let traces: JobTraces
  private let now: @Sendable () -> Duration
  private let disk: @Sendable () async -> String?
  private let forecasts: Forecasts
  private var failures: [JobID: (failure: JobFailure, report: FailureReport)] = [:]
  /// The damage that the film of the job that was asked for last shows.
  private var damage: (job: JobID, film: SHA256Digest, list: [DamageReport])?
  /// The warnings of the job that was asked for last, and where they are in its film.
  private var warnings: (job: JobID, list: [Problem], film: FilmReport?)?
  /// The outputs of the job that was asked for last, and whether it was planned then. The list is nil if it has one
  /// output.
  private var outputs: (job: JobID, isPlanned: Bool, list: [OutputReport]?)?
  /// What attempts took by job, with the job's end and when that was found.
  private var usages: [JobID: (usage: JobUsage?, endedAt: Duration?, at: Duration)] = [:]
  /// The names of the author's own compositors by job.
  private var compositors: [JobID: [String]] = [:]
  private var workers: (list: [WorkerRecord], at: Duration)?
  private var owners: (list: [Owner], at: Duration)?
  private var pools: (list: [Pool], at: Duration)?

  /// - Parameters:
  ///   - now: Time since any fixed moment.
  ///   - disk: What `DiskSpace.notice` says.
  init(
    store: any JobStore, notes: ResultNotes, traces: JobTraces, forecasts: Forecasts,
    now: @escaping @Sendable () -> Duration, disk: @escaping @Sendable () async -> String?
  ) {
    self.store = store
    self.notes = notes
    self.traces = traces
    self.forecasts = forecasts
    self.now = now
    self.disk = disk
  }

  /// The status of one job without its tasks; nil if there is no such job.
  func status(of id: JobID) async throws(JobStoreError) -> JobStatus? {
    guard let summary = try await store.summary(of: id) else { return nil }
    var status = JobStatus(
      summary, failure: try await failure(of: summary.job), wait: try await wait(of: summary))
    status.secondsLeft = try await forecasts.secondsLeft(of: summary.job)
    status.damage = try await damage(of: summary.job)
    let (warnings, film) = try await warnings(of: summary.job)
    status.setWarnings(warnings)
    (status.film, status.smart) = (film, film?.smart)
    status.film?.smart = nil
    status.outputs = try await outputs(of: summary.job)
    status.trace = await traces.trace(of: id)?.traceID
    status.usage = try await usage(of: summary.job)
    return status
  }

  /// The outputs of a document that has several; nil if it has one. Before the job is planned, or without the note of
  /// its plan, only their files are known.
  private func outputs(of job: Job) async throws(JobStoreError) -> [OutputReport]? {
    let isPlanned = job.build != nil
    if let known = outputs, known.job == job.id, known.isPlanned == isPlanned { return known.list }
    guard let request = try await store.job(job.id)?.request else { return nil }
    let list: [OutputReport]?
    do {
      list = try await BlockingWork.run { [notes] in
        guard let files = try? JobRequest(encoded: request).outputs else { return nil }
        return (isPlanned ? notes.outputs(of: request) : nil) ?? files.map { OutputReport(file: $0) }
      }
    } catch {
      // The reader's task is cancelled: nobody waits for the status.
      return nil
    }
    outputs = (job.id, isPlanned, list)
    return list
  }

  /// What the attempts at the job's tasks took. It is found again after a while, and once more when the job has ended.
  private func usage(of job: Job) async throws(JobStoreError) -> JobUsage? {
    if let known = usages[job.id], known.endedAt == job.endedAt,
      job.endedAt != nil || now() - known.at < Self.freshness
    {
      return known.usage
    }
    let usage = JobUsage(try await store.usage(of: job.id).map { JobUsage.Worker($0) })
    if usages.count >= Self.mostKept { usages = [:] }
    usages[job.id] = (usage, job.endedAt, now())
    return usage
  }

  /// What is most likely not meant in the job's document, and where that is in its film.
  private func warnings(of job: Job) async throws(JobStoreError) -> (list: [Problem], film: FilmReport?) {
    guard job.build != nil else { return ([], nil) }
    if let known = warnings, known.job == job.id { return (known.list, known.film) }
    guard let request = try await store.job(job.id)?.request else { return ([], nil) }
    let found: (list: [Problem], film: FilmReport?)
    do {
      found = try await BlockingWork.run { [notes] in (notes.warnings(of: request), notes.film(of: request)) }
    } catch {
      // The reader's task is cancelled: nobody waits for the status.
      return ([], nil)
    }
    // One that is measured is planned again, and may have others then.
    if job.state != .measuring { warnings = (job.id, found.list, found.film) }
    return found
  }

  /// The damaged media that the job's film shows.
  private func damage(of job: Job) async throws(JobStoreError) -> [DamageReport] {
    guard let film = job.output else { return [] }
    if let known = damage, known.job == job.id, known.film == film.digest { return known.list }
    let found: ShownDamage?
    do {
      found = try await BlockingWork.run { [notes] in notes.damage(of: film.digest) }
    } catch {
      // The reader's task is cancelled: nobody waits for the status.
      return []
    }
    var list: [DamageReport] = []
    if let found {
      let request = try await store.job(job.id).flatMap { try? JobRequest(encoded: $0.request) }
      list = DamageReport.list(found, request)
    }
    damage = (job.id, film.digest, list)
    return list
  }

  /// The statuses of jobs, newest first. Of a job that failed they have the message that the store has.
  /// - Parameters:
  ///   - after: Only jobs that were submitted before this one. Nil: from the newest on.
  ///   - filter: Which of them.
  func statuses(
    limit: Int, after: JobID? = nil, filter: JobFilter = JobFilter()
  ) async throws(JobStoreError) -> [JobStatus] {
    var statuses: [JobStatus] = []
    for summary in try await store.summaries(.render, limit: limit, after: after, filter: filter) {
      let known = failures[summary.job.id].flatMap { $0.failure == summary.job.failure ? $0.report : nil }
      var status = JobStatus(summary, failure: known, wait: try await wait(of: summary))
      status.secondsLeft = try await forecasts.secondsLeft(of: summary.job)
      statuses.append(status)
    }
    return statuses
  }

  /// A job's tasks.
  func tasks(of id: JobID) async throws(JobStoreError) -> [TaskStatus] {
    try await store.tasks(of: id, payloads: false).map { TaskStatus($0) }
  }

  private func wait(of summary: JobSummary) async throws(JobStoreError) -> JobWait? {
    if summary.job.state.hasEnded { return nil }
    return JobWait.of(
      summary, workers: try await connectedWorkers(), disk: await disk(),
      compositors: try await compositors(of: summary), pools: try await pools(),
      mostRunning: try await quota(of: summary))
  }

  /// How many tasks of a job's owner may run, if so many run. Nil: another one may.
  private func quota(of summary: JobSummary) async throws(JobStoreError) -> Int64? {
    if summary.running > 0 { return nil }
    if owners.map({ now() - $0.at >= Self.freshness }) ?? true { owners = (try await store.owners(), now()) }
    guard let owner = owners?.list.first(where: { $0.owner == summary.job.owner ?? "" }), let most = owner.mostRunning,
      owner.running >= most
    else { return nil }
    return most
  }

  /// Those for which a job that is probed may wait.
  private func compositors(of summary: JobSummary) async throws(JobStoreError) -> [String] {
    let job = summary.job.id
    guard summary.job.state == .probing, summary.probes.done == summary.probes.total else { return [] }
    if let known = compositors[job] { return known }
    // What cannot be read is found when the job is planned.
    let names = try await store.job(job).flatMap { try? JobRequest(encoded: $0.request) }?.compositors ?? []
    if compositors.count >= Self.mostKept { compositors = [:] }
    compositors[job] = names
    return names
  }

  /// Those that have working hours.
  private func pools() async throws(JobStoreError) -> [Pool] {
    if let pools, now() - pools.at < Self.freshness { return pools.list }
    let list = try await store.pools()
    pools = (list, now())
    return list
  }

  private func connectedWorkers() async throws(JobStoreError) -> [WorkerRecord] {
    if let workers, now() - workers.at < Self.freshness { return workers.list }
    let list = try await store.workers()
    workers = (list, now())
    return list
  }

  private func failure(of job: Job) async throws(JobStoreError) -> FailureReport? {
    guard job.state == .failed, let failure = job.failure else { return nil }
    if let known = failures[job.id], known.failure == failure { return known.report }
    // Without the request, which only another version can have written, digests stand for the names of media.
    let request = try await store.job(job.id).flatMap { try? JobRequest(encoded: $0.request) }
    let tasks = failure.reason == .task ? try await store.tasks(of: job.id, payloads: false) : []
    guard let report = FailureReport(job, tasks, request) else { return nil }
    if failures.count >= Self.mostKept { failures = [:] }
    failures[job.id] = (failure, report)
    return report
  }
}
