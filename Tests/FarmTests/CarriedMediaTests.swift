import Foundation
import TestMedia
import TestPrograms
import Testing

/// What a copy has beside the tracks that its document names. ffprobe and ffmpeg are the oracles.
@Suite(.ownThreads) struct CarriedMediaTests {
  private let files: Workspace

  init() throws {
    files = try Workspace()
  }

  private static let captions = """
    1
    00:00:00,500 --> 00:00:01,500
    Hello

    2
    00:00:02,000 --> 00:00:03,000
    World

    """

  private static let metadata = """
    ;FFMETADATA1
    title=My film
    [CHAPTER]
    TIMEBASE=1/1000
    START=0
    END=2000
    title=One
    [CHAPTER]
    TIMEBASE=1/1000
    START=2000
    END=4000
    title=Two
    """

  /// 4 s of pictures, two languages, captions and two chapters; QuickTime files have a timecode, and Matroska files an
  /// attached file.
  private func source(_ name: String, captions codec: String) throws -> String {
    let path = files.path(name)
    let texts = try files.write(Self.captions, to: "captions.srt")
    let metadata = try files.write(Self.metadata, to: "metadata.txt")
    let attached = try files.write("not really a font", to: "face.ttf")
    _ = try Tool.ffmpeg(
      [
        "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=4", "-f", "lavfi", "-i", "sine=440:d=4", "-f",
        "lavfi", "-i", "sine=880:d=4", "-i", texts, "-i", metadata, "-map", "0", "-map", "1", "-map", "2", "-map", "3",
        "-map_metadata", "4", "-map_chapters", "4", "-c:v", "libx264", "-g", "25", "-bf", "2", "-c:a", "aac", "-c:s",
        codec, "-metadata:s:a:0", "language=eng", "-metadata:s:a:1", "language=deu", "-metadata:s:s:0", "language=fra",
        "-disposition:v:0", "default", "-disposition:a:0", "default", "-disposition:a:1",
        name.hasSuffix("mov") ? "0" : "visual_impaired", "-disposition:s:0", name.hasSuffix("mkv") ? "forced" : "0",
      ] + (name.hasSuffix("mov") ? ["-timecode", "01:00:00:00"] : [])
        + (name.hasSuffix("mkv") ? ["-attach", attached, "-metadata:s:t", "mimetype=font/ttf"] : []) + [path])
    return path
  }

  fileprivate struct Report: Decodable {
    struct Loss: Decodable, Equatable {
      var what: String
      var `where`: String
      var track: Int?
      var why: String
    }
    struct Problem: Decodable {
      var message: String
    }
    var losses: [Loss]?
    var warnings: [Problem]?
    var frames: Int?
  }

