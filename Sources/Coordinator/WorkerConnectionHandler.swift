import ContentStorage
import Digest
import FoundationEssentials
import Jobs
import Logging
import SwiftProtobuf
import Wire

/// Serves one connection of a worker: turns messages into the events of its `WorkerSession`, and the session's effects
/// into messages and calls of the store.
actor WorkerConnectionHandler {
  nonisolated let worker: WorkerID
  nonisolated let session: SessionID
  nonisolated let name: String
  nonisolated let slots: Int
  nonisolated let build: String
  nonisolated let connection: WireConnection
  private nonisolated let service: CoordinatorService
  private var state: WorkerSession
  /// The fingerprints under which the results of the leases are recorded.
  private var fingerprints: [Lease: SHA256Digest] = [:]
  private var isOver = false
  private var hasLeft = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  /// The most leases that a heartbeat may list.
  private static let maximumLeases = 4096
  /// The longest message and the longest log of a failure, in characters and bytes.
  private static let maximumText = 4096

  init(service: CoordinatorService, connection: WireConnection, hello: Sheaf_Hello) {
    self.service = service
    self.connection = connection
    worker = WorkerID(hello.workerID)
    session = SessionID((0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined())
    name = hello.name.isEmpty ? hello.workerID : hello.name
    slots = Int(hello.slots)
    build = hello.build
    state = WorkerSession(
      worker: worker, slots: slots, silence: service.configuration.policy.lease, now: service.now)
  }

  nonisolated func metadata(_ error: any Error) -> Logger.Metadata {
    ["worker": "\(worker)", "name": "\(name)", "error": "\(error)"]
  }

  var hasLeases: Bool { !state.leases.isEmpty }

  /// Serves the connection until it is closed, then releases its leases.
  func run() async throws {
    await service.join(self)
    let result: Result<Void, any Error>
    do {
      let transfers = ContentTransferHandler(content: service.content, connection: connection)
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
    await service.leave(self)
    hasLeft = true
    for continuation in waiting { continuation.resume() }
    waiting = []
    try result.get()
  }

  /// Returns when the connection is closed and its leases are released.
  func ended() async {
    if hasLeft { return }
    await withCheckedContinuation { waiting.append($0) }
  }

  func refuseAsShuttingDown() async {
    await connection.refuse(.shuttingDown, "the coordinator is shutting down")
  }

  func tick() async {
    await carryOut(state.handle(.tick, now: service.now))
  }

  /// Sends grants. Returns the capacity that is left.
  func grant(_ grants: [Grant]) async -> Int {
    for effect in state.handle(.claimed(grants), now: service.now) {
      // The capacity is returned instead.
      if case .capacity = effect { continue }
      await carryOut([effect])
    }
    return state.capacity(now: service.now)
  }

  private func receive(_ message: WireMessage) async throws {
    switch message {
    case .heartbeat(let heartbeat):
      guard heartbeat.progress.count <= Self.maximumLeases else {
        throw WireError(.violation, "a heartbeat lists more than \(Self.maximumLeases) leases")
      }
      let progress = try heartbeat.progress.map { progress in
        LeaseProgress(lease: try Lease(progress.lease), done: Int64(clamping: progress.done))
      }
      await handle(
        .heartbeat(
          progress: progress, freeSlots: Int(min(heartbeat.freeSlots, 1024)), isDraining: heartbeat.draining))
    case .publish(let publish):
      guard let digest = SHA256Digest(bytes: publish.digest) else {
        throw WireError(.violation, "a digest must have 32 bytes, not \(publish.digest.count)")
      }
      await handle(.publish(try Lease(publish.lease), Content(digest: digest, size: Int64(clamping: publish.size))))
    case .failure(let failure):
      await handle(.failure(try Lease(failure.lease), TaskFailure(failure, limit: Self.maximumText)))
    default: break
    }
  }

  private func handle(_ event: WorkerSession.Event) async {
    await carryOut(state.handle(event, now: service.now))
  }

  private func carryOut(_ effects: [WorkerSession.Effect]) async {
    for effect in effects {
      do {
        try await carryOut(effect)
      } catch let error as JobStoreError {
        service.logger.error("store operation failed", metadata: metadata(error))
      } catch {
        // The connection is closed: the task that reads it ends the session.
        service.logger.debug("message not sent", metadata: metadata(error))
      }
    }
  }

  private func carryOut(_ effect: WorkerSession.Effect) async throws {
    switch effect {
    case .renew(let progress):
      var lost: [Lease] = []
      do throws(JobStoreError) {
        lost = try await service.store.renew(worker: worker, leases: progress)
      } catch {
        // Whether the worker holds them is not known, so none is cancelled. The store decides when it answers again.
        service.logger.error("leases not renewed", metadata: metadata(error))
      }
      await handle(.renewed(lost: lost))
    case .replyToHeartbeat(let cancelled):
      for lease in cancelled { fingerprints[lease] = nil }
      try await connection.send(.heartbeatReply(.with { $0.cancelled = cancelled.map(\.message) }))
    case .grant(let grant): try await send(grant)
    case .publish(let lease, let content): try await publish(lease, content)
    case .replyToPublish(let lease, let outcome):
      try await connection.send(
        .publishReply(
          .with {
            $0.lease = lease.message
            $0.outcome = outcome.message
          }))
    case .fail(let lease, let failure):
      if failure.end == .released { await service.countRelease(lease, message: failure.message) }
      _ = try await service.store.fail(lease, worker: worker, failure: failure)
      fingerprints[lease] = nil
      await handle(.failed(lease))
    case .replyToFailure(let lease):
      try await connection.send(.failureReply(.with { $0.lease = lease.message }))
    case .capacity(let capacity): await service.setCapacity(of: worker, to: capacity)
    case .close:
      service.logger.notice(
        "worker closed because it sent nothing", metadata: ["worker": "\(worker)", "name": "\(name)"])
      connection.close()
    }
  }

  private func send(_ grant: Grant) async throws {
    fingerprints[grant.lease] = TaskFingerprint.of(
      build: build, kind: grant.kind, payload: grant.payload, inputs: grant.inputs.map(\.digest))
    let inputs = try await BlockingWork.run { [content = service.content] in
      grant.inputs.map { Sheaf_Content($0, path: content.sharedPath(of: $0) ?? "") }
    }
    let message = Sheaf_Grant.with {
      $0.lease = grant.lease.message
      $0.kind = grant.kind.message
      $0.job = grant.lease.task.job.description
      $0.payload = Data(grant.payload)
      $0.inputs = inputs
      $0.work = UInt64(clamping: grant.work)
    }
    try await connection.send(.grant(message))
  }

  private func publish(_ lease: Lease, _ content: Content) async throws {
    let isStored = try await BlockingWork.run { [store = service.content.store] in store.contains(content) }
    guard isStored else {
      await handle(.published(lease, nil))
      return
    }
    let outcome = try await publishInStore(lease, content)
    if outcome == .published {
      await service.clearReleases(of: lease.task)
      if let fingerprint = fingerprints[lease] {
        do {
          try await BlockingWork.run { [results = service.results] in try results.record(content, for: fingerprint) }
        } catch {
          // The result is published. Only a later job does not find it in the cache.
          service.logger.error("result not cached", metadata: metadata(error))
        }
      }
    }
    fingerprints[lease] = nil
    await handle(.published(lease, outcome))
  }

  /// Publishes, and tries again while the store is unavailable and the worker is connected, so that a finished task is
  /// not lost when the database restarts.
  private func publishInStore(_ lease: Lease, _ content: Content) async throws -> PublishOutcome {
    while true {
      do throws(JobStoreError) {
        return try await service.store.publish(lease, worker: worker, result: content)
      } catch {
        guard error.code == .unavailable, !isOver else { throw error }
        service.logger.error("result not published yet", metadata: metadata(error))
      }
      try await Task.sleep(for: .seconds(1))
    }
  }
}
