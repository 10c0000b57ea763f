import Foundation
import Testing

/// A transport stream whose clock starts anew in the middle, on the command line.
struct JoinedStreamTests {
  @Test func `a joined stream renders to all of its frames at any segmentation, and is warned of`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    var data = Data()
    for (part, offset) in ["0", "5000", "0"].enumerated() {
      let path = files.path("\(part).ts")
      _ = try await Command.output(
        "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=2", "-vf", "hue=h=\(part * 60)", "-c:v",
        "libx264", "-preset", "ultrafast", "-bf", "2", "-g", "12", "-output_ts_offset", offset, path)
      data += try Data(contentsOf: URL(fileURLWithPath: path))
    }
    let source = files.path("joined.ts")
    try data.write(to: URL(fileURLWithPath: source))
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "joined.ts" }, "tracks": [ { "clips": [ { "asset": "a", "use": "0..6" } ] } ],
        "export": { "to": "film.mkv", "video": { "codec": "ffv1" } } }
      """, to: "edit.json")

    let expected = try await FrameHashes.video(source).frames.map(\.hash)
    #expect(expected.count == 150)
    var films: [Data] = []
    for duration in ["1", "60"] {
      let film = files.path("film-\(duration).mkv")
      let render = try await Command.sheaf(
        "render", edit, "-o", film, "--store", files.path("store"), "--segment-duration", duration
      ).run()
      try #require(render.status == 0, "\(render.errors)")
      #expect(try await FrameHashes.video(film, pixelFormat: "yuv420p").frames.map(\.hash) == expected)
      films.append(try Data(contentsOf: URL(fileURLWithPath: film)))
    }
    #expect(films[0] == films[1])

    let check = try await Command.sheaf("check", edit, "--store", files.path("store")).run()
    #expect(check.status == 0)
    let probe = try await Command.sheaf("probe", source, "--store", files.path("store")).run()
    for warning in [
      "the timestamps jump by 124948/25 s at 2 s; what follows continues there",
      "the timestamps jump by -125048/25 s at 4 s; what follows continues there",
    ] {
      #expect(check.errors.contains("warning: asset 'a': \(warning)"), "\(check.errors)")
      #expect(probe.output.contains("warning: \(warning)"), "\(probe.output)")
    }
  }
}
