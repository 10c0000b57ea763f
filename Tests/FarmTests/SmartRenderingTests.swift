import Foundation
import TestPrograms
import Testing

/// Smart rendering: ffmpeg decoding the sources is the oracle for what is copied, and a film without loss for what is
/// encoded.
@Suite(.ownThreads) struct SmartRenderingTests {
  private let files: Workspace

  init() throws {
    files = try Workspace()
  }

  /// What `render --json` prints of smart rendering.
  private struct Summary: Decodable {
    struct Smart: Decodable {
      struct Refusal: Decodable {
        var asset: String?
        var frames: Int
        var reason: String
      }

      var copiedFrames: Int
      var encodedFrames: Int
      var refusals: [Refusal]
    }

    var digest: String
    var smart: Smart?
  }

  /// A film of moving pictures and noise, of 25 frames a second.
  private func source(
    _ name: String = "source.mp4", seconds: Int = 12, _ options: [String] = ["-g", "50", "-sc_threshold", "0"],
    codec: String = "libx264"
  ) throws -> String {
    let path = files.path(name)
    try Tool.ffmpeg(
      [
        "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=\(seconds)", "-f", "lavfi", "-i",
        "aevalsrc=sin(1000*t*t):s=48000:d=\(seconds)", "-vf", "noise=alls=12:allf=t:all_seed=7,format=yuv420p",
        "-threads", "1", "-c:v", codec,
        // Opus begins before zero, so that WebM has no picture at zero.
      ] + options + (codec == "libvpx-vp9" ? ["-an", path] : ["-c:a", "aac", path]))
    return path
  }

  private func document(
    _ clips: String, to film: String, assets: String, overlays: String = "", export: String = #""smart": true"#
  ) throws -> String {
    try files.write(
      """
      { "sheaf": 1, "assets": { \(assets) },
        "tracks": [ { "id": "A", "type": "video", "sound": true, "clips": [ \(clips) ] } ],
        "videoComposition": { "overlays": [ \(overlays) ] },
        "export": { "to": "\(film)"\(export.isEmpty ? "" : ", ")\(export) } }
      """, to: "edit-\(UUID().uuidString).json")
  }

  private func render(_ edit: String) async throws -> Summary {
    let film = try await TestFilm.render(edit)
    try #require(film.status == 0, "\(film.errors)")
    return try JSONDecoder().decode(Summary.self, from: Data(film.output.utf8))
  }

