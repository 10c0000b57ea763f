import Digest
import FoundationEssentials
import Jobs
import Logging
import SwiftProtobuf
import Wire

/// A worker's connection: turns messages into the session's events, and its effects into messages and calls.
actor WorkerLink {
  nonisolated let worker: WorkerID
  nonisolated let name: String
  nonisolated let slots: Int
  nonisolated let build: String
  nonisolated let connection: WireConnection
  private nonisolated let farm: Farm
  private var session: WorkerSession
  /// What each lease's result is to be remembered under.
  private var fingerprints: [Lease: SHA256Digest] = [:]
  private var isOver = false
  private var hasLeft = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(farm: Farm, connection: WireConnection, hello: Sheaf_Hello) {
    self.farm = farm
    self.connection = connection
    worker = WorkerID(hello.workerID)
    name = hello.name.isEmpty ? hello.workerID : hello.name
    slots = Int(hello.slots)
    build = hello.build
    session = WorkerSession(
      worker: worker, slots: slots, silence: farm.configuration.policy.lease, now: farm.now)
  }

  var hasLeases: Bool { !session.leases.isEmpty }

  /// Serves the connection to its end and gives its leases back.
  func run() async throws {
    await farm.join(self)
    let result: Result<Void, any Error>
    do {
      let desk = ContentDesk(library: farm.library, connection: connection)
      try await withThrowingDiscardingTaskGroup { group in
        for try await message in connection.inbound {
          switch message {
          case .readContent(let read):
            try await desk.admit(read)
            group.addTask { try await self.connection.beside { try await desk.serve(read) } }
          case .uploadBegin(let begin):
            if let job = try await desk.open(begin) {
              group.addTask { try await self.connection.beside { try await desk.run(job) } }
            }
          case .uploadChunk(let chunk): try await desk.take(chunk)
          case .heartbeat, .publish, .failure: try await receive(message)
          default: throw WireError(.violation, "this is not for a worker to say")
          }
        }
        await desk.close()
        group.cancelAll()
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    isOver = true
    await farm.leave(self)
    hasLeft = true
    for continuation in waiting { continuation.resume() }
    waiting = []
    try result.get()
  }

  /// Returns when the connection is closed and its leases are free.
  func ended() async {
    if hasLeft { return }
    await withCheckedContinuation { waiting.append($0) }
  }

  func sayFarewell() async {
    await connection.refuse(.shuttingDown, "the coordinator is shutting down")
  }

  func tick() async {
    await carryOut(session.handle(.tick, now: farm.now))
  }

  /// Sends grants; gives the room that is left.
  func grant(_ grants: [Grant]) async -> Int {
    for effect in session.handle(.claimed(grants), now: farm.now) {
      // The room is what this returns.
      if case .room = effect { continue }
      await carryOut([effect])
    }
    return session.room(now: farm.now)
  }

  private func receive(_ message: WireMessage) async throws {
    switch message {
    case .heartbeat(let heartbeat):
      guard heartbeat.progress.count <= 4096 else { throw WireError(.violation, "a heartbeat lists too many leases") }
      let progress = try heartbeat.progress.map { progress in
        LeaseProgress(lease: try Lease(progress.lease), done: Int64(clamping: progress.done))
      }
      await handle(
        .heartbeat(
          progress: progress, freeSlots: Int(min(heartbeat.freeSlots, 1024)), isDraining: heartbeat.draining))
    case .publish(let publish):
      guard let digest = SHA256Digest(bytes: publish.digest) else {
        throw WireError(.violation, "a digest has 32 bytes, not \(publish.digest.count)")
      }
      await handle(
        .publish(try Lease(publish.lease), Content(digest: digest.hex, size: Int64(clamping: publish.size))))
    case .failure(let failure):
      let cause: TaskFailure.Cause =
        switch failure.cause {
        case .media: .media
        case .document: .document
        case .infrastructure, .unspecified, .UNRECOGNIZED: .infrastructure
        }
      let message = String(failure.message.prefix(4096))
      await handle(
        .failure(
          try Lease(failure.lease), TaskFailure(cause: cause, message: message, jitter: .random(in: 0...1))))
    default: break
    }
  }

  private func handle(_ event: WorkerSession.Event) async {
    await carryOut(session.handle(event, now: farm.now))
  }

  private func carryOut(_ effects: [WorkerSession.Effect]) async {
    for effect in effects {
      do {
        try await carryOut(effect)
      } catch let error as JobStoreError {
        farm.logger.error("the store failed a worker", metadata: ["worker": "\(worker)", "error": "\(error)"])
      } catch {
        // The connection is gone: its reader ends the session.
        farm.logger.debug("message not sent", metadata: ["worker": "\(worker)", "error": "\(error)"])
      }
    }
  }

  private func carryOut(_ effect: WorkerSession.Effect) async throws {
    switch effect {
    case .renew(let progress):
      var lost: [Lease] = []
      do throws(JobStoreError) {
        lost = try await farm.store.renew(worker: worker, leases: progress)
      } catch {
        // Nobody knows, so nobody is told to stop: the store's clock decides when it is back.
        farm.logger.error("leases not renewed", metadata: ["worker": "\(worker)", "error": "\(error)"])
      }
      await handle(.renewed(lost: lost))
    case .replyToHeartbeat(let cancelled):
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
    case .fail(let lease, var failure):
      if failure.cause == .infrastructure { await farm.strike(lease, message: failure.message) }
      failure.message = FailureText.stored(failure.cause, failure.message)
      _ = try await farm.store.fail(lease, worker: worker, failure: failure)
      fingerprints[lease] = nil
      await handle(.failed(lease))
    case .replyToFailure(let lease):
      try await connection.send(.failureReply(.with { $0.lease = lease.message }))
    case .room(let room): await farm.changeRoom(of: worker, to: room)
    case .close:
      farm.logger.notice("a worker fell silent", metadata: ["worker": "\(worker)", "name": "\(name)"])
      connection.close()
    }
  }

  private func send(_ grant: Grant) async throws {
    fingerprints[grant.lease] = TaskFingerprint.of(
      build: build, kind: grant.kind, payload: grant.payload, inputs: grant.inputs.map(\.digest))
    let paths = try await BlockingWork.run { [library = farm.library] in
      grant.inputs.map { input in
        SHA256Digest(hex: input.digest).flatMap { library.sharedPath(of: $0, size: input.size) } ?? ""
      }
    }
    var message = Sheaf_Grant()
    message.lease = grant.lease.message
    message.kind = grant.kind.message
    message.job = grant.lease.task.job.description
    message.payload = Data(grant.payload)
    message.inputs = zip(grant.inputs, paths).compactMap { input, path in
      SHA256Digest(hex: input.digest).map { Sheaf_Content(digest: $0, size: input.size, path: path) }
    }
    message.work = UInt64(clamping: grant.work)
    try await connection.send(.grant(message))
  }

  private func publish(_ lease: Lease, _ content: Content) async throws {
    let isThere = try await BlockingWork.run { [vault = farm.library.vault] in vault.contains(content) }
    guard isThere else {
      await handle(.published(lease, nil))
      return
    }
    let outcome = try await publishInStore(lease, content)
    if outcome == .published {
      await farm.clearStrikes(lease.task)
      if let fingerprint = fingerprints[lease] {
        do {
          try await BlockingWork.run { [vault = farm.library.vault] in try vault.note(content, for: fingerprint) }
        } catch {
          // The result counts; only a later job will not find it.
          farm.logger.error("result not indexed", metadata: ["error": "\(error)"])
        }
      }
    }
    fingerprints[lease] = nil
    await handle(.published(lease, outcome))
  }

  /// A finished task is not lost to a database that restarts: asks again for as long as the worker stays.
  private func publishInStore(_ lease: Lease, _ content: Content) async throws -> PublishOutcome {
    while true {
      do throws(JobStoreError) {
        return try await farm.store.publish(lease, result: content)
      } catch {
        guard error.code == .unavailable, !isOver else { throw error }
        farm.logger.error("result not published yet", metadata: ["error": "\(error)"])
      }
      try await Task.sleep(for: .seconds(1))
    }
  }
}
