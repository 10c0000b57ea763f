import ContentStorage
import Coordinator
import Digest
import FarmAPI
import FarmModel
import Foundation
import Jobs
import Logging
import Synchronization
import TestPrograms
import Testing
import Wire

@testable import Webhooks

/// Messages from the outbox to a server that checks them with the specification's own verifier.
@Suite(.timeLimit(.minutes(5)), .enabled(if: !QuickTests.areRun, "make quick starts no other program"))
struct WebhookSenderTests {
  @Test func `a message is signed, says what happened, and comes in order`() async throws {
    try await Farm.run { farm in
      let added = try await farm.add("/204?a")
      let secret = try #require(added.secret)
      let rotated = try await farm.service.rotateSecret(of: added.id, overlap: .seconds(60))
      try farm.start(
        try #require(rotated.secret), secret, "whsec_\(Data(repeating: 7, count: 32).base64EncodedString())")
      try await farm.point(added.id, to: "/204?a")
      try await farm.submit("j1")
      _ = try await farm.store.cancel(JobID("j1"))
      let received = try await farm.received(2)
      #expect(received.map { $0.body.type } == ["job.submitted", "job.cancelled"])
      #expect(received.allSatisfy { $0.verified == [true, true, false] && $0.type == "application/json" })
      #expect(received.allSatisfy { $0.body.data.job == "j1" && $0.body.data.name == "edit.json" })
      #expect(received.last?.body.data.state == .cancelled)
      #expect(Set(received.map(\.id)).count == 2)
      let listed = try await farm.deliveries(added.id) { $0.allSatisfy { $0.state == .delivered } }
      #expect(listed.map(\.id) == received.reversed().map(\.id) && listed.map(\.status) == [204, 204])
      // Again, by request: the same message with the same id.
      try await farm.service.sendAgain(listed[1].event, to: added.id)
      let again = try await farm.received(3)
      #expect(again[2].id == received[0].id && again[2].body == received[0].body)
    }
  }

  @Test func `an answer of success counts however long it is`() async throws {
    try await Farm.run { farm in
      try farm.start()
      let added = try await farm.add("/200?long")
      try await farm.submit("j1")
      let listed = try await farm.deliveries(added.id) { $0.first?.status != nil }
      #expect(listed.map(\.state) == [.delivered] && listed.map(\.status) == [200], "\(listed)")
    }
  }

  @Test(arguments: [("/500", 5.0), ("/302", 5.0), ("/503", 77.0)])
  func `an answer that is no success is tried again later`(path: String, least: Double) async throws {
    try await Farm.run { farm in
      try farm.start()
      let added = try await farm.add(path)
      try await farm.submit("j1")
      let listed = try await farm.deliveries(added.id) { $0.first?.status != nil }
      let delivery = try #require(listed.first)
      #expect(delivery.state == .pending && delivery.attempts == 1)
      #expect(delivery.status == Int(path.dropFirst()) && delivery.error?.contains(path.dropFirst()) == true)
      let attempted = try #require(delivery.attemptedAt)
      let next = try #require(delivery.nextAt)
      let pause = Double(next.milliseconds - attempted.milliseconds) / 1000
      #expect(pause >= least && pause < least * 1.1 + 20, "\(pause)")
      // A redirection is not followed.
      let received = try await farm.received(1)
      #expect(received.map(\.path) == [path])
    }
  }

  @Test func `an address that is gone disables its webhook`() async throws {
    try await Farm.run { farm in
      try farm.start()
      let added = try await farm.add("/410")
      try await farm.submit("j1")
      let listed = try await farm.deliveries(added.id) { $0.first?.state == .failed }
      #expect(listed.first?.status == 410 && listed.first?.nextAt == nil)
      let disabled = try await farm.service.webhook(added.id).disabled
      #expect(disabled?.contains("410") == true)
      try await farm.submit("j2")
      #expect(try await farm.deliveries(added.id) { _ in true }.count == 1)
      var request = WebhookRequest()
      request.isDisabled = false
      #expect(try await farm.service.changeWebhook(added.id, request).disabled == nil)
    }
  }

  @Test(arguments: ["http://127.0.0.1:9/", "http://localhost:9/", "http://[::1]:9/", "http://0x7f.1:9/"])
  func `the coordinator's own network is not asked without the operator's word`(url: String) async throws {
    try await Farm.run(allowing: []) { farm in
      var request = WebhookRequest()
      request.url = url
      let added = try await farm.service.addWebhook(request)
      try await farm.submit("j1")
      let listed = try await farm.deliveries(added.id) { $0.first?.error != nil }
      #expect(listed.first?.error?.contains("--webhook-allow") == true, "\(listed)")
      #expect(listed.first?.state == .pending && listed.first?.status == nil)
    }
  }

  @Test(arguments: [
    "", "ftp://example.org/", "http://", "example.org", "http://user:x@example.org/", "http://a b/",
    "file:///etc/passwd",
    "http://example.org/#part", "http://ä.example/", "http://127.0.0.1:99999/",
  ])
  func `what is no address of a server is refused`(url: String) async throws {
    try await Farm.run { farm in
      var request = WebhookRequest()
      request.url = url
      await #expect(throws: FarmError.self) { try await farm.service.addWebhook(request) }
      request.url = "https://example.org/"
      request.types = ["job.finished"]
      let error = await #expect(throws: FarmError.self) { try await farm.service.addWebhook(request) }
      #expect(error?.message.contains("job.done") == true)
      let left = try await farm.service.webhooks()
      #expect(left.isEmpty)
    }
  }
}

/// A coordinator with a job store in memory that sends messages, and a server that receives them.
private final class Farm: Sendable {
  struct Received: Decodable {
    var path: String
    var verified: [Bool]
    var id: String
    var type: String
    var body: WebhookMessage
  }

