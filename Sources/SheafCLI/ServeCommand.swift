import ArgumentParser
import Glibc
import Jobs
import Logging
import ServiceLifecycle
import UnixSignals
import Wire

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Run a farm's coordinator.",
    discussion: """
      Several coordinators may share one database and one vault. A coordinator that can be reached from other machines \
      needs a token, which workers and clients send: SHEAF_TOKEN, or a file. On SIGTERM it grants nothing more, gives \
      workers 8 s to hand in what they have, and ends; what they have not handed in is rendered again.
      """)

  @Option(
    help: ArgumentHelp("PostgreSQL, such as postgres://user@host/sheaf. Required. [SHEAF_DATABASE]", valueName: "url"))
  var database: String?

  @Option(help: ArgumentHelp("Where to listen; 127.0.0.1:7433 unless said. [SHEAF_LISTEN]", valueName: "host:port"))
  var listen: String?

  @Option(help: ArgumentHelp("Where content is kept; ./vault unless said. [SHEAF_VAULT]", valueName: "dir"))
  var vault: String?

  @Option(
    help: ArgumentHelp(
      "A folder of media that workers see under a root of their own; its files need no upload. [SHEAF_MEDIA_ROOT]",
      valueName: "dir"))
  var mediaRoot: String?

  @Option(
    help: ArgumentHelp(
      "A file whose first line is the farm's token. [SHEAF_TOKEN_FILE; or the token itself in SHEAF_TOKEN]",
      valueName: "file"))
  var tokenFile: String?

  @Option(help: ArgumentHelp("The most connections at once; 1024 unless said. [SHEAF_MAX_CONNECTIONS]", valueName: "n"))
  var maxConnections: Int?

  @Option(
    help: ArgumentHelp(
      "How much to log on standard error: debug, info, notice, warning or error. [SHEAF_LOG_LEVEL]",
      valueName: "level"))
  var logLevel: String?

  func run() async throws {
    try await reporting {
      let listen = Setting.text(listen, "SHEAF_LISTEN") ?? "127.0.0.1:\(WireAddress.defaultPort)"
      guard let address = WireAddress(listen) else {
        throw ValidationError("\"\(listen)\" is no address; it is written host:port, such as 0.0.0.0:7433")
      }
      let token = try Token.read(file: tokenFile)
      guard token != nil || address.isLoopback else {
        throw ValidationError(
          "a coordinator that listens at \(address) can be reached from other machines and needs a token: set SHEAF_TOKEN or --token-file"
        )
      }
      guard let database = Setting.text(database, "SHEAF_DATABASE") else {
        throw ValidationError("name the database with --database or SHEAF_DATABASE, such as postgres://user@host/sheaf")
      }
      let connections =
        try Setting.number(maxConnections, "--max-connections", "SHEAF_MAX_CONNECTIONS", in: 1...100_000) ?? 1024
      let logger = try logger()
      let library = try library()
      let store = try await Self.connect(database, logger)
      let server = try await WireServer.bind(to: address, logger: logger)
      var configuration = Farm.Configuration(name: Self.hostName + ":\(server.address.port)", token: token)
      configuration.maximumConnections = connections
      let farm = Farm(store: store, library: library, configuration: configuration, logger: logger)
      logger.notice("listening", metadata: ["address": "\(server.address)", "vault": "\(library.vault.directory)"])
      let group = ServiceGroup(
        configuration: ServiceGroupConfiguration(
          services: [
            .init(
              service: FarmService(farm: farm, server: server), successTerminationBehavior: .gracefullyShutdownGroup)
          ], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
      try await group.run()
      await store.close()
      logger.notice("stopped")
    }
  }

  private func logger() throws -> Logger {
    let name = Setting.text(logLevel, "SHEAF_LOG_LEVEL") ?? "notice"
    guard let level = Logger.Level(rawValue: name) else {
      throw ValidationError("\"\(name)\" is no log level: debug, info, notice, warning or error")
    }
    var logger = Logger(label: "sheaf") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = level
    return logger
  }

  private func library() throws -> Library {
    do {
      return try Library(
        vault: Vault(directory: Setting.text(vault, "SHEAF_VAULT") ?? "vault"),
        mediaRoot: Setting.text(mediaRoot, "SHEAF_MEDIA_ROOT"), digests: DigestCache())
    } catch {
      throw CommandFailure(.work, "the vault cannot be used: \(error)")
    }
  }

  /// A database may start a little later than its coordinator.
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
          throw CommandFailure(.unavailable, "the database cannot be reached: \(error)")
        }
        logger.warning("the database does not answer yet", metadata: ["error": "\(error)"])
      }
      try await Task.sleep(for: .seconds(1))
    }
  }

  private static var hostName: String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "coordinator" }
    return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

/// The coordinator in the hands of what starts and stops services.
struct FarmService: Service {
  let farm: Farm
  let server: WireServer

  func run() async throws {
    try await withGracefulShutdownHandler {
      try await farm.run(server)
    } onGracefulShutdown: {
      Task { await farm.drain(server) }
    }
  }
}
