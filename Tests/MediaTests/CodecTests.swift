import CompositionModel
import Foundation
import Glibc
import Media
import PieceFiles
import TestMedia
import TestPrograms
import Testing

/// Every codec of the tables, with real encoders and containers.
@Suite struct CodecTests {
  struct Picture: Sendable, CustomTestStringConvertible {
    var settings: VideoSettings
    var testDescription: String { "\(settings.codec) \(settings.pixelFormat)" }

    /// Every codec in each of its pixel formats; where the tests are short in the first.
    static let all = VideoCodec.allCases.flatMap { codec in
      let definition = codec.definition
      return definition.pixelFormats.spread(1).map { format in
        Picture(
          settings: VideoSettings(
            codec: codec, rateControl: definition.rateControl(quality: nil, bitRate: nil),
            preset: definition.defaultPreset, profile: nil, keyframeInterval: 5, pixelFormat: format,
            colour: Encoding.colour))
      }
    }
  }

  struct Sound: Sendable, CustomTestStringConvertible {
    var settings: AudioSettings
    var testDescription: String {
      "\(settings.codec) \(settings.bitDepth) bits \(settings.channels) channels \(settings.sampleRate) Hz"
    }

    /// Every codec in each of its bit depths and channel counts, at its lowest and its highest sample rate; where the
    /// tests are short in some.
    static let all = AudioCodec.allCases.flatMap { codec in
      let definition = codec.definition
      return (definition.bitDepths.isEmpty ? [16] : definition.bitDepths).spread(1).flatMap { bitDepth in
        definition.channelCounts.spread(2).flatMap { channels in
          [definition.sampleRates.first!, definition.sampleRates.last!].map { rate in
            Sound(
              settings: AudioSettings(
                codec: codec, bitRate: definition.defaultBitRate(sampleRate: rate, channels: channels),
                sampleRate: rate, channels: channels, bitDepth: bitDepth))
          }
        }
      }
    }
  }

  private let scratch: TemporaryFolder
  private let size = PixelSize(width: 96, height: 64)
  private let frameDuration = MediaTime(value: 1, timescale: 25)
  private let frameCount = 8
  private let sampleCount = 10_001

  init() throws {
    scratch = try TemporaryFolder()
  }

  private func encode(_ settings: VideoSettings) throws -> (header: PieceHeader, packets: [Packet]) {
    let name = UUID().uuidString
    try Encoding.pictures(
      settings, size: size, frameDuration: frameDuration, seeds: 0..<frameCount, to: scratch.create(name))
    return try Encoding.packets(scratch.path(name))
  }

  private func encode(_ settings: AudioSettings) throws -> (header: PieceHeader, packets: [Packet]) {
    let name = UUID().uuidString
    try Encoding.sound(settings, sampleCount: sampleCount, to: scratch.create(name))
    return try Encoding.packets(scratch.path(name))
  }

  /// Writes one track to a file. Returns its path.
  private func write(_ header: PieceHeader, _ packets: [Packet], seconds: MediaTime, in container: Container) throws
    -> String
  {
    let name = "\(UUID().uuidString).\(container)"
    let output = try scratch.create(name)
    let muxer = try FileMuxer(
      descriptor: output.fileDescriptor, name: name, container: container,
      tracks: [FileMuxer.Track(header: header, packetCount: packets.count, duration: seconds)], indexFirst: true,
      metadata: [:])
    for packet in packets {
      if case .audio = header.media { packet.dts = packet.pts }
      try muxer.write(packet, track: 0)
    }
    try muxer.finish()
    try output.close()
    return scratch.path(name)
  }

  /// Values of the file's only stream, in ffprobe's order, after the codec's name and the profile, which are checked,
  /// and a value of each of its frames. It may state no profile, but not another one than the header does. One that
  /// neither the header nor the parameter sets state would come from a tag that the muxer chose blindly.
  private func stream(_ entries: String, frame: String? = nil, _ path: String, _ header: PieceHeader) throws
    -> (values: [String], frames: [String])
  {
    let shown = "stream=codec_name,profile,\(entries)" + (frame.map { ":frame=\($0)" } ?? "")
    // `-bitexact` makes the profile a number.
    let lines = try Tool.run("ffprobe", ["-v", "quiet", "-of", "csv", "-bitexact", "-show_entries", shown, path]).output
    let rows = String(decoding: lines, as: UTF8.self).split(separator: "\n").map { line in
      line.split(separator: ",", omittingEmptySubsequences: false).map { String($0) }
    }
    let found = try #require(rows.first { $0[0] == "stream" }).dropFirst()
    #expect(found[1] == header.codec)
    if header.profile >= 0 {
      #expect([String(header.profile), "unknown"].contains(found[2]))
    } else if header.extradata.isEmpty {
      #expect(found[2] == "unknown")
    }
    return (Array(found.dropFirst(2)), rows.filter { $0[0] == "frame" }.map { $0[1] })
  }

