import Foundation
import TestPrograms
import Testing

/// What a film is expected to take, compared with what it takes.
@Suite(.ownThreads) struct EstimateTests {
  private static func document(_ export: String, sound: Bool = true) -> String {
    """
    { "sheaf": 1, "assets": { "a": "source.mkv" },
      "tracks": [ { "id": "A", "type": "video", "sound": \(sound), "clips": [ { "asset": "a" } ] } ],
      "videoComposition": { "renderSize": [320, 180], "frameDuration": "1/25" },
      "export": \(export) }
    """
  }

  private static func source(_ path: String) async throws {
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=25:d=6", "-f", "lavfi", "-i",
      "sine=330:sample_rate=48000:duration=6", "-c:v", "ffv1", "-g", "1", "-c:a", "pcm_s16le", path)
  }

  private func estimate(_ edit: String, _ output: String, _ store: String) async throws -> [String: Any] {
    let result = try await Command.sheaf(
      "estimate", edit, "-o", output, "--store", store, "--segment-duration", "1", "--workers", "2", "--json"
    ).run()
    try #require(result.status == 0, "\(result.errors)")
    return try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
  }

  /// Renders a film and returns its size.
  /// - Parameter store: Nil: that of other tests.
  private func render(_ edit: String, _ output: String, _ store: String? = nil) async throws -> Int {
    if let store {
      let result = try await Command.sheaf(
        "render", edit, "-o", output, "--store", store, "--segment-duration", "1", "--workers", "2"
      ).run()
      try #require(result.status == 0, "\(result.errors)")
    } else {
      let film = try await TestFilm.render(edit, output, segmentDuration: "1")
      try #require(film.status == 0, "\(film.errors)")
    }
    return try #require(try FileManager.default.attributesOfItem(atPath: output)[.size] as? Int)
  }

  @Test func `pieces that are rendered make an estimate exact, and their times its speed`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let edit = try files.write(Self.document(#"{ "video": { "codec": "h264", "preset": "fast" } }"#), to: "edit.json")
    let (film, store) = (files.path("film.mp4"), files.path("store"))
    let before = try await estimate(edit, film, store)
    #expect(before["duration"] as? String == "6" && before["frames"] as? Int == 150)
    #expect(before["segments"] as? Int == 6 && before["cachedSegments"] as? Int == 0)
    #expect(before["work"] as? Double == before["remainingWork"] as? Double)
    let guess = try #require((before["outputs"] as? [[String: Any]])?.first)
    #expect(guess["basis"] as? [String] == ["quality", "bitRate"] && guess["container"] as? String == "mp4")
    let assumed = try #require(before["time"] as? [String: Any])
    #expect(assumed["measuredSegments"] as? Int == 0 && assumed["slots"] as? Int == 2)

    let size = try await render(edit, film, store)
    let (least, most) = (try #require(guess["leastBytes"] as? Int), try #require(guess["mostBytes"] as? Int))
    #expect((least...most).contains(size), "\(size) bytes, expected \(least) to \(most)")
    let after = try await estimate(edit, film, store)
    let known = try #require((after["outputs"] as? [[String: Any]])?.first)
    #expect(known["basis"] as? [String] == ["pieces"])
    let bytes = try #require(known["bytes"] as? Int)
    #expect(abs(bytes - size) * 50 < size, "\(bytes) bytes are expected of \(size)")
    #expect(after["cachedSegments"] as? Int == 6 && after["remainingWork"] as? Double == 0)
    let measured = try #require(after["time"] as? [String: Any])
    #expect(measured["measuredSegments"] as? Int == 6)
  }

  @Test func `rates and samples give a size without a guess`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let exports = [
      ("film.mp4", #"{ "video": { "codec": "h264", "bitRate": 400000 }, "audio": { "bitRate": 96000 } }"#, ["bitRate"]),
      ("film.wav", #"{ "video": false }"#, ["samples"]),
    ]
    for (name, export, basis) in exports {
      let edit = try files.write(Self.document(export), to: "edit.json")
      let found = try await estimate(edit, files.path(name), files.path("store"))
      let output = try #require((found["outputs"] as? [[String: Any]])?.first)
      #expect(output["basis"] as? [String] == basis)
      let bytes = try #require(output["bytes"] as? Int)
      let size = try await render(edit, files.path(name))
      #expect(abs(bytes - size) * 8 < size, "\(name): \(bytes) bytes are expected of \(size)")
    }
  }

  @Test func `a copy has the share of its file`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let text = Self.document(#"{ "preset": "passthrough" }"#)
      .replacing(#""videoComposition": { "renderSize": [320, 180], "frameDuration": "1/25" },"#, with: "")
      .replacing(#"{ "asset": "a" }"#, with: #"{ "asset": "a", "use": "0..28/25" }"#)
    let edit = try files.write(text, to: "edit.json")
    let found = try await estimate(edit, files.path("film.mkv"), files.path("store"))
    let output = try #require((found["outputs"] as? [[String: Any]])?.first)
    let size = try await render(edit, files.path("film.mkv"))
    let (least, most) = (try #require(output["leastBytes"] as? Int), try #require(output["mostBytes"] as? Int))
    #expect(output["basis"] as? [String] == ["files"] && (least...most).contains(size))
    #expect(found["time"] == nil && found["segments"] as? Int == 0)
  }

  @Test func `what smart rendering copies has the share of its file, and the rest is a guess`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    // Far more bytes than a guess has for as many pixels, and sound that has as many.
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=s=128x96:r=25:d=8", "-f", "lavfi", "-i", "sine=330:sample_rate=48000:duration=8",
      "-c:a", "pcm_s16le", "-ac", "2", "-vf", "noise=alls=20:allf=t:all_seed=4,format=yuv420p", "-c:v",
      "libx264", "-preset", "veryfast", "-crf", "10", "-g", "25", files.path("source.mov"))
    func document(_ clips: String, _ smart: Bool) throws -> String {
      try files.write(
        """
        { "sheaf": 1, "assets": { "a": "source.mov" }, "tracks": [ { "sound": false, "clips": [ \(clips) ] } ],
          "videoComposition": { "overlays": [ { "over": "3.2..3.8", "text": "Title", "size": 20 } ] },
          "export": { "smart": \(smart), "video": { "preset": "veryfast" } } }
        """, to: "edit.json")
    }
    for (clips, share) in [(#"{ "asset": "a" }"#, 0.8), (#"{ "asset": "a", "use": "0..6" }"#, 0.55)] {
      let (edit, store) = (try document(clips, true), files.path("store-\(share)"))
      let found = try await estimate(edit, files.path("film.mp4"), store)
      let output = try #require((found["outputs"] as? [[String: Any]])?.first)
      #expect(output["basis"] as? [String] == ["quality", "files"], "\(output)")
      let (bytes, most) = (try #require(output["bytes"] as? Int), try #require(output["mostBytes"] as? Int))
      let least = try #require(output["leastBytes"] as? Int)
      let source =
        try #require(
          try FileManager.default.attributesOfItem(atPath: files.path("source.mov"))[.size] as? Int) - 8 * 192_000
      #expect(Double(bytes) > share * Double(source), "\(bytes) of \(source)")
      let size = try await render(edit, files.path("film.mp4"))
      #expect((least...most).contains(size) && Double(size) > 0.6 * Double(bytes), "\(size) bytes, expected \(output)")
    }
    let whole = try await estimate(
      try document(#"{ "asset": "a" }"#, false), files.path("film.mp4"), files.path("other"))
    #expect((whole["outputs"] as? [[String: Any]])?.first?["basis"] as? [String] == ["quality"])
  }

  @Test func `a guess is printed as one, with its reason`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let edit = try files.write(Self.document("{}", sound: false), to: "edit.json")
    let result = try await Command.sheaf(
      "estimate", edit, "-o", files.path("film.mp4"), "--store", files.path("store"), "--workers", "3"
    ).run()
    let lines = result.output.split(separator: "\n")
    #expect(result.status == 0 && lines.first == "film: 6 s, 150 frames", "\(result)")
    #expect(result.output.contains("a guess, because what constant quality takes depends on the pictures"))
    #expect(result.output.contains("with 3 tasks at once: a guess"))
  }
}
