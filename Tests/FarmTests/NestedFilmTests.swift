import Foundation
import TestMedia
import TestPrograms
import Testing

/// Films of documents that are assets of others.
@Suite(.ownThreads) struct NestedFilmTests {
  private let files: Workspace

  init() throws {
    files = try Workspace()
    try FileManager.default.createDirectory(atPath: files.path("sub"), withIntermediateDirectories: true)
    _ = try Tool.ffmpeg(
      "-y", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=25:duration=4", "-f", "lavfi", "-i",
      "aevalsrc=0.4*sin(2*PI*(200+60*t)*t)|0.3*sin(2*PI*330*t):s=44100:d=4", "-c:v", "libx264", "-g", "20", "-pix_fmt",
      "yuv420p", "-c:a", "pcm_s16le", files.path("source.mov"))
  }

  /// Everything but the brace at the end.
  private static let inner = ##"""
    { "sheaf": 1, "assets": { "s": "SOURCE", "c": { "color": "#8020c0" } },
      "tracks": [ { "clips": [ { "asset": "s", "use": "0.2..2.2" },
        { "asset": "c", "duration": 1, "transition": 0.4 }, { "asset": "s", "use": "1..3", "reverse": true, "fadeOut": 0.5 } ] } ],
      "videoComposition": { "renderSize": [160, 90], "frameRate": 25, "overlays": [
        { "text": "inside", "size": 20, "anchor": "top", "ramps": [ { "over": "0..2", "opacity": [0, 1] } ] },
        { "text": { "frame": 0 }, "size": 14, "anchor": "bottom-left" } ] }
    """##

  private static let lossless =
    #""export": { "video": { "codec": "ffv1", "pixelFormat": "yuv420p" }, "audio": { "codec": "pcm" } } }"#

  /// - Parameter tracks: Of a document with the asset `n`.
  private func film(
    _ name: String, _ inner: String = Self.inner, keys: String = "", tracks: String, composition: String = "",
    segments: String = ""
  ) async throws -> String {
    let document = """
      { "sheaf": 1, "assets": { "s": "source.mov", "n": { "document": "sub/inner.json" \(keys) } },
        "tracks": [ \(tracks) ],
        "videoComposition": { "renderSize": [160, 90], "frameRate": 25 \(composition) }, \(Self.lossless)
      """
    _ = try files.write(inner.replacing("SOURCE", with: "../source.mov") + "}", to: "sub/inner.json")
    return try await made(document, name, segments)
  }

  private func made(_ document: String, _ name: String, _ segments: String = "") async throws -> String {
    let film = files.path("\(name).mkv")
    let made = try await TestFilm.render(try files.write(document, to: "\(name).json"), film, segmentDuration: segments)
    try #require(made.status == 0, "\(made.errors)")
    return film
  }

  /// The film of the document alone.
  private func alone(_ inner: String = Self.inner) async throws -> String {
    try await made(inner.replacing("SOURCE", with: "source.mov") + ", " + Self.lossless, "alone")
  }

  private func hashes(_ film: String) async throws -> [Substring] {
    try await FrameHashes.video(film).frames.map(\.hash)
  }

  private func samples(_ film: String) throws -> [Int16] {
    let data = try Tool.ffmpeg("-i", film, "-map", "0:a:0", "-f", "s16le", "-")
    return data.withUnsafeBytes { Array($0.bindMemory(to: Int16.self)) }
  }

  @Test func `its frames and samples are those of its own film, at any cut`() async throws {
    defer { files.remove() }
    let alone = try await alone()
    let (frames, sound) = (try await hashes(alone), try samples(alone))
    try #require(frames.count > 100 && Set(frames).count > 90)
    for segments in TestExtent.of(["8f"], whole: ["", "8f"]) {
      let whole = try await film("whole\(segments)", tracks: #"{ "clips": [ { "asset": "n" } ] }"#, segments: segments)
      #expect(try await hashes(whole) == frames)
      #expect(try samples(whole) == sound)
      // In parts, the second one backwards.
      let parts = try await film(
        "parts\(segments)",
        tracks: #"""
          { "sound": false, "clips": [ { "asset": "n", "use": "1.2..3.2" }, { "asset": "n", "use": "1..4", "reverse": true } ] },
          { "type": "audio", "clips": [ { "asset": "n", "use": "1.2..3.2" } ] }
          """#,
        segments: segments)
      #expect(try await hashes(parts) == Array(frames[30..<80]) + Array(frames[25..<100].reversed()))
      let heard = try samples(parts)
      #expect(Array(heard.prefix(2 * 88_200)) == Array(sound[(2 * 52_920)..<(2 * 141_120)]))
    }
  }

  @Test func `it plays at another speed, within another, and as an overlay that begins again`() async throws {
    defer { files.remove() }
    let frames = try await hashes(try await alone())
    let fast = try await film(
      "fast", tracks: #"{ "clips": [ { "asset": "n", "use": "0..4", "duration": 2 } ] }"#)
    // What is stretched is read beyond the end of its film.
    _ = try await film("slow", tracks: #"{ "clips": [ { "asset": "n", "speed": 2.3 } ] }"#)
    #expect(try await hashes(fast) == (0..<50).map { frames[2 * $0] })
    let deeper = #"""
      { "sheaf": 1, "assets": { "d": { "document": \#(Self.inner) } } },
        "tracks": [ { "clips": [ { "asset": "d", "use": "0.4..4" } ] } ],
        "videoComposition": { "renderSize": [160, 90], "frameRate": 25 }
      """#
    let deep = try await film("deep", deeper, tracks: #"{ "clips": [ { "asset": "n", "use": "1..2" } ] }"#)
    #expect(try await hashes(deep) == Array(frames[35..<60]))
    let looped = try await film(
      "looped", tracks: #"{ "clips": [ { "asset": "s", "use": "0..3" } ] }"#,
      composition: #", "overlays": [ { "video": "n", "use": "0.6..1.4", "loop": true, "width": 160 } ]"#)
    #expect(try await hashes(looped) == (0..<75).map { frames[15 + $0 % 20] })
  }

  /// The oracle is the same picture in one document.
  @Test func `where it is transparent, what is below is seen`() async throws {
    defer { files.remove() }
    let drawn = ##"""
      "b": { "color": "#c04020", "cornerRadius": 9, "size": [60, 40] },
      "e": { "shape": "ellipse", "color": "#20a06090", "size": [50, 50] }
      """##
    let tracks = #"""
      { "clips": [ { "asset": "e", "duration": 1, "frame": [70, 20, 50, 50], "fadeOut": 1 } ] },
      { "clips": [ { "asset": "b", "duration": 1, "frame": [30, 25, 60, 40] } ] }
      """#
    let inner =
      #"{ "sheaf": 1, "assets": { \#(drawn) }, "tracks": [ \#(tracks) ], "#
      + ##""videoComposition": { "renderSize": [160, 90], "frameRate": 25, "background": "#ff00ff" }"##
    let below = #"{ "sound": false, "clips": [ { "asset": "s", "use": "0..1" } ] }"#
    let nested = try await film(
      "nested", inner, keys: #", "transparent": true"#, tracks: #"{ "clips": [ { "asset": "n" } ] }, \#(below)"#)
    let one = try await made(
      """
      { "sheaf": 1, "assets": { "s": "source.mov", \(drawn) }, "tracks": [ \(tracks), \(below) ],
        "videoComposition": { "renderSize": [160, 90], "frameRate": 25 }, \(Self.lossless)
      """, "one")
    let opaque = try await film("opaque", inner, tracks: #"{ "clips": [ { "asset": "n" } ] }, \#(below)"#)
    func luma(_ film: String) throws -> [UInt8] {
      try [UInt8](Tool.ffmpeg("-i", film, "-map", "0:v", "-vf", "extractplanes=y", "-f", "rawvideo", "-"))
    }
    let (found, expected, covered) = (try luma(nested), try luma(one), try luma(opaque))
    try #require(found.count == 25 * 160 * 90 && expected.count == found.count)
    let differences = zip(found, expected).map { abs(Int($0) - Int($1)) }
    #expect(differences.max() ?? 0 <= 4 && differences.count { $0 > 2 } < found.count / 200)
    // And it is not what it would be if nothing was seen below it.
    #expect(zip(covered, expected).count { abs(Int($0) - Int($1)) > 20 } > found.count / 4)
  }

  @Test func `documents that are shown too often together are refused at once`() async throws {
    defer { files.remove() }
    var document = ##"""
      { "sheaf": 1, "assets": { "c": { "color": "#ff0000" } },
        "tracks": [ { "clips": [ { "asset": "c", "duration": 1 } ] } ], "videoComposition": { "renderSize": [64, 36] } }
      """##
    let tracks = [String](repeating: #"{ "clips": [ { "asset": "n", "opacity": 0.5 } ] }"#, count: 8)
    for _ in 0..<7 {
      document = """
        { "sheaf": 1, "assets": { "n": { "document": \(document) } }, "tracks": [ \(tracks.joined(separator: ", ")) ] }
        """
    }
    let refused = try await TestFilm.render(try files.write(document, to: "bomb.json"), files.path("bomb.mp4"))
    #expect(refused.status == 65 && refused.errors.contains("shown too often"), "\(refused.errors)")
  }

  @Test func `a problem in the document of a file has its place there`() async throws {
    defer { files.remove() }
    _ = try files.write(
      "{\n  \"sheaf\": 1,\n  \"tracks\": [ { \"clips\": [ { \"asset\": \"x\" } ] } ] }", to: "sub/inner.json")
    let edit = try files.write(
      #"{ "sheaf": 1, "assets": { "n": { "document": "sub/inner.json" }, "m": { "document": "none.json" } },"#
        + #" "tracks": [ { "clips": [ { "asset": "n" } ] } ], "export": { "to": "a.mkv" } }"#, to: "edit.json")
    let missing = try await TestFilm.render(edit)
    #expect(missing.status == 65 && missing.errors.contains("there is no document none.json"), "\(missing.errors)")
    _ = try files.write("{}", to: "none.json")
    let wrong = try await TestFilm.render(edit)
    #expect(
      wrong.status == 65 && wrong.errors.contains("sub/inner.json:3:39: there is no asset 'x'"), "\(wrong.errors)")
  }
}
