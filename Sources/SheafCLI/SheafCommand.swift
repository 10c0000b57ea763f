import ArgumentParser
import Glibc

@main
struct SheafCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sheaf",
    abstract: "Renders video compositions, on this machine or on a farm, to the same bytes.",
    discussion: """
      Every option can also be set by the environment variable that its help names; the command line wins.

      Exit codes: 0 done, 1 the work failed, 64 the command line is wrong, 65 the document or its media are wrong, 69 \
      the coordinator or its database cannot be reached.
      """,
    version: "0.1.0",
    subcommands: [
      RenderCommand.self, CheckCommand.self, PlanCommand.self, ProbeCommand.self, ServeCommand.self,
      SubmitCommand.self, StatusCommand.self, WorkersCommand.self, CancelCommand.self, FetchCommand.self,
    ])
}

extension AsyncParsableCommand {
  /// Runs a command's body and turns what it throws into words on standard error and an exit code.
  /// - Parameter json: The failure is also told on standard output, as JSON.
  func reporting(json: Bool = false, document: String? = nil, _ body: () async throws -> Void) async throws {
    // A reader that went away (`sheaf status | head`) is an error of a write, not a signal.
    signal(SIGPIPE, SIG_IGN)
    do {
      try await body()
    } catch let code as ExitCode {
      throw code
    } catch let error as ValidationError {
      throw error
    } catch {
      let failure = CommandFailure(error)
      failure.report(document: document, json: json)
      throw ExitCode(failure.code.rawValue)
    }
  }
}
