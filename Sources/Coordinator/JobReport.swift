import CompositionModel
import Digest
import FoundationEssentials
import Jobs
import SwiftProtobuf
import SystemSupport
package import Wire

/// The status of a job, for its clients.
enum JobReport {
  /// Nil if there is no such job.
  static func status(of id: JobID, store: any JobStore) async throws(JobStoreError) -> Sheaf_JobStatus? {
    guard let job = try await store.job(id) else { return nil }
    let tasks = try await store.tasks(of: id, payloads: false)
    var status = status(job, tasks)
    if isStopped(job, tasks) { status.waitsFor = reasonToWait(job, try await store.workers()) }
    return status
  }

  static func status(_ job: Job, _ tasks: [RenderTask]) -> Sheaf_JobStatus {
    var status = Sheaf_JobStatus()
    status.job = job.id.description
    status.name = job.name
    status.state = job.state.message
    status.priority = job.priority
    status.submittedMillisecondsAgo = job.age.milliseconds
    status.elapsedMilliseconds = job.elapsed.milliseconds
    for task in tasks where task.kind == .video {
      let done = task.state == .done ? task.work : min(task.progress, task.work)
      status.framesTotal += UInt64(clamping: task.work)
      status.framesDone += UInt64(clamping: done)
      status.segmentsTotal += 1
      if task.state == .done { status.segmentsDone += 1 }
      if task.isCached { status.segmentsCached += 1 }
    }
    // Without the request, which only another version can have written, digests stand for the names of media.
    if let failure = FailureReport(job, tasks, try? JobRequest(encoded: job.request)) {
      status.error = failure.error
      status.problems = failure.problems.map(Sheaf_Problem.init)
    }
    if let output = job.output { status.output = Sheaf_Content(output) }
    status.tasks = tasks.map(Sheaf_TaskStatus.init)
    return status
  }

  /// A job that is younger may just not have been started.
  private static let patience = Duration.seconds(5)

  /// Whether the job has tasks that are ready and none that runs.
  private static func isStopped(_ job: Job, _ tasks: [RenderTask]) -> Bool {
    !job.state.hasEnded && job.age >= patience && tasks.contains { $0.state == .ready }
      && !tasks.contains { $0.state == .running }
  }

  /// Why none of these workers runs a task of the job; empty if the workers are busy with other jobs.
  private static func reasonToWait(_ job: Job, _ workers: [WorkerRecord]) -> String {
    guard !workers.isEmpty else { return "no worker is connected" }
    guard let build = job.build, !workers.contains(where: { $0.build == build }) else { return "" }
    return "no worker of the build that the job is bound to is connected: \(build)"
  }
}

extension Sheaf_JobStatus {
  /// Without the times, which change even when nothing happens.
  package var withoutTimes: Sheaf_JobStatus {
    var status = self
    status.elapsedMilliseconds = 0
    status.submittedMillisecondsAgo = 0
    return status
  }
}

extension Sheaf_TaskStatus {
  fileprivate init(_ task: RenderTask) {
    self.init()
    self.task = task.id.description
    kind = task.kind.message
    state = task.state.message
    ordinal = UInt32(clamping: task.id.ordinal)
    epoch = task.publishedEpoch ?? task.leases.first?.epoch ?? task.epoch
    worker = task.leases.first?.worker.description ?? ""
    backupWorker = task.leases.count > 1 ? task.leases[1].worker.description : ""
    done = UInt64(clamping: task.progress)
    work = UInt64(clamping: task.work)
    attempts = UInt32(clamping: task.epoch)
    cached = task.isCached
    endedAttempts = task.attempts.map(Sheaf_Attempt.init)
  }
}

extension Sheaf_Attempt {
  fileprivate init(_ attempt: Attempt) {
    self.init()
    epoch = attempt.epoch
    worker = attempt.worker.description
    end = attempt.end.message
    message = attempt.message
    if let process = attempt.process { self.process = process.message }
  }
}

extension RenderTask {
  /// Of `work`: the progress of the lease that has advanced most.
  fileprivate var progress: Int64 { leases.map(\.progress).max() ?? 0 }
}

/// Why a job failed, as the person who submitted it sees it. `problems` are set if the document or its media are the cause
/// (exit code 65 of the commands), else `error` is.
struct FailureReport: Sendable, Hashable {
  var problems: [Problem] = []
  var error = ""

  /// Nil if the job has not failed.
  /// - Parameter request: Names the media in messages; nil if it cannot be read.
  init?(_ job: Job, _ tasks: [RenderTask], _ request: JobRequest?) {
    guard job.state == .failed, let failure = job.failure else { return nil }
    switch failure.reason {
    case .document: problems = failure.documentProblems
    case .task:
      problems = tasks.filter { $0.state == .failed }.flatMap { Self.problems(of: $0, request) }
    case .farm: break
    }
    if problems.isEmpty { error = Self.named(failure.message, request) }
  }

  /// The problems of a task that has failed for good: a file that cannot be probed, or media that cannot be rendered.
  /// Empty if the media are not the cause.
  private static func problems(of task: RenderTask, _ request: JobRequest?) -> [Problem] {
    guard let attempt = task.attempts.last else { return [] }
    let message = named(attempt.message, request)
    if task.kind == .probe, let file = task.inputs.first {
      return (request?.assets(of: file.digest) ?? []).map {
        Problem(asset: $0.id, message: "\($0.path): \(message)")
      }
    }
    switch attempt.end {
    case .media, .document, .crashed, .hung: return [Problem(pointer: "", message: message)]
    case .released: return []
    }
  }

  /// Replaces the digests by which workers name media with the names in the document.
  private static func named(_ message: String, _ request: JobRequest?) -> String {
    (request?.assets ?? []).reduce(message) { $0.replacing($1.digest, with: $1.path) }
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
