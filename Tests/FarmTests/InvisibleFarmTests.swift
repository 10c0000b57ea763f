import Foundation
import TestPrograms
import Testing

/// *The farm is invisible*: the same document gives the same bytes, however it was rendered.
@Suite(.ownThreads, .serialized)
struct InvisibleFarmTests {
  /// The example film with few pixels, of media that have as few: an encoder and decoders are quick about them.
  static func smallFilm(_ size: String = "[192, 108]") async throws -> String {
    let media = try await smallMedia.value
    return try String(contentsOfFile: Place.example("first-film.json"), encoding: .utf8)
      .replacingOccurrences(of: "\"media/", with: "\"\(media)/")
      .replacingOccurrences(of: "[1280, 720]", with: size)
      .replacingOccurrences(of: "\"preset\": \"medium\"", with: "\"preset\": \"veryfast\"")
  }

  /// Removed when the tests end.
  private static let mediaFolder: Workspace = {
    do {
      let made = try Workspace()
      atexit { InvisibleFarmTests.mediaFolder.remove() }
      return made
    } catch {
      fatalError("no folder for the media of the tests: \(error)")
    }
  }()

  /// The folder of the example's media, made once: the pictures of its films are smaller.
  static let smallMedia = Task {
    let folder = mediaFolder
    for name in ["belly-button.ogg", "logo.png"] {
      try FileManager.default.copyItem(
        atPath: Place.example("media/\(name)"), toPath: folder.path(name))
    }
    for (name, encoder) in [
      ("flower.mp4", ["libx264", "-g", "60"]), ("big-buck-bunny-trailer.mp4", ["libx264", "-g", "120"]),
      ("stream-of-water.webm", ["libvpx", "-g", "60", "-deadline", "realtime"]),
    ] {
      _ = try Tool.ffmpeg(
        ["-i", Place.example("media/\(name)"), "-t", "30", "-vf", "scale=192:-2", "-c:a", "copy", "-c:v"] + encoder
          + [folder.path(name)])
    }
    return folder.url.path
  }

  /// A document's film, cut in several ways.
  /// - Parameter cuts: How many segments are wanted, and the duration for it.
  private static func films(
    of edit: String, in files: Workspace, cuts: [(count: Int, duration: String)]
  ) async throws -> [(count: Int, segments: Int, frames: [FrameHashes.Frame])] {
    var films: [(count: Int, segments: Int, frames: [FrameHashes.Frame])] = []
    for (count, duration) in cuts {
      let film = files.path("film-\(count).mkv")
      let render = try await TestFilm.render(edit, film, segmentDuration: duration)
      try #require(render.status == 0, "\(render.errors)")
      let summary = try JSONSerialization.jsonObject(with: Data(render.output.utf8)) as? [String: Any]
      let segments = try #require(summary?["segments"] as? Int)
      films.append((count, segments, try await FrameHashes.video(film).frames))
    }
    return films
  }

  @Test
  func `any cut into segments decodes to the same pictures`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let edit = try files.write(
      try await Self.smallFilm("[160, 90]")
        .replacingOccurrences(
          of: #"{ "codec": "h264", "quality": 21, "preset": "veryfast" }"#,
          with: #"{ "codec": "ffv1", "pixelFormat": "yuv420p" }"#
        )
        .replacingOccurrences(of: "first-film.mp4", with: "first-film.mkv"), to: "edit.json")
    let films = try await Self.films(
      of: edit, in: files,
      cuts: TestExtent.of([(1, "100"), (7, "11/7")], whole: [(1, "100"), (7, "11/7"), (40, "11/40")]))
    for film in films {
      #expect(abs(film.segments - film.count) <= film.count / 7, "\(film.segments) segments for \(film.count)")
    }
    #expect(films[0].frames.count == 330)
    for film in films.dropFirst() { #expect(film.frames == films[0].frames, "\(film.count) segments") }
  }

