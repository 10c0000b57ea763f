import Foundation
import TestPrograms
import Testing

@testable import Worker

/// The command line of the worker that was built.
struct WorkerCommandTests {
  private let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  @Test
  func `the help names every option with its variable, and the exit codes`() throws {
    let help = try Tool.run(Place.worker, ["--help"]).output
    let text = String(decoding: help, as: UTF8.self)
    let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    for option in [
      "--coordinator <host:port>", "--slots <n>", "--task-memory <bytes>", "--media-root <dir>", "--cache <dir>",
      "--cache-bytes <bytes>", "--min-free <bytes>", "--name <name>", "--token-file <file>",
      "--drain-seconds <seconds>", "--exit-when-idle <seconds>", "--log-level <level>", "--log-format <format>",
      "--version",
    ] {
      #expect(words.contains(" \(option) "), "\(option) \(text)")
    }
    for variable in [
      "COORDINATOR", "SLOTS", "TASK_MEMORY", "MEDIA_ROOT", "CACHE", "CACHE_BYTES", "MIN_FREE", "NAME", "TOKEN_FILE",
      "DRAIN_SECONDS", "EXIT_WHEN_IDLE",
      "LOG_LEVEL", "LOG_FORMAT",
    ] {
      #expect(words.contains("[SHEAF_\(variable)]"), "\(text)")
    }
    for sentence in ["SHEAF_TOKEN.", "0 after SIGTERM or SIGINT", "64 wrong command line", "69 the coordinator"] {
      #expect(words.contains(sentence), "\(text)")
    }
  }

  private static let wrong: [([String], String)] = [
    ([], "SHEAF_COORDINATOR"),
    (["--coordinator", "host:port"], "\"host:port\" is not an address"),
    (["--coordinator", "a:1", "--slots", "0"], "--slots is \"0\"; it must be a whole number from 1 to 1024"),
    (["--coordinator", "a:1", "--drain-seconds", "-1"], "drain-seconds"),
    (["--coordinator", "a:1", "--exit-when-idle", "0"], "--exit-when-idle is \"0\"; it must be a whole number from 1"),
    (["--coordinator", "a:1", "--cache-bytes", "1.5"], "--cache-bytes is \"1.5\"; it must be a number of bytes"),
    (["--coordinator", "a:1", "--task-memory", "much"], "--task-memory is \"much\"; it must be a number of bytes"),
    (["--coordinator", "a:1", "--min-free", "-1"], "min-free"),
    (["--coordinator", "a:1", "--log-level", "loud"], "debug, info, notice, warning, error"),
    (["--coordinator", "a:1", "--log-format", "xml"], "\"xml\" is not a log format; the log formats are text, json"),
    (["--coordinator", "a:1", "--token-file", "/nonexistent"], "/nonexistent"),
    (["--slotz", "1"], "--slots"),
  ]

  @Test(arguments: wrong.spread(4))
  func `a wrong option ends with 64 and a message that names it and what is right`(
    arguments: [String], message: String
  ) throws {
    let result = try Tool.result(of: Place.worker, arguments)
    #expect(result.status == 64 && result.log.contains(message), "\(result.status): \(result.log)")
  }

  @Test
  func `the version is printed with the build and its libraries`() throws {
    let text = String(decoding: try Tool.run(Place.worker, ["--version"]).output, as: UTF8.self)
    let build = try Place.forkServer.properties().build
    #expect(text.contains("\nbuild: \(build)\n"), "\(text)")
    for library in ["libx264.so.", "libavcodec.so.", "libfreetype.so.", "librubberband.so.", "libm.so."] {
      #expect(text.contains("\n  \(library)"), "\(text)")
    }
  }

  @Test(arguments: ["--version", "--help", "confinement"].spread(2))
  func `a standard output that cannot be written is a failure`(command: String) throws {
    for (file, reason) in [("> /dev/full", "failed: No space left on device"), (">&-", "standard output is closed")] {
      let result = try Tool.result(of: "/bin/sh", ["-c", "'\(Place.worker)' \(command) \(file)"])
      #expect(result.status == 1 && result.log.contains(reason), "\(result.status): \(result.log)")
    }
  }

  @Test(arguments: [["--media-root", "/nonexistent"], ["--cache", "/proc/sheaf"]])
  func `a worker that cannot start ends with 1 and the reason`(arguments: [String]) throws {
    let defaults = arguments.contains("--cache") ? [] : ["--cache", folder.url.path]
    let result = try Tool.result(of: Place.worker, ["--coordinator", "127.0.0.1:1"] + defaults + arguments)
    #expect(result.status == 1 && result.log.contains(arguments[1]), "\(result.status): \(result.log)")
  }
}
