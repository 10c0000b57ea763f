import CompositionModel
import Foundation
import Media
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

@Suite struct OverlayTests {
  static let size = PixelSize(width: 98, height: 62)

  /// A PNG with random colours and alpha, partly transparent, opaque and fully transparent.
  static func image(_ fixture: inout VideoFixture, width: Int, height: Int) throws -> (index: Int, rgba: [UInt8]) {
    var generator = SeededRandom(seed: 11)
    var rgba: [UInt8] = []
    for index in 0..<(width * height) {
      for _ in 0..<3 { rgba.append(.random(in: 0...255, using: &generator)) }
      rgba.append([0, 255, .random(in: 0...255, using: &generator)][(index / 5) % 3])
    }
    return (try fixture.make("logo.png", raw: rgba, format: "rgba", width: width, height: height), rgba)
  }

  private static let images: [(PixelFormat, (x: Int, y: Int))] = {
    let formats = [PixelFormat.yuv420p, .yuv422p, .yuv444p]
    let places = [(x: 10, y: 8), (x: 11, y: 7), (x: -5, y: -3), (x: 80, y: 51)]
    let few = places.enumerated().map { (formats[$0 % 3], $1) }
    return TestExtent.of(few, whole: formats.flatMap { format in places.map { (format, $0) } })
  }()

  /// An image at its own size at any place, even or odd, within the frame or half outside: luma and chroma against the
  /// blend computed in Double. Chroma is made from premultiplied colours and coverages: across from the pixel at which
  /// it lies and its neighbours, down as the mean of its cell.
  @Test(arguments: images)
  func `an image is the exact blend`(format: PixelFormat, place: (x: Int, y: Int)) throws {
    var fixture = try VideoFixture()
    let (width, height) = (37, 23)
    let (logo, rgba) = try Self.image(&fixture, width: width, height: height)
    let noise = CompositingTests.noise(Self.size, format, count: 1, seed: 12)
    let below = try fixture.make(
      "below.mov", raw: noise, format: FrameFormat(format).name, width: Self.size.width, height: Self.size.height,
      ["-c:v", "ffv1"])
    let opacity = 0.7
    let overlay = PlannedOverlay(
      content: .image(source: logo, width: nil, height: nil), frames: [0..<30],
      placement: .point(x: place.x, y: place.y), opacity: opacity, ramps: .one)
    let task = fixture.task(
      [.clip(try fixture.clip(below))], size: Self.size, format: format, colour: ColourTags(matrix: "bt709"),
      overlays: [overlay])
    let made = PackedFrame(try fixture.frame(task), Self.size, format)
    let under = PackedFrame(noise, Self.size, format)

    /// Premultiplied luma, Cb, Cr and coverage of a pixel of the frame.
    func over(_ x: Int, _ y: Int) -> [Double] {
      // Beyond the frame's edges the picture goes on as it is there.
      let (x, y) = (min(Self.size.width - 1, max(0, x)) - place.x, min(Self.size.height - 1, y) - place.y)
      guard x >= 0, y >= 0, x < width, y < height else { return [0, 0, 0, 0] }
      let at = (y * width + x) * 4
      let (r, g, b) = (Double(rgba[at]), Double(rgba[at + 1]), Double(rgba[at + 2]))
      let alpha = Double(rgba[at + 3]) / 255
      let luma = 0.2126 * r + 0.7152 * g + 0.0722 * b
      return [
        alpha * (16 + 219 * luma / 255), alpha * (128 + 224 * (b - luma) / 1.8556 / 255),
        alpha * (128 + 224 * (r - luma) / 1.5748 / 255), alpha,
      ]
    }
    var worst = [0.0, 0.0, 0.0]
    for plane in 0..<3 {
      let cell = plane == 0 ? ChromaCell(.yuv444p) : made.cell
      let planeSize = plane == 0 ? Self.size : made.chroma
      for y in 0..<planeSize.height {
        for x in 0..<planeSize.width {
          let columns: [(Int, Double)] = cell.width > 1 ? [(-1, 0.25), (0, 0.5), (1, 0.25)] : [(0, 1)]
          var (colour, coverage) = (0.0, 0.0)
          for dy in 0..<cell.height {
            for (dx, weight) in columns {
              let pixel = over(x * cell.width + dx, y * cell.height + dy)
              colour += pixel[plane] * weight / Double(cell.height)
              coverage += pixel[3] * weight / Double(cell.height)
            }
          }
          let exact = opacity * colour + (1 - opacity * coverage) * Double(under[plane, x, y])
          worst[plane] = max(worst[plane], abs(Double(made[plane, x, y]) - exact))
        }
      }
    }
    #expect(worst.allSatisfy { $0 <= 0.55 }, "off by \(worst)")
  }

