import CompositionModel
import Foundation
import Media
import TestPrograms
import Testing

@Suite struct MuxingTests {
  struct Film: Sendable, CustomTestStringConvertible {
    var container: Container
    var video: VideoSettings
    var audio: AudioSettings
    var frameDuration = MediaTime(value: 1001, timescale: 30000)
    var indexFirst = true

    var testDescription: String {
      "\(container.rawValue) \(video.codec.rawValue) \(audio.codec.rawValue) \(frameDuration) \(indexFirst)"
    }
  }

  static let aac = AudioSettings(codec: .aac, bitRate: 128_000, sampleRate: 44100, channels: 2)
  static let flac = AudioSettings(codec: .flac, bitRate: nil, sampleRate: 48000, channels: 2)
  static let pcm = AudioSettings(codec: .pcm, bitRate: nil, sampleRate: 48000, channels: 2)
  static let films = [
    Film(container: .mp4, video: Encoding.h264(), audio: aac),
    Film(container: .mp4, video: Encoding.h264(), audio: flac, frameDuration: MediaTime(value: 1, timescale: 25)),
    Film(container: .mov, video: Encoding.h264(), audio: aac, indexFirst: false),
    Film(container: .mov, video: Encoding.h264(pixelFormat: .yuv422p10), audio: pcm),
    Film(container: .mkv, video: Encoding.ffv1(), audio: flac),
    Film(container: .mkv, video: Encoding.h264(), audio: aac, frameDuration: MediaTime(value: 1, timescale: 50)),
  ]

  private let scratch: TemporaryFolder
  private let size = PixelSize(width: 96, height: 64)
  private let frameCount = 75

  init() throws {
    scratch = try TemporaryFolder()
  }

  private func sampleCount(_ film: Film) throws -> Int {
    let seconds = try film.frameDuration * Rational(frameCount)
    return Int(try (seconds.exact * Rational(film.audio.sampleRate)).rounded)
  }

  /// Writes the film. Returns its path, and the pixels and samples that were encoded.
  private func write(
    _ film: Film, _ name: String, metadata: [String: String] = ["title": "A day at Maroubra"]
  ) throws -> (path: String, pixels: Data, samples: Data) {
    let pixels = try Encoding.pictures(
      film.video, size: size, frameDuration: film.frameDuration, seeds: 0..<frameCount, to: scratch.create("v"))
    let count = try sampleCount(film)
    let samples = try Encoding.sound(film.audio, sampleCount: count, to: scratch.create("a"))
    let (video, videoPackets) = try Encoding.packets(scratch.path("v"))
    let (audio, audioPackets) = try Encoding.packets(scratch.path("a"))
    let output = try scratch.create(name)
    let seconds = try film.frameDuration * Rational(frameCount)
    let muxer = try FileMuxer(
      descriptor: output.fileDescriptor, name: name, container: film.container,
      tracks: [
        FileMuxer.Track(header: video, packetCount: videoPackets.count, duration: seconds),
        FileMuxer.Track(header: audio, packetCount: audioPackets.count, duration: seconds),
      ], indexFirst: film.indexFirst, metadata: metadata)
    var sound = audioPackets[...]
    for packet in videoPackets {
      while let next = sound.first,
        next.pts * Int64(film.frameDuration.timescale)
          < packet.dts * film.frameDuration.value * Int64(film.audio.sampleRate)
      {
        try write(sound.removeFirst(), of: count, to: muxer)
      }
      try muxer.write(packet, track: 0)
    }
    while !sound.isEmpty { try write(sound.removeFirst(), of: count, to: muxer) }
    try muxer.finish()
    return (scratch.path(name), pixels, samples)
  }

  private func write(_ packet: Packet, of sampleCount: Int, to muxer: FileMuxer) throws {
    packet.dts = packet.pts
    packet.duration = min(packet.duration, Int64(sampleCount) - packet.pts)
    try muxer.write(packet, track: 1)
  }

