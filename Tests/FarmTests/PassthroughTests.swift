import Foundation
import TestMedia
import TestPrograms
import Testing

/// The preset `passthrough`: ffmpeg is the oracle for the packets and for what is decoded of them.
@Suite(.ownThreads) struct PassthroughTests {
  private let files: Workspace

  init() throws {
    files = try Workspace()
  }

  /// A film of 6 s with a keyframe every second, B-frames, and sound.
  private func source(_ name: String = "source.mp4", bFrames: Int = 2) throws -> String {
    let path = files.path(name)
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=6", "-f", "lavfi", "-i",
      "aevalsrc=sin(1000*t*t):s=48000:d=6", "-c:v", "libx264", "-g", "25", "-sc_threshold", "0", "-bf", "\(bFrames)",
      "-c:a",
      "aac", "-movflags", "+faststart", path,
    ])
    return path
  }

  private func document(_ clips: String, to output: String, assets: String) throws -> String {
    try files.write(
      """
      { "sheaf": 1, "assets": { \(assets) },
        "tracks": [ { "id": "A", "type": "video", "sound": true, "clips": [ \(clips) ] } ],
        "export": { "to": "\(output)", "preset": "passthrough" } }
      """, to: "edit.json")
  }

  /// - Parameter clips: The clips of the asset `a`, as JSON.
  private func copySound(_ clips: String, of source: String, to film: String) async throws -> TestFilm {
    try await render(
      try files.write(
        """
        { "sheaf": 1, "assets": { "a": "\(source)" }, "tracks": [ { "type": "audio", "clips": [ \(clips) ] } ],
          "export": { "to": "\(film)", "preset": "passthrough" } }
        """, to: "edit.json"))
  }

  private func render(_ edit: String) async throws -> TestFilm { try await TestFilm.render(edit) }

  /// The digests of a file's packets of a type.
  private func packets(_ path: String, _ stream: String) throws -> [Substring] {
    let list = try Tool.run(
      "ffmpeg", ["-v", "error", "-i", path, "-map", "0:\(stream)", "-c", "copy", "-f", "framemd5", "-"]
    ).output
    return String(decoding: list, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
      // Side data follow the digest.
      .map { $0.split(separator: ",")[5] }
  }

  /// The digests of a file's decoded frames.
  private func frames(_ path: String, _ options: [String] = []) throws -> [Substring] {
    let list = try Tool.run(
      "ffmpeg", ["-v", "error", "-i", path] + options + ["-map", "0:v", "-f", "framemd5", "-"]
    ).output
    return String(decoding: list, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
      .compactMap { $0.split(separator: ",").last }
  }

  private func samples(_ path: String) throws -> [Float] {
    let bytes = try Tool.run("ffmpeg", ["-v", "error", "-i", path, "-f", "f32le", "-ac", "1", "-"]).output
    return bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
  }

  private func probe(_ path: String, _ entries: String) throws -> [String] {
    let output = try Tool.run(
      "ffprobe", ["-v", "error", "-show_entries", entries, "-of", "default=nw=1:nk=1", path]
    ).output
    return String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @Test func `a whole film's packets are those of the source`() async throws {
    defer { files.remove() }
    let source = try source()
    let edit = try document(
      #"{ "asset": "a" }"#, to: files.path("copy.mkv"), assets: "\"a\": \"\(source)\"")
    let result = try await render(edit)
    try #require(result.status == 0, "\(result.errors)")
    #expect(try packets(files.path("copy.mkv"), "v") == packets(source, "v"))
    #expect(try packets(files.path("copy.mkv"), "a") == packets(source, "a"))
    #expect(try frames(files.path("copy.mkv")) == frames(source))
    let (copied, stored) = (try samples(files.path("copy.mkv")), try samples(source))
    // A decoder fills the last packet with noise of its own.
    #expect(copied.count == stored.count)
    let differences = zip(copied, stored).dropLast(1024).map { abs($0 - $1) }
    #expect(differences.max() ?? 1 < 0.001)
  }

  /// Matroska states no decoding times, and those of the first pictures are found from later ones.
  @Test(arguments: ["mp4", "mkv"]) func `a film of Matroska with pictures out of order is copied`(
    container: String
  ) async throws {
    defer { files.remove() }
    let source = try source("source.mkv", bFrames: 3)
    let film = files.path("copy.\(container)")
    let edit = try document(#"{ "asset": "a" }"#, to: film, assets: "\"a\": \"\(source)\"")
    let result = try await render(edit)
    try #require(result.status == 0, "\(result.errors)")
    #expect(try packets(film, "v") == packets(source, "v"))
    #expect(try packets(film, "a") == packets(source, "a"))
    #expect(try frames(film) == frames(source))
    #expect(try probe(film, "packet=pts_time").count == probe(source, "packet=pts_time").count)
    #expect(try Tool.result(of: "ffmpeg", ["-v", "warning", "-i", film, "-f", "null", "-"]).log == "")
  }

  @Test func `a clip that starts between two pictures begins with the first of them, at zero`() async throws {
    defer { files.remove() }
    let source = try source()
    let film = files.path("cut.mkv")
    let edit = try document(#"{ "asset": "a", "use": "1.01..3" }"#, to: film, assets: "\"a\": \"\(source)\"")
    let result = try await render(edit)
    try #require(result.status == 0, "\(result.errors)")
    #expect(try frames(film) == Array(frames(source)[25..<75]))
    let shown = String(
      decoding: try Tool.run(
        "ffprobe", ["-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time", "-of", "csv=p=0", film]
      ).output, as: UTF8.self
    ).split(separator: "\n").compactMap { Double($0) }.sorted()
    // The second picture is at its time, 30 ms after the start.
    #expect(shown.count == 50 && Array(shown.prefix(3)) == [0, 0.03, 0.07], "\(shown)")
  }

  @Test(arguments: ["mp4", "mov", "mkv"].spread(2))
  func `metadata of any key are in the file`(container: String) async throws {
    defer { files.remove() }
    let source = try source()
    let film = files.path("film.\(container)")
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(source)" }, "tracks": [ { "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "\(film)", "preset": "passthrough", "metadata": { "title": "T", "scene": "12b" } } }
      """, to: "edit.json")
    let result = try await render(edit)
    try #require(result.status == 0, "\(result.errors)")
    let text = String(
      decoding: try Tool.run("ffprobe", ["-v", "quiet", "-show_entries", "format_tags", film]).output, as: UTF8.self)
    #expect(text.lowercased().contains("scene=12b") && text.contains("=T\n"), "\(text)")
  }

  @Test(arguments: ["mp4", "mov", "mkv"])
  func `tracks state what the edit says of them, or what they have stated`(container: String) async throws {
    defer { files.remove() }
    let source = files.path("talk.\(container)")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=s=64x48:d=1", "-f", "lavfi", "-i", "sine=d=1", "-metadata:s:v:0", "language=ger",
      "-metadata:s:a:0", "language=eng", source)
    let film = files.path("film.\(container)")
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(source)" },
        "tracks": [ { "sound": true, "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "\(film)", "preset": "passthrough", "audio": { "language": "haw", "title": "Leo" } } }
      """, to: "edit.json")
    let result = try await render(edit)
    try #require(result.status == 0, "\(result.errors)")
    let tags = try Tool.ffprobe("-show_entries", "stream_tags=language,title,handler_name", film)
    #expect(tags.map { $0[0] } == ["ger", "haw"] && tags[1] == ["haw", "Leo"], "\(tags)")
  }

  /// ffprobe counts the other way. -1: none is stated.
  private func rotation(_ path: String) throws -> Int {
    let answer = try Tool.ffprobe("-select_streams", "v", "-show_entries", "stream_side_data=rotation", path)
    return answer.compactMap { $0.last.flatMap { Int($0) } }.first.map { (360 - $0) % 360 } ?? -1
  }

  @Test(arguments: ["mp4", "mov"], [0, 90, 180, 270].spread(2))
  func `pictures are turned as the edit says, whatever the source states`(container: String, degrees: Int) async throws
  {
    defer { files.remove() }
    let source = Place.media("friday-rotated.mp4")
    #expect(try rotation(source) > 0)
    func copy(_ video: String, to film: String) async throws -> TestFilm {
      try await render(
        try files.write(
          """
          { "sheaf": 1, "assets": { "a": "\(source)" }, "tracks": [ { "clips": [ { "asset": "a" } ] } ],
            "export": { "to": "\(film)", "preset": "passthrough", "video": \(video) } }
          """, to: "edit.json"))
    }
    let film = files.path("film.\(container)")
    let result = try await copy("{ \"rotation\": \(degrees) }", to: film)
    try #require(result.status == 0, "\(result.errors)")
    #expect(try max(0, rotation(film)) == degrees)
    #expect(try packets(film, "v") == packets(source, "v"))
    guard container == "mp4" else { return }
    let matroska = files.path("film.mkv")
    let refused = try await copy("{ \"rotation\": \(degrees) }", to: matroska)
    // Pictures that players do not turn need nothing stated.
    #expect(refused.status == (degrees == 0 ? 0 : 65), "\(refused.errors)")
    if degrees != 0 { #expect(refused.errors.contains("/export/video/rotation: mkv cannot state")) }
  }

  @Test func `a farm makes the file that one machine makes`() async throws {
    defer { files.remove() }
    let source = try source()
    let film = files.path("one.mp4")
    let edit = try document(
      #"{ "asset": "a", "use": "3.6..5" }, { "asset": "a", "use": "1..2.4" }"#, to: film,
      assets: "\"a\": \"\(source)\"")
    let result = try await render(edit)
    try #require(result.status == 0, "\(result.errors)")
    let farm = try await Farm(workers: 3, slots: 1)
    defer { farm.stop() }
    let submit = try await farm.sheaf("submit", edit, "--wait", "-o", files.path("farm.mp4")).run()
    try #require(submit.status == 0, "\(submit.errors)")
    let expected = try Data(contentsOf: URL(fileURLWithPath: film))
    #expect(expected.count > 10_000)
    #expect(try Data(contentsOf: URL(fileURLWithPath: files.path("farm.mp4"))) == expected)
  }

  @Test func `damage that the file shows is a warning, and with strict media an error`() async throws {
    defer { files.remove() }
    let movie = files.path("movie.ts")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=4", "-c:v", "mpeg2video", "-g", "8", "-b:v", "800k",
      movie)
    var data = try Data(contentsOf: URL(fileURLWithPath: movie))
    let lost = (data.count / 188 / 2) * 188
    data.removeSubrange(lost..<(lost + 2 * 188))
    try data.write(to: URL(fileURLWithPath: movie))
    let film = files.path("film.mkv")
    let edit = try document(#"{ "asset": "a" }"#, to: film, assets: "\"a\": \"\(movie)\"")
    let strict = try await Command.sheaf("render", edit, "--store", files.path("store"), "--strict-media").run()
    #expect(strict.status == 65 && strict.errors.contains("/assets/a: "), "\(strict.errors)")
    #expect(strict.errors.contains("damaged") && !FileManager.default.fileExists(atPath: film))
    for _ in 0..<2 {
      let result = try await render(edit)
      #expect(result.status == 0 && result.errors.contains("'movie.ts' "), "\(result.errors)")
      #expect(result.errors.contains("warning: ") && result.errors.contains("damaged"), "\(result.errors)")
    }
  }

  @Test(arguments: ["mp4", "mov"])
  func `a cut anywhere presents exactly its pictures and samples`(container: String) async throws {
    defer { files.remove() }
    let source = try source()
    let film = files.path("cut.\(container)")
    let edit = try document(
      #"{ "asset": "a", "use": "1.48..3.32" }"#, to: film, assets: "\"a\": \"\(source)\"")
    let result = try await render(edit)
    try #require(result.status == 0, "\(result.errors)")
    let shown = try frames(film)
    // Frames 37 to 82.
    #expect(shown == Array(try frames(source)[37..<83]))
    #expect(Set(try packets(film, "v")).isSubset(of: Set(try packets(source, "v"))))
    #expect(Set(try packets(film, "a")).isSubset(of: Set(try packets(source, "a"))))
    for duration in try probe(film, "stream=duration") { #expect(abs((Double(duration) ?? 0) - 1.84) < 0.0005) }
    for start in try probe(film, "stream=start_time") { #expect(abs(Double(start) ?? 1) < 0.0005) }
    // Sound begins with the sample that is asked for. ffmpeg 5.1 decodes the last packet as a whole, whose stored
    // duration is that of its samples which are presented.
    let (cut, whole) = (try samples(film), try samples(source))
    #expect((88320..<(88320 + 1024)).contains(cut.count))
    let differences = zip(cut.prefix(88320), whole[71040...]).map { abs($0 - $1) }
    #expect(differences.max() ?? 1 < 0.001)
    // The index is first.
    let head = try Data(contentsOf: URL(fileURLWithPath: film)).prefix(64)
    #expect(head.range(of: Data("moov".utf8)) != nil)
    // A second render gives the same bytes.
    guard TestExtent.isWhole || container == "mp4" else { return }
    let first = try Data(contentsOf: URL(fileURLWithPath: film))
    let again = try await Command.sheaf("render", edit, "--store", files.path("other"), "--workers", "1").run()
    #expect(again.status == 0)
    #expect(try Data(contentsOf: URL(fileURLWithPath: film)) == first)
  }

  @Test func `clips that agree are joined at keyframes`() async throws {
    defer { files.remove() }
    let source = try source()
    let film = files.path("joined.mp4")
    let edit = try document(
      #"{ "asset": "a", "use": "3.6..5" }, { "asset": "a", "use": "1..2" }, { "asset": "a", "use": "4..4.8" }"#,
      to: film,
      assets: "\"a\": \"\(source)\"")
    let result = try await render(edit)
    try #require(result.status == 0, "\(result.errors)")
    let all = try frames(source)
    #expect(try frames(film) == Array(all[90..<125]) + Array(all[25..<50]) + Array(all[100..<120]))
    #expect(abs((Double(try probe(film, "format=duration").first ?? "") ?? 0) - 3.2) < 0.001)
    let matroska = files.path("joined.mkv")
    let keyed = try document(
      #"{ "asset": "a", "use": "3..5" }, { "asset": "a", "use": "1..2" }"#, to: matroska, assets: "\"a\": \"\(source)\""
    )
    let second = try await render(keyed)
    try #require(second.status == 0, "\(second.errors)")
    #expect(try frames(matroska) == Array(all[75..<125]) + Array(all[25..<50]))
  }

  /// A second is no whole number of packets, so each joint moves the sound that follows.
  @Test(arguments: ["mp4", "mkv"]) func `sound stays with its pictures however many clips are joined`(
    container: String
  ) async throws {
    defer { files.remove() }
    let source = files.path("clicks.mp4")
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=3", "-f", "lavfi", "-i",
      "aevalsrc='if(eq(mod(n,48000),24000),0.9,0)':s=48000:d=3", "-c:v", "libx264", "-g", "25", "-sc_threshold", "0",
      "-c:a", "aac", source,
    ])
    let count = 24
    let clips = (0..<count).map { #"{ "asset": "a", "use": "\#($0 % 2)..\#($0 % 2 + 1)" }"# }
    let film = files.path("joined.\(container)")
    let edit = try document(clips.joined(separator: ", "), to: film, assets: "\"a\": \"\(source)\"")
    let result = try await render(edit)
    try #require(result.status == 0, "\(result.errors)")
    #expect(try frames(film).count == count * 25)
    let sound = try samples(film)
    for second in 0..<count {
      let around = second * 48000 + 12000..<min(sound.count, second * 48000 + 36000)
      let click = try #require(around.max { abs(sound[$0]) < abs(sound[$1]) })
      // A packet has 1024 samples.
      #expect(abs(click - second * 48000 - 24000) <= 513, "second \(second)")
    }
  }

  /// The file states of its last packet that fewer samples are presented than are decoded.
  @Test(arguments: ["mp4", "mov"]) func `sound that ends within a packet is joined without an overlap`(
    container: String
  ) async throws {
    defer { files.remove() }
    let source = files.path("clicks.mp4")
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=64x48:rate=25:duration=1", "-f", "lavfi", "-i",
      "aevalsrc='if(eq(n,24000),0.9,0)':s=48000:d=1", "-c:v", "libx264", "-c:a", "aac", source,
    ])
    let stored = try Tool.ffprobe("-select_streams", "a", "-show_entries", "packet=duration", source)
    try #require(stored.last.flatMap { Int($0[0]) } ?? 1024 < 1000)
    let count = 16
    let film = files.path("joined.\(container)")
    let edit = try document(
      Array(repeating: #"{ "asset": "a" }"#, count: count).joined(separator: ", "), to: film,
      assets: "\"a\": \"\(source)\"")
    let result = try await render(edit)
    try #require(result.status == 0, "\(result.errors)")
    let times = try Tool.ffprobe("-select_streams", "a", "-show_entries", "packet=pts", film).compactMap { Int($0[0]) }
    #expect(times.count > count * 46)
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 == 1024 })
    let sound = try samples(film)
    for second in 0..<count {
      let around = second * 48000 + 12000..<min(sound.count, second * 48000 + 36000)
      let click = try #require(around.max { abs(sound[$0]) < abs(sound[$1]) })
      #expect(abs(click - second * 48000 - 24000) <= 513, "second \(second)")
    }
  }

  /// What RFC 9639 says of bytes 13 to 34 of the stream info: the number of samples, and the MD5 of the samples.
  private func streamInfo(_ bytes: Data) throws -> (samples: Int, digest: [UInt8]) {
    let info = [UInt8](bytes.prefix(34))
    try #require(info.count == 34)
    return (info[14..<18].reduce(Int(info[13] & 0xf)) { $0 << 8 | Int($1) }, Array(info[18...]))
  }

  private static let flacCuts: [(String, [Range<Int>])] = [
    ("0..6", [0..<6]), ("2..4", [2..<4]), ("0..4", [0..<4]), ("3..6", [3..<6]), ("4..5, 1..3", [4..<5, 1..<3]),
  ]

  @Test(arguments: flacCuts.spread(3), [4096, 4608])
  func `FLAC that is cut states its own samples, and has them from zero on`(
    cut: (String, [Range<Int>]), block: Int
  ) async throws {
    defer { files.remove() }
    let source = files.path("source.flac")
    // Frames of 48 000 Hz begin at whole seconds for neither size, so a cut has the nearest.
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "aevalsrc=sin(1000*t*t):s=48000:d=6", "-c:a", "flac", "-frame_size", "\(block)", source,
    ])
    let film = files.path("film.flac")
    let clips = cut.1.map { #"{ "asset": "a", "use": "\#($0.lowerBound)..\#($0.upperBound)" }"# }
    let result = try await copySound(clips.joined(separator: ", "), of: source, to: film)
    try #require(result.status == 0, "\(result.errors)")
    let (copied, stored) = (try samples(film), try samples(source))
    let expected = cut.1.flatMap { part in
      let first = (part.lowerBound * 48000 + block / 2 - 1) / block * block
      return stored[first..<min(stored.count, (part.upperBound * 48000 + block - 1) / block * block)]
    }
    // Clips after the first begin where the one before ends, with the packets that are nearest to their own.
    if cut.1.count == 1 { #expect(copied == expected) }
    // `fLaC` and the head of the block come first.
    let (count, digest) = try streamInfo(Data(contentsOf: URL(fileURLWithPath: film)).dropFirst(8))
    let (allSamples, allDigest) = try streamInfo(Data(contentsOf: URL(fileURLWithPath: source)).dropFirst(8))
    #expect(count == copied.count && allSamples == stored.count)
    let isWhole = cut.1 == [0..<6]
    #expect(digest == (isWhole ? allDigest : [UInt8](repeating: 0, count: 16)))
    #expect(allDigest.contains { $0 != 0 })
    #expect(try probe(film, "stream=duration_ts,start_pts") == ["0", "\(copied.count)"])
    // Each frame follows the one before, by the numbers in the frames alone.
    let times = try probe(film, "packet=pts").compactMap { Int($0) }
    #expect(times == times.indices.map { $0 * block })
    let decoded = try Tool.result(
      of: "ffmpeg", ["-v", "warning", "-err_detect", "crccheck+bitstream+explode", "-i", film, "-f", "null", "-"])
    #expect(decoded.log == "")
    if isWhole { #expect(try packets(film, "a") == packets(source, "a")) }
  }

  @Test(arguments: ["mp4", "mkv", "ogg"], [true, false])
  func `FLAC in other containers does not state the samples of its source when it is cut`(
    container: String, isWhole: Bool
  ) async throws {
    defer { files.remove() }
    let source = files.path("source.flac")
    _ = try Tool.ffmpeg(["-f", "lavfi", "-i", "aevalsrc=sin(1000*t*t):s=48000:d=6", "-c:a", "flac", source])
    let film = files.path("film.\(container)")
    let result = try await copySound(
      isWhole ? #"{ "asset": "a" }"# : #"{ "asset": "a", "use": "0..4" }"#, of: source, to: film)
    try #require(result.status == 0, "\(result.errors)")
    // The stream info as the container has it: its sizes of blocks, 4608, and of frames, rate, channels and bits.
    let bytes = try Data(contentsOf: URL(fileURLWithPath: film))
    let all = try Data(contentsOf: URL(fileURLWithPath: source)).dropFirst(8)
    let place = try #require(bytes.range(of: Data(all.prefix(4)), in: 0..<bytes.count))
    let (count, digest) = try streamInfo(bytes[place.lowerBound...])
    let (allSamples, allDigest) = try streamInfo(all)
    // A stream in Ogg begins with it, before the samples are known.
    let isKept = isWhole && container != "ogg"
    #expect(digest == (isKept ? allDigest : [UInt8](repeating: 0, count: 16)))
    let frames = (4 * 48000 + 4607) / 4608
    #expect(count == (container == "ogg" ? 0 : isWhole ? allSamples : frames * 4608))
    #expect(try packets(film, "a") == Array(packets(source, "a").prefix(isWhole ? .max : frames)))
    let (copied, stored) = (try samples(film), try samples(source))
    #expect(copied == Array(stored.prefix(copied.count)) && copied.count >= (isWhole ? 288_000 : 192_000))
  }

  /// Each case: the seconds of the clips of both files, and whether the first has a short frame at its end.
  private static let flacJoints: [(first: Range<Int>, second: Range<Int>, hasShortFrame: Bool)] = [
    (0..<5, 0..<5, true), (1..<5, 2..<4, true), (0..<2, 2..<5, false),
  ]

  @Test(arguments: ["flac", "mkv"], flacJoints.spread(2)) func `FLAC of two files is joined`(
    container: String, joint: (first: Range<Int>, second: Range<Int>, hasShortFrame: Bool)
  ) async throws {
    defer { files.remove() }
    let sources = [("sin(1000*t*t)", "one.flac"), ("sin(3000*t)", "two.flac")].map { ($0.0, files.path($0.1)) }
    for (sound, path) in sources {
      _ = try Tool.ffmpeg(["-f", "lavfi", "-i", "aevalsrc=\(sound):s=48000:d=5", "-c:a", "flac", path])
    }
    let film = files.path("film.\(container)")
    let clips = zip(["a", "b"], [joint.first, joint.second]).map {
      #"{ "asset": "\#($0)", "use": "\#($1.lowerBound)..\#($1.upperBound)" }"#
    }
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(sources[0].1)", "b": "\(sources[1].1)" },
        "tracks": [ { "type": "audio", "clips": [ \(clips.joined(separator: ", ")) ] } ],
        "export": { "to": "\(film)", "preset": "passthrough" } }
      """, to: "edit.json")
    let result = try await render(edit)
    try #require(result.status == 0, "\(result.errors)")
    // Frames of 4608 samples, of which 5 s have 52 and one of 384.
    let copied = try samples(film)
    let (one, two) = (try samples(sources[0].1), try samples(sources[1].1))
    let firstFrame = (joint.first.lowerBound * 48000 + 2303) / 4608 * 4608
    let firstEnd = min(one.count, (joint.first.upperBound * 48000 + 4607) / 4608 * 4608)
    let first = Array(one[firstFrame..<firstEnd])
    #expect(Array(copied.prefix(first.count)) == first)
    // The second's packets follow from the one that is nearest to the clip's start.
    let rest = copied.dropFirst(first.count)
    let start = try #require(
      stride(from: 0, to: two.count, by: 4608).first { two.dropFirst($0).prefix(rest.count).elementsEqual(rest) })
    #expect(abs(start - joint.second.lowerBound * 48000) <= 4608)
    #expect(copied.count >= (joint.first.count + joint.second.count) * 48000 - 4608)
    let decoded = try Tool.result(
      of: "ffmpeg", ["-v", "warning", "-err_detect", "crccheck+bitstream+explode", "-i", film, "-f", "null", "-"])
    #expect(decoded.log == "")
    guard container == "flac" else { return }
    let data = try Data(contentsOf: URL(fileURLWithPath: film))
    let (count, digest) = try streamInfo(data.dropFirst(8))
    #expect(count == copied.count && digest == [UInt8](repeating: 0, count: 16))
    #expect([UInt8](data.dropFirst(8).prefix(4)) == (joint.hasShortFrame ? [1, 128, 18, 0] : [18, 0, 18, 0]))
    // By the numbers in the frames alone, each follows the one before.
    let times = try probe(film, "packet=pts").compactMap { Int($0) }
    let sizes = try probe(film, "frame=nb_samples").compactMap { Int($0) }
    #expect(times == sizes.indices.map { sizes[..<$0].reduce(0, +) })
  }

  private static let flacDifferences = [
    (["-frame_size", "4096"], "their parameter sets differ"),
    (["-sample_fmt", "s32"], "the bit depth differs: 24 after 16"),
  ]

  @Test(arguments: flacDifferences) func `FLAC whose frames have another size or depth is not joined`(
    difference: (options: [String], message: String)
  ) async throws {
    defer { files.remove() }
    for (name, options) in [("one.flac", []), ("two.flac", difference.options)] {
      _ = try Tool.ffmpeg(["-f", "lavfi", "-i", "sine=440:r=48000:d=2", "-c:a", "flac"] + options + [files.path(name)])
    }
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(files.path("one.flac"))", "b": "\(files.path("two.flac"))" },
        "tracks": [ { "type": "audio", "clips": [ { "asset": "a" }, { "asset": "b" } ] } ],
        "export": { "to": "\(files.path("film.flac"))", "preset": "passthrough" } }
      """, to: "edit.json")
    let result = try await render(edit)
    #expect(result.status == 65)
    let message = "it cannot be joined to the clip before without encoding, because \(difference.message)"
    #expect(result.errors.contains(message), "\(result.errors)")
  }

  /// The times of a file's decoded frames, from the first one on, in milliseconds.
  private func shownTimes(_ path: String) throws -> [Int] {
    let list = try Tool.run(
      "ffmpeg",
      ["-v", "error", "-i", path, "-map", "0:v", "-vsync", "passthrough", "-enc_time_base", "1:1000", "-f", "framemd5"]
        + ["-"]
    ).output
    let times = String(decoding: list, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
      .compactMap { Int($0.split(separator: ",")[2].trimmingCharacters(in: .whitespaces)) }
    return times.map { $0 - times[0] }
  }

  private static let untimed: [(String, String, Int, String)] = [
    ("avi", "mpeg4", 2, "mkv"), ("avi", "mpeg4", 0, "mp4"), ("avi", "mpeg2video", 3, "mp4"),
    ("mpg", "mpeg2video", 2, "mkv"), ("vob", "mpeg2video", 3, "mp4"), ("mpg", "mpeg1video", 1, "mkv"),
    ("asf", "mpeg4", 1, "mp4"), ("m2v", "mpeg2video", 2, "mkv"),
  ]

  /// ffmpeg's own copy lacks the times that the file does not store.
  @Test(arguments: untimed.spread(4))
  func `pictures get the times that their types show`(
    container: String, codec: String, bFrames: Int, output: String
  ) async throws {
    defer { files.remove() }
    let path = files.path("source.\(container)")
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=3", "-c:v", codec, "-q:v", "4", "-bf", "\(bFrames)",
      "-g", "12", path,
    ])
    #expect(try probe(path, "packet=pts").contains("N/A") == (bFrames > 0))
    let film = files.path("copy.\(output)")
    let result = try await render(try document(#"{ "asset": "a" }"#, to: film, assets: "\"a\": \"\(path)\""))
    try #require(result.status == 0, "\(result.errors)")
    #expect(try packets(film, "v") == packets(path, "v"))
    let shown = try frames(path, ["-vsync", "passthrough"])
    #expect(try shown.count == 75 && frames(film, ["-vsync", "passthrough"]) == shown)
    #expect(try shownTimes(film) == shownTimes(path))
    #expect(try probe(film, "stream=start_time").first.flatMap(Double.init) == 0)
    #expect(try !probe(film, "packet=pts").contains("N/A"))
    #expect(try Tool.result(of: "ffmpeg", ["-v", "warning", "-i", film, "-f", "null", "-"]).log == "")
  }

  /// The last reference picture has no packet after it, and the pictures have two durations.
  @Test(arguments: ["mpg", "avi"], [45, 46, 47, 48].spread(2))
  func `pictures with soft pulldown are copied with their times to the last one`(
    container: String, count: Int
  ) async throws {
    defer { files.remove() }
    let (plain, pulled) = (files.path("plain.m2v"), files.path("pulldown.m2v"))
    let (path, film) = (files.path("source.\(container)"), files.path("copy.mp4"))
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=24000/1001", "-frames:v", "\(count)", "-c:v", "mpeg2video",
      "-bf", "2", plain,
    ])
    try SoftPulldown.added(to: Data(contentsOf: URL(fileURLWithPath: plain)))
      .write(to: URL(fileURLWithPath: pulled))
    _ = try Tool.ffmpeg(["-i", pulled, "-c", "copy", path])
    let result = try await render(try document(#"{ "asset": "a" }"#, to: film, assets: "\"a\": \"\(path)\""))
    try #require(result.status == 0, "\(result.errors)")
    func seconds(_ path: String) throws -> [Double] {
      let list = try Tool.run(
        "ffmpeg",
        ["-v", "error", "-i", path, "-vsync", "passthrough", "-copyts", "-enc_time_base", "1:90000"]
          + ["-f", "framehash", "-"])
      let times = String(decoding: list.output, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
        .compactMap { Double($0.split(separator: ",")[2].trimmingCharacters(in: .whitespaces)) }
      return times.map { ($0 - times[0]) / 90000 }
    }
    let (copied, stored) = (try seconds(film), try seconds(path))
    #expect(copied.count == count && stored.count == count)
    #expect(zip(copied, stored).allSatisfy { abs($0 - $1) < 0.001 }, "\(copied.suffix(3)) \(stored.suffix(3))")
  }

  @Test(arguments: [("avi", "libx264"), ("h264", "libx264")])
  func `pictures without stored times are refused before any work`(container: String, codec: String) async throws {
    defer { files.remove() }
    let path = files.path("source.\(container)")
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=2", "-c:v", codec, "-bf", "2", path,
    ])
    #expect(try probe(path, "packet=pts").contains("N/A"))
    let edit = try document(#"{ "asset": "a" }"#, to: files.path("copy.mkv"), assets: "\"a\": \"\(path)\"")
    let result = try await Command.sheaf("check", edit, "--store", files.path("store")).run()
    #expect(result.status == 65)
    #expect(
      result.errors.contains("/tracks/0/clips/0/asset: the preset 'passthrough' copies times that are stored"),
      "\(result.errors)")
  }

  /// A decoder makes no samples of the first packet of Vorbis, and without it none of the second one.
  @Test(arguments: ["mkv", "ogg", "webm"], ["", "1..3"]) func `no sound of Vorbis is lost at the start`(
    container: String, use: String
  ) async throws {
    defer { files.remove() }
    let source = files.path("source.ogg")
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "aevalsrc=random(0)*t/8:s=44100:d=4", "-c:a", "libvorbis", "-bitexact", source,
    ])
    let film = files.path("copy.\(container)")
    let result = try await copySound(
      use.isEmpty ? #"{ "asset": "a" }"# : #"{ "asset": "a", "use": "\#(use)" }"#, of: source, to: film)
    try #require(result.status == 0, "\(result.errors)")
    let (copied, stored) = (try samples(film), try samples(source))
    // The place of the copied sound in the source's.
    let head = copied.prefix(64)
    let place = try #require(
      stored.indices.dropLast(64).first { stored[$0] == head.first && stored[$0..<$0 + 64].elementsEqual(head) })
    let start = try #require(Double(probe(film, "frame=pts_time").first ?? ""))
    let wanted = use.isEmpty ? 0 : 44100
    // The nearest packet, of at most 2048 samples; times of Matroska are rounded to 1 ms.
    #expect(use.isEmpty ? place == 0 : abs(place - wanted) <= 1024, "\(place)")
    #expect(abs(Double(place - wanted) - start * 44100) <= (container == "ogg" ? 1024 : 48), "\(place), \(start) s")
    if use.isEmpty { #expect(copied == stored) } else { #expect(copied.count > 2 * 44100 - 2048) }
  }

  /// Where samples before the start can be hidden, or every sample can be the first.
  private static let exactSounds: [(codec: String, source: String, container: String)] = [
    ("pcm_s16le", "wav", "wav"), ("pcm_s16le", "wav", "mkv"), ("pcm_s16le", "wav", "mov"),
    ("libopus", "ogg", "ogg"), ("libopus", "ogg", "mkv"), ("libopus", "ogg", "webm"), ("libmp3lame", "mp3", "mp3"),
  ]

  @Test(arguments: exactSounds.spread(4), ["", "1.007..3"])
  func `sound is cut at the sample where the container can state it`(
    kind: (codec: String, source: String, container: String), use: String
  ) async throws {
    defer { files.remove() }
    let (source, film) = (files.path("source.\(kind.source)"), files.path("copy.\(kind.container)"))
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "aevalsrc=random(0)*t/8:s=48000:d=4", "-c:a", kind.codec, "-bitexact", source,
    ])
    let result = try await copySound(
      use.isEmpty ? #"{ "asset": "a" }"# : #"{ "asset": "a", "use": "\#(use)" }"#, of: source, to: film)
    try #require(result.status == 0, "\(result.errors)")
    let (copied, stored) = (try samples(film), try samples(source))
    let wanted = use.isEmpty ? stored[...] : stored[48336..<144000]
    #expect(copied.count == wanted.count)
    // Decoders of Opus and MP3 take 80 ms to come near the state that they had in the source, of samples up to 0.5.
    let differences = zip(copied, wanted).dropFirst(kind.codec == "pcm_s16le" || use.isEmpty ? 0 : 3840).map {
      abs($0 - $1)
    }
    #expect(differences.max() ?? 1 < 0.001)
  }

  @Test func `a film that begins with pictures that are hidden is not copied into Matroska`() async throws {
    defer { files.remove() }
    let (whole, source) = (try source(), files.path("cut.mp4"))
    _ = try Tool.ffmpeg(["-ss", "1.2", "-i", whole, "-c", "copy", source])
    try #require(try frames(source).count < packets(source, "v").count)
    let edit = try document(#"{ "asset": "a" }"#, to: files.path("copy.mkv"), assets: "\"a\": \"\(source)\"")
    let result = try await Command.sheaf("check", edit, "--store", files.path("store")).run()
    #expect(result.status == 65)
    #expect(result.errors.contains("/tracks/0/clips/0/use: without encoding"), "\(result.errors)")
    let film = try await render(
      try document(#"{ "asset": "a" }"#, to: files.path("copy.mp4"), assets: "\"a\": \"\(source)\""))
    try #require(film.status == 0, "\(film.errors)")
    #expect(try frames(files.path("copy.mp4")) == frames(source))
  }

  private static let unstated: [(String, String)] = [
    ("qtrle", "testsrc2=size=160x120:rate=25:duration=1"), ("apng", "testsrc2=size=160x120:rate=25:duration=1"),
    ("pcm_f32be", "sine=duration=1"),
  ]

  /// A reader of ffmpeg's copy does not get the pictures or samples back, or ffmpeg refuses to make one.
  @Test(arguments: unstated.spread(2))
  func `codecs whose storage Matroska does not state are refused before any work`(
    codec: String, graph: String
  ) async throws {
    defer { files.remove() }
    let path = files.path(codec == "apng" ? "source.apng" : "source.mov")
    _ = try Tool.ffmpeg(["-f", "lavfi", "-i", graph, "-c", codec, path])
    #expect(throws: (any Error).self) {
      _ = try Tool.ffmpeg(["-i", path, "-c", "copy", files.path("ffmpeg.mkv")])
      _ = try Tool.ffmpeg(["-i", files.path("ffmpeg.mkv"), "-f", "null", "-"])
    }
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(path)" },
        "tracks": [ { "type": "\(codec == "pcm_f32be" ? "audio" : "video")", "sound": false, "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "copy.mkv", "preset": "passthrough" } }
      """, to: "edit.json")
    let result = try await Command.sheaf("check", edit, "--store", files.path("store")).run()
    #expect(result.status == 65)
    #expect(
      result.errors.contains("/tracks/0/clips/0/asset: \(codec) cannot be copied into mkv"), "\(result.errors)")
  }

  @Test func `the pixel aspect of a copy is the container's where the codec states another`() async throws {
    defer { files.remove() }
    let (first, source, film) = (files.path("first.3gp"), files.path("source.3gp"), files.path("copy.mkv"))
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=352x288:rate=25:duration=1,setsar=12/11", "-c:v", "h263", first,
    ])
    _ = try Tool.ffmpeg(["-i", first, "-c", "copy", "-aspect", "352:288", source])
    let result = try await render(try document(#"{ "asset": "a" }"#, to: film, assets: "\"a\": \"\(source)\""))
    try #require(result.status == 0, "\(result.errors)")
    #expect(try frames(film) == frames(source))
    #expect(try probe(film, "stream=sample_aspect_ratio") == ["1:1"])
  }

  /// Its pictures are decoded up to 40 ms after they are presented, as its packets state it.
  private static let lateDecoding = Place.sharedMedia?.appendingPathComponent(
    "gh-shaka-project+shaka-player/test/test/assets/hls-ts-muxed-ec3-h264/"
      + "ChID_voices_1280x720p_25fps_h264_6ch_256kbps_ddp_sub_0000.ts"
  ).path

  @Test(.enabled(if: lateDecoding != nil, "there is no SHEAF_SHARED_MEDIA and no ../shared/media"))
  func `pictures that a file decodes after their presentation are copied into a movie`() async throws {
    defer { files.remove() }
    let (source, film) = (try #require(Self.lateDecoding), files.path("copy.mov"))
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(source)" },
        "tracks": [ { "type": "video", "sound": false, "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "\(film)", "preset": "passthrough" } }
      """, to: "edit.json")
    let result = try await render(edit)
    try #require(result.status == 0, "\(result.errors)")
    #expect(try frames(film) == frames(source))
    #expect(try probe(film, "stream=nb_frames,start_time") == ["0.000000", "150"])

    // The last picture of the part is decoded at the part's end.
    let part = files.path("part.mov")
    let cut = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(source)" },
        "tracks": [ { "type": "video", "sound": false, "clips": [ { "asset": "a", "use": "0..2/25" } ] } ],
        "export": { "to": "\(part)", "preset": "passthrough" } }
      """, to: "part.json")
    let second = try await render(cut)
    try #require(second.status == 0, "\(second.errors)")
    #expect(try frames(part) == Array(frames(source).prefix(2)))
  }

  /// AAC without an edit list, whose encoder's delay of 1024 samples iTunes' metadata state.
  private func soundOfITunes() throws -> String {
    let path = files.path("itunes.m4a")
    try Tool.ffmpeg([
      "-f", "lavfi", "-i", "aevalsrc=0.5*sin(3000*t*t):s=44100:d=2", "-c:a", "aac", "-use_editlist", "0", "-f", "mov",
      path,
    ])
    func bigEndian(_ value: Int) -> Data {
      Data((0..<4).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) })
    }
    func box(_ type: String, _ contents: Data) -> Data { bigEndian(8 + contents.count) + Data(type.utf8) + contents }
    let zero = Data(count: 4)
    let text = Data(" 00000000 00000400 000001E8 0000000000015888 00000000 00000000 00000000 00000000".utf8)
    let item = box(
      "----",
      box("mean", zero + Data("com.apple.iTunes".utf8)) + box("name", zero + Data("iTunSMPB".utf8))
        + box("data", bigEndian(1) + zero + text))
    let handler = box("hdlr", zero + zero + Data("mdirappl".utf8) + Data(count: 9))
    let added = box("udta", box("meta", zero + handler + box("ilst", item)))
    // The index is the file's last box, so no place of a sample moves.
    var data = try Data(contentsOf: URL(fileURLWithPath: path))
    let place = try #require(data.range(of: Data("moov".utf8), options: .backwards)).lowerBound - 4
    data.replaceSubrange(place..<(place + 4), with: bigEndian(data.count - place + added.count))
    try (data + added).write(to: URL(fileURLWithPath: path))
    return path
  }

  @Test(arguments: ["film.m4a", "film.mp4", "film.mov", "film.wav"])
  func `the delay of an encoder that iTunes' metadata state is hidden`(name: String) async throws {
    defer { files.remove() }
    let source = try soundOfITunes()
    let film = files.path(name)
    let settings =
      name.hasSuffix("wav") ? #""audio": { "sampleRate": 44100, "channels": 1 }"# : #""preset": "passthrough""#
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(source)" },
        "tracks": [ { "type": "audio", "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "\(film)", \(settings) } }
      """, to: "edit.json")
    let result = try await render(edit)
    try #require(result.status == 0, "\(result.errors)")
    #expect(try Tool.ffprobe("-show_entries", "format=start_time,duration", film).first?.last == "2.000000")
    // ffmpeg leaves out the delay, and shows all of the last packet.
    let (found, expected) = (try samples(film).prefix(88200), try samples(source).prefix(88200))
    #expect(found.count == 88200 && expected.count == 88200)
    let difference = zip(found, expected).map { abs($0 - $1) }.max() ?? 1
    #expect(difference < 1e-4, "\(difference)")
  }

  @Test func `what cannot be copied is refused with its place`() async throws {
    defer { files.remove() }
    let source = try source()
    let other = files.path("other.mp4")
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=2", "-c:v", "libx264", other,
    ])
    func problems(_ text: String) async throws -> String {
      let result = try await render(try files.write(text, to: "wrong.json"))
      #expect(result.status == 65)
      return result.errors
    }
    let assets = "\"a\": \"\(source)\", \"b\": \"\(other)\""
    let rendered = try await problems(
      """
      { "sheaf": 1, "assets": { \(assets) },
        "tracks": [ { "id": "A", "type": "video", "sound": true, "clips": [
          { "asset": "a", "use": "0..2", "opacity": 0.5 }, { "asset": "a", "use": "2..4", "speed": 2 } ] } ],
        "videoComposition": { "overlays": [ { "text": "x", "over": "0..1" } ] }, "audioMix": { "A.sound": 0.5 },
        "export": { "to": "a.mp4", "preset": "passthrough", "video": { "codec": "h264" } } }
      """)
    let laidOut = try await problems(
      """
      { "sheaf": 1, "assets": { \(assets) },
        "tracks": [ { "type": "audio", "clips": [ { "asset": "a", "layout": "mono" } ] } ],
        "export": { "to": "a.m4a", "preset": "passthrough" } }
      """)
    #expect(laidOut.contains("/tracks/0/clips/0/layout: the preset 'passthrough' copies"), "\(laidOut)")
    for place in [
      "/tracks/0/clips/0/opacity", "/tracks/0/clips/1/speed", "/videoComposition/overlays", "/audioMix/A.sound",
      "/export/video",
    ] { #expect(rendered.contains("\(place): "), "\(place) in \(rendered)") }
    let joined = try await problems(
      """
      { "sheaf": 1, "assets": { \(assets) },
        "tracks": [ { "id": "A", "type": "video", "sound": false, "clips": [
          { "asset": "a", "use": "0..2.5" }, { "asset": "b", "use": "0..1" } ] } ],
        "export": { "to": "a.mp4", "preset": "passthrough" } }
      """)
    #expect(joined.contains("/tracks/0/clips/0/use: ") && joined.contains("at 2 and 3 s"), "\(joined)")
    #expect(joined.contains("/tracks/0/clips/1/asset: ") && joined.contains("differ"), "\(joined)")
    let container = try await problems(
      """
      { "sheaf": 1, "assets": { \(assets) },
        "tracks": [ { "id": "A", "type": "video", "sound": true, "clips": [ { "asset": "a", "use": "0.5..2" } ] } ],
        "export": { "to": "a.webm", "preset": "passthrough" } }
      """)
    #expect(
      container.contains("h264 cannot be copied into webm") && container.contains("is no keyframe"), "\(container)")
  }
}
