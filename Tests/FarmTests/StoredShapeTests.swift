import Foundation
import TestPrograms
import Testing

/// `pixelAspect` and `cleanAperture` of films that are encoded, as ffprobe and ffmpeg read them.
@Suite(.ownThreads) struct StoredShapeTests {
  private let files: Workspace

  init() throws {
    files = try Workspace()
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=384x288:rate=25:duration=1", "-c:v", "ffv1", files.path("clip.mkv"))
  }

  private func render(_ name: String, _ export: String) async throws -> TestFilm {
    let edit = try files.write(
      #"{"sheaf": 1, "assets": {"a": "clip.mkv"}, "tracks": [{"clips": [{"asset": "a"}]}], "export": \#(export)}"#,
      to: "edit.json")
    return try await TestFilm.render(edit, files.path(name))
  }

  private func shape(_ name: String) throws -> [[String]] {
    try Tool.ffprobe("-show_entries", "stream=width,height,sample_aspect_ratio", files.path(name))
  }

  private static let films: [(String, String, Bool)] = TestExtent.of(
    [("mp4", "h264", true), ("mov", "hevc", false), ("webm", "vp9", true)],
    whole: [
      ("mp4", "h264", true), ("mov", "hevc", false), ("mkv", "ffv1", true), ("webm", "vp9", true),
      ("mp4", "h264", false),
    ])

  @Test(arguments: films)
  func `a film is stored with the pixels that it asks for`(
    container: String, codec: String, indexFirst: Bool
  ) async throws {
    defer { files.remove() }
    let film = "film.\(container)"
    let isMovie = container == "mp4" || container == "mov"
    let aperture = isMovie ? #", "cleanAperture": [4, 0, 352, 288]"# : ""
    let result = try await render(
      film,
      #"{"optimizeForNetworkUse": \#(indexFirst), "video": {"codec": "\#(codec)", "pixelAspect": [16, 15]\#(aperture)}}"#
    )
    #expect(result.status == 0, "\(result.errors)")
    #expect(try shape(film) == [["360", "288", "16:15"]])
    // All of the picture is there, as ffmpeg scales it.
    let filters = "[1]scale=360:288:flags=bicubic,setsar=1[a];[0]setsar=1[b];[b][a]psnr"
    let log = try Tool.run(
      "ffmpeg", ["-i", files.path(film), "-i", files.path("clip.mkv"), "-lavfi", filters, "-f", "null", "-"]
    ).log
    let average = try #require(log.firstMatch(of: /average:([0-9.]+)/)?.1)
    #expect(try #require(Double(average)) > 28)
    let probe = try await Command(
      executable: Command.sheaf().executable, arguments: ["probe", "--store", files.path("store"), files.path(film)]
    ).run()
    #expect(probe.output.contains("pixel aspect 16:15"))
    #expect(probe.output.contains("clean aperture 352x288 at (4, 0)") == isMovie)
  }

  @Test func `each output has its own shape`() async throws {
    defer { files.remove() }
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "clip.mkv" }, "tracks": [ { "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "\(files.path("large.mp4"))", "video": { "pixelAspect": [12, 11] }, "outputs": [
          { "name": "large", "container": "mp4" },
          { "name": "small", "container": "mkv", "height": 144, "video": { "pixelAspect": [4, 3] } } ] } }
      """, to: "ladder.json")
    let result = try await Command.sheaf("render", edit, "-o", files.path("films"), "--store", files.path("store"))
      .run()
    #expect(result.status == 0, "\(result.errors)")
    // 384 x 11/12, and 192 x 3/4.
    #expect(try shape("films/large.mp4") == [["352", "288", "12:11"]])
    #expect(try shape("films/small.mkv") == [["144", "144", "4:3"]])
  }

  @Test func `what a container cannot state is refused`() async throws {
    defer { files.remove() }
    let matroska = try await render("film.mkv", #"{"video": {"cleanAperture": [0, 0, 64, 64]}}"#)
    #expect(matroska.errors.contains("mkv cannot state a clean aperture: mp4, mov, m4v can"))
    let large = try await render("film.mp4", #"{"video": {"pixelAspect": [2, 1], "cleanAperture": [9, 0, 190, 288]}}"#)
    #expect(large.errors.contains("190x288 at (9, 0) is not within the stored pictures of 192x288"))
    let thin = try await render("film.mp4", #"{"video": {"pixelAspect": [40, 1]}}"#)
    #expect(thin.errors.contains("should not be narrower than 1 to 16 or wider than 16 to 1"))
  }
}
