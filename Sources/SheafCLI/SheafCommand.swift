import ArgumentParser
import Client
import Glibc
import SystemSupport
import UnixSignals

@main
struct SheafCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sheaf",
    abstract: "Renders video compositions, on this machine or on a farm, to the same bytes.",
    discussion: """
      Every option can also be set by the environment variable that its help names. The command line wins.

      Exit codes: 0 done, 1 the work failed, 64 the command line is wrong, 65 the document or its media are wrong, 69 \
      the coordinator or its database cannot be reached.
      """,
    version: Product.version,
    subcommands: [
      RenderCommand.self, CheckCommand.self, PlanCommand.self, ProbeCommand.self, ServeCommand.self,
      SubmitCommand.self, StatusCommand.self, WorkersCommand.self, CancelCommand.self, FetchCommand.self,
    ])
}

extension AsyncParsableCommand {
  /// Runs the body of a command. An error of the body is reported on standard error and becomes the exit code.
  /// - Parameters:
  ///   - json: Whether the failure is also printed on standard output, as JSON.
  ///   - document: The document's name, for its problems.
  func reporting(json: Bool = false, document: String? = nil, _ body: () async throws -> Void) async throws {
    // If the reader of the output has closed it (`sheaf status | head`), a write returns an error instead of a signal.
    signal(SIGPIPE, SIG_IGN)
    do {
      try await body()
    } catch let code as ExitCode {
      throw code
    } catch let error as ValidationError {
      throw error
    } catch let error as SettingError {
      throw ValidationError(error.description)
    } catch {
      let failure = CommandFailure(error)
      failure.report(document: document, json: json)
      throw ExitCode(failure.code.rawValue)
    }
  }
}

/// Ctrl-C and SIGTERM: the work is cancelled, and removes what it has not finished.
enum Interruption {
  /// Runs `body`, and cancels its task at the first signal. Throws what `body` throws, or `CancellationError`.
  static func cancelling<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
    try await withThrowingTaskGroup(of: R?.self) { group in
      let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
      group.addTask { try await body() }
      group.addTask {
        for await _ in signals { return nil }
        try await Task.sleep(for: .seconds(1 << 30))
        return nil
      }
      defer { group.cancelAll() }
      guard let first = try await group.next(), let result = first else {
        group.cancelAll()
        // The body's own result is better than "cancelled", for example if the job was done already.
        while let ended = try await group.next() { if let result = ended { return result } }
        throw CancellationError()
      }
      return result
    }
  }
}
