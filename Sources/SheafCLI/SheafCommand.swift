import ArgumentParser
import Client
import CompositionModel
import Glibc
import Synchronization
import SystemSupport
import UnixSignals

@main
struct SheafCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sheaf",
    abstract: "Renders video compositions, on this machine or on a farm, to the same bytes.",
    discussion: """
      Every option can also be set by the environment variable that its help names. The command line wins.

      Exit codes: 0 done, 1 the work failed, 3 a film differs and 4 a statement is not signed (verify), 64 the command line is wrong, 65 the document or its media are wrong, 69 \
      the coordinator or its database cannot be reached, 130 and 143 ended by SIGINT and SIGTERM.
      """,
    version: Product.version,
    subcommands: [
      RenderCommand.self, VerifyCommand.self, CheckCommand.self, PlanCommand.self, EstimateCommand.self,
      ProbeCommand.self, PresetsCommand.self, SchemaCommand.self, ImageCommand.self, WaveformCommand.self,
      ImportCommand.self, ExportCommand.self,
      FarmCommand.self, ServeCommand.self,
      SubmitCommand.self,
      StatusCommand.self, LogCommand.self, TopCommand.self,
      WorkersCommand.self, WorkerGroupCommand.self, FetchCommand.self, RetryCommand.self, CancelCommand.self,
      DeleteCommand.self,
      PauseCommand.self, ResumeCommand.self, PriorityCommand.self, OwnersCommand.self, PoolCommand.self,
      TokenCommand.self,
      AuditCommand.self, AuthorityCommand.self,
    ])
}

extension SheafCommand {
  /// The command line in, the exit code out. Threads of the database and of the network may still run at the end.
  static func main() async {
    StandardOutput.reserveDescriptors()
    // If the reader of the output has closed it (`sheaf status | head`), a write returns an error instead of a signal.
    signal(SIGPIPE, SIG_IGN)
    ProcessLimits.raiseDescriptors()
    if let shortage = ProcessLimits.shortage() {
      endProcess(CommandFailure.Code.work.rawValue, "sheaf: \(shortage)")
    }
    if let refusal = CommandLineText.refusal(of: CommandLineText.arguments) {
      endProcess(ExitCode.validationFailure.rawValue, "sheaf: \(refusal)")
    }
    if let refusal = unknownCommand(Array(CommandLine.arguments.dropFirst())) {
      endProcess(ExitCode.validationFailure.rawValue, "sheaf: \(refusal)")
    }
    // The server reads its own.
    if !["serve", "farm"].contains(CommandLine.arguments.dropFirst().first) {
      do {
        try ConfigurationFile.apply(Array(CommandLine.arguments.dropFirst()), help: _dumpHelp())
      } catch {
        endProcess(ExitCode.validationFailure.rawValue, "sheaf: \(error)")
      }
    }
    do {
      var command = try parseAsRoot()
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
    } catch {
      let code = exitCode(for: error)
      let message = fullMessage(for: error)
      guard code.isSuccess else { endProcess(code.rawValue, message) }
      // A help text. It must be seen to be missing where standard output cannot be written.
      do {
        try Console.print(message)
      } catch  where !error.isClosedByReader {
        endProcess(CommandFailure.Code.work.rawValue, "sheaf: \(error)")
      } catch {}
    }
    endProcess(ExitCode.success.rawValue)
  }
}

extension SheafCommand {
  /// Why the first argument is no command; nil if it is one, or an option.
  static func unknownCommand(_ arguments: [String]) -> String? {
    let names = configuration.subcommands.map { $0._commandName } + ["help"]
    if arguments.first == "help", arguments.count > 1 { return unknownCommand(Array(arguments.dropFirst())) }
    guard let name = arguments.first, !name.hasPrefix("-"), !names.contains(name) else { return nil }
    let isFile = name.contains(".") || name.contains("/")
    let hint = nearest(to: name, among: names).map { "did you mean '\($0)'?" }
    let advice = isFile ? "to render a document: sheaf render \(name.quotedForShell)" : hint
    return "there is no command '\(name)'" + (advice.map { "; \($0)" } ?? "")
      + "\nthe commands are \(names.joined(separator: ", ")); see 'sheaf --help'"
  }
}

