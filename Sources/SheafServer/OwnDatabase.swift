import Client
import Glibc
import Subprocess
import SystemPackage
import SystemSupport

/// A PostgreSQL server of a farm's own, in a folder, which only this user can reach. It listens at a socket in that
/// folder and not at the network.
struct OwnDatabase: Sendable {
  private static let user = "sheaf"
  /// A socket's path may have 107 bytes, and PostgreSQL adds the name.
  private static let longestSocketFolder = 90
  /// How much of a program's messages is shown.
  private static let mostMessages = 64 << 10

  /// The folder of PostgreSQL's programs.
  let programs: String
  private let folder: String
  private let socket: String
  private let log: String

  private var data: String { folder + "/data" }

  /// - Parameters:
  ///   - programs: The folder of PostgreSQL's programs.
  ///   - folder: What the server keeps; it is made if it is not there.
  init(programs: String, folder: String) {
    self.programs = programs
    self.folder = folder
    log = folder + "/server.log"
    socket = folder.utf8.count <= Self.longestSocketFolder ? folder : "/tmp/sheaf-\(geteuid())-\(getpid())"
  }

  /// The folder of PostgreSQL's programs: one of `PATH`, or the newest of those where Debian has them. Nil: there is
  /// none.
  static func programs(path: String? = ProcessEnvironment.value("PATH")) -> String? {
    let named = (path ?? "").split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
    let versions = Directories.names(in: "/usr/lib/postgresql", most: 100).compactMap { Int($0) }.sorted(by: >)
    return (named + versions.map { "/usr/lib/postgresql/\($0)/bin" }).first { folder in
      ["initdb", "pg_ctl", "postgres"].allSatisfy { access("\(folder)/\($0)", X_OK) == 0 }
    }
  }

  /// Makes the server's files if there are none, and starts it. One that a farm has left running is used.
  /// - Returns: How to connect to it, as libpq takes it.
  func start() async throws(CommandFailure) -> String {
    do {
      try Directories.make(folder, permissions: 0o700)
      if socket != folder { try Directories.make(socket, permissions: 0o700) }
    } catch {
      throw CommandFailure(.work, "the database's folder cannot be made: \(error)")
    }
    try giveAway(folder)
    try giveAway(socket)
    if access(data + "/PG_VERSION", F_OK) != 0 {
      try await run(
        "initdb", ["--pgdata", data, "--username", Self.user, "--auth", "trust", "--no-locale", "--encoding", "UTF8"])
    }
    if try await !isRunning() {
      // What it is given here is for a shell.
      try await run(
        "pg_ctl",
        [
          "start", "--wait", "--timeout", "60", "--silent", "--pgdata", data, "--log", log, "--options",
          "-k '\(socket)' -c listen_addresses='' -c unix_socket_permissions=0700",
        ], explaining: log)
    }
    return "host='\(socket)' user=\(Self.user) dbname=postgres"
  }

  /// Stops the server when its connections are closed, which it closes itself. One that does not stop is found by the
  /// next farm.
  func stop() async {
    do throws(CommandFailure) {
      try await run("pg_ctl", ["stop", "--wait", "--mode", "fast", "--silent", "--pgdata", data])
    } catch {
      StandardError.write("sheaf: \(error)\n")
    }
    if socket != folder { rmdir(socket) }
  }

  private func isRunning() async throws(CommandFailure) -> Bool {
    try await execute("pg_ctl", ["status", "--pgdata", data]).code == 0
  }

  /// PostgreSQL does not run as root: then the server is the user's that Debian's packages make.
  private static let owner: (user: uid_t, group: gid_t)? = {
    guard geteuid() == 0, let entry = getpwnam("postgres") else { return nil }
    return (entry.pointee.pw_uid, entry.pointee.pw_gid)
  }()

  private func giveAway(_ path: String) throws(CommandFailure) {
    guard geteuid() == 0 else { return }
    guard let owner = Self.owner else {
      throw CommandFailure(
        .work,
        "PostgreSQL does not run as root, and this machine has no user 'postgres': start the farm as another user")
    }
    guard chown(path, owner.user, owner.group) == 0 else {
      throw CommandFailure(.work, "\(path) cannot be given to the user 'postgres': \(SystemError(errno, "").reason)")
    }
  }

  private func run(_ program: String, _ arguments: [String], explaining log: String? = nil) async throws(CommandFailure)
  {
    let (code, messages) = try await execute(program, arguments)
    guard code != 0 else { return }
    let logged = log.flatMap { try? OpenFile.contents(of: $0, limit: Self.mostMessages) } ?? []
    let text = [messages, String(decoding: logged, as: UTF8.self)].joined(separator: "\n")
    let lines = text.split(separator: "\n").suffix(5).joined(separator: "\n")
    throw CommandFailure(.work, "\(programs)/\(program) failed with \(code):\n\(lines)")
  }

  private func execute(
    _ program: String, _ arguments: [String]
  ) async throws(CommandFailure) -> (code: Int32, messages: String) {
    var options = PlatformOptions()
    // Ctrl-C is for the farm, which then stops its server.
    options.createSession = true
    var line = ["\(programs)/\(program)"] + arguments
    // By a program: in a process that was forked from one with threads, the C library waits for ever to change the
    // user.
    if let owner = Self.owner {
      line = ["/usr/bin/setpriv", "--reuid=\(owner.user)", "--regid=\(owner.group)", "--clear-groups", "--"] + line
    }
    do {
      let result = try await Subprocess.run(
        .path(FilePath(line[0])), arguments: Arguments(Array(line.dropFirst())),
        environment: .inherit.updating(["LC_ALL": "C"]), workingDirectory: FilePath("/"), platformOptions: options,
        input: .none, output: .discarded, error: .string(limit: Self.mostMessages))
      let code: Int32 =
        switch result.terminationStatus {
        case .exited(let code): code
        case .signaled(let signal): 128 + signal
        }
      return (code, result.standardError)
    } catch {
      throw CommandFailure(.work, "\(programs)/\(program) cannot be executed: \(error)")
    }
  }
}
