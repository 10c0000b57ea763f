import ContentStorage
import Digest
import FarmAPI
import FarmModel
import Jobs
import Runtime

extension RetryReply {
  static func absent(_ job: JobID) -> RetryReply { RetryReply(refusal: "there is no job \(job)") }
}

/// Takes up a job that has failed or was cancelled where it stopped.
struct JobRetry: Sendable {
  private let service: CoordinatorService

  init(_ service: CoordinatorService) {
    self.service = service
  }

  /// Answers with the job's state, and with the reason if it was not taken up.
  func retry(_ id: JobID) async throws -> RetryReply {
    guard let job = try await service.store.job(id), job.purpose == .render else {
      return .absent(id)
    }
    guard job.mayBeRetried else {
      return RetryReply(
        state: job.state,
        refusal:
          "the job is \(job.state.rawValue); a job that has failed or was cancelled, or whose film is in doubt, can be retried"
      )
    }
    if let missing = try await missing(job) { return RetryReply(state: job.state, refusal: missing) }
    let state = try await service.store.retry(id)
    guard state == .probing else {
      return RetryReply(state: state, refusal: "the job was changed at the same time; look at its status")
    }
    await service.facts.forget(id)
    service.events.emit(.jobRetried(job: id.description, name: job.name))
    return RetryReply(state: state)
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
