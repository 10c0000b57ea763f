import ArgumentParser
import CSandbox
import Dispatch
import FarmModel
import Glibc
import Logging
import Media
import NIOCore
import Renderer
import Runtime
package import SheafCompositing
import SystemSupport
import TLS
import UnixSignals
import Wire

/// The worker as a program: what `WorkerMain` of the library `SheafWorker` runs.
package enum WorkerProgram {
  /// Runs the command that the process's arguments name, and ends the process: the worker itself, the fork server that
  /// the worker starts from its own executable, or the report of what confines task processes.
  ///
  /// It must be the first that the program does: the fork server may have one thread only.
  package static func run(compositors types: [any VideoCompositing.Type]) -> Never {
    StandardOutput.reserveDescriptors()
    let compositors: CompositorRegistry
    do {
      compositors = try CompositorRegistry(types)
    } catch {
      endProcess(ExitCode.failure.rawValue, "sheaf-worker: \(error)")
    }
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case ForkServerMain.subcommand: ForkServerMain.run(compositors)
    case ConfinementReport.subcommand: ConfinementReport.run(arguments)
    case FilmComparisonMain.subcommand: FilmComparisonMain.run(arguments)
    default: break
    }
    if let shortage = ProcessLimits.shortage() {
      endProcess(ExitCode.failure.rawValue, "sheaf-worker: \(shortage)")
    }
    do {
      try ConfigurationFile.apply(arguments, help: WorkerCommand._dumpHelp())
    } catch {
      endProcess(ExitCode.validationFailure.rawValue, "sheaf-worker: \(error)")
    }
    Task {
      do {
        let command = try WorkerCommand.parse()
        try await command.run(compositors)
      } catch let exit as WorkerExit {
        endProcess(exit.code.rawValue, "sheaf-worker: \(exit.message)")
      } catch {
        let code = WorkerCommand.exitCode(for: error)
        let message = WorkerCommand.fullMessage(for: error)
        guard code.isSuccess else { endProcess(code.rawValue, message) }
        // A help text.
        Self.write(message)
      }
      endProcess(ExitCode.success.rawValue)
    }
    dispatchMain()
  }

  /// Writes lines to standard output. If that is not possible, it ends the process with the reason and exit code 1.
  static func write(_ lines: String) {
    do {
      try StandardOutput.write(lines + "\n")
    } catch {
      endProcess(ExitCode.failure.rawValue, "sheaf-worker: \(error)")
    }
  }
}

