import Jobs

/// Who asks the store for how much, and when: pure (DESIGN 4).
///
/// Every worker with room asks when there may be something to find, a half of its room at a time and the idlest first,
/// so that a burst of tasks is shared out and not swallowed by whoever is asked first.
struct Scheduler: Sendable {
  enum Event: Sendable, Hashable {
    case joined(WorkerID, slots: Int)
    case left(WorkerID)
    case room(WorkerID, Int)
    /// Something may have become ready.
    case woke
    /// A claim came back; `room` is the worker's after it.
    case claimed(WorkerID, asked: Int, got: Int, room: Int)
  }

  struct Claim: Sendable, Hashable {
    var worker: WorkerID
    var limit: Int
  }

  private struct Entry: Sendable {
    var worker: WorkerID
    var slots: Int
    var room = 0
    /// A claim may find something: nothing said otherwise since the last wake.
    var mayFind = true
    var isClaiming = false
    var wokeWhileClaiming = false
  }

  private let maximumClaims: Int
  /// By worker.
  private var entries: [Entry] = []

  /// - Parameter maximumClaims: How many may be under way at once.
  init(maximumClaims: Int = 4) {
    self.maximumClaims = maximumClaims
  }

  mutating func handle(_ event: Event) -> [Claim] {
    switch event {
    case .joined(let worker, let slots):
      entries.removeAll { $0.worker == worker }
      entries.append(Entry(worker: worker, slots: max(1, slots)))
      entries.sort { $0.worker < $1.worker }
    case .left(let worker): entries.removeAll { $0.worker == worker }
    case .room(let worker, let room):
      change(worker) { entry in
        // A slot that became free is reason enough to look.
        if room > entry.room { entry.mayFind = true }
        entry.room = room
      }
    case .woke:
      for index in entries.indices {
        entries[index].mayFind = true
        entries[index].wokeWhileClaiming = entries[index].isClaiming
      }
    case .claimed(let worker, let asked, let got, let room):
      change(worker) { entry in
        entry.mayFind = got == asked || entry.wokeWhileClaiming
        entry.isClaiming = false
        entry.wokeWhileClaiming = false
        entry.room = room
      }
    }
    return claims()
  }

  private mutating func claims() -> [Claim] {
    var claims: [Claim] = []
    while entries.count(where: \.isClaiming) < maximumClaims, let index = idlest() {
      entries[index].isClaiming = true
      claims.append(Claim(worker: entries[index].worker, limit: (entries[index].room + 1) / 2))
    }
    return claims
  }

  private func idlest() -> Int? {
    let candidates = entries.indices.filter { entries[$0].room > 0 && entries[$0].mayFind && !entries[$0].isClaiming }
    return candidates.min { left, right in
      let (a, b) = (entries[left], entries[right])
      // room/slots, compared without dividing.
      return a.room * b.slots == b.room * a.slots ? a.worker < b.worker : a.room * b.slots > b.room * a.slots
    }
  }

  private mutating func change(_ worker: WorkerID, _ body: (inout Entry) -> Void) {
    guard let index = entries.firstIndex(where: { $0.worker == worker }) else { return }
    body(&entries[index])
  }
}
