import Foundation
import TestPrograms
import Testing

/// Films that are one picture that moves: the same bytes however they are cut, with the frames and the times that other
/// programs find.
@Suite(.ownThreads) struct AnimatedImageTests {
  private static let (width, height, frames) = (96, 72, 25)

  /// A second of pictures that move, and a tone.
  private static func source(_ path: String) async throws {
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=\(width)x\(height):r=25:d=0.48", "-f", "lavfi", "-i",
      "mandelbrot=s=\(width)x\(height):r=25:end_pts=200", "-f", "lavfi", "-i",
      "sine=330:sample_rate=48000:duration=1", "-filter_complex",
      "[1:v]trim=duration=0.52[b];[0:v][b]concat,format=yuv444p[v]", "-map", "[v]", "-map", "2:a",
      "-c:v", "ffv1", "-g", "1", "-c:a", "pcm_s16le", path)
  }

  private static func document(_ video: String, rate: String = "1/25", audio: String = "false") -> String {
    """
    { "sheaf": 1, "assets": { "a": "source.mkv" },
      "tracks": [ { "id": "A", "type": "video", "sound": true, "clips": [ { "asset": "a" } ] } ],
      "videoComposition": { "renderSize": [\(width), \(height)], "frameDuration": "\(rate)" },
      "export": { "video": \(video), "audio": \(audio) } }
    """
  }

  @discardableResult
  private func render(_ edit: String, _ output: String, segment: String = "1") async throws -> String {
    let film = try await TestFilm.render(edit, output, segmentDuration: segment)
    try #require(film.status == 0, "\(film.errors)")
    return film.errors
  }

  /// The pictures of a film as rows of red, green and blue, with each pixel's own chroma.
  private func pixels(_ film: String) throws -> Data {
    try Tool.ffmpeg(
      "-i", film, "-vf", "scale=flags=bicubic+accurate_rnd+full_chroma_int+bitexact,format=rgb24", "-f", "rawvideo",
      "-fps_mode", "passthrough", "-")
  }

  private func greatestDifference(_ a: Data, _ b: Data) -> Int {
    zip(a, b).reduce(0) { max($0, abs(Int($1.0) - Int($1.1))) }
  }

  /// Of all pictures together, in decibels.
  private func signalToNoise(_ a: Data, _ b: Data) -> Double {
    let squares = zip(a, b).reduce(0) { $0 + (Int($1.0) - Int($1.1)) * (Int($1.0) - Int($1.1)) }
    return 10 * log10(255 * 255 * Double(a.count) / Double(max(1, squares)))
  }

  private static let formats: [(String, String)] = TestExtent.of(
    [("gif", ordered), ("apng", "{}"), ("webp", "{}")],
    whole: [("gif", ordered), ("apng", "{}"), ("webp", "{}"), ("webp", #"{ "quality": 100 }"#)])
  private static let ordered = #"{ "dither": "ordered" }"#

  @Test(arguments: formats)
  func `the bytes do not depend on segments and workers`(_ container: String, _ video: String) async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let edit = try files.write(Self.document(video), to: "edit.json")
    var films = ["one", "two"].map { files.path("\($0).\(container)") }
    try await render(edit, films[0], segment: "10")
    try await render(edit, films[1], segment: TestExtent.of("0.28", whole: "0.5"))
    if TestExtent.isWhole {
      films.append(files.path("three.\(container)"))
      let three = try await Command.sheaf(
        "render", edit, "-o", films[2], "--store", files.path("store"), "--segment-duration", "0.28", "--workers", "3"
      ).run()
      try #require(three.status == 0, "\(three.errors)")
    }
    for film in films.dropFirst() { #expect(FileManager.default.contentsEqual(atPath: films[0], andPath: film)) }
  }

  @Test func `the pictures of an animated PNG are those of the lossless film`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let edit = try files.write(Self.document("{}"), to: "edit.json")
    let lossless = try files.write(
      Self.document(#"{ "codec": "ffv1", "pixelFormat": "yuv444p" }"#), to: "lossless.json")
    try await render(edit, files.path("film.apng"))
    try await render(lossless, files.path("film.mkv"))
    let (found, expected) = (try pixels(files.path("film.apng")), try pixels(files.path("film.mkv")))
    #expect(found.count == Self.width * Self.height * 3 * Self.frames && expected.count == found.count)
    #expect(greatestDifference(found, expected) <= 1)
    let times = try Tool.ffprobe("-show_entries", "packet=pts_time", files.path("film.apng")).compactMap {
      $0.first.flatMap(Double.init)
    }
    #expect(times.count == Self.frames && zip(times, times.dropFirst()).allSatisfy { abs($1 - $0 - 0.04) < 1e-9 })
  }

  @Test(arguments: ["diffused", "ordered", "none"].spread(2))
  func `the pictures of a GIF are near those of the lossless film`(_ dither: String) async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let edit = try files.write(Self.document(#"{ "dither": "\#(dither)", "plays": 3 }"#), to: "edit.json")
    let lossless = try files.write(
      Self.document(#"{ "codec": "ffv1", "pixelFormat": "yuv444p" }"#), to: "lossless.json")
    try await render(edit, files.path("film.gif"), segment: "0.5")
    try await render(lossless, files.path("film.mkv"))
    let (found, expected) = (try pixels(files.path("film.gif")), try pixels(files.path("film.mkv")))
    #expect(found.count == expected.count && found.count == Self.width * Self.height * 3 * Self.frames)
    #expect(signalToNoise(found, expected) > 28)
    // Each frame has at most 256 colours.
    let size = Self.width * Self.height * 3
    for frame in [0, 11, 24] {
      let bytes = Array(found[frame * size..<(frame + 1) * size])
      let colours = Set(stride(from: 0, to: size, by: 3).map { [bytes[$0], bytes[$0 + 1], bytes[$0 + 2]] })
      #expect(colours.count <= 256)
    }
    let file = try Data(contentsOf: URL(fileURLWithPath: files.path("film.gif")))
    // Repeated twice is played three times.
    let extensionOfLoops = Data("NETSCAPE2.0".utf8) + [3, 1, 2, 0, 0]
    #expect(file.range(of: extensionOfLoops) != nil)
  }

  @Test func `frames of a GIF begin at the nearest hundredth`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let edit = try files.write(Self.document(#"{ "plays": 1 }"#, rate: "1001/30000", audio: "true"), to: "edit.json")
    let errors = try await render(edit, files.path("film.gif"), segment: "0.5")
    #expect(errors.contains("is shown to the nearest 1/100 s in gif"))
    #expect(errors.contains("gif has no sound"))
    let packets = try Tool.ffprobe("-show_entries", "packet=pts,duration", files.path("film.gif")).compactMap { row in
      row.count >= 2 ? (Int(row[0]), Int(row[1])) : nil
    }
    let expected = (0..<30).map { Int((Double($0) * 100 * 1001 / 30000).rounded()) }
    #expect(packets.map(\.0) == expected)
    // The last one lasts to the nearest hundredth of the film's end.
    #expect(packets.last?.1 == Int((30 * 100 * 1001 / 30000.0).rounded()) - expected[29])
    let file = try Data(contentsOf: URL(fileURLWithPath: files.path("film.gif")))
    #expect(file.range(of: Data("NETSCAPE2.0".utf8)) == nil)
  }

  /// What a WebP file with several pictures has: how often it is played, and of each picture its milliseconds and a
  /// file of its own. libavformat reads still pictures alone.
  private func pictures(ofWebP file: Data) throws -> (plays: Int, pictures: [(milliseconds: Int, file: Data)]) {
    func number(_ place: Int, _ count: Int) -> Int { (0..<count).reduce(0) { $0 | Int(file[place + $1]) << (8 * $1) } }
    try #require(file.prefix(4) == Data("RIFF".utf8) && number(4, 4) == file.count - 8)
    var (place, plays, pictures) = (12, -1, [(milliseconds: Int, file: Data)]())
    while place < file.count {
      let (name, length) = (file[place..<place + 4], number(place + 4, 4))
      if name == Data("ANIM".utf8) { plays = number(place + 12, 2) }
      if name == Data("ANMF".utf8) {
        let image = file[place + 24..<place + 8 + length]
        let size = withUnsafeBytes(of: UInt32(image.count + 4).littleEndian) { Data($0) }
        pictures.append((number(place + 20, 3), Data("RIFF".utf8) + size + Data("WEBP".utf8) + image))
      }
      place += 8 + length + length % 2
    }
    return (plays, pictures)
  }

  @Test func `the pictures of an animated WebP are those of the lossless film`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    let edit = try files.write(Self.document(#"{ "quality": 100, "plays": 2 }"#, rate: "1/30"), to: "edit.json")
    let lossy = try files.write(Self.document(#"{ "quality": 80 }"#, rate: "1/30"), to: "lossy.json")
    let lossless = try files.write(
      Self.document(#"{ "codec": "ffv1", "pixelFormat": "yuv444p" }"#, rate: "1/30"), to: "lossless.json")
    try await render(edit, files.path("film.webp"), segment: "0.5")
    try await render(lossy, files.path("lossy.webp"), segment: "0.5")
    try await render(lossless, files.path("film.mkv"))
    let expected = try pixels(files.path("film.mkv"))
    let size = Self.width * Self.height * 3
    for (name, least) in [("film.webp", 45.0), ("lossy.webp", 25)] {
      let (plays, pictures) = try pictures(ofWebP: Data(contentsOf: URL(fileURLWithPath: files.path(name))))
      #expect(plays == (name == "film.webp" ? 2 : 0) && pictures.count == 30)
      let ends = pictures.reduce(into: [0]) { $0.append(($0.last ?? 0) + $1.milliseconds) }
      #expect(ends == (0...30).map { Int((Double($0) * 1000 / 30).rounded()) })
      for index in [0, 13, 14, 16, 29] {
        let path = files.path("\(name)-\(index).webp")
        try pictures[index].file.write(to: URL(fileURLWithPath: path))
        let found = try pixels(path)
        let frame = expected[index * size..<(index + 1) * size]
        #expect(found.count == size && signalToNoise(found, Data(frame)) > least, "picture \(index) of \(name)")
      }
    }
  }

  @Test func `one frame is a still picture of the format`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    try await Self.source(files.path("source.mkv"))
    for container in ["gif", "apng", "webp"] {
      let text = Self.document("{}").replacing(
        #""clips": [ { "asset": "a" } ]"#, with: #""clips": [ { "asset": "a", "use": "0..1f" } ]"#)
      let edit = try files.write(text, to: "edit.json")
      let film = files.path("film.\(container)")
      try await render(edit, film)
      #expect(try pixels(film).count == Self.width * Self.height * 3)
    }
  }
}
