import CompositionModel
import Foundation
import Media
import RenderTasks
import Segmenter
import TestMedia
import TestPrograms
import Testing

@testable import Renderer

/// Round corners, borders and shadows, beside a picture that is computed from their definitions.
@Suite struct LayerDecorationTests {
  private static let film = PixelSize(width: 96, height: 72)
  /// Luma, 0 to 1, of what is behind the picture, of the picture, and of the border. Each is a whole code of the film.
  private static let (background, picture, border) = (170.0 / 255, 1.0, 85.0 / 255)

  struct Case: Sendable, CustomTestStringConvertible {
    var frame: Rectangle
    var decoration: LayerDecoration
    var turn = TransformComponents()

    var testDescription: String { "\(frame) \(decoration) \(turn.rotation)" }
  }

  private static let grey = Color(red: 85, green: 85, blue: 85)
  private static let cases = [
    Case(frame: Rectangle(x: 20, y: 16, width: 50, height: 40), decoration: LayerDecoration(cornerRadius: 11)),
    Case(
      frame: Rectangle(x: 20, y: 16, width: 50, height: 40),
      decoration: LayerDecoration(border: LayerBorder(width: 3, color: grey))),
    Case(
      frame: Rectangle(x: 20.5, y: 15.25, width: 47, height: 39.5),
      decoration: LayerDecoration(cornerRadius: 100, border: LayerBorder(width: 4.5, color: grey))),
    Case(
      frame: Rectangle(x: 24, y: 18, width: 40, height: 30),
      decoration: LayerDecoration(
        cornerRadius: 7.3, border: LayerBorder(width: 2, color: grey),
        shadow: TextShadow(x: 3, y: 5, blur: 6, color: Color(red: 0, green: 0, blue: 0, alpha: 200))),
      turn: TransformComponents(rotation: 23, scaleX: 1.2, scaleY: 1.2)),
    // Half of it is outside of the film, and its shadow falls into it.
    Case(
      frame: Rectangle(x: -30, y: 20, width: 40, height: 30),
      decoration: LayerDecoration(
        cornerRadius: 5, shadow: TextShadow(x: 9, y: -4, blur: 8, color: Color(red: 0, green: 0, blue: 0)))),
    Case(
      frame: Rectangle(x: 30, y: 20, width: 40, height: 30),
      decoration: LayerDecoration(shadow: TextShadow(x: -4, y: 6, blur: 0))),
  ]

  private static func edit(_ test: Case) throws -> Edit {
    let range = try MediaTimeRange(start: .zero, end: MediaTime(seconds: 1))
    func track(_ id: TrackID) throws -> CompositionTrack {
      CompositionTrack(
        id: id, type: .video,
        clips: [Clip(asset: id, sourceTrack: 0, source: MediaTimeRange(emptyAt: .zero), target: range)])
    }
    var layer = TrackLayer(track: "white", fit: .fill)
    layer.geometry = LayerGeometry(
      crop: nil, frame: .constant(test.frame), transform: .turn(.constant(test.turn)))
    layer.decoration = test.decoration
    return Edit(
      composition: Composition(tracks: [try track("white"), try track("back")]),
      videoComposition: VideoComposition(
        renderSize: film, frameDuration: MediaTime(value: 1, timescale: 2),
        instructions: [
          Instruction(
            over: range, background: .black, layers: [.track(layer), .track(TrackLayer(track: "back", fit: .fill))])
        ]),
      audioMix: AudioMix(),
      export: .losslessPictures)
  }