  @Test(arguments: films) func `video and audio start at zero and have their length`(film: Film) throws {
    let path = try write(film, "film").path
    let streams = try Tool.ffprobe("-show_entries", "stream=codec_type,start_time", path)
    for stream in streams { #expect(Double(stream[1]) == 0, "\(stream)") }
    let times = try Tool.ffprobe("-select_streams", "v", "-show_entries", "frame=pts_time", path).map { Double($0[0])! }
    #expect(times.count == frameCount)
    let step = film.frameDuration.approximateSeconds
    let tolerance = film.container == .mkv ? 0.000_51 : 0.000_001
    for (index, time) in times.enumerated() { #expect(abs(time - Double(index) * step) <= tolerance) }
    let duration = try #require(Double(try Tool.ffprobe("-show_entries", "format=duration", path)[0][0]))
    #expect(abs(duration - Double(frameCount) * step) < (film.container == .mkv ? 0.03 : 0.000_1))
  }

  @Test(arguments: films) func `lossless video and audio are decoded exactly`(film: Film) throws {
    let (path, pixels, samples) = try write(film, "film")
    if film.video.codec == .ffv1 {
      #expect(try Tool.ffmpeg("-i", path, "-map", "0:v", "-vsync", "passthrough", "-f", "rawvideo", "-") == pixels)
    }
    let decoded = try Tool.ffmpeg("-i", path, "-map", "0:a", "-f", "s16le", "-")
    if film.audio.codec == .aac {
      // The click is at the very beginning, unless priming is presented.
      let loudest = decoded.withUnsafeBytes { bytes in
        bytes.bindMemory(to: Int16.self).prefix(4000).enumerated().max { abs(Int($0.1)) < abs(Int($1.1)) }
      }
      #expect((loudest?.offset ?? .max) < 40)
      #expect(decoded.count >= samples.count)
    } else {
      #expect(decoded == samples)
    }
  }

  @Test(arguments: films.spread(3)) func `the same film is the same bytes, its index first if requested`(film: Film)
    throws
  {
    let path = try write(film, "film").path
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(bytes == (try Data(contentsOf: URL(fileURLWithPath: try write(film, "again").path))))
    let markers: (index: [UInt8], data: [UInt8]) =
      film.container == .mkv
      ? ([0x1c, 0x53, 0xbb, 0x6b], [0x1f, 0x43, 0xb6, 0x75]) : (Array("moov".utf8), Array("mdat".utf8))
    let head = bytes.range(of: Data(markers.index), in: film.container == .mkv ? 200..<bytes.count : 0..<bytes.count)
    let data = bytes.range(of: Data(markers.data))
    let (index, start) = (try #require(head), try #require(data))
    #expect((index.lowerBound < start.lowerBound) == film.indexFirst)
  }

  @Test(arguments: [Container.mp4, .mov, .mkv]) func `metadata is kept, whatever its keys`(container: Container) throws
  {
    let film = Film(container: container, video: Encoding.h264(), audio: MuxingTests.aac)
    let path = try write(film, "film", metadata: ["title": "Ärger & Co", "scene": "12b"]).path
    let text = String(decoding: try Tool.run("ffprobe", ["-v", "quiet", "-show_format", path]).output, as: UTF8.self)
    #expect(text.contains("=Ärger & Co"))
    #expect(text.lowercased().contains("scene=12b"))
  }

  @Test func `a track that the file does not have, and a chapter beyond all times, are refused`() throws {
    let folder = try TemporaryFolder()
    let encoder = try VideoEncoder(Encoding.ffv1(), size: size, frameDuration: MediaTime(value: 1, timescale: 25))
    let track = FileMuxer.Track(header: encoder.header, packetCount: 10, duration: MediaTime(seconds: 1))
    let file = try folder.create("film")
    func muxer(_ chapters: [Chapter] = []) throws -> FileMuxer {
      try FileMuxer(
        descriptor: file.fileDescriptor, name: "film", container: .mkv, tracks: [track],
        indexFirst: false, metadata: [:], chapters: chapters)
    }
    let made = try muxer()
    let lack = #expect(throws: MediaError.self) { try made.write(EncodedCaption([1], start: 0, duration: 5), text: 0) }
    #expect(lack?.code == .invalidRequest && lack?.message == "it has no track 1")
    let chapter = Chapter(
      range: try MediaTimeRange(start: .zero, end: MediaTime(value: .max / 2, timescale: 1)), title: nil)
    let error = #expect(throws: MediaError.self) { try muxer([chapter]) }
    #expect(error?.message.hasPrefix("chapter 1 has a time that cannot be stored in microseconds") == true)
  }

  @Test func `a full disk is reported`() throws {
    let full = open("/dev/full", O_RDWR)
    defer { close(full) }
    let encoder = try VideoEncoder(
      Encoding.ffv1(), size: size, frameDuration: MediaTime(value: 1, timescale: 25))
    let track = FileMuxer.Track(header: encoder.header, packetCount: 10, duration: MediaTime(seconds: 1))
    let error = #expect(throws: MediaError.self) {
      let muxer = try FileMuxer(
        descriptor: full, name: "film", container: .mkv, tracks: [track], indexFirst: true, metadata: [:])
      for index in 0..<200 {
        let frame = try Frame(size: size, format: FrameFormat(.yuv420p))
        frame.fillWithPattern(index)
        try encoder.send(frame, pts: Int64(index))
        while let packet = try encoder.receive() { try muxer.write(packet, track: 0) }
      }
      try muxer.finish()
    }
    #expect(error?.code == .outOfSpace)
  }
}
