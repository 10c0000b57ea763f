import FarmModel
import Jobs

/// Decides when to claim tasks, and for which free slots: pure.
///
/// The free slots of all workers of one build are one claim, and a build has one claim under way. A claim is made when
/// there may be something to find. The slots are in turn: that of the idlest worker first, of workers that are equally
/// idle that of the one that was granted a task longest ago.
struct ClaimBatcher: Sendable {
  enum Event: Sendable, Hashable {
    case joined(Holder, slots: Int, build: String)
    case left(Holder)
    case capacity(Holder, Int)
    /// Something may have become ready.
    case changed
    /// Whether nothing is to be claimed for now, such as when the disk is nearly full.
    case held(Bool)
    /// A claim has returned, with one element for each grant.
    case claimed(build: String, slots: [Holder], granted: [Holder])
    /// So many grants have reached the worker's session, whose capacity was reported since.
    case delivered(Holder, Int)
  }

  struct Claim: Sendable, Hashable {
    var build: String
    /// A worker is listed once for each of its free slots that the claim is for.
    var slots: [Holder]
  }

  private struct Entry: Sendable {
    var holder: Holder
    var build: String
    var slots: Int
    var capacity = 0
    /// Grants that its session does not know yet: they use capacity that it still reports.
    var delivering = 0
    /// The number of the last grant; 0 before the first.
    var lastGrant: UInt64 = 0

    var free: Int { max(0, capacity - delivering) }
  }

  private struct Build: Sendable {
    /// Whether a claim may find something: no claim has returned fewer tasks than requested since the last change.
    var mayFind = true
    var isClaiming = false
    var hasChangedWhileClaiming = false
  }

  private let maximumSlots: Int
  private var entries: [WorkerID: Entry] = [:]
  private var builds: [String: Build] = [:]
  private var grants: UInt64 = 0
  private var isHeld = false

  /// - Parameter maximumSlots: The most slots of one claim, so that no claim takes long.
  init(maximumSlots: Int = 256) {
    self.maximumSlots = maximumSlots
  }

  /// Returns the claims to make now.
  mutating func handle(_ event: Event) -> [Claim] {
    switch event {
    case .joined(let holder, let slots, let build):
      entries[holder.worker] = Entry(holder: holder, build: build, slots: max(1, slots))
      if builds[build] == nil { builds[build] = Build() }
    case .left(let holder):
      guard let entry = entries[holder.worker], entry.holder == holder else { break }
      entries[holder.worker] = nil
      forget(entry.build)
    case .capacity(let holder, let capacity):
      guard let entry = entries[holder.worker], entry.holder == holder else { break }
      // A slot that has become free is a reason to look again.
      if capacity > entry.capacity { change(entry.build) }
      entries[holder.worker]?.capacity = capacity
    case .changed: for build in builds.keys { change(build) }
    case .held(let isHeld): self.isHeld = isHeld
    case .claimed(let build, let slots, let granted):
      for holder in granted where entries[holder.worker]?.holder == holder {
        grants += 1
        entries[holder.worker]?.lastGrant = grants
        entries[holder.worker]?.delivering += 1
      }
      guard let state = builds[build] else { break }
      builds[build] = Build(mayFind: granted.count == slots.count || state.hasChangedWhileClaiming)
      forget(build)
    case .delivered(let holder, let count):
      guard let entry = entries[holder.worker], entry.holder == holder else { break }
      // Below zero if they arrive before the claim is known to have returned; until then the build has no other claim.
      entries[holder.worker]?.delivering = entry.delivering - count
    }
    return claims()
  }

  private mutating func change(_ build: String) {
    builds[build]?.mayFind = true
    if builds[build]?.isClaiming == true { builds[build]?.hasChangedWhileClaiming = true }
  }

  /// Removes a build that no worker has, unless a claim for it is under way.
  private mutating func forget(_ build: String) {
    guard builds[build]?.isClaiming == false, !entries.values.contains(where: { $0.build == build }) else { return }
    builds[build] = nil
  }

  private mutating func claims() -> [Claim] {
    guard !isHeld else { return [] }
    var claims: [Claim] = []
    for build in builds.keys.sorted() {
      guard let state = builds[build], state.mayFind, !state.isClaiming else { continue }
      let slots = slots(of: build)
      guard !slots.isEmpty else { continue }
      builds[build]?.isClaiming = true
      claims.append(Claim(build: build, slots: slots))
    }
    return claims
  }

  /// The free slots of a build's workers in turn.
  private func slots(of build: String) -> [Holder] {
    struct Slot {
      var holder: Holder
      /// The part of the worker's slots that is free before this one is used.
      var idle: Double
      var lastGrant: UInt64
    }
    var slots: [Slot] = []
    for entry in entries.values where entry.build == build {
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
