import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// The mastering display and the brightness of HDR10, in and out.
@Suite struct HDRMetadataTests {
  /// BT.2020's primaries would not show an exchange of two that differ by little: these are Display P3's.
  static let metadata = HDRMetadata(
    display: MasteringDisplay(
      red: .init(x: 34000, y: 16000), green: .init(x: 13250, y: 34500), blue: .init(x: 7500, y: 3000),
      white: .init(x: 15635, y: 16450), maximumLuminance: 40_000_000, minimumLuminance: 50),
    light: ContentLightLevel(maximum: 2345, maximumAverage: 456))
  static let pq = ColourTags(primaries: "bt2020", transfer: "smpte2084", matrix: "bt2020nc")

  private let scratch: TemporaryFolder

  init() throws {
    scratch = try TemporaryFolder()
  }

  private func probed(_ path: String) throws -> VideoFormat {
    try #require(try AssetProbe.probe(openSource(path), name: path).defaultTrack(.video)?.video)
  }

  @Test(arguments: ["mp4", "mkv"]) func `a source's metadata is described`(container: String) throws {
    let path = scratch.path("s.\(container)")
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=0.2", "-pix_fmt", "yuv420p10le", "-color_primaries",
      "bt2020", "-color_trc", "smpte2084", "-colorspace", "bt2020nc", "-c:v", "libx265", "-preset", "ultrafast",
      "-x265-params",
      "log-level=none:max-cll=2345,456:master-display="
        + "G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(40000000,50)", path)
    let video = try probed(path)
    #expect(video.hdr == Self.metadata)
    #expect(video.hdr?.peak == 2345)
    #expect(HDRMetadata(display: Self.metadata.display).peak == 4000)
  }

  @Test func `a source without metadata has none`() throws {
    let path = scratch.path("s.mp4")
    try Tool.ffmpeg(
      "-f", "lavfi", "-i", "testsrc2=size=64x64:rate=25:duration=0.2", "-c:v", "libx264", "-preset", "ultrafast", path)
    #expect(try probed(path).hdr == nil)
  }

  /// In the container, and in the streams of h264 and hevc.
  @Test(arguments: [
    (VideoCodec.h264, Container.mp4), (.h264, .mov), (.h264, .mkv), (.hevc, .mp4), (.hevc, .mov), (.hevc, .mkv),
    (.ffv1, .mkv),
  ])
  func `the output has the metadata`(codec: VideoCodec, container: Container) throws {
    var settings = codec == .ffv1 ? Encoding.ffv1(.yuv420p10) : Encoding.h264(pixelFormat: .yuv420p10)
    settings.codec = codec
    settings.colour = Self.pq
    settings.hdr = Self.metadata
    let frameDuration = MediaTime(value: 1, timescale: 25)
    try Encoding.pictures(
      settings, size: PixelSize(width: 96, height: 64), frameDuration: frameDuration, seeds: 0..<12,
      to: scratch.create("v"))
    let (header, packets) = try Encoding.packets(scratch.path("v"))
    let output = try scratch.create("film.\(container.rawValue)")
    let muxer = try FileMuxer(
      descriptor: output.fileDescriptor, name: "film", container: container,
      tracks: [
        FileMuxer.Track(header: header, packetCount: packets.count, duration: MediaTime(value: 12, timescale: 25))
      ], indexFirst: true, metadata: [:])
    for packet in packets { try muxer.write(packet, track: 0) }
    try muxer.finish()
    let path = scratch.path("film.\(container.rawValue)")
    if codec == .h264 {
      // The messages 137 and 144 of supplemental enhancement information, which ffprobe 5.1 does not show: green, blue,
      // red, white; and MaxCLL and MaxFALL.
      let stream = try Tool.ffmpeg("-i", path, "-c", "copy", "-bsf:v", "h264_mp4toannexb", "-f", "h264", "-")
      func bytes(_ numbers: [Int]) -> [UInt8] { numbers.flatMap { [UInt8($0 >> 8), UInt8($0 & 255)] } }
      let display = [137, 24] + bytes([13250, 34500, 7500, 3000, 34000, 16000, 15635, 16450])
      #expect(stream.firstRange(of: display) != nil)
      #expect(stream.firstRange(of: [144, 4] + bytes([2345, 456])) != nil)
    }
    if codec == .hevc {
      // The stream alone, without its container: what a television gets that is sent it.
      try Tool.ffmpeg("-i", path, "-c", "copy", "-bsf:v", "hevc_mp4toannexb", "-f", "hevc", scratch.path("stream.hevc"))
      let frames = String(
        decoding: try Tool.run(
          "ffprobe", ["-v", "error", "-of", "json", "-show_frames", scratch.path("stream.hevc")]
        ).output, as: UTF8.self)
      for field in [
        #""red_x": "34000/50000""#, #""green_y": "34500/50000""#, #""blue_x": "7500/50000""#,
        #""white_point_y": "16450/50000""#, #""max_luminance": "40000000/10000""#, #""min_luminance": "50/10000""#,
        #""max_content": 2345"#, #""max_average": 456"#,
      ] {
        #expect(frames.components(separatedBy: field).count == 12 + 1, "\(field) of 12 frames")
      }
    }
    let stream = String(
      decoding: try Tool.run("ffprobe", ["-v", "error", "-of", "json", "-show_streams", path]).output, as: UTF8.self)
    #expect(stream.contains("Mastering display metadata"), "\(stream)")
    #expect(stream.contains("\"max_content\": 2345") && stream.contains("\"max_average\": 456"), "\(stream)")
    #expect(try probed(path).hdr == Self.metadata)
  }
}
