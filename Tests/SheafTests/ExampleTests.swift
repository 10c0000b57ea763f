import Client
import Foundation
import LocalFarm
import Sheaf
import TestPrograms
import Testing
import Wire

/// The examples of `Examples`, which `docs/from-avfoundation.md` explains.
@Suite(.ownThreads, .serialized) struct ExampleTests {
  private let media: SmallMedia

  init() throws { media = try SmallMedia() }

  private static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()

  /// Runs an example to its end on a thread of its own, and returns what it printed.
  private func run(
    _ name: String, _ arguments: [String], status: Int32 = 0, farm: CoordinatorClient.Endpoint? = nil
  ) async throws -> String {
    var environment = ["XDG_CACHE_HOME": media.folder.path("cache")]
    if let farm {
      environment["SHEAF_COORDINATOR"] = farm.place
      environment["SHEAF_TOKEN"] = farm.token
    }
    let folder = try TemporaryFolder()
    let output = try folder.create("output")
    let program = try RunningProgram(
      Self.products.appendingPathComponent(name).path, arguments, environment: environment,
      streams: .init(output: output.fileDescriptor, errors: output.fileDescriptor))
    let ended: Int32 = await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: program.wait()) }
    }
    let text = try String(decoding: Data(contentsOf: folder.url.appendingPathComponent("output")), as: UTF8.self)
    #expect(ended == status, "\(name) printed: \(text)")
    return text
  }

  /// Runs an example on one machine and on a farm, which must make the same file.
  private func compare(_ name: String, _ arguments: (_ output: String) -> [String], output: String) async throws -> URL
  {
    let (one, farm) = (media.folder.path("one-\(output)"), media.folder.path("farm-\(output)"))
    _ = try await run(name, arguments(one))
    var configuration = try LocalFarm.Configuration(store: media.folder.path("store-of-farm"), slots: 2)
    configuration.workerExecutable = try LocalWorker.find()
    let onFarm = arguments(farm)
    try await LocalFarm.run(configuration) { local in
      _ = try await run(name, onFarm, farm: local.endpoint)
    }
    let isSame = try Data(contentsOf: URL(fileURLWithPath: one)) == Data(contentsOf: URL(fileURLWithPath: farm))
    #expect(isSame, "\(name) made another file on a farm")
    return URL(fileURLWithPath: one)
  }

  @Test func `a film is encoded again by reader and writer`() async throws {
    let film = media.folder.path("again.mp4")
    let printed = try await run("ExampleReencode", [media.folder.path("one.mp4"), film])
    #expect(printed.hasPrefix("75 frames, 144000 samples"))
    let streams = try Tool.ffprobe(
      "-count_frames", "-show_entries", "stream=codec_name,width,height,nb_read_frames", film)
    #expect(streams.first == ["h264", "80", "44", "75"])
    #expect(streams.last?.first == "aac")
    #expect(try Tool.result(of: "ffmpeg", ["-v", "warning", "-i", film, "-f", "null", "-"]).log == "")
  }

  @Test func `a film is encoded again in task processes`() async throws {
    let film = try await compare(
      "ExampleReencode", { [media.folder.path("one.mp4"), $0, "--confined"] }, output: "again.mp4")
    let frames = try Tool.ffprobe(
      "-count_frames", "-select_streams", "v", "-show_entries", "stream=width,height,nb_read_frames", film.path)
    #expect(frames == [["80", "44", "75"]])
  }

  @Test func `two clips are edited on one machine and on a farm`() async throws {
    let film = try await compare(
      "ExampleEditing",
      { output in ["one.mp4", "two.mp4", "two.mp4", "logo.png"].map(media.folder.path) + [output] }, output: "edit.mp4")
    let frames = try Tool.ffprobe(
      "-count_frames", "-select_streams", "v", "-show_entries", "stream=width,height,nb_read_frames", film.path)
    #expect(frames == [["640", "360", "75"]])
    // The logo is red, and in the corner at the end.
    let corner = try Tool.ffmpeg(
      "-ss", "2.9", "-i", film.path, "-frames:v", "1", "-vf", "crop=8:8:580:300", "-f", "rawvideo", "-pix_fmt", "rgb24",
      "-")
    #expect(corner[0] > 150 && corner[1] < 90 && corner[2] < 90)
  }

  @Test func `a part of a film is exported`() async throws {
    let film = try await compare(
      "ExampleExport", { [media.folder.path("one.mp4"), $0, "1", "5/2"] }, output: "part.mov")
    #expect(
      try Tool.ffprobe("-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames", film.path)
        == [["38"]])
    #expect(try Tool.ffprobe("-show_entries", "format_tags=title", film.path).contains { $0.last == "one" })
    let printed = try await run(
      "ExampleExport", [media.folder.path("one.mp4"), media.folder.path("part.avi"), "1", "2"], status: 65)
    #expect(printed.contains("must end in one of"))
  }
}
