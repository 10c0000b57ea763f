import Synchronization

/// Limits the bytes that all connections of a server hold together: frames that have not arrived completely or are not
/// processed yet, and content that waits to be written or sent. A connection whose bytes do not fit waits.
///
/// Clients may use three quarters, so that workers, on which every job depends, always find room.
///
/// A long frame grows: its memory is reserved in steps, as its bytes arrive. Growing frames together have at most half
/// of their share, except that the oldest of them may go on for as long as there is room at all. So one of them can
/// always become complete, and none of them keeps content waiting.
package final class MemoryBudget: Sendable {
  package enum Share: Sendable, CaseIterable {
    case worker
    case client
  }

  /// Bytes that are counted until the last reference is gone.
  package final class Reservation: Sendable {
    fileprivate let bytes: Int
    /// The number of the growing frame; nil if the bytes are not of one.
    fileprivate let growth: Int?
    private let budget: MemoryBudget
    /// The steps before this one.
    private let earlier: Reservation?

    fileprivate init(_ bytes: Int, _ growth: Int?, _ budget: MemoryBudget, after earlier: Reservation?) {
      self.bytes = bytes
      self.growth = growth
      self.budget = budget
      self.earlier = earlier
    }

    deinit {
      budget.release(bytes, growth)
    }
  }

  /// Names a request that waits.
  struct Request: Sendable, Hashable {
    fileprivate var number: Int
  }

  private struct Waiting: Sendable {
    var request: Request
    var bytes: Int
    var share: Share
    /// The number of the growing frame that the bytes are of, and its steps so far. Nil: they are not of one.
    var growth: Int?
    var earlier: Reservation?
    var grant: @Sendable (Reservation) -> Void
  }

  private struct State: Sendable {
    var used = 0
    var next = 0
    /// The oldest first.
    var waiting: [Share: [Waiting]] = [:]
    /// Those of growing frames, the oldest frame first.
    var steps: [Waiting] = []
    /// The bytes of each growing frame. A frame that began later has a higher number.
    var growing: [Int: Int] = [:]
    /// The shares in which the oldest growing frame waits for room. It goes before what is not of a growing frame.
    var blocked: Set<Share> = []

    mutating func take(_ waiting: Waiting) {
      used += waiting.bytes
      if let growth = waiting.growth { growing[growth, default: 0] += waiting.bytes }
    }
  }

  /// In bytes.
  package let limit: Int
  private let state = Mutex(State())

  package init(limit: Int) {
    self.limit = limit
  }

  /// The bytes that are reserved now.
  package var used: Int { state.withLock { $0.used } }

  /// Whether somebody waits for room.
  var isContended: Bool {
    state.withLock { state in !state.steps.isEmpty || state.waiting.values.contains { !$0.isEmpty } }
  }

  /// Reserves bytes if there is room for them now and nobody waits.
  func reserveNow(_ bytes: Int, for share: Share) -> Reservation? {
    let isReserved = state.withLock { state in
      guard state.waiting[share, default: []].isEmpty, !state.blocked.contains(share), fits(bytes, share, state.used)
      else { return false }
      state.used += bytes
      return true
    }
    return isReserved ? Reservation(bytes, nil, self, after: nil) : nil
  }

  /// Reserves bytes, now or when there is room. Requests of one share are granted in their order.
  /// - Parameter grant: Called once, possibly before this returns, unless the request is cancelled before.
  func reserve(_ bytes: Int, for share: Share, grant: @escaping @Sendable (Reservation) -> Void) -> Request {
    let request = state.withLock { state in
      let request = Request(number: state.next)
      state.next += 1
      state.waiting[share, default: []].append(Waiting(request: request, bytes: bytes, share: share, grant: grant))
      return request
    }
    grantWhatFits()
    return request
  }

  /// Reserves bytes for one more step of a growing frame, now or when there is room.
  /// - Parameters:
  ///   - earlier: The steps before this one; nil for the first step.
  ///   - grant: Called once with all steps, possibly before this returns, unless the request is cancelled before.
  func grow(
    _ earlier: Reservation?, by bytes: Int, for share: Share, grant: @escaping @Sendable (Reservation) -> Void
  ) -> Request {
    let request = state.withLock { state in
      let request = Request(number: state.next)
      state.next += 1
      let growth = earlier?.growth ?? request.number
      let index = state.steps.firstIndex { ($0.growth ?? 0) > growth } ?? state.steps.endIndex
      state.steps.insert(
        Waiting(request: request, bytes: bytes, share: share, growth: growth, earlier: earlier, grant: grant), at: index
      )
      return request
    }
    grantWhatFits()
    return request
  }

  /// The frame has arrived: it needs no further step.
  func complete(_ reservation: Reservation?) {
    guard let growth = reservation?.growth else { return }
    state.withLock { $0.growing[growth] = nil }
    grantWhatFits()
  }

  /// Forgets a request that waits. Does nothing if it was granted.
  func cancel(_ request: Request) {
    let removed = state.withLock { state in
      // A reservation may end with its request, and must not do so under the lock.
      let removed = (state.waiting.values.joined() + state.steps).filter { $0.request == request }
      for share in Share.allCases { state.waiting[share]?.removeAll { $0.request == request } }
      state.steps.removeAll { $0.request == request }
      return removed
    }
    // Others may have waited behind it.
    if !removed.isEmpty { grantWhatFits() }
  }

  /// Reserves bytes; waits until there is room. Throws `.closed` if the task is cancelled.
  func reserve(_ bytes: Int, for share: Share) async throws(WireError) -> Reservation {
    if let reservation = reserveNow(bytes, for: share) { return reservation }
    let (granted, grant) = AsyncStream.makeStream(of: Reservation.self)
    let request = reserve(bytes, for: share) { reservation in
      grant.yield(reservation)
      grant.finish()
    }
    for await reservation in granted { return reservation }
    cancel(request)
    throw WireError(.closed, "the transfer was cancelled")
  }

  private func release(_ bytes: Int, _ growth: Int?) {
    state.withLock { state in
      state.used -= bytes
      if let growth, let held = state.growing[growth] { state.growing[growth] = held > bytes ? held - bytes : nil }
    }
    grantWhatFits()
  }

  private func grantWhatFits() {
    let granted = state.withLock { state in
      var granted: [Waiting] = []
      var steps: [Waiting] = []
      state.blocked = []
      for step in state.steps {
        if !mayGrow(step, state) {
          steps.append(step)
        } else if !state.blocked.contains(step.share), fits(step.bytes, step.share, state.used) || isAlone(step, state)
        {
          state.take(step)
          granted.append(step)
        } else {
          state.blocked.insert(step.share)
          steps.append(step)
        }
      }
      state.steps = steps
      for share in Share.allCases where !state.blocked.contains(share) {
        while let first = state.waiting[share]?.first, fits(first.bytes, share, state.used) {
          state.waiting[share]?.removeFirst()
          state.take(first)
          granted.append(first)
        }
      }
      return granted
    }
    for waiting in granted {
      waiting.grant(Reservation(waiting.bytes, waiting.growth, self, after: waiting.earlier))
    }
  }

  private func fits(_ bytes: Int, _ share: Share, _ used: Int) -> Bool {
    // What is larger than the whole goes through alone.
    used == 0 || bytes <= room(share) - used
  }

  private func room(_ share: Share) -> Int { share == .worker ? limit : limit / 4 * 3 }

  private func isOldest(_ step: Waiting, _ state: State) -> Bool {
    guard let growth = step.growth, let oldest = state.growing.keys.min() else { return true }
    return growth <= oldest
  }

  private func mayGrow(_ step: Waiting, _ state: State) -> Bool {
    isOldest(step, state) || state.growing.values.reduce(step.bytes, +) <= room(step.share) / 2
  }

  /// Whether a frame that is larger than the whole can go on, because everything that is reserved waits for it.
  private func isAlone(_ step: Waiting, _ state: State) -> Bool {
    isOldest(step, state) && state.growing.values.reduce(0, +) == state.used
  }
}