  /// - Parameters:
  ///   - clips: The clips of the asset `a`, as JSON.
  ///   - export: Further keys of `export`.
  private func copy(
    _ source: String, to film: String, _ clips: String = #"{ "asset": "a" }"#, export: String = ""
  ) async throws -> Report {
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(source)" },
        "tracks": [ { "type": "video", "sound": true, "clips": [ \(clips) ] } ],
        "export": { "to": "\(film)", "preset": "passthrough"\(export) } }
      """, to: "edit.json")
    let result = try await TestFilm.render(edit)
    try #require(result.status == 0, "\(result.errors)")
    return try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
  }

  private func probe(_ path: String, _ arguments: String...) throws -> [String] {
    let output = try Tool.run("ffprobe", ["-v", "error"] + arguments + ["-of", "compact", path]).output
    return String(decoding: output, as: UTF8.self).split(separator: "\n").map {
      String($0).trimmingCharacters(in: .whitespaces)
    }
    .filter { !$0.isEmpty }
  }

  private func streams(_ path: String) throws -> [String] {
    try probe(
      path, "-show_entries",
      "stream=codec_type,codec_name,nb_frames:stream_tags=language,timecode:stream_disposition=default,forced,visual_impaired"
    )
  }

  /// The digests of all packets of each track that has media.
  private func packets(_ path: String) throws -> [Substring] {
    let list = try Tool.run(
      "ffmpeg",
      ["-v", "error", "-i", path, "-map", "0:v", "-map", "0:a", "-map", "0:s", "-c", "copy", "-f", "streamhash", "-"]
    ).output
    return String(decoding: list, as: UTF8.self).split(separator: "\n")
  }

  @Test(arguments: [("film.mov", "mov_text"), ("film.mp4", "mov_text"), ("film.mkv", "subrip")].spread(2))
  func `a copy of a whole film has all that the film has`(name: String, captions: String) async throws {
    defer { files.remove() }
    let source = try source(name, captions: captions)
    let film = files.path("copy." + name.suffix(3))
    let report = try await copy(source, to: film)
    #expect(report.losses == [] && report.warnings?.isEmpty == true && report.frames == 100)
    #expect(try streams(film) == streams(source))
    #expect(try packets(film) == packets(source))
    let chapters = "chapter=start_time,end_time:chapter_tags=title"
    #expect(try probe(film, "-show_entries", chapters) == probe(source, "-show_entries", chapters))
    #expect(try probe(film, "-show_entries", "format_tags=title") == ["format|tag:title=My film"])
  }

  /// A movie with the configuration of Dolby Vision (profile 8.4), whose index is its end: no sample moves.
  private func dolbyVision() throws -> String {
    let path = files.path("plain.mp4")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=1", "-c:v", "libx265", "-tag:v", "hvc1",
      "-x265-params", "log-level=none", path)
    var movie = try Data(contentsOf: URL(fileURLWithPath: path))
    let box: [UInt8] =
      [0, 0, 0, 32] + Array("dvvC".utf8) + [1, 0, 0x10, 0x1D, 0x40] + [UInt8](repeating: 0, count: 19)
    let index = try #require(movie.range(of: Data("moov".utf8))).lowerBound
    for type in ["moov", "trak", "mdia", "minf", "stbl", "stsd", "hvc1"] {
      let place = try #require(movie.range(of: Data(type.utf8), in: index..<movie.count)).lowerBound
      let size = movie[(place - 4)..<place].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } + 32
      for shift in 0..<4 { movie[place - 4 + shift] = UInt8(truncatingIfNeeded: size >> (8 * UInt32(3 - shift))) }
    }
    let configuration = try #require(movie.range(of: Data("hvcC".utf8), in: index..<movie.count)).lowerBound
    movie.insert(contentsOf: box, at: configuration - 4)
    let result = files.path("vision.mp4")
    try movie.write(to: URL(fileURLWithPath: result))
    return result
  }

  @Test(arguments: ["mp4", "mkv", "mov"])
  func `a copy keeps the configuration of Dolby Vision, or says that it is lost`(container: String) async throws {
    defer { files.remove() }
    let source = try dolbyVision()
    let film = files.path("copy." + container)
    let report = try await copy(source, to: film)
    func has(_ path: String) throws -> Bool {
      try probe(path, "-show_entries", "stream_side_data=side_data_type").contains { $0.contains("DOVI") }
    }
    #expect(try has(source))
    #expect(try has(film) == (container != "mov"))
    let losses = report.losses ?? []
    #expect(losses.map(\.what) == (container == "mov" ? ["hdr"] : []))
    #expect(losses.allSatisfy { $0.why.contains("the configuration of Dolby Vision") })
  }

  @Test func `what the document does not want is left out without a warning`() async throws {
    defer { files.remove() }
    let source = try source("film.mov", captions: "mov_text")
    let film = files.path("copy.mov")
    let report = try await copy(source, to: film, export: #", "carry": false"#)
    #expect(report.warnings?.isEmpty == true)
    #expect(
      try probe(film, "-show_entries", "stream=codec_type") == ["stream|codec_type=video", "stream|codec_type=audio"])
    #expect(try probe(film, "-show_chapters").isEmpty)
    _ = try await copy(source, to: film, export: #", "carry": ["chapters"]"#)
    #expect(try probe(film, "-show_chapters").count == 2)
    #expect(try probe(film, "-show_entries", "format_tags=title").allSatisfy { !$0.contains("My film") })
  }

  @Test func `a part has its part of everything`() async throws {
    defer { files.remove() }
    let source = try source("film.mov", captions: "mov_text")
    let film = files.path("copy.mov")
    let report = try await copy(source, to: film, #"{ "asset": "a", "use": "1..3" }"#)
    #expect(report.losses == [] && report.frames == 50)
    #expect(
      try probe(film, "-show_entries", "chapter=start_time,end_time:chapter_tags=title") == [
        "chapter|start_time=0.000000|end_time=1.000000|tag:title=One",
        "chapter|start_time=1.000000|end_time=2.000000|tag:title=Two",
      ])
    #expect(
      try probe(film, "-select_streams", "v", "-show_entries", "stream_tags=timecode") == [
        "stream|tag:timecode=01:00:01:00"
      ])
    let texts = try Tool.run("ffmpeg", ["-v", "error", "-i", film, "-map", "0:s:0", "-f", "srt", "-"]).output
    #expect(
      String(decoding: texts, as: UTF8.self)
        == "1\n00:00:00,000 --> 00:00:00,500\nHello\n\n2\n00:00:01,000 --> 00:00:02,000\nWorld\n\n")
    // The second language is cut at the same samples as the first.
    let samples = try ["0:a:0", "0:a:1"].map {
      try Tool.run("ffmpeg", ["-v", "error", "-i", film, "-map", $0, "-f", "s16le", "-"]).output.count
    }
    #expect(samples[0] == samples[1])
  }

  @Test func `captions are stored as the container has them`() async throws {
    defer { files.remove() }
    let source = try source("film.mov", captions: "mov_text")
    let film = files.path("copy.mkv")
    let report = try await copy(source, to: film)
    #expect(report.losses == [])
    #expect(
      try probe(film, "-select_streams", "s", "-show_entries", "stream=codec_name:stream_tags=language")
        == ["stream|codec_name=subrip|tag:language=fra"])
    let texts = try Tool.run("ffmpeg", ["-v", "error", "-i", film, "-map", "0:s:0", "-f", "srt", "-"]).output
    #expect(String(decoding: texts, as: UTF8.self).contains("00:00:02,000 --> 00:00:03,000\nWorld"))
  }

  @Test func `what a container cannot have is listed`() async throws {
    defer { files.remove() }
    let source = try source("film.mkv", captions: "subrip")
    let report = try await copy(source, to: files.path("copy.mov"))
    let losses = try #require(report.losses)
    #expect(losses.map(\.what).sorted() == ["attachment", "disposition", "disposition"])
    #expect(losses.allSatisfy { $0.where == "/assets/a" })
    #expect(losses.first { $0.what == "attachment" }?.track == 4)
    #expect(report.warnings?.count == 3)
    // Its sound alone: one track, and no chapters.
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(source)" },
        "tracks": [ { "type": "video", "sound": true, "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "\(files.path("sound.m4a"))", "preset": "passthrough", "video": false } }
      """, to: "edit.json")
    let result = try await Command.sheaf("check", edit, "--json").run()
    let found = try JSONDecoder().decode(Report.Losses.self, from: Data(result.output.utf8)).losses
    #expect(found.map(\.what).contains("attachment"))
  }

  /// A film of 4 s with the title "A talk", and a pitch for each language. Players play the first sound.
  private func talk(_ name: String, _ sounds: [(language: String, pitch: Int)]) throws -> String {
    let path = files.path(name)
    let inputs = sounds.flatMap { ["-f", "lavfi", "-i", "sine=\($0.pitch):d=4"] }
    let labels = sounds.enumerated().flatMap {
      ["-map", "\($0 + 1)", "-metadata:s:a:\($0)", "language=\($1.language)", "-disposition:a:\($0)"]
        + [$0 == 0 ? "default" : "0"]
    }
    _ = try Tool.ffmpeg(
      ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=4"] + inputs
        + ["-map", "0", "-c:v", "libx264", "-g", "25", "-bf", "0", "-c:a", "aac"] + labels
        + ["-metadata", "title=A talk", path])
    return path
  }

  /// Joins seconds 0 to 2 of a film and 1 to 3 of another.
  private func join(_ first: String, _ second: String, to film: String) async throws -> Report {
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "x": "\(first)", "y": "\(second)" },
        "tracks": [ { "type": "video", "sound": true, "clips": [
          { "asset": "x", "use": "0..2" }, { "asset": "y", "use": "1..3" } ] } ],
        "export": { "to": "\(film)", "preset": "passthrough" } }
      """, to: "join.json")
    let result = try await TestFilm.render(edit)
    try #require(result.status == 0, "\(result.errors)")
    return try JSONDecoder().decode(Report.self, from: Data(result.output.utf8))
  }

  /// The pitch of a track of sound at 2.5 s, by its crossings of zero in half a second.
  private func pitch(_ film: String, _ track: Int) throws -> Int {
    let samples = try Tool.run(
      "ffmpeg",
      ["-v", "error", "-ss", "2.5", "-t", "0.5", "-i", film, "-map", "0:a:\(track)", "-ac", "1", "-f", "f32le", "-"]
    ).output.withUnsafeBytes { bytes in bytes.bindMemory(to: Float.self).map { $0 } }
    return zip(samples, samples.dropFirst()).count { $0 < 0 && $1 >= 0 } * 2
  }

  @Test func `a language goes on with the track of that language that the document does not name`() async throws {
    defer { files.remove() }
    let first = try talk("first.mp4", [("deu", 440), ("eng", 880)])
    let film = files.path("join.mp4")
    // The sound of the second film that players play is English, and German follows nothing.
    let mixed = try await join(first, talk("swapped.mp4", [("eng", 880), ("deu", 440)]), to: film)
    #expect(mixed.losses?.filter { $0.what == "track" }.map(\.where) == ["/assets/x", "/assets/y"])
    #expect(mixed.losses?.filter { $0.what == "metadata" }.map(\.where) == ["/assets/x", "/assets/y"])
    #expect(try probe(film, "-select_streams", "a", "-show_entries", "stream=index").count == 1)
    let same = try await join(first, talk("same.mp4", [("deu", 460), ("eng", 920)]), to: film)
    #expect(same.losses?.filter { $0.what == "track" } == [])
    #expect(try [0, 1].map { try pitch(film, $0) / 20 } == [23, 46])
  }

  @Test func `no track of a later file follows two of the first`() async throws {
    defer { files.remove() }
    let film = files.path("join.mp4")
    let report = try await join(
      talk("first.mp4", [("eng", 440), ("und", 660), ("deu", 880)]), talk("second.mp4", [("eng", 440), ("deu", 880)]),
      to: film)
    let lost = try #require(report.losses).filter { $0.what == "track" }
    #expect(lost.map(\.where) == ["/assets/x"] && lost.map(\.track) == [2])
    #expect(
      try probe(film, "-select_streams", "a", "-show_entries", "stream_tags=language")
        == ["stream|tag:language=eng", "stream|tag:language=deu"])
    #expect(try [0, 1].map { try pitch(film, $0) / 20 } == [22, 44])
  }

  @Test func `what only a later file has is listed`() async throws {
    defer { files.remove() }
    let first = try talk("first.mp4", [("deu", 440), ("eng", 880)])
    let plain = files.path("plain.mp4")
    _ = try Tool.ffmpeg("-i", first, "-map", "0:v", "-map", "0:a:0", "-c", "copy", "-map_metadata", "-1", plain)
    let losses = try #require(try await join(plain, first, to: files.path("join.mp4")).losses)
    #expect(losses.map(\.what) == ["track", "metadata"] && losses.allSatisfy { $0.where == "/assets/y" })
    #expect(losses.first?.track == 2)
  }

  @Test func `converted captions keep what their file states of them, and Matroska's timecode is kept`() async throws {
    defer { files.remove() }
    let source = files.path("forced.mkv")
    _ = try Tool.ffmpeg(
      "-i", try self.source("film.mkv", captions: "subrip"), "-map", "0:v", "-map", "0:s", "-c", "copy",
      "-disposition:s:0", "default+forced+hearing_impaired", "-timecode", "01:00:00:05", source)
    for container in ["mp4", "mkv"] {
      let film = files.path("copy.\(container)")
      let report = try await copy(source, to: film, #"{ "asset": "a", "use": "1..4" }"#)
      #expect(report.losses == [])
      #expect(
        try probe(
          film, "-select_streams", "s", "-show_entries",
          "stream=codec_name:stream_disposition=default,forced,hearing_impaired")
          == [
            "stream|codec_name=\(container == "mp4" ? "mov_text" : "subrip")|disposition:default=1|disposition:forced=1|"
              + "disposition:hearing_impaired=1"
          ])
      let codes = try probe(film, "-show_entries", "stream_tags=timecode:format_tags=timecode")
      #expect(codes.contains { $0.contains("01:00:01:05") }, "\(codes)")
    }
  }

  /// A screen recording: its only picture is shown for a minute.
  @Test(arguments: ["mp4", "mov", "mkv"]) func `a copy inside a held picture shows the picture for its part`(
    container: String
  ) async throws {
    defer { files.remove() }
    let source = files.path("held.mp4")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=1/60:duration=60", "-c:v", "libx264", source)
    let film = files.path("part.\(container)")
    let report = try await copy(source, to: film, #"{ "asset": "a", "use": "10..20" }"#)
    #expect(report.frames == 1)
    func pictures(_ path: String) throws -> [Substring] {
      let list = try Tool.run("ffmpeg", ["-v", "error", "-i", path, "-map", "0:v", "-f", "framemd5", "-"]).output
      return String(decoding: list, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
        .compactMap { $0.split(separator: ",").last }
    }
    #expect(try pictures(film).first == pictures(source).first)
    #expect(try probe(film, "-show_entries", "frame=pts_time").first?.hasPrefix("frame|pts_time=0.000000|") == true)
  }
}

extension CarriedMediaTests.Report {
  fileprivate struct Losses: Decodable {
    var losses: [CarriedMediaTests.Report.Loss]
  }
}
