import Foundation
import TestPrograms

/// A program that is run to its end, within a time limit.
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

  /// Starts the program and leaves it running; the caller ends it.
  ///
  /// - Parameter errors: Receives its standard error, which is discarded without one.
  func start(errors: FileHandle? = nil) throws -> RunningProgram {
    try start(streams: .init(errors: errors?.fileDescriptor))
  }

  /// Runs the program to its end. Waits on a thread of its own, so that the cooperative pool stays free.
  ///
  /// - Parameter seconds: After which the program is ended; ffmpeg and ffprobe have the limit of `Tool`.
  func run(seconds: Double = 240) async throws -> Result {
    if ["ffmpeg", "ffprobe"].contains(executable), environment.isEmpty { return try await reference() }
    let folder = try TemporaryFolder()
    let (output, errors) = (try folder.create("output"), try folder.create("errors"))
    let program = try start(streams: .init(output: output.fileDescriptor, errors: errors.fileDescriptor))
    let status: Int32? = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let limit = Date(timeIntervalSinceNow: seconds)
        while program.isRunning, Date() < limit { Thread.sleep(forTimeInterval: 0.02) }
        continuation.resume(returning: program.isRunning ? nil : program.wait())
      }
    }
    func text(_ name: String) throws -> String {
      try String(decoding: Data(contentsOf: folder.url.appendingPathComponent(name)), as: UTF8.self)
    }
    guard let status else {
      program.send(SIGKILL)
      program.wait()
      throw Failure(description: "\(executable) \(arguments) ran for over \(seconds) s: \(try text("errors"))")
    }
    return Result(status: status, output: try text("output"), errors: try text("errors"))
  }

  /// What ffmpeg or ffprobe, of which `Tool` keeps what it has made, does with the arguments.
  private func reference() async throws -> Result {
    let result = try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Swift.Result { try Tool.kept(executable, arguments) })
      }
    }
    return Result(
      status: result.status, output: String(decoding: result.output, as: UTF8.self), errors: result.log)
  }

  private func start(streams: RunningProgram.Streams) throws -> RunningProgram {
    try RunningProgram(executable, arguments, environment: environment, streams: streams)
  }

  /// Runs a program that must end with 0, and returns what it printed.
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

  /// The names in the folder, or in one in it.
  func contents(_ folder: String = "") throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: url.appending(path: folder).path).sorted()
  }

  func remove() {
    do { try FileManager.default.removeItem(at: url) } catch { print("not removed: \(url.path): \(error)") }
  }
}

/// Paths of the repository and of the products.
enum Place {
  static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static func media(_ name: String) -> String { repository.appendingPathComponent("Tests/Media/\(name)").path }
  static func example(_ name: String) -> String { repository.appendingPathComponent("Examples/\(name)").path }

  /// The folder that the tests were built into, and with them `sheaf` and `sheaf-worker`.
  static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

  /// A large collection of real files, if there is one.
  static let sharedMedia: URL? = {
    let named = ProcessInfo.processInfo.environment["SHEAF_SHARED_MEDIA"].map { URL(fileURLWithPath: $0) }
    let sibling = repository.deletingLastPathComponent().appendingPathComponent("shared/media")
    return [named, sibling].compactMap(\.self).first { FileManager.default.fileExists(atPath: $0.path) }
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
