import FarmModel

// What a call with several renewals or registrations means: the same in every store.

/// The renewals of one call, in which each lease is named once for each worker.
package struct RenewalBatch: Sendable {
  private struct Key: Hashable {
    var lease: Lease
    var worker: WorkerID
  }

  private let all: [Renewal]
  /// What is carried out: of the renewals of one lease and worker those of the latest session, as one.
  package private(set) var merged: [Renewal] = []
  private var places: [Key: Int] = [:]

  package init(_ renewals: [Renewal]) {
    all = renewals
    for renewal in renewals {
      let key = Key(lease: renewal.lease, worker: renewal.holder.worker)
      guard let place = places[key] else {
        places[key] = merged.count
        merged.append(renewal)
        continue
      }
      let session = merged[place].holder.session
      if renewal.holder.session > session {
        merged[place] = renewal
      } else if renewal.holder.session == session {
        merged[place].done = max(merged[place].done, renewal.done)
        merged[place].moved = max(merged[place].moved, renewal.moved)
      }
    }
  }

  /// The renewals whose holder does not hold the lease.
  ///
  /// - Parameter held: The places in `merged` of those whose holder does.
  package func notHeld(held: Set<Int>) -> [Renewal] {
    all.filter { renewal in
      guard let place = places[Key(lease: renewal.lease, worker: renewal.holder.worker)] else { return true }
      return !held.contains(place) || renewal.holder.session < merged[place].holder.session
    }
  }
}

extension [WorkerRecord] {
  /// One record of each worker, by id: the last one of its latest session.
  package func latest() -> [WorkerRecord] {
    var latest: [WorkerID: WorkerRecord] = [:]
    for record in self {
      if let other = latest[record.id], other.session > record.session { continue }
      latest[record.id] = record
    }
    return latest.values.sorted { $0.id < $1.id }
  }
}
