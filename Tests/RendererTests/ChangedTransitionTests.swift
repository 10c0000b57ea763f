import CompositionModel
import Foundation
import Media
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

/// Transitions that change their pictures before they mix them: their definitions, by pictures that are changed alone.
@Suite struct ChangedTransitionTests {
  private static let size = PixelSize(width: 96, height: 64)
  /// None at which a placed picture consists of whole cells, whose chroma is then its own.
  private static let progresses = [0.1, 0.375, 0.52, 0.8]
  private static let whole = Rectangle(size)

  private static func second() throws -> MediaTimeRange {
    try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 1))
  }

  private static func frame(
    _ fixture: VideoFixture, _ layers: [PlannedLayer], _ format: PixelFormat, background: Color = .black
  ) throws -> [Int] {
    let task = fixture.task(
      layers, size: size, format: format, colour: CompositingTests.bt709, frameCount: 1, background: background)
    return CompositingTests.samples(try fixture.frame(task), format)
  }

  private static func transition(
    _ kind: TransitionKind, _ from: ClipLayer, _ to: ClipLayer, _ progress: Double
  ) throws -> PlannedLayer {
    .transition(
      from: from, to: to, progress: Ramp(over: try second(), from: progress, to: progress),
      style: TransitionStyle(kind), matte: nil)
  }

  private static func noise(_ fixture: inout VideoFixture, _ format: PixelFormat, seed: UInt64) throws -> Int {
    try fixture.make(
      "\(seed).mov", raw: CompositingTests.noise(size, format, count: 1, seed: seed), format: FrameFormat(format).name,
      width: size.width, height: size.height, ["-c:v", "ffv1"])
  }

  private static func worst(_ made: [Int], _ right: [Double]) -> Double {
    zip(made, right).reduce(0) { max($0, abs(Double($1.0) - $1.1)) }
  }

  /// Each side is rounded, and then their mix.
  @Test(arguments: [PixelFormat.yuv420p, .yuv444p10])
  func `blurs and blocks are a dissolve of filtered pictures`(format: PixelFormat) throws {
    var fixture = try VideoFixture()
    let (a, b) = (try Self.noise(&fixture, format, seed: 1), try Self.noise(&fixture, format, seed: 2))
    for progress in Self.progresses {
      // The frame's shorter side is 64 pixels.
      let middle = (progress < 0.5 ? 2 * progress : 2 - 2 * progress) * 64
      let cases: [(TransitionKind, Filter<RampList>)] = [
        (.blur(amount: 0.05), .blur(radius: try .constant(0.05 * middle))),
        (.pixelate(amount: 0.25), .pixelate(size: try .constant(0.25 * middle))),
      ]
      for (kind, filter) in cases {
        let made = try Self.frame(
          fixture, [try Self.transition(kind, fixture.clip(a), fixture.clip(b), progress)], format)
        let sides = try [a, b].map { source in
          var clip = try fixture.clip(source)
          clip.filters = [filter]
          return try Self.frame(fixture, [.clip(clip)], format)
        }
        let right = zip(sides[0], sides[1]).map { (1 - progress) * Double($0) + progress * Double($1) }
        #expect(Self.worst(made, right) <= 0.51, "\(kind) at \(progress): \(Self.worst(made, right))")
      }
    }
  }

  /// Two layers that are placed: the upper one has an opacity. The weights of chroma at an edge are rounded twice.
  @Test(arguments: [PixelFormat.yuv420p, .yuv444p10])
  func `a zoom and a spin are placed pictures`(format: PixelFormat) throws {
    var fixture = try VideoFixture()
    let (a, b) = (try Self.noise(&fixture, format, seed: 3), try Self.noise(&fixture, format, seed: 4))
    func placed(_ source: Int, _ turn: TransformComponents, opacity: Double) throws -> PlannedLayer {
      var clip = try fixture.clip(source, opacity: try .constant(opacity))
      clip.geometry = LayerGeometry(transform: .turn(.constant(turn)))
      return .clip(clip)
    }
    for progress in Self.progresses {
      let half = (1 + progress) / 2
      let turn = 360 * progress
      let cases: [(TransitionKind, [PlannedLayer])] = [
        (
          .zoom,
          [
            try placed(b, TransformComponents(scaleX: half, scaleY: half), opacity: progress),
            try placed(a, TransformComponents(scaleX: 1 + progress, scaleY: 1 + progress), opacity: 1),
          ]
        ),
        (
          .spin,
          [
            try placed(b, TransformComponents(rotation: turn, scaleX: progress, scaleY: progress), opacity: 1),
            .clip(try fixture.clip(a)),
          ]
        ),
      ]
      for (kind, layers) in cases {
        let made = try Self.frame(
          fixture, [try Self.transition(kind, fixture.clip(a), fixture.clip(b), progress)], format)
        let right = try Self.frame(fixture, layers, format).map(Double.init)
        #expect(Self.worst(made, right) <= 1.01, "\(kind) at \(progress): \(Self.worst(made, right))")
      }
    }
  }

  /// What part of a pixel is within B's frame, by 32x32 points.
  private static func covered(_ x: Int, _ y: Int, scale: Double, degrees: Double) -> Double {
    let (cosine, sine) = (cos(degrees * .pi / 180), sin(degrees * .pi / 180))
    var count = 0
    for row in 0..<32 {
      for column in 0..<32 {
        let (dx, dy) = (Double(x) - 48 + (Double(column) + 0.5) / 32, Double(y) - 32 + (Double(row) + 0.5) / 32)
        let across: Double = dx * cosine + dy * sine
        let down: Double = dy * cosine - dx * sine
        if abs(across) < 48 * scale && abs(down) < 32 * scale { count += 1 }
      }
    }
    return Double(count) / 1024
  }

  /// Plain colours, where nothing but the share of each pixel decides.
  @Test func `the share of B is the part of a pixel that its frame covers`() throws {
    var fixture = try VideoFixture()
    func plain(_ name: String, _ colour: String) throws -> Int {
      try fixture.make(
        name, ["-f", "lavfi", "-i", "color=\(colour):s=96x64,format=rgb24", "-frames:v", "1"])
    }
    let (a, b) = (try plain("a.png", "0x404040"), try plain("b.png", "0xe0e0e0"))
    let (ofA, ofB) = (
      try Self.frame(fixture, [.clip(fixture.clip(a))], .yuv444p)[0],
      try Self.frame(fixture, [.clip(fixture.clip(b))], .yuv444p)[0]
    )
    for progress in Self.progresses.spread(2) {
      for kind in [TransitionKind.zoom, .spin] {
        let (scale, degrees, most) = kind == .zoom ? ((1 + progress) / 2, 0, progress) : (progress, 360 * progress, 1)
        let made = try Self.frame(
          fixture, [try Self.transition(kind, fixture.clip(a), fixture.clip(b), progress)], .yuv444p)
        var right: [Double] = []
        for y in 0..<64 {
          for x in 0..<96 {
            let share = most * Self.covered(x, y, scale: scale, degrees: degrees)
            right.append((1 - share) * Double(ofA) + share * Double(ofB))
          }
        }
        let worst = Self.worst(Array(made.prefix(96 * 64)), right)
        #expect(worst <= 3, "\(kind) at \(progress): \(worst)")
      }
    }
  }

  /// Sides that do not cover the frame, over one colour: the filter of a side is that of what it shows over it.
  @Test(arguments: [TransitionKind.blur(amount: 0.08), .pixelate(amount: 0.3)])
  func `what a changed side does not cover shows what is below`(kind: TransitionKind) throws {
    var fixture = try VideoFixture()
    let narrow = PixelSize(width: 64, height: 64)
    let a = try fixture.make(
      "a.mov", raw: CompositingTests.noise(narrow, .yuv444p, count: 1, seed: 3), format: "yuv444p", width: 64,
      height: 64, ["-c:v", "ffv1"])
    var rgba = [UInt8](repeating: 255, count: 96 * 64 * 4)
    for pixel in 0..<(96 * 64) { rgba[4 * pixel + 3] = UInt8(pixel % 96 * 2) }
    let b = try fixture.make("b.png", raw: rgba, format: "rgba", width: 96, height: 64)
    let background = Color(red: 200, green: 40, blue: 90)
    func frame(_ layers: [PlannedLayer]) throws -> [Int] {
      try Self.frame(fixture, layers, .yuv444p, background: background)
    }
    let (from, to) = (try fixture.clip(a, opacity: .constant(0.6)), try fixture.clip(b))
    let sides = try [from, to].map { try frame([.clip($0)]) }
    for progress in [0.25, 0.5, 0.875] {
      let middle = (progress < 0.5 ? 2 * progress : 2 - 2 * progress) * 64
      let changed = sides.map { side in
        var reference = FilterReference(side, Self.size, .yuv444p)
        if case .blur(let amount) = kind { reference.blur(amount * middle) }
        if case .pixelate(let amount) = kind { reference.mosaic(amount * middle) }
        return reference.codes
      }
      let made = try frame([try Self.transition(kind, from, to, progress)])
      let right = zip(changed[0], changed[1]).map { (1 - progress) * $0 + progress * $1 }
      #expect(Self.worst(made, right) <= 1.6, "\(kind) at \(progress): \(Self.worst(made, right))")
    }
  }

  /// A's frame, twice as large at the end, and B's, which is transparent to the left, over one colour.
  @Test func `a zoom of pictures that do not cover the frame shows what is below`() throws {
    var fixture = try VideoFixture()
    let a = try fixture.make(
      "a.png", ["-f", "lavfi", "-i", "color=0x404040:s=64x64,format=rgb24", "-frames:v", "1"])
    var rgba = [UInt8](repeating: 255, count: 96 * 64 * 4)
    for pixel in 0..<(96 * 64) { rgba[4 * pixel + 3] = pixel % 96 < 48 ? 0 : 255 }
    let b = try fixture.make("b.png", raw: rgba, format: "rgba", width: 96, height: 64)
    let background = Color(red: 120, green: 120, blue: 120)
    func luma(_ layers: [PlannedLayer]) throws -> [Int] {
      Array(try Self.frame(fixture, layers, .yuv444p, background: background).prefix(96 * 64))
    }
    let (from, to) = (try fixture.clip(a), try fixture.clip(b))
    let (ofA, ofB, below) = (try luma([.clip(from)])[48], try luma([.clip(to)])[80], try luma([.clip(from)])[0])
    let made = try luma([try Self.transition(.zoom, from, to, 0.25)])
    // A is 80 pixels wide, B's frame 60 by 40, and its right half is white.
    let quarter: (Int, Int) -> Double = { 0.75 * Double($0) + 0.25 * Double($1) }
    for (x, y, right) in [
      (2, 32, Double(below)), (14, 32, Double(ofA)), (93, 2, Double(below)), (48, 6, Double(ofA)),
      (30, 32, quarter(ofA, below)), (44, 32, quarter(ofA, below)), (52, 32, quarter(ofA, ofB)),
      (70, 50, quarter(ofA, ofB)), (82, 32, Double(ofA)),
    ] {
      #expect(abs(Double(made[y * 96 + x]) - right) <= 1, "at \(x), \(y)")
    }
  }
}
