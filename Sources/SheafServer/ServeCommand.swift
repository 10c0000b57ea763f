import ArgumentParser
import Client
import ContentStorage
import Coordinator
import FarmHTTP
import Jobs
import Logging
import SystemSupport
import Wire

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Run a farm's coordinator.",
    discussion: """
      Several coordinators may share one database and one content store. A coordinator that other machines can reach \
      needs a token, which workers and clients send: SHEAF_TOKEN, or a file. On SIGTERM it grants no more tasks, records \
      what workers have published, and ends within 10 s; tasks that run go on, and their workers connect again. A second \
      SIGTERM ends it at once.

      Sizes are bytes, or such as 500M or 20G; times are such as 90s, 30m, 12h or 7d.
      """)

  @Option(
    help: ArgumentHelp("PostgreSQL, such as postgres://user@host/sheaf. Required. [SHEAF_DATABASE]", valueName: "url"))
  var database: String?

  @Option(
    help: ArgumentHelp(
      "The address to listen at; the default is 127.0.0.1:7433. [SHEAF_LISTEN]", valueName: "host:port"))
  var listen: String?

  @Option(
    help: ArgumentHelp(
      "The address of the HTTP API and of the page, such as 127.0.0.1:8080; the default is none. [SHEAF_HTTP]",
      valueName: "host:port"))
  var http: String?

  @Option(
    help: ArgumentHelp(
      "The content store, the same folder for all coordinators of a database. Required. [SHEAF_STORE]",
      valueName: "dir"))
  var store: String?

  @Flag(
    help: "Use another content store than the database's; what only the old one has is lost. [SHEAF_REPLACE_STORE]")
  var replaceStore = false

  @Option(
    help: ArgumentHelp(
      "The most bytes that the content store keeps beyond what open jobs and unfetched films need; the default is no limit. [SHEAF_STORE_LIMIT]",
      valueName: "bytes"))
  var storeLimit: String?

  @Option(
    help: ArgumentHelp(
      "Grant no tasks and take no uploads while the content store's disk has fewer bytes free; the default is 1G. [SHEAF_MIN_FREE]",
      valueName: "bytes"))
  var minFree: String?

  @Option(
    help: ArgumentHelp(
      "How long a film that was not fetched is kept; the default is 7d. [SHEAF_KEEP_RESULTS]", valueName: "time"))
  var keepResults: String?

  @Option(
    help: ArgumentHelp(
      "How long a job is kept after its end; the default is 7d. [SHEAF_KEEP_JOBS]", valueName: "time"))
  var keepJobs: String?

  @Option(
    help: ArgumentHelp(
      "A folder of media that workers have under a root of their own; its files are not uploaded. [SHEAF_MEDIA_ROOT]",
      valueName: "dir"))
  var mediaRoot: String?

  @Option(
    help: ArgumentHelp(
      "A file whose first line is the farm's token. [SHEAF_TOKEN_FILE; or the token itself in SHEAF_TOKEN]",
      valueName: "file"))
  var tokenFile: String?

  @Option(
    help: ArgumentHelp(
      "How long a task may go without any progress before it counts as hung, the same at all coordinators of a database; the default is 60s. [SHEAF_HANG_LIMIT]",
      valueName: "time"))
  var hangLimit: String?

  @Option(
    help: ArgumentHelp(
      "The most connections at once; the default is 1024. [SHEAF_MAX_CONNECTIONS]", valueName: "n"))
  var maxConnections: String?

  @Option(
    help: ArgumentHelp(
      "How much to log on standard error: debug, info, notice, warning or error; the default is info. [SHEAF_LOG_LEVEL]",
      valueName: "level"))
  var logLevel: String?

  func run() async throws {
    do {
      let address = try WireAddress(
        setting: Setting.text(listen, "SHEAF_LISTEN") ?? WireAddress.defaultSetting, example: "0.0.0.0:7433")
      let token = try Setting.token(file: tokenFile)
      guard token != nil || address.isLoopback else {
        throw ValidationError(
          "a coordinator at \(address) can be reached from other machines and needs a token: set SHEAF_TOKEN or --token-file"
        )
      }
      let web = try Setting.text(http, "SHEAF_HTTP").map { text throws(SettingError) in
        try WireAddress(setting: text, example: "127.0.0.1:8080")
      }
      if let web, token == nil, !web.isLoopback {
        throw ValidationError(
          "the HTTP API at \(web) can be reached from other machines and needs a token: set SHEAF_TOKEN or --token-file"
        )
      }
      guard let database = Setting.text(database, "SHEAF_DATABASE") else {
        throw ValidationError("name the database with --database or SHEAF_DATABASE, such as postgres://user@host/sheaf")
      }
      guard let directory = Setting.text(store, "SHEAF_STORE") else {
        throw ValidationError("name the content store's folder with --store or SHEAF_STORE, such as /srv/sheaf/store")
      }
      let settings = try settings(token)
      let logger = try logger()
      let stop = StopSignals(logger: logger)
      await stop.listen()
      let content = try content(directory)
      let jobs = try await connect(database, settings.policy, content.store, logger)
      let server = try await Self.bind(address, logger)
      let coordinator = CoordinatorService(
        store: jobs, content: content,
        configuration: settings.named("\(ProcessEnvironment.hostName):\(server.address.port)"),
        logger: logger)
      logger.notice("listening", metadata: ["address": "\(server.address)", "store": "\(content.store.directory)"])
      let face = web.map {
        HTTPFace(FarmService(coordinator), address: $0, token: token, logger: logger)
      }
      await stop.serve {
        await withDiscardingTaskGroup { group in
          group.addTask { await coordinator.drain(server) }
          group.addTask { await face?.drain() }
        }
      }
      try await Self.run(coordinator, server, face, logger)
      await jobs.close()
      logger.notice("stopped")
    } catch let error as SettingError {
      throw ValidationError(error.description)
    }
  }

  /// Serves until the coordinator is drained. Throws why one of the faces cannot be served.
  private static func run(
    _ coordinator: CoordinatorService, _ server: WireServer, _ face: HTTPFace?, _ logger: Logger
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await coordinator.run(server) }
      if let face {
        group.addTask {
          do {
            try await face.run { logger.notice("HTTP API and page", metadata: ["address": "http://\($0)/"]) }
          } catch let error as WireError {
            throw CommandFailure(.unavailable, "\(error); choose another with --http")
          }
          // Drained: the coordinator ends by itself.
        }
      }
      while try await group.next() != nil {}
    }
  }

  /// Several heartbeats of a worker.
  private static let shortestHang = Duration.seconds(15)

  private func settings(_ token: String?) throws -> CoordinatorConfiguration {
    var configuration = CoordinatorConfiguration(name: "", token: token)
    let connections = try Setting.number(
      maxConnections, "--max-connections", "SHEAF_MAX_CONNECTIONS", in: 1...100_000)
    if let connections { configuration.maximumConnections = Int(connections) }
    configuration.minimumFree = try Setting.bytes(minFree, "--min-free", "SHEAF_MIN_FREE") ?? 1 << 30
    configuration.storeLimit = try Setting.bytes(storeLimit, "--store-limit", "SHEAF_STORE_LIMIT")
    if let time = try Setting.duration(keepResults, "--keep-results", "SHEAF_KEEP_RESULTS") {
      configuration.keepResults = time
    }
    if let time = try Setting.duration(keepJobs, "--keep-jobs", "SHEAF_KEEP_JOBS") { configuration.keepJobs = time }
    if let limit = try Setting.duration(hangLimit, "--hang-limit", "SHEAF_HANG_LIMIT") {
      guard limit >= Self.shortestHang else {
        throw ValidationError(
          "a hang limit is at least \(Self.shortestHang.components.seconds) s: workers report every 4 s")
      }
      configuration.policy.hang = limit * 2
    }
    return configuration
  }

  private func logger() throws -> Logger {
    var logger = Logger(label: "sheaf") { _ in LineLogHandler() }
    // Every name that the setting allows is one of swift-log's.
    logger.logLevel = Logger.Level(rawValue: try Setting.logLevel(logLevel, default: "info")) ?? .info
    return logger
  }

  private func content(_ directory: String) throws -> ContentLocator {
    do {
      let store = try ContentStore(directory: directory)
      return try ContentLocator(
        store: store, mediaRoot: Setting.text(mediaRoot, "SHEAF_MEDIA_ROOT"),
        contents: FileContentCache(lists: store.blocks))
    } catch {
      throw CommandFailure(.work, "the content store cannot be used: \(error)")
    }
  }

  private static func bind(_ address: WireAddress, _ logger: Logger) async throws -> WireServer {
    do {
      return try await WireServer.bind(to: address, logger: logger)
    } catch {
      throw CommandFailure(.unavailable, "\(error); choose another with --listen")
    }
  }

  /// Tries for some time, because the database may start later than the coordinator.
  private func connect(
    _ url: String, _ policy: LeasePolicy, _ content: ContentStore, _ logger: Logger
  ) async throws -> PostgresJobStore {
    let limit = ContinuousClock.now + .seconds(15)
    let isReplacing = Setting.flag(replaceStore, "SHEAF_REPLACE_STORE")
    var attempt = await DatabaseAttempt.make(url, policy, content, isReplacing: isReplacing)
    if let reason = attempt.unavailable {
      logger.warning("database not reached yet; trying for 15 s", metadata: ["error": "\(reason)"])
    }
    while attempt.unavailable != nil, ContinuousClock.now < limit {
      try await Task.sleep(for: .seconds(1))
      attempt = await DatabaseAttempt.make(url, policy, content, isReplacing: isReplacing)
    }
    return try attempt.store
  }
}