/// `sheaf-worker`.
struct WorkerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sheaf-worker",
    abstract: "Renders for a Sheaf coordinator.",
    discussion: """
      Each option has an environment variable, in brackets, which is used if the option is not given. The farm's \
      token is the first line of the token file, or else the value of SHEAF_TOKEN. SIGTERM and SIGINT let running tasks \
      finish; a second one ends the worker at once.

      Exit codes: 0 after SIGTERM or SIGINT and for want of tasks (--exit-when-idle), 1 the worker cannot start, 64 wrong command line, 69 the coordinator refuses \
      this worker (token, version), is not trusted or cannot be reached.
      """)

  @OptionGroup var options: WorkerOptions

  @ArgumentParser.Flag(help: "Show the version, the build, which is what a film's bytes depend on, and its libraries.")
  var version = false

  func run(_ compositors: CompositorRegistry) async throws {
    if version {
      let libraries = try LoadedLibraries.all()
      let lines = libraries.map { "\n  \($0.name) \($0.identity)" }.joined()
      let build = try ForkServerMain.build(libraries, compositors)
      return WorkerProgram.write("\(Product.version)\nbuild: \(build)\nlibraries:\(lines)")
    }
    let settings = try options.resolved()
    if settings.exitsWithParent { try exitWithStandardInput() }
    // Many pieces are open at once while a long film is stitched.
    ProcessLimits.raiseDescriptors()

    var logger = settings.logFormat.logger("sheaf-worker")
    logger.logLevel = settings.logLevel
    let verifier = FileVerifier(directory: settings.cache)
    let agent: Agent
    do {
      let cache = try ContentCache(directory: settings.cache, byteLimit: settings.cacheBytes, verifier: verifier)
      let mediaRoot = try settings.mediaRoot.map { path throws(SystemError) in try MediaRoot(path) }
      let opener = InputOpener(mediaRoot: mediaRoot, cache: cache, verifier: verifier, logger: logger)
      let limit = UInt64(settings.taskMemory)
      let forkServer = ForkServer(ProcessLauncher(memoryLimit: limit, inheriting: ProcessEnvironment.value))
      let properties = try await BlockingWork.run { try forkServer.properties() }
      logger.info(
        "started",
        metadata: [
          "build": "\(properties.build)", "slots": "\(settings.slots)", "task MiB": "\(settings.taskMemory >> 20)",
        ])
      if !properties.confinement.contains(.landlock) {
        logger.warning("this kernel has no Landlock: task processes can read the files of the worker's user")
      }
      agent = Agent(
        try settings.agent(build: properties.build, source: forkServer, logger: logger), opener: opener, logger: logger)
    } catch {
      throw WorkerExit(code: .failure, message: "\(error)")
    }
    try await run(agent)
  }

  private func run(_ agent: Agent) async throws {
    // Trapped before the agent connects, so that no signal ends a worker that a coordinator has seen.
    let trapped = await UnixSignalsSequence(trapping: .sigterm, .sigint)
    let signals = Task {
      var isFirst = true
      for await _ in trapped {
        if isFirst { agent.drain() } else { agent.stop() }
        isFirst = false
      }
    }
    defer { signals.cancel() }
    do {
      try await agent.run()
    } catch {
      throw WorkerExit(code: WorkerExit.unavailable, message: "\(error)")
    }
  }

  /// Ends the process when standard input ends: a parent that holds the other end cannot end without the worker.
  private func exitWithStandardInput() throws(SystemError) {
    try startThread {
      let input = OpenFile(owning: 0, name: "standard input")
      // An input that cannot be read is treated as one that has ended.
      while let bytes = try? input.readSome(64), !bytes.isEmpty {}
      // The kernel ends the task processes, and what they were making has no name.
      _exit(0)
    }
  }
}

/// The worker cannot start, or cannot go on.
private struct WorkerExit: Error {
  /// The coordinator cannot be reached, or refuses this worker.
  static let unavailable = ExitCode(69)

  var code: ExitCode
  var message: String
}

