import Client
import FarmAPI
import FarmModel
public import FoundationEssentials

extension Farm {
  /// A job of the farm.
  public struct Job: Sendable, Hashable {
    public let id: String

    /// A job that was submitted before, by this program or another.
    public init(id: String) { self.id = id }
  }

  public enum JobState: Sendable, Hashable, CaseIterable {
    case probing, measuring, rendering, done, failed, cancelled
    /// A state of a newer coordinator.
    case unknown

    /// Whether it is done, has failed or was cancelled.
    public var hasEnded: Bool { self == .done || self == .failed || self == .cancelled }
  }

  public struct JobStatus: Sendable, Hashable {
    public var job: Job
    /// The name of the edit's film, for people.
    public var name: String
    public var state: JobState
    /// Jobs of a higher priority are rendered first.
    public var priority: Int
    /// The only pool whose workers render it. Nil: all workers do.
    public var pool: String?
    /// Its phase is ``RenderPhase/ended`` when the job has ended, in whatever state. Only ``Farm/statuses(of:)`` and
    /// ``Farm/wait(for:report:)`` have its rate, which takes several looks.
    public var progress: ExportSession.Progress
    /// By the farm's clock, to a millisecond, as the next two. Nil: the coordinator is of an older version.
    public var submitted: Date?
    /// Nil: it has not ended.
    public var ended: Date?
    /// When the first task of the film was granted to a worker. Nil: none is done.
    public var renderingSince: Date?
    /// Why the job failed; empty otherwise.
    public var error: String
    public var problems: [Edit.Problem]
    /// What the job waits for, for a person; empty if its tasks run.
    public var waitsFor: String
  }

  /// Which jobs are listed. Those of every property that is set.
  public struct JobFilter: Sendable, Hashable {
    /// Only jobs in these states; empty: in any. `.unknown` selects none.
    public var states: Set<JobState>
    /// Only jobs whose name has this as a part, whatever the case of the letters. Empty: any name.
    public var name: String
    /// Only jobs that were submitted at this time or later, to a millisecond.
    public var submittedSince: Date?
    /// Only jobs that were submitted before this time, to a millisecond.
    public var submittedBefore: Date?

    public init(
      states: Set<JobState> = [], name: String = "", submittedSince: Date? = nil, submittedBefore: Date? = nil
    ) {
      self.states = states
      self.name = name
      self.submittedSince = submittedSince
      self.submittedBefore = submittedBefore
    }
  }

  /// The farm's jobs, newest first, as many as there are. They are asked for in pages while the sequence is read, and
  /// each iteration begins anew. Jobs that are submitted meanwhile are not in it.
  ///
  ///     for try await status in farm.jobs(.init(states: [.failed])) { print(status.job.id, status.error) }
  ///
  /// A job that the reader has got may be deleted before it asks for the next one. Iteration throws `SheafError`:
  /// `.unavailable` if the coordinator cannot be reached, `.failed` if the last job of a page was deleted by somebody
  /// else before the next page was asked for.
  public struct Jobs: AsyncSequence, Sendable {
    public typealias Element = JobStatus

    let client: FarmClient
    let filter: JobFilter
    let pageSize: Int

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    public struct Iterator: AsyncIteratorProtocol {
      private let client: FarmClient
      private let pageSize: Int
      /// Nil: nothing is selected, or the last page is here.
      private var query: JobQuery?
      private var page: [JobStatus] = []

      fileprivate init(_ jobs: Jobs) {
        client = jobs.client
        pageSize = jobs.pageSize
        query = JobQuery(jobs.filter)
        query?.limit = jobs.pageSize
      }

      public mutating func next() async throws(SheafError) -> JobStatus? {
        // The next page is asked for while its cursor, the last job of this one, is not yet given to the reader.
        while page.count <= 1, let query { try await read(query) }
        return page.isEmpty ? nil : page.removeFirst()
      }

      private mutating func read(_ query: JobQuery) async throws(SheafError) {
        let client = client
        let found = try await sheafErrors { try await client.run { try await $0.jobs(query) } }.jobs
        page += found.map { JobStatus($0) }
        // A coordinator may have fewer to a page than it is asked for: only an empty one is the last.
        self.query?.after = found.last?.job
        if found.isEmpty { self.query = nil }
      }
    }
  }

