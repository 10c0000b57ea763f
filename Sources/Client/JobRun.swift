import CompositionModel
import Coordinator
import Digest
import FoundationEssentials
import SwiftProtobuf
import SystemSupport
package import Wire

/// A client's operations on jobs: upload the media, submit the document, wait for the end.
package struct JobRun: Sendable {
  private let client: CoordinatorClient

  package init(_ client: CoordinatorClient) {
    self.client = client
  }

  /// Uploads the files that the farm does not have, each once. Throws with exit code 1 if a file cannot be uploaded.
  package func provide(_ assets: [Sheaf_SubmittedAsset]) async throws {
    var seen: Set<Data> = []
    let contents = assets.map(\.content).filter { seen.insert($0.digest).inserted }
    guard !contents.isEmpty else { return }
    guard
      case .findMissingReply(let reply) = try await client.request(.findMissing(.with { $0.contents = contents }))
    else { throw CoordinatorClient.unexpected }
    for entry in contents where reply.missing.contains(entry.digest) {
      guard let content = entry.content else { continue }
      do {
        let file = try await BlockingWork.run { try OpenFile.open(entry.path) }
        try await client.content.upload(file, content)
      } catch let error as WireError where error.code == .content {
        throw CommandFailure(.work, "\(entry.path) could not be uploaded: \(error)")
      }
    }
  }

  /// Submits a document whose media the farm has. Returns the job's name. Throws with the document's problems.
  package func submit(
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
    guard case .submitReply(let reply) = try await client.request(.submit(submit)) else {
      throw CoordinatorClient.unexpected
    }
    guard reply.problems.isEmpty else { throw CommandFailure(problems: reply.problems.map { Problem($0) }) }
    return reply.job
  }

  /// Waits until a job has ended, in whatever state. Throws `CancellationError` if this task is cancelled.
  /// - Parameters:
  ///   - cancellingAt: The coordinator at which the job is cancelled when this task is; nil leaves the job alone.
  ///   - report: Receives the status at each change.
  package func wait(
    for job: String, cancellingAt endpoint: CoordinatorClient.Endpoint? = nil,
    report: @escaping @Sendable (Sheaf_JobStatus) -> Void
  ) async throws -> Sheaf_JobStatus {
    do {
      try await client.connection.send(.watchJob(.with { $0.job = job }))
      while let message = try await client.reply() {
        guard case .statusReply(let reply) = message else { throw CoordinatorClient.unexpected }
        guard let status = reply.jobs.first else { throw CommandFailure(.work, "there is no job \(job)") }
        report(status)
        if status.state.hasEnded { return status }
      }
    } catch let error as WireError {
      // The connection of a task that is cancelled is closed.
      guard error.code == .closed, Task.isCancelled else { throw error }
    }
    if let endpoint {
      // On a connection and in a task of its own, because this task is cancelled.
      let cancelling = Task {
        try await CoordinatorClient.run(endpoint) { try await $0.request(.cancelJob(.with { $0.job = job })) }
      }
      _ = try await cancelling.value
    }
    throw CancellationError()
  }

  /// Throws with exit code 1 if there is no such job.
  package func status(of job: String) async throws -> Sheaf_JobStatus {
    guard case .statusReply(let reply) = try await client.request(.statusQuery(.with { $0.job = job })) else {
      throw CoordinatorClient.unexpected
    }
    guard let status = reply.jobs.first else { throw CommandFailure(.work, "there is no job \(job)") }
    return status
  }
}

extension Sheaf_JobState {
  package var hasEnded: Bool { self == .done || self == .failed || self == .cancelled }

  /// As in the output of commands.
  package var name: String {
    switch self {
    case .probing: "probing"
    case .rendering: "rendering"
    case .done: "done"
    case .failed: "failed"
    case .cancelled: "cancelled"
    case .unspecified, .UNRECOGNIZED: "unknown"
    }
  }
}

extension Sheaf_JobStatus {
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
