import Digest
import FarmModel
import Jobs

/// The coordinator's state of one connected worker: events in, effects out, without a clock, a socket or a store. `now`
/// is the time since any fixed moment.
struct WorkerSession: Sendable {
  enum Event: Sendable, Hashable {
    case heartbeat(renewals: [Renewal], freeSlots: Int, isDraining: Bool)
    /// The store has renewed the leases of the last heartbeats, except these.
    case renewed(lost: [Lease])
    /// The store has granted these to the worker.
    case claimed([Grant])
    /// `damage` is as in `Sheaf_Publish`.
    case publish(Lease, Content, damage: [UInt8] = [], usage: AttemptUsage? = nil)
    /// The store's answer; nil if the content store does not have the content.
    case published(Lease, PublishOutcome?)
    case failure(Lease, TaskFailure, damagedInput: SHA256Digest?)
    /// The store has processed a failure. `counts` is false if the worker did not hold the lease: then the report means
    /// nothing. The message is for people.
    case failed(Lease, AttemptEnd, counts: Bool, message: String)
    /// Bytes of the worker came at this time, perhaps a part of a message only.
    case received(Duration)
    case tick
  }

  enum Effect: Sendable, Hashable {
    case renew([Renewal])
    case replyToHeartbeat(cancelled: [Lease])
    case grant(Grant)
    case publish(Lease, Content, damage: [UInt8] = [], usage: AttemptUsage? = nil)
    case replyToPublish(Lease, PublishOutcome?)
    case fail(Lease, TaskFailure, damagedInput: SHA256Digest?)
    case replyToFailure(Lease)
    /// How many more tasks the worker may be granted. Reported when it has changed.
    case capacity(Int)
    /// Why the session grants the worker nothing for now, for a person; empty if it grants again. Reported when it has
    /// changed.
    case paused(String)
    /// The worker has sent nothing for too long.
    case close
  }

  private struct Held: Sendable {
    var lease: Lease
    /// Whether a heartbeat has listed the lease. A later heartbeat without it means that the worker has dropped it.
    var isListed: Bool
    /// Whether its result or its failure is on its way to the store.
    var isReported = false
  }

  let holder: Holder
  let slots: Int
  private let silence: Duration
  /// By task, so that nothing depends on the order of arrival.
  private var held: [Held] = []
  /// Leases that have ended and that the worker may still list, because it wrote its heartbeat before it read the
  /// answer.
  private var ended: [Lease] = []
  /// The free slots of the last heartbeat, less what was granted since.
  private var free = 0
  private var isDraining = false
  private var lastMessage: Duration
  /// Whether the worker has published a result since it last reported that a task process was killed.
  private var hasPublished = false
  /// The pauses since the worker's last result.
  private var pauses = 0
  /// The task that the worker released last, if it has published nothing since, and why.
  private var lastRelease: (task: TaskID, reason: String)?
  private var pausedUntil: Duration?
  private var lastCapacity = 0
  private var lastPause = ""

