import Foundation
import TestPrograms
import Testing

/// A film that goes to standard output.
@Suite(.ownThreads) struct StandardOutputTests {
  @Test func `a film in a container that can be streamed goes to standard output, and nothing else does`() async throws
  {
    let files = try Workspace()
    defer { files.remove() }
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=25:d=1", "-c:v", "ffv1", "-pix_fmt", "yuv420p",
      files.path("a.mkv"))
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "a.mkv" }, "tracks": [ { "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "film.mp4" } }
      """, to: "edit.json")
    let store = files.path("store")
    let render = Command.sheaf("render", edit, "-o", files.path("film.mp4"), "--store", store)
    try #require(try await render.run().status == 0)
    for (container, name) in [(nil, "film.mp4"), ("MKV", "film.mkv")] as [(String?, String)] {
      let options = container.map { ["--container", $0] } ?? []
      let command = Command.sheaf("render", edit, "-o", "-", "--store", store)
      let shell = Command(
        executable: "sh",
        arguments: [
          "-c", "exec \"$0\" \"$@\" > '\(files.path("stream"))'", command.executable,
        ] + command.arguments + options, environment: command.environment)
      let streamed = try await shell.run()
      #expect(streamed.status == 0 && streamed.errors.contains("done: standard output"), "\(streamed.errors)")
      if container == nil {
        #expect(
          try Data(contentsOf: URL(filePath: files.path("stream")))
            == Data(contentsOf: URL(filePath: files.path("film.mp4"))))
      }
      let format = try await Command.output(
        "sh", "-c", "ffprobe -v error -show_entries format=format_name -of csv=p=0 - < '\(files.path("stream"))'")
      #expect(format.contains(name == "film.mkv" ? "matroska" : "mp4"))
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: store + "/temporary").isEmpty)
    let others = try FileManager.default.contentsOfDirectory(atPath: store).filter { $0.contains("stream") }
    #expect(others.isEmpty)
  }

  @Test(arguments: [(SIGINT, 130, "interrupted"), (SIGTERM, 143, "ended by SIGTERM")] as [(Int32, Int32, String)])
  func `a film whose reader takes no more is interrupted`(signal: Int32, status: Int32, message: String) async throws {
    let files = try Workspace()
    defer { files.remove() }
    // Noise has more bytes than a pipe holds.
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=gray:size=320x240:rate=25:duration=1,noise=alls=100:allf=t",
      "-c:v", "ffv1", "-pix_fmt", "yuv420p", files.path("a.mkv"))
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "a.mkv" }, "tracks": [ { "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "film.mkv", "preset": "passthrough" } }
      """, to: "edit.json")
    let command = Command.sheaf("render", edit, "-o", "-", "--store", files.path("store"))
    let (pipe, log) = (Pipe(), files.path("errors"))
    _ = FileManager.default.createFile(atPath: log, contents: nil)
    let errors = try FileHandle(forWritingTo: URL(filePath: log))
    let program = try RunningProgram(
      command.executable, command.arguments,
      streams: .init(
        output: pipe.fileHandleForWriting.fileDescriptor, errors: errors.fileDescriptor))
    try pipe.fileHandleForWriting.close()
    let first: Data? = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(returning: try? pipe.fileHandleForReading.read(upToCount: 1))
      }
    }
    #expect(first == Data([0x1A]))
    program.send(signal)
    #expect(await program.end() == status)
    let text = try String(contentsOfFile: log, encoding: .utf8)
    #expect(text.contains(message) && !text.contains("done:"), "\(text)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: files.path("store/temporary")).isEmpty)
  }

  @Test(arguments: [
    (["--container", "mxf"], 65, "mxf cannot be read from a pipe; -o - writes mp4, mov, m4v, mkv, webm"),
    (["--container", "avi"], 65, "'avi' is no container"), (["--json"], 64, "both write to standard output"),
  ])
  func `what cannot be streamed is refused by name`(options: [String], status: Int32, message: String) async throws {
    let files = try Workspace()
    defer { files.remove() }
    let edit = try files.write(
      #"{ "sheaf": 1, "assets": {}, "tracks": [], "export": { "to": "film.mp4" } }"#, to: "edit.json")
    var command = Command.sheaf("render", edit, "-o", "-", "--store", files.path("store"))
    command.arguments += options
    let result = try await command.run()
    #expect(result.status == status && result.errors.contains(message), "\(result.errors)")
    #expect(result.output.isEmpty)
  }
}
