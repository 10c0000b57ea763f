import Digest
import Jobs

/// The coordinator's state of one connected worker: events in, effects out, without a clock, a socket or a store. `now` is
/// the time since any fixed moment.
struct WorkerSession: Sendable {
  enum Event: Sendable, Hashable {
    case heartbeat(progress: [LeaseProgress], freeSlots: Int, isDraining: Bool)
    /// The store has renewed the leases of the last heartbeat, except these.
    case renewed(lost: [Lease])
    /// The store has granted these to the worker.
    case claimed([Grant])
    case publish(Lease, Content)
    /// The store's answer; nil if the content store does not have the content.
    case published(Lease, PublishOutcome?)
    case failure(Lease, TaskFailure)
    /// The store has recorded the failure.
    case failed(Lease)
    case tick
  }

  enum Effect: Sendable, Hashable {
    case renew([LeaseProgress])
    case replyToHeartbeat(cancelled: [Lease])
    case grant(Grant)
    case publish(Lease, Content)
    case replyToPublish(Lease, PublishOutcome?)
    case fail(Lease, TaskFailure)
    case replyToFailure(Lease)
    /// How many more tasks the worker may be granted. Reported when it has changed.
    case capacity(Int)
    /// The worker has sent nothing for too long.
    case close
  }

  private struct Held: Sendable {
    var lease: Lease
    /// Whether a heartbeat has listed the lease. A later heartbeat without it means that the worker has dropped it.
    var isListed: Bool
  }

  let worker: WorkerID
  let slots: Int
  private let silence: Duration
  /// By task, so that nothing depends on the order of arrival.
  private var held: [Held] = []
  /// The free slots of the last heartbeat, less what was granted since.
  private var free = 0
  private var isDraining = false
  private var lastMessage: Duration
  /// Failures of the worker's surroundings in a row.
  private var releases = 0
  private var pausedUntil: Duration?
  private var lastCapacity = 0

  /// - Parameter silence: How long the worker may send no heartbeat, result or failure.
  init(worker: WorkerID, slots: Int, silence: Duration, now: Duration) {
    self.worker = worker
    self.slots = slots
    self.silence = silence
    lastMessage = now
  }

  /// The leases that the worker holds, as far as this session has seen, by task.
  var leases: [Lease] { held.map(\.lease) }

  /// Returns what to do now, in order.
  mutating func handle(_ event: Event, now: Duration) -> [Effect] {
    var effects: [Effect] = []
    switch event {
    case .heartbeat(let progress, let freeSlots, let isDraining):
      lastMessage = now
      self.isDraining = self.isDraining || isDraining
      update(listed: progress.map(\.lease), freeSlots: freeSlots)
      effects.append(.renew(progress))
    case .renewed(let lost):
      for lease in lost { remove(lease) }
      effects.append(.replyToHeartbeat(cancelled: lost))
    case .claimed(let grants):
      for grant in grants {
        held.append(Held(lease: grant.lease, isListed: false))
        free -= 1
        effects.append(.grant(grant))
      }
      held.sort { $0.lease.task < $1.lease.task }
    case .publish(let lease, let content):
      lastMessage = now
      effects.append(.publish(lease, content))
    case .published(let lease, let outcome):
      // If the content is missing, the worker uploads it and publishes again: it keeps the lease and the slot.
      if let outcome {
        if outcome == .published { releases = 0 }
        remove(lease)
      }
      effects.append(.replyToPublish(lease, outcome))
    case .failure(let lease, let failure):
      lastMessage = now
      if failure.end == .released {
        // Without a pause, a worker whose disk is full would take and release every task of the farm within a second.
        pausedUntil = now + .seconds(1 << min(releases, 5))
        releases += 1
      }
      effects.append(.fail(lease, failure))
    case .failed(let lease):
      remove(lease)
      effects.append(.replyToFailure(lease))
    case .tick:
      if now - lastMessage > silence { effects.append(.close) }
    }
    let capacity = capacity(now: now)
    if capacity != lastCapacity {
      lastCapacity = capacity
      effects.append(.capacity(capacity))
    }
    return effects
  }

  /// How many more tasks the worker may be granted. A result that is being uploaded takes no slot, so a worker may hold
  /// up to twice as many leases as it has slots.
  func capacity(now: Duration) -> Int {
    if isDraining { return 0 }
    if let pausedUntil, now < pausedUntil { return 0 }
    return max(0, min(free, 2 * slots - held.count))
  }

  /// The worker wrote the heartbeat before it read the grants that are on their way to it. Grants that the heartbeat does
  /// not list yet take slots that it counts as free.
  private mutating func update(listed: [Lease], freeSlots: Int) {
    held.removeAll { $0.isListed && !listed.contains($0.lease) }
    for index in held.indices where listed.contains(held[index].lease) { held[index].isListed = true }
    free = min(freeSlots, slots) - held.count { !$0.isListed }
  }

  private mutating func remove(_ lease: Lease) {
    held.removeAll { $0.lease == lease }
  }
}