  let service: FarmService
  let store: MemoryJobStore
  private let folder: TemporaryFolder
  private let log: FileHandle

  private init() throws {
    folder = try TemporaryFolder()
    let start = ContinuousClock.now
    store = MemoryJobStore { start.duration(to: .now) }
    let locator = try ContentLocator(
      store: ContentStore(directory: folder.path("store")), mediaRoot: nil, contents: FileContentCache())
    service = FarmService(
      CoordinatorService(
        store: store, content: locator, configuration: CoordinatorConfiguration(name: "test", token: nil),
        logger: Farm.quiet))
    log = try folder.create("log")
  }

  private static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

  static func run(
    allowing networks: [String] = ["127.0.0.0/8"], _ body: @escaping @Sendable (Farm) async throws -> Void
  ) async throws {
    let farm = try Farm()
    let sender = WebhookSender(
      farm.service, rule: AddressRule(allowing: networks.compactMap { Network($0) }), logger: quiet)
    let sending = Task { await sender.run() }
    let result: Result<Void, any Error>
    do { result = .success(try await body(farm)) } catch { result = .failure(error) }
    sending.cancel()
    if let receiver = farm.receiver.withLock({ $0 }) {
      receiver.send(SIGKILL)
      _ = await receiver.end()
    }
    try result.get()
  }

  private let receiver = Mutex<RunningProgram?>(nil)

  /// Starts the server, which knows these secrets.
  func start(_ secrets: String...) throws {
    let place = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    let python = place.appendingPathComponent("../../.build/http-tools/bin/python").path
    let arguments = [place.appendingPathComponent("receiver.py").path] + secrets
    let program = try RunningProgram(python, arguments, streams: .init(output: log.fileDescriptor))
    receiver.withLock { $0 = program }
  }

  private var lines: [Substring] {
    get throws {
      try String(contentsOf: folder.url.appendingPathComponent("log"), encoding: .utf8).split(separator: "\n")
    }
  }

  private func wait<Value>(for what: String, _ find: () async throws -> Value?) async throws -> Value {
    let limit = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < limit {
      if let value = try await find() { return value }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw Tool.Failure(description: "not in time: \(what); the receiver printed \(try lines)")
  }

  func url(_ path: String) async throws -> String {
    let port = try await wait(for: "the receiver's port") { try lines.first.flatMap { Int($0) } }
    return "http://127.0.0.1:\(port)\(path)"
  }

  /// Adds a webhook of the server, which is started later if it is not there yet.
  func add(_ path: String) async throws -> WebhookReport {
    var request = WebhookRequest()
    request.url = receiver.withLock { $0 != nil } ? try await url(path) : "http://127.0.0.1:9\(path)"
    return try await service.addWebhook(request)
  }

  func point(_ webhook: String, to path: String) async throws {
    var request = WebhookRequest()
    request.url = try await url(path)
    _ = try await service.changeWebhook(webhook, request)
  }

  func submit(_ id: String) async throws {
    try await store.submit(
      NewJob(
        id: JobID(id), name: "edit.json", priority: 0, request: [],
        tasks: [NewTask(kind: .probe, payload: [], inputs: [], fingerprint: .of(id.utf8), cost: 1, work: 1)]))
  }

  func received(_ count: Int) async throws -> [Received] {
    try await wait(for: "\(count) messages") {
      let lines = try lines.dropFirst()
      guard lines.count >= count else { return nil }
      return try lines.map { try JSONDecoder().decode(Received.self, from: Data($0.utf8)) }
    }
  }

  /// The deliveries of a webhook, when they are as they should be.
  func deliveries(_ webhook: String, until holds: ([DeliveryReport]) -> Bool) async throws -> [DeliveryReport] {
    try await wait(for: "the deliveries") {
      let found = try await service.deliveries(of: webhook, before: nil, state: nil, limit: 10)
      return !found.isEmpty && holds(found) ? found : nil
    }
  }
}
