import Jobs

/// Decides when to claim tasks for which worker, and how many: pure.
///
/// A claim is made for every worker with free capacity when there may be something to find. It is for half of the
/// worker's capacity, and the idlest worker goes first, so that a burst of tasks is spread over the workers.
struct Scheduler: Sendable {
  enum Event: Sendable, Hashable {
    case joined(WorkerID, slots: Int)
    case left(WorkerID)
    case capacity(WorkerID, Int)
    /// Something may have become ready.
    case changed
    /// A claim has returned; `capacity` is the worker's after it.
    case claimed(WorkerID, requested: Int, granted: Int, capacity: Int)
  }

  struct Claim: Sendable, Hashable {
    var worker: WorkerID
    var limit: Int
  }

  private struct Entry: Sendable {
    var worker: WorkerID
    var slots: Int
    var capacity = 0
    /// Whether a claim may find something: no claim has returned fewer tasks than requested since the last change.
    var mayFind = true
    var isClaiming = false
    var hasChangedWhileClaiming = false
  }

  private let maximumClaims: Int
  /// By worker.
  private var entries: [Entry] = []

  /// - Parameter maximumClaims: How many claims may be under way at once.
  init(maximumClaims: Int = 4) {
    self.maximumClaims = maximumClaims
  }

  /// Returns the claims to make now.
  mutating func handle(_ event: Event) -> [Claim] {
    switch event {
    case .joined(let worker, let slots):
      entries.removeAll { $0.worker == worker }
      entries.append(Entry(worker: worker, slots: max(1, slots)))
      entries.sort { $0.worker < $1.worker }
    case .left(let worker): entries.removeAll { $0.worker == worker }
    case .capacity(let worker, let capacity):
      change(worker) { entry in
        // A slot that has become free is a reason to look again.
        if capacity > entry.capacity { entry.mayFind = true }
        entry.capacity = capacity
      }
    case .changed:
      for index in entries.indices {
        entries[index].mayFind = true
        entries[index].hasChangedWhileClaiming = entries[index].isClaiming
      }
    case .claimed(let worker, let requested, let granted, let capacity):
      change(worker) { entry in
        entry.mayFind = granted == requested || entry.hasChangedWhileClaiming
        entry.isClaiming = false
        entry.hasChangedWhileClaiming = false
        entry.capacity = capacity
      }
    }
    return claims()
  }

  private mutating func claims() -> [Claim] {
    var claims: [Claim] = []
    while entries.count(where: \.isClaiming) < maximumClaims, let index = idlest() {
      entries[index].isClaiming = true
      claims.append(Claim(worker: entries[index].worker, limit: (entries[index].capacity + 1) / 2))
    }
    return claims
  }

  private func idlest() -> Int? {
    let candidates = entries.indices.filter {
      entries[$0].capacity > 0 && entries[$0].mayFind && !entries[$0].isClaiming
    }
    return candidates.min { left, right in
      let (a, b) = (entries[left], entries[right])
      // capacity/slots, compared without a division.
      let (first, second) = (a.capacity * b.slots, b.capacity * a.slots)
      return first == second ? a.worker < b.worker : first > second
    }
  }

  private mutating func change(_ worker: WorkerID, _ body: (inout Entry) -> Void) {
    guard let index = entries.firstIndex(where: { $0.worker == worker }) else { return }
    body(&entries[index])
  }
}
