import Synchronization

/// Limits the bytes that all connections of a server hold together: frames that have not arrived completely or are not
/// processed yet, and content that waits to be written or sent. A connection whose bytes do not fit waits.
///
/// Clients may use three quarters, so that workers, on which every job depends, always find room.
package final class MemoryBudget: Sendable {
  package enum Share: Sendable, CaseIterable {
    case worker
    case client
  }

  /// Bytes that are counted until the last reference is gone.
  package final class Reservation: Sendable {
    fileprivate let bytes: Int
    private let budget: MemoryBudget

    fileprivate init(_ bytes: Int, _ budget: MemoryBudget) {
      self.bytes = bytes
      self.budget = budget
    }

    deinit {
      budget.release(bytes)
    }
  }

  /// Names a request that waits.
  struct Request: Sendable, Hashable {
    fileprivate var number: Int
    fileprivate var share: Share
  }

  private struct Waiting: Sendable {
    var request: Request
    var bytes: Int
    var grant: @Sendable (Reservation) -> Void
  }

  private struct State: Sendable {
    var used = 0
    var next = 0
    /// The oldest first.
    var waiting: [Share: [Waiting]] = [:]
  }

  /// In bytes.
  package let limit: Int
  private let state = Mutex(State())

  package init(limit: Int) {
    self.limit = limit
  }

  /// The bytes that are reserved now.
  package var used: Int { state.withLock { $0.used } }

  /// Reserves bytes if there is room for them now and nobody waits.
  func reserveNow(_ bytes: Int, for share: Share) -> Reservation? {
    let isReserved = state.withLock { state in
      guard state.waiting[share, default: []].isEmpty, fits(bytes, share, state.used) else { return false }
      state.used += bytes
      return true
    }
    return isReserved ? Reservation(bytes, self) : nil
  }

  /// Reserves bytes, now or when there is room. Requests of one share are granted in their order.
  /// - Parameter grant: Called once, possibly before this returns, unless the request is cancelled before.
  func reserve(_ bytes: Int, for share: Share, grant: @escaping @Sendable (Reservation) -> Void) -> Request {
    let request = state.withLock { state in
      let request = Request(number: state.next, share: share)
      state.next += 1
      state.waiting[share, default: []].append(Waiting(request: request, bytes: bytes, grant: grant))
      return request
    }
    grantWhatFits()
    return request
  }

  /// Forgets a request that waits. Does nothing if it was granted.
  func cancel(_ request: Request) {
    state.withLock { $0.waiting[request.share]?.removeAll { $0.request == request } }
    // Others may have waited behind it.
    grantWhatFits()
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

  private func release(_ bytes: Int) {
    state.withLock { $0.used -= bytes }
    grantWhatFits()
  }

  private func grantWhatFits() {
    let granted = state.withLock { state in
      var granted: [Waiting] = []
      for share in Share.allCases {
        while let first = state.waiting[share]?.first, fits(first.bytes, share, state.used) {
          state.waiting[share]?.removeFirst()
          state.used += first.bytes
          granted.append(first)
        }
      }
      return granted
    }
    for waiting in granted { waiting.grant(Reservation(waiting.bytes, self)) }
  }

  private func fits(_ bytes: Int, _ share: Share, _ used: Int) -> Bool {
    // What is larger than the whole goes through alone.
    used == 0 || bytes <= (share == .worker ? limit : limit / 4 * 3) - used
  }
}
