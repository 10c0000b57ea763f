import Foundation
import TestPrograms
import Testing

/// Films for MPEG-DASH, as another reader of presentation descriptions and a browser find them. `ffmpeg` plays
/// their files: of a description on a disk it does not read ranges of bytes.
@Suite(.ownThreads) struct PresentationFilmTests {
  /// What `check-presentation` finds in a description.
  private struct Found: Decodable {
    struct Representation: Decodable {
      var id, file: String
      var codecs, rate, sar: String?
      var size: [Int]?
      var durations: [Double]?
      var starts: [Int]?
    }
    struct AdaptationSet: Decodable {
      var type: String
      var lang, label: String?
      var roles, switching: [String]
      var representations: [Representation]
    }

    var sets: [AdaptationSet]
    var duration: Double
    var title, copyright: String?
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

  private static func tool(_ name: String, _ arguments: String...) async throws -> Data {
    let python = Place.repository.appendingPathComponent(".build/http-tools/bin/python").path
    let script = Place.repository.appendingPathComponent("Tests/FarmTests/\(name)").path
    let result = try await Command(executable: python, arguments: [script] + arguments).run()
    try #require(result.status == 0, "scripts/http-tools installs what it needs: \(result.errors)")
    return Data(result.output.utf8)
  }

  private func check(_ description: String) async throws -> Found {
    try JSONDecoder().decode(Found.self, from: await Self.tool("check-presentation", description))
  }

  private func packets(_ film: String, _ stream: String) async throws -> String {
    try await Command.output("ffmpeg", "-v", "error", "-i", film, "-map", stream, "-c", "copy", "-f", "md5", "-")
  }

  @Test func `a description has the pictures and the sound of the same document in a file`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    let video = #""video": { "preset": "veryfast", "keyframeInterval": "2", "pixelAspect": [4, 3] }"#
    let sound = #""audio": { "sampleRate": 48000, "language": "deu" }"#
    let title = #""metadata": { "title": "A \"day\" & <night>\u0001", "copyright": "© 2026" }"#
    let stream = try files.write(
      Self.document("{ \"to\": \"out/film.mpd\", \(video), \(sound), \(title) }"), to: "stream.json")
    let plain = try files.write(Self.document("{ \"to\": \"film.mp4\", \(video), \(sound) }"), to: "plain.json")
    let made = try await TestFilm.render(stream, segmentDuration: "2")
    try #require(made.status == 0, "\(made.errors)")
    let other = try await TestFilm.render(plain, files.path("film.mp4"), segmentDuration: "2")
    try #require(other.status == 0, "\(other.errors)")

    let found = try await check(files.path("out/film.mpd"))
    #expect(found.problems == [])
    #expect(found.files == ["film-audio.mp4", "film-video.mp4", "film.mpd"])
    #expect(found.title == "A \"day\" & <night>\u{FFFD}" && found.copyright == "© 2026")
    #expect(found.sets.map(\.type) == ["video", "audio"])
    let languages: [String?] = [nil, "de"]
    #expect(found.sets.map(\.lang) == languages)
    #expect(found.sets.map(\.roles) == [["main"], ["main"]])
    let pictures = try #require(found.sets[0].representations.first)
    #expect(pictures.id == "video" && pictures.size == [144, 108] && pictures.sar == "4:3")
    #expect(pictures.rate == "30000/1001")
    #expect(pictures.codecs?.wholeMatch(of: #/avc1\.64[0-9a-f]{4}/#) != nil, "\(pictures.codecs ?? "")")
    #expect(found.sets[1].representations.map(\.codecs) == ["mp4a.40.2"])
    // Segments have three intervals of keyframes; the film has 381 frames.
    let lengths = [180, 180, 21].map { Double($0) * 1001 / 30000 }
    let durations = try #require(pictures.durations)
    #expect(durations.count == 3 && zip(durations, lengths).allSatisfy { abs($0 - $1) < 1e-9 }, "\(durations)")
    #expect(abs(found.duration - 381.0 * 1001 / 30000) < 2e-6)

    let (streamed, stored) = (
      try await FrameHashes.video(files.path("out/film-video.mp4")), try await FrameHashes.video(files.path("film.mp4"))
    )
    #expect(streamed.frames.map(\.hash) == stored.frames.map(\.hash))
    #expect(try await packets(files.path("out/film-audio.mp4"), "0:a") == packets(files.path("film.mp4"), "0:a"))
  }

