import Foundation
import TestPrograms
import Testing

/// A film with several outputs: each has the bytes that it has alone, and all share their pictures and their sound.
@Suite(.ownThreads) struct LadderTests {
  /// Three seconds of pictures that change and a tone.
  private static func source(_ path: String) async throws {
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=192x108:r=25:d=1.5", "-f", "lavfi", "-i",
      "mandelbrot=s=192x108:r=25:end_pts=200", "-f", "lavfi", "-i", "sine=330:sample_rate=48000:duration=3",
      "-filter_complex", "[1:v]trim=duration=1.5[b];[0:v][b]concat,format=yuv420p[v]", "-map", "[v]", "-map", "2:a",
      "-c:v", "ffv1", "-g", "1", "-c:a", "pcm_s16le", path)
  }

  private static func document(_ export: String) -> String {
    """
    { "sheaf": 1, "assets": { "a": "source.mkv" },
      "tracks": [ { "id": "A", "type": "video", "sound": true, "clips": [ { "asset": "a" } ] } ],
      "videoComposition": { "renderSize": [192, 108], "frameDuration": "1/25" },
      "export": \(export) }
    """
  }

  private static let h264 = #""codec": "h264", "quality": 24, "preset": "veryfast", "keyframeInterval": 20"#
  private static let rate = #""codec": "h264", "bitRate": 200000, "preset": "veryfast", "keyframeInterval": 20"#
  private static let vp9 = #""codec": "vp9", "quality": 40, "preset": "5", "keyframeInterval": 20"#

  private static let ladder = """
    { "video": { \(h264) }, "metadata": { "title": "Renditions" },
      "outputs": [
        { "name": "high", "container": "mp4" },
        { "name": "low", "container": "mp4", "height": 54, "video": { "quality": 28 } },
        { "name": "rate", "container": "mov", "video": { "bitRate": 200000 } },
        { "name": "web", "container": "webm", "video": { "codec": "vp9", "quality": 40, "preset": "5" } },
        { "name": "sound", "container": "m4a", "video": false, "audio": { "bitRate": 96000 } } ] }
    """

  private func render(_ edit: String, _ output: String, _ store: String, _ options: String...) async throws {
    var command = Command.sheaf("render", edit, "-o", output, "--store", store, "--segment-duration", "1")
    command.arguments += options
    let result = try await command.run()
    try #require(result.status == 0, "\(result.errors)")
  }

  private func isEqual(_ a: String, _ b: String) -> Bool { FileManager.default.contentsEqual(atPath: a, andPath: b) }

  private func sound(_ film: String) async throws -> String {
    try await Command.output("ffmpeg", "-v", "error", "-i", film, "-map", "0:a", "-c", "copy", "-f", "md5", "-")
  }

  private func keyframes(_ film: String) async throws -> [Double] {
    let text = try await Command.output(
      "ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "packet=pts_time,flags", "-of", "csv=p=0",
      film)
    return text.split(separator: "\n").filter { $0.contains("K") }.compactMap { line in
      line.split(separator: ",").first.flatMap { Double($0) }
    }.sorted()
  }

  @Test func `each output has the bytes that it has alone, whatever the number of workers`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let edit = try files.write(Self.document(Self.ladder), to: "edit.json")
    let one = files.path("new/one")
    try await render(edit, one, files.path("store-1"), "--workers", "1")
    let names = ["high.mp4", "low.mp4", "rate.mov", "sound.m4a", "web.webm"]
    #expect(try FileManager.default.contentsOfDirectory(atPath: one).sorted() == names)
    // The films alone are of three workers.
    if TestExtent.isWhole {
      try await render(edit, files.path("three"), files.path("store-3"), "--workers", "3")
      for name in names { #expect(isEqual("\(one)/\(name)", files.path("three/\(name)")), "\(name)") }
    }

    let metadata = #""metadata": { "title": "Renditions" }"#
    let alone = [
      ("high.mp4", "\"video\": { \(Self.h264), \"sceneCuts\": false }"),
      ("rate.mov", "\"video\": { \(Self.rate), \"sceneCuts\": false }"),
      ("web.webm", "\"video\": { \(Self.vp9), \"sceneCuts\": false }"),
      ("sound.m4a", #""video": false, "audio": { "bitRate": 96000 }"#),
    ]
    for (name, settings) in alone {
      let single = try files.write(Self.document("{ \(settings), \(metadata) }"), to: "single.json")
      let film = try await TestFilm.render(single, files.path(name), segmentDuration: "1")
      try #require(film.status == 0, "\(film.errors)")
      #expect(isEqual(files.path(name), "\(one)/\(name)"), "\(name)")
    }
    let high = "\(one)/high.mp4"
    #expect(try await sound(high) == sound("\(one)/low.mp4"))
    #expect(try await sound(high) == sound("\(one)/rate.mov"))
    let times = try await keyframes(high)
    #expect(times.count > 3)
    for name in names where name != "sound.m4a" {
      let found = try await keyframes("\(one)/\(name)")
      #expect(found.count == times.count, "\(name): \(found)")
      #expect(zip(found, times).allSatisfy { abs($0 - $1) < 0.002 }, "\(name): \(found)")
    }
    let size = try await Command.output(
      "ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "stream=width,height", "-of", "csv=p=0",
      "\(one)/low.mp4")
    #expect(size.hasPrefix("96,54"))
  }

  @Test func `the pictures of a smaller output are those of the film, scaled`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let edit = try files.write(
      Self.document(
        """
        { "video": { "codec": "ffv1" }, "audio": { "codec": "flac" }, "to": "films",
          "outputs": [ { "name": "small", "container": "mkv", "size": [88, 48] },
            { "name": "whole", "container": "mkv" },
            { "name": "large", "container": "mkv", "height": 216, "audio": { "codec": "pcm" } } ] }
        """), to: "edit.json")
    let result = try await Command.sheaf(
      "render", edit, "--store", files.path("store"), "--segment-duration", "1", "--json"
    ).run()
    try #require(result.status == 0, "\(result.errors)")
    #expect(result.errors.contains("/export/outputs/2/height: the film's pictures of 192x108 are enlarged to 384x216"))
    let whole = files.path("films/whole.mkv")
    // ffmpeg's own default has the chroma of 4:2:0 in the middle, and not at the left.
    let flags = "in_h_chr_pos=0:out_h_chr_pos=0:flags=bicubic+accurate_rnd+bitexact"
    let film = try await FrameHashes.video(whole).frames
    #expect(try await film == FrameHashes.video(files.path("source.mkv")).frames)
    #expect(
      try await FrameHashes.video(files.path("films/small.mkv")).frames
        == FrameHashes.video(whole, filter: "scale=88:48:\(flags)").frames)
    #expect(
      try await FrameHashes.video(files.path("films/large.mkv")).frames
        == FrameHashes.video(whole, filter: "scale=384:216:\(flags)").frames)
    let summary = try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    let outputs = try #require(summary["outputs"] as? [[String: Any]])
    #expect(outputs.compactMap { $0["file"] as? String } == ["small.mkv", "whole.mkv", "large.mkv"])
    let sum = try await Command.output("sha256sum", whole)
    #expect(outputs[1]["digest"] as? String == String(sum.prefix(64)))
    #expect(outputs[1]["path"] as? String == files.path("films/whole.mkv"))
  }

  @Test func `a farm makes the same files, and they are fetched into a folder`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let edit = try files.write(
      Self.document(
        """
        { "video": { \(Self.h264) },
          "outputs": [ { "name": "high", "container": "mp4" }, { "name": "low", "container": "mkv", "height": 54 } ] }
        """), to: "edit.json")
    let local = try await TestFilm.render(edit, files.path("local"), segmentDuration: "1")
    try #require(local.status == 0, "\(local.errors)")
    let farm = try await Farm(workers: 2, slots: 1)
    defer { farm.stop() }
    let submit = try await farm.sheaf(
      "submit", edit, "--wait", "--segment-duration", "1", "-o", files.path("waited")
    ).run()
    try #require(submit.status == 0, "\(submit.errors)")
    let job = submit.output.trimmingCharacters(in: .whitespacesAndNewlines)
    let fetch = try await farm.sheaf("fetch", job, "-o", files.path("fetched"), "--json").run()
    try #require(fetch.status == 0, "\(fetch.errors)")
    for folder in ["waited", "fetched"] {
      let names = try FileManager.default.contentsOfDirectory(atPath: files.path(folder)).sorted()
      #expect(names == ["high.mp4", "low.mkv"])
      for name in ["high.mp4", "low.mkv"] {
        #expect(isEqual(files.path("\(folder)/\(name)"), files.path("local/\(name)")), "\(folder)/\(name)")
      }
    }
    let status = try await farm.sheaf("status", job).run()
    #expect(status.output.contains("low.mkv: h264 96x54, quality 24.0"), "\(status.output)")
    #expect(status.output.contains("-o FOLDER"))
    let file = try files.write("kept", to: "file")
    let refused = try await farm.sheaf("fetch", job, "-o", file).run()
    #expect(refused.status == 65 && refused.errors.contains("has several outputs, and \(file) is a file"))
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "kept")
  }

  @Test func `outputs go to a folder and nowhere else`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let edit = try files.write(
      Self.document(#"{ "outputs": [ { "name": "high", "container": "mp4" } ] }"#), to: "edit.json")
    let store = files.path("store")
    let stream = try await Command.sheaf("render", edit, "-o", "-", "--store", store).run()
    #expect(stream.status == 65 && stream.errors.contains("several outputs, which standard output cannot take"))
    #expect(stream.output.isEmpty)
    let nowhere = try await Command.sheaf("render", edit, "--store", store).run()
    #expect(nowhere.status == 64 && nowhere.errors.contains("name the folder of its outputs with -o"))
    let file = try files.write("kept", to: "file")
    let refused = try await Command.sheaf("render", edit, "-o", file, "--store", store).run()
    #expect(refused.status == 65 && refused.errors.contains("is not a folder"), "\(refused.errors)")
    try FileManager.default.createSymbolicLink(atPath: files.path("link"), withDestinationPath: files.path("nothing"))
    let dangling = try await Command.sheaf("render", edit, "-o", files.path("link"), "--store", files.path("store"))
      .run()
    #expect(dangling.status == 65 && dangling.errors.contains("symbolic link"), "\(dangling.errors)")
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "kept")
    let plan = try await Command.sheaf("plan", edit, "--store", store).run()
    #expect(plan.output.contains("output: high.mp4: h264 192x108"), "\(plan.output) \(plan.errors)")
    // A render that fails leaves what was there.
    let folder = files.path("films")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try "old".write(toFile: folder + "/high.mp4", atomically: true, encoding: .utf8)
    let strict = try await Command.sheaf("render", edit, "-o", folder + "/high.mp4", "--store", store).run()
    #expect(strict.status == 65)
    #expect(try String(contentsOfFile: folder + "/high.mp4", encoding: .utf8) == "old")
  }

  /// Of two outputs.
  private static let pair = """
    { "video": { \(h264) }, "outputs": [
        { "name": "low", "container": "mp4", "height": 54 },
        { "name": "sound", "container": "m4a", "video": false, "audio": { "bitRate": 96000 } } ] }
    """

  private static let interruptions: [(Int32, Int32, String, [String])] = [
    TestExtent.of(
      (SIGINT, 130, pair, ["low.mp4", "sound.m4a"]),
      whole: (SIGINT, 130, ladder, ["high.mp4", "low.mp4", "rate.mov", "sound.m4a", "web.webm"])),
    (SIGTERM, 143, pair, ["low.mp4", "sound.m4a"]),
  ]

  @Test(arguments: interruptions)
  func `an interrupted render leaves the earlier files, and the next one makes the right ones`(
    signal: Int32, code: Int32, outputs: String, names: [String]
  ) async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let edit = try files.write(Self.document(outputs), to: "edit.json")
    let (films, store) = (files.path("films"), files.path("store"))
    try FileManager.default.createDirectory(atPath: films, withIntermediateDirectories: true)
    try "earlier".write(toFile: films + "/low.mp4", atomically: true, encoding: .utf8)
    let errors = Pipe()
    let render = try Command.sheaf("render", edit, "-o", films, "--store", store, "--segment-duration", "1")
      .start(errors: errors.fileHandleForWriting)
    try errors.fileHandleForWriting.close()
    // On a thread of its own, which no other test delays.
    let printed: String = await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        // The film is planned, and its segments are rendered.
        let isRendered = #/rendering: \d+/[1-9]/#
        var (text, isSent) = ("", false)
        while case let data = errors.fileHandleForReading.availableData, !data.isEmpty {
          text += String(decoding: data, as: UTF8.self)
          if !isSent, text.contains(isRendered) {
            render.send(signal)
            isSent = true
          }
        }
        continuation.resume(returning: text)
      }
    }
    #expect(await render.end() == code)
    #expect(printed.contains("rendering:") && !printed.contains("done:"), "\(printed)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: films) == ["low.mp4"])
    #expect(try String(contentsOfFile: films + "/low.mp4", encoding: .utf8) == "earlier")
    #expect(try FileManager.default.contentsOfDirectory(atPath: store + "/temporary").isEmpty)

    try await self.render(edit, films, store)
    let expected = try await TestFilm.render(edit, files.path("expected"), segmentDuration: "1")
    try #require(expected.status == 0, "\(expected.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: films).sorted() == names)
    for name in names { #expect(isEqual("\(films)/\(name)", files.path("expected/\(name)")), "\(name)") }
  }
}
