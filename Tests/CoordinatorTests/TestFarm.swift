import CompositionModel
import Digest
import FoundationEssentials
import Glibc
import Jobs
import Logging
import SwiftProtobuf
import TestPrograms
import Testing
import Wire

@testable import Coordinator

/// A coordinator's service on loopback with a store in memory, and a folder that goes with it.
struct TestFarm: Sendable {
  let endpoint: CoordinatorClient.Endpoint
  let service: Farm
  let store: MemoryJobStore
  let folder: String
  let server: WireServer

  var vault: Vault { service.library.vault }

  static func run<R: Sendable>(
    token: String? = "secret", mediaRoot: String? = nil, policy: LeasePolicy = LeasePolicy(),
    maximumConnections: Int = 64, vault: String? = nil, _ body: @escaping @Sendable (TestFarm) async throws -> R
  ) async throws -> R {
    let folder = try TemporaryFolder()
    let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let start = ContinuousClock.now
    let store = MemoryJobStore(policy: policy) { start.duration(to: .now) }
    let library = try Library(
      vault: Vault(directory: vault ?? folder.path + "/vault"), mediaRoot: mediaRoot, digests: DigestCache())
    let server = try await WireServer.bind(to: WireAddress(host: "127.0.0.1", port: 0), logger: logger)
    var configuration = Farm.Configuration(name: "test", token: token, policy: policy)
    configuration.maximumConnections = maximumConnections
    let service = Farm(store: store, library: library, configuration: configuration, logger: logger)
    let farm = TestFarm(
      endpoint: .init(address: server.address, token: token ?? ""), service: service, store: store,
      folder: folder.path, server: server)
    return try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask {
        try await service.run(server)
        return nil
      }
      group.addTask { try await body(farm) }
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

/// A folder that is gone when the last who knows of it is.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    var template = Array("/tmp/sheaf-test-XXXXXX".utf8CString)
    guard let made = mkdtemp(&template) else { throw VaultError.system("making a folder", errno: errno) }
    path = String(cString: made)
  }

  deinit {
    do { try FileManager.default.removeItem(atPath: path) } catch { print("left behind: \(path): \(error)") }
  }

  func write(_ bytes: some Sequence<UInt8>, to name: String) throws -> String {
    let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, 0o644)
    defer { close(file) }
    try FileBytes.write([UInt8](bytes), to: file, name: name)
    return "\(path)/\(name)"
  }
}

/// Looks again and again until something holds.
func eventually(_ what: String, _ holds: () async throws -> Bool) async throws {
  let limit = ContinuousClock.now + .seconds(20)
  while try await !holds() {
    guard ContinuousClock.now < limit else {
      Issue.record("waited in vain for \(what)")
      return
    }
    try await Task.sleep(for: .milliseconds(10))
  }
}