  @Test func `an image's size follows its shape`() {
    let own = PixelSize(width: 300, height: 100)
    #expect(own.overlaySize(width: nil, height: nil) == own)
    #expect(own.overlaySize(width: 100, height: nil) == PixelSize(width: 100, height: 33))
    #expect(own.overlaySize(width: nil, height: 50) == PixelSize(width: 150, height: 50))
    #expect(own.overlaySize(width: 10, height: 10) == PixelSize(width: 10, height: 10))
    #expect(own.overlaySize(width: 1, height: nil) == PixelSize(width: 1, height: 1))
  }

  @Test func `anchors touch the edges they name`() {
    let (size, frame) = (PixelSize(width: 20, height: 10), PixelSize(width: 101, height: 50))
    func origin(_ anchor: Anchor) -> [Int] {
      let place = OverlayPlacement.anchor(anchor, inset: 4).origin(of: size, in: frame)
      return [place.x, place.y]
    }
    #expect(origin(.topLeft) == [4, 4] && origin(.top) == [40, 4] && origin(.topRight) == [77, 4])
    #expect(origin(.left) == [4, 20] && origin(.center) == [40, 20] && origin(.right) == [77, 20])
    #expect(origin(.bottomLeft) == [4, 36] && origin(.bottom) == [40, 36] && origin(.bottomRight) == [77, 36])
    // Within a rectangle it is placed as in a frame of its size.
    for anchor in Anchor.allCases {
      let inFrame = OverlayPlacement.anchorInsets(anchor, x: 3, y: 5).origin(of: size, in: frame)
      let within = OverlayPlacement.within(PixelRect(x: -7, y: 40, size: frame), anchor, x: 3, y: 5)
      #expect(within.origin(of: size, in: PixelSize(width: 640, height: 360)) == (inFrame.x - 7, inFrame.y + 40))
      #expect(within.wrapWidth(of: StyledText(text: "a", size: 9), in: PixelSize(width: 640, height: 360)) == 95)
    }
    let place = OverlayPlacement.anchorInsets(.bottomRight, x: 30, y: 4)
    #expect(place.origin(of: size, in: frame) == (51, 36))
    // A text is wrapped between the insets from the left and the right edge.
    #expect(place.wrapWidth(of: StyledText(text: "a", size: 9), in: frame) == 41)
  }

  /// The colours of transparent pixels must have no effect where an image is scaled down: a white disc on transparent
  /// black is white to its edge.
  @Test func `scaling does not bleed hidden colours`() throws {
    var fixture = try VideoFixture()
    var rgba: [UInt8] = []
    for y in 0..<120 {
      for x in 0..<120 {
        let isInside = (x - 60) * (x - 60) + (y - 60) * (y - 60) < 50 * 50
        rgba += isInside ? [255, 255, 255, 255] : [0, 0, 0, 0]
      }
    }
    let disc = try fixture.make("disc.png", raw: rgba, format: "rgba", width: 120, height: 120)
    let overlay = PlannedOverlay(
      content: .image(source: disc, width: 31, height: nil), frames: [0..<30], placement: .point(x: 3, y: 3),
      opacity: 1, ramps: .one)
    // Over white, a white disc is invisible.
    let task = fixture.task(
      [], size: PixelSize(width: 64, height: 48), colour: ColourTags(matrix: "bt709"), background: .white,
      overlays: [overlay])
    let frame = try fixture.frame(task)
    #expect(frame.prefix(64 * 48).allSatisfy { $0 >= 234 })
    #expect(frame.dropFirst(64 * 48).allSatisfy { abs(Int($0) - 128) <= 1 })
    // Over black it is a disc.
    var dark = task
    dark.spans[0].background = .black
    let disc31 = PackedFrame(try fixture.frame(dark), PixelSize(width: 64, height: 48))
    #expect(disc31[0, 18, 18] == 235 && disc31[0, 4, 4] == 16 && disc31[0, 40, 40] == 16)
  }

