import CompositionModel
import ContentStorage
import Digest
import FoundationEssentials
import Jobs
import Logging
import SwiftProtobuf
import Wire

/// Serves one connection of a client. Requests are answered one after the other; watches, inspections, reads and uploads
/// go on alongside.
actor ClientConnectionHandler {
  /// How many watches and inspections may be under way at once.
  static let maximumWatches = 16
  /// How long a client may send nothing while it watches nothing.
  static let idleLimit: Duration = .seconds(300)
  private static let maximumContents = 10_000
  private static let maximumJobs = 200

  private nonisolated let service: CoordinatorService
  private nonisolated let connection: WireConnection
  private var watches = 0
  private var lastMessage: Duration

  init(service: CoordinatorService, connection: WireConnection) {
    self.service = service
    self.connection = connection
    lastMessage = service.now
  }

  /// Serves the connection until it is closed.
  func run() async throws {
    let transfers = ContentTransferHandler(content: service.content, connection: connection)
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
        default: try await answer(message)
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

  private func closeWhenIdle() async throws {
    while true {
      do { try await Task.sleep(for: .seconds(30)) } catch { return }
      if watches == 0, service.now - lastMessage > Self.idleLimit {
        throw WireError(.timeout, "no request came for \(Self.idleLimit.components.seconds) s")
      }
    }
  }

  private func answer(_ message: WireMessage) async throws {
    do {
      switch message {
      case .findMissing(let request): try await connection.send(.findMissingReply(missing(request)))
      case .submit(let submit):
        let reply = try await JobSubmission(service).submit(submit)
        try await connection.send(.submitReply(reply))
      case .statusQuery(let query): try await connection.send(.statusReply(status(query)))
      case .cancelJob(let cancel):
        let state = try await service.store.cancel(JobID(cancel.job))
        try await connection.send(
          .cancelReply(
            .with {
              $0.job = cancel.job
              $0.state = state?.message ?? .unspecified
            }))
      case .workersQuery: try await connection.send(.workersReply(workers()))
      default: throw WireError(.violation, "this message is not for a client to send")
      }
    } catch let error as JobStoreError {
      throw error.refusal
    }
  }

  private func missing(_ request: Sheaf_FindMissing) async throws -> Sheaf_FindMissingReply {
    guard request.contents.count <= Self.maximumContents else {
      throw WireError(.violation, "the request lists more than \(Self.maximumContents) files")
    }
    let missing = try await BlockingWork.run { [locator = service.content] in
      try request.contents.filter { entry in
        guard let content = entry.content else {
          throw WireError(.violation, "the request lists content without a SHA-256 or with a size of 2^63 or more")
        }
        return !locator.has(content, hint: entry.path)
      }
    }
    return .with { $0.missing = missing.map(\.digest) }
  }

  private func status(_ query: Sheaf_StatusQuery) async throws -> Sheaf_StatusReply {
    var reply = Sheaf_StatusReply()
    if !query.job.isEmpty {
      if let status = try await JobReport.status(of: JobID(query.job), store: service.store) { reply.jobs = [status] }
      return reply
    }
    for job in try await service.store.jobs(.render, limit: Self.maximumJobs) {
      let tasks = try await service.store.tasks(of: job.id, payloads: false)
      var status = JobReport.status(job, tasks)
      status.tasks = []
      reply.jobs.append(status)
    }
    return reply
  }

  private func watch(_ id: JobID) async throws {
    defer { watches -= 1 }
    var last: Sheaf_JobStatus?
    var seen = await service.changes.count
    var lastLook = service.now
    var pause: Duration = .zero
    while !Task.isCancelled {
      do {
        let hasEnded = try await service.store.job(id)?.state.hasEnded ?? true
        // The status of a job with many tasks takes time to make, so it is made less often.
        if hasEnded || last == nil || service.now - lastLook >= pause {
          let started = service.now
          guard let status = try await JobReport.status(of: id, store: service.store) else {
            try await connection.send(.statusReply(.init()))
            return
          }
          lastLook = service.now
          pause = max(.milliseconds(100), (lastLook - started) * 20)
          let comparable = status.withoutTimes
          if comparable != last || hasEnded { try await connection.send(.statusReply(.with { $0.jobs = [status] })) }
          last = comparable
        }
        if hasEnded { return }
      } catch let error as JobStoreError {
        // The job goes on while a database restarts, and so does the watch.
        guard error.code == .unavailable else { throw error.refusal }
        service.logger.error("watched job not read", metadata: ["job": "\(id)", "error": "\(error)"])
      }
      seen = await service.changes.wait(since: seen, atMost: .seconds(1))
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
