import CompositionModel
import Foundation
import Media
import RenderTasks
import Testing

@testable import Renderer

/// The time of single operations, for Benchmarks/operations. Nothing is checked.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["SHEAF_OPERATIONS"] != nil))
struct OperationTimes {
  /// CPU seconds of this thread.
  private static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static let size = PixelSize(width: 1920, height: 1080)

  /// Prints the milliseconds of CPU for a frame of a 1080p film that shows one 1080p picture with changing geometry.
  private static func time(_ name: String, _ transform: LayerTransform?, _ frame: ValueRampList<Rectangle>?) throws {
    var fixture = try VideoFixture()
    let source = try fixture.make(
      "still.png", ["-f", "lavfi", "-i", "testsrc2=size=1920x1080", "-frames:v", "1", "-pix_fmt", "rgb24"])
    var clip = try fixture.clip(source, frames: 0..<61)
    clip.geometry = LayerGeometry(frame: frame, transform: transform)
    let task = fixture.task([.clip(clip)], size: size, colour: ColourTags(matrix: "bt709"), frameCount: 61)
    let maker = try FrameMaker(task, inputs: fixture.inputs)
    // The first frame decodes and converts the still.
    _ = try maker.frame(0)
    let start = now
    for index in 1...60 { _ = try maker.frame(index) }
    print("operation \(name) \((now - start) / 60 * 1000)")
  }

  /// Filters whose parameters change, a mask and a text that moves, as `CostModel` has them.
  @Test func `filters, masks and overlays`() throws {
    let over = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 3))
    func time(_ name: String, _ change: (inout ClipLayer, inout [PlannedOverlay], inout VideoFixture) throws -> Void)
      throws
    {
      var fixture = try VideoFixture()
      let source = try fixture.make(
        "still.png", ["-f", "lavfi", "-i", "testsrc2=size=1920x1080", "-frames:v", "1", "-pix_fmt", "rgb24"])
      var clip = try fixture.clip(source, frames: 0..<31)
      var overlays: [PlannedOverlay] = []
      try change(&clip, &overlays, &fixture)
      let task = fixture.task(
        [.clip(clip)], size: Self.size, colour: ColourTags(matrix: "bt709"), frameCount: 31, overlays: overlays)
      let maker = try FrameMaker(task, inputs: fixture.inputs)
      _ = try maker.frame(0)
      let start = Self.now
      for index in 1...30 { _ = try maker.frame(index) }
      print("operation \(name) \((Self.now - start) / 30 * 1000)")
    }
    for kind in FilterKind.allCases where kind != .lut {
      try time(kind.rawValue) { clip, _, _ in
        let values = kind.parameters.enumerated().map { index, parameter in
          let from = parameter.standard ?? 0.8
          return RampList([Ramp(over: over, from: from, to: index == 0 ? from * 0.7 : from)])
        }
        clip.filters = [Filter(kind, values, color: Color(red: 0, green: 255, blue: 0))]
      }
    }
    for name in ["mask", "fade"] {
      try time(name) { clip, _, fixture in
        if name == "mask" {
          let mask = try fixture.make(
            "mask.png", ["-f", "lavfi", "-i", "testsrc2=size=1920x1080", "-frames:v", "1", "-pix_fmt", "rgba"])
          clip.mask = PlannedMask(source: mask, channel: .luma, isInverted: false)
        }
        clip.opacity = RampList([Ramp(over: over, from: 0, to: 1)])
        clip.geometry = LayerGeometry(
          transform: .turn(try Self.ramp(TransformComponents(), TransformComponents(x: 90.5))))
      }
    }
    try time("text") { _, overlays, fixture in
      let text = StyledText(text: "A title of the film", size: 100)
      try fixture.add(text)
      var overlay = PlannedOverlay(
        content: try fixture.content(text), frames: [0..<31], placement: .anchor(.center, inset: 0), opacity: 1,
        ramps: .one)
      overlay.geometry = LayerGeometry(
        transform: .turn(try Self.ramp(TransformComponents(), TransformComponents(x: 90.5))))
      overlays = [overlay]
    }
  }

  private static func ramp<Value>(_ from: Value, _ to: Value) throws -> ValueRampList<Value> {
    let over = try MediaTimeRange(start: .zero, duration: MediaTime(seconds: 3))
    return ValueRampList([ValueRamp(over: over, from: from, to: to)])
  }

  @Test func geometry() throws {
    try Self.time(
      "rotate", .turn(Self.ramp(TransformComponents(rotation: 10), TransformComponents(rotation: 40))), nil)
    try Self.time(
      "rotate-and-scale",
      .turn(
        Self.ramp(
          TransformComponents(rotation: 10, scaleX: 1.1, scaleY: 1.1),
          TransformComponents(rotation: 40, scaleX: 1.3, scaleY: 1.3))),
      nil)
    try Self.time(
      "rotate-and-shrink",
      .turn(
        Self.ramp(
          TransformComponents(rotation: 10, scaleX: 0.7, scaleY: 0.7),
          TransformComponents(rotation: 40, scaleX: 0.6, scaleY: 0.6))),
      nil)
    try Self.time(
      "zoom", nil,
      Self.ramp(
        Rectangle(x: 0, y: 0, width: 1920, height: 1080), Rectangle(x: -300, y: -200, width: 2560, height: 1440)))
    try Self.time(
      "picture-in-picture", nil,
      Self.ramp(
        Rectangle(x: 100, y: 60, width: 640, height: 360), Rectangle(x: 900, y: 600, width: 640, height: 360)))
    try Self.time(
      "turned-picture-in-picture",
      .turn(
        Self.ramp(
          TransformComponents(rotation: 10, scaleX: 0.3, scaleY: 0.3),
          TransformComponents(rotation: 40, scaleX: 0.3, scaleY: 0.3))),
      nil)
  }
}
