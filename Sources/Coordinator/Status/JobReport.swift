import CompositionModel
import Digest
import EditDocument
import FarmAPI
import FarmModel
import FoundationEssentials
import Jobs
import SystemSupport

extension JobStatus {
  /// - Parameters:
  ///   - failure: Why a failed job failed. Nil: only what the summary has is reported.
  ///   - wait: As `JobWait.of` says.
  init(_ summary: JobSummary, failure: FailureReport?, wait: JobWait?) {
    let job = summary.job
    self.init(job: job.id.description, name: job.name, state: job.state)
    (owner, priority, pool) = (job.owner, job.priority, job.pool)
    isPaused = job.isPaused
    doubt = job.doubt
    holdUntil = job.heldUntil.map { Timestamp(since1970: $0) }
    after = job.after.isEmpty ? nil : job.after.map(\.description)
    build = job.build
    shortBuild = build.map(ShortBuild.of)
    self.wait = wait
    submittedAt = Timestamp(since1970: job.submittedAt)
    endedAt = job.endedAt.map { Timestamp(since1970: $0) }
    renderingSince = job.renderingSince.map { Timestamp(since1970: $0) }
    submittedSecondsAgo = job.age.exactSeconds
    elapsedSeconds = job.elapsed.exactSeconds
    renderingSeconds = job.rendering?.exactSeconds
    filesDone = Int(summary.probes.done)
    filesTotal = Int(summary.probes.total)
    measuredDone = Int(summary.measures.done)
    measuredTotal = Int(summary.measures.total)
    segmentsDone = Int(summary.videos.done)
    segmentsTotal = Int(summary.videos.total)
    segmentsCached = Int(summary.cachedVideos)
    framesDone = Int(summary.work.done)
    framesTotal = Int(summary.work.total)
    hasAudio = summary.audios.total > 0
    audioDone = summary.audios.total > 0 && summary.audios.done == summary.audios.total
    running = Int(summary.running)
    if let failure = failure ?? FailureReport(job, [], nil) {
      error = failure.error.isEmpty ? nil : failure.error
      problems = failure.problems
    }
    output = job.output.map { Output($0) }
  }
}

extension TaskStatus {
  init(_ task: RenderTask) {
    self.init(task: task.id.description, kind: task.kind, state: task.state)
    ordinal = Int(task.id.ordinal)
    label = task.label.isEmpty ? nil : task.label
    boundary = task.boundary.isEmpty ? nil : task.boundary
    epoch = task.publishedEpoch ?? task.leases.first?.epoch ?? task.epoch
    if let lease = task.leases.first {
      worker = lease.worker.description
      workerName = lease.workerName
      grantedAt = Timestamp(since1970: lease.grantedAt)
      ranSeconds = lease.ran.exactSeconds
    } else if let publisher = task.publisher {
      worker = publisher.worker.description
      workerName = publisher.workerName
      grantedAt = publisher.publishedAt.map { Timestamp(since1970: $0 - publisher.took) }
      endedAt = publisher.publishedAt.map { Timestamp(since1970: $0) }
      ranSeconds = publisher.took.exactSeconds
      usage = publisher.usage.map { UsageReport($0) }
    }
    if task.leases.count > 1 {
      secondWorker = task.leases[1].worker.description
      secondWorkerName = task.leases[1].workerName
    }
    done = task.state == .done ? task.work : min(task.progress, task.work)
    work = task.work
    cached = task.isCached
    compared = task.compared.isEmpty ? nil : task.compared.map(\.account)
    setAttempts(task.attempts.map { Attempt($0) })
  }
}

extension TaskStatus.Attempt {
  fileprivate init(_ attempt: Jobs.Attempt) {
    self.init(
      epoch: attempt.epoch, worker: attempt.worker.description, workerName: attempt.workerName,
      ranSeconds: attempt.ran.exactSeconds, end: attempt.end, message: attempt.message, process: attempt.process,
      endedAt: attempt.endedAt.map { Timestamp(since1970: $0) }, usage: attempt.usage.map { UsageReport($0) })
  }
}

extension JobUsage.Worker {
  init(_ usage: WorkerUsage) {
    self.init(
      worker: usage.worker.description, workerName: usage.workerName, attempts: Int(usage.attempts),
      usage: UsageReport(usage.usage))
  }
}

