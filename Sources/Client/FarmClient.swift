import Digest
package import FarmAPI
import FarmModel
import FoundationEssentials
import Synchronization
import Wire

/// A client of a farm that outlives its connections: when the coordinator goes away, each operation connects again, to
/// whichever coordinator answers at the address then, and goes on where it was.
package final class FarmClient: Sendable {
  /// What a person who waits is to know.
  package enum Notice: Sendable, Hashable {
    /// The coordinator does not answer any more; the client tries again.
    case lost(reason: String)
    case connectedAgain
    /// The coordinator takes no uploads for now; the client tries again.
    case uploadWaits(reason: String)
  }

  package let endpoint: CoordinatorClient.Endpoint
  private let limits: Reconnection.Limits
  private let reconnection: Mutex<Reconnection>
  private let notice: @Sendable (Notice) -> Void
  private let start = ContinuousClock.now

  /// - Parameter notice: Receives each notice once, not with every attempt.
  package init(
    _ endpoint: CoordinatorClient.Endpoint, limits: Reconnection.Limits = .init(),
    notice: @escaping @Sendable (Notice) -> Void
  ) {
    self.endpoint = endpoint
    self.limits = limits
    reconnection = Mutex(Reconnection(limits))
    self.notice = notice
  }

  /// Runs `body` on a connection, and from its beginning on a new one whenever the connection is lost. Throws what
  /// `body` throws, `CancellationError` if this task is cancelled, or a `CommandFailure` with exit code 69 if the
  /// coordinator is away for too long.
  package func run<R: Sendable>(_ body: @escaping @Sendable (JobRun) async throws -> R) async throws -> R {
    while true {
      do {
        return try await CoordinatorClient.run(
          endpoint, limits: limits, answered: answered
        ) { [limits] in
          try await body(JobRun($0, uploadPause: limits.longestPause))
        }
      } catch let error as WireError {
        // The connection of a task that is cancelled is closed.
        try Task.checkCancellation()
        try await pause(after: error)
      }
    }
  }

  private func answered() {
    if reconnection.withLock({ $0.answered() }) { notice(.connectedAgain) }
  }

  private func pause(after error: WireError) async throws {
    let now = start.duration(to: .now)
    switch reconnection.withLock({ $0.failed(error, at: now) }) {
    case .retry(let pause, let isFirst):
      if isFirst { notice(.lost(reason: error.message)) }
      try await Task.sleep(for: pause)
    case .outlasted:
      let minutes = limits.longestOutage.components.seconds / 60
      throw CommandFailure(
        .unavailable, "the coordinator at \(endpoint.place) has not answered for \(minutes) minutes: \(error.message)"
      )
    case .giveUp: throw error
    }
  }

  // MARK: Operations

  /// Uploads the media that the farm does not have, and submits the document. It is one job, however often the
  /// connection is lost meanwhile. Returns the job's name. Throws with the document's problems.
  /// - Parameter progress: Receives how much is uploaded.
  package func submit(
    _ submission: Submission, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> String {
    let notice = notice
    return try await run { run in
      try await run.provide(submission.assets, progress: progress) { notice(.uploadWaits(reason: $0)) }
      return try await run.submit(submission)
    }
  }

  /// Waits until a job has ended, in whatever state. Throws `CancellationError` if this task is cancelled.
  /// - Parameters:
  ///   - cancelsJob: Whether the job is cancelled when this task is. It is asked then.
  ///   - report: Receives the status, with the farm's notices, at each change. What it throws ends the wait.
  package func wait(
    for job: String, cancelsJob: @escaping @Sendable @autoclosure () -> Bool,
    report: @escaping @Sendable (JobStatus) throws -> Void
  ) async throws -> JobStatus {
    do {
      return try await run { try await $0.wait(for: job, report: report) }
    } catch {
      guard Task.isCancelled, cancelsJob() else { throw error }
      // In a task of its own, because this task is cancelled.
      let cancelling = Task { [endpoint, limits] in
        try await CoordinatorClient.run(endpoint, limits: limits) { try await JobRun($0).cancel(job) }
      }
      do {
        _ = try await cancelling.value
      } catch {
        throw CommandFailure(.interrupted, "job \(job) was not cancelled: \(error)")
      }
      throw CancellationError()
    }
  }

  /// Fetches the film of a job that is done, or the files of its outputs, from where an earlier fetch was interrupted,
  /// checks it, and reports to the farm that it was fetched. Returns the job's status.
  /// - Parameter progress: Receives how much is fetched.
  package func fetch(
    _ job: String, into destination: FilmDestination, progress: @escaping @Sendable (TransferProgress) -> Void
  ) async throws -> JobStatus {
    try await run { run in
      let status = try await run.status(of: job)
      try status.requireDone()
      guard let film = status.output?.content else { throw CoordinatorClient.unexpected }
      do {
        try await destination.download(film, outputs: status.outputs ?? [], progress: progress) {
          try await run.read(film.digest, offset: $0, length: $1)
        }
      } catch let error as WireError where error.code == .content {
        throw LostFilm(job: job, reason: error.message)
      }
      // The film is here, and that is what counts: without the report the farm keeps its copy for longer.
      try? await run.fetched(job)
      return status
    }
  }
}

/// The farm does not have the film of a job that is done any more, such as because a disk fault changed it. The
/// document has to be submitted again, and then only what is missing is made again.
package struct LostFilm: Error, Sendable, Hashable {
  package var job: String
  package var reason: String

  package init(job: String, reason: String) {
    self.job = job
    self.reason = reason
  }
}

extension CommandFailure {
  /// The failure of a command that does not submit the document again.
  package init(_ error: LostFilm) {
    self.init(.work, "the film of job \(error.job) cannot be fetched: \(error.reason)")
    advice = ["submit the document again: only what is missing is made again"]
  }
}

/// How far a transfer of content is.
package struct TransferProgress: Sendable, Hashable {
  package enum Direction: Sendable, Hashable {
    case upload
    case download
  }

  package var direction: Direction
  /// The name of the file that is transferred now.
  package var name: String
  /// In bytes, of all files together.
  package var done: Int64
  package var total: Int64

  package init(_ direction: Direction, name: String, done: Int64, total: Int64) {
    self.direction = direction
    self.name = name
    self.done = done
    self.total = total
  }
}
