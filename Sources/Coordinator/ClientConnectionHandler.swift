import CompositionModel
import ContentStorage
import Digest
import FoundationEssentials
import Jobs
import Logging
import SwiftProtobuf
import Wire

/// Serves one connection of a client. Requests are answered one after the other; watches, inspections, reads and
/// uploads go on alongside.
actor ClientConnectionHandler {
  /// How many watches and inspections may be under way at once.
  static let maximumWatches = 16
  private static let maximumContents = 10_000
  /// How many jobs a list has if the query does not say, and the most.
  private static let (listedJobs, maximumJobs) = (200, 1000)
  /// How many films may be reported as fetched without an answer of the store.
  private static let maximumFetched = 64

  private nonisolated let service: CoordinatorService
  private nonisolated let connection: WireConnection
  private var watches = 0
  private var isAnswering = false
  private var waitingForAnswer: CheckedContinuation<Void, Never>?
  private var fetched = 0
  private var lastMessage: Duration

  init(service: CoordinatorService, connection: WireConnection) {
    self.service = service
    self.connection = connection
    lastMessage = service.now
  }

  /// Serves the connection until it is closed.
  func run() async throws {
    let transfers = ContentTransferHandler(
      content: service.content, connection: connection, minimumFree: service.configuration.minimumFree,
      checksReads: true, waits: { [service] in await service.uploadWaits($0, $1) })
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { try await self.connection.alongside { try await self.closeWhenIdle() } }
      for try await message in connection.inbound {
        lastMessage = service.now
        if try await transfers.start(message, in: &group) { continue }
        switch message {
        case .watchJob(let watch):
          try beginWatch()
          group.addTask { try await self.connection.alongside { try await self.watch(JobID(watch.job)) } }
        case .inspectDocument(let request):
          try beginWatch()
          group.addTask { try await self.connection.alongside { try await self.inspect(request) } }
        case .fetched(let message): try markFetched(JobID(message.job))
        default:
          // The next one is read when this one is begun: a client does not make the coordinator keep many requests.
          await beginAnswer()
          group.addTask { try await self.connection.alongside { try await self.answer(message) } }
        }
      }
      await transfers.close()
      group.cancelAll()
    }
  }

  private func beginWatch() throws {
    guard watches < Self.maximumWatches else {
      throw WireError(.violation, "more than \(Self.maximumWatches) watches and inspections are under way at once")
    }
    watches += 1
  }

  /// Waits until the request before is answered. Only the task that reads the connection calls it.
  private func beginAnswer() async {
    if isAnswering { await withCheckedContinuation { waitingForAnswer = $0 } }
    isAnswering = true
  }

  private func endAnswer() {
    isAnswering = false
    lastMessage = service.now
    waitingForAnswer?.resume()
    waitingForAnswer = nil
  }

  /// Hashing the files of a request may take longer than the limit: it counts while nothing is being answered.
  private func closeWhenIdle() async throws {
    let limit = service.configuration.idleLimit
    while true {
      do { try await Task.sleep(for: limit / 10) } catch { return }
      if watches == 0, !isAnswering, service.now - lastMessage > limit {
        throw WireError(.timeout, "no request came for \(limit.components.seconds) s")
      }
    }
  }

  private func answer(_ message: WireMessage) async throws {
    defer { endAnswer() }
    do {
      // Reading a file for its digest cannot be stopped, and a store may not answer: neither holds up the coordinator's
      // end.
      if let reply = try await abandonable({ try await self.reply(to: message) }) { try await connection.send(reply) }
    } catch let error as JobStoreError {
      if error.code == .unavailable { await service.storeFailed(error) }
      throw error.refusal
    }
  }

  private func reply(to message: WireMessage) async throws -> WireMessage? {
    switch message {
    case .findMissing(let request): return .findMissingReply(try await missing(request))
    case .submit(let submit): return .submitReply(try await JobSubmission(service).submit(submit))
    case .statusQuery(let query): return .statusReply(try await status(query))
    case .cancelJob(let cancel): return .cancelReply(try await self.cancel(cancel))
    case .retryJob(let retry): return .retryReply(try await JobRetry(service).retry(retry))
    case .deleteJob(let delete): return .deleteReply(try await self.delete(delete))
    case .workersQuery: return .workersReply(try await workers())
    default: throw WireError(.violation, "this message is not for a client to send")
    }
  }

  private func missing(_ request: Sheaf_FindMissing) async throws -> Sheaf_FindMissingReply {
    guard request.contents.count <= Self.maximumContents else {
      throw WireError(.violation, "the request lists more than \(Self.maximumContents) files")
    }
    var missing: [Data] = []
    for entry in request.contents {
      try Task.checkCancellation()
      guard let content = entry.content else {
        throw WireError(.violation, "the request lists content without a SHA-256 or with a size of 2^63 or more")
      }
      // Each file by itself, so that the requests of several clients are in turn.
      let isThere = try await BlockingWork.run(.hashing) { [locator = service.content] in
        locator.has(content, hint: entry.path)
      }
      if !isThere { missing.append(entry.digest) }
    }
    return .with { $0.missing = missing }
  }

  private func status(_ query: Sheaf_StatusQuery) async throws -> Sheaf_StatusReply {
    let reader = await service.status
    var reply = Sheaf_StatusReply()
    reply.notices = await service.notices
    guard !query.job.isEmpty else {
      let after = query.after.isEmpty ? nil : JobID(query.after)
      if let after, try await service.store.summary(of: after) == nil {
        throw WireError(.refused(.notFound), "there is no job \(after)")
      }
      reply.jobs = try await reader.statuses(
        limit: query.limit == 0 ? Self.listedJobs : min(Int(query.limit), Self.maximumJobs), after: after,
        states: query.states.compactMap { JobState($0) })
      return reply
    }
    guard var status = try await reader.status(of: JobID(query.job)) else { return reply }
    if query.withTasks { status.tasks = try await reader.tasks(of: JobID(query.job)) }
    reply.jobs = [status]
    return reply
  }

  private func cancel(_ message: Sheaf_CancelJob) async throws -> Sheaf_CancelReply {
    let id = JobID(message.job)
    let before = try await service.store.summary(of: id)?.job.state
    let state = try await service.store.cancel(id)
    if state == .cancelled, before != .cancelled { await service.logEnd(of: id) }
    return .with {
      $0.job = message.job
      $0.state = state?.message ?? .unspecified
    }
  }

  private func delete(_ message: Sheaf_DeleteJob) async throws -> Sheaf_DeleteReply {
    let id = JobID(message.job)
    let isDeleted = try await service.store.delete(id)
    let state = isDeleted ? nil : try await service.store.summary(of: id)?.job.state
    if isDeleted {
      await service.facts.forget(id)
      service.logger.info("job deleted", metadata: ["job": "\(id)"])
    }
    return .with {
      $0.job = message.job
      $0.deleted = isDeleted
      $0.state = state?.message ?? .unspecified
    }
  }

  /// Goes on when the client closes the connection, which it does next.
  private func markFetched(_ job: JobID) throws {
    fetched += 1
    guard fetched <= Self.maximumFetched else {
      throw WireError(.violation, "more than \(Self.maximumFetched) films were reported as fetched at once")
    }
    Task {
      do throws(JobStoreError) {
        try await service.store.markFetched(job)
      } catch {
        // The film is only kept longer than it has to be.
        await service.report(error, "fetched film not recorded")
      }
      fetched -= 1
    }
  }

  private func watch(_ id: JobID) async throws {
    defer { watches -= 1 }
    do {
      for try await status in await service.watches.watch(id) {
        var reply = Sheaf_StatusReply()
        reply.notices = await service.notices
        reply.jobs = status.map { [$0] } ?? []
        try await connection.send(.statusReply(reply))
      }
    } catch let error as JobStoreError {
      throw error.refusal
    }
  }

  private func inspect(_ request: Sheaf_InspectDocument) async throws {
    defer { watches -= 1 }
    do {
      try await connection.send(.inspectReply(Inspection(service).answer(request)))
    } catch let error as JobStoreError {
      throw error.refusal
    }
  }

  private func workers() async throws -> Sheaf_WorkersReply {
    let workers = try await service.store.workers()
    return .with {
      $0.workers = workers.map { worker in
        .with {
          $0.name = worker.name
          $0.id = worker.id.description
          $0.slots = UInt32(clamping: worker.slots)
          $0.busy = UInt32(clamping: worker.busy)
          $0.build = worker.build
          $0.connectedMilliseconds = worker.connected.milliseconds
          $0.coordinator = worker.coordinator
          $0.paused = worker.paused
          $0.taskMemory = worker.memory == .max ? 0 : UInt64(clamping: worker.memory)
        }
      }
    }
  }
}

extension JobStoreError {
  /// What a client receives when the store could not carry out its request.
  fileprivate var refusal: WireError {
    WireError(.refused(.unavailable), "the coordinator's job store: \(self)")
  }
}
