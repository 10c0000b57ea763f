import Jobs

/// What the coordinator knows of one connected worker, and what follows from each thing that happens: no clock, no
/// socket, no store (DESIGN 4). `now` is time since any fixed moment.
struct WorkerSession: Sendable {
  enum Event: Sendable, Hashable {
    case heartbeat(progress: [LeaseProgress], freeSlots: Int, isDraining: Bool)
    /// The store renewed what the last heartbeat told, but for these.
    case renewed(lost: [Lease])
    /// The store granted these to the worker.
    case claimed([Grant])
    case publish(Lease, Content)
    /// The store's verdict; nil where the content is not in the vault.
    case published(Lease, PublishOutcome?)
    case failure(Lease, TaskFailure)
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
    /// How many more tasks the worker may be given; said when that has changed.
    case room(Int)
    /// The worker has not been heard for a lease's time.
    case close
  }

  private struct Held: Sendable {
    var lease: Lease
    /// The worker has told of it, so a heartbeat without it means that it was dropped.
    var isTold: Bool
  }

  let worker: WorkerID
  let slots: Int
  private let silence: Duration
  /// By task, so that nothing depends on an order of arrival.
  private var held: [Held] = []
  /// Free slots, as the worker told last, less what was granted since.
  private var free = 0
  private var isDraining = false
  private var lastHeard: Duration
  private var infrastructureFailures = 0
  private var pausedUntil: Duration?
  private var lastRoom = 0

  /// - Parameter silence: How long the worker may say nothing.
  init(worker: WorkerID, slots: Int, silence: Duration, now: Duration) {
    self.worker = worker
    self.slots = slots
    self.silence = silence
    lastHeard = now
  }

  /// Leases that the worker holds as far as this session knows, by task.
  var leases: [Lease] { held.map(\.lease) }

  mutating func handle(_ event: Event, now: Duration) -> [Effect] {
    var effects: [Effect] = []
    switch event {
    case .heartbeat(let progress, let freeSlots, let isDraining):
      lastHeard = now
      self.isDraining = self.isDraining || isDraining
      settle(told: progress.map(\.lease), freeSlots: freeSlots)
      effects.append(.renew(progress))
    case .renewed(let lost):
      for lease in lost { forget(lease) }
      effects.append(.replyToHeartbeat(cancelled: lost))
    case .claimed(let grants):
      for grant in grants {
        held.append(Held(lease: grant.lease, isTold: false))
        free -= 1
        effects.append(.grant(grant))
      }
      held.sort { $0.lease.task < $1.lease.task }
    case .publish(let lease, let content):
      lastHeard = now
      effects.append(.publish(lease, content))
    case .published(let lease, let outcome):
      // Where the content is missing the worker uploads it and publishes again: the lease and the slot stay its own.
      if let outcome {
        if outcome == .published { infrastructureFailures = 0 }
        forget(lease)
      }
      effects.append(.replyToPublish(lease, outcome))
    case .failure(let lease, let failure):
      lastHeard = now
      if failure.cause == .infrastructure {
        // A worker whose disk is full would otherwise take and drop every task of the farm in a second.
        pausedUntil = now + .seconds(1 << min(infrastructureFailures, 5))
        infrastructureFailures += 1
      }
      effects.append(.fail(lease, failure))
    case .failed(let lease):
      forget(lease)
      effects.append(.replyToFailure(lease))
    case .tick:
      if now - lastHeard > silence { effects.append(.close) }
    }
    let room = room(now: now)
    if room != lastRoom {
      lastRoom = room
      effects.append(.room(room))
    }
    return effects
  }

  /// How many more tasks the worker may be given. A result that is on its way here takes no slot, so a worker may hold
  /// as many leases again as it has slots, and no more.
  func room(now: Duration) -> Int {
    if isDraining { return 0 }
    if let pausedUntil, now < pausedUntil { return 0 }
    return max(0, min(free, 2 * slots - held.count))
  }

  /// A heartbeat was written before the worker read what is on its way to it: grants that it does not list yet take
  /// slots that it counts as free.
  private mutating func settle(told: [Lease], freeSlots: Int) {
    held.removeAll { $0.isTold && !told.contains($0.lease) }
    for index in held.indices where told.contains(held[index].lease) { held[index].isTold = true }
    free = min(freeSlots, slots) - held.count { !$0.isTold }
  }

  private mutating func forget(_ lease: Lease) {
    held.removeAll { $0.lease == lease }
  }
}
