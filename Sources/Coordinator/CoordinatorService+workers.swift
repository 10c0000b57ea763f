import FarmAPI
import FarmModel
import Jobs
import Logging
import Wire

// The connected workers: who they are, what they are granted, and the renewal of their leases.
extension CoordinatorService {
  // MARK: Coming and going

  /// Adds a worker's connection in place of an earlier one, which is closed. Throws a refusal if the worker has a later
  /// connection, or this one already.
  func join(_ worker: WorkerConnectionHandler) throws {
    let holder = worker.holder
    if let old = workers[holder.worker] {
      guard old.holder.session < holder.session else {
        throw WireError(
          .refused(.unavailable),
          "connection \(holder.session) of worker \(holder.worker) is not later than \(old.holder.session), which is open"
        )
      }
      forget(old)
      old.connection.close()
    }
    workers[holder.worker] = worker
    pauses[holder.worker] = nil
    events.emit(.workerConnected(worker.asEvent))
    claim(claimBatcher.handle(.joined(holder, slots: worker.slots, build: worker.build)))
    mustRegister = true
    hasJoined = true
    register()
  }

  /// The connection is closed. Its leases go on until they run out, because the worker may connect again.
  func leave(_ worker: WorkerConnectionHandler) async {
    let leases = await worker.leases
    if workers[worker.holder.worker] === worker {
      workers[worker.holder.worker] = nil
      pauses[worker.holder.worker] = nil
      events.emit(.workerDisconnected(worker.asEvent))
      left.add(worker.holder, leases, now: now)
      forget(worker)
    }
    let known = disconnected[worker.holder.worker]
    if known.map({ $0.session < worker.holder.session }) ?? true { disconnected[worker.holder.worker] = worker.holder }
    register()
  }

  private func forget(_ worker: WorkerConnectionHandler) {
    claim(claimBatcher.handle(.left(worker.holder)))
    answer(renewals.handle(.left(worker.holder), now: now))
  }

  /// The first heartbeat of a worker's connection lists these leases. Those that its last connection had and that are
  /// not listed never reached the worker, or it has dropped them: they are free at once.
  func returned(_ holder: Holder, with leases: Set<Lease>) async {
    for lease in left.take(holder.worker) where !leases.contains(lease) {
      await fail(lease, holder)
    }
  }

  /// Frees grants that their workers did not get.
  func release(_ grants: [Grant]) async {
    for grant in grants { await fail(grant.lease, grant.holder) }
  }

  private func fail(_ lease: Lease, _ holder: Holder) async {
    let failure = TaskFailure(end: .released, message: "the connection was closed before the worker had the task")
    await reports.fail(lease, holder, failure, worker: holder.worker.description, for: self)
  }

  /// The worker's present connection; nil if it has none here.
  func session(of worker: WorkerID) -> SessionID? { workers[worker]?.holder.session }

  /// Passes what the store has answered to the worker's present connection. Without one, nobody needs it.
  func answer(_ worker: WorkerID, _ event: WorkerSession.Event) async {
    await workers[worker]?.take(event)
  }

  func setPause(of holder: Holder, to reason: String) {
    guard workers[holder.worker]?.holder == holder else { return }
    pauses[holder.worker] = reason.isEmpty ? nil : reason
    mustRegister = true
    register()
  }

  /// Registers all workers and reports closed connections to the store, one call at a time, so that a worker that has
  /// left is not registered again by an earlier call. What the store does not carry out is tried again at the next
  /// tick.
  func register() {
    guard !isRegistering, mustRegister || !disconnected.isEmpty else { return }
    isRegistering = true
    Task { await self.carryOutRegistrations() }
  }

  private func carryOutRegistrations() async {
    defer { isRegistering = false }
    do throws(JobStoreError) {
      while mustRegister || !disconnected.isEmpty {
        if mustRegister {
          mustRegister = false
          let isNew = hasJoined
          hasJoined = false
          try await store.register(workers.values.map(record).sorted { $0.id < $1.id })
          // A job may have waited for a worker to be planned for.
          if isNew { await changed() }
        }
        while let holder = disconnected.first?.value {
          _ = try await store.disconnect(holder)
          if disconnected[holder.worker] == holder { disconnected[holder.worker] = nil }
        }
      }
    } catch {
      mustRegister = true
      report(error, "workers not registered")
    }
  }