  private func hashes(_ path: String) throws -> [Substring] {
    let list = try Tool.run(
      "ffmpeg", ["-v", "error", "-noautorotate", "-i", path, "-map", "0:v", "-f", "framemd5", "-"]
    ).output
    return String(decoding: list, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
      .compactMap { $0.split(separator: ",").last }
  }

  private struct StoredPacket {
    var pts: Int
    /// Nil: the file does not state it.
    var dts: Int?
    var isKey: Bool
  }

  /// The pictures of a file in order of decoding, in frames of 1/25 s.
  private func packets(_ path: String) throws -> [StoredPacket] {
    // A packet's side data are lines of their own.
    let lines = try Tool.ffprobe("-select_streams", "v", "-show_entries", "packet=pts_time,dts_time,flags", path)
    return try lines.filter { $0.count >= 3 }.map { fields in
      func frame(_ text: String) -> Int? { Double(text).map { Int(($0 * 25).rounded()) } }
      return StoredPacket(
        pts: try #require(frame(fields[0])), dts: frame(fields[1]), isKey: fields[2].hasPrefix("K"))
    }
  }

  /// The last frame before `end` up to which as many pictures are decoded as are shown, plus one, from the last
  /// keyframe on: an oracle that tries every end.
  private func lastEnd(before end: Int, in packets: [StoredPacket]) -> Int {
    let key = packets.lastIndex { $0.isKey && $0.pts < end } ?? 0
    let start = packets[key].pts
    return (start...end).last { end in
      let count = end - start
      return Set(packets[key...].prefix(count).map(\.pts)) == Set(start..<end)
    } ?? start
  }

  private func extradata(_ path: String) throws -> String {
    String(
      decoding: try Tool.run(
        "ffprobe", ["-v", "error", "-select_streams", "v", "-show_data", "-show_entries", "stream=extradata", path]
      ).output, as: UTF8.self)
  }

  /// The least PSNR of the frames of a range against a film without loss.
  private func leastQuality(_ film: String, _ reference: String, _ frames: Range<Int>) throws -> Double {
    let stats = files.path("psnr-\(UUID().uuidString)")
    try Tool.ffmpeg(
      "-i", film, "-i", reference, "-lavfi", "[0:v][1:v]psnr=stats_file=\(stats)", "-an", "-f", "null", "-")
    let values = try String(contentsOfFile: stats, encoding: .utf8).split(separator: "\n").map { line -> Double in
      let field = line.split(separator: " ").first { $0.hasPrefix("psnr_avg:") } ?? ""
      return Double(field.dropFirst(9)) ?? .infinity
    }
    try #require(values.count >= frames.upperBound)
    return values[frames].min() ?? 0
  }

  /// What every film with smart rendering must be: read without a word, with even times, and right wherever a reader
  /// begins.
  private func check(_ film: String, frames: Int, seams: [Int]) throws {
    #expect(try Tool.result(of: "ffmpeg", ["-v", "warning", "-i", film, "-f", "null", "-"]).log == "")
    let stored = try packets(film)
    #expect(stored.map(\.pts).sorted() == Array(0..<frames))
    let decoded = stored.drop { $0.dts == nil }.map(\.dts)
    #expect(
      decoded.count > frames - 4 && zip(decoded, decoded.dropFirst()).allSatisfy { a, b in a.map { $0 + 1 } == b },
      "decoding times are not even")
    let all = try hashes(film)
    try #require(all.count == frames)
    for place in seams.flatMap({ [$0 - 2, $0 - 1, $0, $0 + 1] }) where (0..<frames).contains(place) {
      let found = try Tool.run(
        "ffmpeg",
        [
          "-v", "error", "-ss", "\(Double(place) / 25)", "-i", film, "-map", "0:v", "-frames:v", "1", "-f", "framemd5",
          "-",
        ]
      ).output
      let hash = String(decoding: found, as: UTF8.self).split(separator: "\n").last?.split(separator: ",").last
      #expect(hash == all[place], "a seek to frame \(place)")
    }
  }

  @Test(arguments: ["mp4", "mov", "mkv"].spread(2))
  func `the pictures around a title are copied, and those of it are encoded`(container: String) async throws {
    defer { files.remove() }
    let source = try source()
    let film = files.path("film.\(container)")
    let title = #"{ "over": "4.4..5.6", "text": "Title", "size": 20 }"#
    let clips = #"{ "asset": "a" }"#
    let summary = try await render(try document(clips, to: film, assets: "\"a\": \"\(source)\"", overlays: title))
    let (stored, original) = (try packets(source), try hashes(source))
    let end = lastEnd(before: 110, in: stored)
    let next = try #require(stored.first { $0.isKey && $0.pts >= 140 }?.pts)
    let smart = try #require(summary.smart)
    #expect(smart.copiedFrames == end + 300 - next && smart.encodedFrames == next - end)
    #expect(smart.refusals.reduce(0) { $0 + $1.frames } == smart.encodedFrames)
    #expect(smart.refusals.first { $0.reason == "an overlay is drawn over it" }?.frames == 30)
    let found = try hashes(film)
    try #require(found.count == 300)
    #expect(found[..<end] == original[..<end] && found[next...] == original[next...])
    #expect(found[end] != original[end])
    #expect(try extradata(film) == extradata(source))
    try check(film, frames: 300, seams: [end, next])
    // The same film without loss.
    let exact = files.path("exact.mkv")
    _ = try await render(
      try document(
        clips, to: exact, assets: "\"a\": \"\(source)\"", overlays: title,
        export: #""video": { "codec": "ffv1" }"#))
    #expect(try leastQuality(film, exact, end..<next) > 28)
  }

  @Test func `parts of two files are joined at keyframes and between them`() async throws {
    defer { files.remove() }
    let (first, film) = (try source(), files.path("film.mp4"))
    // The same parameter sets, and other pictures.
    let second = try source("second.mp4", ["-g", "50", "-sc_threshold", "0", "-vf", "hue=h=90,format=yuv420p"])
    let clips = #"{ "asset": "a", "use": "1.2..6" }, { "asset": "b", "use": "2..8" }, { "asset": "a", "use": "8..12" }"#
    let summary = try await render(
      try document(clips, to: film, assets: "\"a\": \"\(first)\", \"b\": \"\(second)\""))
    let (a, b) = (try hashes(first), try hashes(second))
    // Frames of the film: 30..<150 of the first file, 50..<200 of the second, 200..<300 of the first.
    let found = try hashes(film)
    try #require(found.count == 370)
    let end = lastEnd(before: 150, in: try packets(first)) - 30
    #expect(found[20..<end] == a[50..<(end + 30)])
    let joined = lastEnd(before: 200, in: try packets(second)) + 70
    #expect(found[120..<joined] == b[50..<(joined - 70)])
    #expect(found[270...] == a[200...])
    let smart = try #require(summary.smart)
    #expect(smart.copiedFrames == (end - 20) + (joined - 120) + 100)
    try check(film, frames: 370, seams: [20, end, 120, joined, 270])
  }

  /// Streams of encoders that use less or other than x264 does by itself.
  private static let streams = [
    "-profile:v baseline -g 50", "-profile:v main -g 50 -bf 0", "-preset ultrafast -g 50",
    "-g 50 -bf 3 -x264-params cabac=0", "-g 50 -x264-params weightp=0:weightb=0:b-pyramid=0",
    "-g 50 -x264-params 8x8dct=0:ref=2:bframes=1", "-g 50 -x264-params constrained-intra=1:chroma-qp-offset=-6",
    "-g 50 -x264-params slices=3:ref=5:bframes=4",
    "-g 25 -x264-params aud=1:nal-hrd=vbr:vbv-maxrate=2000:vbv-bufsize=2000",
  ]

  @Test(arguments: TestExtent.of([streams[0], streams[3], streams[7]], whole: streams))
  func `encoded pictures keep to what the parameter sets of a stream allow`(options: String) async throws {
    defer { files.remove() }
    let source = try source(seconds: 6, options.split(separator: " ").map(String.init))
    let film = files.path("film.mp4")
    let title = #"{ "over": "2.4..3", "text": "Title", "size": 20 }"#
    let summary = try await render(
      try document(#"{ "asset": "a" }"#, to: film, assets: "\"a\": \"\(source)\"", overlays: title))
    let stored = try packets(source)
    let (end, next) = (lastEnd(before: 60, in: stored), try #require(stored.first { $0.isKey && $0.pts >= 75 }?.pts))
    #expect(summary.smart?.copiedFrames == end + 150 - next, "\(String(describing: summary.smart))")
    let (found, original) = (try hashes(film), try hashes(source))
    try #require(found.count == 150)
    #expect(found[..<end] == original[..<end] && found[next...] == original[next...])
    #expect(try extradata(film) == extradata(source))
    try check(film, frames: 150, seams: [end, next])
    let exact = files.path("exact.mkv")
    _ = try await render(
      try document(
        #"{ "asset": "a" }"#, to: exact, assets: "\"a\": \"\(source)\"", overlays: title,
        export: #""video": { "codec": "ffv1" }"#))
    #expect(try leastQuality(film, exact, end..<next) > 28)
  }

  /// Other decoders than FFmpeg's, which forgives much. OpenH264 is not exact where pictures are predicted from both
  /// sides.
  @Test(arguments: [0, 2])
  func `Chromium and OpenH264 show the pictures that ffmpeg decodes`(bFrames: Int) async throws {
    defer { files.remove() }
    let source = try source(seconds: 6, ["-g", "50", "-bf", "\(bFrames)", "-sc_threshold", "0"])
    let film = files.path("film.mp4")
    let summary = try await render(
      try document(
        #"{ "asset": "a", "use": "0..3.2" }, { "asset": "a", "use": "4..6" }"#, to: film,
        assets: "\"a\": \"\(source)\"",
        overlays: #"{ "over": "1.6..1.8", "text": "Title", "size": 20 }"#))
    #expect(summary.smart.map { $0.copiedFrames > 90 && $0.encodedFrames > 5 } == true)
    let stream = files.path("film.h264")
    try Tool.ffmpeg("-i", film, "-map", "0:v", "-c", "copy", stream)
    let openH264 = try Tool.run("python3", [Self.script("openh264-frames"), stream])
    let pictures = String(decoding: openH264.output, as: UTF8.self).split(separator: "\n")
    let expected = try hashes(film).map { $0.drop { $0 == " " } }
    #expect(pictures.count == 130 && openH264.log.isEmpty)
    if bFrames == 0 { #expect(pictures == expected) }
    let list = try Tool.run(
      "ffmpeg", ["-v", "error", "-i", film, "-map", "0:v", "-f", "framehash", "-hash", "sha256", "-"]
    ).output
    let all = String(decoding: list, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
      .compactMap { $0.split(separator: " ").last }
    try #require(all.count == 130)
    let frames = [0, 20, 38, 39, 40, 41, 44, 45, 46, 48, 49, 50, 51, 77, 78, 79, 80, 81, 82, 120, 129]
    let chromium = try Tool.run(
      Place.repository.appendingPathComponent(".build/http-tools/bin/python").path,
      [Self.script("chromium-frames"), film, "25"] + frames.map { "\($0)" })
    #expect(
      String(decoding: chromium.output, as: UTF8.self).split(separator: "\n").map { String($0) }
        == frames.map { "I420 160x120 \(all[$0])" })
  }

  private static func script(_ name: String) -> String {
    Place.repository.appendingPathComponent("scripts/\(name)").path
  }

  @Test func `a farm of two workers makes the film of one machine`() async throws {
    defer { files.remove() }
    let source = try source()
    let edit = try document(
      #"{ "asset": "a", "use": "0.5..11" }"#, to: files.path("film.mp4"), assets: "\"a\": \"\(source)\"",
      overlays: #"{ "over": "3..4", "text": "Title", "size": 20 }"#)
    let local = try await render(edit)
    let farm = try await Farm(workers: 2, slots: 1)
    defer { farm.stop() }
    let made = try await farm.sheaf("submit", edit, "--wait", "-o", files.path("farm.mp4"), "--json").run()
    try #require(made.status == 0, "\(made.errors)")
    let summary = try JSONDecoder().decode(Summary.self, from: Data(made.output.utf8))
    #expect(summary.digest == local.digest && local.smart.map { $0.copiedFrames > 150 } == true)
    #expect(summary.smart?.copiedFrames == local.smart?.copiedFrames)
  }

  @Test func `VP9 is copied from keyframe to keyframe`() async throws {
    defer { files.remove() }
    let source = try source(
      "source.webm", seconds: 6, ["-g", "50", "-b:v", "0", "-crf", "40", "-cpu-used", "8"], codec: "libvpx-vp9")
    let film = files.path("film.webm")
    let summary = try await render(
      try document(
        #"{ "asset": "a", "use": "0..5.4" }"#, to: film, assets: "\"a\": \"\(source)\"",
        overlays: #"{ "over": "2.4..3", "text": "Title", "size": 20 }"#))
    let keys = try packets(source).filter(\.isKey).map(\.pts)
    let next = try #require(keys.first { $0 >= 75 })
    #expect(summary.smart?.copiedFrames == 60 + 135 - next, "\(String(describing: summary.smart))")
    let (found, original) = (try hashes(film), try hashes(source))
    try #require(found.count == 135)
    #expect(found[..<60] == original[..<60] && found[next...] == original[next..<135])
    try check(film, frames: 135, seams: [60, next])
  }

  @Test func `ProRes is copied picture by picture`() async throws {
    defer { files.remove() }
    let source = files.path("source.mov")
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=3", "-c:v", "prores_ks", "-profile:v", "2",
      "-vendor", "apl0", "-pix_fmt", "yuv422p10le", source)
    let film = files.path("film.mov")
    let summary = try await render(
      try document(
        #"{ "asset": "a", "use": "0.2..2.8" }"#, to: film, assets: "\"a\": \"\(source)\"",
        overlays: #"{ "over": "1..1.4", "text": "Title", "size": 20 }"#,
        export: #""smart": true, "video": { "codec": "prores422" }"#))
    #expect(summary.smart?.copiedFrames == 55, "\(String(describing: summary.smart))")
    let (found, original) = (try hashes(film), try hashes(source))
    try #require(found.count == 65)
    #expect(found[..<25] == original[5..<30] && found[35...] == original[40..<70])
    try check(film, frames: 65, seams: [25, 35])
  }

  /// Why nothing is copied, with the source, the keys of the clip and those of the film.
  struct Refused: CustomTestStringConvertible, Sendable {
    var options: [String]
    var clip = ""
    var composition = ""
    var reason: String
    var testDescription: String { reason }

    init(_ options: String, clip: String = "", composition: String = "", _ reason: String) {
      self.options = options.split(separator: " ").map(String.init)
      (self.clip, self.composition, self.reason) = (clip, composition, reason)
    }
  }

  private static let refusals = [
    Refused("-g 50 -display_rotation 90", "its pictures are turned to be upright"),
    Refused("-g 50 -flags +ildct+ilme -x264opts tff=1", "it is interlaced, and the film is not"),
    Refused("-g 50 -x264-params cqm=jvt", "it has scaling matrices"),
    Refused("-g 50", composition: #""frameRate": 30"#, "its pictures are not shown once each, one after the other"),
    Refused("-g 50", composition: #""renderSize": [80, 60]"#, "its pictures have 160x120 pixels"),
    Refused("-g 50", clip: #", "speed": 2"#, "its speed is changed"),
    Refused("-g 50", clip: #", "opacity": 0.5"#, "its opacity is changed"),
  ]

  @Test(arguments: refusals.spread(3))
  func `what cannot be copied is encoded, and reported with its reason`(_ refused: Refused) async throws {
    defer { files.remove() }
    var options = refused.options
    var source = files.path("source.mp4")
    if let place = options.firstIndex(of: "-display_rotation") {
      options.removeSubrange(place...(place + 1))
      let upright = try self.source("upright.mp4", seconds: 3, options)
      try Tool.ffmpeg("-i", upright, "-c", "copy", "-metadata:s:v", "rotate=90", source)
    } else {
      source = try self.source(seconds: 3, options)
    }
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(source)" },
        "tracks": [ { "id": "A", "type": "video", "clips": [ { "asset": "a"\(refused.clip) } ] } ],
        "videoComposition": { \(refused.composition) },
        "export": { "to": "\(files.path("film.mp4"))", "smart": true, "video": { "preset": "ultrafast" } } }
      """, to: "edit.json")
    let smart = try #require(try await render(edit).smart)
    #expect(smart.copiedFrames == 0 && smart.encodedFrames > 0)
    #expect(smart.refusals.contains { $0.asset == "a" && $0.reason.hasPrefix(refused.reason) }, "\(smart.refusals)")
    #expect(
      try Tool.result(of: "ffmpeg", ["-v", "warning", "-i", files.path("film.mp4"), "-f", "null", "-"]).log == "")
  }

  /// With an open GOP only the first picture is an instantaneous decoding refresh, whatever the file's index says.
  @Test func `an open GOP is no place to begin to copy`() async throws {
    defer { files.remove() }
    let source = try source(seconds: 8, ["-g", "50", "-x264-params", "open-gop=1:bframes=2"])
    try #require(try packets(source).count { $0.isKey } > 1)
    let film = files.path("film.mp4")
    let summary = try await render(
      try document(#"{ "asset": "a", "use": "1..8" }"#, to: film, assets: "\"a\": \"\(source)\""))
    #expect(summary.smart?.copiedFrames == 0, "\(String(describing: summary.smart))")
    try check(film, frames: 175, seams: [])
  }
}
