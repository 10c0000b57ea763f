import CompositionModel
import Foundation
import Media
import PieceFiles
import TestMedia
import TestPrograms
import Testing

/// Pieces as fragments of a movie, as `ffmpeg` reads them.
@Suite struct MovieFragmentTests {
  private let scratch: TemporaryFolder
  private let size = PixelSize(width: 96, height: 64)

  init() throws {
    scratch = try TemporaryFolder()
  }

  private func index(_ path: String) throws -> (index: PieceIndex, bytes: [UInt8]) {
    let bytes = try Array(Data(contentsOf: URL(fileURLWithPath: path)))
    return (try Self.index(bytes), bytes)
  }

  private static func index(_ bytes: [UInt8]) throws -> PieceIndex {
    try PieceIndex(size: Int64(bytes.count)) { Array(bytes[Int($0)..<(Int($0) + $1)]) }
  }

  private func fragment(
    _ number: Int, _ piece: (index: PieceIndex, bytes: [UInt8]), _ packets: Range<Int>, _ head: MovieHead, origin: Int64
  ) throws -> [UInt8] {
    let fragment = try MovieFragment(of: piece.index, packets: packets, head: head, origin: origin)
    let data = fragment.data
    return try fragment.bytes(
      number: UInt32(number + 1), from: Array(piece.bytes[Int(data.lowerBound)..<Int(data.upperBound)]))
  }

  private func frames(_ path: String) throws -> [[String]] {
    try Tool.ffprobe("-show_entries", "frame=pts_time,key_frame", path)
  }

  private static let codecs: [VideoSettings] = [
    Encoding.h264(preset: "medium", interval: 100), Encoding.h264(preset: "ultrafast", interval: 100),
    Encoding.h264(.quality(20), pixelFormat: .yuv444p, interval: 100),
    // Without lookahead a short piece is decoded as it is presented.
    Encoding.h264(preset: "superfast", interval: 100),
    VideoSettings(
      codec: .hevc, rateControl: .quality(28), preset: "veryfast", profile: nil, keyframeInterval: 100,
      pixelFormat: .yuv420p, colour: Encoding.colour),
    VideoSettings(
      codec: .hevc, rateControl: .quality(28), preset: "ultrafast", profile: nil, keyframeInterval: 100,
      pixelFormat: .yuv420p10, colour: Encoding.colour),
  ]

