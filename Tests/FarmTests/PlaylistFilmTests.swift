import Foundation
import TestPrograms
import Testing

/// Films for HTTP Live Streaming, as another reader of playlists and `ffmpeg` find them.
@Suite(.ownThreads) struct PlaylistFilmTests {
  /// What `check-playlist` finds in a playlist.
  private struct Found: Decodable {
    struct Variant: Decodable {
      var uri, codecs: String
      var resolution: [Int]?
      var rate: Double?
      var audio, subtitles: String?
      var durations: [Double]
    }
    struct Media: Decodable {
      var type, group, name, uri: String
      var language, `default`, channels: String?
      var durations: [Double]
    }
    struct Keyframes: Decodable {
      var uri, codecs: String
      var durations: [Double]
    }

    var variants: [Variant]
    var media: [Media]
    var keyframes: [Keyframes]
    var files, problems: [String]
  }

  /// Fourteen seconds of pictures with keyframes at no multiples of anything, and a tone.
  private static func source(_ files: Workspace) async throws {
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=192x108:r=30000/1001:d=14", "-f", "lavfi", "-i",
      "sine=330:sample_rate=48000:duration=14", "-map", "0:v", "-map", "1:a", "-c:v", "libx264", "-preset", "ultrafast",
      "-g", "47", "-c:a", "aac", files.path("source.mp4"))
  }

  private static func document(_ export: String, _ more: String = "", use: String = "0.7..13.4") -> String {
    """
    { "sheaf": 1, "assets": { "a": "source.mp4"\(more.isEmpty ? "" : #", "en": "en.srt""#) },
      "tracks": [ { "sound": true, "clips": [ { "asset": "a", "use": "\(use)" } ] }\(more) ],
      "export": \(export) }
    """
  }

  private func check(_ playlist: String) async throws -> Found {
    let python = Place.repository.appendingPathComponent(".build/http-tools/bin/python").path
    let script = Place.repository.appendingPathComponent("Tests/FarmTests/check-playlist").path
    let result = try await Command(executable: python, arguments: [script, playlist]).run()
    try #require(result.status == 0, "scripts/http-tools installs what it needs: \(result.errors)")
    return try JSONDecoder().decode(Found.self, from: Data(result.output.utf8))
  }

  private func packets(_ film: String, _ stream: String) async throws -> String {
    try await Command.output("ffmpeg", "-v", "error", "-i", film, "-map", stream, "-c", "copy", "-f", "md5", "-")
  }

  /// Where keyframes are, in seconds, by their definition.
  private func starts(_ seconds: Double, frames: Int) -> [Double] {
    var (multiple, found) = (0, [Double]())
    for frame in 0..<frames where Double(frame) * 1001 / 30000 >= Double(multiple) * seconds - 1e-9 {
      found.append(Double(frame) * 1001 / 30000)
      multiple += 1
    }
    return found
  }

  @Test func `a playlist has the pictures and the sound of the same document in a file`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    let video = #""video": { "preset": "veryfast", "keyframeInterval": "2" }, "audio": { "sampleRate": 48000 }"#
    let stream = try files.write(Self.document("{ \"to\": \"out/film.m3u8\", \(video) }"), to: "stream.json")
    let plain = try files.write(Self.document("{ \"to\": \"film.mp4\", \(video) }"), to: "plain.json")
    let made = try await TestFilm.render(stream, segmentDuration: "2")
    try #require(made.status == 0, "\(made.errors)")
    let other = try await TestFilm.render(plain, files.path("film.mp4"), segmentDuration: "2")
    try #require(other.status == 0, "\(other.errors)")

    let playlist = files.path("out/film.m3u8")
    let found = try await check(playlist)
    #expect(found.problems == [])
    #expect(
      found.files == [
        "film-audio.m3u8", "film-audio.mp4", "film-video-iframes.m3u8", "film-video.m3u8", "film-video.mp4",
        "film.m3u8",
      ])
    let variant = try #require(found.variants.first)
    #expect(found.variants.count == 1 && variant.resolution == [192, 108] && variant.rate == 29.97)
    #expect(variant.codecs.wholeMatch(of: #/avc1\.64[0-9a-f]{4},mp4a\.40\.2/#) != nil, "\(variant.codecs)")
    let count = try await FrameHashes.video(files.path("film.mp4")).frames.count
    // Segments have three intervals of keyframes.
    let expected = (starts(6, frames: count) + [Double(count) * 1001 / 30000])
    let lengths = zip(expected, expected.dropFirst()).map { $1 - $0 }
    #expect(variant.durations.count == lengths.count)
    #expect(zip(variant.durations, lengths).allSatisfy { abs($0 - $1) < 2e-6 }, "\(variant.durations)")
    #expect(found.keyframes.map(\.durations.count) == [starts(2, frames: count).count])
    let sound = try #require(found.media.first)
    #expect(sound.type == "AUDIO" && sound.default == "YES" && sound.channels == "2")
    #expect(abs(sound.durations.reduce(0, +) - 12.7) < 1e-5, "\(sound.durations)")

    let (streamed, stored) = (
      try await FrameHashes.video(playlist), try await FrameHashes.video(files.path("film.mp4"))
    )
    #expect(streamed.frames.map(\.hash) == stored.frames.map(\.hash))
    #expect(try await packets(playlist, "0:a") == packets(files.path("film.mp4"), "0:a"))
  }

  @Test func `a browser plays a playlist, from any place to its end`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    let edit = try files.write(
      Self.document(#"{ "to": "out/film.m3u8", "video": { "preset": "veryfast" } }"#), to: "edit.json")
    let made = try await TestFilm.render(edit)
    try #require(made.status == 0, "\(made.errors)")
    let python = Place.repository.appendingPathComponent(".build/http-tools/bin/python").path
    let script = Place.repository.appendingPathComponent("Tests/FarmTests/play-playlist").path
    let result = try await Command(executable: python, arguments: [script, files.path("out"), "film.m3u8"]).run()
    try #require(result.status == 0, "\(result.errors)")
    struct Played: Decodable {
      var first, seeked, duration, end: Double
      var size: [Int]
      var silent: Bool
    }
    let played = try JSONDecoder().decode(Played.self, from: Data(result.output.utf8))
    #expect(played.first == 0 && played.size == [192, 108] && !played.silent)
    #expect(abs(played.duration - 12.7) < 0.05 && abs(played.end - played.duration) < 0.05, "\(played)")
    #expect(abs(played.seeked - 8) < 0.034, "\(played)")
  }

  @Test func `a ladder with subtitles is the same from a farm, and its films are one multivariant playlist`()
    async throws
  {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    _ = try files.write(
      """
      1
      00:00:01,000 --> 00:00:03,500
      One

      2
      00:00:05,000 --> 00:00:07,000
      Two --> lines
      of text

      """, to: "en.srt")
    let edit = try files.write(
      Self.document(
        """
        { "to": "film.m3u8", "video": { "preset": "superfast" }, "audio": { "sampleRate": 48000, "language": "eng" },
          "outputs": [ { "name": "108p", "container": "mp4" },
            { "name": "54p", "container": "mp4", "height": 54, "audio": { "bitRate": 64000 } },
            { "name": "hevc", "container": "mp4", "video": { "codec": "hevc", "preset": "ultrafast" } },
            { "name": "sound", "container": "m4a" } ] }
        """,
        #", { "type": "subtitle", "language": "eng", "clips": [ { "asset": "en" } ] }"#,
        use: TestExtent.of("0.7..8.4", whole: "0.7..13.4")), to: "edit.json")
    let made = try await TestFilm.render(edit, files.path("local/film.m3u8"), segmentDuration: "3")
    try #require(made.status == 0, "\(made.errors)")
    let found = try await check(files.path("local/film.m3u8"))
    #expect(found.problems == [])
    #expect(found.variants.map(\.uri) == ["film-108p.m3u8", "film-54p.m3u8", "film-hevc.m3u8", "film-audio-1.m3u8"])
    #expect(found.variants.map(\.resolution) == [[192, 108], [96, 54], [192, 108], nil])
    #expect(found.variants.map(\.audio) == ["audio-1", "audio-2", "audio-1", nil])
    #expect(found.variants.map(\.subtitles) == ["subtitles", "subtitles", "subtitles", nil])
    #expect(found.variants[2].codecs.hasPrefix("hvc1.1.6.L"), "\(found.variants[2].codecs)")
    #expect(Set(found.variants.prefix(3).map(\.durations)).count == 1)
    #expect(found.media.map(\.type) == ["AUDIO", "AUDIO", "SUBTITLES"])
    #expect(found.media.map(\.language) == ["en", "en", "en"])
    #expect(found.keyframes.map(\.uri) == ["108p", "54p", "hevc"].map { "film-\($0)-iframes.m3u8" })

    let captions = try String(contentsOfFile: files.path("local/film-subtitles.vtt"), encoding: .utf8)
    // One is on both sides of a boundary.
    #expect(captions.components(separatedBy: "00:00:05.000 --> 00:00:07.000\nTwo --&gt; lines\nof text\n").count == 3)
    #expect(captions.components(separatedBy: "00:00:01.000 --> 00:00:03.500\nOne\n").count == 2)

    let farm = try await Farm(workers: 2, slots: 1)
    defer { farm.stop() }
    let submit = try await farm.sheaf(
      "submit", edit, "--wait", "--segment-duration", "3", "-o", files.path("waited/film.m3u8")
    ).run()
    try #require(submit.status == 0, "\(submit.errors)")
    let job = submit.output.trimmingCharacters(in: .whitespacesAndNewlines)
    let fetch = try await farm.sheaf("fetch", job, "-o", files.path("fetched")).run()
    // The folder is not there yet, so the name might be a film's.
    try #require(fetch.status == 0, "\(fetch.errors)")
    for folder in ["waited", "fetched"] {
      #expect(try FileManager.default.contentsOfDirectory(atPath: files.path(folder)).sorted() == found.files)
      for name in found.files {
        let (one, two) = (files.path("\(folder)/\(name)"), files.path("local/\(name)"))
        #expect(FileManager.default.contentsEqual(atPath: one, andPath: two), "\(folder)/\(name)")
      }
    }
    let refused = try await farm.sheaf("fetch", job, "-o", files.path("other.m3u8")).run()
    #expect(refused.status == 65 && refused.errors.contains("named after its playlist film.m3u8"), "\(refused.errors)")
  }

  private static let refusals: [(String, String)] = [
    (#"{ "to": "film.m3u8", "video": { "codec": "prores422" } }"#, "/export/video/codec: prores422 cannot be stored"),
    (#"{ "to": "film.m3u8", "audio": { "codec": "pcm" } }"#, "/export/audio/codec: pcm cannot be stored"),
    (#"{ "to": "the film.m3u8" }"#, "/export/to: the playlist 'the film.m3u8' names its files"),
    (
      #"{ "to": "film.m3u8", "outputs": [ { "name": "a", "container": "mkv" } ] }"#,
      "/export/outputs/0/container: mkv cannot be a rendition of the playlist"
    ),
    (
      #"{ "to": "film.m3u8", "outputs": [ { "name": "audio", "container": "mp4" } ] }"#,
      "/export/outputs/0/name: the name 'audio' is that of another file"
    ),
    (
      #"{ "to": "films", "outputs": [ { "name": "a", "container": "m3u8" } ] }"#,
      "/export/outputs/0/container: a playlist is named by 'to'"
    ),
    (#"{ "to": "film.M3U8" }"#, "/export/to: the playlist 'film.M3U8' names its files"),
    (#"{ "to": "film.m3u8", "preset": "passthrough" }"#, "h264 cannot be copied into m3u8"),
  ]

  @Test(arguments: refusals.spread(3))
  func `what a playlist cannot have is refused with its place`(export: String, problem: String) async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    let edit = try files.write(Self.document(export), to: "edit.json")
    let made = try await TestFilm.render(edit)
    #expect(made.status == 65 && made.errors.contains(problem), "\(made.errors)")
    #expect(try files.contents() == ["edit.json", "source.mp4"])
  }

  @Test func `a playlist is not written to standard output, and has a title alone`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    let edit = try files.write(Self.document(#"{ "to": "film.m3u8" }"#), to: "edit.json")
    let artist = Self.document(#"{ "to": "film.m3u8", "metadata": { "title": "A day", "artist": "Anna" } }"#)
    let refused = try await TestFilm.render(try files.write(artist, to: "artist.json"))
    #expect(
      refused.status == 65
        && refused.errors.contains("/export/metadata/artist: m3u8 cannot store 'artist'; it has title"),
      "\(refused.errors)")
    let streamed = try await Command.sheaf("render", edit, "-o", "-", "--store", files.path("store")).run()
    #expect(streamed.status == 65 && streamed.errors.contains("m3u8 cannot be read from a pipe"), "\(streamed.errors)")
  }

  @Test func `a playlist may be named as its source is, and not so that a file of it is the source`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    let edit = try files.write(Self.document(#"{ "to": "film.m3u8" }"#), to: "edit.json")
    let media = files.url.appending(path: "source.mp4")
    for (name, isFree) in [("source.mp4", true), ("source-audio.mp4", false), ("sources-audio.mp4", true)] {
      let file = files.url.appending(path: name)
      if name != "source.mp4" { try FileManager.default.copyItem(at: media, to: file) }
      let text = Self.document(#"{ "to": "film.m3u8" }"#).replacing("source.mp4", with: name)
      try Data(text.utf8).write(to: URL(fileURLWithPath: edit))
      let checked = try await Command.sheaf(
        "check", edit, "-o", files.path("source.m3u8"), "--store", files.path("store")
      ).run()
      #expect((checked.status == 0) == isFree, "\(name): \(checked.errors)")
      if !isFree { #expect(checked.errors.contains("whose name begins alike"), "\(checked.errors)") }
    }
  }
}
