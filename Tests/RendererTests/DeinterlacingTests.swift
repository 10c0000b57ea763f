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

@Suite struct DeinterlacingTests {
  static let size = PixelSize(width: 176, height: 144)

  /// A film of moving patterns at 25 frames of two fields a second.
  private func interlaced(_ fixture: inout VideoFixture, _ order: String, _ options: [String]) throws -> Int {
    try fixture.make(
      "\(order).mkv",
      [
        "-f", "lavfi", "-i", "testsrc2=size=176x144:rate=50:duration=0.6", "-vf",
        "tinterlace=interleave_\(order == "tff" ? "top" : "bottom"),setfield=\(order)",
      ] + options)
  }

  @Test(arguments: ["tff", "bff"], [["yuv420p"], ["yuv422p10le", "ffv1"]])
  func `pictures are those of bwdif`(order: String, format: [String]) throws {
    var fixture = try VideoFixture()
    let codec =
      format.count > 1
      ? ["-c:v", format[1]] : ["-c:v", "mpeg2video", "-flags", "+ildct+ilme", "-q:v", "3", "-g", "5", "-bf", "2"]
    let source = try interlaced(&fixture, order, ["-pix_fmt", format[0]] + codec)
    fixture.deinterlace(source, .all)
    let (path, size) = (fixture.folder.path("\(order).mkv"), Self.size)
    let right = try fixture.decoded(
      path, format: format[0], size: size, ["-vf", "bwdif=mode=send_frame:parity=\(order):deint=all"])
    let pixelFormat = format.count > 1 ? PixelFormat.yuv422p10 : .yuv420p
    var clip = try fixture.clip(source, frames: 0..<15)
    clip.targetRange = try MediaTimeRange(start: .zero, duration: MediaTime(value: 15, timescale: 25))
    clip.sourceRange = clip.targetRange
    var task = fixture.task([.clip(clip)], size: size, format: pixelFormat, frameCount: 15)
    task.format.frameDuration = MediaTime(value: 1, timescale: 25)
    let made = try fixture.frames(task)
    #expect(made.count == right.count)
    for (index, (one, other)) in zip(made, right).enumerated() {
      if pixelFormat == .yuv420p {
        #expect(one == other, "frame \(index)")
        continue
      }
      // In the outermost rows ffmpeg takes other rows than it means to if samples have two bytes.
      var row = 0
      for (width, height) in [(352, 144), (176, 144), (176, 144)] {
        for y in 6..<(height - 6) {
          let bytes = (row + y * width)..<(row + (y + 1) * width)
          #expect(one[bytes] == other[bytes], "frame \(index), row \(y)")
        }
        row += width * height
      }
    }
  }

  @Test func `flagged pictures alone are deinterlaced by default`() throws {
    var fixture = try VideoFixture()
    let source = try interlaced(
      &fixture, "tff",
      ["-pix_fmt", "yuv420p", "-c:v", "mpeg2video", "-flags", "+ildct+ilme", "-q:v", "3"])
    let progressive = try fixture.make(
      "plain.mkv",
      ["-f", "lavfi", "-i", "testsrc2=size=176x144:rate=25:duration=0.2", "-c:v", "mpeg2video", "-q:v", "3"])
    func frames(_ source: Int, _ deinterlacing: PlannedDeinterlacing?) throws -> [[UInt8]] {
      fixture.deinterlace(source, deinterlacing)
      let task = fixture.task([.clip(try fixture.clip(source, frames: 0..<4))], size: Self.size, frameCount: 4)
      return try fixture.frames(task)
    }
    #expect(try frames(source, .flagged) == frames(source, .all))
    #expect(try frames(source, .flagged) != frames(source, nil))
    #expect(try frames(progressive, .flagged) == frames(progressive, nil))
    #expect(try frames(progressive, .all) != frames(progressive, nil))
  }

  /// A document's frames, rendered in segments of a length.
  static func frames(
    _ text: String, _ paths: [AssetID: String], segment: MediaTime?
  ) throws -> (frames: [[UInt8]], segments: Int) {
    var descriptions: [AssetID: AssetDescription] = [:]
    var planned: [AssetID: PlannedAsset] = [:]
    var inputs: [String: any ByteSource] = [:]
    for (id, path) in paths {
      let description = try AssetProbe.probe(openSource(path), name: id)
      descriptions[id] = description
      planned[id] = PlannedAsset(description: description, digest: id)
      inputs[id] = try openSource(path)
    }
    let edit = try Document.parse(Array(text.utf8)).lower(assets: descriptions, output: nil)
    let plan = try RenderPlanner.plan(edit, assets: planned, segmentDuration: segment)
    var frames: [[UInt8]] = []
    for segment in plan.segments {
      #expect(segment.task.otherDigests.allSatisfy { inputs[$0] != nil })
      let maker = try FrameMaker(segment.task, inputs: inputs)
      for index in 0..<segment.task.frameCount { frames.append(try maker.frame(index).packed) }
    }
    return (frames, plan.segments.count)
  }

  @Test func `every cut gives the same pictures`() throws {
    var fixture = try VideoFixture()
    _ = try fixture.make(
      "film.mkv",
      [
        "-f", "lavfi", "-i", "testsrc2=size=176x144:rate=50:duration=9", "-vf",
        "tinterlace=interleave_top,setfield=tff", "-pix_fmt", "yuv420p", "-c:v", "mpeg2video", "-flags", "+ildct+ilme",
        "-q:v", "3", "-g", "6", "-bf", "2",
      ])
    try "LUT_1D_SIZE 2\n0.1 0 0.2\n0.9 1 0.7\n".write(
      toFile: fixture.folder.path("warm.cube"), atomically: true, encoding: .utf8)
    let text = """
      { "sheaf": 1, "assets": { "film": "film.mkv", "warm": "warm.cube" },
        "tracks": [ { "clips": [
          { "asset": "film", "use": "0.32..8.32", "filters": [
            { "kind": "lut", "asset": "warm", "amount": [ { "over": "0..2", "value": [0, 1] } ] },
            { "kind": "blur", "radius": [ { "over": "1..8", "value": [0, 9] } ] } ] } ] } ],
        "videoComposition": { "filters": [
          { "kind": "saturation", "amount": [ { "over": "0..1", "value": [0, 1.5] } ] }, { "kind": "vignette" } ] },
        "export": { "to": "a.mkv", "video": { "codec": "ffv1" } } }
      """
    let paths = ["film": fixture.folder.path("film.mkv"), "warm": fixture.folder.path("warm.cube")]
    let whole = try Self.frames(text, paths, segment: MediaTime(seconds: 60))
    #expect(whole.segments == 1 && whole.frames.count == 200)
    #expect(Set(whole.frames).count == 200)
    let cuts: [(Int64, ClosedRange<Int>)] = [(29, 7...7), (5, 15...200)]
    for (length, segments) in TestExtent.of(Array(cuts.prefix(1)), whole: cuts) {
      let cut = try Self.frames(text, paths, segment: MediaTime(value: length, timescale: 25))
      #expect(cut.frames == whole.frames, "\(cut.segments) segments")
      #expect(segments.contains(cut.segments))
    }
  }
}

extension VideoFixture {
  /// Sets what is deinterlaced of a source.
  mutating func deinterlace(_ source: Int, _ deinterlacing: PlannedDeinterlacing?) {
    change(source) { $0.deinterlacing = deinterlacing }
  }
}
