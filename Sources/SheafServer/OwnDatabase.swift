import Client
import Glibc
import Subprocess
import SystemPackage
import SystemSupport

/// A PostgreSQL server of a farm's own, in a folder, which only this user can reach. It listens at a socket in that
/// folder and not at the network.
struct OwnDatabase: Sendable {
  private static let user = "sheaf"
  /// How much of a program's messages is shown, in bytes.
  private static let mostMessages = 64 << 10

  /// The folder of PostgreSQL's programs.
  let programs: String
  /// What the server keeps. Programs run in it and are given names in it: some of what they are given is for a shell.
  private let folder: String
  /// The same, open: by its descriptor the socket has a short path, of which it may have 107 bytes, and no letter that
  /// means something to libpq.
  private let directory: OpenFile

  private var log: String { folder + "/server.log" }

  /// - Parameters:
  ///   - programs: The folder of PostgreSQL's programs.
  ///   - folder: What the server keeps; it is made if it is not there.
  init(programs: String, folder: String) throws(CommandFailure) {
    self.programs = programs
    self.folder = folder
    do {
      try Directories.make(folder, permissions: 0o700)
      directory = try OpenFile.open(folder, O_RDONLY | O_DIRECTORY)
    } catch {
      throw CommandFailure(.work, "the database's folder cannot be made: \(error)")
    }
    try giveAway()
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
    if access(folder + "/data/PG_VERSION", F_OK) != 0 {
      // Made elsewhere: what a program that was killed has left is no database.
      try await run("/bin/rm", ["-rf", "new", "data"])
      try await run(
        "\(programs)/initdb",
        ["--pgdata", "new", "--username", Self.user, "--auth", "trust", "--no-locale", "--encoding", "UTF8"])
      guard rename(folder + "/new", folder + "/data") == 0 else {
        throw CommandFailure(.work, "the database cannot be kept: \(SystemError(errno, "").reason)")
      }
    }
    if try await !isRunning() {
      // Its socket is in the folder, which is above that of its data.
      try await run(
        "\(programs)/pg_ctl",
        [
          "start", "--wait", "--timeout", "60", "--silent", "--pgdata", "data", "--log", "server.log", "--options",
          "-k .. -c listen_addresses='' -c unix_socket_permissions=0700",
        ], explaining: log)
    }
    return "host=/proc/self/fd/\(directory.descriptor) user=\(Self.user) dbname=postgres"
  }

  /// Stops the server, which closes its connections. One that does not stop is found by the next farm.
  func stop() async {
    do throws(CommandFailure) {
      guard try await isRunning() else { return }
      try await run("\(programs)/pg_ctl", ["stop", "--wait", "--mode", "fast", "--silent", "--pgdata", "data"])
    } catch {
      StandardError.write("sheaf: \(error)\n")
    }
  }

  private func isRunning() async throws(CommandFailure) -> Bool {
    try await execute("\(programs)/pg_ctl", ["status", "--pgdata", "data"]).code == 0
  }

  /// PostgreSQL does not run as root: then the server is the user's that Debian's packages make.
  private static let owner: (user: uid_t, group: gid_t)? = {
    guard geteuid() == 0, let entry = getpwnam("postgres") else { return nil }
    return (entry.pointee.pw_uid, entry.pointee.pw_gid)
  }()

  private func giveAway() throws(CommandFailure) {
    guard geteuid() == 0 else { return }
    guard let owner = Self.owner else {
      throw CommandFailure(
        .work,
        "PostgreSQL does not run as root, and this machine has no user 'postgres': start the farm as another user")
    }
    guard lchown(folder, owner.user, owner.group) == 0 else {
      throw CommandFailure(.work, "\(folder) cannot be given to the user 'postgres': \(SystemError(errno, "").reason)")
    }
  }

  private func run(_ program: String, _ arguments: [String], explaining log: String? = nil) async throws(CommandFailure)
  {
    let (code, messages) = try await execute(program, arguments)
    guard code != 0 else { return }
    let logged = log.flatMap { try? OpenFile.contents(of: $0, limit: Self.mostMessages) } ?? []
    let text = [messages, String(decoding: logged, as: UTF8.self)].joined(separator: "\n")
    let lines = text.split(separator: "\n").suffix(5).joined(separator: "\n")
    throw CommandFailure(.work, "\(program) failed with \(code):\n\(lines)")
  }

  private func execute(
    _ program: String, _ arguments: [String]
  ) async throws(CommandFailure) -> (code: Int32, messages: String) {
    var options = PlatformOptions()
    // Ctrl-C is for the farm, which then stops its server.
    options.createSession = true
    var line = [program] + arguments
    // By a program: in a process that was forked from one with threads, the C library waits for ever to change the
    // user.
    if let owner = Self.owner {
      line = ["/usr/bin/setpriv", "--reuid=\(owner.user)", "--regid=\(owner.group)", "--clear-groups", "--"] + line
    }
    do {
      let result = try await Subprocess.run(
        .path(FilePath(line[0])), arguments: Arguments(Array(line.dropFirst())),
        environment: .inherit.updating(["LC_ALL": "C"]), workingDirectory: FilePath(folder), platformOptions: options,
        input: .none, output: .discarded, error: .string(limit: Self.mostMessages))
      let code: Int32 =
        switch result.terminationStatus {
        case .exited(let code): code
        case .signaled(let signal): 128 + signal
        }
      return (code, result.standardError)
    } catch {
      throw CommandFailure(.work, "\(program) cannot be executed: \(error)")
    }
  }
}
