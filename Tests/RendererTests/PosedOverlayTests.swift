import CompositionModel
import Foundation
import Media
import RenderTasks
import Segmenter
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Overlays that are transformed, cropped and filtered in their place.
@Suite struct PosedOverlayTests {
  static let size = PixelSize(width: 96, height: 64)

  private static func frame(
    _ fixture: VideoFixture, _ content: PlannedOverlayContent, _ placement: OverlayPlacement,
    _ geometry: LayerGeometry? = nil, filters: [Filter<RampList>]? = nil, mode: BlendMode? = nil
  ) throws -> PackedFrame {
    var overlay = PlannedOverlay(
      content: content, frames: [0..<1], placement: placement, opacity: 0.8, ramps: .one, blendMode: mode)
    (overlay.geometry, overlay.filters) = (geometry, filters)
    let task = fixture.task(
      [], size: size, colour: ColourTags(matrix: "bt709"), frameCount: 1,
      background: Color(red: 40, green: 90, blue: 140), overlays: [overlay])
    return PackedFrame(try fixture.frame(task), size)
  }

  private static func turn(_ turn: TransformComponents) -> LayerGeometry {
    LayerGeometry(transform: .turn(.constant(turn)))
  }

  private static func difference(_ a: PackedFrame, _ b: PackedFrame) -> Int {
    zip(a.bytes, b.bytes).map { abs(Int($0) - Int($1)) }.max() ?? 0
  }

  /// A text, a picture and a video that are moved by whole pixels are those that were placed there.
  @Test(arguments: ["text", "image", "video"], [nil, BlendMode.multiply])
  func `a translation moves an overlay`(kind: String, mode: BlendMode?) throws {
    var fixture = try VideoFixture()
    let content: PlannedOverlayContent
    switch kind {
    case "text":
      let text = StyledText(text: "Sheaf", size: 20, color: Color(red: 200, green: 10, blue: 30))
      try fixture.add(text)
      content = try fixture.content(text)
    case "image":
      content = .image(source: try OverlayTests.image(&fixture, width: 22, height: 14).index, width: nil, height: nil)
    default:
      let source = try fixture.make(
        "small.mov", ["-f", "lavfi", "-i", "testsrc2=size=22x14:rate=30:duration=0.1", "-c:v", "ffv1"])
      content = .video(
        PlannedOverlayVideo(
          source: source, sourceRange: try MediaTimeRange(start: .zero, duration: MediaTime(value: 1, timescale: 30)),
          start: .zero))
    }
    let moved = try Self.frame(
      fixture, content, .point(x: 8, y: 12), Self.turn(TransformComponents(x: 14, y: 6)), mode: mode)
    let placed = try Self.frame(fixture, content, .point(x: 22, y: 18), mode: mode)
    #expect(Self.difference(moved, placed) <= 1)
    #expect(Self.difference(moved, try Self.frame(fixture, content, .point(x: 8, y: 12), mode: mode)) > 20)
  }

  @Test func `a quarter turn is about the overlay's centre`() throws {
    var fixture = try VideoFixture()
    let (index, rgba) = try OverlayTests.image(&fixture, width: 20, height: 12)
    var turned: [UInt8] = []
    for y in 0..<20 {
      for x in 0..<12 {
        let at = ((11 - x) * 20 + y) * 4
        turned += rgba[at..<(at + 4)]
      }
    }
    let upright = try fixture.make("turned.png", raw: turned, format: "rgba", width: 12, height: 20)
    // The centre of both is at (40, 30).
    let made = try Self.frame(
      fixture, .image(source: index, width: nil, height: nil), .point(x: 30, y: 24),
      Self.turn(TransformComponents(rotation: 90)))
    let right = try Self.frame(fixture, .image(source: upright, width: nil, height: nil), .point(x: 34, y: 20))
    #expect(Self.difference(made, right) <= 1)
  }

  /// A crop cuts off what is outside of it and moves nothing.
  @Test func `a crop shows a part in its place`() throws {
    var fixture = try VideoFixture()
    let white = try fixture.make(
      "white.png", ["-f", "lavfi", "-i", "color=white:size=40x20", "-frames:v", "1", "-pix_fmt", "rgb24"])
    let content = PlannedOverlayContent.image(source: white, width: 80, height: 40)
    let crop = LayerGeometry(crop: .constant(Rectangle(x: 10, y: 5, width: 10, height: 100)))
    let made = try Self.frame(fixture, content, .point(x: 8, y: 12), crop)
    let background = made[0, 0, 0]
    for y in 0..<64 {
      for x in 0..<96 {
        let isInside = (28..<48).contains(x) && (22..<52).contains(y)
        #expect((made[0, x, y] > background + 20) == isInside, "at \(x), \(y)")
      }
    }
  }

