import CompositionModel
import ContentStorage
package import Digest
package import FarmAPI
package import FarmModel
import FarmWire
package import FoundationEssentials
import Runtime
import SwiftProtobuf
import SystemSupport
import Wire

/// A client's operations on jobs over one connection: upload the media, submit the document, wait for the end.
package struct JobRun: Sendable {
  /// How many files one request asks about, so that none takes long to answer.
  private static let maximumContents = 1000

  private let client: CoordinatorClient
  private let uploadPause: Duration

  /// - Parameter uploadPause: How long an upload waits that the coordinator cannot take for now.
  package init(_ client: CoordinatorClient, uploadPause: Duration = .seconds(2)) {
    self.client = client
    self.uploadPause = uploadPause
  }

  // MARK: Submitting

  /// Uploads the files that the farm does not have, each once. Throws with exit code 1 if a file cannot be uploaded.
  /// - Parameters:
  ///   - progress: Receives how much is uploaded.
  ///   - waits: Receives the reason, once, when the coordinator cannot take uploads for now.
  package func provide(
    _ assets: [SubmittedAsset], progress: @escaping @Sendable (TransferProgress) -> Void = { _ in },
    waits: @escaping @Sendable (String) -> Void = { _ in }
  ) async throws {
    let files = try await missing(assets)
    let total = files.reduce(0) { $0 + $1.content.size }
    var done: Int64 = 0
    for file in files {
      let name = String(file.path.split(separator: "/").last ?? "")
      let before = done
      try await upload(file.path, file.content, waits: waits) { sent in
        progress(TransferProgress(.upload, name: name, done: before + Int64(sent), total: total))
      }
      done += file.content.size
    }
  }

  private func missing(_ assets: [SubmittedAsset]) async throws -> [(path: String, content: Content)] {
    var seen: Set<SHA256Digest> = []
    let assets = assets.filter { seen.insert($0.content.digest).inserted }
    var files: [(path: String, content: Content)] = []
    for start in stride(from: 0, to: assets.count, by: Self.maximumContents) {
      let part = assets[start..<min(start + Self.maximumContents, assets.count)]
      let contents = part.map { Sheaf_Content($0.content, path: $0.file) }
      guard case .findMissingReply(let reply) = try await client.request(.findMissing(.with { $0.contents = contents }))
      else { throw CoordinatorClient.unexpected }
      let missing = Set(reply.missing)
      for asset in part where missing.contains(Data(asset.content.digest.bytes)) {
        files.append((asset.file, asset.content))
      }
    }
    return files
  }

  private func upload(
    _ path: String, _ content: Content, waits: @Sendable (String) -> Void,
    progress: @escaping @Sendable (UInt64) -> Void
  ) async throws {
    var hasWaited = false
    while true {
      do {
        let file = try await BlockingWork.run { try OpenFile.open(path) }
        try await client.content.upload(file, content, progress: progress)
        return
      } catch let error as WireError where error.code == .temporary {
        if !hasWaited { waits(error.message) }
        hasWaited = true
        try await Task.sleep(for: uploadPause)
      } catch let error as WireError where error.code == .content {
        let hasChanged = try await BlockingWork.run(.hashing) {
          Self.forget(path)
          return try OpenFile.open(path).content() != content
        }
        throw CommandFailure(
          .work,
          hasChanged
            ? "\(path) has changed since it was read for its digest; run the command again"
            : "\(path) could not be uploaded: \(error)")
      } catch let error as SystemError {
        throw CommandFailure(.work, "\(path) could not be uploaded: \(error)")
      }
    }
  }

  /// Forgets the digest of a file that could not be uploaded under it: it may have changed since it was hashed, with
  /// nothing that shows it, and the next submission hashes it again.
  private static func forget(_ path: String) {
    // Without the file or the folder nothing is known of it.
    guard let file = try? OpenFile.open(path), let identity = try? FileIdentity(of: file) else { return }
    FileContentCache(directory: try? ProcessEnvironment.cacheDirectory).forget(identity)
  }

  /// Submits a document whose media the farm has. Returns the job's name. Throws with the document's problems.
  package func submit(_ submission: Submission) async throws -> String {
    guard case .submitReply(let message) = try await client.request(.submit(Sheaf_Submit(submission))) else {
      throw CoordinatorClient.unexpected
    }
    let reply = SubmissionReply(message)
    guard let job = reply.job, reply.problems.isEmpty else { throw CommandFailure(problems: reply.problems) }
    return job
  }

  /// What the farm finds in media that it has, and how it would render a document.
  package func inspect(_ request: InspectionRequest) async throws -> InspectionReply {
    guard
      case .inspectReply(let reply) = try await client.request(.inspectDocument(try Sheaf_InspectDocument(request)))
    else { throw CoordinatorClient.unexpected }
    return try InspectionReply(reply)
  }

  // MARK: Jobs

  /// Waits until a job has ended, in whatever state. Throws `CancellationError` if this task is cancelled.
  /// - Parameter report: Receives the status, with the farm's notices, at each change. What it throws ends the wait.
  package func wait(
    for job: String, report: @escaping @Sendable (JobStatus) throws -> Void
  ) async throws -> JobStatus {
    try await client.send(.watchJob(.with { $0.job = job }))
    while let message = try await client.reply() {
      guard case .statusReply(let reply) = message else { throw CoordinatorClient.unexpected }
      guard let status = JobList(reply).jobs.first else { throw Self.absent(job) }
      try report(status)
      if status.hasEnded { return status }
    }
    // Nil comes only when this task is cancelled.
    throw CancellationError()
  }

  /// With the farm's notices. Throws with exit code 1 if there is no such job.
  package func status(of job: String, withTasks: Bool = false) async throws -> JobStatus {
    // The query without a name is that of all jobs.
    guard !job.isEmpty else { throw Self.absent(job) }
    let query = Sheaf_StatusQuery.with {
      $0.job = job
      $0.withTasks = withTasks
    }
    guard let status = try await list(query).jobs.first else { throw Self.absent(job) }
    return status
  }

  /// Jobs, newest first, without tasks: as many as fit one answer of the coordinator.
  package func jobs(_ query: JobQuery = JobQuery()) async throws -> JobList {
    let found = try await list(Sheaf_StatusQuery(query))
    // A coordinator that does not know these fields sends every job, and no time of submission.
    let selects = !query.name.isEmpty || query.since != nil || query.before != nil
    if selects, found.jobs.contains(where: { $0.submittedAt == nil }) {
      throw CommandFailure(
        .work, "the coordinator is of an older version, which does not select jobs by name or by time: update it")
    }
    return found
  }

  private func list(_ query: Sheaf_StatusQuery) async throws -> JobList {
    guard case .statusReply(let reply) = try await client.request(.statusQuery(query)) else {
      throw CoordinatorClient.unexpected
    }
    return JobList(reply)
  }

  /// Jobs, newest first, without tasks: as many as the query's limit says. Throws with exit code 1 if there is no job
  /// that the query goes on after.
  package func allJobs(_ query: JobQuery) async throws -> JobList {
    var all = JobList()
    var next = query
    while true {
      let count = min(query.limit - all.jobs.count, JobQuery.mostLimit)
      next.limit = count
      let page = try await jobs(next)
      all.notices = page.notices
      // A coordinator may have fewer to a page.
      all.jobs += page.jobs.prefix(count)
      guard let end = page.jobs.last, all.jobs.count < query.limit else { return all }
      next.after = end.job
    }
  }

  /// Stops a job. Returns the state that it is in then; nil if this version does not know it. Throws with exit code 1
  /// if there is no such job.
  package func cancel(_ job: String) async throws -> JobState? {
    guard case .cancelReply(let reply) = try await client.request(.cancelJob(.with { $0.job = job })) else {
      throw CoordinatorClient.unexpected
    }
    guard reply.state != .unspecified else { throw Self.absent(job) }
    return JobState(reply.state)
  }

  /// Takes up a job that has failed or was cancelled where it stopped. Throws with exit code 1 if that cannot be.
  package func retry(_ job: String) async throws {
    guard case .retryReply(let message) = try await client.request(.retryJob(.with { $0.job = job })) else {
      throw CoordinatorClient.unexpected
    }
    if let refusal = RetryReply(message).refusal {
      throw CommandFailure(.work, "job \(job) cannot be taken up again: \(refusal)")
    }
    guard message.state != .unspecified else { throw Self.absent(job) }
  }

  /// Deletes a job that has ended. Throws with exit code 1 if there is no such job, or it has not ended.
  package func delete(_ job: String) async throws {
    guard case .deleteReply(let message) = try await client.request(.deleteJob(.with { $0.job = job })) else {
      throw CoordinatorClient.unexpected
    }
    let reply = DeleteReply(message)
    if reply.isDeleted { return }
    guard message.state != .unspecified else { throw Self.absent(job) }
    var failure = CommandFailure(
      .work, "job \(job) is not deleted, because it has not ended: it is \(reply.state.nameOrUnknown)")
    failure.advice = ["to stop it: sheaf cancel \(job)"]
    throw failure
  }

  /// The workers of all coordinators of the farm.
  package func workers() async throws -> [WorkerStatus] {
    guard case .workersReply(let reply) = try await client.request(.workersQuery(.init())) else {
      throw CoordinatorClient.unexpected
    }
    return reply.workers.map { WorkerStatus($0) }
  }

  // MARK: Steering

  /// Pauses a job. Throws with exit code 1 if there is no such job, or it has ended.
  /// - Parameter stopping: Whether what runs is stopped at once.
  package func pause(_ job: String, stopping: Bool) async throws {
    try await steer(
      .pauseJob(
        .with {
          $0.job = job
          $0.now = stopping
        }), job)
  }

  /// Takes up a job that is paused or held. Throws as `pause`.
  package func resume(_ job: String) async throws { try await steer(.resumeJob(.with { $0.job = job }), job) }

  /// Throws as `pause`.
  package func setPriority(of job: String, to priority: Int32) async throws {
    try await steer(
      .setPriority(
        .with {
          $0.job = job
          $0.priority = priority
        }), job)
  }

  /// Gives a job another pool, or none. Throws as `pause`.
  package func setPool(of job: String, to pool: String?) async throws {
    try await steer(
      .setPool(
        .with {
          $0.job = job
          $0.pool = pool ?? ""
        }), job)
  }

  private func steer(_ message: WireMessage, _ job: String) async throws {
    guard case .steerReply(let reply) = try await client.request(message) else { throw CoordinatorClient.unexpected }
    guard let state = JobState(reply.state) else { throw Self.absent(job) }
    if state.hasEnded { throw CommandFailure(.work, "job \(job) has ended: it is \(state.rawValue)") }
  }

  /// What each owner has, and may have.
  package func owners() async throws -> [OwnerReport] {
    guard case .ownersReply(let reply) = try await client.request(.ownersQuery(.init())) else {
      throw CoordinatorClient.unexpected
    }
    return try reply.reports
  }

  /// Sets what an owner may have.
  package func changeOwner(_ owner: String, _ request: OwnerRequest) async throws -> OwnerReport {
    guard case .ownersReply(let reply) = try await client.request(.changeOwner(Sheaf_ChangeOwner(owner, request))),
      let report = try reply.reports.first
    else { throw CoordinatorClient.unexpected }
    return report
  }

  /// All pools.
  package func pools() async throws -> [PoolReport] { try await pools(.poolsQuery(.init())) }

  /// Gives a pool working hours.
  package func changePool(_ pool: String, _ request: PoolRequest) async throws -> PoolReport {
    guard let report = try await pools(.changePool(Sheaf_ChangePool(pool, request))).first else {
      throw CoordinatorClient.unexpected
    }
    return report
  }

  /// Removes a pool's working hours. Throws with exit code 1 if it has none.
  package func removePool(_ pool: String) async throws -> PoolReport {
    guard let report = try await pools(.removePool(.with { $0.pool = pool })).first else {
      throw CommandFailure(.work, "the pool \(pool) has no working hours")
    }
    return report
  }

  private func pools(_ message: WireMessage) async throws -> [PoolReport] {
    guard case .poolsReply(let reply) = try await client.request(message) else { throw CoordinatorClient.unexpected }
    return try reply.reports
  }

  /// The workers that are held.
  package func holds() async throws -> [WorkerHoldReport] {
    guard case .holdsReply(let reply) = try await client.request(.holdsQuery(.init())) else {
      throw CoordinatorClient.unexpected
    }
    return try reply.reports
  }

  /// Holds workers, or lifts that. Returns all that are held then.
  package func hold(_ request: WorkerHoldRequest) async throws -> [WorkerHoldReport] {
    guard case .holdsReply(let reply) = try await client.request(.holdWorker(Sheaf_HoldWorker(request))) else {
      throw CoordinatorClient.unexpected
    }
    return try reply.reports
  }

  // MARK: Access

  /// Makes a token. The answer has its text.
  package func createToken(_ request: TokenRequest) async throws -> TokenReport {
    guard case .tokensReply(let reply) = try await client.request(.createToken(Sheaf_CreateToken(request))),
      let token = try reply.reports.first
    else { throw CoordinatorClient.unexpected }
    return token
  }

  /// Every token, without its text.
  package func tokens() async throws -> [TokenReport] {
    guard case .tokensReply(let reply) = try await client.request(.tokensQuery(.init())) else {
      throw CoordinatorClient.unexpected
    }
    return try reply.reports
  }

  /// Makes a token invalid. Throws with exit code 1 if there is no such token.
  package func revokeToken(_ id: String) async throws {
    guard case .tokensReply(let reply) = try await client.request(.revokeToken(.with { $0.id = id })) else {
      throw CoordinatorClient.unexpected
    }
    guard try !reply.reports.isEmpty else { throw CommandFailure(.work, "there is no token \(id)") }
  }

  /// What was done and refused, the newest first.
  package func audit(_ request: AuditRequest) async throws -> [AuditReport] {
    guard case .auditReply(let reply) = try await client.request(.auditQuery(Sheaf_AuditQuery(request))) else {
      throw CoordinatorClient.unexpected
    }
    return try reply.reports
  }

  // MARK: Films

  /// Reads up to `length` bytes of content from `offset`.
  package func read(_ digest: SHA256Digest, offset: Int64, length: Int) async throws -> Data {
    try await client.content.read(digest, offset: UInt64(offset), length: length)
  }

  /// Reports that this client has the film of a job. The coordinator sends no answer.
  package func fetched(_ job: String) async throws {
    try await client.send(.fetched(.with { $0.job = job }))
  }

  private static func absent(_ job: String) -> CommandFailure {
    CommandFailure(.work, job.isEmpty ? "the name of the job is empty" : "there is no job \(job)")
  }
}

extension Submission {
  /// A document of this machine.
  /// - Parameters:
  ///   - output: The film's path, whose extension selects the container; empty if the document does.
  package init(
    _ edit: EditFile, _ assets: [SubmittedAsset], output: String, options: RenderOptions = RenderOptions(),
    priority: Int32 = 0
  ) {
    self.init(document: Data(edit.bytes), assets: assets)
    name = edit.name
    self.output = output
    self.options = options
    self.priority = priority
    // Makes a submission that is sent twice one job.
    id = (0..<20).map { _ in String("0123456789abcdefghijklmnopqrstuvwxyz".randomElement() ?? "0") }.joined()
  }
}

extension JobStatus {
  /// Throws the reason if the job is not done.
  package func requireDone() throws(CommandFailure) {
    switch state {
    case .done: return
    case .cancelled: throw CommandFailure(.work, "job \(job) was cancelled")
    case .failed where !problems.isEmpty: throw CommandFailure(problems: problems)
    case .failed: throw CommandFailure(.work, "job \(job) failed: \(error ?? "")")
    default: throw CommandFailure(.work, "job \(job) is not done: it is \(state.nameOrUnknown)")
    }
  }
}
