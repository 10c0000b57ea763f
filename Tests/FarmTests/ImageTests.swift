import Foundation
import TestPrograms
import Testing

/// `sheaf image`: the oracle is ffmpeg, on the file itself or on the film that `sheaf render` makes without loss.
@Suite(.ownThreads) struct ImageTests {
  /// As `sheaf image` converts to red, green and blue.
  private static let toRGB = "scale=in_h_chr_pos=0:flags=bicubic+accurate_rnd+bitexact+full_chroma_int"

  private struct Report: Decodable {
    struct Time: Decodable {
      var exact: String
      var seconds: Double
    }

    struct Picture: Decodable {
      var requested: Time
      var actual: Time?
      var file: String?
      var width: Int?
      var height: Int?
      var isDamaged: Bool
      var error: String?
    }

    struct Sheet: Decodable {
      var file: String?
      var width: Int?
      var height: Int?
      var cues: String?
    }

    var pictures: [Picture]
    var sheet: Sheet?
  }

  private let files: Workspace

  init() throws {
    files = try Workspace()
  }

  private func image(_ arguments: String...) async throws -> (report: Report, result: Command.Result) {
    let command = Command(
      executable: Command.sheaf().executable,
      arguments: ["image", "--json", "--store", files.path("store")] + arguments)
    let result = try await command.run()
    guard let report = try? JSONDecoder().decode(Report.self, from: Data(result.output.utf8)) else {
      throw Command.Failure(description: "\(arguments): \(result.status) \(result.output) \(result.errors)")
    }
    return (report, result)
  }

  /// The bytes of a picture, or of a frame of a film, as packed red, green and blue.
  private func pixels(_ path: String, frame: Int = 0, as filter: String = toRGB) throws -> Data {
    try Data(
      Tool.run(
        "ffmpeg",
        [
          "-v", "error", "-i", path, "-vf", "select=eq(n\\,\(frame)),\(filter)", "-frames:v", "1", "-pix_fmt", "rgb24",
          "-f", "rawvideo", "-",
        ]
      ).output)
  }

  private func greatestDifference(_ left: Data, _ right: Data) -> Int {
    guard left.count == right.count else { return .max }
    return zip(left, right).reduce(0) { (most: Int, pair) in max(most, abs(Int(pair.0) - Int(pair.1))) }
  }

  @Test func `a series has the picture that is shown at each time, and a time outside fails alone`() async throws {
    defer { files.remove() }
    let film = Place.media("bottle-detection.mp4")
    // 179/6 frames a second, in ticks of 1/179 s or finer: frame n is shown from 6n/179 s on.
    let (report, result) = try await image(film, "--at", "0,7.5,40,60f,7.55", "-o", files.path("still-%02d.png"))
    #expect(result.status == 1)
    let frames = [0, 223, nil, 60, 225]
    for (index, frame) in frames.enumerated() {
      let picture = report.pictures[index]
      guard let frame else {
        #expect(picture.file == nil && picture.actual == nil && picture.error?.contains("not within") == true)
        continue
      }
      #expect(picture.file == files.path("still-0\(index + 1).png") && picture.error == nil)
      #expect(abs((picture.actual?.seconds ?? -1) - Double(frame) * 6 / 179) < 1e-9)
      #expect(try pixels(picture.file ?? "", as: "null") == pixels(film, frame: frame))
    }
    #expect(try files.contents().filter { $0.hasSuffix(".png") }.count == 4)
  }

