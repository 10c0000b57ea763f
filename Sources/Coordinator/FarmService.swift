package import CompositionModel
import ContentStorage
package import Digest
package import FarmAPI
package import FarmModel
import Jobs
import Logging
import Runtime

/// What a client can ask of the farm, whatever way it comes: the wire's handler and every other face decode a request,
/// call this, and encode the answer. The rules are here.
///
/// What a caller may not know of does not exist for it. Throws `FarmError`, or the error of a disk that fails.
package struct FarmService: Sendable {
  /// How many files one request may ask about.
  private static let mostContents = 10_000

  let coordinator: CoordinatorService
  /// Who asks.
  package let caller: Caller

  package init(_ coordinator: CoordinatorService, as caller: Caller = .ownProcess) {
    self.coordinator = coordinator
    self.caller = caller
  }

  /// A file of which a client asks whether the farm has it.
  package struct OfferedFile: Sendable, Hashable {
    package var content: Content
    /// Where the client has it, which may be under the farm's media root.
    package var file: String

    package init(content: Content, file: String) {
      self.content = content
      self.file = file
    }
  }

  var quota: StorageQuota { StorageQuota(store: coordinator.store, content: coordinator.content.store) }

  // MARK: Submitting

  /// The digests of those that the farm has neither in its content store nor under its media root.
  package func missing(_ files: [OfferedFile]) async throws -> [SHA256Digest] {
    try require(.submit)
    guard files.count <= Self.mostContents else {
      throw FarmError(.invalid, "the request lists more than \(Self.mostContents) files")
    }
    var missing: [Content] = []
    for entry in files {
      try Task.checkCancellation()
      // Each file by itself, so that the requests of several clients are in turn.
      let isThere = try await BlockingWork.run(.hashing) { [locator = coordinator.content] in
        locator.has(entry.content, hint: entry.file)
      }
      if !isThere { missing.append(entry.content) }
    }
    // Before anything is uploaded.
    if !missing.isEmpty {
      try await quota.requireRoom(for: caller.owner, uploading: missing.reduce(0) { $0 + $1.size })
    }
    return missing.map(\.digest)
  }

  /// Submits a document whose media the farm has.
  /// - Parameter text: The document, if it was read already. Nil: that of the submission.
  package func submit(_ submission: Submission, _ text: SubmittedText? = nil) async throws -> SubmissionReply {
    try require(.submit)
    try check(priority: submission.priority)
    var submission = submission
    submission.pool = try pool(asking: submission.pool)
    return try await withStore { [submission] in
      for before in submission.schedule.after {
        let found = try await sees(JobID(before)) ? try await coordinator.store.summary(of: JobID(before)) : nil
        guard let found, caller.owner == nil || found.job.owner == caller.owner else {
          throw FarmError(.invalid, "there is no job \(before) to come after")
        }
      }
      let reply = try await JobSubmission(coordinator, owner: caller.owner).submit(submission, text?.text)
      if let job = reply.job, !reply.isRepeated { try await audit(.jobSubmitted, job, submission.name) }
      return reply
    }
  }

  /// The problems of a document that can be found without its media, and those of assets that were not submitted.
  package func problems(of submission: Submission, _ text: SubmittedText? = nil) async throws -> [Problem] {
    try require(.submit)
    return try await JobSubmission(coordinator, owner: caller.owner).read(
      submission.document, submission.assets, options: submission.options, output: submission.output,
      text?.text
    ).problems
  }

  /// Probes the media of a document and plans it. Nothing is rendered but still pictures.
  package func inspect(_ request: InspectionRequest) async throws -> InspectionReply {
    try require(.submit)
    return try await withStore { try await Inspection(coordinator).answer(request) }
  }

  // MARK: Jobs

  /// Jobs, newest first, without tasks.
  package func jobs(_ query: JobQuery) async throws -> JobList {
    try require(.see)
    return try await withStore {
      let after = query.after.map { JobID($0) }
      if let after {
        let summary = try await sees(after) ? try await coordinator.store.summary(of: after) : nil
        guard summary != nil else { throw FarmError(.notFound, "there is no job \(after)") }
      }
      var list = JobList()
      list.notices = coordinator.storage.notices
      list.jobs = try await coordinator.status.statuses(
        limit: min(query.limit, JobQuery.mostLimit), after: after,
        filter: JobFilter(
          states: query.states, name: query.name, since: query.since?.since1970, before: query.before?.since1970,
          owner: caller.role == .submitter ? caller.owner : nil, pool: query.pool))
      return list
    }
  }

  /// Nil: there is no such job.
  package func status(of job: JobID, withTasks: Bool = false) async throws -> JobStatus? {
    guard try await sees(job) else { return nil }
    return try await withStore {
      let reader = coordinator.status
      guard var status = try await reader.status(of: job) else { return nil }
      if withTasks { status.tasks = try await reader.tasks(of: job) }
      return status
    }
  }

  /// What holds up the whole farm, for a person.
  package var notices: [String] { coordinator.storage.notices }

  /// The status of a job now and at each change, until it has ended; nil if there is no such job. The reader throws
  /// `FarmError` if the job store has failed for good.
  package func watch(_ job: JobID) async throws -> AsyncThrowingStream<JobStatus?, any Error> {
    guard try await sees(job) else {
      return AsyncThrowingStream { stream in
        stream.yield(nil)
        stream.finish()
      }
    }
    return await coordinator.watches.watch(job)
  }

  /// Stops a job. Returns the state that it is in then; nil if there is no such job.
  package func cancel(_ job: JobID) async throws -> JobState? {
    guard try await sees(job, to: .submit) else { return nil }
    return try await withStore {
      let before = try await coordinator.store.summary(of: job)?.job.state
      let state = try await coordinator.store.cancel(job)
      if state == .cancelled, before != .cancelled {
        await coordinator.ends.report(job)
        try await audit(.jobCancelled, job.description)
      }
      return state
    }
  }

  /// Takes up a job that has failed or was cancelled where it stopped.
  package func retry(_ job: JobID) async throws -> RetryReply {
    guard try await sees(job, to: .submit) else { return .absent(job) }
    return try await withStore {
      let reply = try await JobRetry(coordinator).retry(job)
      if reply.refusal == nil { try await audit(.jobRetried, job.description) }
      return reply
    }
  }

  /// Deletes a job that has ended. Its film may be removed from the content store afterwards.
  package func delete(_ job: JobID) async throws -> DeleteReply {
    guard try await sees(job, to: .submit) else { return DeleteReply(isDeleted: false) }
    return try await withStore {
      guard try await coordinator.store.delete(job) else {
        return DeleteReply(isDeleted: false, state: try await coordinator.store.summary(of: job)?.job.state)
      }
      await coordinator.facts.forget(job)
      coordinator.events.emit(.jobDeleted(job: job.description))
      try await audit(.jobDeleted, job.description)
      return DeleteReply(isDeleted: true)
    }
  }

  /// Records that a client has the film of a job. A failure is only logged: the film is kept for longer than it has to
  /// be.
  package func markFetched(_ job: JobID) async {
    // Who only looks at a film does not have it in place of its owner. A store that does not answer has been
    // reported by `sees`.
    guard caller.role.allows(.submit), (try? await sees(job)) == true else { return }
    do throws(JobStoreError) {
      try await coordinator.store.markFetched(job)
    } catch {
      coordinator.availability.report(error, "fetched film not recorded")
    }
  }

  // MARK: Workers

  /// The workers of all coordinators of the farm.
  package func workers() async throws -> [WorkerStatus] {
    try require(.see)
    return try await withStore { try await coordinator.store.workers().map { WorkerStatus($0) } }
  }

  /// The accounts whose workers are held.
  package func holds() async throws -> [WorkerHoldReport] {
    try require(.see)
    return try await withStore {
      try await coordinator.store.standings().compactMap { WorkerHoldReport($0) }
    }
  }

  /// Holds the workers of an account, or lifts that.
  package func hold(_ request: WorkerHoldRequest) async throws -> [WorkerHoldReport] {
    try require(.operate)
    guard request.reason.utf8.count <= 256 else { throw FarmError(.invalid, "a reason has at most 256 bytes") }
    let hold = try request.hold.map { name throws(FarmError) in
      guard let hold = WorkerHold(rawValue: name) else {
        let names = (WorkerHold.allCases.map(\.rawValue) + ["none"]).joined(separator: ", ")
        throw FarmError(.invalid, "a worker's hold is one of \(names), not \"\(name.prefix(64))\"")
      }
      return hold
    }
    return try await withStore {
      let account = try await account(named: request.worker)
      let present = try await coordinator.store.standings().first { $0.account == account }?.hold
      if let hold, hold != .quarantined, present == .quarantined {
        throw FarmError(.conflict, "the worker is quarantined; resume it first")
      }
      let reason = request.reason.isEmpty && hold != nil ? "by \(caller.owner ?? "an operator")" : request.reason
      if try await coordinator.store.setHold(hold, of: account, reason: reason) {
        let detail = hold.map { "\($0.rawValue): \(reason)" } ?? ""
        try await audit(hold == nil ? .workerReleased : .workerHeld, account, detail)
        await coordinator.standings.look()
      }
      return try await coordinator.store.standings().compactMap { WorkerHoldReport($0) }
    }
  }

  /// The account that is called so, or whose workers are, if it is the only one.
  private func account(named name: String) async throws -> String {
    let accounts = try await coordinator.store.accounts(named: name)
    if accounts.contains(name) { return name }
    guard accounts.count <= 1 else {
      throw FarmError(.invalid, "several workers are named \(name); say which: \(accounts.joined(separator: ", "))")
    }
    guard let account = accounts.first else {
      throw FarmError(.notFound, "no worker \"\(name.prefix(64))\" was connected in the last days, or is held")
    }
    return account
  }

  // MARK: Events

  /// Everything that this coordinator itself sees happen from now on, in order. A reader that falls far behind loses
  /// the oldest.
  package func ownEvents() -> AsyncStream<FarmEvent> { coordinator.events.stream() }

  // MARK: The store

  /// Throws `FarmError` in place of what the job store throws.
  func withStore<R>(_ body: () async throws -> R) async throws -> R {
    do {
      return try await body()
    } catch let error as JobStoreError {
      if error.code == .unavailable { coordinator.availability.failed(error) }
      throw FarmError(error)
    }
  }
}

extension FarmError {
  /// What a client receives when the store could not carry out its request.
  init(_ error: JobStoreError) {
    if error.code == .full {
      self.init(.tooMany, error.message)
      return
    }
    self.init(.unavailable, "the coordinator's job store: \(error)")
  }
}
