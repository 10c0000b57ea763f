import ContentStorage
import Digest
import FarmAPI
import FarmModel
import Jobs
import Logging
import Runtime

/// Checks inputs that workers report as missing or damaged, one after the other.
///
/// - What the farm has made itself it makes again: the job is planned again, and finds everything else in the result
///   cache. That is also done with a piece that is as it was made and that the stitch task refuses, three times at
///   most.
/// - While the whole content store is away nothing is lost: it is waited for.
/// - A file under the media root that is not there or cannot be read may come back, as when a network's disk is away.
///   It is looked for again for a minute.
/// - Without any other file the job cannot go on by itself: it fails, with a message that says how to go on.
actor DamagedInputs {
  private static let maximumChecks = 1000
  /// How often a job is planned again. A disk that damages everything must not keep the farm busy for ever.
  private static let maximumRounds = 10

  /// How often pieces of a job that its stitch task refuses are made again: as often as any task is tried.
  private static let maximumRefusals = 3

  private struct Check: Hashable {
    var digest: SHA256Digest
    var job: JobID
    /// Why the stitch task refuses the piece; nil if the input is missing or damaged.
    var refusal: String?
  }

  /// What a job cannot read any more.
  private struct Losses {
    /// The digests of the document's media and font files that are lost.
    var files: [SHA256Digest] = []
    /// What the farm makes again: labels of the tasks whose results these were, and fonts that it has found.
    var results: [String] = []
  }

  /// What was found out about an input.
  private struct Found {
    /// Whether an object was damaged, and is removed.
    var wasDamaged: Bool
    var isThere: Bool
    /// What is wrong with the file under the media root that the input is. Nil if the input is there, or is no such
    /// file.
    var problem: SharedFileProblem?

    /// Nil if the content store is away, so that nothing can be found out. Blocks.
    init?(_ input: Content, _ content: ContentLocator) throws {
      wasDamaged = try content.removeIfDamaged(input.digest)
      let isKnown = content.has(input)
      problem = isKnown ? nil : content.problem(withShared: input)
      // Without a problem it may have been found where another client has named it.
      isThere = isKnown || problem == nil && content.has(input)
      if content.store.absence != nil { return nil }
    }
  }

  private let store: any JobStore
  private let content: ContentLocator
  private let events: FarmEvents
  private let logger: Logger
  /// How long a file under the media root may be away, and how often it is looked for.
  private let longestAbsence: Duration
  private let pause: Duration
  private var waiting: [Check] = []
  private var isChecking = false
  private var awaySince: [Check: ContinuousClock.Instant] = [:]
  private var rounds: [JobID: Int] = [:]
  private var refusals: [JobID: Int] = [:]

  init(
    store: any JobStore, content: ContentLocator, events: FarmEvents, logger: Logger,
    longestAbsence: Duration = .seconds(60),
    pause: Duration = .seconds(1)
  ) {
    self.store = store
    self.content = content
    self.events = events
    self.logger = logger
    (self.longestAbsence, self.pause) = (longestAbsence, pause)
  }

  /// Whether nothing is being checked.
  var isIdle: Bool { !isChecking }

  /// Checks an input of a task. Damaged content is removed from the content store. Returns at once.
  /// - Parameter refusal: Why the stitch task refuses the piece that the input is; nil for the input of another task.
  func check(_ digest: SHA256Digest, of task: TaskID, refusal: String? = nil) {
    let check = Check(digest: digest, job: task.job, refusal: refusal)
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
    let isAway = try await BlockingWork.run(.files) { [store = content.store] in store.absence != nil }
    if isAway { return false }
    guard let job = try await store.job(check.job), !job.state.hasEnded else {
      (rounds[check.job], refusals[check.job]) = (nil, nil)
      return true
    }
    let tasks = try await store.tasks(of: check.job, payloads: false)
    let results = tasks.filter { $0.kind != .stitch }.compactMap(\.result)
    // A worker cannot make the coordinator read what its job does not use.
    guard let input = (tasks.lazy.flatMap(\.inputs) + results).first(where: { $0.digest == check.digest }) else {
      return true
    }
    let found = try await BlockingWork.run(.hashing) { [content] in try Found(input, content) }
    guard let found else { return false }
    if found.isThere {
      if let refusal = check.refusal { try await refuse(input, tasks, check.job, refusal) }
      return true
    }
    if !found.wasDamaged, let problem = found.problem, problem.mayPass, !results.contains(input) {
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
      let losses = try Self.losses(check.digest, tasks, content)
      return content.store.absence == nil ? losses : nil
    }
    guard let losses else { return false }
    if losses.files.isEmpty {
      try await makeAgain(check.job, results: losses.results)
    } else {
      let request = try? JobRequest(encoded: job.request)
      try await fail(
        check.job,
        Self.message(
          losses.files.map { request?.assets(of: $0).first?.path ?? "\($0)" }, check.job,
          wasDamaged: found.wasDamaged, reason: found.problem?.reason))
    }
    return true
  }

  /// Removes a piece that does not fit, though its bytes are those that its worker made, and plans its job again. If a
  /// piece does not fit once more, all pieces of the job are removed: which of two that differ is the wrong one is not
  /// known.
  private func refuse(
    _ piece: Content, _ tasks: [RenderTask], _ job: JobID, _ reason: String
  ) async throws {
    let makers = tasks.filter { ($0.kind == .video || $0.kind == .audio) && $0.result != nil }
    guard let maker = makers.first(where: { $0.result == piece }) else { return }
    if refusals.count > Self.maximumChecks { refusals = [:] }
    refusals[job, default: 0] += 1
    let count = refusals[job, default: 0]
    guard count <= Self.maximumRefusals else {
      return try await fail(
        job, "\(maker.label) was made again \(Self.maximumRefusals) times and does not fit: \(reason)")
    }
    let removed = count == 1 ? [piece] : makers.compactMap(\.result)
    try await BlockingWork.run { [store = content.store] in for piece in removed { store.remove(piece.digest) } }
    guard try await store.replan(job, reason: "\(maker.label) does not fit: \(reason)") else { return }
    events.emit(
      .jobReplanned(
        job: job.description, reason: count == 1 ? .refusedPiece : .refusedPieces, tasks: [maker.label], message: reason
      ))
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
    let labels = results.prefix(8).joined(separator: ", ")
    guard try await store.replan(job, reason: "the results of \(labels) were damaged on the disk") else { return }
    events.emit(.jobReplanned(job: job.description, reason: .damagedResults, tasks: results))
  }

  private func fail(_ job: JobID, _ message: String) async throws(JobStoreError) {
    (rounds[job], refusals[job]) = (nil, nil)
    guard try await store.fail(job, failure: JobFailure(reason: .farm, message: message)) else { return }
    events.emit(.jobEnded(job: job.description, name: nil, state: .failed, seconds: nil, reason: message))
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
    let media = Set(tasks.filter { $0.kind == .probe }.flatMap(\.inputs).map(\.digest))
    for input in tasks.flatMap(\.inputs) where known.insert(input.digest).inserted {
      // Files under the media root are not read: that may take long, and workers read them anyway.
      let wasDamaged = try content.store.removeIfDamaged(input.digest)
      guard input.digest == first || wasDamaged && !content.has(input) else { continue }
      if media.contains(input.digest) {
        losses.files.append(input.digest)
      } else {
        // The list of fonts, which is the result of a task, has the file of each font: it is copied from there again.
        losses.results.append("the font \(input.digest)")
      }
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
