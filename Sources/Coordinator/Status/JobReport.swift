import CompositionModel
import Digest
import FoundationEssentials
import Jobs
import SwiftProtobuf
import SystemSupport
package import Wire

/// The status of a job, for its clients.
enum JobReport {
  /// - Parameters:
  ///   - failure: Why a failed job failed. Nil: only what the summary has is reported.
  ///   - waitsFor: As `WaitReason` says.
  static func status(_ summary: JobSummary, failure: FailureReport?, waitsFor: String) -> Sheaf_JobStatus {
    let job = summary.job
    var status = Sheaf_JobStatus()
    status.job = job.id.description
    status.name = job.name
    status.state = job.state.message
    status.priority = job.priority
    status.build = job.build ?? ""
    status.waitsFor = waitsFor
    status.submittedMillisecondsAgo = job.age.milliseconds
    status.elapsedMilliseconds = job.elapsed.milliseconds
    status.renderingMilliseconds = job.rendering?.milliseconds ?? 0
    status.filesDone = UInt32(clamping: summary.probes.done)
    status.filesTotal = UInt32(clamping: summary.probes.total)
    status.measuredDone = UInt32(clamping: summary.measures.done)
    status.measuredTotal = UInt32(clamping: summary.measures.total)
    status.segmentsDone = UInt32(clamping: summary.videos.done)
    status.segmentsTotal = UInt32(clamping: summary.videos.total)
    status.segmentsCached = UInt32(clamping: summary.cachedVideos)
    status.framesDone = UInt64(clamping: summary.work.done)
    status.framesTotal = UInt64(clamping: summary.work.total)
    status.hasAudio_p = summary.audios.total > 0
    status.audioDone = summary.audios.total > 0 && summary.audios.done == summary.audios.total
    status.running = UInt32(clamping: summary.running)
    if let failure = failure ?? FailureReport(job, [], nil) {
      status.error = failure.error
      status.problems = failure.problems.map(Sheaf_Problem.init)
    }
    if let output = job.output { status.output = Sheaf_Content(output) }
    return status
  }
}

extension Sheaf_JobStatus {
  /// Without the times, which change even when nothing happens.
  package var withoutTimes: Sheaf_JobStatus {
    var status = self
    status.elapsedMilliseconds = 0
    status.renderingMilliseconds = 0
    status.submittedMillisecondsAgo = 0
    return status
  }
}

extension Sheaf_TaskStatus {
  init(_ task: RenderTask) {
    self.init()
    self.task = task.id.description
    kind = task.kind.message
    state = task.state.message
    ordinal = UInt32(clamping: task.id.ordinal)
    label = task.label
    epoch = task.publishedEpoch ?? task.leases.first?.epoch ?? task.epoch
    if let lease = task.leases.first {
      worker = lease.worker.description
      workerName = lease.workerName
      ranMilliseconds = lease.ran.milliseconds
    } else if let publisher = task.publisher {
      worker = publisher.worker.description
      workerName = publisher.workerName
      ranMilliseconds = publisher.took.milliseconds
    }
    if task.leases.count > 1 {
      backupWorker = task.leases[1].worker.description
      backupWorkerName = task.leases[1].workerName
    }
    done = UInt64(clamping: task.state == .done ? task.work : min(task.progress, task.work))
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
    workerName = attempt.workerName
    end = attempt.end.message
    message = attempt.message
    ranMilliseconds = attempt.ran.milliseconds
    if let process = attempt.process { self.process = process.message }
  }
}

extension RenderTask {
  /// Of `work`: the progress of the lease that has advanced most.
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
      let named = request.flatMap { try? Document.examine([UInt8]($0.document.utf8)) }?.assetPaths ?? []
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
