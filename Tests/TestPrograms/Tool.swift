public import Foundation
import Synchronization

/// Programs that tests run to their end. `ffmpeg` and `ffprobe` are the independent reference for what Sheaf reads and
/// writes.
public enum Tool {
  public struct Failure: Error, CustomStringConvertible {
    public var description: String

    public init(description: String) {
      self.description = description
    }
  }

  /// How a program ended and what it wrote.
  public struct Result {
    public var status: Int32
    public var output: Data
    public var log: String
  }

  /// Runs a program to its end, whatever its exit code. One that has run for 15 minutes is ended: its code is 124, or
  /// 137 if it must be killed; 142 of ffmpeg and ffprobe.
  public static func result(of program: String, _ arguments: [String]) throws -> Result {
    let folder = try TemporaryFolder()
    let (output, log) = (try folder.create("output"), try folder.create("log"))
    let status =
      if let server = try ForkServer.of(program) {
        try server.run(arguments, output: folder.path("output"), log: folder.path("log"))
      } else {
        try RunningProgram(
          "timeout", ["--kill-after", "10", "900", program] + arguments,
          streams: .init(output: output.fileDescriptor, errors: log.fileDescriptor)
        ).wait()
      }
    return Result(
      status: status, output: try Data(contentsOf: folder.url.appendingPathComponent("output")),
      log: String(decoding: try Data(contentsOf: folder.url.appendingPathComponent("log")), as: UTF8.self))
  }

  /// Runs a program that must end with 0; throws what it wrote to its standard error otherwise.
  public static func run(_ program: String, _ arguments: [String]) throws -> Result {
    let result = try result(of: program, arguments)
    guard result.status == 0 else {
      throw Failure(
        description: "\(program) \(arguments.joined(separator: " ")) ended with \(result.status): \(result.log)")
    }
    return result
  }

  /// Runs ffmpeg and returns what it writes to its standard output.
  ///
  /// What it makes of sources of libavfilter alone is made once in a process: the start of ffmpeg takes longer than
  /// most of these files.
  @discardableResult
  public static func ffmpeg(_ arguments: [String]) throws -> Data {
    func run() throws -> Data {
      try Self.run("ffmpeg", ["-v", "error", "-nostdin", "-y", "-bitexact"] + arguments).output
    }
    guard let target = arguments.last, let key = Self.generated(arguments) else { return try run() }
    if let made = made.withLock({ $0[key] }) {
      if target == "-" { return made }
      try made.write(to: URL(filePath: target))
      return Data()
    }
    let output = try run()
    let bytes = target == "-" ? output : try Data(contentsOf: URL(filePath: target))
    if bytes.count <= 4 << 20 { made.withLock { $0[key] = bytes } }
    return output
  }

  /// By what `generated` returns.
  private static let made = Mutex<[[String]: Data]>([:])

  /// The arguments with the file's extension in place of its name, if they name no other file and ffmpeg generates what
  /// it reads.
  private static func generated(_ arguments: [String]) -> [String]? {
    guard let target = arguments.last, target == "-" || target.hasPrefix("/"), !target.contains("%") else { return nil }
    let inputs = arguments.indices.filter { arguments[$0] == "-i" }
    let files = ["file", "movie=", FileManager.default.temporaryDirectory.path]
    guard !inputs.isEmpty, inputs.allSatisfy({ $0 >= 2 && arguments[$0 - 2...$0 - 1] == ["-f", "lavfi"] }),
      !arguments.dropLast().contains(where: { argument in files.contains { argument.contains($0) } })
    else { return nil }
    return arguments.dropLast() + [target == "-" ? target : URL(filePath: target).pathExtension]
  }

  @discardableResult
  public static func ffmpeg(_ arguments: String...) throws -> Data {
    try ffmpeg(arguments)
  }

  /// Runs ffprobe and returns its output: lines of comma-separated values.
  public static func ffprobe(_ arguments: String...) throws -> [[String]] {
    let answer = try run("ffprobe", ["-v", "quiet", "-of", "csv=p=0"] + arguments).output
    return String(decoding: answer, as: UTF8.self).split(separator: "\n").map { line in
      line.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
    }
  }
}
