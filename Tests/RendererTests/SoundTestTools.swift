import Foundation
import Testing

/// Runs ffmpeg and its kin as independent judges.
enum Tool {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  /// What a program wrote to its standard output; throws with its standard error unless it ended with 0.
  @discardableResult
  static func run(_ program: String, _ arguments: [String]) throws -> (output: Data, log: String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [program] + arguments
    process.standardInput = FileHandle.nullDevice
    let log = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try Data().write(to: log)
    defer { try? FileManager.default.removeItem(at: log) }
    let (output, errors) = (Pipe(), try FileHandle(forWritingTo: log))
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    let text = try String(contentsOf: log, encoding: .utf8)
    guard process.terminationStatus == 0 else {
      throw Failure(description: "\(program) \(arguments.joined(separator: " ")): \(text)")
    }
    return (data, text)
  }

  static func ffmpeg(_ arguments: [String]) throws -> Data {
    try run("ffmpeg", ["-v", "error", "-y", "-bitexact"] + arguments).output
  }
}

/// A folder that is gone with its owner.
final class TemporaryFolder {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("sheaf-" + UUID().uuidString)
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
}

extension Data {
  /// Little-endian samples.
  func samples<Sample: FixedWidthInteger>(_ type: Sample.Type) -> [Sample] {
    withUnsafeBytes { bytes in
      (0..<(count / MemoryLayout<Sample>.size)).map {
        Sample(littleEndian: bytes.loadUnaligned(fromByteOffset: $0 * MemoryLayout<Sample>.size, as: Sample.self))
      }
    }
  }

  var floats: [Float] { samples(UInt32.self).map(Float.init(bitPattern:)) }
}
