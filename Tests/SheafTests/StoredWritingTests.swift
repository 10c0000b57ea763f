import Foundation
import Sheaf
import TestPrograms
import Testing

/// Stored samples are written as they were read: ffmpeg is the oracle for the packets and for what is decoded of them.
@Suite(.ownThreads, .serialized) struct StoredWritingTests {
  private let folder: TemporaryFolder
  private let renderer: LocalRenderer

  init() throws {
    folder = try TemporaryFolder()
    renderer = LocalRenderer(store: folder.url.appendingPathComponent("store"), slots: 1)
  }

  private func url(_ name: String) -> URL { folder.url.appendingPathComponent(name) }

  private static func media(_ name: String) -> URL {
    URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Media/\(name)")
  }

  /// How long films are of which any length will do.
  private static let anyLength = TestExtent.of(2, whole: 6)

  /// A film with a keyframe every second, B-frames, and sound.
  private func source(_ name: String, _ codecs: String..., options: [String] = [], seconds: Int = 6) throws -> URL {
    try Tool.ffmpeg(
      [
        "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=\(seconds)", "-f", "lavfi", "-i",
        "aevalsrc=sin(1000*t*t):s=48000:d=\(seconds)", "-pix_fmt", "yuv420p",
      ] + (codecs.isEmpty ? ["-c:v", "libx264", "-g", "25", "-sc_threshold", "0", "-bf", "2", "-c:a", "aac"] : codecs)
        + options + [folder.path(name)])
    return url(name)
  }

  private func reader(_ url: URL) async throws -> AssetReader { try await AssetReader(Asset(url, renderer: renderer)) }

  /// Copies the tracks of a file, or a part of them.
  @discardableResult
  private func copy(
    _ source: URL, to name: String, in range: MediaTimeRange? = nil, optimizeForNetworkUse: Bool = true
  ) async throws -> AssetWriter.Film {
    let reader = try await reader(source)
    let writer = try AssetWriter(to: url(name), optimizeForNetworkUse: optimizeForNetworkUse)
    if let range {
      try await writer.startSession(at: range.start)
      try await writer.endSession(at: range.end)
    }
    for track in reader.contents.tracks where track.type == .video || track.type == .audio {
      let stored = try await writer.addStored(try await reader.storedFormat(of: track))
      for try await sample in try reader.storedSamples(of: track, in: range) { try await stored.append(sample) }
    }
    return try await writer.finish()
  }

  private func seconds(_ start: String, _ end: String) throws -> MediaTimeRange {
    let times = [start, end].compactMap { MediaTime(notation: $0) }
    return try MediaTimeRange(start: times[0], end: times[1])
  }

  // MARK: What ffmpeg finds

  private func lines(_ arguments: [String]) throws -> [[Substring]] {
    String(decoding: try Tool.run("ffmpeg", ["-v", "error"] + arguments).output, as: UTF8.self).split(separator: "\n")
      .filter { !$0.hasPrefix("#") }.map { $0.split(separator: ",") }
  }

  /// The digests of a file's packets.
  private func packets(_ url: URL, _ stream: String) throws -> [Substring] {
    try lines(["-i", url.path, "-map", "0:\(stream)", "-c", "copy", "-f", "framemd5", "-"]).map { $0[5] }
  }

  /// The digests of a file's decoded pictures.
  private func pictures(_ url: URL) throws -> [Substring] {
    try lines(["-i", url.path, "-map", "0:v", "-f", "framemd5", "-"]).compactMap(\.last)
  }

  private func samples(_ url: URL) throws -> [Float] {
    try Tool.run("ffmpeg", ["-v", "error", "-i", url.path, "-map", "0:a", "-f", "f32le", "-ac", "1", "-"]).output
      .withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
  }

  /// Times, size and marks of each packet.
  private func times(_ url: URL, _ stream: String, _ entries: String = "pts_time,dts_time,duration_time,size,flags")
    throws -> [[String]]
  {
    try Tool.ffprobe("-select_streams", stream, "-show_entries", "packet=\(entries)", url.path)
  }

