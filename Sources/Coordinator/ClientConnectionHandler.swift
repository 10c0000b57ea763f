import ContentStorage
import Digest
import FarmAPI
import FarmModel
import FarmWire
import FoundationEssentials
import Runtime
import SwiftProtobuf
import Wire

/// Serves one connection of a client. Requests are answered one after the other; watches, inspections, reads and
/// uploads go on alongside.
actor ClientConnectionHandler {
  /// How many watches and inspections may be under way at once.
  static let maximumWatches = 16
  /// How many films may be reported as fetched without an answer of the store.
  private static let maximumFetched = 64

  private nonisolated let service: CoordinatorService
  private nonisolated let farm: FarmService
  private nonisolated let connection: WireConnection
  private var watches = 0
  private var isAnswering = false
  private var waitingForAnswer: CheckedContinuation<Void, Never>?
  private var fetched = 0
  private var lastMessage: Duration

  init(service: CoordinatorService, connection: WireConnection, caller: Caller) {
    self.service = service
    farm = FarmService(service, as: caller)
    self.connection = connection
    lastMessage = service.now
  }

  /// Serves the connection until it is closed.
  func run() async throws {
    let transfers = ContentTransferHandler(
      content: service.content, connection: connection, minimumFree: service.configuration.minimumFree,
      checksReads: true,
      mayRead: { [farm] () throws(WireError) in
        do throws(FarmError) { try farm.require(.see) } catch { throw WireError(error) }
      },
      mayUpload: { [farm] () throws(WireError) in
        do throws(FarmError) { try farm.require(.submit) } catch { throw WireError(error) }
      },
      stored: { [farm] content in try await Self.refusing { try await farm.auditUpload(of: content) } },
      hasRead: { [farm] digest in try await Self.refusing { try await farm.auditDownload(of: digest, "") } },
      waits: { [service] in await service.storage.uploadWaits($0, $1) },
      received: { [service] in service.counts.received($0, from: .client) },
      sent: { [service] in service.counts.sent($0, to: .client) })
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
    // Reading a file for its digest cannot be stopped, and a store may not answer: neither holds up the coordinator's
    // end.
    try await Self.refusing {
      if let reply = try await abandonable({ try await self.reply(to: message) }) {
        try await self.connection.send(reply)
      }
    }
  }

  private func reply(to message: WireMessage) async throws -> WireMessage? {
    switch message {
    case .findMissing(let request): return .findMissingReply(try await missing(request))
    case .submit(let submit): return .submitReply(.init(try await farm.submit(Submission(submit))))
    case .statusQuery(let query): return .statusReply(try await status(query))
    case .cancelJob(let cancel):
      let state = try await farm.cancel(JobID(cancel.job))
      return .cancelReply(
        .with {
          $0.job = cancel.job
          $0.state = state?.message ?? .unspecified
        })
    case .retryJob(let retry):
      return .retryReply(.init(try await farm.retry(JobID(retry.job)), job: retry.job))
    case .deleteJob(let delete):
      return .deleteReply(.init(try await farm.delete(JobID(delete.job)), job: delete.job))
    case .pauseJob(let pause):
      return .steerReply(pause.job, try await farm.pause(JobID(pause.job), stopping: pause.now))
    case .resumeJob(let resume): return .steerReply(resume.job, try await farm.resume(JobID(resume.job)))
    case .setPriority(let change):
      return .steerReply(change.job, try await farm.setPriority(of: JobID(change.job), to: change.priority))
    case .setPool(let change):
      let pool = change.pool.isEmpty ? nil : change.pool
      return .steerReply(change.job, try await farm.setPool(of: JobID(change.job), to: pool))
    case .poolsQuery: return .poolsReply(try Sheaf_PoolsReply(try await farm.pools()))
    case .changePool(let change):
      return .poolsReply(try Sheaf_PoolsReply([try await farm.changePool(change.pool, PoolRequest(change))]))
    case .removePool(let message):
      let pool = try await farm.removePool(message.pool)
      return .poolsReply(try Sheaf_PoolsReply(pool.map { [$0] } ?? []))
    case .ownersQuery: return .ownersReply(try Sheaf_OwnersReply(try await farm.owners()))
    case .changeOwner(let change):
      return .ownersReply(try Sheaf_OwnersReply(try await farm.changeOwner(change.owner, OwnerRequest(change))))
    case .holdsQuery: return .holdsReply(try Sheaf_HoldsReply(try await farm.holds()))
    case .holdWorker(let message):
      return .holdsReply(try Sheaf_HoldsReply(try await farm.hold(WorkerHoldRequest(message))))
    case .createToken(let message):
      let token = try await farm.createToken(TokenRequest(message))
      return .tokensReply(try Sheaf_TokensReply([token]))
    case .tokensQuery: return .tokensReply(try Sheaf_TokensReply(try await farm.tokens()))
    case .revokeToken(let message):
      let token = try await farm.revokeToken(message.id)
      return .tokensReply(try Sheaf_TokensReply(token.map { [$0] } ?? []))
    case .auditQuery(let query):
      return .auditReply(try Sheaf_AuditReply(try await farm.audit(AuditRequest(query))))
    case .workersQuery:
      let workers = try await farm.workers()
      return .workersReply(.with { $0.workers = workers.map { Sheaf_WorkersReply.Worker($0) } })
    default: throw WireError(.violation, "this message is not for a client to send")
    }
  }

  private func missing(_ request: Sheaf_FindMissing) async throws -> Sheaf_FindMissingReply {
    let files = try request.contents.map { entry throws(WireError) in
      guard let content = entry.content else {
        throw WireError(.violation, "the request lists content without a SHA-256 or with a size of 2^63 or more")
      }
      return FarmService.OfferedFile(content: content, file: entry.path)
    }
    let missing = try await farm.missing(files)
    return .with { $0.missing = missing.map { Data($0.bytes) } }
  }

  private func status(_ query: Sheaf_StatusQuery) async throws -> Sheaf_StatusReply {
    guard !query.job.isEmpty else { return Sheaf_StatusReply(try await farm.jobs(JobQuery(query))) }
    let status = try await farm.status(of: JobID(query.job), withTasks: query.withTasks)
    return Sheaf_StatusReply(status, notices: farm.notices)
  }

  /// Goes on when the client closes the connection, which it does next.
  private func markFetched(_ job: JobID) throws {
    fetched += 1
    guard fetched <= Self.maximumFetched else {
      throw WireError(.violation, "more than \(Self.maximumFetched) films were reported as fetched at once")
    }
    Task {
      await farm.markFetched(job)
      fetched -= 1
    }
  }

  private func watch(_ id: JobID) async throws {
    defer { watches -= 1 }
    try await Self.refusing {
      for try await status in try await self.farm.watch(id) {
        try await self.connection.send(.statusReply(.init(status, notices: self.farm.notices)))
      }
    }
  }

  private func inspect(_ request: Sheaf_InspectDocument) async throws {
    defer { watches -= 1 }
    try await Self.refusing {
      let reply = try await self.farm.inspect(InspectionRequest(request))
      try await self.connection.send(.inspectReply(Sheaf_InspectReply(reply)))
    }
  }

  /// Throws what a client receives in place of the farm's own errors.
  private nonisolated(nonsending) static func refusing(
    _ body: () async throws -> Void
  ) async throws {
    do {
      try await body()
    } catch let error as FarmError {
      throw WireError(error)
    }
  }
}

extension WireMessage {
  fileprivate static func steerReply(_ job: String, _ state: JobState?) -> WireMessage {
    .steerReply(
      .with {
        $0.job = job
        $0.state = state?.message ?? .unspecified
      })
  }
}

extension WireError {
  fileprivate init(_ error: FarmError) {
    switch error.code {
    case .invalid, .conflict, .wrongContent: self.init(.violation, error.message)
    case .notFound, .lost: self.init(.refused(.notFound), error.message)
    case .unavailable, .full: self.init(.refused(.unavailable), error.message)
    case .unauthorized: self.init(.refused(.token), error.message)
    case .forbidden, .tooMany: self.init(.refused(.forbidden), error.message)
    }
  }
}