  /// The farm's jobs, newest first.
  /// - Parameters:
  ///   - filter: Which of them.
  ///   - pageSize: How many are asked for at a time, from 1 to 1000.
  public func jobs(_ filter: JobFilter = JobFilter(), pageSize: Int = 200) -> Jobs {
    Jobs(client: client, filter: filter, pageSize: min(max(pageSize, 1), JobQuery.mostLimit))
  }

  /// Throws `SheafError` with the code `.failed` if there is no such job.
  public func status(of job: Job) async throws(SheafError) -> JobStatus {
    try await sheafErrors { JobStatus(try await client.run { try await $0.status(of: job.id) }) }
  }

  /// The status of a job now and at each change, with its phase, its rate and the time that is left, until the job has
  /// ended, in whatever state: that status is the last. Statuses that are not read in time are left out.
  ///
  ///     for try await status in farm.statuses(of: job) { print(status.progress.phase, status.progress.fraction) }
  ///
  /// Iteration throws `SheafError`: `.failed` if there is no such job, `.unavailable` if the coordinator is away for
  /// more than five minutes. The job goes on when the reader stops.
  public func statuses(of job: Job) -> AsyncThrowingStream<JobStatus, any Error> {
    let (stream, continuation) = AsyncThrowingStream.makeStream(
      of: JobStatus.self, bufferingPolicy: .bufferingNewest(1))
    let waiting = Task {
      do throws(SheafError) {
        try await wait(for: job) { continuation.yield($0) }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in waiting.cancel() }
    return stream
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
      let progress = JobProgress()
      let status = try await client.wait(for: job.id, cancelsJob: false) { status in
        report(JobStatus(status, progress.show(status)))
      }
      return JobStatus(status, progress.show(status))
    }
  }

  /// Stops a job. Returns the state that it is in then. Throws `SheafError` with the code `.failed` if there is no such
  /// job.
  @discardableResult
  public func cancel(_ job: Job) async throws(SheafError) -> JobState {
    try await sheafErrors { JobState(try await client.run { try await $0.cancel(job.id) }) }
  }

  /// Takes up a job that has failed or was cancelled where it stopped: what it has rendered is not rendered again.
  /// Throws `SheafError` with the code `.failed` if the job is in another state, or there is no such job.
  public func retry(_ job: Job) async throws(SheafError) {
    try await sheafErrors { try await client.run { try await $0.retry(job.id) } }
  }

  /// Deletes a job that has ended. Its film may be removed from the farm afterwards, unless another job has the same.
  /// Throws `SheafError` with the code `.failed` if the job has not ended, or there is no such job.
  public func delete(_ job: Job) async throws(SheafError) {
    try await sheafErrors { try await client.run { try await $0.delete(job.id) } }
  }
}

// MARK: - From the farm's own values

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

extension JobQuery {
  /// Nil: nothing is selected.
  fileprivate init?(_ filter: Farm.JobFilter) {
    self.init()
    states = FarmModel.JobState.allCases.filter { filter.states.contains(Farm.JobState($0)) }
    if states.isEmpty, !filter.states.isEmpty { return nil }
    name = filter.name
    since = filter.submittedSince.map { Timestamp($0) }
    before = filter.submittedBefore.map { Timestamp($0) }
  }
}

extension Timestamp {
  fileprivate init(_ date: Date) {
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    self.init(milliseconds: Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max))
  }

  var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

extension Farm.JobStatus {
  /// - Parameter progress: Nil: that of this look alone.
  init(_ status: FarmAPI.JobStatus, _ progress: ExportSession.Progress? = nil) {
    self.init(
      job: Farm.Job(id: status.job), name: status.name, state: Farm.JobState(status.state),
      priority: Int(status.priority), pool: status.pool, progress: progress ?? JobProgress().show(status),
      submitted: status.submittedAt?.date, ended: status.endedAt?.date, renderingSince: status.renderingSince?.date,
      error: status.error ?? "", problems: status.problems, waitsFor: status.waitsFor ?? "")
  }
}