  private func value(_ text: String) -> Double { Double(text) ?? .nan }

  // MARK: Whole files

  /// All stored pictures of a file, written in a session.
  private func session(
    of source: URL, from start: MediaTime, to end: MediaTime? = nil, in name: String
  ) async throws -> AssetWriter.Film {
    let reader = try await reader(source)
    let track = try #require(reader.contents.defaultTrack(.video))
    let writer = try AssetWriter(to: url(name))
    try await writer.startSession(at: start)
    let stored = try await writer.addStored(try await reader.storedFormat(of: track))
    for try await sample in try reader.storedSamples(of: track) { try await stored.append(sample) }
    if let end { try await writer.endSession(at: end) }
    return try await writer.finish()
  }

  @Test(arguments: TestExtent.of(["mp4", "mov"], whole: ["mp4", "mov", "m4v"]))
  func `a film with edit lists is that of the source`(container: String) async throws {
    let seconds = Self.anyLength
    let source = try source("source.mp4", seconds: seconds)
    let film = try await copy(source, to: "copy.\(container)")
    #expect(film.frames == 25 * seconds && film.samples == 48_000 * seconds)
    for stream in ["v", "a"] {
      #expect(try packets(film.url, stream) == packets(source, stream))
      #expect(try times(film.url, stream) == times(source, stream))
    }
    #expect(try pictures(film.url) == pictures(source))
    #expect(try samples(film.url) == samples(source))
    let head = try Data(contentsOf: film.url).prefix(64)
    #expect(head.range(of: Data("moov".utf8)) != nil)
    #expect(film.bytes == (try Data(contentsOf: film.url)).count)
    let durations = try Tool.ffprobe("-show_entries", "stream=start_time,duration", film.url.path)
    #expect(durations == [["0.000000", "\(seconds).000000"], ["0.000000", "\(seconds).000000"]])
    // The same bytes again; and without the index first, the same packets.
    try await copy(source, to: "again.\(container)")
    #expect(try Data(contentsOf: url("again.\(container)")) == Data(contentsOf: film.url))
    try await copy(source, to: "last.\(container)", optimizeForNetworkUse: false)
    #expect(try packets(url("last.\(container)"), "v") == packets(source, "v"))
  }

  @Test func `Matroska becomes a movie and back with the same packets`() async throws {
    let source = try source("source.mkv", seconds: Self.anyLength)
    let movie = try await copy(source, to: "movie.mp4")
    #expect(movie.frames == 25 * Self.anyLength)
    for stream in ["v", "a"] {
      #expect(try packets(movie.url, stream) == packets(source, stream))
      let (copied, stored) = (try times(movie.url, stream, "pts_time"), try times(source, stream, "pts_time"))
      #expect(copied == stored, "\(copied.prefix(5)) \(stored.prefix(5))")
    }
    #expect(try pictures(movie.url) == pictures(source))
    let decoding = try times(movie.url, "v", "dts_time").map { value($0[0]) }
    #expect(zip(decoding, decoding.dropFirst()).allSatisfy { $0 < $1 })

    let mp4 = try self.source("source.mp4", seconds: Self.anyLength)
    let matroska = try await copy(mp4, to: "movie.mkv")
    #expect(try packets(matroska.url, "v") == packets(mp4, "v"))
    #expect(try packets(matroska.url, "a") == packets(mp4, "a"))
    #expect(try pictures(matroska.url) == pictures(mp4))
    let (copied, stored) = (try samples(matroska.url), try samples(mp4))
    #expect(copied.count == stored.count)
    #expect(zip(copied, stored).dropLast(1024).allSatisfy { abs($0 - $1) < 0.001 })
    let shown = try times(matroska.url, "v", "pts_time").map { value($0[0]) }
    #expect(zip(shown, try times(mp4, "v", "pts_time")).allSatisfy { abs($0 - value($1[0])) < 0.0006 })
  }

