import ArgumentParser
import CSandbox
import Logging
import UnixSignals

struct WorkerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sheaf-worker",
    abstract: "Renders for a Sheaf coordinator.",
    discussion: """
      Each option has an environment variable, in brackets, which holds where the option is not given. The farm's token \
      is in SHEAF_TOKEN or in a file. SIGTERM and SIGINT let running tasks finish; a second one ends the worker at once.

      Exit codes: 0 told to leave, 64 wrong command line, 69 the coordinator will not have this worker (token, version).
      """)

  @OptionGroup var options: WorkerOptions

  func run() async throws {
    let settings = try options.resolved()
    if settings.exitsWithParent {
      let parent = ParentWatch()
      try parent.begin()
    }
    // Many pieces are open at once when a long film is stitched. Where the limit stays, a stitch may fail and say so.
    _ = sandbox_raise_descriptor_limit()

    var logger = Logger(label: "sheaf-worker") { StreamLogHandler.standardError(label: $0) }
    logger.logLevel = settings.logLevel
    let verifier = FileVerifier()
    let cache: ContentCache
    let agent: Agent
    do {
      cache = try ContentCache(directory: settings.cache, byteLimit: settings.cacheBytes, verifier: verifier)
      let mediaRoot = try settings.mediaRoot.map { path throws(SystemError) in try MediaRoot(path) }
      let opener = InputOpener(mediaRoot: mediaRoot, cache: cache, verifier: verifier, logger: logger)
      let nursery = Nursery(ProcessLauncher(inheriting: Environment.value))
      let greeting = try await FileThreads.run { try nursery.greeting() }
      logger.info("started", metadata: ["build": "\(greeting.identity)", "slots": "\(settings.slots)"])
      if Int32(greeting.confinement) & Int32(SANDBOX_LANDLOCK) == 0 {
        logger.warning("this kernel has no Landlock: task processes can read the files of the worker's user")
      }
      agent = Agent(settings.agent(build: greeting.identity, source: nursery), opener: opener, logger: logger)
    } catch {
      throw WorkerExit(code: .failure, message: "\(error)")
    }
    try await run(agent)
  }

  private func run(_ agent: Agent) async throws {
    let signals = Task {
      var isFirst = true
      for await _ in await UnixSignalsSequence(trapping: .sigterm, .sigint) {
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
}