  /// Scaling overshoots at edges. Within the picture its one colour must stay the same, without a brighter rim.
  @Test(arguments: [40, 150]) func `scaling leaves no rim`(width: Int) throws {
    var fixture = try VideoFixture()
    var rgba: [UInt8] = []
    for y in 0..<90 {
      for x in 0..<90 {
        let isInside = (x - 45) * (x - 45) + (y - 45) * (y - 45) < 35 * 35
        rgba += isInside ? [150, 150, 150, 255] : [0, 0, 0, 0]
      }
    }
    let disc = try fixture.make("disc.png", raw: rgba, format: "rgba", width: 90, height: 90)
    let overlay = PlannedOverlay(
      content: .image(source: disc, width: width, height: nil), frames: [0..<1], placement: .point(x: 2, y: 2),
      opacity: 1, ramps: .one)
    let size = PixelSize(width: 160, height: 160)
    let task = fixture.task([], size: size, colour: ColourTags(matrix: "bt709"), frameCount: 1, overlays: [overlay])
    let grey = 16 + Int((219.0 * 150 / 255).rounded())
    let frame = try fixture.frame(task)
    #expect(frame.prefix(160 * 160).allSatisfy { $0 <= grey + 1 } && frame.prefix(160 * 160).contains { $0 >= grey })
  }

  @Test func `overlays fade by their ramps`() throws {
    var fixture = try VideoFixture()
    let ramp = Ramp(
      over: try MediaTimeRange(start: .zero, duration: MediaTime(value: 10, timescale: 30)), from: 0, to: 1)
    let text = StyledText(text: "██████", size: 40)
    try fixture.add(text)
    let overlay = PlannedOverlay(
      content: try fixture.content(text), frames: [0..<20], placement: .anchor(.center, inset: 0), opacity: 0.7,
      ramps: RampList([ramp]))
    let size = PixelSize(width: 160, height: 90)
    let task = fixture.task([], size: size, colour: ColourTags(matrix: "bt709"), overlays: [overlay])
    let made = try fixture.frames(task).map { PackedFrame($0, size)[0, 80, 45] }
    for (index, luma) in made.enumerated() {
      let opacity = index < 20 ? 0.7 * min(1, Double(index) / 10) : 0
      #expect(abs(Double(luma) - (16 + 219 * opacity)) <= 0.55, "frame \(index)")
    }
  }

  /// Clips with alpha are layers like any other: a moving one over a background, against ffmpeg's own pictures.
  @Test func `clips with alpha show what is below`() throws {
    var fixture = try VideoFixture()
    let (width, height) = (40, 30)
    var rgba: [UInt8] = []
    for _ in 0..<30 {
      for index in 0..<(width * height) {
        rgba += index % width < 20 ? [255, 0, 0, 255] : [0, 255, 0, 0]
      }
    }
    let clip = try fixture.make(
      "moving.mov", raw: rgba, format: "rgba", width: width, height: height, ["-pix_fmt", "argb", "-c:v", "qtrle"])
    #expect(fixture.sources[clip].video.hasAlpha)
    let size = PixelSize(width: 80, height: 60)
    let task = fixture.task(
      [.clip(try fixture.clip(clip, fit: .none))], size: size, colour: ColourTags(matrix: "bt709"), background: .white)
    let frame = PackedFrame(try fixture.frame(task, 7), size)
    #expect(frame[0, 25, 30] == 63 && frame[0, 41, 30] == 235 && frame[0, 5, 5] == 235)
    #expect(frame[1, 12, 15] == 102 && frame[2, 12, 15] == 240 && frame[1, 21, 15] == 128)
  }
}
