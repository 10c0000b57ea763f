import CompositionModel
import Foundation
import Media
import RenderTasks
import TestMedia
import TestPrograms
import Testing

@testable import Stitcher

/// ffprobe's output for a file.
struct Probe: Decodable {
  struct Packet: Decodable {
    var streamIndex: Int
    var pts: Int64?
    var dts: Int64?
    var duration: Int64?
    var flags: String?
  }
  struct Stream: Decodable {
    var index: Int
    var codecType: String
    var timeBase: String
    /// WAV has none.
    var startPts: Int64?
    var durationTs: Int64?

    /// Ticks a second of the stream's clock.
    var ticks: Double {
      let parts = timeBase.split(separator: "/").compactMap { Double($0) }
      return parts[1] / parts[0]
    }
  }
  struct Format: Decodable {
    var duration: String?
    var tags: [String: String]?
  }

  private var packets: [Packet]
  private var streams: [Stream]
  var format: Format

  init(_ path: String) throws {
    let json = try Tool.run(
      "ffprobe", ["-v", "error", "-show_packets", "-show_streams", "-show_format", "-of", "json", path]
    ).output
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    self = try decoder.decode(Probe.self, from: json)
  }

  /// The first stream of a type, "video" or "audio".
  func stream(_ type: String) throws -> Stream { try #require(streams.first { $0.codecType == type }) }

  func packets(of stream: Stream) -> [Packet] { packets.filter { $0.streamIndex == stream.index } }
}

extension Container {
  fileprivate var isQuickTime: Bool { [.mp4, .mov, .m4v, .m4a].contains(self) }
}

@Suite struct StitchedFilmTests {
  /// One hash a frame, over all of a file's decoded pictures.
  private func frameHashes(_ path: String) throws -> [String] {
    let text = try Tool.run(
      "ffmpeg", ["-v", "error", "-i", path, "-map", "0:v", "-f", "framemd5", "-fps_mode", "passthrough", "-"]
    ).output
    return String(decoding: text, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }.map {
      String($0.split(separator: ",").last ?? "").trimmingCharacters(in: .whitespaces)
    }
  }

  /// The decoded sound, and what ffmpeg reports while it decodes all of the file.
  private func sound(_ path: String) throws -> (samples: Data, log: String) {
    let result = try Tool.run(
      "ffmpeg",
      ["-v", "warning", "-i", path, "-map", "0:a?", "-f", "s16le", "-", "-map", "0:v?", "-f", "null", "/dev/null"])
    return (result.output, result.log)
  }

  private func checkFile(_ path: String, _ film: Film, _ task: StitchedFile) throws {
    let probe = try Probe(path)
    if task.video != nil { try checkPictures(probe, film, task) }
    let log: String
    if task.audio != nil {
      log = try checkAudioLength(path, probe, film, task.container)
      if task.container.isQuickTime {
        let sound = try probe.stream("audio")
        #expect(sound.startPts == 0)
        #expect(sound.durationTs == film.sampleCount)
      }
    } else {
      log = try Tool.run("ffmpeg", ["-v", "warning", "-i", path, "-f", "null", "-"]).log
    }
    // PCM in Matroska has no field for a layout; ffmpeg reports that it takes two channels for stereo.
    let complaints = log.split(separator: "\n").filter { !$0.hasPrefix("Guessed Channel Layout") }
    #expect(complaints.isEmpty, "\(log)")
    // WAV and MP3 have names of their own for it, and FLAC's and Ogg's are the stream's.
    guard task.metadata["title"] != nil, task.video != nil, task.container != .mxf else { return }
    let tags = probe.format.tags ?? [:]
    #expect(tags["title"] == "A day at Maroubra" || tags["TITLE"] == "A day at Maroubra")
    #expect(!tags.keys.contains("creation_time"))
  }

  private func checkPictures(_ probe: Probe, _ film: Film, _ task: StitchedFile) throws {
    let pictures = try probe.stream("video")
    let packets = probe.packets(of: pictures)
    let frame = Double(Film.frameDuration.value) * pictures.ticks / Double(Film.frameDuration.timescale)
    #expect(packets.count == film.frameCount)
    #expect(pictures.startPts == 0)
    for (index, pts) in packets.compactMap(\.pts).sorted().enumerated() {
      // Matroska counts milliseconds; the others have the frame duration itself.
      #expect(pts == Int64((Double(index) * frame).rounded()))
    }
    let decoding = packets.compactMap(\.dts)
    #expect(zip(decoding, decoding.dropFirst()).allSatisfy { $0 < $1 })
    #expect(packets.allSatisfy { ($0.dts ?? .min) <= ($0.pts ?? .max) })
    #expect(packets.allSatisfy { ($0.duration ?? 0) > 0 })
    if task.container.isQuickTime {
      #expect(decoding.count == packets.count)
      #expect(packets.allSatisfy { Double($0.duration ?? 0) == frame })
      #expect(Double(pictures.durationTs ?? 0) == frame * Double(film.frameCount))
    }
    var joins = Set<Int>()
    var first = 0
    for count in film.frameCounts {
      joins.insert(Int((Double(first) * frame).rounded()))
      first += count
    }
    let keyframes = Set(packets.filter { $0.flags?.hasPrefix("K") == true }.compactMap(\.pts).map(Int.init))
    #expect(joins.isSubset(of: keyframes))
  }

