import FarmModel
import Synchronization

/// The open connections of workers, one a worker.
final class WorkerConnections: Sendable {
  private struct State {
    var connections: [WorkerID: WorkerConnectionHandler] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())

  var all: [WorkerConnectionHandler] { state.withLock { Array($0.connections.values) } }

  /// Whether the coordinator drains.
  var isClosed: Bool { state.withLock { $0.isClosed } }

  /// The worker's present connection; nil if it has none here.
  func of(_ worker: WorkerID) -> WorkerConnectionHandler? { state.withLock { $0.connections[worker] } }

  /// This connection, if it is the worker's present one.
  func of(_ holder: Holder) -> WorkerConnectionHandler? {
    of(holder.worker).flatMap { $0.holder == holder ? $0 : nil }
  }

  /// Takes no more connections. Returns those that are open.
  func close() -> [WorkerConnectionHandler] {
    state.withLock { state in
      state.isClosed = true
      return Array(state.connections.values)
    }
  }

  /// Puts a connection in the place of the worker's earlier one, which is returned.
  func add(_ worker: WorkerConnectionHandler) throws(Refusal) -> WorkerConnectionHandler? {
    try state.withLock { state throws(Refusal) in
      if state.isClosed { throw .closed }
      let old = state.connections[worker.holder.worker]
      if let old, old.holder.session >= worker.holder.session { throw .notLater(open: old.holder.session) }
      state.connections[worker.holder.worker] = worker
      return old
    }
  }

  /// Returns false if another connection has taken its place.
  func remove(_ worker: WorkerConnectionHandler) -> Bool {
    state.withLock { state in
      guard state.connections[worker.holder.worker] === worker else { return false }
      state.connections[worker.holder.worker] = nil
      return true
    }
  }

  /// Why a connection was not added.
  enum Refusal: Error {
    /// It is not later than the worker's open one.
    case notLater(open: SessionID)
    /// The coordinator drains.
    case closed
  }
}
