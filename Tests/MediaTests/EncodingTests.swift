import CompositionModel
import Foundation
import Media
import PieceFiles
import TestPrograms
import Testing

@Suite struct EncodingTests {
  private let scratch: TemporaryFolder
  private let size = PixelSize(width: 96, height: 64)
  private let frameDuration = MediaTime(value: 1, timescale: 25)

  init() throws {
    scratch = try TemporaryFolder()
  }

  private func encode(_ settings: VideoSettings, _ seeds: Range<Int>, _ name: String) throws -> Data {
    try Encoding.pictures(
      settings, size: size, frameDuration: frameDuration, seeds: seeds, to: scratch.create(name))
    return try Data(contentsOf: URL(fileURLWithPath: scratch.path(name)))
  }

  @Test(arguments: [
    Encoding.h264(), Encoding.h264(.averageBitRate(400_000), preset: "medium", profile: "high"),
    Encoding.h264(pixelFormat: .yuv422p10), Encoding.ffv1(.yuv420p10),
  ])
  func `the same frames give the same bytes`(settings: VideoSettings) throws {
    #expect(try encode(settings, 0..<30, "a") == encode(settings, 0..<30, "b"))
  }

  /// The reference is x264 in plain C. x264's AVX-512 code used to differ at widths that are not a multiple of 16.
  @Test(arguments: ["ultrafast", "veryfast", "medium"], [PixelFormat.yuv420p, .yuv444p10])
  func `bytes do not depend on the processor`(preset: String, pixelFormat: PixelFormat) throws {
    let size = PixelSize(width: 322, height: 182)
    let pixels = try Encoding.pictures(
      Encoding.h264(preset: preset, pixelFormat: pixelFormat), size: size, frameDuration: frameDuration, seeds: 0..<40,
      to: scratch.create("piece"))
    // Presets that look ahead do so past the end, where two frames like the last one follow a keyframe, and have the
    // first keyframe as good as the others.
    let looksAhead = preset != "ultrafast"
    let last = looksAhead ? pixels.suffix(pixels.count / 40) : Data()
    try (pixels + last + last).write(to: URL(fileURLWithPath: scratch.path("raw")))
    let more = looksAhead ? ":zones=0,0,b=1.4" : ""
    let plain = try Tool.ffmpeg(
      "-f", "rawvideo", "-pix_fmt", "\(pixelFormat)", "-s", "322x182", "-r", "25", "-i", scratch.path("raw"),
      "-force_key_frames", "1.6", "-c:v", "libx264", "-preset", preset, "-crf", "23", "-g", "10", "-threads", "4",
      "-flags", "+bitexact+cgop+global_header", "-color_primaries", "bt709", "-color_trc", "bt709", "-colorspace",
      "bt709", "-color_range", "tv", "-chroma_sample_location", "left", "-x264-params",
      "asm=0:stitchable=1:open-gop=0:lookahead-threads=1:sliced-threads=0\(more)", "-f", "h264", "-")
    let ours = try Encoding.packets(scratch.path("piece")).packets.reduce(into: Data()) { data, packet in
      packet.withBytes { data.append(contentsOf: $0) }
    }
    #expect(ours.count > 10_000)
    #expect(ours == plain.prefix(ours.count))
    #expect(looksAhead ? plain.count > ours.count : plain.count == ours.count)
  }

  @Test(arguments: [
    Encoding.h264(), Encoding.h264(.averageBitRate(200_000), preset: "slow"),
    Encoding.h264(.quality(51), pixelFormat: .yuv444p), Encoding.ffv1(),
  ])
  func `parameter sets do not depend on the pictures`(settings: VideoSettings) throws {
    _ = try encode(settings, 0..<8, "a")
    _ = try encode(settings, 40..<75, "b")
    #expect(try Encoding.packets(scratch.path("a")).header == Encoding.packets(scratch.path("b")).header)
  }

  @Test func `a piece starts with a keyframe and has one at least every interval`() throws {
    _ = try encode(Encoding.h264(interval: 10), 0..<35, "a")
    let packets = try Encoding.packets(scratch.path("a")).packets
    #expect(packets.map(\.pts).sorted() == (0..<35).map { Int64($0) })
    #expect(packets.map(\.dts) == packets.map(\.dts).sorted())
    #expect(packets.allSatisfy { $0.duration == 1 && $0.dts <= $0.pts })
    let keyframes = packets.filter(\.isKeyframe).map(\.pts)
    #expect(keyframes.first == 0)
    #expect(zip(keyframes, keyframes.dropFirst()).allSatisfy { $1 - $0 <= 10 })
  }

  @Test func `every FFV1 frame is a keyframe`() throws {
    _ = try encode(Encoding.ffv1(), 0..<5, "a")
    #expect(try Encoding.packets(scratch.path("a")).packets.allSatisfy(\.isKeyframe))
  }

  @Test func `a profile that cannot hold the pixel format is refused`() throws {
    let error = #expect(throws: MediaError.self) {
      try VideoEncoder(
        Encoding.h264(profile: "baseline", pixelFormat: .yuv444p), size: size, frameDuration: frameDuration)
    }
    #expect(error?.code == .unsupported)
  }

  @Test func `an odd size in 4 to 2 to 0 is refused by x264`() throws {
    let error = #expect(throws: MediaError.self) {
      try VideoEncoder(Encoding.h264(), size: PixelSize(width: 63, height: 48), frameDuration: frameDuration)
    }
    #expect(error?.code == .unsupported)
  }

  @Test func `a frame of another format is refused`() throws {
    let encoder = try VideoEncoder(Encoding.h264(), size: size, frameDuration: frameDuration)
    let frame = try Frame(size: size, format: FrameFormat(.yuv444p))
    let error = #expect(throws: MediaError.self) { try encoder.send(frame, pts: 0) }
    #expect(error?.code == .invalidRequest)
  }

  @Test(arguments: [
    AudioSettings(codec: .aac, bitRate: 128_000, sampleRate: 48000, channels: 2),
    AudioSettings(codec: .flac, bitRate: nil, sampleRate: 44100, channels: 1, bitDepth: 24),
    AudioSettings(codec: .pcm, bitRate: nil, sampleRate: 44100, channels: 6),
  ])
  func `audio packets follow one another from the priming to the end`(settings: AudioSettings) throws {
    try Encoding.sound(settings, sampleCount: 20001, to: scratch.create("a"))
    let (header, packets) = try Encoding.packets(scratch.path("a"))
    guard case .audio(let audio) = header.media else {
      Issue.record("the header is of video")
      return
    }
    #expect(packets.first?.pts == -Int64(audio.initialPadding))
    for (packet, next) in zip(packets, packets.dropFirst()) { #expect(packet.pts + packet.duration == next.pts) }
    let end = try #require(packets.last.map { $0.pts + $0.duration })
    #expect(end >= 20001)
    if audio.frameSize > 0 {
      #expect(packets.count == (20001 + audio.initialPadding + audio.frameSize - 1) / audio.frameSize)
    }
  }
}
