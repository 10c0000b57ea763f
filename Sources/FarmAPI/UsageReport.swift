package import FarmModel

/// What attempts at tasks took of their workers, as the workers have measured it. Its JSON is stable: keys may be
/// added, but are never changed.
package struct UsageReport: Sendable, Hashable, Codable {
  /// Until a slot was free.
  package var waitSeconds: Double
  /// For inputs: while they were opened, fetched and verified and the task could not go on.
  package var fetchSeconds: Double
  /// While the task process worked.
  package var renderSeconds: Double
  /// For the result: until it was at the coordinator.
  package var uploadSeconds: Double
  /// User and system time of the task processes.
  package var cpuSeconds: Double
  /// The most memory that a task process had at a time.
  package var peakBytes: Int64
  /// Content that came from the coordinator.
  package var fetchedBytes: Int64
  /// What of the results was sent to the coordinator.
  package var uploadedBytes: Int64

  package init(_ usage: AttemptUsage) {
    func seconds(_ time: Duration) -> Double { (time / .milliseconds(1)).rounded() / 1000 }
    waitSeconds = seconds(usage.wait)
    fetchSeconds = seconds(usage.fetch)
    renderSeconds = seconds(usage.render)
    uploadSeconds = seconds(usage.upload)
    cpuSeconds = seconds(usage.cpu)
    peakBytes = usage.peakBytes
    fetchedBytes = usage.fetchedBytes
    uploadedBytes = usage.uploadedBytes
  }

  /// To a millisecond.
  package var usage: AttemptUsage {
    func duration(_ seconds: Double) -> Duration {
      .milliseconds(Int64(exactly: (seconds * 1000).rounded()) ?? .max)
    }
    var usage = AttemptUsage()
    usage.wait = duration(waitSeconds)
    usage.fetch = duration(fetchSeconds)
    usage.render = duration(renderSeconds)
    usage.upload = duration(uploadSeconds)
    usage.cpu = duration(cpuSeconds)
    (usage.peakBytes, usage.fetchedBytes, usage.uploadedBytes) = (peakBytes, fetchedBytes, uploadedBytes)
    return usage
  }
}

/// What the attempts at a job's tasks took of the workers: of those that have ended, and whose workers said so.
package struct JobUsage: Sendable, Hashable, Codable {
  package struct Worker: Sendable, Hashable, Codable {
    /// The worker's id.
    package var worker: String
    package var workerName: String
    package var attempts: Int
    package var usage: UsageReport

    package init(worker: String, workerName: String, attempts: Int, usage: UsageReport) {
      self.worker = worker
      self.workerName = workerName
      self.attempts = attempts
      self.usage = usage
    }
  }

  package private(set) var attempts: Int
  /// Of all together. Times and bytes are sums; the peak is the highest one.
  package private(set) var total: UsageReport
  package private(set) var workers: [Worker]

  /// Nil: there are none.
  package init?(_ workers: [Worker]) {
    if workers.isEmpty { return nil }
    self.workers = workers
    attempts = workers.reduce(0) { $0 + $1.attempts }
    total = UsageReport(workers.map(\.usage.usage).reduce(AttemptUsage(), +))
  }
}
