package import Client
import Glibc
import Subprocess
import Synchronization
import SystemPackage
import SystemSupport

/// The `sheaf-worker` process of a local farm. It is started again when it ends, and it ends with this process: it
/// exits when its standard input is closed, so even a SIGKILL of this process leaves none behind.
package struct LocalWorker: Sendable {
  /// How often the worker is started before `supervise` throws.
  package static let maximumStarts = 3
  /// How long the worker may take to end after its standard input is closed.
  package static let grace: Duration = .seconds(3)
  /// How much of its standard error is kept, in bytes.
  private static let maximumErrors = 4096

  private let executable: String
  private let arguments: [String]
  private let environment: [String: String?]

  /// - Parameter environment: Variables to set; nil removes a variable that this process has.
  package init(executable: String, arguments: [String], environment: [String: String?]) {
    self.executable = executable
    self.arguments = arguments
    // It connects to this machine's coordinator, whatever other coordinators the user has.
    self.environment = ["SHEAF_TLS": nil, "SHEAF_TLS_CA": nil, "SHEAF_IDENTITY": nil].merging(environment) { $1 }
  }

  /// The path of `sheaf-worker`: `SHEAF_WORKER_EXECUTABLE`, or in the folder of this executable. Throws with exit code
  /// 1 if there is none.
  /// - Parameter named: In place of these.
  package static func find(_ named: String? = nil) throws(CommandFailure) -> String {
    if let named {
      guard isProgram(named) else {
        throw CommandFailure(.work, "the worker \(named) is not a program that can be executed")
      }
      return named
    }
    if let named = ProcessEnvironment.value("SHEAF_WORKER_EXECUTABLE") {
      guard isProgram(named) else {
        throw CommandFailure(.work, "SHEAF_WORKER_EXECUTABLE is \(named), which cannot be executed")
      }
      return named
    }
    let own: String
    do {
      own = try Directories.resolve("/proc/self/exe")
    } catch {
      throw CommandFailure(.work, "the path of this executable cannot be found: \(error)")
    }
    let path = Directories.parent(of: own) + "/sheaf-worker"
    guard access(path, X_OK) == 0 else {
      throw CommandFailure(
        .work, "there is no sheaf-worker at \(path); install it there or set SHEAF_WORKER_EXECUTABLE to its path")
    }
    return path
  }

  /// A folder can be executed too, in the sense of `access`.
  private static func isProgram(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
  }

  /// A worker that has run for so long is not one that cannot start.
  private static let soundRun = Duration.seconds(60)

  /// Keeps a worker running until the task is cancelled. Throws with the end of its standard error if it has ended
  /// `maximumStarts` times, each within a minute, or if it cannot be started.
  package func supervise() async throws {
    var reason = ""
    var starts = 0
    while starts < Self.maximumStarts {
      let start = ContinuousClock.now
      starts += 1
      do {
        reason = try await runOnce()
      } catch {
        if Task.isCancelled { return }
        throw CommandFailure(.work, "\(executable) cannot be started: \(error)")
      }
      if Task.isCancelled { return }
      if ContinuousClock.now - start > Self.soundRun { starts = 0 }
    }
    throw CommandFailure(.work, "the worker ended \(Self.maximumStarts) times; its last message was: \(reason)")
  }

  /// Starts the worker and waits for its end. Returns the end of its standard error. When the task is cancelled, closes
  /// the worker's standard input and kills the worker if it has not ended after `grace`.
  private func runOnce() async throws -> String {
    let (shutdown, request) = AsyncStream.makeStream(of: Never.self)
    // A task of its own: to cancel the task that runs a subprocess is to kill the subprocess at once.
    let running = Task { try await run(until: shutdown) }
    return try await withTaskCancellationHandler {
      try await running.value
    } onCancel: {
      request.finish()
      Task {
        try await Task.sleep(for: Self.grace)
        running.cancel()
      }
    }
  }

  /// - Parameter shutdown: Ends when the worker is to end.
  private func run(until shutdown: AsyncStream<Never>) async throws -> String {
    var options = PlatformOptions()
    // A process group of its own: Ctrl-C reaches this process only, which then stops the worker in order.
    options.processGroupID = 0
    var variables: [Environment.Key: String?] = [:]
    for (name, value) in environment { variables[Environment.Key(stringLiteral: name)] = value }
    let result = try await Subprocess.run(
      .path(FilePath(executable)), arguments: Arguments(arguments), environment: .inherit.updating(variables),
      platformOptions: options, input: .inputWriter, output: .discarded, error: .sequence
    ) { worker in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          for await _ in shutdown {}
          // Fails if the worker has ended meanwhile, and then there is nothing to close.
          if !Task.isCancelled { try? await worker.standardInputWriter.finish() }
        }
        defer { group.cancelAll() }
        // The stream ends with the worker, even if a process that it has started keeps the pipe open.
        var errors: [UInt8] = []
        for try await part in worker.standardError {
          part.withUnsafeBytes { errors = Array((errors + $0).suffix(Self.maximumErrors)) }
        }
        return errors
      }
    }
    let lines = String(decoding: result.closureResult, as: UTF8.self).split(separator: "\n").suffix(5)
    if !lines.isEmpty { return lines.joined(separator: "\n") }
    switch result.terminationStatus {
    case .exited(let code): return "none (exit code \(code))"
    case .signaled(let signal): return "none (signal \(signal))"
    }
  }
}
