import CompositionModel
import Digest
import FoundationEssentials
import Glibc
import SwiftProtobuf
import Wire

/// A client's side of a job: media to the farm, the document after it, and what becomes of it.
struct JobRun: Sendable {
  let client: CoordinatorClient

  /// Uploads what the farm does not have: each file once.
  func provide(_ assets: [Sheaf_SubmittedAsset]) async throws {
    var seen: Set<Data> = []
    let contents = assets.map(\.content).filter { seen.insert($0.digest).inserted }
    guard !contents.isEmpty else { return }
    guard case .offerReply(let reply) = try await client.ask(.offer(.with { $0.contents = contents })) else {
      throw CoordinatorClient.unexpected
    }
    for content in contents where reply.missing.contains(content.digest) {
      guard let digest = content.sha256 else { continue }
      let file = open(content.path, O_RDONLY | O_CLOEXEC)
      guard file >= 0 else { throw VaultError.system("opening \(content.path)", errno: errno) }
      defer { close(file) }
      do {
        try await client.content.upload(descriptor: file, digest: digest, size: Int64(content.size))
      } catch let error as WireError where error.code == .content {
        throw CommandFailure(.work, "\(content.path) could not be uploaded: \(error)")
      }
    }
  }

  /// The job's name. Throws with the document's problems.
  func submit(
    _ edit: EditFile, _ assets: [Sheaf_SubmittedAsset], output: String, segmentDuration: String, priority: Int32
  ) async throws -> String {
    let submit = Sheaf_Submit.with {
      $0.document = Data(edit.bytes)
      $0.assets = assets
      $0.name = String(edit.path.split(separator: "/").last ?? "")
      $0.priority = priority
      $0.segmentDuration = segmentDuration
      $0.output = output
    }
    guard case .submitReply(let reply) = try await client.ask(.submit(submit)) else {
      throw CoordinatorClient.unexpected
    }
    guard reply.problems.isEmpty else { throw CommandFailure(problems: reply.problems.map(Problem.init)) }
    return reply.job
  }

  /// Waits for a job's end, however it ends, telling of it on the way.
  /// - Parameter cancellingAt: Where to cancel the job when this task is cancelled; nil leaves it alone.
  func wait(
    for job: String, cancellingAt endpoint: CoordinatorClient.Endpoint? = nil,
    tell: @escaping @Sendable (Sheaf_JobStatus) -> Void
  ) async throws -> Sheaf_JobStatus {
    do {
      try await client.connection.send(.watchJob(.with { $0.job = job }))
      while let message = try await client.reply() {
        guard case .statusReply(let reply) = message else { throw CoordinatorClient.unexpected }
        guard let status = reply.jobs.first else { throw CommandFailure(.work, "there is no job \(job)") }
        tell(status)
        if status.hasEnded { return status }
      }
    } catch let error as WireError {
      // A task that is cancelled takes its connection with it.
      guard error.code == .closed, Task.isCancelled else { throw error }
    }
    if let endpoint {
      // On a connection and in a task of its own: those of this task are being torn down.
      let cancelling = Task {
        try await CoordinatorClient.run(endpoint) { try await $0.ask(.cancelJob(.with { $0.job = job })) }
      }
      _ = try await cancelling.value
    }
    throw CancellationError()
  }

  func status(of job: String) async throws -> Sheaf_JobStatus {
    guard case .statusReply(let reply) = try await client.ask(.statusQuery(.with { $0.job = job })) else {
      throw CoordinatorClient.unexpected
    }
    guard let status = reply.jobs.first else { throw CommandFailure(.work, "there is no job \(job)") }
    return status
  }
}

extension Problem {
  init(_ message: Sheaf_Problem) {
    self.init(pointer: message.pointer, message: message.message)
  }
}

extension Sheaf_JobStatus {
  var hasEnded: Bool { state == "done" || state == "failed" || state == "cancelled" }

  /// Throws what a person is told of a job that came to no film.
  func requireDone() throws {
    switch state {
    case "done": return
    case "cancelled": throw CommandFailure(.work, "job \(job) was cancelled")
    case "failed" where !problems.isEmpty: throw CommandFailure(problems: problems.map(Problem.init))
    case "failed": throw CommandFailure(.work, "job \(job) failed: \(error)")
    default: throw CommandFailure(.work, "job \(job) is not done yet: it is \(state)")
    }
  }
}