  /// - Parameter silence: How long the worker may send nothing.
  init(holder: Holder, slots: Int, silence: Duration, now: Duration) {
    self.holder = holder
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
    case .heartbeat(let renewals, let freeSlots, let isDraining):
      lastMessage = now
      self.isDraining = self.isDraining || isDraining
      let listed = Set(renewals.map(\.lease))
      ended.removeAll { !listed.contains($0) }
      let current = renewals.filter { !ended.contains($0.lease) }
      update(listed: Set(current.map(\.lease)), freeSlots: freeSlots)
      effects.append(.renew(current))
    case .renewed(let lost):
      // A lease whose result is on its way may be lost because the result was published: the answer to it says which.
      let lost = lost.filter { lease in !held.contains { $0.lease == lease && $0.isReported } && !ended.contains(lease)
      }
      for lease in lost { remove(lease) }
      effects.append(.replyToHeartbeat(cancelled: lost))
    case .claimed(let grants):
      for grant in grants {
        held.append(Held(lease: grant.lease, isListed: false))
        free -= 1
        effects.append(.grant(grant))
      }
      held.sort { $0.lease.task < $1.lease.task }
    case .publish(let lease, let content, let damage, let usage):
      lastMessage = now
      report(lease)
      effects.append(.publish(lease, content, damage: damage, usage: usage))
    case .published(let lease, let outcome):
      // If the content is missing, the worker uploads it and publishes again: it keeps the lease and the slot.
      if let outcome {
        if outcome == .published || outcome == .compared {
          hasPublished = true
          (pauses, lastRelease) = (0, nil)
        }
        end(lease)
      } else if let index = held.firstIndex(where: { $0.lease == lease }) {
        held[index].isReported = false
      }
      effects.append(.replyToPublish(lease, outcome))
    case .failure(let lease, let failure, let damagedInput):
      lastMessage = now
      report(lease)
      effects.append(.fail(lease, judge(failure), damagedInput: damagedInput))
    case .failed(let lease, let end, let counts, let message):
      if counts, end == .released { release(lease.task, message, now) }
      self.end(lease)
      effects.append(.replyToFailure(lease))
    case .received(let time): lastMessage = max(lastMessage, time)
    case .tick:
      if now - lastMessage > silence { effects.append(.close) }
    }
    let capacity = capacity(now: now)
    if capacity != lastCapacity {
      lastCapacity = capacity
      effects.append(.capacity(capacity))
    }
    var pause = ""
    if let pausedUntil, now < pausedUntil {
      pause = "it could not execute its last tasks, and takes the next one after a pause: \(lastRelease?.reason ?? "")"
    }
    if pause != lastPause {
      lastPause = pause
      effects.append(.paused(pause))
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

  /// What a failure says of its task, given what became of the worker's other tasks: a kill counts if others succeed.
  /// What a worker could not execute waits by itself. A worker that drains gives tasks back that others can execute at
  /// once.
  private mutating func judge(_ failure: TaskFailure) -> TaskFailure {
    var failure = failure
    switch failure.end {
    case .killed:
      if hasPublished { failure.end = .exhausted }
      hasPublished = false
    case .released: failure.delaysTask = !isDraining
    case .media, .document, .crashed, .hung, .exhausted: break
    }
    return failure
  }

  /// A task that alone cannot be executed waits by itself. If the worker releases two in a row, it is the cause itself:
  /// without a pause, one that cannot execute anything would take and release every task of the farm within seconds.
  /// Tasks that end together, as when the worker's fork server ended, are one failure. A worker that drains takes no
  /// tasks in any case.
  private mutating func release(_ task: TaskID, _ reason: String, _ now: Duration) {
    let isAnother = lastRelease.map { $0.task != task } ?? false
    lastRelease = (task, reason)
    guard isAnother, !isDraining, pausedUntil.map({ now >= $0 }) ?? true else { return }
    pausedUntil = now + .seconds(1 << min(pauses, 5))
    pauses += 1
  }

  /// The worker wrote the heartbeat before it read the grants that are on their way to it. Grants that the heartbeat
  /// does not list yet take slots that it counts as free. Leases that this session has not granted are of the worker's
  /// earlier connections.
  private mutating func update(listed: Set<Lease>, freeSlots: Int) {
    held.removeAll { $0.isListed && !listed.contains($0.lease) }
    for index in held.indices where listed.contains(held[index].lease) { held[index].isListed = true }
    let known = Set(held.map(\.lease))
    for lease in listed where !known.contains(lease) { held.append(Held(lease: lease, isListed: true)) }
    held.sort { ($0.lease.task, $0.lease.epoch) < ($1.lease.task, $1.lease.epoch) }
    free = min(freeSlots, slots) - held.count { !$0.isListed }
  }

  private mutating func report(_ lease: Lease) {
    for index in held.indices where held[index].lease == lease { held[index].isReported = true }
  }

  private mutating func end(_ lease: Lease) {
    if held.contains(where: { $0.lease == lease && $0.isListed }) { ended.append(lease) }
    remove(lease)
  }

  private mutating func remove(_ lease: Lease) {
    held.removeAll { $0.lease == lease }
  }
}
