import FarmModel
import Jobs

/// Collects the heartbeats of all workers, and decides when to renew their leases in one call of the store and when to
/// answer: pure. `now` is the time since any fixed moment.
///
/// A call is made when none is under way and the last one began at least `interval` ago. A heartbeat is answered when
/// the call with its leases has returned, and after `patience` at the latest: then nothing is cancelled, because who
/// holds the leases is not known.
struct RenewalQueue: Sendable {
  enum Event: Sendable, Hashable {
    /// A heartbeat, with the leases that it lists. One without leases is answered at once. It takes the place of an
    /// earlier one of the worker that is not answered yet, and the answer is for both.
    case heartbeat(Holder, [Renewal])
    /// The connection is closed: its heartbeats are not answered.
    case left(Holder)
    /// The call has returned; `lost` is nil if the store could not carry it out.
    case returned(lost: [Renewal]?)
    case tick
  }

  enum Effect: Sendable, Hashable {
    /// Call the store with these. The next call is requested after this one has returned.
    case renew([Renewal])
    case reply(Holder, lost: [Lease])
  }

  private struct Pending: Sendable {
    var holder: Holder
    var renewals: [Renewal]
    /// When the oldest heartbeat arrived that is not answered yet. Nil: it was answered before it was renewed.
    var since: Duration?
  }

  private let interval: Duration
  private let patience: Duration
  /// By worker: what the next call renews.
  private var pending: [WorkerID: Pending] = [:]
  /// Whose heartbeats the call that is under way answers. Nil: none is under way.
  private var underWay: [Holder: Duration]?
  private var lastCall: Duration?

  init(interval: Duration = .seconds(1), patience: Duration = .seconds(2)) {
    self.interval = interval
    self.patience = patience
  }

  /// Returns what to do now, in order.
  mutating func handle(_ event: Event, now: Duration) -> [Effect] {
    var effects: [Effect] = []
    switch event {
    case .heartbeat(let holder, let renewals):
      let earlier = pending[holder.worker]
      if renewals.isEmpty {
        // What an earlier heartbeat listed has ended meanwhile.
        pending[holder.worker] = nil
        effects.append(.reply(holder, lost: []))
      } else {
        let since = earlier?.holder == holder ? earlier?.since ?? now : now
        pending[holder.worker] = Pending(holder: holder, renewals: renewals, since: since)
      }
    case .left(let holder):
      if pending[holder.worker]?.holder == holder { pending[holder.worker] = nil }
      underWay?[holder] = nil
    case .returned(let lost):
      let lost = Dictionary(grouping: lost ?? [], by: \.holder)
      for holder in (underWay ?? [:]).keys.sorted(by: { $0.worker < $1.worker }) {
        effects.append(.reply(holder, lost: (lost[holder] ?? []).map(\.lease)))
      }
      underWay = nil
    case .tick: break
    }
    return effects + overdue(now) + call(now)
  }

  private mutating func call(_ now: Duration) -> [Effect] {
    guard underWay == nil, !pending.isEmpty, lastCall.map({ now - $0 >= interval }) ?? true else { return [] }
    var answered: [Holder: Duration] = [:]
    for entry in pending.values { if let since = entry.since { answered[entry.holder] = since } }
    let renewals = pending.values.sorted { $0.holder.worker < $1.holder.worker }.flatMap(\.renewals)
    underWay = answered
    pending = [:]
    lastCall = now
    return [.renew(renewals)]
  }

  /// Answers that cannot wait any longer. The leases stay in the queue: the store renews them when it answers again.
  private mutating func overdue(_ now: Duration) -> [Effect] {
    var late: [Holder] = []
    for (holder, since) in underWay ?? [:] where now - since >= patience {
      underWay?[holder] = nil
      late.append(holder)
    }
    for (worker, entry) in pending {
      guard let since = entry.since, now - since >= patience else { continue }
      pending[worker]?.since = nil
      late.append(entry.holder)
    }
    return late.sorted { $0.worker < $1.worker }.map { .reply($0, lost: []) }
  }
}
