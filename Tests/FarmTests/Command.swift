import Foundation

/// A program run to its end, with a limit.
struct Command {
  struct Result {
    var status: Int32
    var output: String
    var errors: String
  }

  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  var executable: String
  var arguments: [String]
  var environment: [String: String] = [:]
  var directory: URL?

  /// Starts the program and leaves it running; the caller ends it.
  func start(output: Any? = FileHandle.nullDevice, errors: Any? = FileHandle.nullDevice) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: executable.hasPrefix("/") ? executable : "/usr/bin/env")
    process.arguments = executable.hasPrefix("/") ? arguments : [executable] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = errors
    if let directory { process.currentDirectoryURL = directory }
    try process.run()
    return process
  }

  /// Waits on a thread of its own, so that the tests' pool stays free.
  func run(seconds: Double = 240) async throws -> Result {
    let files = try Workspace()
    defer { files.remove() }
    let (output, errors) = (files.path("output"), files.path("errors"))
    try Data().write(to: URL(fileURLWithPath: output))
    try Data().write(to: URL(fileURLWithPath: errors))
    let process = try start(
      output: try FileHandle(forWritingTo: URL(fileURLWithPath: output)),
      errors: try FileHandle(forWritingTo: URL(fileURLWithPath: errors)))
    let hasEnded = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let limit = Date(timeIntervalSinceNow: seconds)
        while process.isRunning, Date() < limit { Thread.sleep(forTimeInterval: 0.02) }
        continuation.resume(returning: !process.isRunning)
      }
    }
    guard hasEnded else {
      process.terminate()
      kill(process.processIdentifier, SIGKILL)
      throw Failure(
        description:
          "\(executable) \(arguments) ran for over \(seconds) s: \(try String(contentsOfFile: errors, encoding: .utf8))"
      )
    }
    return Result(
      status: process.terminationReason == .exit ? process.terminationStatus : 128 + process.terminationStatus,
      output: try String(decoding: Data(contentsOf: URL(fileURLWithPath: output)), as: UTF8.self),
      errors: try String(decoding: Data(contentsOf: URL(fileURLWithPath: errors)), as: UTF8.self))
  }

  /// Runs a program that has to succeed and gives what it printed.
  static func output(_ executable: String, _ arguments: String...) async throws -> String {
    let result = try await Command(executable: executable, arguments: arguments).run()
    guard result.status == 0 else {
      throw Failure(description: "\(executable) \(arguments) ended with \(result.status): \(result.errors)")
    }
    return result.output
  }
}

/// A temporary folder.
struct Workspace {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("sheaf-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  func write(_ text: String, to name: String) throws -> String {
    try text.write(toFile: path(name), atomically: true, encoding: .utf8)
    return path(name)
  }

  func contents() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() }

  func remove() {
    do { try FileManager.default.removeItem(at: url) } catch { print("left behind: \(url.path): \(error)") }
  }
}

/// Where things are.
enum Place {
  static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static func media(_ name: String) -> String { repository.appendingPathComponent("Tests/Media/\(name)").path }
  static func example(_ name: String) -> String { repository.appendingPathComponent("Examples/\(name)").path }

  /// The folder that the tests were built into, and with them `sheaf` and `sheaf-worker`.
  static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

  /// The large collection of real files, where this machine has it.
  static let sharedMedia: URL? = {
    let named = ProcessInfo.processInfo.environment["SHEAF_SHARED_MEDIA"].map { URL(fileURLWithPath: $0) }
    let beside = repository.deletingLastPathComponent().appendingPathComponent("shared/media")
    return [named, beside].compactMap(\.self).first { FileManager.default.fileExists(atPath: $0.path) }
  }()
}

extension Command {
  /// The product under test.
  static func sheaf(_ arguments: String..., environment: [String: String] = [:]) -> Command {
    Command(
      executable: Place.products.appendingPathComponent("sheaf").path, arguments: arguments, environment: environment)
  }

  static func worker(_ arguments: String..., environment: [String: String] = [:]) -> Command {
    Command(
      executable: Place.products.appendingPathComponent("sheaf-worker").path, arguments: arguments,
      environment: environment)
  }
}