  /// A blurred text becomes wider than its letters, and has the same sum of light.
  @Test func `a blur of a text extends beyond its letters`() throws {
    var fixture = try VideoFixture()
    let text = StyledText(text: "I", isBold: true, size: 30)
    try fixture.add(text)
    let content = try fixture.content(text)
    func light(_ filters: [Filter<RampList>]?) throws -> (sum: Int, columns: Int) {
      let frame = try Self.frame(fixture, content, .anchor(.center, inset: 0), filters: filters)
      let background = frame[0, 0, 0]
      let columns = (0..<96).map { (x: Int) -> Int in
        (0..<64).reduce(0) { (sum: Int, y: Int) -> Int in sum + frame[0, x, y] - background }
      }
      return (columns.reduce(0, +), columns.count { $0 > 3 })
    }
    let sharp = try light(nil)
    for radius in [3.0, 8] {
      let soft = try light([.blur(radius: try .constant(radius))])
      #expect(soft.columns > sharp.columns + Int(2 * radius))
      #expect(abs(soft.sum - sharp.sum) < sharp.sum / 20, "\(soft.sum) of \(sharp.sum)")
    }
  }

  /// However a film is cut, a moving overlay is where its ramps put it.
  @Test func `a moving overlay depends on its time alone`() throws {
    let folder = try TemporaryFolder()
    let path = folder.path("a.png")
    _ = try Tool.ffmpeg(["-f", "lavfi", "-i", "testsrc2=size=48x32:rate=30", "-frames:v", "1", path])
    let description = try AssetProbe.probe(openSource(path), name: path)
    let frame = MediaTime(value: 1, timescale: 30)
    func range(_ frames: Range<Int>) throws -> MediaTimeRange {
      try MediaTimeRange(start: frame * Rational(frames.lowerBound), duration: frame * Rational(frames.count))
    }
    var overlay = Overlay(
      content: .image(asset: "a", width: 40, height: nil), over: try range(3..<28), placement: .point(x: 10, y: 10))
    overlay.geometry = LayerGeometry(
      crop: ValueRampList([
        ValueRamp(
          over: try range(5..<12), from: Rectangle(x: 0, y: 0, width: 1, height: 32),
          to: Rectangle(x: 0, y: 0, width: 48, height: 32))
      ]),
      transform: .turn(
        ValueRampList([
          ValueRamp(
            over: try range(6..<22), from: TransformComponents(x: -20.5),
            to: TransformComponents(rotation: 50, scaleX: 1.3, y: 9.25),
            easing: .easeInOut)
        ])))
    overlay.filters = [.blur(radius: RampList([Ramp(over: try range(0..<30), from: 0, to: 3)]))]
    let second = try range(0..<30)
    let edit = Edit(
      composition: Composition(tracks: [
        CompositionTrack(
          id: "A", type: .video,
          clips: [Clip(asset: "a", sourceTrack: 0, source: try range(0..<0), target: second)])
      ]),
      videoComposition: VideoComposition(
        renderSize: Self.size, frameDuration: frame,
        instructions: [
          Instruction(over: second, background: .black, layers: [.track(TrackLayer(track: "A"))])
        ], overlays: [overlay]), audioMix: AudioMix(),
      export: ExportSettings(
        path: "a.mov", container: .mov,
        video: VideoSettings(
          codec: .ffv1, rateControl: .lossless, preset: nil, profile: nil, keyframeInterval: 30,
          pixelFormat: .yuv420p, colour: ColourTags(matrix: "bt709")),
        audio: nil))
    let inputs: [String: any ByteSource] = ["digest": try openSource(path)]
    func frames(_ segmentDuration: MediaTime) throws -> [[UInt8]] {
      try RenderPlanner.plan(
        edit, assets: ["a": PlannedAsset(description: description, digest: "digest")],
        segmentDuration: segmentDuration
      ).segments.flatMap { segment in
        let maker = try FrameMaker(segment.task, inputs: inputs)
        return try (0..<segment.task.frameCount).map { try maker.frame($0).packed }
      }
    }
    let whole = try frames(MediaTime(seconds: 10))
    #expect(whole.count == 30 && Set(whole).count >= 20)
    #expect(whole[0] == whole[2] && whole[0] == whole[29])
    #expect(try frames(MediaTime(value: 1, timescale: 6)) == whole)
  }

  /// Colours that are stored multiplied by alpha are not multiplied again.
  @Test(arguments: [16, 64, 100, 128, 192, 239, 255]) func `premultiplied colours are used as they are`(alpha: Int)
    throws
  {
    var fixture = try VideoFixture()
    // White, straight and premultiplied.
    func source(_ name: String, _ level: Int) throws -> Int {
      try fixture.make(
        name,
        [
          "-f", "lavfi", "-i", "color=white:size=16x16,format=rgba,geq=r=\(level):g=\(level):b=\(level):a=\(alpha)",
          "-frames:v", "1",
        ])
    }
    let (straight, multiplied) = (try source("straight.png", 255), try source("multiplied.png", alpha))
    fixture.change(multiplied) { $0.alpha = .premultiplied }
    let frames = try [straight, multiplied].map {
      try Self.frame(fixture, .image(source: $0, width: nil, height: nil), .point(x: 20, y: 20))
    }
    #expect(Self.difference(frames[0], frames[1]) <= 1)
    let (below, share) = (frames[0][0, 0, 0], 0.8 * Double(alpha) / 255)
    #expect(abs(Double(frames[1][0, 24, 24]) - (share * 235 + (1 - share) * Double(below))) <= 1)
  }
}