  /// ffmpeg finds the same decoding times when it copies the file.
  @Test func `samples of Matroska have the decoding times that the file does not state`() async throws {
    let source = try source("source.mkv", options: ["-an", "-bf", "3"])
    try Tool.ffmpeg("-i", source.path, "-c", "copy", folder.path("ffmpeg.mp4"))
    let expected = try times(url("ffmpeg.mp4"), "v", "pts_time,dts_time").map { $0.map(value) }
    let reader = try await reader(source)
    let track = try #require(reader.contents.defaultTrack(.video))
    for (range, wanted) in [(nil, expected), (try seconds("2", "4"), expected.filter { (1.8..<4).contains($0[1]) })] {
      var samples: [StoredSample] = []
      for try await sample in try reader.storedSamples(of: track, in: range) { samples.append(sample) }
      let found = samples.map { [$0.presentationTime.approximateSeconds, $0.decodingTime.approximateSeconds] }
      let first = try #require(wanted.firstIndex { abs($0[0] - found[0][0]) < 0.001 })
      #expect(found.count == wanted.count - first)
      for (sample, packet) in zip(found, wanted[first...]) {
        #expect(zip(sample, packet).allSatisfy { abs($0 - $1) < 0.0006 }, "\(sample) \(packet)")
      }
    }
  }

  @Test func `a part of the sound begins with what a decoder needs`() async throws {
    let reader = try await reader(try source("source.mp4"))
    let track = try #require(reader.contents.defaultTrack(.audio))
    let range = try seconds("2", "3")
    var samples: [StoredSample] = []
    for try await sample in try reader.storedSamples(of: track, in: range) { samples.append(sample) }
    // The packet of sample 96000, and the one before it.
    #expect(samples.first?.presentationTime == MediaTime(value: 1024 * 92, timescale: 48000))
    #expect(samples.last?.presentationTime == MediaTime(value: 1024 * 140, timescale: 48000))
    #expect(samples.allSatisfy(\.isKeyframe) && samples.count == 49)
  }

