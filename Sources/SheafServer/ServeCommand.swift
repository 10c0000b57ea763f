import ArgumentParser
import Client
import ContentStorage
import Coordinator
import FarmHTTP
import Jobs
import Logging
import PostgresJobs
import Runtime
import SystemSupport
import TLS
import Wire

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Run a farm's coordinator.",
    discussion: """
      Several coordinators may share one database and one content store. A coordinator that other machines can reach \
      needs a token, which workers and clients send: SHEAF_TOKEN, or a file. It also needs TLS: a certificate and its \
      key, which are read again when they change; or --insecure on a network that is private. On SIGTERM it grants no more tasks, records \
      what workers have published, and ends within 10 s; tasks that run go on, and their workers connect again. A second \
      SIGTERM ends it at once.

      Sizes are bytes, or such as 500M or 20G; times are such as 90s, 30m, 12h or 7d.
      """)

  @Option(
    help: ArgumentHelp("PostgreSQL, such as postgres://user@host/sheaf. Required. [SHEAF_DATABASE]", valueName: "url"))
  var database: String?

  @Option(
    help: ArgumentHelp(
      "A file whose first line is the URL of the database, in place of --database. [SHEAF_DATABASE_FILE]",
      valueName: "file"))
  var databaseFile: String?

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
      "How long the audit is kept, and tokens that are not valid any more; the default is 365d. [SHEAF_KEEP_AUDIT]",
      valueName: "time"))
  var keepAudit: String?

  @Option(
    help: ArgumentHelp(
      "A folder of media that workers have under a root of their own; its files are not uploaded. [SHEAF_MEDIA_ROOT]",
      valueName: "dir"))
  var mediaRoot: String?

  @Option(
    help: ArgumentHelp(
      "A file whose first line is the farm's token: that of clients, and of workers unless they have their own. [SHEAF_TOKEN_FILE; or the token itself in SHEAF_TOKEN]",
      valueName: "file"))
  var tokenFile: String?

  @Option(
    help: ArgumentHelp(
      "How long a task may go without any progress before it counts as hung, the same at all coordinators of a database; the default is 60s. [SHEAF_HANG_LIMIT]",
      valueName: "time"))
  var hangLimit: String?

  @Option(
    help: ArgumentHelp(
      "Which share of the results is compared with another worker's before it is used, in percent, the same at all coordinators of a database; 0: none is, not even the first of a new worker; the default is 1. [SHEAF_VERIFY_SHARE]",
      valueName: "percent"))
  var verifyShare: String?

  @Option(
    help: ArgumentHelp(
      "The most connections at once; the default is 1024. [SHEAF_MAX_CONNECTIONS]", valueName: "n"))
  var maxConnections: String?

  @Option(
    help: ArgumentHelp(
      "How much to log on standard error: debug, info, notice, warning or error; the default is info. [SHEAF_LOG_LEVEL]",
      valueName: "level"))
  var logLevel: String?

  @OptionGroup var serving: ServingOptions

  func run() async throws {
    do {
      let token = try Setting.token(file: tokenFile)
      let webhooks = try serving.webhookNetworks()
      let tls = try serving.tls(at: ServedAddresses.wire(listen))
      let addresses = ServedAddresses(token: token, hasTLS: tls.wire != nil, allowsPlain: serving.allowsPlain)
      let address = try addresses.wire(listen)
      let web = try Setting.text(http, "SHEAF_HTTP").map(addresses.http)
      guard let database = try Setting.database(database, file: databaseFile) else {
        throw ValidationError(
          "name the database with --database, --database-file or SHEAF_DATABASE, such as postgres://user@host/sheaf")
      }
      guard let directory = Setting.text(store, "SHEAF_STORE") else {
        throw ValidationError("name the content store's folder with --store or SHEAF_STORE, such as /srv/sheaf/store")
      }
      let settings = try settings(token, tls.authority)
      let logger = try logger()
      let stop = StopSignals(logger: logger)
      await stop.listen()
      let content = try content(directory)
      let jobs = try await DatabaseAttempt.connect(
        database, settings.policy, content.store, isReplacing: Setting.flag(replaceStore, "SHEAF_REPLACE_STORE"), logger
      )
      let server = try await CoordinatorRun.bind(address, tls.wire, logger)
      logger.notice("listening", metadata: ["address": "\(server.address)", "store": "\(content.store.directory)"])
      try await CoordinatorRun.serve(
        jobs, content, settings, at: server, tls: tls, web: web, webhooks: webhooks, stop, logger)
      await jobs.close()
      logger.notice("stopped")
    } catch let error as SettingError {
      throw ValidationError(error.description)
    }
  }

  /// Several heartbeats of a worker.
  private static let shortestHang = Duration.seconds(15)

  private func settings(_ token: String?, _ authority: CertificateAuthority?) throws -> CoordinatorConfiguration {
    var configuration = CoordinatorConfiguration(name: "", token: token)
    configuration.authority = authority
    if let lifetime = try serving.lifetimeOfCertificates() { configuration.certificateLifetime = lifetime }
    let connections = try Setting.number(
      maxConnections, "--max-connections", "SHEAF_MAX_CONNECTIONS", in: 1...100_000)
    if let connections { configuration.maximumConnections = Int(connections) }
    configuration.workerToken = try serving.workerToken(besides: token)
    configuration.minimumFree = try Setting.bytes(minFree, "--min-free", "SHEAF_MIN_FREE") ?? 1 << 30
    configuration.storeLimit = try Setting.bytes(storeLimit, "--store-limit", "SHEAF_STORE_LIMIT")
    if let time = try Setting.duration(keepResults, "--keep-results", "SHEAF_KEEP_RESULTS") {
      configuration.keepResults = time
    }
    if let time = try Setting.duration(keepJobs, "--keep-jobs", "SHEAF_KEEP_JOBS") { configuration.keepJobs = time }
    if let time = try Setting.duration(keepAudit, "--keep-audit", "SHEAF_KEEP_AUDIT") { configuration.keepAudit = time }
    configuration.policy.comparedShare = 0.01
    if let text = Setting.text(verifyShare, "SHEAF_VERIFY_SHARE") {
      let number = text.hasSuffix("%") ? text.dropLast() : text[...]
      guard let percent = Double(number), (0...100).contains(percent) else {
        throw ValidationError("--verify-share (SHEAF_VERIFY_SHARE) is 0 to 100 percent, not \(text)")
      }
      configuration.policy.comparedShare = percent / 100
    }
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
    var logger = try LogFormat(setting: serving.logFormat).logger("sheaf")
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
}