extension WorkerStatus {
  init(_ worker: WorkerRecord) {
    self.init(name: worker.name, id: worker.id.description)
    slots = Int(worker.slots)
    busy = Int(worker.busy)
    build = worker.build
    shortBuild = ShortBuild.of(worker.build)
    connectedSeconds = worker.connected.exactSeconds
    connectedAt = Timestamp(since1970: worker.connectedAt)
    coordinator = worker.coordinator
    paused = worker.paused.isEmpty ? nil : worker.paused
    account = worker.account
    hold = worker.hold?.rawValue
    holdReason = worker.hold == nil ? nil : worker.holdReason
    (pools, isClosed) = (worker.pools, worker.isClosed)
    taskMemory = worker.memory == .max ? nil : worker.memory
  }
}

extension WorkerHoldReport {
  /// Nil: it is not held.
  init?(_ standing: WorkerStanding) {
    guard let hold = standing.hold else { return nil }
    self.init(
      worker: standing.account, hold: hold.rawValue, reason: standing.reason,
      since: standing.heldAt.map { Timestamp(since1970: $0) })
  }
}

extension Duration {
  /// To a millisecond, as the wire has it.
  var exactSeconds: Double { Double(milliseconds) / 1000 }
}

extension RenderTask {
  /// The progress of the lease that has advanced most, as a part of `work`. 0 without a lease.
  fileprivate var progress: Int64 { leases.map(\.progress).max() ?? 0 }
}

/// Why a job failed, as the person who submitted it sees it. `problems` are set if the document or its media are the
/// cause (exit code 65 of the commands), else `error` is.
struct FailureReport: Sendable, Hashable {
  var problems: [Problem] = []
  var error = ""

  /// Nil if the job has not failed.
  /// - Parameters:
  ///   - tasks: The job's tasks; those that did not fail are not looked at. None: only the job's own message is
  ///     reported.
  ///   - request: Names the media in messages; nil if it cannot be read.
  init?(_ job: Job, _ tasks: [RenderTask], _ request: JobRequest?) {
    guard job.state == .failed, let failure = job.failure else { return nil }
    switch failure.reason {
    case .document: problems = failure.documentProblems
    case .task:
      problems = tasks.filter { $0.state == .failed }.flatMap { Self.problems(of: $0, request) }
    case .farm: break
    }
    if problems.isEmpty {
      let crash = tasks.first { $0.state == .failed }.flatMap { Self.crash(of: $0) }
      // An inspection is never taken up again.
      let remedy = job.purpose == .render ? "; \"sheaf retry \(job.id)\" tries again" : ""
      let message = crash.map { $0 + remedy } ?? failure.message
      error = request?.named(message) ?? message
    }
  }

  /// The problems of a task that has failed for good: a file that cannot be probed, or media that cannot be rendered.
  /// Empty if the media are not the cause.
  private static func problems(of task: RenderTask, _ request: JobRequest?) -> [Problem] {
    guard let attempt = task.attempts.last, crash(of: task) == nil else { return [] }
    let message = request?.named(attempt.message) ?? attempt.message
    if task.kind == .probe, let file = task.inputs.first {
      // A file that only a text names, as its font, is not in `assets`.
      let named = (try? request?.document.read())?.assetPaths ?? []
      return (request?.assets(of: file.digest) ?? []).map { asset in
        let message = "\(asset.path): \(message)"
        guard let place = named.first(where: { $0.id == asset.id })?.pointer else {
          return Problem(asset: asset.id, message: message)
        }
        return Problem(pointer: place, message: message)
      }
    }
    switch attempt.end {
    case .media, .document:
      return [Problem(pointer: request?.place(ofCompositorIn: attempt.message) ?? "", message: message)]
    case .crashed, .hung, .exhausted, .killed, .released: return []
    }
  }

  /// What became of a task whose processes crashed, hung, or had too little memory: nobody can say whether the media
  /// are the cause. Nil if they did not.
  private static func crash(of task: RenderTask) -> String? {
    guard let attempt = task.attempts.last, [.crashed, .hung, .exhausted, .killed].contains(attempt.end)
    else { return nil }
    let name = task.label.isEmpty ? "task \(task.id)" : task.label
    return "\(name) failed \(task.suspectOn.count) times: \(attempt.message)"
  }
}

extension JobFailure {
  /// The document does not match its media.
  init(problems: [Problem]) {
    let message = problems.map(\.description).joined(separator: "\n")
    // Encoding an array of strings does not fail. If it did, the message would still have the problems.
    let encoded = (try? JSONCoding.encoder.encode(problems)).map { [UInt8]($0) } ?? []
    self.init(reason: .document, message: message, problems: encoded)
  }

  /// The problems as `init(problems:)` encoded them.
  fileprivate var documentProblems: [Problem] {
    do {
      return try JSONDecoder().decode([Problem].self, from: Data(problems))
    } catch {
      // Written by another version: the message has the problems too.
      return [Problem(pointer: "", message: message)]
    }
  }
}
