import CompositionModel
import EditDocument
import Foundation
import Media
import RenderTasks
import Segmenter
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Films whose bits a second are limited, played through a buffer.
@Suite struct LimitedRateTests {
  /// Noise that takes all bits that it can get, and pictures that take none.
  private static func source(_ folder: TemporaryFolder) throws -> String {
    let path = folder.path("a.mkv")
    _ = try Tool.run(
      "ffmpeg",
      [
        "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=160x96:r=25:d=8", "-vf",
        "noise=alls=60:allf=t:enable='between(mod(t,3),1,2.4)'", "-c:v", "ffv1", "-pix_fmt", "yuv420p", path,
      ])
    return path
  }

  private func plan(
    _ path: String, _ asset: AssetDescription, _ video: String, _ segmentDuration: MediaTime
  ) throws -> RenderPlan {
    let document = """
      { "sheaf": 1, "assets": { "a": "\(path)" }, "tracks": [ { "clips": [ { "asset": "a" } ] } ],
        "export": { "to": "film.mp4", "video": \(video) } }
      """
    let edit = try Document.parse(Array(document.utf8)).lower(assets: ["a": asset], output: nil)
    return try RenderPlanner.plan(
      edit, assets: ["a": PlannedAsset(description: asset, digest: "a")], segmentDuration: segmentDuration)
  }

  /// The bits of each packet of a segment, in order of decoding, and the piece.
  private func piece(_ task: VideoTask, _ path: String) throws -> (bits: [Int], file: Data) {
    let folder = try TemporaryFolder()
    let file = try folder.create("piece")
    try VideoRenderer.render(task, inputs: ["a": openSource(path)], to: file.fileDescriptor) { _ in }
    let piece = try Pieces.take(of: folder.path("piece"))
    return (try Pieces.read(piece).packets.map { 8 * $0.byteCount }, try Data(contentsOf: URL(filePath: piece)))
  }

  @Test(arguments: [
    (
      #"{ "codec": "h264", "quality": 12, "preset": "veryfast", "maxBitRate": 400000, "bufferDuration": "1/2" }"#, "1.2"
    ),
    (#"{ "codec": "hevc", "quality": 12, "preset": "ultrafast", "maxBitRate": 300000 }"#, "2"),
  ])
  func `a buffer that is half full at first never runs empty, wherever the film is cut`(
    video: String, level: String
  ) throws {
    let folder = try TemporaryFolder()
    let path = try Self.source(folder)
    let asset = try AssetProbe.probe(openSource(path), name: path)
    for (segmentDuration, count) in [(MediaTime(seconds: 20), 1...1), (MediaTime(value: 9, timescale: 8), 6...9)] {
      let plan = try plan(path, asset, video, segmentDuration)
      #expect(count.contains(plan.segments.count), "\(plan.segments.count)")
      let settings = try #require(plan.stitch.main.file.video?.encoder)
      let limit = try #require(settings.rateLimit)
      #expect(settings.level == level)
      // A plain buffer over the whole film, with nothing at the seams.
      var fullness = Double(limit.bufferSize) / 2
      var (least, taken) = (fullness, 0)
      for segment in plan.segments {
        for bits in try piece(segment.task, path).bits {
          taken += bits
          fullness -= Double(bits)
          least = min(least, fullness)
          fullness = min(Double(limit.bufferSize), fullness + Double(limit.bitRate) / 25)
        }
      }
      #expect(least >= 0, "\(video): the buffer lacks \(-least) of \(limit.bufferSize) bits")
      // The limit is what stops the bits here, and they are used.
      #expect(taken > limit.bitRate * 8 / 3, "\(taken)")
    }
  }

  @Test(arguments: ["h264", "hevc"].spread(1))
  func `a segment with a limit has the same bytes each time`(codec: String) throws {
    let folder = try TemporaryFolder()
    let path = try Self.source(folder)
    let asset = try AssetProbe.probe(openSource(path), name: path)
    let video = #"{ "codec": "\#(codec)", "quality": 15, "preset": "faster", "maxBitRate": 300000 }"#
    let task = try plan(path, asset, video, MediaTime(seconds: 3)).segments[0].task
    let first = try piece(task, path).file
    for _ in 0..<3 { #expect(try piece(task, path).file == first) }
  }
}