  @Test(arguments: Picture.all) func `every pixel format is encoded as the header states`(picture: Picture) throws {
    let settings = picture.settings
    let (header, packets) = try encode(settings)
    guard case .video(let video) = header.media else {
      Issue.record("the header is of audio")
      return
    }
    #expect(header.codec == settings.codec.definition.name && header.timebase == frameDuration)
    #expect(video.size == size && video.colour == settings.colour)
    #expect(video.pixelFormat == FrameFormat(settings.pixelFormat).name)
    #expect(packets.map(\.pts).sorted() == (0..<Int64(frameCount)).map { $0 })
    #expect(packets.first?.isKeyframe == true)
    #expect(packets.map(\.dts) == (0..<Int64(frameCount)).map { $0 - Int64(video.reorderDepth) })
    #expect(packets.allSatisfy { $0.dts <= $0.pts })
  }

  @Test(
    arguments: [(14, 64), (16, 16), (16, 4216), (30, 4216), (30, 4218), (4224, 16), (4218, 32), (32, 8192)].map {
      (VideoCodec.hevc, $0, $1)
    } + [(62, 64), (64, 62), (64, 8704), (64, 8706), (16384, 64)].map { (.av1, $0, $1) })
  func `frames that an encoder refuses are a problem of the document, and no others`(
    codec: VideoCodec, width: Int, height: Int
  ) throws {
    let settings = try #require(Picture.all.first { $0.settings.codec == codec }).settings
    let narrow = PixelSize(width: width, height: height)
    func encode() throws {
      try Encoding.pictures(
        settings, size: narrow, frameDuration: frameDuration, seeds: 0..<1,
        to: scratch.create("\(width)x\(height)"))
    }
    if settings.codec.definition.problem(with: narrow, settings.pixelFormat) == nil {
      try encode()
    } else {
      #expect(throws: (any Error).self) { try encode() }
    }
  }

  @Test func `an encoder takes no real-time priority, as root neither`() throws {
    let picture = try #require(Picture.all.first { $0.settings.codec == .av1 })
    var policies: Set<Int32> = []
    let file = try scratch.create("film")
    try Pieces.writeVideo(
      picture.settings, size: size, frameDuration: frameDuration, frameCount: frameCount, to: file
    ) { index in
      for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") {
        // Fails where the thread has ended.
        policies.insert(sched_getscheduler(try #require(pid_t(thread))))
      }
      let frame = try Frame(size: size, format: FrameFormat(picture.settings.pixelFormat), colour: Encoding.colour)
      frame.fillWithPattern(index)
      return frame
    }
    #expect(policies.contains(SCHED_OTHER) && policies.isSubset(of: [SCHED_OTHER, -1]))
  }

  @Test(arguments: Sound.all) func `every kind of sample is encoded as the header states`(sound: Sound) throws {
    let settings = sound.settings
    let (header, packets) = try encode(settings)
    guard case .audio(let audio) = header.media else {
      Issue.record("the header is of video")
      return
    }
    #expect(header.codec == settings.codecName)
    #expect(header.timebase == MediaTime(value: 1, timescale: Int32(settings.sampleRate)))
    #expect(audio.sampleRate == settings.sampleRate && audio.channels == settings.channels && !audio.layout.isEmpty)
    #expect(audio.bitDepth == (settings.codec.definition.bitDepths.isEmpty ? 0 : settings.bitDepth))
    #expect(packets.first?.pts == -Int64(audio.initialPadding))
    for (packet, next) in zip(packets, packets.dropFirst()) { #expect(packet.pts + packet.duration == next.pts) }
    #expect(try #require(packets.last.map { $0.pts + $0.duration }) >= sampleCount)
  }

  @Test(arguments: Picture.all) func `every container of a video codec has it and all its frames`(picture: Picture)
    throws
  {
    let seconds = try frameDuration * Rational(frameCount)
    // libavformat does not read animated WebP: `AnimatedImageTests` does.
    for container in picture.settings.codec.definition.containers where container != .webp {
      let (header, packets) = try encode(picture.settings)
      let path = try write(header, packets, seconds: seconds, in: container)
      let format =
        switch picture.settings.codec {
        // ffmpeg decodes ProRes 4444 to 12 bits, whatever was encoded.
        case .prores4444: "yuv444p12le"
        case .gif: "bgra"
        case .apng: "rgb24"
        default: FrameFormat(picture.settings.pixelFormat).name
        }
      let (values, frames) = try stream("width,height,pix_fmt", frame: "pts_time", path, header)
      #expect(values == ["96", "64", format])
      #expect(frames.count == frameCount)
    }
  }

  @Test(arguments: Sound.all) func `every container of an audio codec has it and all its samples`(sound: Sound) throws {
    let settings = sound.settings
    let name = UUID().uuidString
    let samples = try Encoding.sound(settings, sampleCount: sampleCount, to: scratch.create(name))
    let seconds = MediaTime(value: Int64(sampleCount), timescale: Int32(settings.sampleRate))
    // MXF has sound beside pictures alone: `StitchedFilmTests` has it.
    for container in settings.codec.definition.containers where container != .mxf {
      let (header, packets) = try Encoding.packets(scratch.path(name))
      let path = try write(header, packets, seconds: seconds, in: container)
      let (values, _) = try stream("sample_rate,channels", path, header)
      #expect(values == ["\(settings.sampleRate)", "\(settings.channels)"])
      let decoded = try Tool.ffmpeg("-i", path, "-f", "s16le", "-")
      if settings.codec.definition.bitDepths.isEmpty {
        #expect(decoded.count >= samples.count)
      } else {
        #expect(decoded == samples)
      }
    }
  }
}
