import ContentStorage
import Digest
import Jobs
import Logging
import Wire

/// Checks inputs that workers report as missing or damaged, one after the other.
///
/// - What the farm has made itself it makes again: the job is planned again, and finds everything else in the result
///   cache.
/// - A file under the media root that is not there or cannot be read may come back, as when a network's disk is away. It
///   is looked for again for a minute.
/// - Without any other file the job cannot go on by itself: it fails, with a message that says how to go on.
actor DamagedInputs {
  private static let maximumChecks = 1000
  /// How often a job is planned again. A disk that damages everything must not keep the farm busy for ever.
  private static let maximumRounds = 10

  private struct Check: Hashable {
    var digest: SHA256Digest
    var job: JobID
  }

  /// What a job cannot read any more.
  private struct Losses {
    /// Of the document's media and fonts.
    var files: [SHA256Digest] = []
    /// Labels of the tasks whose results these were.
    var results: [String] = []
  }

  private let store: any JobStore
  private let content: ContentLocator
  private let logger: Logger
  /// How long a file under the media root may be away, and how often it is looked for.
  private let longestAbsence: Duration
  private let pause: Duration
  private var waiting: [Check] = []
  private var isChecking = false
  private var awaySince: [Check: ContinuousClock.Instant] = [:]
  private var rounds: [JobID: Int] = [:]

  init(
    store: any JobStore, content: ContentLocator, logger: Logger, longestAbsence: Duration = .seconds(60),
    pause: Duration = .seconds(1)
  ) {
    self.store = store
    self.content = content
    self.logger = logger
    (self.longestAbsence, self.pause) = (longestAbsence, pause)
  }

  /// Whether nothing is being checked.
  var isIdle: Bool { !isChecking }

  /// Checks an input of a task. Damaged content is removed from the content store. Returns at once.
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
      var isSettled = true
      do {
        isSettled = try await carryOut(check)
      } catch {
        // The input stays, and the task is executed again.
        logger.error(
          "input not checked for damage",
          metadata: ["job": "\(check.job)", "content": "\(check.digest)", "error": "\(error)"])
      }
      waiting.removeFirst()
      guard !isSettled else {
        awaySince[check] = nil
        continue
      }
      waiting.append(check)
      // It throws if it is cancelled, and nothing cancels it.
      try? await Task.sleep(for: pause)
    }
    isChecking = false
  }

  /// Returns false if the content is to be looked for again.
  private func carryOut(_ check: Check) async throws -> Bool {
    guard let job = try await store.job(check.job), !job.state.hasEnded else {
      rounds[check.job] = nil
      return true
    }
    let tasks = try await store.tasks(of: check.job, payloads: false)
    let results = tasks.filter { $0.kind != .stitch }.compactMap(\.result)
    // A worker cannot make the coordinator read what its job does not use.
    guard let input = (tasks.lazy.flatMap(\.inputs) + results).first(where: { $0.digest == check.digest }) else {
      return true
    }
    let (wasDamaged, isThere, problem) = try await BlockingWork.run(.hashing) { [content] in
      let wasDamaged = try content.removeIfDamaged(check.digest)
      let isThere = content.has(input)
      return (wasDamaged, isThere, isThere ? nil : content.problem(withShared: input))
    }
    guard !isThere else { return true }
    if !wasDamaged, let problem, problem.mayPass, !results.contains(input) {
      let since = awaySince[check] ?? .now
      if awaySince.updateValue(since, forKey: check) == nil {
        logger.warning(
          "a file under the media root is not there or cannot be read",
          metadata: ["job": "\(check.job)", "file": "\(problem.path)", "reason": "\(problem.reason)"])
      }
      if ContinuousClock.now - since < longestAbsence { return false }
    }
    // What has damaged one object may have damaged others.
    let losses = try await BlockingWork.run(.hashing) { [content] in
      try Self.losses(check.digest, tasks, content)
    }
    if losses.files.isEmpty {
      try await makeAgain(check.job, results: losses.results)
    } else {
      let request = try? JobRequest(encoded: job.request)
      try await fail(
        check.job,
        Self.message(
          losses.files.map { request?.assets(of: $0).first?.path ?? "\($0)" }, check.job, wasDamaged: wasDamaged,
          reason: problem?.reason))
    }
    return true
  }

  /// Plans a job again whose results are damaged or gone, so that they are made again. A job that has lost results too
  /// often fails.
  /// - Parameter results: The labels of their tasks.
  func makeAgain(_ job: JobID, results: [String]) async throws(JobStoreError) {
    guard rounds[job, default: 0] < Self.maximumRounds else {
      return try await fail(
        job,
        "the results of \(results.prefix(8).joined(separator: ", ")) were damaged on the coordinator's disk "
          + "again and again; see to the disk, then \"sheaf retry \(job)\" makes them again and goes on")
    }
    // Of jobs that have ended since, nothing is asked any more.
    if rounds.count > Self.maximumChecks { rounds = [:] }
    rounds[job, default: 0] += 1
    guard try await store.replan(job) else { return }
    logger.warning(
      "results were damaged on the disk and are made again",
      metadata: ["job": "\(job)", "tasks": "\(results.joined(separator: ", "))"])
  }

  private func fail(_ job: JobID, _ message: String) async throws(JobStoreError) {
    rounds[job] = nil
    guard try await store.fail(job, failure: JobFailure(reason: .farm, message: message)) else { return }
    logger.info("job failed", metadata: ["job": "\(job)", "reason": "\(message)"])
  }

  /// All that a job cannot read any more. Damaged objects of the content store are removed.
  private static func losses(
    _ first: SHA256Digest, _ tasks: [RenderTask], _ content: ContentLocator
  ) throws -> Losses {
    var losses = Losses()
    var known: Set<SHA256Digest> = []
    for task in tasks where task.kind != .stitch {
      guard let result = task.result, known.insert(result.digest).inserted else { continue }
      let isLost = try content.store.removeIfDamaged(result.digest) || !content.store.contains(result)
      if isLost { losses.results.append(task.label.isEmpty ? "\(task.id)" : task.label) }
    }
    for input in tasks.flatMap(\.inputs) where known.insert(input.digest).inserted {
      // Files under the media root are not read: that may take long, and workers read them anyway.
      let wasDamaged = try content.store.removeIfDamaged(input.digest)
      if input.digest == first || wasDamaged && !content.has(input) { losses.files.append(input.digest) }
    }
    return losses
  }

  /// - Parameters:
  ///   - files: The names of what is lost; one at least.
  ///   - reason: What is known of the first of them, a file under the media root.
  private static func message(_ files: [String], _ job: JobID, wasDamaged: Bool, reason: String?) -> String {
    let names = files.prefix(8).joined(separator: ", ")
    let isOne = files.count == 1
    let what = (isOne ? "the file " : "the files ") + names + (files.count > 8 ? " and others" : "")
    if wasDamaged {
      let were = isOne ? "was" : "were"
      return
        "\(what) \(were) damaged on the coordinator's disk and \(were) removed; submit the document again"
    }
    let absence =
      isOne ? reason ?? "is not there any more" : "are not there any more, cannot be read, or have other bytes now"
    return "\(what) \(absence); put back what is missing and \"sheaf retry \(job)\", or submit the document again"
  }
}