  private static func frame(_ edit: Edit) throws -> PackedFrame {
    let folder = try TemporaryFolder()
    var assets: [AssetID: PlannedAsset] = [:]
    var inputs: [String: any ByteSource] = [:]
    for (id, color) in [("white", "0xffffff"), ("back", "0xaaaaaa")] {
      let path = folder.path("\(id).png")
      _ = try Tool.ffmpeg([
        "-f", "lavfi", "-i", "color=\(color):size=16x16,format=rgb24", "-frames:v", "1", path,
      ])
      assets[id] = PlannedAsset(description: try AssetProbe.probe(openSource(path), name: path), digest: id)
      inputs[id] = try openSource(path)
    }
    let plan = try RenderPlanner.plan(edit, assets: assets, segmentDuration: MediaTime(seconds: 10))
    let maker = try FrameMaker(try #require(plan.segments.first).task, inputs: inputs)
    return PackedFrame(try maker.frame(0).packed, film, .yuv444p)
  }

  /// The part of a pixel that is inside a rounded rectangle, which is smaller by `inset`, by 16 x 16 points.
  private static func coverage(_ test: Case, inset: Double, radius: Double, x: Int, y: Int) -> Double {
    let frame = test.frame
    let (width, height) = (frame.width - 2 * inset, frame.height - 2 * inset)
    guard width > 0, height > 0 else { return 0 }
    let radius = max(0, min(radius, width / 2, height / 2))
    let angle = -test.turn.rotation * .pi / 180
    let (cosine, sine) = (cos(angle), sin(angle))
    let middle = (x: frame.x + frame.width / 2, y: frame.y + frame.height / 2)
    var inside = 0
    for row in 0..<16 {
      for column in 0..<16 {
        let (dx, dy) = (
          Double(x) + (Double(column) + 0.5) / 16 - middle.x, Double(y) + (Double(row) + 0.5) / 16 - middle.y
        )
        let (u, v) = (
          abs(dx * cosine - dy * sine) / test.turn.scaleX,
          abs(dx * sine + dy * cosine) / test.turn.scaleY
        )
        let (across, down) = (u - (width / 2 - radius), v - (height / 2 - radius))
        let isInside =
          across > 0 && down > 0 && radius > 0
          ? across * across + down * down <= radius * radius : u <= width / 2 && v <= height / 2
        if isInside { inside += 1 }
      }
    }
    return Double(inside) / 256
  }

  /// The first is a part of others.
  @Test(arguments: TestExtent.of(Array(cases.dropFirst()), whole: cases))
  func `what is around a picture is its definition`(_ test: Case) throws {
    let made = try Self.frame(Self.edit(test))
    let radius = test.decoration.cornerRadius ?? 0
    let width = test.decoration.border?.width ?? 0
    // The shadow of a place beyond the film is needed too.
    let margin = 40
    let (columns, rows) = (Self.film.width + 2 * margin, Self.film.height + 2 * margin)
    let outer = (0..<rows).map { y in
      (0..<columns).map { x in
        Self.coverage(test, inset: 0, radius: radius, x: x - margin, y: y - margin)
      }
    }
    let deviation = (test.decoration.shadow?.blur ?? 0) / 2
    let weights = (-15...15).map { distance in
      deviation == 0 ? (distance == 0 ? 1 : 0) : exp(-Double(distance * distance) / (2 * deviation * deviation))
    }
    let total = weights.reduce(0, +)
    func shadow(_ x: Int, _ y: Int) -> Double {
      guard let shadow = test.decoration.shadow else { return 0 }
      var sum = 0.0
      for (row, down) in weights.enumerated() {
        for (column, across) in weights.enumerated() where down * across > 0 {
          let (from, above) = (x + margin - shadow.x + column - 15, y + margin - shadow.y + row - 15)
          guard (0..<columns).contains(from), (0..<rows).contains(above) else { continue }
          sum += outer[above][from] * down * across
        }
      }
      return sum / (total * total) * Double(shadow.color.alpha) / 255
    }
    var (sum, worst) = (0.0, 0.0)
    for y in 0..<Self.film.height {
      for x in 0..<Self.film.width {
        let inner = width == 0 ? 1 : Self.coverage(test, inset: width, radius: radius - width, x: x, y: y)
        let group = Self.picture * inner + Self.border * (1 - inner)
        let below = Self.background * (1 - shadow(x, y))
        let seen = outer[y + margin][x + margin]
        let right = 16 + 219 * (group * seen + below * (1 - seen))
        let difference = abs(Double(made[0, x, y]) - right)
        (sum, worst) = (sum + difference, max(worst, difference))
      }
    }
    // A pixel of an edge has up to 16 of 219 levels by the points that its coverage is counted with here.
    #expect(worst <= 6)
    #expect(sum / Double(Self.film.width * Self.film.height) < 0.1)
  }

  @Test func `a layer without anything around it is the same layer`() throws {
    var plain = Self.cases[0]
    plain.decoration = LayerDecoration()
    var none = try Self.edit(plain)
    guard case .track(var layer) = none.videoComposition.instructions[0].layers[0] else { return }
    layer.decoration = nil
    none.videoComposition.instructions[0].layers[0] = .track(layer)
    #expect(try Self.frame(Self.edit(plain)).bytes == Self.frame(none).bytes)
  }
}
