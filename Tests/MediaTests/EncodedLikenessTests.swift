import CompositionModel
import Foundation
import Media
import PieceFiles
import TestMedia
import TestPrograms
import Testing

/// How like its frames an encoder's pictures are, as ffmpeg's filter `ssim` has it.
@Suite struct EncodedLikenessTests {
  private let folder: TemporaryFolder
  private let size = PixelSize(width: 130, height: 74)

  init() throws {
    folder = try TemporaryFolder()
  }

  /// What is measured, the packets one after the other, and the frames.
  private func encode(
    _ settings: VideoSettings, frames: Int = 20
  ) throws -> (likeness: Double, packets: Data, frames: Data) {
    let encoder = try VideoEncoder(
      settings, size: size, frameDuration: MediaTime(value: 1, timescale: 25))
    let likeness = try encoder.likeness(.ssim)
    var (packets, pixels) = (Data(encoder.header.extradata), Data())
    func take() throws {
      while let packet = try encoder.receive() {
        try likeness.receive(packet)
        packets.append(contentsOf: packet.withBytes { [UInt8]($0) })
      }
    }
    for index in 0..<frames {
      let frame = try Frame(size: size, format: FrameFormat(settings.pixelFormat), colour: settings.colour)
      frame.fillWithPattern(index / 3)
      pixels.append(frame.pixels)
      try likeness.expect(frame, pts: Int64(index))
      try encoder.send(frame, pts: Int64(index))
      try take()
    }
    encoder.finish()
    try take()
    return (try likeness.finish(), packets, pixels)
  }

  private static let settings: [VideoSettings] = {
    var full = Encoding.h264(.quality(35), preset: "medium", interval: 60)
    full.colour.isFullRange = true
    var deep = Encoding.h264(.quality(30), pixelFormat: .yuv422p10, interval: 60)
    deep.colour.isFullRange = false
    let hevc = VideoSettings(
      codec: .hevc, rateControl: .quality(34), preset: "fast", profile: nil, keyframeInterval: 60,
      pixelFormat: .yuv444p, colour: Encoding.colour)
    return [Encoding.h264(.quality(28), preset: "slow", interval: 60), full, deep, hevc]
  }()

  @Test(arguments: settings.indices)
  func `it is what ffmpeg says of the same packets and frames`(number: Int) throws {
    let settings = Self.settings[number]
    let found = try encode(settings)
    let name = settings.codec == .hevc ? "hevc" : "h264"
    let (stream, raw) = (folder.path("packets"), folder.path("frames"))
    try found.packets.write(to: URL(fileURLWithPath: stream))
    try found.frames.write(to: URL(fileURLWithPath: raw))
    let stats = folder.path("stats")
    let format = FrameFormat(settings.pixelFormat).name
    // Formats that name the full range are compared as those that do not.
    try Tool.ffmpeg(
      "-f", name, "-i", stream, "-f", "rawvideo", "-s", "130x74", "-pix_fmt", format, "-i", raw, "-lavfi",
      "[0:v]scale=in_range=tv:out_range=tv,format=\(format),settb=1/25,setpts=N[a];[1:v]settb=1/25,setpts=N[b];"
        + "[a][b]ssim=stats_file=\(stats)", "-f", "null", "-")
    let values = try String(contentsOfFile: stats, encoding: .utf8).split(separator: "\n").compactMap { line in
      line.split(separator: " ").first { $0.hasPrefix("All:") }.flatMap { Double($0.dropFirst(4)) }
    }
    try #require(values.count == 20)
    let mean = values.reduce(0, +) / 20
    #expect(abs(mean - found.likeness) < 2e-6 && mean < 0.999, "\(mean) and \(found.likeness)")
  }

  @Test(arguments: [VideoCodec.vp9, .av1])
  func `what is lost rises with the quality of other codecs too`(codec: VideoCodec) throws {
    let values = try [20.0, 45, 60].map { quality in
      try encode(
        VideoSettings(
          codec: codec, rateControl: .quality(quality), preset: codec == .vp9 ? "5" : "12", profile: nil,
          keyframeInterval: 60, pixelFormat: .yuv420p, colour: Encoding.colour)
      ).likeness
    }
    #expect(values[0] > values[1] && values[1] > values[2] && values[2] > 0.3, "\(values)")
  }
}
