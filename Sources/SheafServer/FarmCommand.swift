import ArgumentParser
import Client
import ContentStorage
import Coordinator
import FarmHTTP
import Glibc
import Jobs
import LocalFarm
import Logging
import PostgresJobs
import Runtime
import SystemSupport
import Wire

/// A whole farm on one machine, with nothing set up.
struct FarmCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "farm", abstract: "Run a whole farm on this machine: coordinator, worker, HTTP API and page.",
    discussion: """
      Where PostgreSQL's programs are installed, the farm starts a server of its own in its folder, and a restart loses \
      nothing. Else jobs are kept in memory, and it says so. On SIGTERM or Ctrl-C it ends within 10 s; what was not \
      finished goes on at the next start.

      Only this machine can reach it, unless --listen or --http say otherwise, which needs a token and TLS. More workers may \
      join: sheaf-worker --coordinator <host:port>.
      """)

  @Option(
    help: ArgumentHelp(
      "What the farm keeps: its jobs, content and caches; the default is ~/.local/share/sheaf/farm (or under XDG_DATA_HOME), and /var/lib/sheaf/farm for root. [SHEAF_FARM]",
      valueName: "dir"))
  var folder: String?

  @Option(
    help: ArgumentHelp(
      "PostgreSQL, such as postgres://user@host/sheaf, in place of one of the farm's own. [SHEAF_DATABASE]",
      valueName: "url"))
  var database: String?

  @Option(
    help: ArgumentHelp(
      "The folder of PostgreSQL's programs, or none: jobs are kept in memory. By default they are looked for. [SHEAF_POSTGRES]",
      valueName: "dir"))
  var postgres: String?

  @Option(
    help: ArgumentHelp(
      "The address for clients and workers; the default is 127.0.0.1:7433. [SHEAF_LISTEN]", valueName: "host:port"))
  var listen: String?

  @Option(
    help: ArgumentHelp(
      "The address of the HTTP API and the page; the default is 127.0.0.1:7480. [SHEAF_HTTP]", valueName: "host:port"))
  var http: String?

  @Option(
    help: ArgumentHelp(
      "How many tasks this machine's worker runs at once; the default is the number of its processors. [SHEAF_SLOTS]",
      valueName: "n"))
  var slots: String?

  @Option(
    help: ArgumentHelp(
      "A file whose first line is the farm's token: that of clients, and of workers unless they have their own. [SHEAF_TOKEN_FILE; or the token itself in SHEAF_TOKEN]",
      valueName: "file"))
  var tokenFile: String?

  @Option(
    help: ArgumentHelp(
      "How much to log on standard error: debug, info, notice, warning or error; the default is notice. [SHEAF_LOG_LEVEL]",
      valueName: "level"))
  var logLevel: String?

  @OptionGroup var serving: ServingOptions

  func run() async throws {
    do {
      let token = try Setting.token(file: tokenFile)
      let workerToken = try serving.workerToken(besides: token)
      let webhooks = try serving.webhookNetworks()
      let tls = try serving.tls(at: ServedAddresses.wire(listen))
      let certificateLifetime = try serving.lifetimeOfCertificates()
      let addresses = ServedAddresses(token: token, hasTLS: tls.wire != nil, allowsPlain: serving.allowsPlain)
      let address = try addresses.wire(listen)
      let web = try addresses.http(http ?? Setting.text(nil, "SHEAF_HTTP") ?? "127.0.0.1:7480")
      let slots = try Setting.number(slots, "--slots", "SHEAF_SLOTS", in: 1...1024)
      var logger = try LogFormat(setting: serving.logFormat).logger("sheaf")
      logger.logLevel = Logger.Level(rawValue: try Setting.logLevel(logLevel, default: "notice")) ?? .notice
      let worker = try LocalWorker.find()
      let folder = try FarmFolder(Setting.text(folder, "SHEAF_FARM") ?? FarmFolder.usual)
      let stop = StopSignals(logger: logger)
      await stop.listen()
      let store = try folder.store()
      try await withJobs(in: folder, store, stop, logger) { jobs, place in
        let content = try ContentLocator(
          store: store, mediaRoot: nil, contents: FileContentCache(lists: store.blocks))
        let server = try await CoordinatorRun.bind(address, tls.wire, logger)
        var configuration = CoordinatorConfiguration(name: "", token: token)
        configuration.workerToken = workerToken
        configuration.authority = tls.authority
        if let certificateLifetime { configuration.certificateLifetime = certificateLifetime }
        configuration.minimumFree = 1 << 30
        let local = LocalWorker(
          executable: worker,
          arguments: [
            "--coordinator", server.address.onThisMachine.description, "--cache", folder.path("cache"),
            "--content-store",
            store.directory, "--exit-with-parent",
          ] + (slots.map { ["--slots", "\($0)"] } ?? [])
            // The certificate has the name by which other machines know this one.
            + (tls.pinned.map { ["--tls-pinned", $0] } ?? [])
            + (tls.authorityPath.map { ["--tls-ca", $0, "--identity", folder.path("identity")] } ?? []),
          // A service manager waits for the farm, and not for its worker.
          environment: ["NOTIFY_SOCKET": nil]
            .merging((workerToken ?? token).map { ["SHEAF_TOKEN": $0, "SHEAF_TOKEN_FILE": nil] } ?? [:]) { $1 }
            .merging(serving.logFormat.map { ["SHEAF_LOG_FORMAT": $0] } ?? [:]) { $1 })
        let working = Task { try await local.supervise() }
        let failing = Task { () -> CommandFailure? in
          // A farm whose worker cannot run is of no use.
          do { try await working.value } catch {
            await stop.stop()
            return CommandFailure(error)
          }
          return nil
        }
        try await CoordinatorRun.serve(
          jobs, content, configuration, at: server, tls: tls, web: web, webhooks: webhooks, stop, logger
        ) { http in
          Self.print(page: http, wire: server.address, jobs: place, isProtected: token != nil, hasTLS: tls.web != nil)
        }
        working.cancel()
        if let failure = await failing.value { throw failure }
      }
    } catch let error as SettingError {
      throw ValidationError(error.description)
    }
  }

  /// Opens the jobs, runs `body`, and closes them.
  /// - Parameter body: With where they are, for a person.
  private func withJobs(
    in folder: FarmFolder, _ store: ContentStore, _ stop: StopSignals, _ logger: Logger,
    _ body: (any JobStore, String) async throws -> Void
  ) async throws {
    if let url = Setting.text(database, "SHEAF_DATABASE") {
      let jobs = try await DatabaseAttempt.connect(url, LeasePolicy(), store, isReplacing: false, logger)
      try await body(jobs, "in the database \(url.split(separator: "@").last ?? "")")
      await jobs.close()
      return
    }
    let named = Setting.text(postgres, "SHEAF_POSTGRES")
    guard named != "none", let programs = named ?? OwnDatabase.programs() else {
      let start = ContinuousClock.now
      let reason = named == "none" ? "" : ": PostgreSQL's programs are not installed"
      logger.warning("jobs are kept in memory, and lost when the farm ends")
      try await body(
        MemoryJobStore { start.duration(to: .now) }, "in memory only, and lost when the farm ends\(reason)")
      return
    }
    let database = try OwnDatabase(programs: programs, folder: folder.path("postgresql"))
    let starting = Task { try await database.start() }
    await stop.serve { starting.cancel() }
    let url: String
    do {
      url = try await starting.value
    } catch {
      await database.stop()
      throw starting.isCancelled ? ExitCode(128 + SIGTERM) : error
    }
    do {
      let jobs = try await DatabaseAttempt.connect(url, LeasePolicy(), store, isReplacing: false, logger)
      try await body(jobs, "in \(folder.path("postgresql"))")
      await jobs.close()
    } catch {
      await database.stop()
      throw error
    }
    await database.stop()
  }

  private static func print(page: WireAddress, wire: WireAddress, jobs: String, isProtected: Bool, hasTLS: Bool) {
    let trust = hasTLS ? " --tls-ca AUTHORITY.pem" : ""
    let lines = """
      The farm runs. Its page is \(hasTLS ? "https" : "http")://\(page)/
      Films:   sheaf submit edit.json -o film.mp4\(wire.description == "127.0.0.1:7433" ? "" : " --coordinator \(wire)")\(trust)
      Workers: sheaf-worker --coordinator \(wire)\(trust)
      Jobs are kept \(jobs).\(isProtected ? "\nClients, workers and the page need the token." : "")

      """
    // Without a reader the farm runs all the same.
    try? StandardOutput.write(lines)
  }
}

