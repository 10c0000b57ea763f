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

/// Films of a still picture before a camera that shakes in a known way, and `ffmpeg`'s own stabilizing of them.
@Suite struct StabilizingTests {
  private static let size = PixelSize(width: 640, height: 480)
  private static let count = 75

  /// How far the camera is from its first place, in pixels, and how it is turned, at a frame.
  private static func camera(_ frame: Int) -> (x: Double, y: Double, angle: Double) {
    let n = Double(frame)
    return ((14 * sin(n * 1.3)).rounded(.down), (9 * cos(n * 1.7)).rounded(.down), 0.012 * sin(n * 1.9))
  }

  private static let shake =
    "select=eq(n\\,0),loop=loop=\(count):size=1,setpts=N/30/TB,format=yuv444p,rotate=a='0.012*sin(n*1.9)',"
    + "crop=640:480:'160+floor(14*sin(n*1.3))':'120+floor(9*cos(n*1.7))'"

  /// A shaking film, which takes seconds to make.
  private static let walk: Result<Data, any Error> = Result {
    let folder = try TemporaryFolder()
    let path = folder.path("walk.mkv")
    _ = try Tool.ffmpeg([
      "-f", "lavfi", "-i", "mandelbrot=size=960x720:rate=30:start_scale=0.2", "-vf", shake, "-frames:v", "75",
      "-pix_fmt", "yuv420p", "-c:v", "libx264", "-crf", "12", "-g", "20", "-bf", "2", path,
    ])
    return try Data(contentsOf: URL(fileURLWithPath: path))
  }

  /// The path of a shaking film.
  private func film(_ folder: TemporaryFolder) throws -> String {
    try folder.write(Self.walk.get(), "walk.mkv")
  }

  /// A document's frames, rendered in segments of a length after its movements were measured.
  private func frames(_ clip: String, _ path: String, segment: MediaTime) throws -> [[UInt8]] {
    let description = try AssetProbe.probe(openSource(path), name: "walk")
    let text = """
      { "sheaf": 1, "assets": { "walk": "walk.mkv" }, "tracks": [ { "clips": [ { "asset": "walk", \(clip) } ] } ],
        "export": { "to": "a.mkv", "video": { "codec": "ffv1", "pixelFormat": "yuv420p" } } }
      """
    let edit = try Document.parse(Array(text.utf8)).lower(assets: ["walk": description], output: nil)
    let assets = ["walk": PlannedAsset(description: description, digest: "walk")]
    let inputs = ["walk": try openSource(path)]
    var found: [MotionTask: CameraMotion] = [:]
    for task in try MotionPlanner.tasks(edit, assets: assets) {
      let sent = try JSONDecoder().decode(MotionTask.self, from: JSONEncoder().encode(task))
      found[task] = try JSONDecoder().decode(
        CameraMotion.self, from: JSONEncoder().encode(MotionMeter.measure(sent, inputs: inputs) { _ in }))
    }
    let plan = try RenderPlanner.plan(
      edit, assets: MotionPlanner.adding(found, to: assets), segmentDuration: segment)
    var frames: [[UInt8]] = []
    for segment in plan.segments {
      let task = try JSONDecoder().decode(VideoTask.self, from: JSONEncoder().encode(segment.task))
      let maker = try FrameMaker(task, inputs: inputs)
      for index in 0..<task.frameCount { frames.append(try maker.frame(index).packed) }
    }
    return frames
  }

  /// The differences of the luma of frames that follow each other, by those of neighbouring pixels, away from the
  /// edges: a picture that is enlarged more has fewer of both.
  private func unrest(_ frames: [[UInt8]]) -> Double {
    var (inTime, inPlace) = (0, 0)
    for (one, other) in zip(frames, frames.dropFirst()) {
      for y in 60..<(Self.size.height - 60) {
        for x in 60..<(Self.size.width - 60) {
          let place = y * Self.size.width + x
          inTime += abs(Int(one[place]) - Int(other[place]))
          inPlace += abs(Int(one[place]) - Int(one[place + 1]))
        }
      }
    }
    return Double(inTime) / Double(inPlace)
  }

