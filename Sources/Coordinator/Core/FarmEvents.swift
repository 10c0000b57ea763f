import FarmAPI
import FarmModel
import Jobs
import Logging
import Synchronization

/// The one stream of what happens in the farm, as this coordinator sees it. The log is written from it, and so is
/// whatever else watches.
final class FarmEvents: Sendable {
  /// What a watcher that does not read may lag behind. Of more it loses the oldest.
  private static let longestLag = 4096

  private struct Watchers {
    var streams: [UInt64: AsyncStream<FarmEvent>.Continuation] = [:]
    var next: UInt64 = 0
  }

  private let logger: Logger
  private let watchers = Mutex(Watchers())

  init(logger: Logger) {
    self.logger = logger
  }

  func emit(_ event: FarmEvent) {
    let line = event.line
    logger.log(level: line.level, line.message, metadata: line.metadata)
    // Not under the lock: to yield takes the lock of the reader's task, under which a reader that is cancelled takes
    // this one.
    let streams = watchers.withLock { Array($0.streams.values) }
    for stream in streams { stream.yield(event) }
  }

  /// Everything that happens from now on, in order.
  func stream() -> AsyncStream<FarmEvent> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: FarmEvent.self, bufferingPolicy: .bufferingNewest(Self.longestLag))
    let key = watchers.withLock { watchers in
      watchers.next += 1
      watchers.streams[watchers.next] = continuation
      return watchers.next
    }
    continuation.onTermination = { [weak self] _ in
      self?.watchers.withLock { _ = $0.streams.removeValue(forKey: key) }
    }
    return stream
  }
}

extension FarmEvent {
  /// As the log has it.
  fileprivate var line: (level: Logger.Level, message: Logger.Message, metadata: Logger.Metadata) {
    switch self {
    case .jobSubmitted(let job, let name, let files, let priority):
      return (
        .info, "job submitted",
        ["job": "\(job)", "name": "\(name)", "files": "\(files)", "priority": "\(priority)"]
      )
    case .jobPlanned(let job, let name, let tasks, let cached, let frames, let seconds, let isMeasuring):
      return (
        .info, isMeasuring ? "job measured before it is planned" : "job planned",
        [
          "job": "\(job)", "name": "\(name)", "tasks": "\(tasks)", "cached": "\(cached)", "frames": "\(frames)",
          "seconds": "\(seconds)",
        ]
      )
    case .jobReplanned(let job, let reason, let tasks, let message):
      var metadata: Logger.Metadata = ["job": "\(job)"]
      if !tasks.isEmpty {
        metadata[reason == .damagedResults ? "tasks" : "task"] = "\(tasks.joined(separator: ", "))"
      }
      if let message { metadata["reason"] = "\(message)" }
      let text: Logger.Message =
        switch reason {
        case .build: "job planned again for another build, because no worker of its build is connected"
        case .damagedResults: "results were damaged on the disk and are made again"
        case .refusedPiece: "a piece does not fit and is made again"
        case .refusedPieces: "a piece does not fit and all pieces are made again"
        case .quarantine: "results of a worker that is quarantined are made again"
        }
      return (reason == .build ? .notice : .warning, text, metadata)
    case .jobRetried(let job, let name): return (.info, "job taken up again", ["job": "\(job)", "name": "\(name)"])
    case .jobEnded(let job, let name, let state, let seconds, let reason):
      var metadata: Logger.Metadata = ["job": "\(job)"]
      if let name { metadata["name"] = "\(name)" }
      if let seconds { metadata["seconds"] = "\(seconds)" }
      if let reason { metadata["reason"] = "\(reason)" }
      return (.info, "job \(state.rawValue)", metadata)
    case .jobDeleted(let job): return (.info, "job deleted", ["job": "\(job)"])
    case .jobDoubted(let job):
      return (.warning, "job is done with results of a worker that is quarantined", ["job": "\(job)"])
    case .taskGranted(let task, let worker): return (.info, "task started", task.metadata(worker))
    case .taskDone(let task, let worker, let seconds, _): return (.info, "task done", task.metadata(worker, seconds))
    case .taskCompared(let task, let worker, let seconds, _):
      return (.info, "result kept to be compared with another worker's", task.metadata(worker, seconds))
    case .taskFailed(let task, let worker, let end, let seconds, let reason, _):
      var metadata = task.metadata(worker, seconds)
      metadata["end"] = "\(end)"
      metadata["reason"] = "\(reason)"
      return (.info, end == .released ? "task released" : "task failed", metadata)
    case .leaseExpired(let task):
      return (.info, "lease ended because it was not renewed or its task did not move", task.metadata())
    case .workerConnected(let worker): return (.info, "worker connected", worker.metadata)
    case .workerDisconnected(let worker): return (.info, "worker disconnected", worker.metadata)
    case .workerPaused(let worker, let reason):
      var metadata = worker.metadata
      metadata["reason"] = "\(reason ?? "")"
      return (.notice, reason == nil ? "worker takes tasks again" : "worker takes no tasks", metadata)
    case .workerHeld(let account, let hold, let reason):
      guard let hold else { return (.notice, "worker is granted tasks again", ["worker": "\(account)"]) }
      let metadata: Logger.Metadata = ["worker": "\(account)", "hold": "\(hold)", "reason": "\(reason)"]
      return (hold == WorkerHold.quarantined.rawValue ? .warning : .notice, "worker is granted no tasks", metadata)
    }
  }
}

extension FarmEvent.Task {
  fileprivate func metadata(_ worker: String? = nil, _ seconds: Double? = nil) -> Logger.Metadata {
    var metadata: Logger.Metadata = ["job": "\(job)", "task": "\(ordinal)", "label": "\(label)"]
    if let worker { metadata["worker"] = "\(worker)" }
    if let seconds { metadata["seconds"] = "\(seconds)" }
    return metadata
  }
}

extension FarmEvent.Worker {
  var metadata: Logger.Metadata { ["worker": "\(name)", "id": "\(id)"] }
}
