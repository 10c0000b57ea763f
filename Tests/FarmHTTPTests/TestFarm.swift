import ContentStorage
import Coordinator
import Digest
import FarmAPI
import FarmHTTP
import FarmModel
import Foundation
import Jobs
import Logging
import TLS
import TestPrograms
import Testing
import Wire

/// A coordinator with a job store in memory, and its HTTP API on loopback.
struct TestFarm: Sendable {
  let service: CoordinatorService
  let store: MemoryJobStore
  let content: ContentStore
  let server: WireServer
  let face: HTTPFace
  let port: Int
  let token: String?
  let folder: TemporaryFolder

  /// The media root is `media` in its folder.
  static func run<R: Sendable>(
    token: String? = nil, minimumFree: Int64 = 0, availableBytes: (@Sendable () throws -> Int64)? = nil,
    limits: HTTPLimits = HTTPLimits(), tls identity: TLSIdentity? = nil, logs: (any LogHandler)? = nil,
    _ body: @escaping @Sendable (TestFarm) async throws -> R
  ) async throws -> R {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.path("media"), withIntermediateDirectories: true)
    var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    logger.logLevel = .critical
    if let logs { logger = Logger(label: "test") { _ in logs } }
    let start = ContinuousClock.now
    let store = MemoryJobStore(policy: LeasePolicy(lease: .seconds(600))) { start.duration(to: .now) }
    let content = try ContentStore(directory: folder.path("store"))
    let locator = try ContentLocator(store: content, mediaRoot: folder.path("media"), contents: FileContentCache())
    let server = try await WireServer.bind(to: WireAddress(host: "127.0.0.1", port: 0), logger: logger)
    var configuration = CoordinatorConfiguration(name: "test", token: token)
    configuration.minimumFree = minimumFree
    let service = CoordinatorService(
      store: store, content: locator, configuration: configuration, logger: logger, availableBytes: availableBytes)
    let face = HTTPFace(
      FarmService(service), address: WireAddress(host: "127.0.0.1", port: 0), tls: identity, isGuarded: token != nil,
      limits: limits, logger: logger)
    let (ports, listening) = AsyncStream.makeStream(of: Int.self)
    return try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask {
        try await service.run(server)
        return nil
      }
      group.addTask {
        try await face.run { listening.yield($0.port) }
        return nil
      }
      var iterator = ports.makeAsyncIterator()
      let port = try #require(await iterator.next())
      let farm = TestFarm(
        service: service, store: store, content: content, server: server, face: face, port: port, token: token,
        folder: folder)
      group.addTask { try await body(farm) }
      defer { group.cancelAll() }
      while let ended = try await group.next() { if let result = ended { return result } }
      throw CancellationError()
    }
  }

  /// Another coordinator of the same farm.
  func withAnother(_ body: @escaping @Sendable (TestFarm) async throws -> Void) async throws {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let locator = try ContentLocator(store: content, mediaRoot: folder.path("media"), contents: FileContentCache())
    let other = CoordinatorService(
      store: store, content: locator, configuration: CoordinatorConfiguration(name: "other", token: token),
      logger: logger)
    let face = HTTPFace(
      FarmService(other), address: WireAddress(host: "127.0.0.1", port: 0), isGuarded: token != nil, logger: logger)
    let (ports, listening) = AsyncStream.makeStream(of: Int.self)
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        try await face.run { listening.yield($0.port) }
        return false
      }
      var iterator = ports.makeAsyncIterator()
      let port = try #require(await iterator.next())
      let farm = TestFarm(
        service: other, store: store, content: content, server: server, face: face, port: port, token: token,
        folder: folder)
      group.addTask {
        try await body(farm)
        return true
      }
      defer { group.cancelAll() }
      while let hasEnded = try await group.next() { if hasEnded { return } }
    }
  }

  // MARK: Requests

  /// One request over a connection of its own, with the farm's token.
  func request(
    _ method: String, _ path: String, headers: [(String, String)] = [], body: [UInt8]? = nil
  ) async throws -> RawClient.Reply {
    try await RawClient(port: port).request(method, path, headers: authorization + headers, body: body)
  }

  func get(_ path: String, headers: [(String, String)] = []) async throws -> RawClient.Reply {
    try await request("GET", path, headers: headers)
  }

  /// A JSON text as the body.
  func post(_ path: String, _ json: String, headers: [(String, String)] = []) async throws -> RawClient.Reply {
    try await request(
      "POST", path, headers: [("Content-Type", "application/json")] + headers, body: Array(json.utf8))
  }

  /// A stream of events, whose head was read.
  func events(_ path: String, last: String? = nil) async throws -> (RawClient, RawClient.Reply) {
    let client = try RawClient(port: port)
    let headers = authorization + (last.map { [("Last-Event-ID", $0)] } ?? [])
    try await client.send(RawClient.head("GET", path, headers, length: nil))
    return (client, try await client.head())
  }

  var authorization: [(String, String)] { token.map { [("Authorization", "Bearer \($0)")] } ?? [] }

  // MARK: Jobs

  /// A document without media.
  static let document = #"{"sheaf": 1, "tracks": [], "export": {"to": "film.mkv", "video": {"codec": "ffv1"}}}"#

  /// Puts bytes into the content store.
  func add(_ bytes: [UInt8]) throws -> Content {
    let new = Content(digest: .of(bytes), size: Int64(bytes.count))
    let upload = try content.upload(new)
    try upload.write(Data(bytes))
    try upload.finish()
    return new
  }

  /// A job that is done, with this film.
  func doneJob(_ id: String = "done-1", film: Content, output: String = "film.mp4", outputs: [String]? = nil)
    async throws
    -> String
  {
    var request: [String: Any] = [
      "document": Self.document, "assets": [Any](), "segmentDuration": "", "output": output,
    ]
    if let outputs { request["outputs"] = outputs }
    let encoded = try JSONSerialization.data(withJSONObject: request)
    try await store.submit(
      NewJob(id: JobID(id), name: "edit.json", priority: 0, request: [UInt8](encoded), tasks: []))
    let task = { (kind: TaskKind, cached: Content) in
      NewTask(
        kind: kind, payload: [], inputs: [], fingerprint: .of("\(id) \(kind)".utf8), cost: 1, work: 1, cached: cached)
    }
    _ = try await store.plan(JobID(id), build: "build", tasks: [task(.video, film), task(.stitch, film)])
    return id
  }

  /// A job whose media nobody probes.
  func openJob(_ id: String, name: String = "edit.json") async throws {
    let encoded = #"{"document": "{}", "assets": [], "segmentDuration": "", "output": ""}"#
    let task = NewTask(
      kind: .probe, payload: [], inputs: [], fingerprint: .of("probe \(id)".utf8), cost: 1, work: 1)
    try await store.submit(
      NewJob(id: JobID(id), name: name, priority: 0, request: Array(encoded.utf8), tasks: [task]))
  }
}

extension HTTPLimits {
  static func with(_ change: (inout HTTPLimits) -> Void) -> HTTPLimits {
    var limits = HTTPLimits()
    change(&limits)
    return limits
  }
}

/// Waits until a condition holds.
func eventually(_ what: String, _ holds: () async throws -> Bool) async throws {
  let limit = ContinuousClock.now + .seconds(60)
  while try await !holds() {
    guard ContinuousClock.now < limit else {
      Issue.record("not in time: \(what)")
      return
    }
    try await Task.sleep(for: .milliseconds(10))
  }
}