struct WorkerOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "A file with options in JSON5, by their names without dashes; the command line and the environment go before it. [SHEAF_CONFIG]",
      valueName: "file"))
  var config: String?

  @Option(
    help: ArgumentHelp(
      """
      The coordinator's address, or those of several with commas between them: the worker is connected to one of them, and \
      goes to another when that one is lost. [SHEAF_COORDINATOR]
      """, valueName: "host:port"))
  var coordinator: String?

  @Option(
    help: ArgumentHelp(
      "Tasks at a time; default: one for each processor that the worker may use. [SHEAF_SLOTS]", valueName: "n"))
  var slots: String?

  @Option(
    help: ArgumentHelp(
      "The most memory of one task; default: the slots share nine tenths of the machine, at least 2G. [SHEAF_TASK_MEMORY]",
      valueName: "bytes"))
  var taskMemory: String?

  @Option(
    help: ArgumentHelp("The folder of media that is shared with the coordinator. [SHEAF_MEDIA_ROOT]", valueName: "dir"))
  var mediaRoot: String?

  @Option(
    help: ArgumentHelp(
      "The folder of the coordinator's content store, if it is on this machine.", valueName: "dir",
      visibility: .hidden))
  var contentStore: String?

  @Option(help: ArgumentHelp("A folder for media that comes from the coordinator. [SHEAF_CACHE]", valueName: "dir"))
  var cache: String?

  @Option(help: ArgumentHelp("The most that the cache keeps; default: 10G. [SHEAF_CACHE_BYTES]", valueName: "bytes"))
  var cacheBytes: String?

  @Option(
    help: ArgumentHelp(
      "Bytes of the cache's disk that stay free: below it no task is taken; default: 512M. [SHEAF_MIN_FREE]",
      valueName: "bytes"))
  var minFree: String?

  @Option(help: ArgumentHelp("A name for people; default: the machine's. [SHEAF_NAME]", valueName: "name"))
  var name: String?

  @Option(
    help: ArgumentHelp(
      "A pool whose jobs the worker takes, besides those without one; may be repeated. [SHEAF_POOLS, with commas]",
      valueName: "name"))
  var pool: [String] = []

  @Option(
    help: ArgumentHelp("A file whose first line is the farm's token. [SHEAF_TOKEN_FILE]", valueName: "file"))
  var tokenFile: String?

  @Option(
    help: ArgumentHelp(
      "Connect with TLS, and trust the authorities of this file in PEM alone. [SHEAF_TLS_CA]", valueName: "file"))
  var tlsCA: String?

  @ArgumentParser.Flag(help: "Connect with TLS, and trust the authorities of this system. [SHEAF_TLS]")
  var tls = false

  @Option(
    help: ArgumentHelp(
      """
      Where the certificate is kept that a farm with an authority of its own gives the worker; default, with TLS: \
      $STATE_DIRECTORY, or the folder sheaf in $XDG_STATE_HOME or ~/.local/state. [SHEAF_IDENTITY]
      """, valueName: "dir"))
  var identity: String?

  @Option(
    help: ArgumentHelp(
      "Connect with TLS to the one coordinator that has the certificate of this file.", valueName: "file",
      visibility: .hidden))
  var tlsPinned: String?

  @Option(
    help: ArgumentHelp(
      "How long tasks may go on after the first SIGTERM; default: 8. [SHEAF_DRAIN_SECONDS]", valueName: "seconds"))
  var drainSeconds: String?

  @Option(
    help: ArgumentHelp(
      "End when there has been no task for this long; default: never. [SHEAF_EXIT_WHEN_IDLE]", valueName: "seconds"))
  var exitWhenIdle: String?

  @Option(
    help: ArgumentHelp("What is logged: debug, info, warning or error. [SHEAF_LOG_LEVEL]", valueName: "level"))
  var logLevel: String?

  @Option(
    help: ArgumentHelp(
      "The form of the log: text, or json with one object a line; default: text. [SHEAF_LOG_FORMAT]",
      valueName: "format"))
  var logFormat: String?

  @ArgumentParser.Flag(
    help: ArgumentHelp("End when standard input ends, as it does when the parent process ends.", visibility: .hidden))
  var exitWithParent = false

  /// The values of the command line and the environment together.
  struct Resolved {
    var coordinators: [WireAddress]
    /// Nil: those of the token or of the certificate that is kept, or the connection is plain.
    var authorities: TLSTrust.Authorities?
    var token: String
    /// Nil: the certificate is kept nowhere.
    var identity: String?
    var slots: Int
    /// Zero: no limit.
    var taskMemory: Int64
    var mediaRoot: String?
    var contentStore: String?
    var cache: String
    var cacheBytes: Int64
    var minimumFree: Int64
    var name: String
    var pools: [String]
    var drainLimit: Duration
    /// Nil: the worker goes on without tasks.
    var idleLimit: Duration?
    var logLevel: Logger.Level
    var logFormat: LogFormat
    var exitsWithParent: Bool

    func agent(build: String, source: any ProcessSource, logger: Logger) throws(TLSError) -> Agent.Settings {
      // In any order, so that the workers of a farm do not all go to its first coordinator. The coordinator of a worker
      // that `sheaf render` started is there at once or never.
      Agent.Settings(
        coordinators: coordinators.shuffled(),
        credentials: try FarmCredentials(
          token: token, authorities: authorities, name: name, folder: identity, logger: logger),
        name: name, workerID: WorkerOptions.newID(),
        build: build, pools: pools,
        state: AgentState.Settings(slots: slots, drainLimit: drainLimit, idleLimit: idleLimit), taskMemory: taskMemory,
        maximumTries: exitsWithParent ? 8 : nil,
        source: source, disk: DiskWatch(folder: cache, minimum: minimumFree), contentStore: contentStore,
        service: ServiceNotification())
    }
  }

  /// Throws `ValidationError` if a value is missing or impossible.
  func resolved() throws -> Resolved {
    guard let place = Setting.text(coordinator, "SHEAF_COORDINATOR") else {
      throw ValidationError(
        "the coordinator's address is missing: give --coordinator HOST:PORT or set SHEAF_COORDINATOR")
    }
    do {
      let addresses = try WireAddress.list(setting: place, example: "farm.example:7433")
      // Every name that the setting allows is one of swift-log's.
      let level = Logger.Level(rawValue: try Setting.logLevel(logLevel, default: exitWithParent ? "error" : "info"))
      let slots =
        try Setting.number(slots, "--slots", "SHEAF_SLOTS", in: 1...1024)
        .map(Int.init) ?? Self.processors
      let taskMemory = try Setting.bytes(taskMemory, "--task-memory", "SHEAF_TASK_MEMORY")
      let cacheBytes = try Setting.bytes(cacheBytes, "--cache-bytes", "SHEAF_CACHE_BYTES")
      let minimumFree = try Setting.bytes(minFree, "--min-free", "SHEAF_MIN_FREE")
      let drain = try Setting.number(drainSeconds, "--drain-seconds", "SHEAF_DRAIN_SECONDS", in: 0...86400)
      let authorities = tlsPinned.map { .certificate($0) } ?? TLSTrust.Authorities.setting(file: tlsCA, system: tls)
      let token = try Setting.token(file: tokenFile) ?? ""
      let idle = try Setting.number(exitWhenIdle, "--exit-when-idle", "SHEAF_EXIT_WHEN_IDLE", in: 1...86400)
      return Resolved(
        coordinators: addresses,
        authorities: authorities, token: token, identity: identityFolder(authorities, token),
        slots: slots, taskMemory: Self.taskMemory(taskMemory, slots: slots),
        mediaRoot: Setting.text(mediaRoot, "SHEAF_MEDIA_ROOT"), contentStore: contentStore,
        cache: try Setting.text(cache, "SHEAF_CACHE") ?? ProcessEnvironment.cacheDirectory,
        cacheBytes: cacheBytes ?? 10 << 30, minimumFree: minimumFree ?? 512 << 20,
        name: Setting.text(name, "SHEAF_NAME") ?? ProcessEnvironment.hostName, pools: try pools(),
        drainLimit: .seconds(drain ?? 8), idleLimit: idle.map { .seconds($0) }, logLevel: level ?? .info,
        logFormat: try LogFormat(setting: logFormat), exitsWithParent: exitWithParent)
    } catch {
      throw ValidationError("\(error)")
    }
  }

  /// Where the worker's certificate is kept. Nil: it has none, or there is no folder for it.
  private func identityFolder(_ authorities: TLSTrust.Authorities?, _ token: String) -> String? {
    guard tlsPinned == nil else { return nil }
    let usesTLS = authorities != nil || JoinToken(token) != nil
    // A token of a farm without TLS needs none, whatever the environment says about another farm.
    if usesTLS || token.isEmpty, let folder = Setting.text(identity, "SHEAF_IDENTITY") { return folder }
    guard usesTLS else { return nil }
    return ProcessEnvironment.stateDirectory
  }

  private func pools() throws(SettingError) -> [String] {
    let text = pool.isEmpty ? Setting.text(nil, "SHEAF_POOLS") ?? "" : pool.joined(separator: ",")
    let names = text.split(separator: ",").map { name in
      String(name.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
    if let problem = PoolName.problem(with: names) { throw SettingError("--pool: \(problem)") }
    return PoolName.sorted(names)
  }

  /// Those that this process may use: by its affinity, and by the quota of the container.
  private static var processors: Int { max(1, min(Int(sandbox_processor_count()), System.coreCount)) }

  /// - Parameter wish: Zero for no limit but that of the worker's own process; nil for a share of the machine.
  private static func taskMemory(_ wish: Int64?, slots: Int) -> Int64 {
    let memory = MachineMemory.current()
    guard let wish else { return memory.share(ofSlots: slots) }
    return [wish > 0 ? wish : nil, memory.ofProcess].compactMap(\.self).min() ?? 0
  }

  /// 32 hexadecimal digits that no other run of a worker has.
  private static func newID() -> String {
    (0..<2).map { _ in
      let digits = String(UInt64.random(in: .min ... .max), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}
