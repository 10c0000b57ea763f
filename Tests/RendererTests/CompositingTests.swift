import CompositionModel
import Foundation
import Media
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

@Suite struct CompositingTests {
  static let size = PixelSize(width: 98, height: 62)
  static let bt709 = ColourTags(matrix: "bt709")

  /// Random codes within the limited range of 8 bits, `count` frames of them.
  static func noise(_ size: PixelSize, _ format: PixelFormat, count: Int, seed: UInt64) -> [UInt8] {
    var generator = SeededRandom(seed: seed)
    let samples = FrameFormat(format).packedBytes(size) / (format.bitDepth > 8 ? 2 : 1) * count
    guard format.bitDepth > 8 else { return (0..<samples).map { _ in UInt8.random(in: 16...235, using: &generator) } }
    return (0..<samples).flatMap { _ in
      let code = UInt16.random(in: 64...940, using: &generator)
      return [UInt8(code & 255), UInt8(code >> 8)]
    }
  }

  static func samples(_ frame: [UInt8], _ format: PixelFormat) -> [Int] {
    guard format.bitDepth > 8 else { return frame.map(Int.init) }
    return stride(from: 0, to: frame.count, by: 2).map { Int(frame[$0]) | Int(frame[$0 + 1]) << 8 }
  }

  /// The rendered frames of a task against a formula in Double, each sample within `bound` of a code.
  static func expect(
    _ made: [[UInt8]], _ format: PixelFormat, bound: Double, _ formula: (_ frame: Int, _ sample: Int) -> Double
  ) {
    for (index, frame) in made.enumerated() {
      let worst = samples(frame, format).enumerated().map { abs(Double($1) - formula(index, $0)) }.max() ?? .infinity
      #expect(worst <= bound, "frame \(index) of \(format)")
    }
  }

  @Test(arguments: TestExtent.of([PixelFormat.yuv420p, .yuv422p10, .yuv444p], whole: PixelFormat.allCases))
  func `a dissolve is the exact mix`(format: PixelFormat) throws {
    var fixture = try VideoFixture()
    let name = FrameFormat(format).name
    let (a, b) = (
      Self.noise(Self.size, format, count: 30, seed: 1), Self.noise(Self.size, format, count: 30, seed: 2)
    )
    let (width, height) = (Self.size.width, Self.size.height)
    let from = try fixture.make("a.mov", raw: a, format: name, width: width, height: height, ["-c:v", "ffv1"])
    let to = try fixture.make("b.mov", raw: b, format: name, width: width, height: height, ["-c:v", "ffv1"])
    let over = try MediaTimeRange(
      start: MediaTime(value: 3, timescale: 30), duration: MediaTime(value: 23, timescale: 30))
    let dissolve = PlannedLayer.dissolve(
      from: try fixture.clip(from), to: try fixture.clip(to), progress: Ramp(over: over, from: 0, to: 1))
    let task = fixture.task([dissolve], size: Self.size, format: format)
    let made = try fixture.frames(task)
    let bytes = FrameFormat(format).packedBytes(Self.size)
    let (ofA, ofB) = (
      (0..<30).map { Self.samples([UInt8](a[($0 * bytes)..<(($0 + 1) * bytes)]), format) },
      (0..<30).map { Self.samples([UInt8](b[($0 * bytes)..<(($0 + 1) * bytes)]), format) }
    )
    // Half a code of rounding, and the highest difference times half of 1/16384.
    let bound = 0.5 + Double(1 << format.bitDepth) / 32768
    Self.expect(made, format, bound: bound) { frame, sample in
      let p = min(1, max(0, (Double(frame) - 3) / 23))
      return (1 - p) * Double(ofA[frame][sample]) + p * Double(ofB[frame][sample])
    }
    #expect(made[0] == [UInt8](a[0..<bytes]) && made[29] == [UInt8](b[(29 * bytes)...]))
  }

