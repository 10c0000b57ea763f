import ContentStorage
import Digest
import FarmAPI
import FarmModel
import FarmWire
import FoundationEssentials
import Jobs
import Logging
import Runtime
import SwiftProtobuf
import Wire

/// Serves one connection of a worker: turns messages into the events of its `WorkerSession`, and the session's effects
/// into messages and calls of the parts. It waits for no store: what the store answers comes back as an event.
actor WorkerConnectionHandler {
  /// What it calls of the coordinator.
  struct Parts: Sendable {
    var workers: ConnectedWorkers
    var claims: TaskClaims
    var reports: TaskReports
    var facts: TaskFacts
    var storage: StorageWatch
    var content: ContentLocator
    var configuration: CoordinatorConfiguration
    var events: FarmEvents
    var counts: WorkCounts
    var traces: JobTraces
    var logger: Logger
    /// Time since any fixed moment.
    var now: @Sendable () -> Duration
  }

  nonisolated let holder: Holder
  nonisolated let name: String
  /// By what the farm knows the worker beyond this connection.
  nonisolated let account: String
  nonisolated let slots: Int
  /// How many bytes of memory each of its tasks may use.
  nonisolated let taskMemory: Int64
  nonisolated let build: String
  /// Those whose jobs it takes, in their order as bytes.
  nonisolated let pools: [String]
  nonisolated let connection: WireConnection
  private nonisolated let parts: Parts
  private var state: WorkerSession
  /// Why the worker takes no tasks for now, for a person; empty if it takes some.
  private var paused = ""
  /// Why it is granted none for now; empty if it is granted some.
  private var held = ""
  /// Why the farm grants it none. Nil: it does.
  private var hold: WorkerHold?
  /// The leases that it has published or failed, without an answer yet.
  private var reporting: Set<Lease> = []
  private var hasHeartbeat = false
  private var isOver = false
  /// Replies that the worker has not read yet.
  private var unsent = 0

  /// The most leases that a heartbeat may list.
  private static let maximumLeases = 4096
  /// The longest message and the longest log of a failure, in characters and bytes.
  private static let maximumText = 4096
  /// The longest reason for a pause, in characters.
  private static let maximumReason = 256
  /// How many replies and grants may wait until a worker reads them. One that lets more wait is closed.
  private static let maximumUnsent = 8192

  init(_ parts: Parts, connection: WireConnection, hello: Sheaf_Hello, caller: Caller) {
    self.parts = parts
    self.connection = connection
    holder = Holder(worker: WorkerID(hello.workerID), session: SessionID(hello.session))
    name = hello.workerName
    let account = caller.owner.map { "\($0)/" } ?? ""
    self.account = account + hello.workerName
    slots = Int(hello.slots)
    taskMemory = hello.taskMemory == 0 ? .max : Int64(clamping: hello.taskMemory)
    build = hello.build
    // One that asks for others than its token's is not admitted.
    pools = (try? caller.pools(asking: hello.pools)) ?? []
    state = WorkerSession(
      holder: holder, slots: slots, silence: parts.configuration.policy.lease, now: parts.now())
  }

  nonisolated var asEvent: FarmEvent.Worker { FarmEvent.Worker(name: name, id: holder.worker.description) }
  private nonisolated var metadata: Logger.Metadata { asEvent.metadata }

  /// Serves the connection until it is closed. Throws a refusal if a later connection of the worker is open.
  func run() async throws {
    try await parts.workers.join(self)
    let result: Result<Void, any Error>
    do {
      let transfers = ContentTransferHandler(
        content: parts.content, connection: connection, minimumFree: parts.configuration.minimumFree,
        waits: { [parts] in await parts.storage.uploadWaits($0, $1) },
        received: { [parts] in parts.counts.received($0, from: .worker) },
        sent: { [parts] in parts.counts.sent($0, to: .worker) })
      try await withThrowingDiscardingTaskGroup { group in
        for try await message in connection.inbound {
          if try await transfers.start(message, in: &group) { continue }
          switch message {
          case .heartbeat, .publish, .failure: try await receive(message)
          default: throw WireError(.violation, "this message is not for a worker to send")
          }
        }
        await transfers.close()
        group.cancelAll()
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    isOver = true
    await parts.workers.leave(self)
    try result.get()
  }

  /// The leases that the worker holds, as far as this connection has seen.
  var leases: [Lease] { state.leases }

  func refuseAsShuttingDown() async {
    await connection.refuse(.shuttingDown, "the coordinator is shutting down")
  }

  func setHold(_ hold: WorkerHold?) { self.hold = hold }

  /// A second has passed.
  func tick() async {
    // On a slow link a heartbeat may wait for a chunk of a result, whose bytes show that the worker is there.
    await handle(.received(parts.now() - (ContinuousClock.now - connection.lastReceived)))
    await handle(.tick)
  }

  /// The store's answer to something that the worker has sent, on this connection or an earlier one.
  func take(_ event: WorkerSession.Event) async {
    switch event {
    case .published(let lease, _), .failed(let lease, _, _, _): reporting.remove(lease)
    default: break
    }
    await handle(event)
  }

  /// Sends grants. Returns those that cannot be sent because the connection is closed.
  func grant(_ grants: [Grant]) async -> [Grant] {
    guard !isOver else { return grants }
    await handle(.claimed(grants))
    return []
  }

  private func receive(_ message: WireMessage) async throws {
    switch message {
    case .heartbeat(let heartbeat):
      guard heartbeat.progress.count <= Self.maximumLeases else {
        throw WireError(.violation, "a heartbeat lists more than \(Self.maximumLeases) leases")
      }
      let renewals = try heartbeat.progress.map { progress in
        Renewal(
          lease: try Lease(progress.lease), holder: holder, done: Int64(clamping: progress.done),
          moved: Int64(clamping: progress.moved))
      }
      let reason = heartbeat.paused.shortened(to: Self.maximumReason)
      if reason != paused {
        parts.events.emit(.workerPaused(asEvent, reason: reason.isEmpty ? nil : reason))
        paused = reason
        await parts.workers.setPause(of: holder, to: pause)
      }
      if !hasHeartbeat {
        hasHeartbeat = true
        await parts.workers.returned(holder, with: Set(renewals.map(\.lease)))
      }
      await handle(
        .heartbeat(
          renewals: renewals, freeSlots: Int(min(heartbeat.freeSlots, 1024)), isDraining: heartbeat.draining))
    case .publish(let publish):
      guard let digest = SHA256Digest(bytes: publish.digest) else {
        throw WireError(.violation, "a digest must have 32 bytes, not \(publish.digest.count)")
      }
      let lease = try begin(publish.lease)
      await handle(
        .publish(
          lease, Content(digest: digest, size: Int64(clamping: publish.size)), damage: [UInt8](publish.damage),
          usage: publish.hasUsage ? AttemptUsage(attempt: publish.usage) : nil))
    case .failure(let failure):
      guard failure.damagedInput.isEmpty || SHA256Digest(bytes: failure.damagedInput) != nil else {
        throw WireError(.violation, "a digest must have 32 bytes, not \(failure.damagedInput.count)")
      }
      let lease = try begin(failure.lease)
      await handle(
        .failure(
          lease, TaskFailure(failure, limit: Self.maximumText),
          damagedInput: SHA256Digest(bytes: failure.damagedInput)))
    default: break
    }
  }

  private func begin(_ message: Sheaf_Lease) throws -> Lease {
    let lease = try Lease(message)
    reporting.insert(lease)
    guard reporting.count <= Self.maximumLeases else {
      throw WireError(.violation, "more than \(Self.maximumLeases) results and failures are not answered yet")
    }
    return lease
  }

  private func handle(_ event: WorkerSession.Event) async {
    for effect in state.handle(event, now: parts.now()) { await carryOut(effect) }
  }

  private var pause: String { (paused.isEmpty ? held : paused).shortened(to: Self.maximumReason) }

  private func carryOut(_ effect: WorkerSession.Effect) async {
    switch effect {
    case .renew(let renewals): parts.claims.renew(holder, renewals)
    case .replyToHeartbeat(let cancelled):
      await parts.reports.forget(cancelled)
      send(
        .heartbeatReply(
          .with {
            $0.cancelled = cancelled.map(\.message)
            $0.drain = hold == .draining && state.leases.isEmpty
          }))
    case .grant(let grant): send(grant)
    case .publish(let lease, let content, let damage, let usage):
      await parts.reports.publish(lease, holder, content, damage: damage, usage: usage, worker: name, account: account)
    case .replyToPublish(let lease, let outcome):
      send(
        .publishReply(
          .with {
            $0.lease = lease.message
            $0.outcome = outcome.message
          }))
    case .fail(let lease, let failure, let damagedInput):
      await parts.reports.fail(lease, holder, failure, damagedInput: damagedInput, worker: name)
    case .replyToFailure(let lease): send(.failureReply(.with { $0.lease = lease.message }))
    case .capacity:
      // The present one: an effect before this may have waited while another event was handled.
      parts.claims.setCapacity(of: holder, to: state.capacity(now: parts.now()))
    case .paused(let reason):
      held = reason
      await parts.workers.setPause(of: holder, to: pause)
    case .close:
      parts.logger.notice("worker closed because it sent nothing", metadata: metadata)
      connection.close()
    }
  }

  private func send(_ grant: Grant) {
    sending { [self] in
      await parts.reports.granted(grant, build: build)
      let inputs = try await BlockingWork.run { [content = parts.content] in
        grant.inputs.map { Sheaf_Content($0, path: content.sharedPath(of: $0) ?? "") }
      }
      let trace = await parts.traces.trace(of: grant.lease.task.job)
      let message = Sheaf_Grant.with {
        $0.lease = grant.lease.message
        $0.kind = grant.kind.message
        $0.job = grant.lease.task.job.description
        $0.payload = Data(grant.payload)
        $0.inputs = inputs
        $0.work = UInt64(clamping: grant.work)
        $0.traceparent = trace?.description ?? ""
      }
      // Before it is sent: its end may come at once.
      let fact = await parts.facts.fact(of: grant.lease.task)
      parts.events.emit(.taskGranted(.init(grant.lease.task, fact), worker: name))
      do {
        try await connection.send(.grant(message))
      } catch {
        // The worker has not read it: another one may have the task at once.
        await parts.claims.release([grant])
        return
      }
    }
  }

  private func send(_ message: WireMessage) {
    sending { [connection] in try await connection.send(message) }
  }

  /// Sends in a task of its own, because a worker on a slow link must not hold up what the store answers to others.
  private func sending(_ body: @escaping @Sendable () async throws -> Void) {
    unsent += 1
    guard unsent <= Self.maximumUnsent else {
      parts.logger.notice("worker closed because it does not read", metadata: metadata)
      connection.close()
      return
    }
    Task {
      do {
        try await body()
      } catch {
        // The connection is closed: the task that reads it ends the session.
        parts.logger.debug("message not sent", metadata: metadata)
      }
      self.unsent -= 1
    }
  }
}
