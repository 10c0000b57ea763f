import Foundation
import TestMedia
import TestPrograms
import Testing

/// A part of a film that is copied, with chapters and captions: ffmpeg is the oracle.
@Suite(.ownThreads) struct PassthroughPartTests {
  private let files: Workspace

  /// A film of 6 s with a keyframe every second, B-frames, and sound; and captions.
  init() throws {
    files = try Workspace()
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=6", "-f", "lavfi", "-i",
      "aevalsrc=sin(1000*t*t):s=48000:d=6", "-c:v", "libx264", "-g", "25", "-sc_threshold", "0", "-bf", "2", "-c:a",
      "aac", files.path("source.mp4"),
    ])
    _ = try files.write(
      "1\n00:00:01,000 --> 00:00:02,000\nfirst\n\n2\n00:00:03,500 --> 00:00:04,000\nsecond\n", to: "talk.srt")
  }

  private func edit(_ clips: String, _ export: String, _ rest: String = "", subtitles: String = "") throws -> String {
    try files.write(
      """
      { "sheaf": 1, "assets": { "a": "source.mp4", "c": "talk.srt" }, \(rest)
        "tracks": [ { "type": "video", "sound": true, "clips": [ \(clips) ] }\(subtitles) ],
        "export": { "preset": "passthrough", \(export) } }
      """, to: "edit.json")
  }

  private func frames(_ path: String) throws -> [Substring] {
    let list = try Tool.run(
      "ffmpeg", ["-v", "error", "-i", path, "-map", "0:v", "-vsync", "passthrough", "-f", "framemd5", "-"]
    ).output
    return String(decoding: list, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
      .compactMap { $0.split(separator: ",").last }
  }

  /// Matroska stores the pictures after the samples that a decoder of AAC drops.
  @Test func `a part whose pictures begin after zero may end anywhere`() async throws {
    defer { files.remove() }
    _ = try Tool.ffmpeg("-i", files.path("source.mp4"), "-c", "copy", files.path("late.mkv"))
    let starts = try Tool.ffprobe("-select_streams", "v", "-show_entries", "stream=start_time", files.path("late.mkv"))
    #expect(try #require(starts.first?.first.flatMap(Double.init)) > 0.01)
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "late.mkv" },
        "tracks": [ { "type": "video", "sound": true, "clips": [ { "asset": "a", "use": "0..0.85" } ] } ],
        "export": { "preset": "passthrough", "to": "part.mp4" } }
      """, to: "late.json")
    let result = try await TestFilm.render(edit)
    try #require(result.status == 0, "\(result.errors)")
    #expect(try frames(files.path("part.mp4")) == Array(frames(files.path("source.mp4"))[..<21]))
  }

  /// A GOP of x264's own length, and open ones, at whose I pictures a decoder does not begin with the right pictures.
  private static let sources: [(name: String, options: [String], parts: [String])] = [
    ("long", ["-g", "250", "-keyint_min", "250"], ["7.2..7.24", "9.6..11.4", "0.04..9.92"].spread(1)),
    // Further than the pictures that are decoded to check what was written.
    ("longest", ["-g", "1000", "-keyint_min", "1000"], ["26..26.2"]),
    (
      "open",
      ["-bf", "3", "-x264-params", "open-gop=1:b-pyramid=normal:keyint=10:min-keyint=10:scenecut=0"],
      ["0.4..0.44", "0.4..0.48", "0.8..0.84", "1.24..1.28", "0.36..0.44", "0.32..1", "1.2..6.4"].spread(2)
    ),
  ]

  @Test(arguments: sources, ["mp4", "mov"])
  func `a part begins with its own pictures however far the keyframe is`(
    source: (name: String, options: [String], parts: [String]), container: String
  ) async throws {
    defer { files.remove() }
    let film = files.path("\(source.name).mp4")
    _ = try Tool.ffmpeg(
      ["-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=28", "-c:v", "libx264", "-preset", "veryfast"]
        + ["-sc_threshold", "0"] + source.options + [film])
    let all = try frames(film)
    for part in source.parts {
      let edit = try files.write(
        """
        { "sheaf": 1, "assets": { "a": "\(source.name).mp4" },
          "tracks": [ { "type": "video", "clips": [ { "asset": "a", "use": "\(part)" } ] } ],
          "export": { "preset": "passthrough", "to": "part.\(container)" } }
        """, to: "part.json")
      let result = try await TestFilm.render(edit)
      #expect(result.status == 0, "\(part): \(result.errors)")
      let ends = bounds(part)
      #expect(try frames(files.path("part.\(container)")) == Array(all[ends[0]..<ends[1]]), "\(part)")
    }
  }

  /// The first picture of a part and the one after its last, at 25 a second.
  private func bounds(_ part: String) -> [Int] {
    let dots = part.firstRange(of: "..")!
    return [part[..<dots.lowerBound], part[dots.upperBound...]].map { Int((25 * Double($0)!).rounded()) }
  }

  @Test func `a range cuts the film as the clips' own ranges would`() async throws {
    defer { files.remove() }
    let (ranged, used) = (files.path("ranged.mp4"), files.path("used.mp4"))
    for (clips, export) in [
      (
        #"{ "asset": "a", "use": "0..2" }, { "asset": "a", "use": "3..6" }"#,
        #""to": "ranged.mp4", "timeRange": "1.32..4.12""#
      ),
      (#"{ "asset": "a", "use": "1.32..2" }, { "asset": "a", "use": "3..5.12" }"#, #""to": "used.mp4""#),
    ] {
      let result = try await TestFilm.render(edit(clips, export))
      try #require(result.status == 0, "\(result.errors)")
    }
    #expect(FileManager.default.contentsEqual(atPath: ranged, andPath: used))
    let all = try frames(files.path("source.mp4"))
    #expect(try frames(ranged) == Array(all[33..<50] + all[75..<128]))
  }

  @Test(arguments: ["mp4", "mov", "mkv"].spread(2))
  func `a copied film has chapters and captions at their times`(container: String) async throws {
    defer { files.remove() }
    let film = files.path("film.\(container)")
    let path = try edit(
      #"{ "asset": "a" }"#,
      """
      "to": "film.\(container)", "timeRange": "1..5",
      "chapters": [ { "at": 0, "title": "one" }, { "at": 3, "title": "two" } ]
      """, #""captions": [ { "asset": "c", "as": "track", "language": "deu" } ],"#,
      subtitles: #", { "type": "subtitle", "language": "eng", "clips": [ { "asset": "c", "at": 0.5 } ] }"#)
    let result = try await TestFilm.render(path)
    try #require(result.status == 0, "\(result.errors)")
    let chapters = try Tool.ffprobe(
      "-show_chapters", "-show_entries", "chapter=start_time,end_time:chapter_tags=title", film)
    #expect(chapters == [["0.000000", "2.000000", "one"], ["2.000000", "4.000000", "two"]])
    for (track, language, texts) in [
      (0, "deu", ["00:00:00,000 --> 00:00:01,000 first", "00:00:02,500 --> 00:00:03,000 second"]),
      (1, "eng", ["00:00:00,500 --> 00:00:01,500 first", "00:00:03,000 --> 00:00:03,500 second"]),
    ] {
      let stream = try Tool.ffprobe("-select_streams", "s:\(track)", "-show_entries", "stream_tags=language", film)
      #expect(stream == [[language]] || stream == [[language == "deu" ? "ger" : language]], "\(stream)")
      let shown = try Tool.run("ffmpeg", ["-v", "error", "-i", film, "-map", "0:s:\(track)", "-f", "srt", "-"]).output
      let blocks = String(decoding: shown, as: UTF8.self).components(separatedBy: "\n\n").map {
        $0.split(separator: "\n").dropFirst().joined(separator: " ")
      }
      #expect(blocks.filter { !$0.isEmpty } == texts, "\(container), track \(track)")
    }
    #expect(try frames(film) == Array(try frames(files.path("source.mp4"))[25..<125]))
  }

  @Test(arguments: ["mp4", "mov", "mkv"].spread(2))
  func `a part in which a file has no sound is copied without, also beside chapters`(container: String) async throws {
    defer { files.remove() }
    _ = try Tool.ffmpeg([
      "-i", files.path("source.mp4"), "-f", "lavfi", "-i", "sine=d=2:r=48000", "-map", "0:v", "-map", "1:a", "-c:v",
      "copy", "-c:a", "aac", files.path("short.mp4"),
    ])
    try FileManager.default.removeItem(atPath: files.path("source.mp4"))
    try FileManager.default.moveItem(atPath: files.path("short.mp4"), toPath: files.path("source.mp4"))
    let film = files.path("film.\(container)")
    for chapters in ["", #", "chapters": [ { "at": 0, "title": "one" } ]"#] {
      let result = try await TestFilm.render(
        edit(#"{ "asset": "a" }"#, #""to": "film.\#(container)", "timeRange": "3..5"\#(chapters)"#))
      try #require(result.status == 0, "\(result.errors)")
      let types = try Tool.ffprobe("-show_entries", "stream=codec_type", film).flatMap(\.self)
      #expect(types.filter { $0 != "data" } == ["video"])
      #expect(try frames(film) == Array(try frames(files.path("source.mp4"))[75..<125]))
    }
  }

  /// The frames of MP3 refer to bytes of several frames before them.
  @Test(arguments: [("64k", "mp4"), ("128k", "mp4"), ("128k", "mp3")].spread(2))
  func `MP3 that is cut anywhere has the samples of its file from the first on`(
    bitRate: String, container: String
  ) async throws {
    defer { files.remove() }
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "anoisesrc=d=6:a=0.1:r=44100:seed=3", "-c:a", "libmp3lame", "-b:a", bitRate,
      files.path("noise.mp3"),
    ])
    let document = try files.write(
      """
      { "sheaf": 1, "assets": { "n": "noise.mp3" },
        "tracks": [ { "type": "audio", "clips": [ { "asset": "n", "use": "1.23..3.23" } ] } ],
        "export": { "to": "film.\(container)", "preset": "passthrough" } }
      """, to: "edit.json")
    let result = try await TestFilm.render(document)
    try #require(result.status == 0, "\(result.errors)")
    func samples(_ path: String) throws -> [Float] {
      let bytes = try Tool.run("ffmpeg", ["-v", "error", "-i", files.path(path), "-f", "f32le", "-"]).output
      return bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
    }
    let (found, all) = (try samples("film.\(container)"), try samples("noise.mp3"))
    let start = 54_243
    try #require(found.count >= 88_200 && all.count >= start + 88_200)
    #expect(zip(found[..<88_200], all[start...]).allSatisfy { abs($0 - $1) < 1e-3 })
  }

  private static let cut = #", "use": "1.23..3.23""#
  private static let sounds: [(String, String, String)] = TestExtent.of(
    [("libmp3lame", "mp3", cut), ("aac", "m4a", cut), ("mp2", "mp2", "")],
    whole: [
      ("libmp3lame", "mp3", ""), ("libmp3lame", "mp3", cut), ("aac", "m4a", ""), ("aac", "m4a", cut),
      ("mp2", "mp2", ""), ("mp2", "mp2", cut),
    ])

  /// Matroska has no edit lists: of a packet that a decoder needs before the first one, all samples are discarded.
  @Test(arguments: sounds)
  func `sound in Matroska begins with a packet of its file, of which all samples are right`(
    codec: String, container: String, use: String
  ) async throws {
    defer { files.remove() }
    let source = files.path("noise.\(container)")
    _ = try Tool.ffmpeg(
      [
        "-f", "lavfi", "-i", "anoisesrc=d=6:a=0.1:r=44100:seed=3", "-c:a", codec, "-b:a", "64k",
      ] + (codec == "aac" ? ["-aac_pns", "0"] : []) + [source])
    let document = try files.write(
      """
      { "sheaf": 1, "assets": { "n": "noise.\(container)" },
        "tracks": [ { "type": "audio", "clips": [ { "asset": "n"\(use) } ] } ],
        "export": { "to": "film.mkv", "preset": "passthrough" } }
      """, to: "edit.json")
    let result = try await TestFilm.render(document)
    try #require(result.status == 0, "\(result.errors)")
    func samples(_ path: String) throws -> [Float] {
      let bytes = try Tool.run("ffmpeg", ["-v", "error", "-i", path, "-f", "f32le", "-"]).output
      return bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
    }
    let (found, all) = (try samples(files.path("film.mkv")), try samples(source))
    // Half a packet at most from the place of the cut.
    let wanted = use.isEmpty ? 0 : 54_243
    let isRight: (Int) -> Bool = { place in
      place + 64 <= all.count && (0..<64).allSatisfy { abs(found[$0] - all[place + $0]) < 1e-3 }
    }
    try #require(found.count >= 64)
    let place = try #require((max(0, wanted - 576)...wanted + 576).first(where: isRight))
    #expect(found.count >= (use.isEmpty ? all.count - place - 1152 : 88_200 - 1152))
    // A decoder may fill the last one with noise of its own.
    #expect(zip(found.dropLast(1152), all[place...]).allSatisfy { abs($0 - $1) < 1e-3 })
  }

  @Test func `what a part cannot have is reported with its place, in times of the film`() async throws {
    defer { files.remove() }
    let cut = try await TestFilm.render(
      edit(#"{ "asset": "a", "use": "2..6" }"#, #""to": "film.mkv", "timeRange": "0.5..2.5""#))
    #expect(cut.status == 65)
    for end in ["starts at 1/2 s", "ends at 5/2 s"] {
      #expect(
        cut.errors.contains(
          "/export/timeRange: without encoding, pictures are cut at keyframes in mkv; the range \(end)"))
    }
    #expect(cut.errors.contains("the nearest are at 0 and 1 s") && cut.errors.contains("the nearest are at 2 and 3 s"))
    let gap = try await TestFilm.render(
      edit(#"{ "asset": "a", "use": "0..2", "at": 1 }"#, #""to": "film.mp4", "timeRange": "0.5..2""#))
    #expect(gap.errors.contains("/tracks/0/clips/0: ") && gap.errors.contains("must start at 0.5 s"), "\(gap.errors)")
    let end = try await TestFilm.render(
      edit(#"{ "asset": "a", "use": "0..2" }, { "asset": "a", "at": 4 }"#, #""to": "film.mp4", "timeRange": "1..3""#))
    #expect(end.errors.contains("/export/timeRange: ") && end.errors.contains("ends at 2 s"), "\(end.errors)")
    let short = try await TestFilm.render(
      edit(#"{ "asset": "a" }"#, #""to": "film.mp4", "timeRange": "0.0000001..0.0000002""#))
    #expect(short.errors.contains("/export/timeRange: nothing would be in the output"), "\(short.errors)")
    let drawn = try await TestFilm.render(
      edit(#"{ "asset": "a" }"#, #""to": "film.mp4""#, #""captions": [ { "asset": "c" } ],"#))
    #expect(
      drawn.errors.contains(#"/captions/0: the preset 'passthrough'"#) && drawn.errors.contains(#""as": "track""#))
    let long = try await TestFilm.render(edit(#"{ "asset": "a" }"#, #""to": "film.mp4", "timeRange": "1..7""#))
    #expect(long.errors.contains("/export/timeRange: 1..7 ends after the film"), "\(long.errors)")
  }
}
