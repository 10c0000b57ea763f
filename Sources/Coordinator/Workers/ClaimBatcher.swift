import FarmModel
import Jobs

/// Decides when to claim tasks, and for which free slots: pure.
///
/// The free slots of all workers of one group are one claim, and a group has one claim under way. A claim is made when
/// there may be something to find. The slots are in turn: that of the idlest worker first, of workers that are equally
/// idle that of the one that was granted a task longest ago.
struct ClaimBatcher: Sendable {
  /// Workers that may have the same jobs.
  struct Group: Sendable, Hashable, Comparable {
    var build: String
    /// Those whose jobs they take, in their order as bytes.
    var pools: [String] = []

    static func < (left: Group, right: Group) -> Bool {
      left.build == right.build ? left.pools.lexicographicallyPrecedes(right.pools) : left.build < right.build
    }
  }

  enum Event: Sendable, Hashable {
    case joined(Holder, slots: Int, group: Group)
    case left(Holder)
    case capacity(Holder, Int)
    /// Something may have become ready.
    case changed
    /// Whether nothing is to be claimed for now, such as when the disk is nearly full.
    case held(Bool)
    /// A claim has returned, with one element for each grant.
    case claimed(group: Group, slots: [Holder], granted: [Holder])
    /// So many grants have reached the worker's session, whose capacity was reported since.
    case delivered(Holder, Int)
  }

  struct Claim: Sendable, Hashable {
    var group: Group
    /// A worker is listed once for each of its free slots that the claim is for.
    var slots: [Holder]
  }

  private struct Entry: Sendable {
    var holder: Holder
    var group: Group
    var slots: Int
    var capacity = 0
    /// Grants that its session does not know yet: they use capacity that it still reports.
    var delivering = 0
    /// The number of the last grant; 0 before the first.
    var lastGrant: UInt64 = 0

    var free: Int { max(0, capacity - delivering) }
  }

  private struct GroupState: Sendable {
    /// Whether a claim may find something: no claim has returned fewer tasks than requested since the last change.
    var mayFind = true
    var isClaiming = false
    var hasChangedWhileClaiming = false
  }

  private let maximumSlots: Int
  private var entries: [WorkerID: Entry] = [:]
  private var groups: [Group: GroupState] = [:]
  private var grants: UInt64 = 0
  private var isHeld = false

  /// - Parameter maximumSlots: The most slots of one claim, so that no claim takes long.
  init(maximumSlots: Int = 256) {
    self.maximumSlots = maximumSlots
  }

  /// Returns the claims to make now.
  mutating func handle(_ event: Event) -> [Claim] {
    switch event {
    case .joined(let holder, let slots, let group):
      entries[holder.worker] = Entry(holder: holder, group: group, slots: max(1, slots))
      if groups[group] == nil { groups[group] = GroupState() }
    case .left(let holder):
      guard let entry = entries[holder.worker], entry.holder == holder else { break }
      entries[holder.worker] = nil
      forget(entry.group)
    case .capacity(let holder, let capacity):
      guard let entry = entries[holder.worker], entry.holder == holder else { break }
      // A slot that has become free is a reason to look again.
      if capacity > entry.capacity { change(entry.group) }
      entries[holder.worker]?.capacity = capacity
    case .changed: for group in groups.keys { change(group) }
    case .held(let isHeld): self.isHeld = isHeld
    case .claimed(let group, let slots, let granted):
      for holder in granted where entries[holder.worker]?.holder == holder {
        grants += 1
        entries[holder.worker]?.lastGrant = grants
        entries[holder.worker]?.delivering += 1
      }
      guard let state = groups[group] else { break }
      groups[group] = GroupState(mayFind: granted.count == slots.count || state.hasChangedWhileClaiming)
      forget(group)
    case .delivered(let holder, let count):
      guard let entry = entries[holder.worker], entry.holder == holder else { break }
      // Below zero if they arrive before the claim is known to have returned; until then the group has no other claim.
      entries[holder.worker]?.delivering = entry.delivering - count
    }
    return claims()
  }

  private mutating func change(_ group: Group) {
    groups[group]?.mayFind = true
    if groups[group]?.isClaiming == true { groups[group]?.hasChangedWhileClaiming = true }
  }

  /// Removes a group that no worker is in, unless a claim for it is under way.
  private mutating func forget(_ group: Group) {
    guard groups[group]?.isClaiming == false, !entries.values.contains(where: { $0.group == group }) else { return }
    groups[group] = nil
  }

  private mutating func claims() -> [Claim] {
    guard !isHeld else { return [] }
    var claims: [Claim] = []
    for group in groups.keys.sorted() {
      guard let state = groups[group], state.mayFind, !state.isClaiming else { continue }
      let slots = slots(of: group)
      guard !slots.isEmpty else { continue }
      groups[group]?.isClaiming = true
      claims.append(Claim(group: group, slots: slots))
    }
    return claims
  }

  /// The free slots of a group's workers in turn.
  private func slots(of group: Group) -> [Holder] {
    struct Slot {
      var holder: Holder
      /// The part of the worker's slots that is free before this one is used.
      var idle: Double
      var lastGrant: UInt64
    }
    var slots: [Slot] = []
    for entry in entries.values where entry.group == group {
      for used in 0..<min(entry.free, maximumSlots) {
        slots.append(
          Slot(holder: entry.holder, idle: Double(entry.free - used) / Double(entry.slots), lastGrant: entry.lastGrant))
      }
    }
    slots.sort { left, right in
      if left.idle != right.idle { return left.idle > right.idle }
      if left.lastGrant != right.lastGrant { return left.lastGrant < right.lastGrant }
      return left.holder.worker < right.holder.worker
    }
    return slots.prefix(maximumSlots).map(\.holder)
  }
}
