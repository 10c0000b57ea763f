import CompositionModel
import Foundation
import Media
import RenderTasks
import Segmenter
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Masks that are the pictures of another track.
@Suite struct TrackMaskTests {
  private static let size = PixelSize(width: 64, height: 32)
  private static let frameDuration = MediaTime(value: 1, timescale: 30)

  /// A film whose every frame has other levels in each column.
  private static func matte(_ folder: TemporaryFolder) throws -> String {
    var bytes: [UInt8] = []
    for frame in 0..<20 {
      for _ in 0..<32 { for x in 0..<64 { bytes.append(UInt8(16 + (3 * x + 9 * frame) % 219)) } }
      bytes += [UInt8](repeating: 128, count: 2 * 64 * 32)
    }
    let (raw, path) = (folder.path("matte.raw"), folder.path("matte.mov"))
    try Data(bytes).write(to: URL(fileURLWithPath: raw))
    _ = try Tool.ffmpeg([
      "-f", "rawvideo", "-pix_fmt", "yuv444p", "-s", "64x32", "-r", "30", "-i", raw, "-g", "5", "-colorspace", "bt709",
      "-c:v", "ffv1", path,
    ])
    return path
  }

  /// White, where the mask of the track "matte" is seen, over black. The mask begins at the fifth frame and ends with
  /// the 25th.
  private static func edit(isInverted: Bool) throws -> Edit {
    func range(_ frames: Range<Int>) throws -> MediaTimeRange {
      try MediaTimeRange(
        start: frameDuration * Rational(frames.lowerBound), duration: frameDuration * Rational(frames.count))
    }
    var layer = TrackLayer(track: "white")
    layer.mask = LayerMask(.track("matte"), channel: .luma, isInverted: isInverted)
    return Edit(
      composition: Composition(tracks: [
        CompositionTrack(
          id: "white", type: .video,
          clips: [Clip(asset: "white", sourceTrack: 0, source: try range(0..<0), target: try range(0..<30))]),
        CompositionTrack(
          id: "matte", type: .video,
          clips: [Clip(asset: "matte", sourceTrack: 0, source: try range(0..<20), target: try range(5..<25))]),
      ]),
      videoComposition: VideoComposition(
        renderSize: size, frameDuration: frameDuration,
        instructions: [Instruction(over: try range(0..<30), background: .black, layers: [.track(layer)])]),
      audioMix: AudioMix(),
      export: .losslessPictures)
  }

  @Test(arguments: [false, true])
  func `a layer is seen where the track's picture of the time is`(isInverted: Bool) throws {
    let folder = try TemporaryFolder()
    let paths = ["matte": try Self.matte(folder), "white": folder.path("white.png")]
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "color=white:size=64x32", "-frames:v", "1", "-pix_fmt", "rgb24", folder.path("white.png"),
    ])
    var assets: [AssetID: PlannedAsset] = [:]
    var inputs: [String: any ByteSource] = [:]
    for (id, path) in paths {
      assets[id] = PlannedAsset(description: try AssetProbe.probe(openSource(path), name: path), digest: id)
      inputs[id] = try openSource(path)
    }
    func frames(_ segmentDuration: MediaTime) throws -> [[UInt8]] {
      try RenderPlanner.plan(Self.edit(isInverted: isInverted), assets: assets, segmentDuration: segmentDuration)
        .segments.flatMap { segment in
          let maker = try FrameMaker(segment.task, inputs: inputs)
          return try (0..<segment.task.frameCount).map { try maker.frame($0).packed }
        }
    }
    let whole = try frames(MediaTime(seconds: 10))
    #expect(whole.count == 30)
    for (frame, bytes) in whole.enumerated() {
      let made = PackedFrame(bytes, Self.size, .yuv444p)
      for x in 0..<64 {
        let level = (5..<25).contains(frame) ? (3 * x + 9 * (frame - 5)) % 219 : 0
        let right = 16 + (isInverted ? 219 - level : level)
        #expect(abs(made[0, x, 11] - right) <= 1, "frame \(frame) at \(x)")
      }
    }
    #expect(try frames(MediaTime(value: 1, timescale: 6)) == whole)
    #expect(try frames(MediaTime(value: 7, timescale: 30)) == whole)
  }

  /// In segments without the mask its file is not needed, nor that of what it hides.
  @Test func `only what is seen is in a task`() throws {
    let folder = try TemporaryFolder()
    let path = try Self.matte(folder)
    let matte = try AssetProbe.probe(openSource(path), name: path)
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "color=white:size=64x32", "-frames:v", "1", "-pix_fmt", "rgb24", folder.path("white.png"),
    ])
    let white = try AssetProbe.probe(openSource(folder.path("white.png")), name: "white.png")
    let plan = try RenderPlanner.plan(
      Self.edit(isInverted: false),
      assets: [
        "matte": PlannedAsset(description: matte, digest: "matte"),
        "white": PlannedAsset(description: white, digest: "white"),
      ], segmentDuration: MediaTime(value: 1, timescale: 6))
    #expect(plan.segments.first?.task.sources.isEmpty == true)
    #expect(plan.segments.last?.task.sources.isEmpty == true)
    #expect(plan.segments.contains { Set($0.task.sources.map(\.digest)) == ["matte", "white"] })
  }
}
