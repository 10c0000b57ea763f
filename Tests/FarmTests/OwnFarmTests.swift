import Foundation
import TestPrograms
import Testing

/// `sheaf farm`: a farm of one command. Its database is a server of its own.
@Suite(.ownThreads) struct OwnFarmTests {
  /// A farm in a folder, with addresses that are its own.
  private struct OwnFarm {
    let files: Workspace
    let port = Int.random(in: 8000...9900) * 2
    var log: String { files.path("farm.log") }

    init() throws {
      files = try Workspace()
      // As `sheaf farm` makes it: its database may be another user's.
      for folder in [files.path(""), files.path("farm")] {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: folder)
      }
    }

    func command(_ arguments: String...) -> Command {
      Command(
        executable: Place.products.appendingPathComponent("sheaf").path, arguments: arguments,
        environment: [
          "SHEAF_FARM": files.path("farm"), "SHEAF_LISTEN": "127.0.0.1:\(port)", "SHEAF_HTTP": "127.0.0.1:\(port + 1)",
          "SHEAF_COORDINATOR": "127.0.0.1:\(port)", "SHEAF_SLOTS": "1",
        ])
    }

    /// Starts it, and waits until it is ready.
    func start(_ options: String...) async throws -> RunningProgram {
      try Data().write(to: URL(fileURLWithPath: log))
      let folder = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
      var command = command("farm")
      command.arguments += options
      let program = try command.start(errors: folder)
      do {
        try await eventually("the farm is ready") {
          let asked = Command(executable: "curl", arguments: ["-sf", "http://127.0.0.1:\(port + 1)/readyz"])
          return try await asked.run().status == 0
        }
      } catch {
        program.send(SIGKILL)
        throw Command.Failure(description: "\(error)\n\(try String(contentsOfFile: log, encoding: .utf8))")
      }
      return program
    }

    /// Processes that name the farm's folder.
    func processes() -> [String] {
      let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
      return folders.filter { Int($0) != nil }.compactMap { id in
        let line = (try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(id)/cmdline"))) ?? Data()
        let text = String(decoding: line, as: UTF8.self).replacingOccurrences(of: "\0", with: " ")
        return text.contains(files.path("farm")) ? text : nil
      }
    }
  }

  @Test func `a farm in one command keeps its jobs and films when it is killed, and leaves nothing behind`()
    async throws
  {
    let farm = try OwnFarm()
    defer { farm.files.remove() }
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=10:duration=3", "-c:v", "mpeg4",
      farm.files.path("a.mkv"))
    let document = farm.files.path("edit.json")
    try Data(
      """
      {"sheaf": 1, "assets": {"a": "a.mkv"}, "tracks": [{"clips": [{"asset": "a", "use": "1..2"}]}],
        "export": {"to": "film.mkv", "video": {"codec": "ffv1"}}}
      """.utf8
    ).write(to: URL(fileURLWithPath: document))

    let first = try await farm.start()
    let submitted = try await farm.command("submit", document, "--wait").run()
    #expect(submitted.status == 0, "\(submitted.errors)")
    let another = try await farm.command("farm").run()
    #expect(another.status == 69 && another.errors.contains("another farm runs in"), "\(another.errors)")
    first.send(SIGKILL)
    first.wait()

    let second = try await farm.start()
    let job = String(submitted.output.prefix { $0 != "\n" })
    let fetched = try await farm.command("fetch", job, "-o", farm.files.path("film.mkv")).run()
    #expect(fetched.status == 0, "\(fetched.errors)")
    #expect(try await FrameHashes.video(farm.files.path("film.mkv")).frames.count == 10)
    second.send(SIGTERM)
    #expect(second.wait() == 0)
    #expect(farm.processes() == [])
  }

  @Test func `without PostgreSQL a farm keeps its jobs in memory, and says so`() async throws {
    let farm = try OwnFarm()
    defer { farm.files.remove() }
    let program = try await farm.start("--postgres", "none")
    let listed = try await farm.command("status", "--json").run()
    #expect(listed.status == 0, "\(listed.errors)")
    program.send(SIGTERM)
    #expect(program.wait() == 0)
    let log = try String(contentsOfFile: farm.log, encoding: .utf8)
    #expect(log.contains("jobs are kept in memory"), "\(log)")
  }
}
