import ArgumentParser
import Client
import ContentStorage
import Coordinator
import Jobs
import Logging
import ServiceLifecycle
import SystemSupport
import UnixSignals
import Wire

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Run a farm's coordinator.",
    discussion: """
      Several coordinators may share one database and one content store. A coordinator that other machines can reach \
      needs a token, which workers and clients send: SHEAF_TOKEN, or a file. On SIGTERM it grants no more tasks, waits 8 s \
      for the workers to publish what they are rendering, and ends; what they have not published is rendered again.
      """)

  @Option(
    help: ArgumentHelp("PostgreSQL, such as postgres://user@host/sheaf. Required. [SHEAF_DATABASE]", valueName: "url"))
  var database: String?

  @Option(
    help: ArgumentHelp(
      "The address to listen at; the default is 127.0.0.1:7433. [SHEAF_LISTEN]", valueName: "host:port"))
  var listen: String?

  @Option(help: ArgumentHelp("The content store; the default is ./store. [SHEAF_STORE]", valueName: "dir"))
  var store: String?

  @Option(
    help: ArgumentHelp(
      "A folder of media that workers have under a root of their own; its files are not uploaded. [SHEAF_MEDIA_ROOT]",
      valueName: "dir"))
  var mediaRoot: String?

  @Option(help: OptionHelp.tokenFile)
  var tokenFile: String?

  @Option(
    help: ArgumentHelp(
      "The most connections at once; the default is 1024. [SHEAF_MAX_CONNECTIONS]", valueName: "n"))
  var maxConnections: String?

  @Option(
    help: ArgumentHelp(
      "How much to log on standard error: debug, info, notice, warning or error. [SHEAF_LOG_LEVEL]",
      valueName: "level"))
  var logLevel: String?

  func run() async throws {
    try await reporting {
      let address = try WireAddress(
        setting: Setting.text(listen, "SHEAF_LISTEN") ?? WireAddress.defaultSetting, example: "0.0.0.0:7433")
      let token = try Setting.token(file: tokenFile)
      guard token != nil || address.isLoopback else {
        throw ValidationError(
          "a coordinator at \(address) can be reached from other machines and needs a token: set SHEAF_TOKEN or --token-file"
        )
      }
      guard let database = Setting.text(database, "SHEAF_DATABASE") else {
        throw ValidationError("name the database with --database or SHEAF_DATABASE, such as postgres://user@host/sheaf")
      }
      let connections = try Setting.number(
        maxConnections, "--max-connections", "SHEAF_MAX_CONNECTIONS", in: 1...100_000)
      let logger = try logger()
      let content = try content()
      let jobs = try await Self.connect(database, logger)
      let server = try await WireServer.bind(to: address, logger: logger)
      let configuration = CoordinatorConfiguration(
        name: "\(ProcessEnvironment.hostName):\(server.address.port)", token: token,
        maximumConnections: Int(connections ?? 1024))
      let coordinator = CoordinatorService(store: jobs, content: content, configuration: configuration, logger: logger)
      logger.notice("listening", metadata: ["address": "\(server.address)", "store": "\(content.store.directory)"])
      let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
          services: [
            .init(
              service: ServedCoordinator(coordinator: coordinator, server: server),
              successTerminationBehavior: .gracefullyShutdownGroup)
          ], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
      try await group.run()
      await jobs.close()
      logger.notice("stopped")
    }
  }

  private func logger() throws -> Logger {
    var logger = Logger(label: "sheaf") { StreamLogHandler.standardError(label: $0) }
    // Every name that the setting allows is one of swift-log's.
    logger.logLevel = Logger.Level(rawValue: try Setting.logLevel(logLevel, default: "notice")) ?? .notice
    return logger
  }

  private func content() throws -> ContentLocator {
    let directory = try Setting.text(store, "SHEAF_STORE", formerly: "SHEAF_VAULT") ?? "store"
    do {
      return try ContentLocator(
        store: ContentStore(directory: directory),
        mediaRoot: Setting.text(mediaRoot, "SHEAF_MEDIA_ROOT"), contents: FileContentCache())
    } catch {
      throw CommandFailure(.work, "the content store cannot be used: \(error)")
    }
  }

  /// Tries for some time, because the database may start later than the coordinator.
  private static func connect(_ url: String, _ logger: Logger) async throws -> PostgresJobStore {
    let limit = ContinuousClock.now + .seconds(15)
    while true {
      do throws(JobStoreError) {
        return try await PostgresJobStore.connect(url: url)
      } catch {
        guard error.code == .unavailable else {
          throw CommandFailure(.unavailable, "the database cannot be used: \(error)")
        }
        guard ContinuousClock.now < limit else {
          throw CommandFailure(.unavailable, "\(error)")
        }
        logger.warning("database not reached yet", metadata: ["error": "\(error)"])
      }
      try await Task.sleep(for: .seconds(1))
    }
  }
}

/// The coordinator as a service that a `ServiceGroup` starts and stops.
private struct ServedCoordinator: Service {
  let coordinator: CoordinatorService
  let server: WireServer

  func run() async throws {
    try await withGracefulShutdownHandler {
      try await coordinator.run(server)
    } onGracefulShutdown: {
      Task { await coordinator.drain(server) }
    }
  }
}
