public import Foundation

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

  /// Runs a program that must end with 0; throws what it wrote to its standard error otherwise. What ffmpeg and ffprobe
  /// make of the same files by the same arguments is kept (`MadeMedia`): their start takes longer than most of it.
  public static func run(_ program: String, _ arguments: [String]) throws -> Result {
    let result = try kept(program, arguments)
    guard result.status == 0 else {
      throw Failure(
        description: "\(program) \(arguments.joined(separator: " ")) ended with \(result.status): \(result.log)")
    }
    return result
  }

  /// As `run`, whatever the exit code. Only what has ended with 0, and without a word on standard error, is kept.
  public static func kept(_ program: String, _ arguments: [String]) throws -> Result {
    let made = try MadeMedia(program, arguments)
    if let output = try made?.restored() { return Result(status: 0, output: output, log: "") }
    let result = try result(of: program, arguments)
    if result.status == 0, result.log.isEmpty { try made?.keep(result.output) }
    return result
  }

  /// Runs ffmpeg and returns what it writes to its standard output.
  @discardableResult
  public static func ffmpeg(_ arguments: [String]) throws -> Data {
    try run("ffmpeg", ["-v", "error", "-nostdin", "-y", "-bitexact"] + arguments).output
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