  @Test(
    arguments: TestExtent.of(
      ["friday-vfr.mp4", "friday-rotated.mp4", "flower-hevc.mp4"],
      whole: ["friday.mp4", "friday-vfr.mp4", "friday-rotated.mp4", "flower-hevc.mp4", "bottle-detection.mp4"]))
  func `files of cameras keep their packets and their times`(name: String) async throws {
    let source = Self.media(name)
    let film = try await copy(source, to: "copy.mov")
    let types = try Tool.ffprobe("-show_entries", "stream=codec_type", source.path).map { String($0[0].prefix(1)) }
    for stream in types {
      #expect(try packets(film.url, stream) == packets(source, stream))
      #expect(
        try times(film.url, stream, "pts_time,duration_time,size")
          == times(source, stream, "pts_time,duration_time,size"))
    }
    #expect(try pictures(film.url) == pictures(source))
    let turned = ["-select_streams", "v", "-show_entries", "stream_side_data=rotation"]
    #expect(
      try Tool.run("ffprobe", ["-v", "quiet", "-of", "csv"] + turned + [film.url.path]).output
        == Tool.run("ffprobe", ["-v", "quiet", "-of", "csv"] + turned + [source.path]).output)
  }

  @Test(arguments: ["mov", "mp4", "mkv"].spread(2))
  func `a copy keeps what its tracks state unless others are given`(container: String) async throws {
    let source = folder.url.appendingPathComponent("source.\(container)")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=s=64x48:d=1", "-f", "lavfi", "-i", "sine=d=1", "-metadata:s:v:0", "language=ger",
      "-metadata:s:a:0", "language=eng", source.path)
    let reader = try await reader(source)
    let writer = try AssetWriter(to: url("copy.\(container)"))
    for track in reader.contents.tracks {
      let format = try await reader.storedFormat(of: track)
      let input =
        try await track.type == .video
        ? writer.addStored(format, rotation: container == "mkv" ? nil : 270)
        : writer.addStored(format, language: "haw", title: "Leo")
      for try await sample in try reader.storedSamples(of: track) { try await input.append(sample) }
    }
    let film = try await writer.finish()
    let tags = try Tool.ffprobe("-show_entries", "stream_tags=language,title,handler_name", film.url.path)
    #expect(tags.map { $0[0] } == ["ger", "haw"] && tags[1] == ["haw", "Leo"], "\(tags)")
    let turned = try Tool.ffprobe("-select_streams", "v", "-show_entries", "stream_side_data=rotation", film.url.path)
    #expect(turned.contains { $0.last == "90" } == (container != "mkv"), "\(turned)")
  }

  @Test(arguments: [
    ("opus.mkv", "opus.webm", ["-c:v", "libvpx-vp9", "-cpu-used", "8", "-g", "25", "-c:a", "libopus"]),
    ("opus.mkv", "opus.mp4", ["-c:v", "libvpx-vp9", "-cpu-used", "8", "-g", "25", "-c:a", "libopus"]),
    ("sound.flac", "copy.flac", ["-vn", "-c:a", "flac"]), ("sound.wav", "copy.wav", ["-vn", "-c:a", "pcm_s24le"]),
    ("sound.mkv", "copy.mov", ["-c:v", "prores_ks", "-c:a", "pcm_s16le"]),
    ("sound.ogg", "copy.ogg", ["-vn", "-c:a", "libopus"]), ("sound.m4a", "copy.m4a", ["-vn", "-c:a", "alac"]),
    ("transport.ts", "copy.mp4", ["-c:v", "libx264", "-g", "25", "-c:a", "aac"]),
  ])
  func `what is decoded of a copy is that of its source`(name: String, copyName: String, options: [String]) async throws
  {
    var codecs = options
    if codecs.contains("prores_ks") { codecs += ["-pix_fmt", "yuv422p10le"] }
    let source = try source(name, "-shortest", options: codecs, seconds: Self.anyLength)
    let film = try await copy(source, to: copyName)
    if !codecs.contains("-vn") { #expect(try pictures(film.url) == pictures(source)) }
    let (copied, stored) = (try samples(film.url), try samples(source))
    // Matroska has the 312 samples of the encoder's delay as 7 ms.
    let delay = name == "opus.mkv" && copyName == "opus.mp4" ? 24 : 0
    // Not every container states how many samples of the last packet are presented.
    #expect(abs(copied.count - stored.count) <= 1024, "\(copied.count) \(stored.count)")
    let count = min(copied.count, stored.count)
    #expect(zip(copied, stored.dropFirst(delay)).prefix(count - 1024).allSatisfy { abs($0 - $1) < 0.001 })
  }

  // MARK: Parts

  @Test(arguments: ["h264", "open", "hevc"])
  func `a part presents exactly its pictures and its samples`(codec: String) async throws {
    let x265 = "keyint=25:min-keyint=25:scenecut=0:open-gop=1:bframes=4:b-adapt=0:log-level=error"
    let codecs: [String: [String]] = [
      "open": [
        "-c:v", "libx264", "-g", "25", "-sc_threshold", "0", "-bf", "4", "-b_strategy", "0", "-x264-params",
        "open-gop=1", "-c:a", "aac",
      ],
      "hevc": ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", x265, "-c:a", "aac"],
    ]
    let source = try source("source.mp4", options: codecs[codec] ?? [])
    let (all, whole) = (try pictures(source), try samples(source))
    for container in TestExtent.of([codec == "open" ? "mov" : "mp4"], whole: ["mp4", "mov"]) {
      let film = try await copy(source, to: "part.\(container)", in: seconds("1.48", "3.32"))
      #expect(film.frames == 46)
      // Frames 37 to 82.
      #expect(try pictures(film.url) == Array(all[37..<83]))
      #expect(Set(try packets(film.url, "v")).isSubset(of: Set(try packets(source, "v"))))
      for line in try Tool.ffprobe("-show_entries", "stream=start_time,duration", film.url.path) {
        #expect(abs(value(line[0])) < 0.0005 && abs(value(line[1]) - 1.84) < 0.0005, "\(line)")
      }
      let cut = try samples(film.url)
      #expect((88320..<(88320 + 1024)).contains(cut.count))
      #expect(zip(cut.prefix(88320), whole[71040...]).allSatisfy { abs($0 - $1) < 0.001 })
      // What an edit list of the source hides stays hidden.
      let twice = try await copy(film.url, to: "twice.mp4")
      #expect(twice.frames == 46)
      #expect(try pictures(twice.url) == Array(all[37..<83]))
      #expect(try packets(twice.url, "v") == packets(film.url, "v"))
      #expect(try samples(twice.url).prefix(88320) == cut.prefix(88320))
      await #expect(throws: SheafError.self) { try await copy(film.url, to: "twice.mkv") }
    }
    // All of the file is appended, and the session takes a part.
    let session = try await session(
      of: source, from: MediaTime(value: 74, timescale: 25), to: MediaTime(value: 82, timescale: 25), in: "session.mp4")
    #expect(session.frames == 8)
    #expect(try pictures(url("session.mp4")) == Array(all[74..<82]))
    if codec == "h264" { #expect(try packets(url("session.mp4"), "v").count < 40) }
  }

  @Test func `where nothing hides the run-up, a part begins and ends at keyframes`() async throws {
    let source = try source("source.mp4")
    let all = try pictures(source)
    let film = try await copy(source, to: "part.mkv", in: seconds("1", "3"))
    #expect(film.frames == 50)
    #expect(try pictures(film.url) == Array(all[25..<75]))
    let (cut, whole) = (try samples(film.url), try samples(source))
    #expect(abs(cut.count - 96000) <= 1024)
    // Sound begins with the packet nearest to sample 48000. The samples of the one before are discarded.
    let first = try #require(try times(film.url, "a", "pts_time").dropFirst().first).map { value($0) }
    #expect(abs(first[0] - 128.0 / 48000) < 0.0006)
    #expect(zip(cut, whole[48128...]).allSatisfy { abs($0 - $1) < 0.001 })
    let untouched = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
    for (start, end, message) in [
      ("1.48", "3", "the session starts at 37/25 s, which is none; the nearest are at 1 and 2 s"),
      ("1", "3.32", "the session ends at 83/25 s, which is before another; the nearest are at 3 s"),
    ] {
      await #expect {
        try await copy(source, to: "refused.mkv", in: seconds(start, end))
      } throws: { error in
        guard let error = error as? SheafError else { return false }
        return error.code == .misuse && error.message.hasSuffix(message)
      }
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == untouched)
    // Pictures before the end of an open group depend on the keyframe after it.
    let x265 = "keyint=25:min-keyint=25:scenecut=0:open-gop=1:bframes=4:b-adapt=0:log-level=error"
    let open = try self.source(
      "open.mp4", options: ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", x265, "-an"])
    await #expect(throws: SheafError.self) { try await copy(open, to: "refused.mkv", in: seconds("1", "3")) }
    try await copy(open, to: "open.mkv", in: seconds("1", "6"))
    #expect(try pictures(url("open.mkv")) == Array(pictures(open)[25...]))
  }

  // MARK: Beside what is encoded, and joined

  @Test(arguments: ["mp4", "mkv"]) func `stored sound is beside encoded pictures`(container: String) async throws {
    let seconds = Self.anyLength
    let source = try source("source.mp4", seconds: seconds)
    let reader = try await reader(source)
    let writer = try AssetWriter(to: url("film.\(container)"), metadata: ["title": "Half"])
    let video = try #require(reader.contents.defaultTrack(.video))
    let audio = try #require(reader.contents.defaultTrack(.audio))
    let size = PixelSize(width: 80, height: 60)
    let pictures = try await writer.addVideo(
      .init(codec: .h264), size: size, frameDuration: MediaTime(value: 1, timescale: 25))
    let sound = try await writer.addStored(try await reader.storedFormat(of: audio))
    for try await picture in try reader.pictures(of: video, size: size) { try await pictures.append(picture) }
    for try await sample in try reader.storedSamples(of: audio) { try await sound.append(sample) }
    let film = try await writer.finish()
    #expect(film.frames == 25 * seconds && film.samples == 48_000 * seconds)
    #expect(try packets(film.url, "a") == packets(source, "a"))
    let streams = try Tool.ffprobe(
      "-count_frames", "-show_entries", "stream=codec_name,width,nb_read_frames", film.url.path)
    #expect(streams.first == ["h264", "80", "\(25 * seconds)"] && streams.last?.first == "aac")
    #expect(try Tool.ffprobe("-show_entries", "format_tags=title", film.url.path).contains { $0.last == "Half" })
    let shown = try times(film.url, "v", "pts_time").map { value($0[0]) }.sorted()
    #expect(shown.count == 25 * seconds && shown.enumerated().allSatisfy { abs($1 - Double($0) / 25) < 0.0006 })
    #expect(try Tool.result(of: "ffmpeg", ["-v", "warning", "-i", film.url.path, "-f", "null", "-"]).log == "")
  }

  @Test(arguments: ["mp4", "mkv"]) func `encoded sound is beside stored pictures`(container: String) async throws {
    let count = 48_000 * Self.anyLength
    let source = try source("source.mp4", seconds: Self.anyLength)
    let reader = try await reader(source)
    let writer = try AssetWriter(to: url("film.\(container)"))
    let video = try #require(reader.contents.defaultTrack(.video))
    let pictures = try await writer.addStored(try await reader.storedFormat(of: video))
    let sound = try await writer.addAudio(
      .init(codec: container == "mp4" ? .aac : .flac), sampleRate: 48000, channels: 1)
    let tone = (0..<count).map { Float(($0 * 37) % 2001 - 1000) / 32768 }
    try await sound.append(AudioSample(position: 0, sampleRate: 48000, channels: [tone]))
    for try await sample in try reader.storedSamples(of: video) { try await pictures.append(sample) }
    let film = try await writer.finish()
    #expect(film.frames == 25 * Self.anyLength && film.samples == count)
    #expect(try packets(film.url, "v") == packets(source, "v"))
    let decoded = try samples(film.url)
    if container == "mkv" { #expect(decoded == tone) }
    #expect((count..<count + 1024).contains(decoded.count))
  }

  @Test func `samples of two files of one format are joined`() async throws {
    let length = Self.anyLength
    let first = try source("first.mp4", seconds: length)
    let second = try source("second.mp4", options: ["-vf", "negate"], seconds: length)
    let writer = try AssetWriter(to: url("joined.mp4"))
    let (one, two) = (try await reader(first), try await reader(second))
    let tracks = try [one, two].map { try #require($0.contents.defaultTrack(.video)) }
    let formats = [try await one.storedFormat(of: tracks[0]), try await two.storedFormat(of: tracks[1])]
    #expect(formats[0] == formats[1] && formats[0].codec == "h264" && formats[0].type == .video)
    let pictures = try await writer.addStored(formats[0])
    let (later, end) = (MediaTime(seconds: Int64(length)), MediaTime(seconds: Int64(length - 1)))
    for try await sample in try one.storedSamples(of: tracks[0]) { try await pictures.append(sample) }
    for try await sample in try two.storedSamples(of: tracks[1]) {
      var sample = sample
      sample.presentationTime = try sample.presentationTime + later
      sample.decodingTime = try sample.decodingTime + later
      try await pictures.append(sample)
    }
    try await writer.endSession(at: end + later)
    let film = try await writer.finish()
    let count = 25 * (2 * length - 1)
    #expect(film.frames == count)
    #expect(try self.pictures(film.url) == Array((self.pictures(first) + self.pictures(second)).prefix(count)))
  }

  @Test(arguments: [("0", "Proxy"), ("3", "HQ")].spread(1))
  func `the profile of ProRes is kept in Matroska`(_ option: String, _ profile: String) async throws {
    let source = try source(
      "prores.mov", "-c:v", "prores_ks", "-profile:v", option, "-pix_fmt", "yuv422p10le", "-an", "-t", "1")
    for name in ["copy.mkv", "copy.mov"] {
      let film = try await copy(source, to: name)
      #expect(try Tool.ffprobe("-show_entries", "stream=profile", film.url.path) == [[profile]])
      #expect(try pictures(film.url) == pictures(source))
    }
  }

  @Test func `frames that are only for reference are not counted`() async throws {
    let source = url("reference.webm")
    let options =
      ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=\(Self.anyLength)", "-pix_fmt", "yuv420p"]
      + ["-c:v", "libvpx", "-auto-alt-ref", "1", "-lag-in-frames", "25", "-b:v", "300k"]
      + ["-passlogfile", folder.path("log")]
    try Tool.ffmpeg(options + ["-pass", "1", "-f", "null", "-"])
    try Tool.ffmpeg(options + ["-pass", "2", source.path])
    let film = try await copy(source, to: "copy.mkv")
    #expect(try packets(source, "v").count > 25 * Self.anyLength)
    #expect(film.frames == 25 * Self.anyLength)
    #expect(try pictures(film.url) == pictures(source))
  }

  @Test func `a session starts at a time without a common timescale`() async throws {
    let source = try source("source.mp4")
    let part = try await session(
      of: source, from: MediaTime(value: 1_480_000_011, timescale: 1_000_000_007), in: "part.mp4")
    // The picture at 1.48 s is shown at the start.
    #expect(part.frames == 113)
    #expect(try pictures(url("part.mp4")) == Array(pictures(source).suffix(113)))
  }

  // MARK: What is refused

  @Test func `what a container cannot hold is refused before anything is written`() async throws {
    let source = try source("source.mp4")
    let reader = try await reader(source)
    let video = try #require(reader.contents.defaultTrack(.video))
    let audio = try #require(reader.contents.defaultTrack(.audio))
    let format = try await reader.storedFormat(of: video)
    let before = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
    for (name, message) in [
      ("film.webm", "h264 cannot be copied into webm; av1, opus, vorbis, vp8, vp9 can"),
      ("film.mxf", "h264 cannot be copied into mxf; nothing can"),
      ("film.m4a", "h264 cannot be copied into m4a; aac, alac can"),
    ] {
      let writer = try AssetWriter(to: url(name))
      await #expect {
        try await writer.addStored(format)
      } throws: { error in
        guard let error = error as? SheafError else { return false }
        return error.code == .invalidEdit && error.problems.map(\.description) == ["/export: \(message)"]
      }
    }
    let turned = try await AssetReader(Asset(Self.media("friday-rotated.mp4"), renderer: renderer))
    let upright = try await turned.storedFormat(of: try #require(turned.contents.defaultTrack(.video)))
    #expect(upright.orientation != format.orientation)
    let matroska = try AssetWriter(to: url("film.mkv"))
    await #expect {
      try await matroska.addStored(upright)
    } throws: { error in
      (error as? SheafError)?.problems.first?.message.contains("stored turned, which mkv does not state") == true
    }
    // Samples of its format in order.
    let stored = try await matroska.addStored(format)
    var samples: [StoredSample] = []
    for try await sample in try reader.storedSamples(of: video) { samples.append(sample) }
    try await stored.append(samples[1])
    let order = "a sample that is decoded at -2/25 was appended after one that is at -1/25"
    await #expect(throws: SheafError(.misuse, order)) {
      try await stored.append(samples[0])
    }
    for try await sample in try reader.storedSamples(of: audio) {
      await #expect {
        try await stored.append(sample)
      } throws: { error in
        (error as? SheafError)?.message
          == "a sample cannot follow without encoding, because the codec differs: aac after h264"
      }
      break
    }
    // Nothing can be decoded from it, and the writer goes on.
    let start = "no sample of the video track is a keyframe, at which decoding can start"
    await #expect(throws: SheafError(.misuse, start)) {
      try await matroska.finish()
    }
    await matroska.cancel()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == before)
  }
}
