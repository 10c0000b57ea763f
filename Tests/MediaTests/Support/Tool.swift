import Foundation

/// The `ffmpeg` and `ffprobe` programs: the oracle for what this module reads and writes.
enum Tool {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// What the program printed.
  static func run(_ name: String, _ arguments: [String]) throws -> Data {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [name] + arguments
    process.standardInput = FileHandle.nullDevice
    let (output, errors) = (Pipe(), FileHandle.nullDevice)
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(description: "\(name) \(arguments) ended with \(process.terminationStatus)")
    }
    return data
  }

  @discardableResult
  static func ffmpeg(_ arguments: String...) throws -> Data {
    try run("ffmpeg", ["-v", "error", "-nostdin", "-y"] + arguments)
  }

  /// ffprobe's answer as lines of comma-separated values.
  static func ffprobe(_ arguments: String...) throws -> [[String]] {
    let text = String(decoding: try run("ffprobe", ["-v", "quiet", "-of", "csv=p=0"] + arguments), as: UTF8.self)
    return text.split(separator: "\n").map { line in
      line.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
    }
  }
}