/// What came of connecting to the database.
private enum DatabaseAttempt: Sendable {
  case connected(PostgresJobStore)
  /// It may be reached later.
  case unavailable(JobStoreError)
  case refused(CommandFailure)

  /// Connects, and checks that the database's content store is this one.
  static func make(
    _ url: String, _ policy: LeasePolicy, _ content: ContentStore, isReplacing: Bool
  ) async -> DatabaseAttempt {
    do throws(JobStoreError) {
      let jobs = try await PostgresJobStore.connect(url: url, policy: policy)
      let recorded = try await jobs.contentStore(content.identity, replacing: isReplacing)
      if recorded == content.identity { return .connected(jobs) }
      await jobs.close()
      // A second start finds the folder as this one did.
      content.forgetIdentity()
      return .refused(CommandFailure(.unavailable, content.refusal(recorded)))
    } catch {
      if error.code == .unavailable { return .unavailable(error) }
      return .refused(CommandFailure(.unavailable, "the database cannot be used: \(error)"))
    }
  }

  var unavailable: JobStoreError? {
    if case .unavailable(let error) = self { error } else { nil }
  }

  var store: PostgresJobStore {
    get throws(CommandFailure) {
      switch self {
      case .connected(let store): return store
      case .unavailable(let error): throw CommandFailure(.unavailable, "\(error)")
      case .refused(let failure): throw failure
      }
    }
  }
}

extension ContentStore {
  /// Why a coordinator does not start with this store, and what to do.
  /// - Parameter recorded: The identity of the database's content store.
  fileprivate func refusal(_ recorded: String) -> String {
    switch origin {
    case .recorded:
      """
      the content store \(directory) is \(identity), and the database belongs to the content store \(recorded): name the \
      folder of that one with --store, or give --replace-store if it is lost
      """
    case .unnamed:
      """
      the content store \(directory) has lost its file "identity", and the database belongs to the content store \
      \(recorded). If this folder is that one, write the file again: printf %s \(recorded) > '\(directory)/identity'. If \
      not, name the folder of that one with --store, or give --replace-store if it is lost
      """
    case .new:
      """
      the folder \(directory) has no content store, and the database belongs to the content store \(recorded): if its disk \
      is not mounted, mount it; or name the store's folder with --store, or give --replace-store if it is lost
      """
    }
  }
}

extension CoordinatorConfiguration {
  fileprivate func named(_ name: String) -> CoordinatorConfiguration {
    var configuration = self
    configuration.name = name
    return configuration
  }
}
