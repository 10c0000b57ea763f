import Foundation
import TestPrograms
import Testing

/// Films whose clips are measured before they are planned.
@Suite(.ownThreads) struct StabilizedFilmTests {
  /// Where the first clip ends, and the number of frames.
  private static let (end, frames) = TestExtent.of(("6.5", 178), whole: ("11.5", 303))

  private static let document = """
    { "sheaf": 1, "assets": { "walk": "walk.mkv", "inner": { "document": "inner.json" } },
      "tracks": [
        { "id": "A", "clips": [ { "asset": "walk", "use": "0.4..\(end)", "stabilize": { "smoothing": 0.7 } },
                                { "asset": "inner", "use": "0..1.5", "transition": 0.5 } ] } ],
      "videoComposition": { "renderSize": [320, 240], "frameRate": 25 },
      "export": { "to": "film.mkv", "video": { VIDEO } } }
    """
  private static let inner = """
    { "sheaf": 1, "assets": { "walk": "walk.mkv" },
      "tracks": [ { "clips": [ { "asset": "walk", "use": "12..14", "stabilize": true, "reverse": true } ] } ],
      "videoComposition": { "renderSize": [320, 240], "frameRate": 25 }, "export": { "to": "inner.mp4" } }
    """

  private let files: Workspace

  init() throws {
    files = try Workspace()
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=400x300:rate=25:duration=15", "-f", "lavfi", "-i",
      "sine=frequency=440:duration=15", "-c:a", "pcm_s16le", "-vf",
      "crop=320:240:'40+9*sin(n*1.3)':'30+7*cos(n*1.7)'", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-g", "30",
      files.path("walk.mkv"),
    ])
    _ = try files.write(Self.inner, to: "inner.json")
  }

  private func film(_ name: String, _ video: String, segments: String) async throws -> String {
    let document = try files.write(Self.document.replacing("VIDEO", with: video), to: "film.json")
    let film = files.path(name)
    let made = try await TestFilm.render(document, film, segmentDuration: segments)
    try #require(made.status == 0, "\(made.errors)")
    return film
  }

  @Test func `a film is the same however it is cut, and pictures of it are its frames`() async throws {
    defer { files.remove() }
    let lossless = #""codec": "ffv1", "pixelFormat": "yuv420p""#
    let whole = try await film("whole.mkv", lossless, segments: "60")
    let hashes = try await FrameHashes.video(whole).frames.map(\.hash)
    #expect(hashes.count == Self.frames && Set(hashes).count == Self.frames)
    let cut = try await film("cut.mkv", lossless, segments: "2")
    #expect(try await FrameHashes.video(cut).frames.map(\.hash) == hashes)
    var pictures: [Data] = []
    for source in ["film.json", "whole.mkv"] {
      let picture = files.path("picture.png")
      let made = try await Command(
        executable: Place.products.appendingPathComponent("sheaf").path,
        arguments: ["image", files.path(source), "--at", "4.32", "-o", picture, "--store", files.path("store")]
      ).run()
      try #require(made.status == 0, "\(made.errors)")
      pictures.append(
        try Tool.ffmpeg(["-i", picture, "-pix_fmt", "rgb24", "-f", "rawvideo", "-"]))
    }
    #expect(pictures[0] == pictures[1])
  }

  @Test func `a film in which no motion is found says so`() async throws {
    defer { files.remove() }
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "color=gray:size=160x120:rate=25:duration=1", "-c:v", "ffv1", files.path("still.mkv"),
    ])
    let document = try files.write(
      """
      { "sheaf": 1, "assets": { "still": "still.mkv" },
        "tracks": [ { "clips": [ { "asset": "still", "stabilize": true } ] } ], "export": { "to": "film.mkv" } }
      """, to: "still.json")
    let made = try await TestFilm.render(document, files.path("still-film.mkv"))
    #expect(made.status == 0 && made.errors.contains("no motion was found in the pictures of 'still'"), "\(made)")
  }

  /// The segments are measured too, after the motion.
  @Test func `a film with an average bit rate is stabilized`() async throws {
    defer { files.remove() }
    let made = try await film("film.mp4", #""codec": "h264", "bitRate": 300000"#, segments: "3")
    #expect(try await FrameHashes.video(made).frames.count == Self.frames)
  }
}