  /// By way of light from BT.601 and from HDR10, by the matrix alone, and where they are scaled, turned and moved.
  @Test
  func `any cut into segments decodes to the same pictures where colours are converted`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    for (name, format, tags, options) in [
      ("old", "yuv420p", ["smpte170m", "smpte170m", "smpte170m"], ["-c:v", "libx264", "-preset", "veryfast"]),
      (
        "hdr", "yuv420p10le", ["bt2020", "smpte2084", "bt2020nc"],
        ["-c:v", "libx265", "-x265-params", "log-level=none"]
      ),
      ("matrix", "yuv422p", ["bt709", "bt709", "smpte170m"], ["-c:v", "libx264", "-preset", "veryfast"]),
    ] {
      let colours = ["-color_primaries", tags[0], "-color_trc", tags[1], "-colorspace", tags[2]]
      let command = Command(
        executable: "ffmpeg",
        arguments: [
          "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=192x108:r=25:d=6", "-vf", "format=\(format)", "-g", "3",
        ] + colours + options + [files.path("\(name).mov")])
      let made = try await command.run()
      try #require(made.status == 0, "\(made.errors)")
    }
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "old": "old.mov", "hdr": "hdr.mov", "matrix": "matrix.mov" },
        "tracks": [
          { "clips": [ { "asset": "hdr", "use": "1..4", "at": "1", "frame": [9, 7, 80, 45],
                         "transform": { "rotate": 12 } } ] },
          { "clips": [ { "asset": "old", "use": "0.5..4" }, { "asset": "hdr", "use": "1.3..4.8" },
                       { "asset": "matrix", "use": "0..3", "fit": "cover" } ] } ],
        "videoComposition": { "renderSize": [160, 90], "frameDuration": "1/25", "color": "bt709" },
        "export": { "to": "film.mkv", "video": { "codec": "ffv1", "pixelFormat": "yuv420p" } } }
      """, to: "edit.json")
    // The document asks for it.
    let check = try await Command.sheaf("check", edit, "--strict").run()
    #expect(check.status == 0, "\(check)")
    let films = try await Self.films(
      of: edit, in: files,
      cuts: TestExtent.of([(1, "100"), (7, "10/7")], whole: [(1, "100"), (7, "10/7"), (40, "6/25")]))
    #expect(films[0].segments < 7)
    for film in films.dropFirst() {
      #expect(film.segments >= film.count * 3 / 4, "\(film.segments) segments for \(film.count)")
    }
    #expect(films[0].frames.count == 250)
    for film in films.dropFirst() { #expect(film.frames == films[0].frames, "\(film.count) segments") }
  }

  @Test
  func `one, two and four slots, and a farm whose worker is killed half way, make the same file`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let edit = try files.write(await Self.smallFilm(), to: "edit.json")
    let numbers = TestExtent.of(["1", "4"], whole: ["1", "2", "4"])
    for slots in numbers {
      let render = try await Command.sheaf(
        "render", edit, "-o", files.path("\(slots).mp4"), "--workers", slots, "--store", files.path("store-\(slots)")
      ).run()
      try #require(render.status == 0, "\(render.errors)")
    }
    let farm = try await Farm(workers: 3, slots: 1)
    defer { farm.stop() }
    let submit = try await farm.sheaf("submit", edit, "--wait", "-o", files.path("farm.mp4")).run()
    try #require(submit.status == 0, "\(submit.errors)")
    // No job runs any more, so watching all of them ends.
    let watch = try await farm.sheaf("status", "--watch").run()
    #expect(watch.status == 0 && watch.output.contains("done: 330 frames"), "\(watch.output) \(watch.errors)")

    // In a new farm each time: this one has the pieces of a film that was done too soon.
    var wasKilled = false
    while !wasKilled {
      let farm = try await Farm(workers: 3, slots: 1)
      defer { farm.stop() }
      let job = try await farm.sheaf("submit", edit).run().output.trimmingCharacters(in: .whitespacesAndNewlines)
      wasKilled = try await farm.killWorker(0, whenRendering: job)
      try await farm.waitUntil(job: job) { $0.state == "done" }
      let fetch = try await farm.sheaf("fetch", job, "-o", files.path("killed.mp4")).run()
      try #require(fetch.status == 0, "\(fetch.errors)")
    }

    let expected = try Data(contentsOf: URL(fileURLWithPath: files.path("1.mp4")))
    #expect(expected.count > 50_000)
    for name in numbers.dropFirst().map({ "\($0).mp4" }) + ["farm.mp4", "killed.mp4"] {
      #expect(try Data(contentsOf: URL(fileURLWithPath: files.path(name))) == expected, "\(name)")
    }
  }

  @Test
  func `a render that was killed goes on from its pieces and makes the same file`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    let edit = try files.write(await Self.smallFilm(), to: "edit.json")
    let store = files.path("store")
    let killed = try Command.sheaf("render", edit, "-o", files.path("film.mp4"), "--workers", "1", "--store", store)
      .start()
    try await eventually("a piece in the content store") {
      let results =
        FileManager.default.enumerator(atPath: store + "/fingerprints")?.allObjects.compactMap { $0 as? String } ?? []
      // Five probe tasks and that of the fonts, then pieces.
      return results.filter { $0.count > 3 }.count >= 7
    }
    killed.send(SIGKILL)
    killed.wait()
    #expect(!FileManager.default.fileExists(atPath: files.path("film.mp4")))

    let again = try await Command.sheaf("render", edit, "-o", files.path("film.mp4"), "--json", "--store", store).run()
    try #require(again.status == 0, "\(again.errors)")
    let fresh = try await Command.sheaf("render", edit, "-o", files.path("fresh.mp4"), "--store", files.path("other"))
      .run()
    try #require(fresh.status == 0, "\(fresh.errors)")
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: files.path("film.mp4")))
        == Data(contentsOf: URL(fileURLWithPath: files.path("fresh.mp4"))))
  }
}