/// The command line as bytes.
enum CommandLineText {
  static var arguments: [[UInt8]] {
    (0..<Int(CommandLine.argc)).compactMap { index in
      CommandLine.unsafeArgv[index].map { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) }
    }
  }

  /// Why an argument cannot be used; nil if all can. Text that is not UTF-8 would become other text, and a file of that
  /// name would not be found.
  static func refusal(of arguments: [[UInt8]]) -> String? {
    guard let wrong = arguments.first(where: { String(validating: $0, as: UTF8.self) == nil }) else { return nil }
    let shown = String(decoding: wrong, as: UTF8.self)
    return "the argument \"\(shown)\" is not UTF-8; rename the file, or write its name in UTF-8"
  }
}

/// A failure whose reason is on standard output already.
struct PrintedFailure: Error {
  var failure: CommandFailure
}

extension AsyncParsableCommand {
  /// Runs the body of a command. An error of the body is reported on standard error and becomes the exit code.
  /// - Parameters:
  ///   - json: How the failure is also printed on standard output.
  ///   - document: The document's name, for its problems.
  func reporting(
    json: CommandFailure.JSONForm = .none, document: String? = nil, _ body: () async throws -> Void
  ) async throws {
    do {
      do {
        try await body()
      } catch let error as PrintedFailure {
        try error.failure.report(document: document, json: .none)
        throw ExitCode(error.failure.code.rawValue)
      } catch let error where Self.isReported(elsewhere: error) {
        throw error
      } catch {
        let failure = CommandFailure(error)
        try failure.report(document: document, json: json)
        throw ExitCode(failure.code.rawValue)
      }
    } catch let error as OutputError {
      // The reader has what it wants.
      if error.isClosedByReader { throw ExitCode.success }
      Console.printError("sheaf: \(error)")
      throw ExitCode(CommandFailure.Code.work.rawValue)
    } catch let error as SettingError {
      throw ValidationError(error.description)
    }
  }

  private static func isReported(elsewhere error: any Error) -> Bool {
    error is ExitCode || error is ValidationError || error is SettingError || error is OutputError
  }
}

/// Ctrl-C and SIGTERM: the work is cancelled, and removes what it has not finished.
enum Interruption {
  private static let received = Mutex<UnixSignal?>(nil)

  /// Whether SIGTERM has ended the work, as a machine that shuts down sends it: nobody has asked for the job's end.
  static var isTermination: Bool { received.withLock { $0 == .sigterm } }

  /// Runs `body`, and cancels its task at the first signal. A second signal ends the process at once. Throws what
  /// `body` throws, or the failure with the signal's exit code.
  static func cancelling<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
    let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
    received.withLock { $0 = nil }
    let work = Task { try await body() }
    let listening = Task {
      for await signal in signals {
        let first = received.withLock { received in
          defer { received = received ?? signal }
          return received
        }
        if let first {
          Screen.close()
          _exit(code(first).rawValue)
        }
        work.cancel()
      }
    }
    defer { listening.cancel() }
    do {
      return try await work.value
    } catch {
      throw received.withLock(\.self).map { failure($0, error) } ?? error
    }
  }

  /// The failure of a command that a signal has ended, whatever its work threw when it was cancelled.
  static func failure(_ signal: UnixSignal, _ error: any Error) -> CommandFailure {
    var failure = CommandFailure(code(signal), signal == .sigint ? "interrupted" : "ended by SIGTERM")
    // The work's own failure has something to say if it is not a consequence of the signal.
    if let own = error as? CommandFailure {
      if !own.message.isEmpty { failure.message += ": \(own.message)" }
      failure.advice = own.advice
      failure.job = own.job
    }
    return failure
  }

  private static func code(_ signal: UnixSignal) -> CommandFailure.Code {
    signal == .sigint ? .interrupted : .terminated
  }
}
