import Client
import ContentStorage
import Digest
import Foundation
import Jobs
import Logging
import SwiftProtobuf
import Synchronization
import SystemSupport
import TLS
import TestPrograms
import Testing
import Wire

@testable import Coordinator

extension LeasePolicy {
  /// Leases that last longer than a test, so that none is lost because the machine is busy.
  static let unhurried = LeasePolicy(lease: .seconds(600))
  /// The same, for a job whose tasks may fail without end and are granted all the same.
  static let withoutEnd = LeasePolicy(lease: .seconds(600), maximumFailures: .max, maximumKills: .max, isolation: .max)
}

extension Reconnection.Limits {
  /// A coordinator is not given up because the machine is busy.
  static let unhurried = Reconnection.Limits(longestSilence: .seconds(600), longestConnecting: .seconds(600))
}

/// A coordinator on loopback with a job store in memory and a content store in a temporary folder.
struct TestCoordinator: Sendable {
  let endpoint: CoordinatorClient.Endpoint
  let service: CoordinatorService
  let store: MemoryJobStore
  let server: WireServer
  let logs: LogRecorder

  var content: ContentStore { service.content.store }

  /// - Parameters:
  ///   - clock: Is added to the time of the job store.
  ///   - configure: Changes the configuration.
  ///   - wrap: The store that the coordinator gets in place of this one.
  ///   - availableBytes: The bytes that are free on the disk; nil: they are measured.
  ///   - diskSize: The bytes of a disk that has only the content store; nil: it is on a real one.
  static func run<R: Sendable>(
    token: String? = "secret", mediaRoot: String? = nil, policy: LeasePolicy = .unhurried,
    maximumConnections: Int = 64, helloTimeout: Duration = .seconds(300),
    clock: @escaping @Sendable () -> Duration = { .zero },
    configure: (inout CoordinatorConfiguration) -> Void = { _ in },
    wrap: (MemoryJobStore) -> any JobStore = { $0 }, availableBytes: (@Sendable () throws -> Int64)? = nil,
    diskSize: (@Sendable () -> Int64)? = nil, tls: TLSIdentity? = nil,
    _ body: @escaping @Sendable (TestCoordinator) async throws -> R
  ) async throws -> R {
    let folder = try TemporaryFolder()
    let logs = LogRecorder()
    let logger = Logger(label: "test", factory: { _ in logs.handler })
    let start = ContinuousClock.now
    let store = MemoryJobStore(policy: policy) { start.duration(to: .now) + clock() }
    let content = try ContentLocator(
      store: ContentStore(directory: folder.path("store")) { path throws(SystemError) in
        guard let diskSize else { return try Directories.availableBytes(in: path) }
        return Directories.files(in: path + "/temporary").reduce(diskSize()) { $0 - $1.allocatedSize }
      }, mediaRoot: mediaRoot, contents: FileContentCache())
    let server = try await WireServer.bind(
      to: WireAddress(host: "127.0.0.1", port: 0), tls: tls, helloTimeout: helloTimeout, logger: logger)
    var configuration = CoordinatorConfiguration(
      name: "test", token: token, maximumConnections: maximumConnections, policy: policy)
    configure(&configuration)
    let service = CoordinatorService(
      store: wrap(store), content: content, configuration: configuration, logger: logger, availableBytes: availableBytes
    )
    let coordinator = TestCoordinator(
      endpoint: .init(address: server.address, token: token ?? ""), service: service, store: store,
      server: server, logs: logs)
    return try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask {
        try await service.run(server)
        return nil
      }
      group.addTask { try await body(coordinator) }
      defer { group.cancelAll() }
      while let ended = try await group.next() { if let result = ended { return result } }
      throw CancellationError()
    }
  }

  /// Connects, runs `body`, and closes the connection.
  func client<R: Sendable>(_ body: @escaping @Sendable (CoordinatorClient) async throws -> R) async throws -> R {
    try await CoordinatorClient.run(endpoint, limits: .unhurried, body)
  }

  func hello(
    _ role: Sheaf_Role, worker: String = "w1", slots: UInt32 = 2, build: String = "build 1", session: Int64 = 1
  ) -> Sheaf_Hello {
    .with {
      $0.session = session
      $0.role = role
      $0.token = endpoint.token
      $0.name = worker
      $0.workerID = worker
      $0.slots = slots
      $0.build = build
    }
  }
}

/// Waits until a condition holds.
func eventually(_ what: String, _ holds: () async throws -> Bool) async throws {
  let limit = ContinuousClock.now + .seconds(300)
  while try await !holds() {
    guard ContinuousClock.now < limit else {
      Issue.record("not in time: \(what)")
      return
    }
    try await Task.sleep(for: .milliseconds(10))
  }
}

/// What a coordinator has logged.
final class LogRecorder: Sendable {
  struct Entry: Sendable {
    var level: Logger.Level
    var message: String
    var metadata: [String: String]
  }

  private struct Handler: LogHandler {
    let recorder: LogRecorder
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let metadata = (event.metadata ?? [:]).mapValues { "\($0)" }
      recorder.entries.withLock {
        $0.append(Entry(level: event.level, message: "\(event.message)", metadata: metadata))
      }
    }
  }

  private let entries = Mutex<[Entry]>([])

  var handler: any LogHandler { Handler(recorder: self) }

  /// The entries with this message, in order.
  func all(_ message: String) -> [Entry] { entries.withLock { $0.filter { $0.message == message } } }

  /// Every message, in order.
  var messages: [String] { entries.withLock { $0.map(\.message) } }
}