  @Test func `the movements of the camera are found`() throws {
    let folder = try TemporaryFolder()
    let path = try film(folder)
    let description = try AssetProbe.probe(openSource(path), name: "walk")
    let track = try #require(description.defaultTrack(.video))
    var clip = Clip(asset: "walk", sourceTrack: track.index, source: track.range, target: track.range)
    clip.stabilization = Stabilization()
    let edit = Edit(
      composition: Composition(tracks: [CompositionTrack(id: "A", type: .video, clips: [clip])]),
      videoComposition: VideoComposition(
        renderSize: Self.size, frameDuration: MediaTime(value: 1, timescale: 30), instructions: [], overlays: []),
      audioMix: AudioMix(), export: ExportSettings(path: "a.mkv", container: .mkv, video: nil, audio: nil))
    let task = try #require(
      try MotionPlanner.tasks(edit, assets: ["walk": PlannedAsset(description: description, digest: "walk")]).first)
    let steps = try MotionMeter.measure(task, inputs: ["walk": openSource(path)]) { _ in }.steps
    #expect(steps.count == Self.count && steps[0] == MotionStep(pts: steps[0].pts))
    for (index, step) in steps.enumerated().dropFirst() {
      let (now, before) = (Self.camera(index), Self.camera(index - 1))
      #expect(abs(Double(step.x) / MotionStep.unitsOfPixel + now.x - before.x) < 1, "\(index)")
      #expect(abs(Double(step.y) / MotionStep.unitsOfPixel + now.y - before.y) < 1, "\(index)")
      #expect(abs(Double(step.angle) / MotionStep.unitsOfRadian - now.angle + before.angle) < 0.002, "\(index)")
    }
  }

  @Test func `what a shaking camera has seen stands about as still as ffmpeg makes it`() throws {
    let folder = try TemporaryFolder()
    let path = try film(folder)
    let options = ["-fps_mode", "passthrough", "-pix_fmt", "yuv420p", "-f", "rawvideo"]
    func read(_ filters: String) throws -> [[UInt8]] {
      let data = try Tool.ffmpeg(["-i", path, "-vf", filters] + options + ["-"])
      let bytes = Self.size.width * Self.size.height * 3 / 2
      return (0..<(data.count / bytes)).map { [UInt8](data[($0 * bytes)..<(($0 + 1) * bytes)]) }
    }
    let shaking = unrest(try read("null"))
    _ = try Tool.ffmpeg(
      ["-i", path, "-vf", "vidstabdetect=result=\(folder.path("walk.trf"))", "-f", "null", folder.path("none")])
    let other = unrest(
      try read("vidstabtransform=input=\(folder.path("walk.trf")):smoothing=45:optzoom=1:interpol=bicubic"))
    let whole = try frames(##""stabilize": {"smoothing": 4}"##, path, segment: MediaTime(seconds: 60))
    let own = unrest(whole)
    #expect(whole.count == Self.count)
    #expect(own < shaking / 4, "\(own) of \(shaking), and \(other) by ffmpeg")
    #expect(own < other * 1.3, "\(own) of \(shaking), and \(other) by ffmpeg")
  }

  private static let clips = [
    ##""stabilize": true"##, ##""stabilize": {"smoothing": 0.4, "zoom": 1.05}, "use": "0.3..2.1""##,
    ##""stabilize": true, "reverse": true"##, ##""stabilize": true, "speed": 1.7, "fit": "cover""##,
  ]

  @Test(arguments: TestExtent.of(Array(clips.dropFirst()), whole: clips))
  func `every cut gives the same pictures`(clip: String) throws {
    let folder = try TemporaryFolder()
    let path = try film(folder)
    let whole = try frames(clip, path, segment: MediaTime(seconds: 60))
    let cut = try frames(clip, path, segment: MediaTime(value: 4, timescale: 10))
    #expect(cut.count == whole.count)
    #expect(cut.indices.filter { cut[$0] != whole[$0] } == [])
  }

  /// Sizes whose halves, thirds and square pixels are odd, pictures that change, and pictures that are due together.
  @Test(arguments: [
    ["-vf", "scale=853:481,format=yuv444p", "-c:v", "ffv1"], ["-vf", "scale=720:480,setsar=32/27", "-c:v", "ffv1"],
    ["-vf", "scale=65:67,format=yuv444p", "-c:v", "ffv1"],
    ["-vf", "format=yuvj420p", "-c:v", "mjpeg", "-r", "2000", "-fps_mode", "passthrough", "-enc_time_base", "1/2000"],
  ])
  func `pictures of any size and cadence are measured`(options: [String]) throws {
    let folder = try TemporaryFolder()
    let path = folder.path("odd.mkv")
    let duration = TestExtent.of("0.006", whole: "0.02")
    _ = try Tool.ffmpeg(
      ["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=2000:duration=\(duration)"] + options + [path])
    let one = try frames(##""stabilize": true"##, path, segment: MediaTime(seconds: 60))
    #expect(!one.isEmpty)
  }

  @Test func `pictures whose size and format change within a file are whole`() throws {
    let folder = try TemporaryFolder()
    var parts: [String] = []
    for (number, picture) in ["320x240,rgb24", "400x300,rgb24", "320x240,rgba", "256x200,rgb24"].enumerated() {
      let words = picture.split(separator: ",")
      parts.append(folder.path("\(number).mkv"))
      _ = try Tool.ffmpeg([
        "-f", "lavfi", "-i", "color=white:size=\(words[0]):rate=25:duration=0.2", "-pix_fmt", "\(words[1])", "-c:v",
        "png",
        parts[number],
      ])
    }
    try parts.map { "file '\($0)'" }.joined(separator: "\n")
      .write(toFile: folder.path("list"), atomically: true, encoding: .utf8)
    let path = folder.path("changing.mkv")
    _ = try Tool.ffmpeg(["-f", "concat", "-safe", "0", "-i", folder.path("list"), "-c", "copy", path])
    let made = try frames(##""stabilize": {"zoom": 1.2}"##, path, segment: MediaTime(seconds: 60))
    #expect(made.count == 20)
    // White to the edges, wherever the larger pictures were cut.
    for (index, frame) in made.enumerated() {
      #expect(frame.prefix(320 * 240).allSatisfy { $0 > 230 }, "frame \(index)")
    }
  }

  /// Of a picture whose samples are a plane, each sample that is moved is known without a filter.
  @Test(arguments: [
    "yuv420p10le", "yuv422p10le", "yuv444p", "yuv420p", "yuva420p10le", "gray", "gbrp", "gbrp12le", "rgb24", "rgba64le",
    "nv12", "yuyv422", "yuv411p",
  ])
  func `a point of a picture is seen where the rule says`(name: String) throws {
    let format = try #require(FrameFormat(name: name))
    var video = VideoFormat(
      size: PixelSize(width: 200, height: 120), pixelFormat: name, nominalFrameRate: MediaTime(seconds: 30),
      frames: FrameTimes([0]), keyframes: [])
    video.pixelAspect = AspectRatio(horizontal: 4, vertical: 3)
    video.cleanAperture = PixelRect(x: 8, y: 4, size: PixelSize(width: 180, height: 110))
    let source = PlannedSource(
      digest: "a", track: 0, codec: "rawvideo", timebase: MediaTime(value: 1, timescale: 30), origin: 0,
      decodeFrom: nil, video: video)
    let place = MotionStep(pts: 41, x: 11_300, y: -7_450, angle: 380_000)
    let stabilizer = Stabilizer(PlannedStabilization(zoom: 1.12, places: [MotionStep(pts: 40), place]), source)
    let stored = try Frame(size: video.size, format: format)
    stored.pts = 41
    guard format.planarDepth != nil else {
      // Converted first, so what is checked is that it can be, and keeps its timestamp.
      for plane in 0..<format.planeCount {
        let (bytes, rows) = stored.extent(ofPlane: plane)
        let stride = stored.stride(ofPlane: plane)
        stored.withMutablePlane(plane) { base in
          for row in 0..<rows { (base + row * stride).initializeMemory(as: UInt8.self, repeating: 77, count: bytes) }
        }
      }
      let made = try stabilizer.frame(stored)
      #expect(made.pts == 41 && made.size == video.size && made.format.planarDepth != nil)
      #expect(made.format.hasAlpha == format.hasAlpha && made.format.isRGB == format.isRGB)
      return
    }
    try check(stored, try fill(stored), by: place, stabilizer.frame(stored), ChromaSite(tag: nil))
    let other = try fill(stored)
    stored.pts = 42
    try check(stored, other, by: MotionStep(pts: 42), stabilizer.frame(stored), ChromaSite(tag: nil))
  }

  /// Fills each plane with a gradient.
  private func fill(_ frame: Frame) throws -> (Int, Double, Double) -> Double {
    let depth = try #require(frame.format.planarDepth)
    let scale = Double(1 << depth) / 256
    func value(_ plane: Int, _ x: Double, _ y: Double) -> Double {
      (20 + Double(plane) * 9 + x * (0.7 - Double(plane) * 0.1) + y * (0.2 + Double(plane) * 0.15)) * scale
    }
    for plane in 0..<frame.format.planeCount {
      let isChroma = (plane == 1 || plane == 2) && !frame.format.isRGB
      let shift = isChroma ? frame.format.chromaShift : (0, 0)
      let (bytes, rows) = frame.extent(ofPlane: plane)
      let stride = frame.stride(ofPlane: plane)
      frame.withMutablePlane(plane) { base in
        for row in 0..<rows {
          for column in 0..<(depth > 8 ? bytes / 2 : bytes) {
            let (x, y) = place(column, row, shift)
            let sample = Int(value(plane, x, y).rounded())
            if depth > 8 {
              (base + row * stride + column * 2).storeBytes(of: UInt16(sample), as: UInt16.self)
            } else {
              (base + row * stride + column).storeBytes(of: UInt8(sample), as: UInt8.self)
            }
          }
        }
      }
    }
    return value
  }

  /// The middle of a sample, in pixels of luma. Chroma without a tag is at the left of its cell, in its middle row.
  private func place(_ column: Int, _ row: Int, _ shift: (horizontal: Int, vertical: Int)) -> (x: Double, y: Double) {
    (
      shift.horizontal == 0 ? Double(column) + 0.5 : Double(column << shift.horizontal) + 0.5,
      shift.vertical == 0 ? Double(row) + 0.5 : Double(row << shift.vertical) + 1
    )
  }

  private func check(
    _ stored: Frame, _ value: (Int, Double, Double) -> Double, by step: MotionStep, _ made: Frame, _ site: ChromaSite
  ) throws {
    #expect(made.pts == stored.pts && made.format == stored.format && made.size == stored.size)
    let depth = try #require(made.format.planarDepth)
    let angle = Double(step.angle) / MotionStep.unitsOfRadian
    // The gradient is rounded, and so is what is made of it, by a kernel that sharpens.
    let allowed = 1 + Double(1 << depth) / 256 * 0.15
    for plane in 0..<made.format.planeCount {
      let isChroma = (plane == 1 || plane == 2) && !made.format.isRGB
      let shift = isChroma ? made.format.chromaShift : (0, 0)
      let (bytes, rows) = made.extent(ofPlane: plane)
      let stride = made.stride(ofPlane: plane)
      var worst = 0.0
      made.withPlane(plane) { base in
        for row in (8 >> shift.1)..<(rows - (8 >> shift.1)) {
          for column in (12 >> shift.0)..<((depth > 8 ? bytes / 2 : bytes) - (24 >> shift.0)) {
            let (x, y) = place(column, row, shift)
            // From the middle of the clean aperture, in pixels that are square.
            let (right, down) = ((x - 98) * 4 / 3 / 1.12, (y - 59) / 1.12)
            let seenX = cos(angle) * right - sin(angle) * down + Double(step.x) / MotionStep.unitsOfPixel
            let seenY = sin(angle) * right + cos(angle) * down + Double(step.y) / MotionStep.unitsOfPixel
            let sample =
              depth > 8
              ? Double(base.loadUnaligned(fromByteOffset: row * stride + column * 2, as: UInt16.self))
              : Double(base.load(fromByteOffset: row * stride + column, as: UInt8.self))
            worst = max(worst, abs(sample - value(plane, seenX * 3 / 4 + 98, seenY + 59)))
          }
        }
      }
      #expect(worst < allowed, "plane \(plane)")
    }
  }
}