  private func record(_ worker: WorkerConnectionHandler) -> WorkerRecord {
    WorkerRecord(
      id: worker.holder.worker, session: worker.holder.session, name: worker.name, slots: Int32(worker.slots),
      memory: worker.taskMemory, build: worker.build,
      coordinator: configuration.name, paused: pauses[worker.holder.worker] ?? "")
  }

  // MARK: Claims

  func setCapacity(of holder: Holder, to capacity: Int) {
    claim(claimBatcher.handle(.capacity(holder, capacity)))
  }

  /// Makes no claims while the coordinator drains, or the content store is away or its disk is low.
  func hold() {
    claim(claimBatcher.handle(.held(isDraining || disk.holdsTasks)))
  }

  func claim(_ claims: [ClaimBatcher.Claim]) {
    for claim in claims {
      Task { await self.carryOut(claim) }
    }
  }

  private func carryOut(_ claim: ClaimBatcher.Claim) async {
    var grants: [Grant] = []
    do throws(JobStoreError) {
      grants = try await store.claim(build: claim.build, slots: claim.slots)
    } catch {
      report(error, "no tasks claimed")
    }
    // Each worker in a task of its own: none waits for another one's connection.
    for (holder, grants) in Dictionary(grouping: grants, by: \.holder) {
      let worker = workers[holder.worker]?.holder == holder ? workers[holder.worker] : nil
      Task {
        let undelivered = await worker?.grant(grants) ?? grants
        self.claim(self.claimBatcher.handle(.delivered(holder, grants.count)))
        await self.release(undelivered)
      }
    }
    self.claim(
      claimBatcher.handle(.claimed(build: claim.build, slots: claim.slots, granted: grants.map(\.holder))))
  }

  // MARK: Renewals

  /// Renews the leases that a heartbeat lists, together with those of other workers. The answer is `.renewed`.
  func renew(_ holder: Holder, _ leases: [Renewal]) {
    answer(renewals.handle(.heartbeat(holder, leases), now: now))
  }

  func answer(_ effects: [RenewalQueue.Effect]) {
    for effect in effects {
      switch effect {
      case .renew(let leases): Task { await self.carryOut(leases) }
      case .reply(let holder, let lost):
        if let worker = workers[holder.worker], worker.holder == holder {
          Task { await worker.take(.renewed(lost: lost)) }
        }
      }
    }
  }

  private func carryOut(_ leases: [Renewal]) async {
    var lost: [Renewal]?
    do throws(JobStoreError) {
      lost = try await store.renew(leases)
    } catch {
      // Whether the workers hold them is not known, so none is cancelled. The store decides when it answers again.
      report(error, "leases not renewed")
    }
    answer(renewals.handle(.returned(lost: lost), now: now))
  }
}

/// The leases of workers whose connections have closed, for a worker that connects again to this coordinator.
struct LeftWorkers: Sendable {
  private static let maximum = 4096

  private var workers: [WorkerID: (holder: Holder, leases: [Lease], at: Duration)] = [:]

  mutating func add(_ holder: Holder, _ leases: [Lease], now: Duration) {
    guard !leases.isEmpty else { return }
    if workers.count >= Self.maximum { workers = [:] }
    workers[holder.worker] = (holder, leases, now)
  }

  /// Removes and returns what is known of a worker's leases.
  mutating func take(_ worker: WorkerID) -> [Lease] {
    workers.removeValue(forKey: worker)?.leases ?? []
  }

  /// Forgets the workers that left more than `age` ago: their leases have run out.
  mutating func forget(olderThan age: Duration, now: Duration) {
    workers = workers.filter { now - $0.value.at <= age }
  }
}