  @Test(arguments: codecs.indices)
  func `pieces one after the other are the pictures of the same packets in a file`(number: Int) throws {
    let settings = Self.codecs[number]
    let frameDuration = MediaTime(value: 1001, timescale: 30000)
    // The second piece is too short for pictures out of order, whatever the encoder does in the others.
    let counts = [17, 1, 12]
    var (movie, origin, whole): ([UInt8], Int64, [(PieceHeader, [Packet])]) = ([], 0, [])
    var head: MovieHead?
    var segments: [[UInt8]] = []
    for (piece, count) in counts.enumerated() {
      let path = scratch.path("piece-\(piece)")
      try Encoding.pictures(
        settings, size: size, frameDuration: frameDuration, seeds: Int(origin)..<(Int(origin) + count),
        to: scratch.create("piece-\(piece)"))
      let found = try index(path)
      let own = try #require(MovieHead(found.index.header))
      if let head { #expect(head.plays(own)) } else { movie = own.bytes }
      head = head ?? own
      segments.append(
        try fragment(piece, found, found.index.packets.indices, try #require(head), origin: origin))
      movie += segments[piece]
      origin += Int64(count)
      whole.append(try Encoding.packets(path))
    }
    let path = scratch.path("movie.mp4")
    try Data(movie).write(to: URL(fileURLWithPath: path))
    // The oracle has the packets as libavformat stores them.
    let stored = scratch.path("stored.mp4")
    let depth = whole.map { packets in -(packets.1.first?.dts ?? 0) }.max() ?? 0
    let output = try scratch.create("stored.mp4")
    let muxer = try FileMuxer(
      descriptor: output.fileDescriptor, name: "stored.mp4", container: .mp4,
      tracks: [
        FileMuxer.Track(
          header: whole[0].0, packetCount: 30, duration: try frameDuration * Rational(30))
      ], indexFirst: false, metadata: [:])
    var first: Int64 = 0
    for ((_, packets), count) in zip(whole, counts) {
      for (place, packet) in packets.enumerated() {
        packet.pts += first
        packet.dts = first + Int64(place) - depth
        try muxer.write(packet, track: 0)
      }
      first += Int64(count)
    }
    try muxer.finish()
    try output.close()
    func hashes(_ path: String) throws -> String {
      String(
        decoding: try Tool.run("ffmpeg", ["-v", "error", "-i", path, "-f", "framemd5", "-"]).output, as: UTF8.self)
    }
    func pictures(_ path: String) throws -> [Substring?] {
      try hashes(path).split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.split(separator: ",").last }
    }
    let (expected, shown) = (try pictures(stored), try pictures(path))
    #expect(expected.count == 30 && shown == expected)
    // Each at its place in the film.
    #expect(try frames(path).map { $0[1] } == (0..<30).map { String(format: "%.6f", Double($0) * 1001 / 30000) })
    // They are decoded one after the other, at even times, also where a piece is too short to reorder pictures.
    let decoded = try Tool.ffprobe("-show_entries", "packet=dts_time", path).compactMap { Double($0[0]) }
    #expect(decoded.count == 30)
    #expect(zip(decoded, decoded.dropFirst()).allSatisfy { abs($1 - $0 - 1001.0 / 30000) < 1e-5 }, "\(decoded)")
    // The name of the codec is that of the file which libavformat wrote.
    let fragmented = try FragmentedMovie(MemorySource(movie), name: "movie")
    #expect(fragmented.codec == head?.codec && fragmented.fragments.map(\.start) == [0, 17 * 1001, 18 * 1001])
    // A segment can be played by itself with the head.
    let alone = scratch.path("alone.mp4")
    try Data((head?.bytes ?? []) + segments[2]).write(to: URL(fileURLWithPath: alone))
    #expect(try frames(alone).count == 12)
  }

  @Test(arguments: [(44100, 1), (48000, 2), (48000, 6)])
  func `sound in fragments is the sound of the same packets in a file`(rate: Int, channels: Int) throws {
    let settings = AudioSettings(codec: .aac, bitRate: 64000 * channels, sampleRate: rate, channels: channels)
    try Encoding.sound(settings, sampleCount: 3 * rate, to: scratch.create("piece"))
    let piece = try index(scratch.path("piece"))
    let head = try #require(MovieHead(piece.index.header))
    #expect(head.codec == "mp4a.40.2" && head.timescale == Int64(rate))
    let count = piece.index.packets.count
    var movie = head.bytes
    for (number, packets) in [0..<40, 40..<41, 41..<count].enumerated() {
      movie += try fragment(number, piece, packets, head, origin: 0)
    }
    let path = scratch.path("movie.mp4")
    try Data(movie).write(to: URL(fileURLWithPath: path))
    let (header, packets) = try Encoding.packets(scratch.path("piece"))
    let output = try scratch.create("stored.m4a")
    let muxer = try FileMuxer(
      descriptor: output.fileDescriptor, name: "stored.m4a", container: .m4a,
      tracks: [FileMuxer.Track(header: header, packetCount: packets.count, duration: MediaTime(seconds: 3))],
      indexFirst: false, metadata: [:])
    for packet in packets { try muxer.write(packet, track: 0) }
    try muxer.finish()
    try output.close()
    func samples(_ path: String) throws -> String {
      String(
        decoding: try Tool.run("ffmpeg", ["-v", "error", "-i", path, "-c", "copy", "-f", "md5", "-"]).output,
        as: UTF8.self)
    }
    #expect(try samples(path) == samples(scratch.path("stored.m4a")))
    let streams = try Tool.ffprobe("-show_entries", "stream=sample_rate,channels", path)
    #expect(streams == [["\(rate)", "\(channels)"]])
  }

  @Test func `codecs that players do not take have no head`() throws {
    try Encoding.pictures(
      Encoding.ffv1(), size: size, frameDuration: MediaTime(value: 1, timescale: 25), seeds: 0..<2,
      to: scratch.create("ffv1"))
    #expect(MovieHead(try index(scratch.path("ffv1")).index.header) == nil)
    let flac = AudioSettings(codec: .flac, bitRate: nil, sampleRate: 48000, channels: 2)
    try Encoding.sound(flac, sampleCount: 9000, to: scratch.create("flac"))
    #expect(MovieHead(try index(scratch.path("flac")).index.header) == nil)
  }

  @Test func `a piece that is damaged gives an error or another packet, never a crash`() throws {
    try Encoding.pictures(
      Encoding.h264(), size: size, frameDuration: MediaTime(value: 1, timescale: 25), seeds: 0..<12,
      to: scratch.create("piece"))
    let (found, bytes) = try index(scratch.path("piece"))
    #expect(found.packets.count == 12)
    for length in stride(from: 0, to: bytes.count, by: 97) {
      #expect(throws: PieceIndex.Fault.self) { try Self.index(Array(bytes.prefix(length))) }
    }
    #expect(throws: PieceIndex.Fault.self) { try Self.index(bytes + [0]) }
    var random = SeededRandom(seed: 7)
    for _ in 0..<400 {
      var damaged = bytes
      damaged[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      do {
        let index = try Self.index(damaged)
        guard let head = MovieHead(index.header), !index.packets.isEmpty else { continue }
        _ = try fragment(0, (index, damaged), index.packets.indices, head, origin: 0)
      } catch is PieceIndex.Fault {
        continue
      }
    }
  }

  @Test func `times that no packet has are an error`() throws {
    let settings = AudioSettings(codec: .aac, bitRate: 64000, sampleRate: 48000, channels: 1)
    try Encoding.sound(settings, sampleCount: 9000, to: scratch.create("piece"))
    let (found, bytes) = try index(scratch.path("piece"))
    // Before the data of a packet are its pts, its dts, its duration, its flags and its size.
    for (packet, field) in [(0, 0), (0, 8), (1, 0), (1, 8), (3, 8)] {
      for time in [Int64.min, .max, 1 << 62, -(1 << 62)] {
        var damaged = bytes
        let place = Int(found.packets[packet].data.lowerBound) - 32 + field
        damaged.replaceSubrange(place..<place + 8, with: (0..<8).map { UInt8(truncatingIfNeeded: time >> (8 * $0)) })
        let index = try Self.index(damaged)
        #expect(field == 0 ? index.packets[packet].pts == time : index.packets[packet].dts == time)
        let head = try #require(MovieHead(index.header))
        #expect(throws: PieceIndex.Fault.self, "\(packet), \(field), \(time)") {
          try fragment(0, (index, damaged), index.packets.indices, head, origin: 0)
        }
      }
    }
  }
}