  /// Returns what ffmpeg reports. It decodes the whole of the last packet of an MP4, whatever its stored duration;
  /// other players do not.
  @discardableResult
  private func checkAudioLength(_ path: String, _ probe: Probe, _ film: Film, _ container: Container) throws -> String {
    let (samples, log) = try sound(path)
    let decoded = Int64(samples.count / 4)
    let stream = try probe.stream("audio")
    if let codec = film.audio?.codec, codec.definition.bitDepths.isEmpty, container.isQuickTime {
      #expect((film.sampleCount..<film.sampleCount + 1152).contains(decoded), "\(decoded) of \(film.sampleCount)")
      #expect(stream.durationTs == film.sampleCount)
    } else {
      // MXF has whole frames of sound: the last one is filled with silence.
      let frame = container == .mxf ? Int64(1602) : 0
      #expect((film.sampleCount...film.sampleCount + frame).contains(decoded), "\(decoded) of \(film.sampleCount)")
      // ffprobe counts what a decoder discards: of Opus 312 samples at 48 kHz before zero, in milliseconds, and of MP3
      // files 1105 samples after zero, in its ticks of 1/320 sample.
      let start = stream.startPts ?? 0
      switch (container, film.audio?.codec) {
      case (.mkv, .opus), (.webm, .opus): #expect(start == -7)
      case (.ogg, .opus): #expect(start == 0 || start == -312)
      case (.mp3, _): #expect(start == 1105 * 320)
      default: #expect(start == 0)
      }
    }
    return log
  }

  @Test func `every piece that is opened and every packet that is written moves`() throws {
    let film = try Film([20, 20, 20], audio: nil)
    let file = try film.folder.create("film.mp4")
    let liveness = Liveness()
    try OutputStitcher.stitch(
      film.task(), pieces: film.pieces().map(openSource), to: file.fileDescriptor, liveness: liveness
    ) { _ in }
    #expect(liveness.count >= 63)
  }

  /// A container with what is in it.
  struct Cell: Sendable, CustomTestStringConvertible {
    var container: Container
    var video: VideoCodec?
    var audio: AudioCodec

    var testDescription: String { "\(container): \(video.map { "\($0)" } ?? "no video"), \(audio)" }

    /// Every codec in each container that can store it, but for playlists, whose files have one track each.
    static let all = Container.allCases.filter { !$0.isPlaylist }.flatMap { container in
      let (videos, audios) = (container.videoCodecs, container.audioCodecs)
      return audios.map { Cell(container: container, video: videos.first, audio: $0) }
        + videos.dropFirst().map { Cell(container: container, video: $0, audio: audios[0]) }
    }
  }

  @Test(arguments: Cell.all.spread(16)) func `every timestamp and sample is in its place`(_ cell: Cell) throws {
    let film =
      try cell.video.map {
        try Film([20, 1, 2, 13, 9], codec: $0, audio: cell.audio, sampleRate: cell.container == .mxf ? 48000 : nil)
      }
      ?? Film([], audio: cell.audio, seconds: 3.3)
    let task = film.task(cell.container, metadata: ["title": "A day at Maroubra"])
    let path = try film.stitch(task, film.pieces())
    try checkFile(path, film, task)
  }

  @Test func `pictures are those of the pieces`() throws {
    let film = try Film([40, 1, 33], audio: nil)
    let pieces = try film.pieces()
    let whole = try frameHashes(film.stitch(film.task(), pieces))
    var apart: [String] = []
    for (index, count) in film.frameCounts.enumerated() {
      var task = film.task()
      task.video?.frameCounts = [count]
      apart += try frameHashes(film.stitch(task, [pieces[index]]))
    }
    #expect(whole == apart)
    #expect(whole.count == 74)
  }

