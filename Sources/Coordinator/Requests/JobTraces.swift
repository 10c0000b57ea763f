import FarmAPI
import FarmModel
import Jobs
import Logging
import Runtime
import Synchronization

/// The traces of jobs, for the log and for grants. Kept for the jobs that were used last, and read from the store when
/// they are not there, such as those of jobs that another coordinator has taken.
final class JobTraces: Sendable {
  /// How many jobs are kept.
  static let maximumJobs = 10_000

  private struct State {
    /// Nil: the job has none.
    var traces: [JobID: TraceContext?] = [:]
    /// The job that was kept last is at the end.
    var order: [JobID] = []
    var reading: [JobID: Task<TraceContext?, Never>] = [:]
  }

  private let store: any JobStore
  private let state = Mutex(State())

  init(store: any JobStore) {
    self.store = store
  }

  /// - Parameter trace: Nil: the job has none.
  func keep(_ trace: TraceContext?, of job: JobID) {
    state.withLock { state in
      if state.traces.updateValue(trace, forKey: job) == nil { state.order.append(job) }
      guard state.order.count > Self.maximumJobs else { return }
      // Half of them, so that this is rare.
      for oldest in state.order.prefix(Self.maximumJobs / 2) { state.traces[oldest] = nil }
      state.order.removeFirst(Self.maximumJobs / 2)
    }
  }

  /// The trace of a job as far as it is kept.
  func known(_ job: JobID) -> TraceContext? { state.withLock { $0.traces[job] ?? nil } }

  /// The trace of a job. Nil if it has none, or the store does not answer.
  func trace(of job: JobID) async -> TraceContext? {
    if let kept = state.withLock({ $0.traces[job] }) { return kept }
    let reading = state.withLock { state in
      // Many grants of one job at once share one look: its request may have megabytes.
      if let reading = state.reading[job] { return reading }
      let reading = Task { await read(job) }
      state.reading[job] = reading
      return reading
    }
    return await reading.value
  }

  private func read(_ job: JobID) async -> TraceContext? {
    defer { state.withLock { $0.reading[job] = nil } }
    // Without an answer only the log lacks it.
    guard let request = try? await store.job(job)?.request else { return nil }
    let decoded = try? await BlockingWork.run { try JobRequest(encoded: request) }
    let trace = decoded?.traceparent.flatMap { TraceContext($0) }
    keep(trace, of: job)
    return trace
  }
}

/// Adds the trace of the job that a message is about, by its metadata `job` or `task`.
struct TracedLogHandler: LogHandler {
  private var inner: any LogHandler
  private let traces: JobTraces

  /// A logger that writes to the other one's handler.
  static func logger(_ other: Logger, _ traces: JobTraces) -> Logger {
    var logger = Logger(label: other.label) { _ in TracedLogHandler(inner: other.handler, traces: traces) }
    logger.logLevel = other.logLevel
    return logger
  }

  private init(inner: any LogHandler, traces: JobTraces) {
    self.inner = inner
    self.traces = traces
  }

  var logLevel: Logger.Level {
    get { inner.logLevel }
    set { inner.logLevel = newValue }
  }

  var metadata: Logger.Metadata {
    get { inner.metadata }
    set { inner.metadata = newValue }
  }

  var metadataProvider: Logger.MetadataProvider? {
    get { inner.metadataProvider }
    set { inner.metadataProvider = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { inner[metadataKey: key] }
    set { inner[metadataKey: key] = newValue }
  }

  func log(event: LogEvent) {
    guard var metadata = event.metadata, let trace = trace(of: metadata) else { return inner.log(event: event) }
    metadata["trace"] = "\(trace.traceID)"
    var event = event
    event.metadata = metadata
    inner.log(event: event)
  }

  private func trace(of metadata: Logger.Metadata) -> TraceContext? {
    if let job = metadata["job"] { return traces.known(JobID("\(job)")) }
    // A task is named by its job and its ordinal.
    guard let task = metadata["task"], let job = "\(task)".split(separator: "/").first else { return nil }
    return traces.known(JobID(String(job)))
  }
}
