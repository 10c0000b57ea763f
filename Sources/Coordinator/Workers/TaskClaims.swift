import FarmModel
import Jobs
import Logging
import Synchronization

/// Claims tasks for the free slots of the connected workers and renews the leases that their heartbeats list. What to
/// do when is decided by `ClaimBatcher` and `RenewalQueue`; here the store is called, each time in a task of its own,
/// and its answers go to the workers' connections.
final class TaskClaims: Sendable {
  /// Why nothing is claimed for now.
  struct Holds: OptionSet, Sendable {
    let rawValue: Int

    /// The coordinator drains.
    static let draining = Holds(rawValue: 1)
    /// The content store is away, or its disk is low.
    static let storage = Holds(rawValue: 2)
  }

  private struct State: Sendable {
    var batcher = ClaimBatcher()
    var renewals = RenewalQueue()
    var holds: Holds = []
  }

  private let store: any JobStore
  private let connections: WorkerConnections
  private let reports: TaskReports
  private let availability: StoreAvailability
  private let now: @Sendable () -> Duration
  private let state = Mutex(State())

  init(
    store: any JobStore, connections: WorkerConnections, reports: TaskReports, availability: StoreAvailability,
    now: @escaping @Sendable () -> Duration
  ) {
    self.store = store
    self.connections = connections
    self.reports = reports
    self.availability = availability
    self.now = now
  }

  // MARK: Workers

  func joined(_ worker: WorkerConnectionHandler) {
    handle(
      .joined(worker.holder, slots: worker.slots, group: .init(build: worker.build, pools: worker.pools)))
  }

  func left(_ holder: Holder) {
    handle(ClaimBatcher.Event.left(holder))
    handle(RenewalQueue.Event.left(holder))
  }

  func setCapacity(of holder: Holder, to capacity: Int) { handle(.capacity(holder, capacity)) }

  // MARK: Claims

  /// Something may have become ready.
  func changed() { handle(.changed) }

  /// Makes no claims for a reason, or claims again when there is none left.
  func hold(_ reason: Holds, _ isHeld: Bool) {
    let claims = state.withLock { state in
      if isHeld { state.holds.insert(reason) } else { state.holds.remove(reason) }
      return state.batcher.handle(.held(!state.holds.isEmpty))
    }
    carryOut(claims)
  }

  private func handle(_ event: ClaimBatcher.Event) {
    carryOut(state.withLock { $0.batcher.handle(event) })
  }

  private func carryOut(_ claims: [ClaimBatcher.Claim]) {
    for claim in claims { Task { await self.carryOut(claim) } }
  }

  private func carryOut(_ claim: ClaimBatcher.Claim) async {
    var grants: [Grant] = []
    do throws(JobStoreError) {
      grants = try await store.claim(build: claim.group.build, pools: claim.group.pools, slots: claim.slots)
    } catch {
      availability.report(error, "no tasks claimed")
    }
    // Before any of them is delivered: what is counted as on its way must be so before it arrives.
    handle(.claimed(group: claim.group, slots: claim.slots, granted: grants.map(\.holder)))
    // Each worker in a task of its own: none waits for another one's connection.
    for (holder, grants) in Dictionary(grouping: grants, by: \.holder) {
      let worker = connections.of(holder)
      Task {
        let undelivered = await worker?.grant(grants) ?? grants
        self.handle(.delivered(holder, grants.count))
        await self.release(undelivered)
      }
    }
  }

  /// Frees grants that their workers did not get.
  func release(_ grants: [Grant]) async {
    for grant in grants { await reports.neverReached(grant.lease, grant.holder) }
  }

  // MARK: Renewals

  /// Renews the leases that a heartbeat lists, together with those of other workers. The answer is `.renewed`.
  func renew(_ holder: Holder, _ leases: [Renewal]) { handle(RenewalQueue.Event.heartbeat(holder, leases)) }

  /// Some time has passed.
  func tick() { handle(RenewalQueue.Event.tick) }

  private func handle(_ event: RenewalQueue.Event) {
    for effect in state.withLock({ $0.renewals.handle(event, now: now()) }) {
      switch effect {
      case .renew(let leases): Task { await self.carryOut(leases) }
      case .reply(let holder, let lost):
        if let worker = connections.of(holder) { Task { await worker.take(.renewed(lost: lost)) } }
      }
    }
  }

  private func carryOut(_ leases: [Renewal]) async {
    var lost: [Renewal]?
    do throws(JobStoreError) {
      lost = try await store.renew(leases)
    } catch {
      // Whether the workers hold them is not known, so none is cancelled. The store decides when it answers again.
      availability.report(error, "leases not renewed")
    }
    handle(RenewalQueue.Event.returned(lost: lost))
  }
}
