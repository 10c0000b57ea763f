import Client
import ContentStorage
import FarmAPI
import FarmModel
public import FoundationEssentials
import SystemSupport
import Wire

/// A farm's coordinator. Each operation connects again when the connection is lost, and goes on where it was.
public struct Farm: Sendable {
  let client: FarmClient

  /// - Parameters:
  ///   - host: The name or the IP address of the coordinator's machine. It is not reached before the first operation.
  ///   - port: The TCP port at which the coordinator listens.
  ///   - token: The farm's token; empty if it has none.
  public init(host: String, port: Int = 7433, token: String = "") {
    client = FarmClient(
      CoordinatorClient.Endpoint(address: WireAddress(host: host, port: port), token: token)
    ) { _ in }
  }

  /// - Parameters:
  ///   - address: Such as `farm.example:7433`, or a host alone. The call throws if it is no address.
  ///   - token: The farm's token; empty if it has none.
  public init(_ address: String, token: String = "") throws(SheafError) {
    guard let parsed = WireAddress(address), parsed.port > 0 else {
      throw SheafError(.misuse, "\"\(address)\" is not an address; an address is host:port, such as farm.example:7433")
    }
    self.init(host: parsed.host, port: parsed.port, token: token)
  }

  /// A job of the farm.
  public struct Job: Sendable, Hashable {
    public let id: String

    /// A job that was submitted before, by this program or another.
    public init(id: String) { self.id = id }
  }

  public enum JobState: Sendable, Hashable {
    case probing, measuring, rendering, done, failed, cancelled
    /// A state of a newer coordinator.
    case unknown
  }

  public struct JobStatus: Sendable, Hashable {
    public var state: JobState
    public var progress: ExportSession.Progress
    /// Why the job failed; empty otherwise.
    public var error: String
    public var problems: [Edit.Problem]
    /// What the job waits for, for a person; empty if its tasks run.
    public var waitsFor: String
  }

  /// Uploads the media that the farm does not have, and submits the edit. Throws with every problem of the edit.
  /// - Parameters:
  ///   - edit: Its media are files of this machine.
  ///   - name: The film's name, whose extension selects the container. Nil: the edit's own path. Several outputs have
  ///     their own names.
  ///   - priority: Jobs of a higher priority are rendered first.
  public func submit(_ edit: Edit, as name: String? = nil, priority: Int = 0) async throws(SheafError) -> Job {
    try await sheafErrors {
      let file = try EditFile(edit, film: name ?? edit.export.path)
      try file.checkOutput(name)
      return Job(id: try await submit(file, as: name ?? "", over: nil, priority: Int32(clamping: priority)))
    }
  }

  /// - Parameter over: The local path of the film; nil if it is not fetched.
  func submit(_ file: EditFile, as output: String, over path: String?, priority: Int32 = 0) async throws -> String {
    let (assets, missing) = try await file.assets(FileContentCache(directory: try ProcessEnvironment.cacheDirectory))
    let problems = file.document.problems + missing + (path.map { file.replaced(by: $0, assets) } ?? [])
    guard problems.isEmpty else { throw CommandFailure(problems: problems) }
    // The containers of several outputs are the edit's.
    let name = file.document.hasOutputs ? "" : output
    let submission = Submission(file, assets, output: name, segmentDuration: "", priority: priority)
    return try await client.submit(submission) { _ in }
  }

  public func status(of job: Job) async throws(SheafError) -> JobStatus {
    try await sheafErrors { JobStatus(try await client.run { try await $0.status(of: job.id) }) }
  }

  /// Waits until a job has ended, in whatever state.
  /// - Parameters:
  ///   - job: Stays as it is when the calling task is cancelled.
  ///   - report: Receives the status at each change.
  @discardableResult
  public func wait(
    for job: Job, report: @escaping @Sendable (JobStatus) -> Void = { _ in }
  ) async throws(SheafError) -> JobStatus {
    try await sheafErrors {
      JobStatus(
        try await client.wait(for: job.id, cancelsJob: false) { status in report(JobStatus(status)) })
    }
  }

  /// Fetches the film of a job that is done, and checks it. The file appears under its name when it is complete.
  ///
  /// If the task is cancelled or the farm is away for too long, what was fetched stays in the hidden file
  /// `.NAME.DIGEST.part` beside the film. The next fetch of the same film to the same URL goes on there, also one of
  /// another process. A fetch of another film to the same URL removes it. A fetch that has received nothing leaves
  /// nothing.
  /// - Parameters:
  ///   - job: A job that is done; of another the call throws.
  ///   - url: The file, or the folder of several outputs, which is made if it is not there.
  public func fetch(_ job: Job, to url: URL) async throws(SheafError) -> ExportSession.Film {
    try await sheafErrors {
      let output = try FilmDestination(url.path, outputs: nil)
      let status = try await client.fetch(job.id, into: output) { _ in }
      return ExportSession.Film(status, at: url, output.written)
    }
  }

  /// Stops a job. Returns the state that it is in then.
  @discardableResult
  public func cancel(_ job: Job) async throws(SheafError) -> JobState {
    try await sheafErrors { JobState(try await client.run { try await $0.cancel(job.id) }) }
  }
}

extension Farm.JobState {
  init(_ state: FarmModel.JobState?) {
    self =
      switch state {
      case .probing: .probing
      case .measuring: .measuring
      case .rendering: .rendering
      case .done: .done
      case .failed: .failed
      case .cancelled: .cancelled
      case nil: .unknown
      }
  }
}

extension Farm.JobStatus {
  init(_ status: FarmAPI.JobStatus) {
    self.init(
      state: Farm.JobState(status.state),
      progress: ExportSession.Progress(status, after: .init(fraction: 0, framesDone: 0, framesTotal: 0)),
      error: status.error ?? "", problems: status.problems, waitsFor: status.waitsFor ?? "")
  }
}
