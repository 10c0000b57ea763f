import CSandbox
import Glibc
import SystemSupport

/// `sheaf-worker confinement`: confines itself as a task process is confined, tries what a codec that has been taken
/// over might try, and prints the results. It shows the operator of a farm what protects a machine.
enum ConfinementReport {
  static let subcommand = "confinement"
  /// Leaves Landlock out, to show what an older kernel would still refuse.
  static let withoutLandlock = "--without-landlock"

  static func run(_ arguments: [String]) -> Never {
    do {
      let files = try Confinement.confineFiles(usingLandlock: !arguments.contains(withoutLandlock))
      let force = try files.confineCalls()
      WorkerProgram.write("in force: \(force.contains(.landlock) ? "seccomp, Landlock" : "seccomp")")
    } catch {
      WorkerProgram.write("\(error)")
      exit(71)
    }
    for (attempt, outcome) in attempts() { WorkerProgram.write("\(attempt): \(outcome)") }
    exit(0)
  }

  private static func attempts() -> [(String, String)] {
    [
      ("read a font folder", opening("/usr/share/fonts", O_RDONLY | O_DIRECTORY)),
      ("read /etc/passwd", opening("/etc/passwd", O_RDONLY)),
      ("read another process's environment", opening("/proc/\(getppid())/environ", O_RDONLY)),
      ("write a file", opening("/tmp/sheaf-confinement", O_WRONLY | O_CREAT)),
      ("remove a file", outcome(unlink("/tmp/sheaf-confinement"))),
      ("open an internet socket", closing(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))),
      ("open a local socket", closing(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))),
      ("start a process", startingProcess()),
      ("start a thread", startingThread()),
      ("become another program", becoming()),
      ("signal the parent", outcome(kill(getppid(), 0))),
    ]
  }

  private static func outcome(_ result: Int32) -> String {
    result < 0 ? "refused (\(String(cString: strerror(errno))))" : "allowed"
  }

  private static func closing(_ descriptor: Int32) -> String {
    let outcome = outcome(descriptor)
    if descriptor >= 0 { close(descriptor) }
    return outcome
  }

  private static func opening(_ path: String, _ flags: Int32) -> String {
    closing(open(path, flags, 0o600))
  }

  private static func startingProcess() -> String {
    var child: pid_t = 0
    let status = posix_spawn(&child, "/bin/true", nil, nil, [nil], [nil])
    if status == 0 { waitpid(child, nil, 0) }
    errno = status
    return outcome(status == 0 ? 0 : -1)
  }

  private static func startingThread() -> String {
    do {
      try startThread {}
      return "allowed"
    } catch {
      return "refused (\(error))"
    }
  }

  /// If this is allowed, the report ends here.
  private static func becoming() -> String {
    outcome(execv("/bin/true", [nil]))
  }
}
