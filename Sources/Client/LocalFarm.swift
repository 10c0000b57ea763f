import Jobs
import Logging
import NIOCore
import Wire

/// A whole farm in and under this process: the coordinator's service with a store in memory on a loopback port, and one
/// `sheaf-worker`. Commands talk to it over the wire, exactly as they talk to any other.
struct LocalFarm: Sendable {
  let endpoint: CoordinatorClient.Endpoint
  let vault: Vault
  /// Shared with the client in the same process, so that each file is read for its digest once.
  let digests: DigestCache

  /// The vault of those who name none.
  static var defaultVault: String {
    if let cache = ProcessEnvironment.value("XDG_CACHE_HOME"), cache.hasPrefix("/") { return cache + "/sheaf/vault" }
    return (ProcessEnvironment.value("HOME") ?? "/tmp") + "/.cache/sheaf/vault"
  }

  /// Starts a farm, runs `body`, ends it; throws what `body` throws, or why the farm cannot go on.
  static func run<R: Sendable>(
    vault directory: String, slots: Int?, digests: DigestCache,
    _ body: @escaping @Sendable (LocalFarm) async throws -> R
  ) async throws -> R {
    let executable = try WorkerChild.find()
    let vault: Vault
    do {
      vault = try Vault(directory: directory)
    } catch {
      throw CommandFailure(.work, "the vault cannot be used: \(error)")
    }
    let library = try Library(vault: vault, mediaRoot: "/", digests: digests)
    var logger = Logger(label: "sheaf")
    logger.logLevel = .critical
    let server = try await WireServer.bind(to: WireAddress(host: "127.0.0.1", port: 0), logger: logger)
    let token = (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    let start = ContinuousClock.now
    let store = MemoryJobStore { start.duration(to: .now) }
    let service = Farm(
      store: store, library: library,
      configuration: Farm.Configuration(name: server.address.description, token: token), logger: logger)
    let worker = WorkerChild(
      executable: executable,
      arguments: [
        "--coordinator", server.address.description, "--slots", "\(slots ?? System.coreCount)", "--media-root", "/",
        "--cache", vault.directory + "/worker", "--exit-with-parent",
      ], environment: ["SHEAF_TOKEN": token])
    let farm = LocalFarm(
      endpoint: CoordinatorClient.Endpoint(address: server.address, token: token), vault: vault, digests: digests)
    return try await withThrowingTaskGroup(of: R?.self) { group in
      group.addTask {
        try await service.run(server)
        return nil
      }
      group.addTask {
        try await worker.supervise()
        return nil
      }
      group.addTask { try await body(farm) }
      defer { group.cancelAll() }
      while let ended = try await group.next() {
        if let result = ended { return result }
        try Task.checkCancellation()
      }
      throw CancellationError()
    }
  }
}
