import CompositionModel
import Digest
import Jobs
import SwiftProtobuf
import Wire

/// A job as its watchers see it.
enum JobReport {
  /// Nil where there is no such job.
  static func status(of id: JobID, store: any JobStore) async throws(JobStoreError) -> Sheaf_JobStatus? {
    guard let job = try await store.job(id) else { return nil }
    let tasks = try await store.tasks(of: id, payloads: false)
    var status = status(job, tasks)
    if isStill(job, tasks) { status.waitsFor = want(job, try await store.workers()) }
    return status
  }

  /// Before that nobody may have had the time to begin.
  private static let patience = Duration.seconds(5)

  /// Whether there is something to do and nobody does anything.
  private static func isStill(_ job: Job, _ tasks: [RenderTask]) -> Bool {
    !job.state.hasEnded && job.age >= patience && tasks.contains { $0.state == .ready }
      && !tasks.contains { $0.state == .leased }
  }

  /// What a job lacks among these workers; empty where it only waits for its turn.
  private static func want(_ job: Job, _ workers: [WorkerRecord]) -> String {
    guard !workers.isEmpty else { return "no worker is connected" }
    guard let build = job.build, !workers.contains(where: { $0.build == build }) else { return "" }
    return "no worker of the build that it was begun with is connected: \(build)"
  }

  static func status(_ job: Job, _ tasks: [RenderTask]) -> Sheaf_JobStatus {
    var status = Sheaf_JobStatus()
    status.job = job.id.description
    status.name = job.name
    status.state = job.state.rawValue
    status.priority = job.priority
    status.submittedMillisecondsAgo = job.age.milliseconds
    status.elapsedMilliseconds = job.elapsed.milliseconds
    for task in tasks where task.kind == .picture {
      let done = task.state == .done ? task.work : min(task.furthest, task.work)
      status.framesTotal += UInt64(clamping: task.work)
      status.framesDone += UInt64(clamping: task.state == .ready ? 0 : done)
      status.segmentsTotal += 1
      if task.state == .done { status.segmentsDone += 1 }
      if task.isCached { status.segmentsCached += 1 }
    }
    if job.state == .failed {
      let told = FailureText.told(job, tasks, try? JobRequest(encoded: job.request))
      status.error = told.error
      status.problems = told.problems.map(Sheaf_Problem.init)
    }
    if let output = job.output, let digest = SHA256Digest(hex: output.digest) {
      status.output = Sheaf_Content(digest: digest, size: output.size)
    }
    status.tasks = tasks.map(Sheaf_TaskStatus.init)
    return status
  }
}

extension Sheaf_Problem {
  init(_ problem: Problem) {
    self.init()
    pointer = problem.pointer
    message = problem.message
  }
}

extension Sheaf_TaskStatus {
  fileprivate init(_ task: RenderTask) {
    self.init()
    self.task = task.id.description
    kind = task.kind.message
    state = task.state.rawValue
    ordinal = UInt32(clamping: task.id.ordinal)
    epoch = task.epoch
    worker = task.worker?.description ?? ""
    secondWorker = task.twin?.worker.description ?? ""
    done = UInt64(clamping: task.furthest)
    work = UInt64(clamping: task.work)
    attempts = UInt32(clamping: task.grants)
    error = task.error.map(FailureText.message) ?? ""
    cached = task.isCached
  }
}

extension RenderTask {
  /// Of `work`, by whichever of two workers has done more.
  fileprivate var furthest: Int64 { max(progress, twin?.progress ?? 0) }
}

extension Duration {
  var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
