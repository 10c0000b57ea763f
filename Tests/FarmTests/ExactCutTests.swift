import Foundation
import TestPrograms
import Testing

/// *Cuts are exact*: `ffmpeg` decoding the sources is the oracle for every frame and every sample of the film.
@Suite(.ownThreads) struct ExactCutTests {
  private struct Piece {
    var asset: String
    var file: String
    /// Seconds of the asset's timeline, as fractions.
    var use: (start: (Int64, Int64), end: (Int64, Int64))
    /// The part of the output that shows the source, if the source is smaller.
    var crop: String?
    /// Frames a second, if the file's rate is constant and its container rounds the times.
    var rate: (Int64, Int64)?
  }

  private static let pieces = [
    Piece(asset: "bottles", file: "bottle-detection.mp4", use: ((5, 1), (7, 1))),
    Piece(asset: "mpeg2", file: "flower-mpeg2.mpg", use: ((7, 10), (17, 10))),
    Piece(
      asset: "phone", file: "../../Examples/media/stream-of-water.webm", use: ((1, 4), (6, 4)), crop: "480:360:80:0",
      rate: (30000, 1001)),
    Piece(asset: "hevc", file: "flower-hevc.mp4", use: ((31, 30), (61, 30))),
    Piece(asset: "bottles", file: "bottle-detection.mp4", use: ((1, 3), (5, 6))),
    Piece(asset: "vfr", file: "friday-vfr.mp4", use: ((2, 7), (9, 7)), crop: "320:240:160:60"),
  ]

  private static func document(rate: (Int64, Int64), pieces: [Piece], sound: Bool) -> String {
    let assets = Set(pieces.map { "\"\($0.asset)\": \"\(Place.media($0.file))\"" }).sorted().joined(separator: ", ")
    let clips = pieces.map {
      "{ \"asset\": \"\($0.asset)\", \"use\": \"\($0.use.start.0)/\($0.use.start.1)..\($0.use.end.0)/\($0.use.end.1)\", \"fit\": \"none\" }"
    }.joined(separator: ", ")
    return """
      { "sheaf": 1, "assets": { \(assets) },
        "tracks": [ { "id": "A", "type": "video", "sound": \(sound), "clips": [ \(clips) ] } ],
        "videoComposition": { "renderSize": [640, 360], "frameDuration": "\(rate.1)/\(rate.0)" },
        "export": { "video": { "codec": "ffv1", "pixelFormat": "yuv420p" }, "audio": false } }
      """
  }

  /// Each file is decoded once for all tests.
  private static let sources = Task {
    var sources: [String: FrameHashes] = [:]
    for file in Set(pieces.map(\.file)) {
      sources[file] = try await FrameHashes.video(Place.media(file), pixelFormat: "yuv420p")
    }
    return sources
  }

  private static let rates: [(Int64, Int64)] = TestExtent.of(
    [(30000, 1001), (50, 1)], whole: [(30, 1), (30000, 1001), (24, 1), (50, 1)])

  @Test(arguments: rates)
  func `each frame of a cuts-only film is the frame that ffmpeg decodes there, bit for bit`(rate: (Int64, Int64))
    async throws
  {
    let files = try Workspace()
    defer { files.remove() }
    let edit = try files.write(Self.document(rate: rate, pieces: Self.pieces, sound: false), to: "edit.json")
    let film = files.path("film.mkv")
    let render = try await TestFilm.render(edit, film)
    try #require(render.status == 0, "\(render.errors)")

    let sources = try await Self.sources.value
    var shown: [String?: FrameHashes] = [:]
    for crop in Set(Self.pieces.map(\.crop)) {
      shown[crop] = try await FrameHashes.video(film, filter: crop.map { "crop=\($0)" })
    }
    let whole = try #require(shown[nil])
    // The film's length is 2 + 1 + 1.25 + 1 + 0.5 + 1 s; ceil(duration / frameDuration) frames.
    #expect(whole.frames.count == Int((27 * rate.0 + 4 * rate.1 - 1) / (4 * rate.1)))
    var start = (Int64(0), Int64(1))
    for piece in Self.pieces {
      let (source, film) = (try #require(sources[piece.file]), try #require(shown[piece.crop]))
      let length = (
        piece.use.end.0 * piece.use.start.1 - piece.use.start.0 * piece.use.end.1, piece.use.end.1 * piece.use.start.1
      )
      let end = (start.0 * length.1 + length.0 * start.1, start.1 * length.1)
      for (index, frame) in film.frames.enumerated() {
        let time = (Int64(index) * rate.1, rate.0)
        guard start.0 * time.1 <= time.0 * start.1, time.0 * end.1 < end.0 * time.1 else { continue }
        let elapsed = (time.0 * start.1 - start.0 * time.1, time.1 * start.1)
        let sourceTime = (
          piece.use.start.0 * elapsed.1 + elapsed.0 * piece.use.start.1, piece.use.start.1 * elapsed.1
        )
        let expected = piece.rate.map { source.shown(at: sourceTime, rate: $0) } ?? source.shown(at: sourceTime)
        #expect(frame.hash == expected?.hash, "frame \(index), \(piece.file) at \(sourceTime)")
      }
      start = end
    }
  }

  @Test
  func `sound of the output's own rate and layout comes through sample for sample`() async throws {
    let files = try Workspace()
    defer { files.remove() }
    // friday.mp4 is AAC at 44.1 kHz, stereo; edit points fall between samples.
    let file = Place.media("friday.mp4")
    let clips = [(7, 30, 67, 30), (91, 30, 100, 30), (1, 30, 20, 30), (100, 30, 171, 30)]
    let uses = clips.map { "{ \"asset\": \"a\", \"use\": \"\($0)/\($1)..\($2)/\($3)\" }" }.joined(separator: ", ")
    let edit = try files.write(
      """
      { "sheaf": 1, "assets": { "a": "\(file)" },
        "tracks": [ { "id": "A", "type": "video", "sound": true, "clips": [ \(uses) ] } ],
        "export": { "video": { "codec": "ffv1" }, "audio": { "codec": "pcm", "sampleRate": 44100, "channels": 2 } } }
      """, to: "edit.json")
    let film = files.path("film.mkv")
    let render = try await TestFilm.render(edit, film)
    try #require(render.status == 0, "\(render.errors)")

    func samples(_ path: String) async throws -> [UInt32] {
      let raw = files.path("raw")
      _ = try await Command.output("ffmpeg", "-v", "error", "-y", "-i", path, "-map", "0:a:0", "-f", "s16le", raw)
      let data = try Data(contentsOf: URL(fileURLWithPath: raw))
      return data.withUnsafeBytes { Array($0.bindMemory(to: UInt32.self)) }
    }
    let (source, mixed) = (try await samples(file), try await samples(film))
    var expected: [UInt32] = []
    var end = 0.0
    for (a, b, c, d) in clips {
      // 44100 / 30 = 1470 samples a frame, so every edit point is a whole sample.
      let (from, to) = (a * 44100 / b, c * 44100 / d)
      expected += source[from..<to]
      end += Double(to - from)
    }
    #expect(mixed.count == Int(end))
    #expect(mixed == expected)
  }
}
