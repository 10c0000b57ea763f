import CompositionModel
import ContentStorage
package import Coordinator
package import Digest
package import FoundationEssentials
import SwiftProtobuf
import SystemSupport
package import Wire

/// A client's operations on jobs over one connection: upload the media, submit the document, wait for the end.
package struct JobRun: Sendable {
  /// A document that is submitted, and how.
  package struct Submission: Sendable {
    package var edit: EditFile
    package var assets: [Sheaf_SubmittedAsset]
    /// The film's path, whose extension selects the container; empty if the document does.
    package var output: String
    /// In the document's notation of times; empty selects the default.
    package var segmentDuration: String
    package var priority: Int32
    /// Whether damaged media fail the job.
    package var strictMedia: Bool
    /// Whether a warning about the document fails the job.
    package var strict: Bool
    /// Makes a submission that is sent twice one job.
    let id = (0..<20).map { _ in String("0123456789abcdefghijklmnopqrstuvwxyz".randomElement() ?? "0") }.joined()

    package init(
      _ edit: EditFile, _ assets: [Sheaf_SubmittedAsset], output: String, segmentDuration: String, priority: Int32 = 0,
      strictMedia: Bool = false, strict: Bool = false
    ) {
      self.edit = edit
      self.assets = assets
      self.output = output
      self.segmentDuration = segmentDuration
      self.priority = priority
      self.strictMedia = strictMedia
      self.strict = strict
    }
  }

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
    _ assets: [Sheaf_SubmittedAsset], progress: @escaping @Sendable (TransferProgress) -> Void = { _ in },
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

  private func missing(_ assets: [Sheaf_SubmittedAsset]) async throws -> [(path: String, content: Content)] {
    var seen: Set<Data> = []
    let contents = assets.map(\.content).filter { seen.insert($0.digest).inserted }
    var files: [(path: String, content: Content)] = []
    for start in stride(from: 0, to: contents.count, by: Self.maximumContents) {
      let part = Array(contents[start..<min(start + Self.maximumContents, contents.count)])
      guard case .findMissingReply(let reply) = try await client.request(.findMissing(.with { $0.contents = part }))
      else { throw CoordinatorClient.unexpected }
      let missing = Set(reply.missing)
      for entry in part where missing.contains(entry.digest) {
        if let content = entry.content { files.append((entry.path, content)) }
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
        return try await client.content.upload(file, content, progress: progress)
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
    let submit = Sheaf_Submit.with {
      $0.document = Data(submission.edit.bytes)
      $0.assets = submission.assets
      $0.name = submission.edit.name
      $0.priority = submission.priority
      $0.segmentDuration = submission.segmentDuration
      $0.output = submission.output
      $0.submission = submission.id
      $0.strictMedia = submission.strictMedia
      $0.strict = submission.strict
    }
    guard case .submitReply(let reply) = try await client.request(.submit(submit)) else {
      throw CoordinatorClient.unexpected
    }
    guard reply.problems.isEmpty else { throw CommandFailure(problems: reply.problems.map { Problem($0) }) }
    return reply.job
  }

  // MARK: Jobs

  /// Waits until a job has ended, in whatever state. Throws `CancellationError` if this task is cancelled.
  /// - Parameter report: Receives the status, and the farm's notices, at each change. What it throws ends the wait.
  package func wait(
    for job: String, report: @escaping @Sendable (Sheaf_JobStatus, [String]) throws -> Void
  ) async throws -> Sheaf_JobStatus {
    try await client.send(.watchJob(.with { $0.job = job }))
    while let message = try await client.reply() {
      guard case .statusReply(let reply) = message else { throw CoordinatorClient.unexpected }
      guard let status = reply.jobs.first else { throw Self.absent(job) }
      try report(status, reply.notices)
      if status.state.hasEnded { return status }
    }
    // Nil comes only when this task is cancelled.
    throw CancellationError()
  }

  /// Throws with exit code 1 if there is no such job.
  package func status(of job: String, withTasks: Bool = false) async throws -> Sheaf_JobStatus {
    // The query without a name is that of all jobs.
    guard !job.isEmpty else { throw Self.absent(job) }
    let reply = try await jobs(
      .with {
        $0.job = job
        $0.withTasks = withTasks
      })
    guard let status = reply.jobs.first else { throw Self.absent(job) }
    return status
  }

  /// Every job, newest first, without tasks, and the farm's notices; or those of the query.
  package func jobs(_ query: Sheaf_StatusQuery = .init()) async throws -> Sheaf_StatusReply {
    guard case .statusReply(let reply) = try await client.request(.statusQuery(query)) else {
      throw CoordinatorClient.unexpected
    }
    return reply
  }

  /// The most jobs that are asked for at once.
  private static let largestPage = 1000

  /// Jobs, newest first, without tasks, and the farm's notices.
  /// - Parameters:
  ///   - limit: The most that are returned.
  ///   - after: Only jobs that were submitted before this one. Empty: from the newest on. Throws with exit code 1 if
  ///     there is no such job.
  ///   - states: Only jobs in these states. Empty: in any.
  package func jobs(
    limit: Int, after: String, states: [Sheaf_JobState]
  ) async throws -> Sheaf_StatusReply {
    var all = Sheaf_StatusReply()
    var last = after
    while true {
      let count = min(limit - all.jobs.count, Self.largestPage)
      let page = try await jobs(
        .with {
          $0.limit = UInt32(clamping: count)
          $0.after = last
          $0.states = states
        })
      all.notices = page.notices
      // A coordinator may have fewer to a page.
      all.jobs += page.jobs.prefix(count)
      guard let end = page.jobs.last, all.jobs.count < limit else { return all }
      last = end.job
    }
  }

  /// Stops a job. Returns the state that it is in then. Throws with exit code 1 if there is no such job.
  package func cancel(_ job: String) async throws -> Sheaf_JobState {
    guard case .cancelReply(let reply) = try await client.request(.cancelJob(.with { $0.job = job })) else {
      throw CoordinatorClient.unexpected
    }
    guard reply.state != .unspecified else { throw Self.absent(job) }
    return reply.state
  }

  /// Takes up a job that has failed or was cancelled where it stopped. Throws with exit code 1 if that cannot be.
  package func retry(_ job: String) async throws {
    guard case .retryReply(let reply) = try await client.request(.retryJob(.with { $0.job = job })) else {
      throw CoordinatorClient.unexpected
    }
    guard reply.error.isEmpty else {
      throw CommandFailure(.work, "job \(job) cannot be taken up again: \(reply.error)")
    }
    guard reply.state != .unspecified else { throw Self.absent(job) }
  }

  /// Deletes a job that has ended. Throws with exit code 1 if there is no such job, or it has not ended.
  package func delete(_ job: String) async throws {
    guard case .deleteReply(let reply) = try await client.request(.deleteJob(.with { $0.job = job })) else {
      throw CoordinatorClient.unexpected
    }
    if reply.deleted { return }
    guard reply.state != .unspecified else { throw Self.absent(job) }
    var failure = CommandFailure(
      .work, "job \(job) is not deleted, because it has not ended: it is \(reply.state.name)")
    failure.advice = ["to stop it: sheaf cancel \(job)"]
    throw failure
  }

  /// The workers of all coordinators of the farm.
  package func workers() async throws -> [Sheaf_WorkersReply.Worker] {
    guard case .workersReply(let reply) = try await client.request(.workersQuery(.init())) else {
      throw CoordinatorClient.unexpected
    }
    return reply.workers
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

extension Sheaf_JobState {
  package var hasEnded: Bool { self == .done || self == .failed || self == .cancelled }

  /// As in the output of commands.
  package var name: String {
    switch self {
    case .probing: "probing"
    case .measuring: "measuring"
    case .rendering: "rendering"
    case .done: "done"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case .unspecified, .UNRECOGNIZED: "unknown"
    }
  }
}

extension Sheaf_JobStatus {
  /// The outputs of a document that has several. Empty: it has one.
  package var outputList: [OutputReport] {
    get throws(CommandFailure) {
      do {
        return try OutputReport.list(outputs)
      } catch {
        throw CommandFailure(.work, "the outputs of job \(job) are those of another version: \(error)")
      }
    }
  }

  /// Throws the reason if the job is not done.
  package func requireDone() throws(CommandFailure) {
    switch state {
    case .done: return
    case .cancelled: throw CommandFailure(.work, "job \(job) was cancelled")
    case .failed where !problems.isEmpty: throw CommandFailure(problems: problems.map { Problem($0) })
    case .failed: throw CommandFailure(.work, "job \(job) failed: \(error)")
    default: throw CommandFailure(.work, "job \(job) is not done: it is \(state.name)")
    }
  }
}
