import ContentStorage
import Digest
import Jobs
import Logging
import Wire

/// Checks inputs that workers report as missing or damaged, one after the other. A job with such an input cannot go on by
/// itself: it fails, with a message that says how to go on.
actor DamagedInputs {
  private static let maximumChecks = 1000

  private struct Check: Hashable {
    var digest: SHA256Digest
    var job: JobID
  }

  private let store: any JobStore
  private let content: ContentLocator
  private let logger: Logger
  private var waiting: [Check] = []
  private var isChecking = false

  init(store: any JobStore, content: ContentLocator, logger: Logger) {
    self.store = store
    self.content = content
    self.logger = logger
  }

  /// Checks an input of a task, and fails its job if the input is missing or damaged. Damaged content is removed from the
  /// content store. Returns at once.
  func check(_ digest: SHA256Digest, of task: TaskID) {
    let check = Check(digest: digest, job: task.job)
    // If too many wait, the task is executed again and its worker reports the input again.
    guard !waiting.contains(check), waiting.count < Self.maximumChecks else { return }
    waiting.append(check)
    if !isChecking {
      isChecking = true
      Task { await self.checkWaiting() }
    }
  }

  private func checkWaiting() async {
    while let check = waiting.first {
      do {
        try await carryOut(check)
      } catch {
        // The input stays, and the task is executed again.
        logger.error(
          "input not checked for damage",
          metadata: ["job": "\(check.job)", "content": "\(check.digest)", "error": "\(error)"])
      }
      waiting.removeFirst()
    }
    isChecking = false
  }

  private func carryOut(_ check: Check) async throws {
    let tasks = try await store.tasks(of: check.job, payloads: false)
    let maker = tasks.first { $0.result?.digest == check.digest && $0.kind != .stitch }
    // A worker cannot make the coordinator read what its job does not use.
    guard let input = tasks.lazy.flatMap(\.inputs).first(where: { $0.digest == check.digest }) ?? maker?.result else {
      return
    }
    let (wasDamaged, isThere) = try await BlockingWork.run(.hashing) { [content] in
      (try content.removeIfDamaged(check.digest), content.has(input))
    }
    guard !isThere else { return }
    let what =
      wasDamaged
      ? "was damaged on the coordinator's disk and was removed" : "is not there any more, or has other bytes now"
    let message: String
    if let maker {
      message =
        "the result of \(maker.label.isEmpty ? "task \(maker.id)" : maker.label) \(what); "
        + "\"sheaf retry \(check.job)\" makes it again and goes on"
    } else {
      message = "the file \(check.digest) \(what); submit the document again"
    }
    if try await store.fail(check.job, failure: JobFailure(reason: .farm, message: message)) {
      logger.info("job failed", metadata: ["job": "\(check.job)", "reason": "\(message)"])
    }
  }
}
