package import ContentStorage
import Coordinator
import Jobs
import Logging
import NIOCore
import SystemSupport
import Wire

/// A whole farm in this process and one child process: a coordinator with a job store in memory on a loopback port, and
/// one `sheaf-worker`. Commands use it over the wire, exactly as they use any other farm.
package struct LocalFarm: Sendable {
  package struct Configuration: Sendable {
    /// The content store's folder.
    package var store: String
    /// How many tasks run at once; nil: as many as there are processor cores.
    package var slots: Int?

    /// - Parameter store: Nil selects `store` in the user's cache folder. Throws if there is none.
    package init(store: String? = nil, slots: Int? = nil) throws(SettingError) {
      self.store = try store ?? "\(ProcessEnvironment.cacheDirectory)/store"
      self.slots = slots
    }
  }

  package let endpoint: CoordinatorClient.Endpoint
  package let store: ContentStore

  /// Starts a farm, runs `body`, and stops the farm. Throws what `body` throws, or why the farm cannot go on.
  /// - Parameter contents: Shared with the client in the same process, so that each file is read for its digest once.
  package static func run<R: Sendable>(
    _ configuration: Configuration, contents: FileContentCache,
    _ body: @escaping @Sendable (LocalFarm) async throws -> R
  ) async throws -> R {
    let executable = try LocalWorker.find()
    let store: ContentStore
    do {
      store = try ContentStore(directory: configuration.store)
    } catch {
      throw CommandFailure(.work, "the content store cannot be used: \(error)")
    }
    let content = try ContentLocator(store: store, mediaRoot: "/", contents: contents)
    var logger = Logger(label: "sheaf")
    logger.logLevel = .critical
    let server = try await WireServer.bind(to: WireAddress(host: "127.0.0.1", port: 0), logger: logger)
    let token = (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    let start = ContinuousClock.now
    let service = CoordinatorService(
      store: MemoryJobStore { start.duration(to: .now) }, content: content,
      configuration: CoordinatorConfiguration(name: server.address.description, token: token), logger: logger)
    let worker = LocalWorker(
      executable: executable,
      arguments: [
        "--coordinator", server.address.description, "--slots", "\(configuration.slots ?? System.coreCount)",
        "--media-root", "/", "--cache", store.directory + "/worker", "--exit-with-parent",
      ],
      // This farm's token must not be overridden by the user's token file.
      environment: ["SHEAF_TOKEN": token, "SHEAF_TOKEN_FILE": nil])
    let farm = LocalFarm(
      endpoint: CoordinatorClient.Endpoint(address: server.address, token: token), store: store)
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