/// The folder of a farm on one machine, which one process uses at a time.
struct FarmFolder: Sendable {
  let directory: String
  /// Locked while the farm runs.
  private let lock: OpenFile

  /// Where a farm keeps what it has if no other folder is named.
  static var usual: String {
    get throws(SettingError) {
      if geteuid() == 0 { return "/var/lib/sheaf/farm" }
      if let data = ProcessEnvironment.value("XDG_DATA_HOME"), data.hasPrefix("/") { return data + "/sheaf/farm" }
      guard let home = ProcessEnvironment.value("HOME"), home.hasPrefix("/") else {
        throw SettingError("name the farm's folder with --folder or SHEAF_FARM: HOME is not set")
      }
      return home + "/.local/share/sheaf/farm"
    }
  }

  init(_ path: String) throws(CommandFailure) {
    do {
      // Its database may be another user's, who has to find it.
      try Directories.make(path, permissions: geteuid() == 0 ? 0o711 : 0o700)
      directory = try Directories.resolve(path)
      lock = try OpenFile.open(directory + "/lock", O_RDWR | O_CREAT, permissions: 0o600)
    } catch {
      throw CommandFailure(.work, "the farm's folder cannot be used: \(error)")
    }
    guard flock(lock.descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw CommandFailure(.unavailable, "another farm runs in \(directory); stop it, or name another --folder")
    }
  }

  func path(_ name: String) -> String { "\(directory)/\(name)" }

  func store() throws(CommandFailure) -> ContentStore {
    do {
      return try ContentStore(directory: path("store"))
    } catch {
      throw CommandFailure(.work, "the content store cannot be used: \(error)")
    }
  }
}
