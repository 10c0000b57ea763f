import ArgumentParser
import Client
import Glibc
import SystemSupport

/// `sheaf serve` is the program `sheaf-server`, which alone has what only a coordinator needs.
struct ServeCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Run a farm's coordinator.",
    discussion: """
      The program sheaf-server, in the folder of this one, is executed with the same arguments; sheaf serve --help \
      lists them.
      """)

  @Argument(parsing: .captureForPassthrough, help: ArgumentHelp("The coordinator's options.", valueName: "option"))
  var options: [String] = []

  func run() throws {
    do {
      try ServerProgram.execute("serve", options)
    } catch {
      endProcess(error.code.rawValue, "sheaf: \(error)")
    }
  }
}

/// `sheaf farm` is that program too.
struct FarmCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "farm", abstract: "Run a whole farm on this machine: coordinator, worker, HTTP API and page.",
    discussion: """
      The program sheaf-server, in the folder of this one, is executed with the same arguments; sheaf farm --help \
      lists them.
      """)

  @Argument(parsing: .captureForPassthrough, help: ArgumentHelp("The farm's options.", valueName: "option"))
  var options: [String] = []

  func run() throws {
    do {
      try ServerProgram.execute("farm", options)
    } catch {
      endProcess(error.code.rawValue, "sheaf: \(error)")
    }
  }
}

/// The executable of the coordinator.
enum ServerProgram {
  /// Becomes the server, with one of its commands: the same process, with the same environment. Throws with exit code 1
  /// if it is not there.
  static func execute(_ command: String, _ options: [String]) throws(CommandFailure) -> Never {
    let path = try path()
    // What this program ignores, the next one would too.
    signal(SIGPIPE, SIG_DFL)
    var arguments: [UnsafeMutablePointer<CChar>?] = ([path, command] + options).map { strdup($0) }
    arguments.append(nil)
    execv(path, arguments)
    throw CommandFailure(.work, "\(path) cannot be executed: \(SystemError(errno, "").reason)")
  }

  /// `sheaf-server` in the folder of this executable.
  private static func path() throws(CommandFailure) -> String {
    let own: String
    do {
      own = try Directories.resolve("/proc/self/exe")
    } catch {
      throw CommandFailure(.work, "the path of this executable cannot be found: \(error)")
    }
    let path = Directories.parent(of: own) + "/sheaf-server"
    guard access(path, X_OK) == 0 else {
      throw CommandFailure(
        .work,
        "a coordinator is the program sheaf-server, and there is none at \(path): build it with make release, or install it there"
      )
    }
    return path
  }
}