  @Test func `a browser plays a description, from rendition to rendition without a gap`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    let edit = try files.write(
      Self.document(
        """
        { "to": "out/film.mpd", "video": { "preset": "veryfast" },
          "outputs": [ { "name": "high", "container": "mp4" }, { "name": "low", "container": "mp4", "height": 54 } ] }
        """), to: "edit.json")
    let made = try await TestFilm.render(edit)
    try #require(made.status == 0, "\(made.errors)")
    struct Played: Decodable {
      var ranges: [[[Double]]]
      /// The time that was sought, and the time and the size of the picture that was shown.
      var seen: [[Double]]
      var used: [String]
      var duration, end: Double
    }
    let played = try JSONDecoder().decode(
      Played.self, from: await Self.tool("play-presentation", files.path("out"), "film.mpd"))
    #expect(played.used == ["film-high.mp4", "film-low.mp4", "film-high.mp4"])
    // One range without a gap each, from the start to the end.
    try #require(played.ranges.map(\.count) == [1, 1], "\(played.ranges)")
    for range in played.ranges.joined() { #expect(range[0] < 0.03 && abs(range[1] - 12.71) < 0.04, "\(range)") }
    #expect(abs(played.duration - 12.7127) < 0.001 && abs(played.end - played.duration) < 0.05, "\(played)")
    let switched = 180.0 * 1001 / 30000
    for picture in played.seen {
      let (sought, shown, width) = (picture[0], picture[1], picture[2])
      #expect(shown <= sought + 1e-6 && sought - shown < 0.034, "\(picture)")
      #expect(width == (sought < switched || sought >= 2 * switched ? 192 : 96), "\(picture)")
    }
  }

  @Test func `a ladder with subtitles is the same from a farm, and is in playlists and a description at once`()
    async throws
  {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    let captions = "1\n00:00:01,000 --> 00:00:03,500\nOne\n\n2\n00:00:05,000 --> 00:00:07,000\nTwo --> lines\nof text\n"
    _ = try files.write(captions, to: "en.srt")
    func edit(_ name: String, _ manifests: String) throws -> String {
      try files.write(
        Self.document(
          """
          { "to": "\(name)", \(manifests)"video": { "preset": "superfast" }, "metadata": { "title": "A \\"day\\"" },
            "audio": { "sampleRate": 48000, "language": "eng" },
            "outputs": [ { "name": "108p", "container": "mp4" },
              { "name": "54p", "container": "mp4", "height": 54, "audio": { "bitRate": 64000 } },
              { "name": "hevc", "container": "mp4", "video": { "codec": "hevc", "preset": "ultrafast" } } ] }
          """,
          #", { "type": "subtitle", "language": "eng", "title": "English", "clips": [ { "asset": "en" } ] }"#,
          use: TestExtent.of("0.7..8.4", whole: "0.7..13.4")),
        to: "edit-\(name)\(manifests.count).json")
    }
    let both = try edit("film.mpd", #""manifests": ["mpd", "m3u8"], "#)
    for (name, document) in [("both", both), ("dash", try edit("film.mpd", "")), ("hls", try edit("film.m3u8", ""))] {
      let ending = name == "hls" ? "m3u8" : "mpd"
      let made = try await TestFilm.render(document, files.path("\(name)/film.\(ending)"), segmentDuration: "3")
      try #require(made.status == 0, "\(made.errors)")
    }
    let found = try await check(files.path("both/film.mpd"))
    #expect(found.problems == [] && found.title == "A \"day\"")
    #expect(found.sets.map(\.type) == ["video", "video", "audio", "text"])
    #expect(found.sets.map(\.switching) == [["2"], ["1"], [], []])
    let ids = found.sets.map { $0.representations.map(\.id) }
    let renditions: [[String]] = [["108p", "54p"], ["hevc"], ["audio-1", "audio-2"], ["subtitles-whole"]]
    #expect(ids == renditions)
    let languages: [String?] = [nil, nil, "en", "en"]
    #expect(found.sets.map(\.lang) == languages)
    let subtitles = found.sets[3]
    #expect(subtitles.label == "English" && subtitles.roles == ["subtitle"])
    // Both have the files of each alone, and nothing else.
    let (dash, hls) = (try files.contents("dash"), try files.contents("hls"))
    #expect(Set(found.files) == Set(dash).union(hls) && !dash.contains { $0.hasSuffix(".m3u8") })
    for (folder, names) in [("dash", dash), ("hls", hls)] {
      for name in names {
        let (one, two) = (files.path("\(folder)/\(name)"), files.path("both/\(name)"))
        #expect(FileManager.default.contentsEqual(atPath: one, andPath: two), "\(folder)/\(name)")
      }
    }
    let main = try String(contentsOfFile: files.path("both/film.m3u8"), encoding: .utf8)
    #expect(main.contains("#EXT-X-SESSION-DATA:DATA-ID=\"com.apple.hls.title\",VALUE=\"A 'day'\"\n"))
    let text = try String(contentsOfFile: files.path("both/film-subtitles-whole.vtt"), encoding: .utf8)
    #expect(
      text
        == "WEBVTT\n\n00:00:01.000 --> 00:00:03.500\nOne\n\n00:00:05.000 --> 00:00:07.000\nTwo --&gt; lines\nof text\n\n"
    )

    let farm = try await Farm(workers: 2, slots: 1)
    defer { farm.stop() }
    let submit = try await farm.sheaf(
      "submit", both, "--wait", "--segment-duration", "3", "-o", files.path("waited/film.mpd")
    ).run()
    try #require(submit.status == 0, "\(submit.errors)")
    #expect(try files.contents("waited") == found.files)
    for name in found.files {
      let (one, two) = (files.path("waited/\(name)"), files.path("both/\(name)"))
      #expect(FileManager.default.contentsEqual(atPath: one, andPath: two), "\(name)")
    }
  }

