import ArgumentParser
import CSandbox
import Glibc
import Logging
import Wire

struct WorkerOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Where the coordinator listens. [SHEAF_COORDINATOR]", valueName: "host:port"))
  var coordinator: String?

  @Option(help: ArgumentHelp("Tasks at a time; one a processor unless said. [SHEAF_SLOTS]", valueName: "n"))
  var slots: String?

  @Option(
    help: ArgumentHelp("The folder of media that is shared with the coordinator. [SHEAF_MEDIA_ROOT]", valueName: "dir"))
  var mediaRoot: String?

  @Option(help: ArgumentHelp("A folder for media that comes from the coordinator. [SHEAF_CACHE]", valueName: "dir"))
  var cache: String?

  @Option(help: ArgumentHelp("What the cache keeps; 10 GiB unless said. [SHEAF_CACHE_BYTES]", valueName: "bytes"))
  var cacheBytes: String?

  @Option(help: ArgumentHelp("A name for people; the machine's unless said. [SHEAF_NAME]", valueName: "name"))
  var name: String?

  @Option(help: ArgumentHelp("A file with the farm's token. [SHEAF_TOKEN_FILE]", valueName: "file"))
  var tokenFile: String?

  @Option(
    help: ArgumentHelp(
      "How long tasks may go on after the first SIGTERM; 8 unless said. [SHEAF_DRAIN_SECONDS]", valueName: "seconds"))
  var drainSeconds: String?

  @Option(
    help: ArgumentHelp("What is logged: debug, info, warning or error. [SHEAF_LOG_LEVEL]", valueName: "level"))
  var logLevel: String?

  @ArgumentParser.Flag(
    help: ArgumentHelp("End when standard input does, as it does when the parent process ends.", visibility: .hidden))
  var exitWithParent = false

  /// What the command line and the environment say together.
  struct Resolved {
    var coordinator: WireAddress
    var token: String
    var slots: Int
    var mediaRoot: String?
    var cache: String
    var cacheBytes: Int64
    var name: String
    var drainLimit: Duration
    var logLevel: Logger.Level
    var exitsWithParent: Bool

    func agent(build: String, source: any ProcessSource) -> Agent.Settings {
      // A worker that was started by `sheaf render` has a coordinator that is there or never will be.
      Agent.Settings(
        coordinator: coordinator, token: token, name: name, workerID: WorkerOptions.newID(), build: build,
        state: AgentState.Settings(slots: slots, drainLimit: drainLimit), patience: exitsWithParent ? 8 : nil,
        source: source)
    }
  }

  func resolved() throws -> Resolved {
    guard let place = coordinator ?? Environment.value("SHEAF_COORDINATOR") else {
      throw ValidationError("where is the coordinator? Give --coordinator HOST:PORT or set SHEAF_COORDINATOR.")
    }
    guard let address = WireAddress(place) else {
      throw ValidationError("\"\(place)\" is no address; it looks like host:7433 or [::1]:7433.")
    }
    let level = logLevel ?? Environment.value("SHEAF_LOG_LEVEL") ?? (exitWithParent ? "error" : "info")
    guard let logLevel = Logger.Level(rawValue: level) else {
      throw ValidationError("\"\(level)\" is no log level; it is debug, info, warning or error.")
    }
    let seconds = try number(drainSeconds, "--drain-seconds", "SHEAF_DRAIN_SECONDS", 0...86400)
    return Resolved(
      coordinator: address, token: try token(),
      slots: try number(slots, "--slots", "SHEAF_SLOTS", 1...1024).map(Int.init) ?? Int(sandbox_processor_count()),
      mediaRoot: mediaRoot ?? Environment.value("SHEAF_MEDIA_ROOT"),
      cache: cache ?? Environment.value("SHEAF_CACHE") ?? Environment.cacheFolder,
      cacheBytes: try number(cacheBytes, "--cache-bytes", "SHEAF_CACHE_BYTES", 0...Int64.max) ?? 10 << 30,
      name: name ?? Environment.value("SHEAF_NAME") ?? Environment.hostName,
      drainLimit: .seconds(seconds ?? 8), logLevel: logLevel, exitsWithParent: exitWithParent)
  }

  private func number(
    _ option: String?, _ name: String, _ variable: String, _ allowed: ClosedRange<Int64>
  ) throws -> Int64? {
    guard let text = option ?? Environment.value(variable) else { return nil }
    guard let number = Int64(text), allowed.contains(number) else {
      let most = allowed.upperBound == .max ? "" : " to \(allowed.upperBound)"
      let source = option == nil ? variable : name
      throw ValidationError("\(source) is \"\(text)\"; it must be a whole number from \(allowed.lowerBound)\(most).")
    }
    return number
  }

  private func token() throws -> String {
    if tokenFile == nil, let token = Environment.value("SHEAF_TOKEN") { return token }
    guard let file = tokenFile ?? Environment.value("SHEAF_TOKEN_FILE") else { return "" }
    do {
      return try Environment.secret(in: file)
    } catch {
      throw ValidationError("\(error).")
    }
  }

  /// Unlike that of any other run of any worker.
  private static func newID() -> String {
    (0..<2).map { _ in
      let digits = String(UInt64.random(in: .min ... .max), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}
