import Composition
import Digest
import Jobs
import SwiftProtobuf
import Wire

/// A job as its watchers see it.
enum JobReport {
  /// Nil where there is no such job.
  static func status(of id: JobID, store: any JobStore) async throws(JobStoreError) -> Sheaf_JobStatus? {
    guard let job = try await store.job(id) else { return nil }
    return status(job, try await store.tasks(of: id, payloads: false))
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