  /// A 4:3 clip dissolves into a 16:9 one over a background. Where only one of them is, the background shows by the
  /// other's share. The same holds where one of the clips is itself partly transparent.
  @Test(arguments: [1, 0.6])
  func `a dissolve of unlike shapes mixes coverage too`(opacity: Double) throws {
    var fixture = try VideoFixture()
    let (size, narrow) = (PixelSize(width: 96, height: 64), PixelSize(width: 64, height: 64))
    let a = Self.noise(narrow, .yuv420p, count: 30, seed: 3)
    let b = Self.noise(size, .yuv420p, count: 30, seed: 4)
    let from = try fixture.make("a.mov", raw: a, format: "yuv420p", width: 64, height: 64, ["-c:v", "ffv1"])
    let to = try fixture.make("b.mov", raw: b, format: "yuv420p", width: 96, height: 64, ["-c:v", "ffv1"])
    let over = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1))
    let background = Color(red: 200, green: 40, blue: 90)
    let task = fixture.task(
      [
        .dissolve(
          from: try fixture.clip(from, opacity: .constant(opacity)), to: try fixture.clip(to),
          progress: Ramp(over: over, from: 0, to: 1))
      ],
      size: size, colour: Self.bt709, background: background)
    let codes = YCbCrMatrix(task.format).codes(background)
    let (bytesA, bytesB) = (64 * 64 * 3 / 2, 96 * 64 * 3 / 2)
    for (index, made) in try fixture.frames(task).enumerated() {
      let frame = PackedFrame(made, size)
      let ofA = PackedFrame([UInt8](a[(index * bytesA)..<((index + 1) * bytesA)]), narrow)
      let ofB = PackedFrame([UInt8](b[(index * bytesB)..<((index + 1) * bytesB)]), size)
      let p = Double(index) / 30
      var worst = 0.0
      for plane in 0..<3 {
        let under = Double([codes.luma, codes.cb, codes.cr][plane])
        let (width, left) = plane == 0 ? (96, 16) : (48, 8)
        for y in 0..<(plane == 0 ? 64 : 32) {
          for x in 0..<width {
            let isInA = x >= left && x < width - left
            let ofA = isInA ? Double(ofA[plane, x - left, y]) : under
            let exact = (1 - p) * (opacity * ofA + (1 - opacity) * under) + p * Double(ofB[plane, x, y])
            worst = max(worst, abs(Double(frame[plane, x, y]) - exact))
          }
        }
      }
      #expect(worst <= 0.55, "frame \(index)")
    }
  }

  @Test(arguments: [PixelFormat.yuv420p, .yuv422p10])
  func `opacity ramps mix with the layer below`(format: PixelFormat) throws {
    var fixture = try VideoFixture()
    let name = FrameFormat(format).name
    let (a, b) = (Self.noise(Self.size, format, count: 1, seed: 5), Self.noise(Self.size, format, count: 1, seed: 6))
    let (width, height) = (Self.size.width, Self.size.height)
    let top = try fixture.make("a.mov", raw: a, format: name, width: width, height: height, ["-c:v", "ffv1"])
    let below = try fixture.make("b.mov", raw: b, format: name, width: width, height: height, ["-c:v", "ffv1"])
    let ramp = Ramp(
      over: try MediaTimeRange(start: .zero, duration: MediaTime(value: 29, timescale: 30)), from: 0.25, to: 0.75)
    let task = fixture.task(
      [.clip(try fixture.clip(top, opacity: RampList([ramp]))), .clip(try fixture.clip(below))], size: Self.size,
      format: format)
    let (ofA, ofB) = (Self.samples(a, format), Self.samples(b, format))
    let bound = 0.5 + Double(1 << format.bitDepth) / 32768
    Self.expect(try fixture.frames(task), format, bound: bound) { frame, sample in
      let opacity = 0.25 + 0.5 * Double(frame) / 29
      return opacity * Double(ofA[sample]) + (1 - opacity) * Double(ofB[sample])
    }
  }

  @Test func `gaps show the background`() throws {
    let fixture = try VideoFixture()
    let colour = Color(red: 10, green: 200, blue: 90)
    let task = fixture.task([], size: Self.size, colour: Self.bt709, background: colour)
    let maker = try FrameMaker(task, inputs: [:])
    let first = try maker.frame(0)
    let frame = PackedFrame(first.packed, Self.size)
    let (y, cb, cr) = YCbCrMatrix(task.format).codes(colour)
    #expect(first.packed.prefix(98 * 62).allSatisfy { Int($0) == y })
    #expect(frame[1, 48, 30] == cb && frame[2, 0, 0] == cr)
    #expect(try maker.frame(29) === first)
  }

  /// Full-range and BT.601 sources come out as the composition's limited BT.709: greys keep their luma, and colours
  /// are those of the matrices' definitions.
  @Test func `matrix and range are the composition's`() throws {
    for (matrix, range, tags) in [
      ("smpte170m", "tv", ColourTags(matrix: "smpte170m")),
      ("bt709", "pc", ColourTags(matrix: "bt709", isFullRange: true)),
    ] {
      var fixture = try VideoFixture()
      let source = try fixture.make(
        "source.mkv",
        [
          "-f", "lavfi", "-i", "color=c=0xc86428:size=98x62:rate=30:duration=1,format=gbrp", "-vf",
          "scale=out_color_matrix=\(matrix):out_range=\(range):flags=accurate_rnd+bitexact,format=yuv444p", "-c:v",
          "ffv1", "-colorspace",
          matrix, "-color_range", range,
        ])
      let described = fixture.sources[source].video.colour
      #expect(described.matrix == tags.matrix && described.isFullRange == tags.isFullRange)
      let task = fixture.task(
        [.clip(try fixture.clip(source))], size: Self.size, format: .yuv444p, colour: Self.bt709)
      let frame = PackedFrame(try fixture.frame(task), Self.size, .yuv444p)
      let expected = YCbCrMatrix(task.format).codes(Color(red: 0xc8, green: 0x64, blue: 0x28))
      #expect(abs(frame[0, 50, 30] - expected.luma) <= 1)
      #expect(abs(frame[1, 50, 30] - expected.cb) <= 1)
      #expect(abs(frame[2, 50, 30] - expected.cr) <= 1)
    }
  }

  @Test(arguments: [Fit.contain, .cover, .fill, .none])
  func `pictures are where their fit puts them`(fit: Fit) throws {
    var fixture = try VideoFixture()
    let source = try fixture.make(
      "white.mov",
      ["-f", "lavfi", "-i", "color=white:size=60x90:rate=30:duration=1", "-pix_fmt", "yuv420p", "-c:v", "ffv1"])
    let size = PixelSize(width: 160, height: 120)
    let task = fixture.task([.clip(try fixture.clip(source, fit: fit))], size: size)
    let frame = PackedFrame(try fixture.frame(task), size)
    let rect = Fitting(PixelSize(width: 60, height: 90), fit: fit, frame: size, cell: ChromaCell(.yuv420p)).target
    for y in 0..<size.height {
      for x in 0..<size.width {
        let isInside = rect.columns.contains(x) && rect.rows.contains(y)
        #expect(frame[0, x, y] == (isInside ? 235 : 16))
      }
    }
  }

  /// Pixels twice as wide as high: 60x90 of them are 120x90.
  @Test func `pixel aspect is applied first`() throws {
    var fixture = try VideoFixture()
    let source = try fixture.make(
      "wide.mov",
      [
        "-f", "lavfi", "-i", "color=white:size=60x90:rate=30:duration=1", "-vf", "setsar=2/1", "-pix_fmt", "yuv420p",
        "-c:v", "ffv1",
      ])
    #expect(fixture.sources[source].video.pixelAspect == AspectRatio(horizontal: 2, vertical: 1))
    let size = PixelSize(width: 160, height: 120)
    let frame = PackedFrame(
      try fixture.frame(fixture.task([.clip(try fixture.clip(source, fit: .none))], size: size)), size)
    #expect(frame[0, 19, 60] == 16 && frame[0, 20, 60] == 235 && frame[0, 139, 60] == 235 && frame[0, 140, 60] == 16)
    #expect(frame[0, 80, 13] == 16 && frame[0, 80, 14] == 235 && frame[0, 80, 103] == 235 && frame[0, 80, 104] == 16)
  }
}
