import CompositionModel
import Digest
import FoundationEssentials
import Jobs
import Logging
import SwiftProtobuf
import Wire

/// A client's connection: each request is answered in turn; watches, inspections, reads and uploads go on beside them.
actor ClientLink {
  static let maximumWatches = 16
  /// How long a client may say nothing while nothing is under way.
  static let idleLimit: Duration = .seconds(300)

  private nonisolated let farm: Farm
  private nonisolated let connection: WireConnection
  private var watches = 0
  private var lastHeard: Duration

  init(farm: Farm, connection: WireConnection) {
    self.farm = farm
    self.connection = connection
    lastHeard = farm.now
  }

  /// Serves the connection to its end.
  func run() async throws {
    let desk = ContentDesk(library: farm.library, connection: connection)
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { try await self.connection.beside { try await self.watchForSilence() } }
      for try await message in connection.inbound {
        lastHeard = farm.now
        switch message {
        case .readContent(let read):
          try await desk.admit(read)
          group.addTask { try await self.connection.beside { try await desk.serve(read) } }
        case .uploadBegin(let begin):
          if let job = try await desk.open(begin) {
            group.addTask { try await self.connection.beside { try await desk.run(job) } }
          }
        case .uploadChunk(let chunk): try await desk.take(chunk)
        case .watchJob(let watch):
          try begin()
          group.addTask { try await self.connection.beside { try await self.watch(JobID(watch.job)) } }
        case .inspectDocument(let request):
          try begin()
          group.addTask { try await self.connection.beside { try await self.inspect(request) } }
        default: try await answer(message)
        }
      }
      await desk.close()
      group.cancelAll()
    }
  }

  private func begin() throws {
    guard watches < Self.maximumWatches else {
      throw WireError(.violation, "more than \(Self.maximumWatches) jobs are watched at once")
    }
    watches += 1
  }

  private func watchForSilence() async throws {
    while true {
      do { try await Task.sleep(for: .seconds(30)) } catch { return }
      if watches == 0, farm.now - lastHeard > Self.idleLimit {
        throw WireError(.timeout, "nothing was said for \(Self.idleLimit.components.seconds) s")
      }
    }
  }

  private func answer(_ message: WireMessage) async throws {
    do {
      switch message {
      case .offer(let offer): try await connection.send(.offerReply(missing(offer)))
      case .submit(let submit):
        let submission = Submission(store: farm.store, library: farm.library)
        let reply = try await submission.submit(submit)
        try await connection.send(.submitReply(reply))
      case .statusQuery(let query): try await connection.send(.statusReply(status(query)))
      case .cancelJob(let cancel):
        let state = try await farm.store.cancel(JobID(cancel.job))
        try await connection.send(
          .cancelReply(
            .with {
              $0.job = cancel.job
              $0.state = state?.rawValue ?? ""
            }))
      case .workersQuery: try await connection.send(.workersReply(workers()))
      default: throw WireError(.violation, "this is not for a client to say")
      }
    } catch let error as JobStoreError {
      throw error.refusal
    }
  }

  private func missing(_ offer: Sheaf_Offer) async throws -> Sheaf_OfferReply {
    guard offer.contents.count <= 10_000 else { throw WireError(.violation, "an offer lists too many files") }
    let missing = try await BlockingWork.run { [library = farm.library] in
      try offer.contents.filter { content in
        guard let digest = content.sha256, let size = Int64(exactly: content.size) else {
          throw WireError(.violation, "an offer names content by no SHA-256")
        }
        return !library.has(digest, size: size, hint: content.path)
      }
    }
    return .with { $0.missing = missing.map(\.digest) }
  }

  private func status(_ query: Sheaf_StatusQuery) async throws -> Sheaf_StatusReply {
    var reply = Sheaf_StatusReply()
    if !query.job.isEmpty {
      if let status = try await JobReport.status(of: JobID(query.job), store: farm.store) { reply.jobs = [status] }
      return reply
    }
    for job in try await farm.store.jobs(limit: 200) where !Inspection.isInspection(job.id) {
      let tasks = try await farm.store.tasks(of: job.id, payloads: false)
      var status = JobReport.status(job, tasks)
      status.tasks = []
      reply.jobs.append(status)
    }
    return reply
  }

  private func watch(_ id: JobID) async throws {
    defer { watches -= 1 }
    var last: Sheaf_JobStatus?
    var seen = await farm.bell.count
    var lastLook = farm.now
    var pause: Duration = .zero
    while !Task.isCancelled {
      do {
        let hasEnded = try await farm.store.job(id)?.state.hasEnded ?? true
        // A status of many tasks costs something: what is watched in detail is watched less often.
        if hasEnded || last == nil || farm.now - lastLook >= pause {
          let started = farm.now
          guard let status = try await JobReport.status(of: id, store: farm.store) else {
            try await connection.send(.statusReply(.init()))
            return
          }
          lastLook = farm.now
          pause = max(.milliseconds(100), (lastLook - started) * 20)
          let comparable = status.timeless
          if comparable != last || hasEnded { try await connection.send(.statusReply(.with { $0.jobs = [status] })) }
          last = comparable
        }
        if hasEnded { return }
      } catch let error as JobStoreError {
        // A database that restarts is no reason to stop watching: the job goes on.
        guard error.code == .unavailable else { throw error.refusal }
        farm.logger.error("a watched job is out of sight", metadata: ["job": "\(id)", "error": "\(error)"])
      }
      seen = await farm.bell.wait(since: seen, atMost: .seconds(1))
    }
  }

  private func inspect(_ request: Sheaf_InspectDocument) async throws {
    defer { watches -= 1 }
    let inspection = Inspection(store: farm.store, library: farm.library, bell: farm.bell)
    do {
      try await connection.send(.inspectReply(inspection.answer(request)))
    } catch let error as JobStoreError {
      throw error.refusal
    }
  }

  private func workers() async throws -> Sheaf_WorkersReply {
    let workers = try await farm.store.workers()
    return .with {
      $0.workers = workers.map { worker in
        .with {
          $0.name = worker.name
          $0.id = worker.id.description
          $0.slots = UInt32(clamping: worker.slots)
          $0.busy = UInt32(clamping: worker.busy)
          $0.build = worker.build
          $0.connectedMilliseconds = Int64(worker.connected.wholeMilliseconds)
          $0.coordinator = worker.coordinator
        }
      }
    }
  }
}

extension JobStoreError {
  /// What a client is told when its request could not be carried out for the store's sake.
  var refusal: WireError {
    WireError(.refused(.unavailable), "the coordinator's job store: \(self)")
  }
}
