import Client
import CompositionModel
import ContentStorage
import Digest
import FarmAPI
import FarmModel
import Foundation
import Jobs
import SwiftProtobuf
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// Who may do what, over the wire and past it.
@Suite(.timeLimit(.minutes(10))) struct AccessTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// A submission of one file of some bytes.
  private func submission(_ name: String, id: String = "") throws -> (Submission, Data) {
    let media = Data(name.utf8)
    let text =
      #"{ "sheaf": 1, "assets": { "a": "a.mov" }, "tracks": [ { "clips": [ { "asset": "a", "use": "0..8" } ] } ], "export": { "to": "f.mkv", "video": { "codec": "ffv1" } } }"#
    let content = Content(digest: .of(media), size: Int64(media.count))
    var submission = Submission(
      document: Data(text.utf8), assets: [SubmittedAsset(id: "a", path: "a.mov", content: content, file: "")])
    (submission.name, submission.output, submission.id) = (name, "f.mkv", id)
    return (submission, media)
  }

  private func put(_ media: Data, _ content: ContentStore) throws {
    let upload = try content.upload(Content(digest: .of(media), size: Int64(media.count)))
    try upload.write(media)
    try upload.finish()
  }

  private func farm(_ coordinator: TestCoordinator, _ role: Role, _ owner: String) -> FarmService {
    FarmService(coordinator.service, as: Caller(role: role, owner: owner, address: "10.0.0.9"))
  }

  @Test func `submitters see and change their own jobs, and no others exist for them`() async throws {
    try await TestCoordinator.run { coordinator in
      let (anna, bert) = (farm(coordinator, .submitter, "anna"), farm(coordinator, .submitter, "bert"))
      let (first, media) = try submission("annas", id: "one")
      let (second, other) = try submission("berts", id: "one")
      try put(media, coordinator.content)
      try put(other, coordinator.content)
      let job = JobID(try #require(try await anna.submit(first).job))
      // The same id of another owner is another submission.
      let berts = JobID(try #require(try await bert.submit(second).job))
      #expect(job != berts)
      #expect(try await anna.submit(first).isRepeated)
      #expect(try await anna.jobs(JobQuery()).jobs.map(\.job) == ["\(job)"])
      #expect(try await anna.status(of: job)?.owner == "anna")
      #expect(try await farm(coordinator, .viewer, "carl").jobs(JobQuery()).jobs.map(\.owner) == ["bert", "anna"])
      var query = JobQuery()
      query.after = berts.description
      let listed = await #expect(throws: FarmError.self) { _ = try await anna.jobs(query) }
      #expect(listed?.code == .notFound)
      #expect(try await bert.status(of: job) == nil)
      #expect(try await bert.cancel(job) == nil)
      #expect(try await bert.retry(job).state == nil)
      #expect(try await bert.delete(job) == DeleteReply(isDeleted: false))
      var watched: [JobStatus?] = []
      for try await status in try await bert.watch(job) { watched.append(status) }
      #expect(watched == [nil])
      let films = await #expect(throws: FarmError.self) { _ = try await bert.films(of: job) }
      #expect(films?.code == .notFound)
      #expect(try await bert.images(ImageRequest(times: .list(["0"]), format: .jpeg), of: job) == nil)
      // Of what has happened, too.
      let events = try #require(try await bert.events(after: .beginning, limit: 100))
      #expect(events.reports.map(\.job) == ["\(berts)"] && events.reports.map(\.owner) == ["bert"])
      #expect(try await farm(coordinator, .operator, "eve").newestEvents(limit: 100).reports.count == 2)
      #expect(try await anna.cancel(job) == .cancelled)
      #expect(try await anna.delete(job).isDeleted)
    }
  }

  @Test func `a submitter whose token has a pool has no other`() async throws {
    try await TestCoordinator.run { coordinator in
      let anna = FarmService(
        coordinator.service, as: Caller(role: .submitter, owner: "anna", pool: "gpu", address: "10.0.0.9"))
      var (submission, media) = try submission("film")
      try put(media, coordinator.content)
      let job = JobID(try #require(try await anna.submit(submission).job))
      #expect(try await anna.status(of: job)?.pool == "gpu")
      submission.pool = "gpu"
      #expect(try await anna.submit(submission).job != nil)
      for (pool, words) in [("night", "not for \"night\""), ("a pool", "not for")] {
        var other = submission
        other.pool = pool
        let asked = other
        let refused = await #expect(throws: FarmError.self) { _ = try await anna.submit(asked) }
        #expect(refused?.code == .forbidden && refused?.message.contains("pool \"gpu\" alone") == true)
        #expect(refused?.message.contains(words) == true)
      }
      for pool in [nil, "night"] {
        let refused = await #expect(throws: FarmError.self) { _ = try await anna.setPool(of: job, to: pool) }
        #expect(refused?.code == .forbidden)
      }
      #expect(try await anna.setPool(of: job, to: "gpu") == .probing)
      // Both or neither.
      let both = await #expect(throws: FarmError.self) { _ = try await anna.change(job, priority: 1, pool: "night") }
      let high = await #expect(throws: FarmError.self) { _ = try await anna.change(job, priority: 300, pool: "gpu") }
      #expect(both?.code == .forbidden && high?.code == .forbidden)
      #expect(try await anna.status(of: job)?.priority == 0)
      let eve = farm(coordinator, .operator, "eve")
      #expect(try await eve.setPool(of: job, to: "night") == .probing)
      var query = JobQuery()
      query.pool = "night"
      #expect(try await eve.jobs(query).jobs.map(\.job) == ["\(job)"])
      let invalid = await #expect(throws: FarmError.self) { _ = try await eve.setPool(of: job, to: "a b") }
      #expect(invalid?.code == .invalid)
      let entries = try await coordinator.store.auditEntries(AuditFilter(actions: [.jobPoolChanged]), limit: 9)
      #expect(entries.map(\.detail) == ["night", "gpu"] && entries.map(\.caller.owner) == ["eve", "anna"])
    }
  }

  /// Every request of the service by every role.
  @Test(arguments: Role.allCases)
  func `a role may do what it is for, and nothing else`(role: Role) async throws {
    try await TestCoordinator.run { coordinator in
      let asked = farm(coordinator, role, "anna")
      let (submission, media) = try submission("film")
      try put(media, coordinator.content)
      let new = Content(digest: .of(Array("new".utf8)), size: 3)
      let digest = SHA256Digest.of(media)
      let job = JobID("none")
      let requests: [(String, Permission, () async throws -> Void)] = [
        ("missing", .submit, { _ = try await asked.missing([]) }),
        ("submit", .submit, { _ = try await asked.submit(submission) }),
        ("problems", .submit, { _ = try await asked.problems(of: submission) }),
        ("inspect", .submit, { _ = try await asked.inspect(InspectionRequest(assets: [])) }),
        ("assets", .submit, { _ = try await asked.assets(of: SubmittedText([], output: ""), []) }),
        ("asset", .submit, { _ = try await asked.asset("a", path: "none", written: "none") }),
        ("received", .submit, { _ = try await asked.received(digest) }),
        ("upload", .submit, { await (try await asked.upload(new))?.keep() }),
        ("cancel", .submit, { _ = try await asked.cancel(job) }),
        ("retry", .submit, { _ = try await asked.retry(job) }),
        ("delete", .submit, { _ = try await asked.delete(job) }),
        ("pause", .submit, { _ = try await asked.pause(job, stopping: true) }),
        ("resume", .submit, { _ = try await asked.resume(job) }),
        ("priority", .submit, { _ = try await asked.setPriority(of: job, to: 1) }),
        ("pool of a job", .submit, { _ = try await asked.setPool(of: job, to: "gpu") }),
        ("owners", .see, { _ = try await asked.owners() }),
        ("change owner", .operate, { _ = try await asked.changeOwner("x", OwnerRequest()) }),
        ("pools", .see, { _ = try await asked.pools() }),
        (
          "change pool", .operate,
          { _ = try await asked.changePool("p", PoolRequest(hours: "daily 01:00-02:00", timeZone: "UTC")) }
        ),
        ("remove pool", .operate, { _ = try await asked.removePool("p") }),
        ("holds", .see, { _ = try await asked.holds() }),
        ("hold", .operate, { _ = try await asked.hold(WorkerHoldRequest(worker: "x", hold: "paused")) }),
        ("jobs", .see, { _ = try await asked.jobs(JobQuery()) }),
        ("status", .see, { _ = try await asked.status(of: job) }),
        ("watch", .see, { _ = try await asked.watch(job) }),
        ("films", .see, { _ = try await asked.films(of: job) }),
        ("waveform", .see, { _ = try await asked.waveform(of: job, .points(10)) }),
        ("images", .see, { _ = try await asked.images(ImageRequest(times: .list(["0"]), format: .jpeg), of: job) }),
        ("read", .see, { _ = try await asked.read(digest, offset: 0, length: 1) }),
        ("workers", .see, { _ = try await asked.workers() }),
        ("events", .see, { _ = try await asked.events(after: .beginning, limit: 1) }),
        ("newest events", .see, { _ = try await asked.newestEvents(limit: 1) }),
        ("counts", .measure, { _ = try await asked.counts() }),
        ("demand", .measure, { _ = try await asked.demand() }),
        ("demand of a pool", .measure, { _ = try await asked.demand(ofPool: "gpu") }),
        ("webhooks", .operate, { _ = try await asked.webhooks() }),
        ("add webhook", .operate, { _ = try await asked.addWebhook(WebhookRequest()) }),
        ("webhook", .operate, { _ = try await asked.webhook("none") }),
        ("change webhook", .operate, { _ = try await asked.changeWebhook("none", WebhookRequest()) }),
        ("secret", .operate, { _ = try await asked.rotateSecret(of: "none", overlap: .zero) }),
        ("remove webhook", .operate, { try await asked.removeWebhook("none") }),
        ("deliveries", .operate, { _ = try await asked.deliveries(of: "none", before: nil, state: nil, limit: 1) }),
        ("send again", .operate, { try await asked.sendAgain(1, to: "none") }),
        ("create token", .operate, { _ = try await asked.createToken(TokenRequest(role: .viewer, owner: "x")) }),
        ("tokens", .operate, { _ = try await asked.tokens() }),
        ("revoke", .operate, { _ = try await asked.revokeToken("none") }),
        ("audit", .operate, { _ = try await asked.audit(AuditRequest()) }),
      ]
      var refusals = 0
      for (name, permission, request) in requests {
        var code: FarmError.Code?
        do { try await request() } catch let error as FarmError { code = error.code }
        #expect(
          (code == .forbidden) == !role.allows(permission), "\(role.rawValue): \(name), \(code?.rawValue ?? "done")")
        if code == .forbidden { refusals += 1 }
      }
      if refusals == 0 { return }
      // None is silent, and the same again in a minute is one.
      try await eventually("the refusals are recorded") {
        try await !coordinator.store.auditEntries(AuditFilter(owner: "anna", actions: [.refused]), limit: 100).isEmpty
      }
      let recorded = try await coordinator.store.auditEntries(AuditFilter(actions: [.refused]), limit: 100)
      #expect(recorded.count <= Permission.allCases.count && recorded.allSatisfy { $0.caller.role == role })
    }
  }

  @Test func `a token is made, used and revoked over the wire, and what it opened is closed`() async throws {
    try await TestCoordinator.run { coordinator in
      let made = try await coordinator.client {
        try await JobRun($0).createToken(TokenRequest(role: .submitter, owner: "anna", lifetimeSeconds: 3600))
      }
      let text = try #require(made.token)
      #expect(text.hasPrefix("sheaf_") && text.utf8.count == 70)
      #expect(made.expiresAt.map { $0.milliseconds - made.createdAt.milliseconds } == 3_600_000)
      let endpoint = CoordinatorClient.Endpoint(address: coordinator.endpoint.addresses[0], token: text)
      let listed = try await coordinator.client { try await JobRun($0).tokens() }
      #expect(listed.map(\.id) == [made.id] && listed.map(\.token) == [nil])
      let refused = await #expect(throws: WireError.self) {
        try await CoordinatorClient.run(endpoint, limits: .unhurried) { _ = try await JobRun($0).tokens() }
      }
      #expect(refused?.code == .refused(.forbidden))
      // It works, until it is revoked.
      let closed = await #expect(throws: WireError.self) {
        try await CoordinatorClient.run(endpoint, limits: .unhurried) { client in
          #expect(try await JobRun(client).workers().isEmpty)
          try await coordinator.client { try await JobRun($0).revokeToken(made.id) }
          _ = try await client.reply()
        }
      }
      #expect(closed?.code == .refused(.token) && closed?.message.contains("revoked") == true)
      let again = await #expect(throws: WireError.self) {
        try await CoordinatorClient.run(endpoint, limits: .unhurried) { _ = try await JobRun($0).workers() }
      }
      #expect(again?.code == .refused(.token))
      await #expect(throws: CommandFailure.self) {
        try await coordinator.client { try await JobRun($0).revokeToken("tok_none") }
      }
      var request = AuditRequest()
      request.subject = made.id
      let audit = try await coordinator.client { [request] in try await JobRun($0).audit(request) }
      #expect(
        audit.map(\.action) == ["tokenRevoked", "tokenCreated"] && audit.allSatisfy { $0.address == "127.0.0.1" })
    }
  }

  @Test func `what a client does is in the audit, and a refused token too`() async throws {
    try await TestCoordinator.run { coordinator in
      let (submission, media) = try submission("film")
      let digest = SHA256Digest.of(media)
      let asset = Content(digest: digest, size: Int64(media.count))
      let file = try folder.write(media, "a.mov")
      let job = try await coordinator.client { client in
        try await JobRun(client).provide([SubmittedAsset(id: "a", path: "a.mov", content: asset, file: file)])
        let job = try await JobRun(client).submit(submission)
        for _ in 0..<3 { _ = try await JobRun(client).read(digest, offset: 0, length: 2) }
        _ = try await JobRun(client).cancel(job)
        try await JobRun(client).delete(job)
        return job
      }
      let wrong = CoordinatorClient.Endpoint(address: coordinator.endpoint.addresses[0], token: "sheaf_guess")
      await #expect(throws: WireError.self) {
        try await CoordinatorClient.run(wrong, limits: .unhurried) { _ = try await JobRun($0).workers() }
      }
      try await eventually("the refused token is recorded") {
        try await !coordinator.store.auditEntries(AuditFilter(actions: [.refused]), limit: 1).isEmpty
      }
      let entries = try await FarmService(coordinator.service).audit(AuditRequest())
      #expect(
        entries.reversed().map(\.action)
          == ["contentUploaded", "jobSubmitted", "contentDownloaded", "jobCancelled", "jobDeleted", "refused"])
      #expect(entries.reversed().map(\.subject) == [digest.hex, job, digest.hex, job, job, ""])
      #expect(entries.allSatisfy { $0.address == "127.0.0.1" })
    }
  }

  @Test func `a store that does not answer lets nobody in whom it would have to know`() async throws {
    try await TestCoordinator.runObstructed { coordinator, store in
      store.fail([.reading])
      let farm = FarmService(coordinator.service)
      let error = await #expect(throws: FarmError.self) {
        _ = try await farm.caller(presenting: "sheaf_x", from: "")
      }
      #expect(error?.code == .unavailable)
      let own = try await farm.caller(presenting: "secret", from: "")
      #expect(own.role == .operator)
    }
  }
}