  @Test func `lossless pictures are the source itself, whatever the cut`() throws {
    let hashes = try [[30], [7, 7, 7, 7, 2], Array(repeating: 1, count: 30)].map { counts in
      let film = try Film(counts, codec: .ffv1, audio: .pcm)
      let path = try film.stitch(film.task(.mkv), film.pieces())
      try checkFile(path, film, film.task(.mkv))
      return try frameHashes(path)
    }
    #expect(hashes[0].count == 30)
    #expect(hashes.allSatisfy { $0 == hashes[0] })
  }

  @Test func `the same pieces give the same bytes`() throws {
    let film = try Film([20, 20])
    let pieces = try film.pieces()
    for container in Container.allCases
    where container.videoCodecs.contains(.h264) && container.audioCodecs.contains(.aac) {
      let outputs = try (0..<2).map { _ in
        try Data(contentsOf: URL(fileURLWithPath: film.stitch(film.task(container), pieces)))
      }
      #expect(outputs[0] == outputs[1])
    }
  }

  @Test func `the index comes first where requested`() throws {
    let film = try Film([30, 30])
    let pieces = try film.pieces()
    for container in [Container.mp4, .mov] {
      for first in [true, false] {
        let bytes = try Data(
          contentsOf: URL(fileURLWithPath: film.stitch(film.task(container, indexFirst: first), pieces)))
        let atoms = topLevelAtoms(bytes)
        let (index, data) = try (#require(atoms.firstIndex(of: "moov")), #require(atoms.firstIndex(of: "mdat")))
        #expect((index < data) == first, "\(container) has \(atoms)")
      }
    }
  }

  private func topLevelAtoms(_ bytes: Data) -> [String] {
    var (atoms, offset) = ([String](), 0)
    while offset + 16 <= bytes.count {
      var size = bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
      atoms.append(String(decoding: bytes[offset + 4..<offset + 8], as: UTF8.self))
      if size == 1 { size = bytes[offset + 8..<offset + 16].reduce(0) { $0 << 8 | Int($1) } }
      guard size >= 8 else { break }
      offset += size
    }
    return atoms
  }

  @Test func `seeking lands on the frame`() throws {
    let film = try Film([48, 31, 40])
    let path = try film.stitch(film.task(), film.pieces())
    let all = try frameHashes(path)
    for frame in [0, 1, 47, 48, 49, 78, 79, 100, 118] {
      // A quarter of a frame early, as a player seeks that must not miss the frame.
      let seconds = max(0, (Double(frame) - 0.25) * Film.frameDuration.approximateSeconds)
      let text = try Tool.run(
        "ffmpeg",
        [
          "-v", "error", "-ss", String(format: "%.6f", seconds), "-i", path, "-map", "0:v", "-frames:v", "1", "-f",
          "framemd5", "-fps_mode", "passthrough", "-",
        ]
      ).output
      let line = String(decoding: text, as: UTF8.self).split(separator: "\n").last ?? ""
      #expect(line.hasSuffix(all[frame]), "frame \(frame)")
    }
  }

  @Test func `video or audio alone makes a file`() throws {
    let silent = try Film([25], audio: nil)
    #expect(try frameHashes(silent.stitch(silent.task(), silent.pieces())).count == 25)
    let heard = try Film([], audio: .aac, seconds: 1.5)
    let path = try heard.stitch(heard.task(.mp4), heard.pieces())
    try checkAudioLength(path, Probe(path), heard, .mp4)
  }

  @Test func `priming is hidden so that audio starts at zero`() throws {
    let film = try Film([60])
    let heard = try sound(film.stitch(film.task(), film.pieces())).samples.withUnsafeBytes { bytes in
      (0..<40_000).map { Double(bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Int16.self)) / 32768 }
    }
    // An offset of one sample would be an error of 0.025.
    for index in stride(from: 2000, to: 40_000, by: 50) {
      #expect(abs(heard[index] - 0.4 * sin(2 * .pi * 440 * Double(index) / 44100)) < 0.012)
    }
  }

  @Test func `audio may be shorter than the video and very short`() throws {
    for seconds in [0.0001, 0.01, 0.5] {
      let film = try Film([30], seconds: seconds)
      let path = try film.stitch(film.task(), film.pieces())
      try checkAudioLength(path, Probe(path), film, .mp4)
    }
  }

  @Test func `progress rises to the file's size`() throws {
    let film = try Film([30])
    var reported: [Int64] = []
    let path = try film.stitch(film.task(), film.pieces()) { reported.append($0) }
    #expect(reported == reported.sorted())
    #expect(reported.last == Int64(try Data(contentsOf: URL(fileURLWithPath: path)).count))
  }
}
