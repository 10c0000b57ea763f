import FarmModel
import Synchronization

/// The open connections of workers, one a worker.
final class WorkerConnections: Sendable {
  private let connections = Mutex<[WorkerID: WorkerConnectionHandler]>([:])

  var all: [WorkerConnectionHandler] { connections.withLock { Array($0.values) } }

  /// The worker's present connection; nil if it has none here.
  func of(_ worker: WorkerID) -> WorkerConnectionHandler? { connections.withLock { $0[worker] } }

  /// This connection, if it is the worker's present one.
  func of(_ holder: Holder) -> WorkerConnectionHandler? {
    of(holder.worker).flatMap { $0.holder == holder ? $0 : nil }
  }

  /// Puts a connection in the place of the worker's earlier one, which is returned. Throws the earlier one, and changes
  /// nothing, if it is not earlier.
  func add(_ worker: WorkerConnectionHandler) throws(NotLater) -> WorkerConnectionHandler? {
    try connections.withLock { connections throws(NotLater) in
      let old = connections[worker.holder.worker]
      if let old, old.holder.session >= worker.holder.session { throw NotLater(open: old.holder.session) }
      connections[worker.holder.worker] = worker
      return old
    }
  }

  /// Returns false if another connection has taken its place.
  func remove(_ worker: WorkerConnectionHandler) -> Bool {
    connections.withLock { connections in
      guard connections[worker.holder.worker] === worker else { return false }
      connections[worker.holder.worker] = nil
      return true
    }
  }

  /// A connection that is not later than the worker's open one.
  struct NotLater: Error {
    var open: SessionID
  }
}
