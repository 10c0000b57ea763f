import ArgumentParser
import Client
import Glibc
import SystemSupport

/// The program that `sheaf serve` and `sheaf farm` execute. It is one of its own because it alone has the HTTP API: a
/// machine that renders, and has no farm, builds nothing of it.
@main
struct ServerCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    // As users call it.
    commandName: "sheaf",
    abstract: "The coordinator of a farm. `sheaf serve` and `sheaf farm` execute it.",
    version: Product.version,
    subcommands: [FarmCommand.self, ServeCommand.self])

  /// The command line in, the exit code out. Threads of the database and of the network may still run at the end.
  static func main() async {
    StandardOutput.reserveDescriptors()
    signal(SIGPIPE, SIG_IGN)
    ProcessLimits.raiseDescriptors()
    if let shortage = ProcessLimits.shortage() {
      endProcess(CommandFailure.Code.work.rawValue, "sheaf: \(shortage)")
    }
    do {
      try ConfigurationFile.apply(Array(CommandLine.arguments.dropFirst()), help: _dumpHelp())
    } catch {
      endProcess(ExitCode.validationFailure.rawValue, "sheaf: \(error)")
    }
    do {
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch let error where exitCode(for: error) != .failure || error is ExitCode {
      end(exitCode(for: error), fullMessage(for: error))
    } catch {
      let failure = CommandFailure(error)
      endProcess(failure.code.rawValue, "sheaf: \(failure)")
    }
    endProcess(ExitCode.success.rawValue)
  }

  /// Ends the process with a help text, or with what is wrong with the command line.
  private static func end(_ code: ExitCode, _ message: String) -> Never {
    guard code.isSuccess else { endProcess(code.rawValue, message) }
    do {
      try StandardOutput.write(message + "\n")
    } catch {
      endProcess(CommandFailure.Code.work.rawValue, "sheaf: \(error)")
    }
    endProcess(ExitCode.success.rawValue)
  }
}
