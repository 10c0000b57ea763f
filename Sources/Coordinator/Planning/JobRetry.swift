import ContentStorage
import Digest
import Jobs
import Logging
import SwiftProtobuf
import Wire

/// Takes up a job that has failed or was cancelled where it stopped.
struct JobRetry: Sendable {
  private let service: CoordinatorService

  init(_ service: CoordinatorService) {
    self.service = service
  }

  /// Answers with the job's state, and with the reason if it was not taken up.
  func retry(_ message: Sheaf_RetryJob) async throws -> Sheaf_RetryReply {
    let id = JobID(message.job)
    var reply = Sheaf_RetryReply.with { $0.job = message.job }
    guard let job = try await service.store.job(id), job.purpose == .render else {
      reply.error = "there is no job \(message.job)"
      return reply
    }
    reply.state = job.state.message
    guard job.state == .failed || job.state == .cancelled else {
      reply.error = "the job is \(job.state.rawValue); a job that has failed or was cancelled can be retried"
      return reply
    }
    if let missing = try await missing(job) {
      reply.error = missing
      return reply
    }
    let state = try await service.store.retry(id)
    reply.state = state?.message ?? .unspecified
    guard state == .probing else {
      reply.error = "the job was changed at the same time; look at its status"
      return reply
    }
    await service.facts.forget(id)
    service.logger.info("job taken up again", metadata: ["job": "\(id)", "name": "\(job.name)"])
    return reply
  }

  /// The file that the job needs and that the farm does not have, why, and what to do. Nil if it has all. Results that
  /// it does not have are made again.
  private func missing(_ job: Job) async throws -> String? {
    let tasks = try await service.store.tasks(of: job.id, payloads: false)
    let request = try? JobRequest(encoded: job.request)
    for task in tasks where task.kind == .probe {
      for input in task.inputs {
        let (isThere, problem, absence) = try await BlockingWork.run(.hashing) { [locator = service.content] in
          if locator.has(input) { return (true, nil as SharedFileProblem?, nil as String?) }
          return (false, locator.problem(withShared: input), locator.store.absence)
        }
        if isThere { continue }
        if let absence { return "\(absence); when it is back, \"sheaf retry \(job.id)\" goes on" }
        let name = request?.assets(of: input.digest).first?.path ?? "the file \(input.digest)"
        guard let problem else { return "\(name) is not there any more; submit the document again" }
        return """
          \(name) \(problem.reason); \(problem.remedy), and \"sheaf retry \(job.id)\" goes on, or submit the document \
          again
          """
      }
    }
    return nil
  }
}