  @Test func `the picture at a time that a file stores is the one that is stored at it`() async throws {
    defer { files.remove() }
    // Matroska rounds 1001/30000 s to whole milliseconds, up and down.
    let film = files.path("film.mkv")
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=30000/1001", "-frames:v", "40", "-c:v", "ffv1",
      "-pix_fmt", "yuv420p", film)
    let times = try await Command.output(
      "ffprobe", "-v", "error", "-show_entries", "packet=pts_time", "-of", "csv=p=0", film
    ).split(separator: "\n").map { String($0.prefix { $0 != "," }) }
    try #require(times.count == 40)
    let (report, _) = try await image(film, "--at", times.joined(separator: ","), "-o", files.path("still-%02d.png"))
    for (index, picture) in report.pictures.enumerated() {
      #expect(picture.actual?.exact == picture.requested.exact, "frame \(index)")
      #expect(try pixels(picture.file ?? "", as: "null") == pixels(film, frame: index), "frame \(index)")
    }
  }

  @Test func `a rotated film's picture is upright, and within the size that is asked for`() async throws {
    defer { files.remove() }
    let film = Place.media("friday-rotated.mp4")
    let (report, _) = try await image(
      film, "--at", "1", "--size", "300x300", "-o", files.path("still.jpg"), "--quality", "95")
    #expect(report.pictures.first?.width == 225 && report.pictures.first?.height == 300)
    let expected = try pixels(film, frame: 30, as: "scale=225:300:flags=bicubic")
    let made = try pixels(files.path("still.jpg"), as: "null")
    try #require(made.count == expected.count)
    let total = zip(made, expected).reduce(0) { (sum: Int, pair) in sum + abs(Int(pair.0) - Int(pair.1)) }
    #expect(total < 3 * made.count)
  }

  @Test func `WebP and JPEG have the picture too, and a tolerance takes the nearest keyframe`() async throws {
    defer { files.remove() }
    let film = Place.media("flower-hevc.mp4")
    let (exact, _) = try await image(film, "--at", "1", "-o", files.path("a.webp"), "--quality", "100")
    #expect(exact.pictures.first?.actual?.exact == "29029/30000")
    let expected = try pixels(film, frame: 29)
    #expect(try pixels(files.path("a.webp"), as: "null") == expected)
    _ = try await image(film, "--at", "1", "-o", files.path("a.jpg"), "--quality", "100")
    #expect(greatestDifference(try pixels(files.path("a.jpg"), as: "null"), expected) <= 8)
    let (near, _) = try await image(film, "--at", "1,0.3,3", "--tolerance", "0.5,0.7", "-o", files.path("b%d.png"))
    // Keyframes are at 0, 1.6016 and 3.2032 s.
    #expect(near.pictures.map(\.actual?.exact) == ["1001/625", "0", "2002/625"])
  }

  /// The numbers are those that libjpeg's `cjpeg -quality` writes, in zigzag order, but for the first.
  private static let jpegTables: [(Int, [UInt8], [UInt8])] = [
    (50, [11, 12, 14, 12, 10, 16, 14], [18, 18, 24, 21, 24, 47, 26]),
    (75, [6, 6, 7, 6, 5, 8, 7], [9, 9, 12, 11, 12, 24, 13]),
    (90, [2, 2, 3, 2, 2, 3, 3], [4, 4, 5, 4, 5, 9, 5]), (100, [1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1]),
  ]

  @Test(arguments: jpegTables.spread(2))
  func `the quality of JPEG is what other encoders mean by it`(quality: Int, luma: [UInt8], chroma: [UInt8])
    async throws
  {
    defer { files.remove() }
    let path = files.path("a.jpg")
    _ = try await image(Place.media("friday.mp4"), "--at", "1", "-o", path, "--quality", "\(quality)")
    let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
    // Tables of 64 numbers of 8 bits, each behind its own number.
    var tables: [UInt8: [UInt8]] = [:]
    var place = 2
    while place + 4 < bytes.count, bytes[place] == 0xFF, bytes[place + 1] != 0xDA {
      let length = Int(bytes[place + 2]) << 8 | Int(bytes[place + 3])
      if bytes[place + 1] == 0xDB {
        var table = place + 4
        while table + 65 <= place + 2 + length {
          tables[bytes[table] & 15] = Array(bytes[(table + 1)..<(table + 65)])
          table += 65
        }
      }
      place += 2 + length
    }
    #expect(tables[0]?[1..<8].elementsEqual(luma) == true, "\(tables)")
    // Equal tables are one.
    #expect((tables[1] ?? tables[0])?[1..<8].elementsEqual(chroma) == true, "\(tables)")
  }

  @Test(arguments: [("zz", "0"), ("1", "zz")])
  func `a request that is refused is one problem, and leaves no folder`(times: String, tolerance: String) async throws {
    defer { files.remove() }
    let folder = files.path("pictures")
    let result = try await Command.sheaf(
      "image", Place.media("friday.mp4"), "--at", times, "--tolerance", tolerance, "-o", folder + "/", "--store",
      files.path("store")
    ).run()
    #expect(result.status == 64)
    #expect(result.errors.components(separatedBy: "is no time").count == 2, "\(result.errors)")
    #expect(!FileManager.default.fileExists(atPath: folder))
  }

  @Test func `a picture of a document is the film's frame`() async throws {
    defer { files.remove() }
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(Place.media("bottle-detection.mp4"))", "b": "\(Place.media("friday.mp4"))" },
        "tracks": [ { "id": "A", "type": "video", "sound": false, "clips": [
          { "asset": "a", "use": "5..7" }, { "asset": "b", "use": "1..3", "transition": 0.5 } ] } ],
        "videoComposition": { "renderSize": [320, 240], "frameDuration": "1/25",
          "overlays": [ { "text": "still", "over": "1..3", "size": 40, "anchor": "center" } ] },
        "export": { "video": { "codec": "ffv1", "pixelFormat": "yuv420p" }, "audio": false } }
      """, to: "edit.json")
    let film = files.path("film.mkv")
    let render = try await TestFilm.render(edit, film)
    try #require(render.status == 0, "\(render.errors)")
    let (report, result) = try await image(edit, "--at", "0.5,1.7,3.4,9", "-o", files.path("still%d.png"))
    #expect(result.status == 1 && report.pictures[3].file == nil)
    for (index, frame) in [12, 42, 85].enumerated() {
      #expect(abs((report.pictures[index].actual?.seconds ?? -1) - Double(frame) / 25) < 1e-9)
      let made = try pixels(files.path("still\(index + 1).png"), as: "null")
      #expect(made == (try pixels(film, frame: frame)), "frame \(frame)")
    }
    // Whatever part of it is exported.
    let text = try String(contentsOfFile: edit, encoding: .utf8)
    let part = try files.write(
      text.replacingOccurrences(of: #""audio": false"#, with: #""audio": false, "timeRange": "0.5..1""#),
      to: "part.json")
    let (ofPart, _) = try await image(part, "--at", "3.4", "-o", files.path("part.png"))
    #expect(ofPart.pictures.map(\.actual?.seconds) == [3.4])
    #expect(try pixels(files.path("part.png"), as: "null") == pixels(film, frame: 85))
    // A document with problems is reported as `check` does.
    let broken = try files.write(
      "{ \"sheaf\": 1, \"assets\": { \"a\": \"none.mov\" }, \"tracks\": 5 }", to: "broken.json")
    let refused = try await Command.sheaf(
      "image", broken, "--at", "0", "-o", files.path("x.png"), "--store", files.path("store")
    ).run()
    #expect(refused.status == 65 && refused.errors.contains("/tracks") && refused.errors.contains("/assets/a"))
  }

  /// The oracle is the definition of the chroma of JPEG, at the places of its samples in JFIF: the middle of their
  /// pixels. Decoders of JPEG take it to be there in every size, but libswscale does not.
  @Test(arguments: [(255, 129), (256, 129), (255, 128), (256, 128)].spread(2))
  func `the chroma of a JPEG is where its pixels are`(width: Int, height: Int) async throws {
    defer { files.remove() }
    let (picture, still) = (files.path("gradient.png"), files.path("still.jpg"))
    _ = try await Command.output(
      "ffmpeg", "-v", "error", "-f", "lavfi", "-i",
      "nullsrc=s=\(width)x\(height),format=rgb24,geq=r=X:g=0:b=255-X", "-frames:v", "1", picture)
    _ = try await image(picture, "--at", "0", "--quality", "90", "-o", still)
    func plane(_ name: String) throws -> Data {
      try Data(
        Tool.run(
          "ffmpeg",
          ["-v", "error", "-i", still, "-vf", "extractplanes=\(name)", "-pix_fmt", "gray", "-f", "rawvideo", "-"]
        ).output)
    }
    let (blue, red) = (try plane("u"), try plane("v"))
    let isHalf = blue.count < width * height
    let columns = isHalf ? (width + 1) / 2 : width
    try #require(blue.count == red.count && blue.count == columns * (isHalf ? (height + 1) / 2 : height))
    var (sum, count) = (0.0, 0.0)
    for place in blue.indices {
      let x = Double(place % columns) * (isHalf ? 2 : 1) + (isHalf ? 0.5 : 0)
      guard (160..<240).contains(x) else { continue }
      // Cb - Cr.
      let expected = (-0.168736 - 0.5) * x + (0.5 + 0.081312) * (255 - x)
      sum += Double(Int(blue[place]) - Int(red[place])) - expected
      count += 1
    }
    // From column to column the difference falls by 1.25. What the quantiser changes is less than half of it.
    #expect(abs(sum / count / 1.250048) < 0.4, "\(sum / count / 1.250048) pixels to the right")
  }

  @Test(arguments: [["--at", "0,1,2"], ["--count", "3"], ["--every", "1"]])
  func `no picture is written where one of them cannot be`(times: [String]) async throws {
    defer { files.remove() }
    try FileManager.default.createDirectory(atPath: files.path("still-3.png"), withIntermediateDirectories: false)
    let result = try await Command(
      executable: Command.sheaf().executable,
      arguments: ["image", Place.media("flower-hevc.mp4"), "--store", files.path("store")] + times
        + ["-o", files.path("still-%d.png")]
    ).run()
    #expect(result.status == 65 && result.errors.contains("still-3.png exists and is not a regular file"))
    #expect(try files.contents().filter { $0.contains(".png") } == ["still-3.png"])
  }

  @Test func `a contact sheet has its pictures in rows`() async throws {
    defer { files.remove() }
    let film = Place.media("bottle-detection.mp4")
    let sheet = files.path("sheet.png")
    let (report, _) = try await image(film, "--sheet", "3x2", "--size", "160x160", "-o", sheet)
    #expect(report.pictures.count == 6 && report.pictures.allSatisfy { $0.actual != nil && $0.file == nil })
    #expect(report.sheet?.width == 3 * 164 + 4 && report.sheet?.height == 2 * 94 + 4)
    // The middle of the fifth of six parts: 4.5/6 of 7134/179 s.
    let made = try pixels(sheet, as: "crop=160:90:168:98")
    let expected = try pixels(film, frame: 891, as: "\(Self.toRGB):w=160:h=90")
    #expect(made == expected)
    let labelled = files.path("labelled.png")
    _ = try await image(film, "--sheet", "3x2", "--size", "160x160", "--times", "-o", labelled)
    #expect(try pixels(labelled, as: "crop=160:80:168:98") == pixels(sheet, as: "crop=160:80:168:98"))
    #expect(try pixels(labelled, as: "crop=160:9:168:179") != pixels(sheet, as: "crop=160:9:168:179"))
  }

  /// The cues of a WebVTT file as ffmpeg reads them: when each starts and ends, in milliseconds, and its text.
  private func cues(_ path: String) throws -> [String] {
    let subrip = String(
      decoding: try Tool.run("ffmpeg", ["-v", "error", "-i", path, "-f", "srt", "-"]).output, as: UTF8.self)
    return subrip.split(separator: "\n\n").map { $0.split(separator: "\n").dropFirst().joined(separator: " ") }
  }

  @Test func `a contact sheet has cues for the time line of a player`() async throws {
    defer { files.remove() }
    let film = files.path("film.mkv")
    // Each second has a colour of its own.
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "color=size=64x48:rate=25:duration=7,format=rgb24,geq=r='30*floor(T)':g=100:b=0", "-c:v",
      "ffv1", "-pix_fmt", "bgr0", film)
    let sheet = files.path("a sheet.png")
    let (report, _) = try await image(film, "--sheet", "3x2", "--gap", "0", "--vtt", "-o", sheet)
    #expect(report.sheet?.width == 3 * 64 && report.sheet?.height == 2 * 48)
    #expect(report.sheet?.cues == files.path("a sheet.vtt"))
    // Six equal parts of 7 s, to the nearest millisecond.
    #expect(
      try cues(files.path("a sheet.vtt")) == [
        "00:00:00,000 --> 00:00:01,167 a%20sheet.png#xywh=0,0,64,48",
        "00:00:01,167 --> 00:00:02,333 a%20sheet.png#xywh=64,0,64,48",
        "00:00:02,333 --> 00:00:03,500 a%20sheet.png#xywh=128,0,64,48",
        "00:00:03,500 --> 00:00:04,667 a%20sheet.png#xywh=0,48,64,48",
        "00:00:04,667 --> 00:00:05,833 a%20sheet.png#xywh=64,48,64,48",
        "00:00:05,833 --> 00:00:07,000 a%20sheet.png#xywh=128,48,64,48",
      ])
    // The rectangle of a cue has the picture of its time.
    let (made, due) = (try pixels(sheet, as: "crop=64:48:64:48"), try pixels(film, frame: 131, as: Self.toRGB))
    let next = try pixels(sheet, as: "crop=64:48:128:48")
    #expect(made == due && made != next)

    let spaced = files.path("spaced.png")
    let (other, _) = try await image(
      film, "--every", "2", "--sheet", "3x2", "--gap", "10", "--vtt", "-o", spaced)
    #expect(other.sheet?.width == 3 * 74 + 10 && other.sheet?.height == 2 * 58 + 10)
    #expect(
      try cues(files.path("spaced.vtt")) == [
        "00:00:00,000 --> 00:00:02,000 spaced.png#xywh=10,10,64,48",
        "00:00:02,000 --> 00:00:04,000 spaced.png#xywh=84,10,64,48",
        "00:00:04,000 --> 00:00:06,000 spaced.png#xywh=158,10,64,48",
        "00:00:06,000 --> 00:00:07,000 spaced.png#xywh=10,68,64,48",
      ])
    #expect(try pixels(spaced, as: "crop=64:48:84:10") == pixels(film, frame: 50, as: Self.toRGB))
    // Times in any order; one outside the film has no cue.
    _ = try await image(film, "--at", "5,1/2,90", "--sheet", "3x1", "--vtt", "-o", spaced)
    #expect(
      try cues(files.path("spaced.vtt")) == [
        "00:00:00,000 --> 00:00:05,000 spaced.png#xywh=72,4,64,48",
        "00:00:05,000 --> 00:00:07,000 spaced.png#xywh=4,4,64,48",
      ])
  }

  @Test func `each picture of a damaged frame is damaged`() async throws {
    defer { files.remove() }
    let movie = files.path("movie.mp4")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=2,noise=alls=8:allf=t", "-pix_fmt", "yuv420p",
      "-c:v", "libx264", "-preset", "veryfast", "-g", "25", "-bf", "0", movie)
    var data = try Data(contentsOf: URL(fileURLWithPath: movie))
    let packets = try Tool.ffprobe("-select_streams", "v:0", "-show_entries", "packet=size,pos", movie)
      .compactMap { fields in fields.count == 2 ? (size: Int(fields[0])!, position: Int(fields[1])!) : nil }
    let packet = packets[10]
    for place in stride(from: packet.size / 3, to: packet.size - 1, by: 7) { data[packet.position + place] ^= 0x55 }
    try data.write(to: URL(fileURLWithPath: movie))
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "movie.mp4" }, "tracks": [ { "clips": [ { "asset": "a" } ] } ],
        "videoComposition": { "frameDuration": "1/50" } }
      """, to: "edit.json")
    // Two frames of the film show one of the file.
    let (report, result) = try await image(edit, "--at", "19f,20f,21f,60f", "-o", files.path("%d.png"))
    #expect(report.pictures.map(\.isDamaged) == [false, true, true, false], "\(result.errors)")
  }

  @Test(arguments: [("movie.mp4", "libx264"), ("movie.avi", "mpeg4")])
  func `a picture in place of one that cannot be decoded is damaged`(name: String, codec: String) async throws {
    defer { files.remove() }
    let movie = files.path(name)
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25:duration=2", "-pix_fmt", "yuv420p", "-c:v", codec, "-g", "25",
      "-bf", "0", movie)
    var data = try Data(contentsOf: URL(fileURLWithPath: movie))
    let packet = try Tool.ffprobe("-select_streams", "v:0", "-show_entries", "packet=size,pos", movie)[10]
    let (size, position) = (try #require(Int(packet[0])), try #require(Int(packet[1])))
    data.resetBytes(in: position..<position + size)
    try data.write(to: URL(fileURLWithPath: movie))
    let decoded = try Tool.ffmpeg("-i", movie, "-fps_mode", "passthrough", "-f", "framemd5", "-")
    #expect(String(decoding: decoded, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }.count == 49)
    let (report, result) = try await image(movie, "--at", "0.36,0.4,0.43,0.5", "-o", files.path("%d.png"))
    #expect(report.pictures.map(\.isDamaged) == [false, true, true, false], "\(result.errors)")
  }

  private static let wrongRequests: [([String], String, Int32, String)] = [
    (["--at", "x"], "x.png", 64, "is no time"), (["--at", "1,2"], "x.png", 64, "several pictures need several names"),
    (["--sheet", "0x3"], "x.png", 64, "is no contact sheet"), (["--every", "0"], "%d.png", 64, "must be above zero"),
    (["--at", "1", "--quality", "50"], "x.png", 64, "PNG has no quality"),
    (["--at", "1", "--every", "2"], "x.png", 64, "give one of"),
    (["--every", "1/4000"], "%d.png", 65, "there must be 1 to 10000"), ([], "x.png", 64, "which pictures"),
    (["--at", "1", "--quality", "101"], "x.jpg", 64, "101"),
    (["--every", "1", "--sheet", "2x2"], "x.png", 65, "pictures do not fit a contact sheet of 2x2"),
    (["--count", "5", "--sheet", "2x2"], "x.png", 65, "5 pictures do not fit a contact sheet of 2x2"),
    (["--at", "0,1,2,3,4", "--sheet", "2x2"], "x.png", 65, "5 pictures do not fit a contact sheet of 2x2"),
    (["--at", "1", "--format", "png"], "x.jpg", 64, "selects jpeg, and --format png"),
    (["--at", "1", "--gap", "3"], "x.png", 64, "--gap is for a contact sheet"),
    (["--at", "1", "--vtt"], "x.png", 64, "--vtt is for a contact sheet"),
    (["--sheet", "2x2", "--gap", "257"], "x.png", 64, "257"),
    (["--at", "1", "--size", "0x5"], "new/", 64, "is no size"), (["--at", "1"], "x.gif", 64, "selects no format"),
  ]

  @Test(arguments: wrongRequests.spread(6))
  func `a wrong request is refused`(options: [String], name: String, status: Int32, message: String) async throws {
    defer { files.remove() }
    let film = files.path("film.mkv")
    _ = try Tool.ffmpeg(
      "-f", "lavfi", "-i", "color=size=64x48:rate=25:duration=5", "-pix_fmt", "yuv420p", "-c:v", "ffv1", film)
    let result = try await Command(
      executable: Command.sheaf().executable,
      arguments: ["image", film, "-o", "\(files.url.path)/\(name)", "--store", files.path("store")] + options
    ).run()
    #expect(result.status == status, "\(result.errors)")
    #expect(result.errors.contains(message), "\(result.errors)")
    #expect(try files.contents().filter { $0 != "store" } == ["film.mkv"])
  }
}
