import CompositionModel
import Foundation
import Media
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

/// Which frame of a source is shown, and that it is equal to ffmpeg's decoded frame.
@Suite struct SourceFrameTests {
  static let size = PixelSize(width: 96, height: 64)
  /// Some frames of a test picture, by an irregular pattern: a variable frame rate.
  static let crooked = [
    "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=60:duration=1.5", "-vf",
    "select='not(mod(n,7))+not(mod(n,5))+eq(mod(n,11),3)'", "-fps_mode", "vfr", "-pix_fmt", "yuv420p",
  ]

  struct Listed {
    var pts: [Int64]
    var frames: [[UInt8]]
  }

  /// Timestamps by ffprobe and pictures by ffmpeg.
  static func listed(_ fixture: VideoFixture, _ path: String) throws -> Listed {
    let output = try Tool.run(
      "ffprobe", ["-v", "error", "-select_streams", "v:0", "-show_entries", "frame=pts", "-of", "csv=p=0", path]
    ).output
    let pts = String(decoding: output, as: UTF8.self).split(whereSeparator: { !$0.isNumber && $0 != "-" })
      .compactMap { Int64($0) }
    return Listed(pts: pts, frames: try fixture.decoded(path, format: "yuv420p", size: size))
  }

  private static let played: [(String, (Int, Int))] = {
    let names = ["crooked.mkv", "crooked.mp4"]
    let speeds = [(1, 1), (1, 3), (5, 2), (1001, 1000)]
    let few = speeds.enumerated().map { (names[$0 % 2], $1) }
    return TestExtent.of(few, whole: names.flatMap { name in speeds.map { (name, $0) } })
  }()

  @Test(arguments: played)
  func `the shown frame is the last not after its time`(name: String, speed: (Int, Int)) throws {
    var fixture = try VideoFixture()
    let codec = name.hasSuffix("mkv") ? ["-c:v", "ffv1"] : ["-c:v", "libx264", "-g", "20", "-bf", "3"]
    let source = try fixture.make(name, Self.crooked + codec)
    let listed = try Self.listed(fixture, fixture.folder.path(name))
    try #require(listed.pts.count == listed.frames.count && listed.pts.count > 20)
    let planned = fixture.sources[source]
    let speed = try Rational(Int128(speed.0), Int128(speed.1))
    let start = MediaTime(value: 1, timescale: 7)
    let task = fixture.task(
      [.clip(try fixture.clip(source, from: start, speed: speed))], size: Self.size)
    let rendered = try fixture.frames(task)
    for (index, frame) in rendered.enumerated() {
      let time = try start.exact + Rational(index) * speed * Rational(1, 30)
      let shown = try listed.pts.lastIndex {
        try Rational($0 - planned.origin) * planned.timebase.exact <= time
      }
      let expected = listed.frames[shown ?? 0]
      #expect(frame == expected, "frame \(index) at \(time) s should be number \(shown ?? 0) of \(listed.frames.count)")
    }
  }

  @Test func `the first and the last frame are held`() throws {
    var fixture = try VideoFixture()
    let source = try fixture.make(
      "short.mov",
      ["-f", "lavfi", "-i", "testsrc2=size=96x64:rate=30:duration=0.2", "-pix_fmt", "yuv420p", "-c:v", "ffv1"])
    let frames = try fixture.decoded(fixture.folder.path("short.mov"), format: "yuv420p", size: Self.size)
    let before = MediaTime(value: -1, timescale: 10)
    let maker = try FrameMaker(
      fixture.task([.clip(try fixture.clip(source, from: before))], size: Self.size), inputs: fixture.inputs)
    let made = try (0..<30).map { try maker.frame($0) }
    #expect(made[0].packed == frames[0] && made[3].packed == frames[0])
    #expect(made[4].packed == frames[1])
    #expect(made[8].packed == frames[5] && made[29].packed == frames[5])
    // Held frames are the same object, and not equal copies.
    #expect(made[0] === made[3] && made[8] === made[29])
  }

  @Test func `two layers show one source at two times`() throws {
    var fixture = try VideoFixture()
    let source = try fixture.make(
      "twice.mov",
      ["-f", "lavfi", "-i", "testsrc2=size=96x64:rate=30:duration=2", "-pix_fmt", "yuv420p", "-c:v", "ffv1", "-g", "5"])
    let frames = try fixture.decoded(fixture.folder.path("twice.mov"), format: "yuv420p", size: Self.size)
    let late = try fixture.clip(source, from: MediaTime(value: 20, timescale: 30))
    let half = try RampList.constant(0.5)
    let early = try fixture.clip(source, from: MediaTime(value: 2, timescale: 30), opacity: half)
    for layers in [[early, late], [late, early]] {
      var layers = layers
      (layers[0].opacity, layers[1].opacity) = (half, .one)
      let made = try fixture.frames(fixture.task(layers.map(PlannedLayer.clip), size: Self.size))
      for (index, frame) in made.enumerated() {
        let mean = zip(frames[index + 2], frames[index + 20]).map { a, b -> UInt8 in
          let sum = Int(a) + Int(b)
          return UInt8((sum + 1) / 2)
        }
        #expect(frame == mean, "frame \(index)")
      }
    }
  }

  @Test func `a frame that nothing changes is the decoder's own`() throws {
    for (pixelFormat, name) in [(PixelFormat.yuv420p, "yuv420p"), (.yuv422p10, "yuv422p10le"), (.yuv444p, "yuv444p")] {
      var fixture = try VideoFixture()
      let source = try fixture.make(
        "plain.mov",
        ["-f", "lavfi", "-i", "testsrc2=size=96x64:rate=30:duration=1", "-pix_fmt", name, "-c:v", "ffv1"])
      let frames = try fixture.decoded(fixture.folder.path("plain.mov"), format: name, size: Self.size)
      let task = fixture.task([.clip(try fixture.clip(source))], size: Self.size, format: pixelFormat)
      #expect(try fixture.frames(task) == frames)
    }
  }
}
