import FarmAPI
import FarmModel
import Jobs
import Synchronization

/// What a coordinator counts of its work beyond what its events say.
final class WorkCounts: Sendable {
  private struct State {
    var traffic: [ContentPeer: CoordinatorCounts.Traffic] = [:]
    var lateResults: Int64 = 0
    var recoveries = Recoveries()
    var contentBytes: Int64?
  }

  private let state = Mutex(State())
  private let now: @Sendable () -> Duration

  /// - Parameter now: Time since any fixed moment.
  init(now: @escaping @Sendable () -> Duration) {
    self.now = now
  }

  // MARK: Leases

  func granted(_ lease: Lease) { state.withLock { $0.recoveries.granted(lease, now: now()) } }

  /// Leases that have ended without results, or whose worker's connection was closed.
  func lost(_ leases: some Collection<Lease>) {
    if leases.isEmpty { return }
    state.withLock { state in for lease in leases { state.recoveries.lost(lease, now: now()) } }
  }

  /// A worker has connected again and goes on with these.
  func returned(_ leases: some Collection<Lease>) {
    if leases.isEmpty { return }
    state.withLock { state in for lease in leases { state.recoveries.returned(lease) } }
  }

  /// The store's answer to a result.
  func published(_ lease: Lease, _ outcome: PublishOutcome) {
    state.withLock { state in
      switch outcome {
      case .published, .duplicate, .compared: state.recoveries.done(lease.task)
      case .stale: state.lateResults += 1
      }
    }
  }

  func ended(_ job: JobID) { state.withLock { $0.recoveries.ended(job) } }

  // MARK: Content

  func received(_ bytes: Int, from peer: ContentPeer) {
    state.withLock { $0.traffic[peer, default: .init()].received += Int64(bytes) }
  }

  func sent(_ bytes: Int, to peer: ContentPeer) {
    state.withLock { $0.traffic[peer, default: .init()].sent += Int64(bytes) }
  }

  func measured(contentBytes: Int64) { state.withLock { $0.contentBytes = contentBytes } }

  var counts: CoordinatorCounts {
    state.withLock { state in
      var counts = CoordinatorCounts()
      counts.traffic = state.traffic
      counts.lateResults = state.lateResults
      counts.recoveries = state.recoveries.durations
      counts.storage.contentBytes = state.contentBytes
      return counts
    }
  }
}
