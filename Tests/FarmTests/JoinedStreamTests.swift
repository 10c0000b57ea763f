import Foundation
import TestPrograms
import Testing

/// A transport stream whose clock starts anew in the middle, on the command line.
@Suite(.ownThreads) struct JoinedStreamTests {
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
      let render = try await TestFilm.render(edit, film, segmentDuration: duration)
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
      #expect(check.errors.contains("warning: /assets/a: \(warning)"), "\(check.errors)")
      #expect(probe.output.contains("warning: \(warning)"), "\(probe.output)")
    }
  }

  @Test func `sound whose sample rate changes is rendered whole and at its pitch, and is warned of`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    var data = Data()
    for rate in ["44100", "48000"] {
      let path = files.path("\(rate).aac")
      _ = try await Command.output(
        "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "sine=f=1000:d=2:r=\(rate)", "-c:a", "aac", path)
      data += try Data(contentsOf: URL(fileURLWithPath: path))
    }
    try data.write(to: URL(fileURLWithPath: files.path("joined.aac")))
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "joined.aac" }, "tracks": [ { "type": "audio", "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "film.wav" } }
      """, to: "edit.json")
    let film = files.path("film.wav")
    let render = try await TestFilm.render(edit, film)
    try #require(render.status == 0, "\(render.errors)")
    let duration = try await Command.output(
      "ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", film)
    #expect(abs(try #require(Double(duration.trimmingCharacters(in: .whitespacesAndNewlines))) - 4.07) < 0.03)
    // All but the tone of 1 kHz is removed at once, so that nothing is left of a tone at another pitch.
    let rest = try await Command.output(
      "sh", "-c",
      "ffmpeg -hide_banner -ss 2.5 -i \(film) -af bandreject=f=1000:width_type=h:w=60,volumedetect -f null - 2>&1")
    let level = try #require(rest.firstMatch(of: /mean_volume: (-[0-9.]+) dB/)?.1)
    #expect(try #require(Double(level)) < -35, "\(level) dB of \(duration) s")

    let warning = "the sound of track 0 changes to mono at 48000 Hz at "
    let check = try await Command.sheaf("check", edit, "--store", files.path("store")).run()
    #expect(check.status == 0)
    #expect(check.errors.contains("warning: /assets/a: \(warning)"), "\(check.errors)")
    let probe = try await Command.sheaf("probe", files.path("joined.aac"), "--store", files.path("store")).run()
    #expect(probe.output.contains("warning: \(warning)"), "\(probe.output)")
  }
}
