package import Client
package import ContentStorage
import Coordinator
import Digest
import FarmModel
import Glibc
import Jobs
import Logging
import NIOCore
import Runtime
package import SystemSupport
import Wire

/// A whole farm in this process and one child process: a coordinator with a job store in memory on a loopback port, and
/// one `sheaf-worker`. Commands use it over the wire, exactly as they use any other farm.
package struct LocalFarm: Sendable {
  package struct Configuration: Sendable {
    /// The content store's folder.
    package var store: String
    /// How many tasks run at once; nil: as many as there are processor cores.
    package var slots: Int?
    /// The most bytes that the content store keeps when no command uses it any more.
    package var storeLimit: Int64
    /// The worker's program; nil: `sheaf-worker`.
    package var workerExecutable: String?
    /// How long the farm stays when nothing in this process uses it any more; nil: it is one of its own, and ends with
    /// its use.
    package var idleTime: Duration?
    /// The numbers of the segments that are rendered of each film, which has these alone. Nil: all of them.
    var segments: Set<Int>?
    /// The digests of files and of their blocks, for the farm and for the client in the same process. They are kept in
    /// the cache of the farm's worker: no command reads a file for its digest again that has not changed, and neither
    /// does the worker.
    package let contents: FileContentCache

    package static let defaultStoreLimit: Int64 = 20 << 30

    /// - Parameter store: Nil selects `store` in the user's cache folder. Throws if there is none.
    package init(store: String? = nil, slots: Int? = nil, storeLimit: Int64? = nil) throws(SettingError) {
      if let store { self.store = store } else { self.store = try "\(ProcessEnvironment.cacheDirectory)/store" }
      self.slots = slots
      self.storeLimit = storeLimit ?? Self.defaultStoreLimit
      let cache = Self.workerCache(in: self.store)
      contents = FileContentCache(directory: cache, lists: FileContentCache.blockLists(in: cache))
    }

    /// The folder of the farm's worker in that of the content store.
    fileprivate static func workerCache(in store: String) -> String { store + "/worker" }
  }

  package let endpoint: CoordinatorClient.Endpoint
  package let store: ContentStore
  private let jobs: any JobStore
  private let usage: StoreUsage
  /// Whether it goes on when what it is used for has ended.
  private let isKept: Bool

  /// Runs `body` on a farm that is started for it, or on one that stays (`Configuration.idleTime`). Throws what `body`
  /// throws, or why the farm cannot go on.
  package static func run<R: Sendable>(
    _ configuration: Configuration, _ body: @escaping @Sendable (LocalFarm) async throws -> R
  ) async throws -> R {
    guard let idle = configuration.idleTime else { return try await start(configuration, body) }
    return try await KeptFarms.shared.run(configuration, idle: idle, body)
  }

  /// Starts a farm, runs `body`, and stops the farm.
  static func start<R: Sendable>(
    _ configuration: Configuration, _ body: @escaping @Sendable (LocalFarm) async throws -> R
  ) async throws -> R {
    let executable = try LocalWorker.find(configuration.workerExecutable)
    let store: ContentStore
    do {
      store = try ContentStore(directory: configuration.store)
    } catch {
      throw CommandFailure(.work, "the content store cannot be used: \(error)")
    }
    let usage = try await BlockingWork.run { try StoreUsage(store) }
    let content = try ContentLocator(store: store, mediaRoot: "/", contents: configuration.contents)
    var logger = Logger(label: "sheaf")
    logger.logLevel = .critical
    let server = try await WireServer.bind(to: WireAddress(host: "127.0.0.1", port: 0), logger: logger)
    let token = (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    let start = ContinuousClock.now
    var coordinator = CoordinatorConfiguration(name: server.address.description, token: token)
    // Who uses it is who runs it.
    coordinator.audits = false
    // There is one worker, and there will be no other.
    coordinator.waitsForCompositors = false
    coordinator.segments = configuration.segments
    let jobs = MemoryJobStore { start.duration(to: .now) }
    let service = CoordinatorService(
      store: jobs, content: content,
      configuration: coordinator, logger: logger)
    let worker = LocalWorker(
      executable: executable,
      arguments: [
        "--coordinator", server.address.description, "--slots", "\(configuration.slots ?? System.coreCount)",
        "--media-root", "/", "--cache", Configuration.workerCache(in: store.directory), "--content-store",
        store.directory, "--exit-with-parent",
      ],
      // This farm's token must not be overridden by the user's token file. A small disk is enough for a small film.
      environment: [
        "SHEAF_TOKEN": token, "SHEAF_TOKEN_FILE": nil,
        "SHEAF_MIN_FREE": ProcessEnvironment.value("SHEAF_MIN_FREE") ?? "32M",
      ])
    let farm = LocalFarm(
      endpoint: CoordinatorClient.Endpoint(address: server.address, token: token), store: store, jobs: jobs,
      usage: usage, isKept: configuration.idleTime != nil)
    let result = try await withThrowingTaskGroup(of: R?.self) { group in
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
    await usage.end(limit: configuration.storeLimit)
    return result
  }
}

extension LocalFarm {
  /// The files that the segments of a job were rendered from, each once: media and fonts.
  func files(of job: String) async throws -> [Content] {
    var seen: Set<Content> = []
    return try await jobs.tasks(of: JobID(job), payloads: false).filter { $0.kind == .video }.flatMap(\.inputs)
      .filter { seen.insert($0).inserted }
  }

  /// Stops a job that nobody waits for any more. A farm that ends with its use stops all of them.
  func cancel(_ job: String) async {
    guard isKept else { return }
    // In a task of its own, because the one that waited may be cancelled.
    let cancelling = Task { [endpoint] in
      try await CoordinatorClient.run(endpoint) { try await JobRun($0).cancel(job) }
    }
    // If the farm does not answer, it has ended, and the job with it.
    _ = try? await cancelling.value
  }

  /// Trims the store, unless another farm uses it: that one trims it then. To be called when nothing uses this one.
  func trim(to limit: Int64) async {
    await usage.end(limit: limit)
    await usage.resume()
  }
}

/// The use of a content store by the local farms of this machine: the last of them to end trims the store.
struct StoreUsage: Sendable {
  private let store: ContentStore
  private let lock: OpenFile

  init(_ store: ContentStore) throws {
    self.store = store
    lock = try mapErrors { () throws(SystemError) in
      let file = try OpenFile.open(store.directory + "/users", O_RDWR | O_CREAT, permissions: 0o600)
      _ = try retryingOnInterrupt("locking \(file.name)") { flock(file.descriptor, LOCK_SH) }
      return file
    }
  }

  /// Goes on after `end`. Waits while another farm trims the store.
  func resume() async {
    // It fails only if the file system has no locks, of which `init` would have thrown.
    _ = try? await BlockingWork.run(.files) { [lock] in
      try retryingOnInterrupt("locking \(lock.name)") { flock(lock.descriptor, LOCK_SH) }
    }
  }

  /// Trims the store unless another farm uses it: that one trims it then.
  func end(limit: Int64) async {
    // Fails if another farm has the lock.
    guard flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 else { return }
    // The command has what it wants. What cannot be removed now is removed by the next command.
    _ = try? await BlockingWork.run { [store] in try store.trim(to: limit, keeping: []) }
  }
}
