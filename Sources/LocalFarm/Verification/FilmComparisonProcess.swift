import Client
import CompositionModel
import FoundationEssentials
import Subprocess
import SystemPackage
import SystemSupport

/// The process that opens two films to compare them: a worker's program, which confines itself as it confines the
/// processes of tasks.
enum FilmComparisonProcess {
  /// The longest result, in bytes: a film may have thousands of segments.
  private static let longestResult = 64 << 20
  private static let longestMessage = 4096

  /// Throws with exit code 1 if the films cannot be compared. Cancelling ends the process.
  /// - Parameters:
  ///   - worker: The worker's program.
  ///   - other: Nil: the film's tracks are digested, and nothing is compared.
  static func compare(
    _ film: String, with other: String?, _ request: ComparisonRequest, worker: String
  ) async throws -> FilmComparison {
    let text = String(decoding: try JSONCoding.encoder.encode(request), as: UTF8.self)
    // The process ends when its standard input ends, and so with this one.
    let input = try FileDescriptor.pipe(options: .closeOnExec)
    defer { try? input.writeEnd.close() }
    var variables: [Environment.Key: String] = ["LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"]
    if let path = ProcessEnvironment.value("LD_LIBRARY_PATH") { variables["LD_LIBRARY_PATH"] = path }
    var options = PlatformOptions()
    // A process group of its own: Ctrl-C reaches this process only.
    options.processGroupID = 0
    let result = try await Subprocess.run(
      .path(FilePath(worker)), arguments: Arguments(["compare", text, film] + (other.map { [$0] } ?? [])),
      environment: .custom(variables), platformOptions: options,
      input: .fileDescriptor(input.readEnd, closeAfterSpawningProcess: true),
      output: .bytes(limit: longestResult), error: .string(limit: longestMessage))
    try Task.checkCancellation()
    switch result.terminationStatus {
    case .exited(0): break
    case .exited(let code):
      let message = result.standardError.split(separator: "\n").joined(separator: " ")
      throw CommandFailure(
        .work, "\(film) cannot be compared: " + (message.isEmpty ? "the process ended with code \(code)" : message))
    case .signaled(let signal):
      throw CommandFailure(
        .work, "\(film) cannot be compared: the process that opened it was ended by signal \(signal)")
    }
    do {
      return try JSONDecoder().decode(FilmComparison.self, from: Data(result.standardOutput))
    } catch {
      throw CommandFailure(.work, "\(film) cannot be compared: the result cannot be read: \(error)")
    }
  }
}
