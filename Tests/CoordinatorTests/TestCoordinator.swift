import Client
import ContentStorage
import Digest
import Foundation
import Jobs
import Logging
import SwiftProtobuf
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// A coordinator on loopback with a job store in memory and a content store in a temporary folder.
struct TestCoordinator: Sendable {
  let endpoint: CoordinatorClient.Endpoint
  let service: CoordinatorService
  let store: MemoryJobStore
  let server: WireServer

  var content: ContentStore { service.content.store }

  /// - Parameter clock: Is added to the time of the job store.
  static func run<R: Sendable>(
    token: String? = "secret", mediaRoot: String? = nil, policy: LeasePolicy = LeasePolicy(),
    maximumConnections: Int = 64, clock: @escaping @Sendable () -> Duration = { .zero },
    _ body: @escaping @Sendable (TestCoordinator) async throws -> R
  ) async throws -> R {
    let folder = try TemporaryFolder()
    let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let start = ContinuousClock.now
    let store = MemoryJobStore(policy: policy) { start.duration(to: .now) + clock() }
    let content = try ContentLocator(
      store: ContentStore(directory: folder.path("store")), mediaRoot: mediaRoot, contents: FileContentCache())
    let server = try await WireServer.bind(to: WireAddress(host: "127.0.0.1", port: 0), logger: logger)
    let configuration = CoordinatorConfiguration(
      name: "test", token: token, maximumConnections: maximumConnections, policy: policy)
    let service = CoordinatorService(store: store, content: content, configuration: configuration, logger: logger)
    let coordinator = TestCoordinator(
      endpoint: .init(address: server.address, token: token ?? ""), service: service, store: store,
      server: server)
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

  func hello(_ role: Sheaf_Role, worker: String = "w1", slots: UInt32 = 2, build: String = "build 1") -> Sheaf_Hello {
    .with {
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
  let limit = ContinuousClock.now + .seconds(20)
  while try await !holds() {
    guard ContinuousClock.now < limit else {
      Issue.record("not in time: \(what)")
      return
    }
    try await Task.sleep(for: .milliseconds(10))
  }
}