  private static let refusals: [(String, String)] = [
    (#"{ "to": "film.mpd", "manifests": [] }"#, "/export/manifests: at least one of m3u8, mpd is needed"),
    (#"{ "to": "film.mpd", "manifests": ["m3u8"] }"#, "/export/manifests: the film's name ends in .mpd"),
    (#"{ "to": "film.mp4", "manifests": ["mpd"] }"#, "/export/manifests: a film in mp4 has no manifest"),
    (#"{ "to": "film.mpd", "manifests": ["hls"] }"#, "/export/manifests/0: unknown manifest 'hls'"),
    (#"{ "to": "film.mpd", "video": { "codec": "prores422" } }"#, "/export/video/codec: prores422 cannot be stored"),
    (#"{ "to": "the film.mpd" }"#, "/export/to: the playlist 'the film.mpd' names its files"),
    (#"{ "to": "film.mpd", "preset": "passthrough" }"#, "h264 cannot be copied into mpd"),
    (
      #"{ "to": "film.mpd", "outputs": [ { "name": "a", "container": "mkv" } ] }"#,
      "/export/outputs/0/container: mkv cannot be a rendition of the playlist film.mpd"
    ),
    (#"{ "to": "film.mpd", "metadata": { "artist": "A" } }"#, "mpd cannot store 'artist'; it has title, copyright"),
  ]

  @Test(arguments: refusals.spread(3))
  func `what a description cannot have is refused with its place`(export: String, problem: String) async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    let edit = try files.write(Self.document(export), to: "edit.json")
    let made = try await TestFilm.render(edit)
    #expect(made.status == 65 && made.errors.contains(problem), "\(made.errors)")
    #expect(try files.contents() == ["edit.json", "source.mp4"])
  }

  @Test func `a film in segments is verified with all its files`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files)
    let edit = try files.write(
      Self.document(
        #"{ "to": "film.mpd", "manifests": ["m3u8", "mpd"], "video": { "preset": "ultrafast" } }"#,
        use: TestExtent.of("0.7..8.4", whole: "0.7..13.4")), to: "edit.json")
    let film = files.path("out/film.mpd")
    let made = try await TestFilm.render(edit, film)
    try #require(made.status == 0, "\(made.errors)")
    let verified = try await Command.sheaf("verify", film, edit, "--folder", files.path("again")).run()
    #expect(verified.status == 0, "\(verified.errors)")
    for name in try files.contents("out") { #expect(verified.errors.contains("\(name): the same bytes"), "\(name)") }
    // Another text, and other pictures.
    let playlist = files.path("out/film-video.m3u8")
    let text = try String(contentsOfFile: playlist, encoding: .utf8)
    try text.replacing("EXTINF:6.", with: "EXTINF:5.").write(toFile: playlist, atomically: false, encoding: .utf8)
    let other = try await Command.sheaf("verify", film, edit, "--folder", files.path("again")).run()
    #expect(
      other.status == 3 && other.errors.contains("film-video.m3u8: it differs")
        && other.errors.contains("film-video.mp4: the same bytes"), "\(other.errors)")
    try FileManager.default.removeItem(atPath: playlist)
    let missing = try await Command.sheaf("verify", film, edit, "--folder", files.path("again")).run()
    #expect(missing.status == 65 && missing.errors.contains("there is no film"), "\(missing.errors)")
    let share = try await Command.sheaf("verify", film, edit, "--share", "10").run()
    #expect(share.status == 65 && share.errors.contains("leave --share out"), "\(share.errors)")
  }
}
