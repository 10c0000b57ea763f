import FarmModel
import Logging

/// Logs what becomes of the worker's tasks: when each starts, and once how it ends.
struct TaskLog {
  private struct Entry {
    var kind: String
    var job: String
    var trace: String
    var start: ContinuousClock.Instant
  }

  private let logger: Logger
  /// The tasks that are under way.
  private var entries: [Lease: Entry] = [:]

  init(_ logger: Logger) {
    self.logger = logger
  }

  mutating func record(_ effect: AgentEffect, at now: ContinuousClock.Instant) {
    switch effect {
    case .start(_, let grant):
      entries[grant.lease] = Entry(kind: grant.kind, job: grant.job, trace: grant.trace, start: now)
      logger.info("task started", metadata: metadata(of: grant.lease, at: nil))
    case .sendFailure(let lease, let failure): end(lease, failure, at: now)
    default: break
    }
  }

  mutating func record(_ event: AgentEvent, at now: ContinuousClock.Instant) {
    switch event {
    case .publishAnswered(let lease, .published): end(lease, "task done", at: now)
    case .publishAnswered(let lease, .stale): end(lease, "task done, but another worker was faster", at: now)
    case .heartbeatAnswered(let cancelled, _):
      for lease in cancelled { end(lease, "task cancelled by the coordinator", at: now) }
    default: break
    }
  }

  private mutating func end(_ lease: Lease, _ message: Logger.Message, at now: ContinuousClock.Instant) {
    guard entries[lease] != nil else { return }
    logger.info(message, metadata: metadata(of: lease, at: now))
    entries[lease] = nil
  }

  /// A failure is sent again on the next connection, and logged once.
  private mutating func end(_ lease: Lease, _ failure: TaskFailure, at now: ContinuousClock.Instant) {
    guard entries[lease] != nil else { return }
    var metadata = metadata(of: lease, at: now)
    metadata["reason"] = "\(failure.message)"
    logLines(of: failure.process, lease)
    if let process = failure.process {
      metadata[process.signal == 0 ? "exit code" : "signal"] =
        "\(process.signal == 0 ? process.exitCode : process.signal)"
      metadata["peak MiB"] = "\(process.peakBytes >> 20)"
    }
    if failure.end == .released {
      logger.warning("task released", metadata: metadata)
    } else {
      metadata["end"] = "\(failure.end)"
      logger.warning("task failed", metadata: metadata)
    }
    entries[lease] = nil
  }

  /// What the task process has written last, each line with its task and trace.
  private func logLines(of process: ProcessEnd?, _ lease: Lease) {
    for line in (process?.log ?? "").split(whereSeparator: \.isNewline) {
      var metadata = metadata(of: lease, at: nil)
      metadata["line"] = "\(line)"
      logger.notice("task process wrote", metadata: metadata)
    }
  }

  private func metadata(of lease: Lease, at now: ContinuousClock.Instant?) -> Logger.Metadata {
    guard let entry = entries[lease] else { return [:] }
    var metadata: Logger.Metadata = ["task": "\(lease.task)", "kind": "\(entry.kind)"]
    if !entry.job.isEmpty { metadata["job"] = "\(entry.job)" }
    if !entry.trace.isEmpty { metadata["trace"] = "\(entry.trace)" }
    if let now {
      let milliseconds = (now - entry.start) / .milliseconds(1)
      metadata["seconds"] = "\((milliseconds / 100).rounded() / 10)"
    }
    return metadata
  }
}
