package import FarmModel

/// Who sends and receives content.
package enum ContentPeer: String, Sendable, Hashable, CaseIterable {
  case worker, client
  /// A client of the HTTP API.
  case http
}

/// What one coordinator has measured by itself, which needs no answer of the job store.
package struct CoordinatorCounts: Sendable, Hashable {
  /// Bytes of content that peers have sent, and that they were sent.
  package struct Traffic: Sendable, Hashable {
    package var received: Int64 = 0
    package var sent: Int64 = 0

    package init() {}
  }

  /// The content store and its disk, in bytes.
  package struct Storage: Sendable, Hashable {
    /// Nil: it could not be measured.
    package var freeBytes: Int64?
    /// The size of the disk. Nil: it could not be measured.
    package var diskBytes: Int64?
    /// Below so many free bytes no task is granted. 0: there is no such limit.
    package var minimumFree: Int64 = 0
    /// What the content takes on the disk. Nil: it was not measured yet.
    package var contentBytes: Int64?
    /// The most that it may take, beyond what is needed. Nil: it grows.
    package var limit: Int64?

    package init() {}
  }

  package var traffic: [ContentPeer: Traffic] = [:]
  /// Results that workers sent that did not hold the lease any more.
  package var lateResults: Int64 = 0
  /// From the loss of a task's last lease to the next grant of the task.
  package var recoveries = DurationHistogram(bounds: DurationHistogram.waits)
  /// Calls of the job store by the connection that has carried them out. Empty: the store is in memory.
  package var storeCalls: [String: DurationHistogram] = [:]
  package var storage = Storage()
  /// Open connections of workers and of clients, without those of HTTP.
  package var workerConnections = 0
  package var clientConnections = 0
  /// Whether it is shutting down.
  package var isDraining = false

  package init() {}
}
