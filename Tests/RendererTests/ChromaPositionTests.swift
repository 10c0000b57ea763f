import CompositionModel
import Foundation
import Media
import RenderTasks
import TestPrograms
import Testing

@testable import Renderer

/// Where chroma lies in a film, whatever it comes from. The pictures are linear ramps, of which any interpolation gives
/// the exact value, so the right value of a sample follows from its position alone.
@Suite struct ChromaPositionTests {
  /// Codes of 10 bits in the film, by the place in pixels. Half a pixel is 3 codes of one of them; rounding twice is 1.
  private static func cb(_ x: Double, _ y: Double) -> Double { 120 + 6 * x + 3 * y }
  private static func cr(_ x: Double, _ y: Double) -> Double { 900 - 3 * x - 6 * y }

  /// The place of the chroma sample in its cell, by the definition of the locations.
  private static func site(_ location: String?, _ format: PixelFormat) -> (x: Double, y: Double) {
    let (across, down) = format.chromaShift
    let name = location ?? "left"
    return (
      across == 0 || name.hasSuffix("left") ? 0.5 : 1,
      down == 0 || name.hasPrefix("top") ? 0.5 : name.hasPrefix("bottom") ? 1.5 : 1
    )
  }

  private static let filmSize = PixelSize(width: 96, height: 64)

  /// Adds a video of one frame that is the ramp once it is upright and has the size of the film.
  private static func add(
    _ fixture: inout VideoFixture, _ format: PixelFormat, _ location: String?, _ orientation: Orientation = .upright,
    scale: Double
  ) throws -> Int {
    let upright = PixelSize(width: Int(96 / scale), height: Int(64 / scale))
    let stored = orientation.swapsAxes ? PixelSize(width: upright.height, height: upright.width) : upright
    let (across, down) = format.chromaShift
    let site = site(location, format)
    var bytes: [UInt8] = []
    for plane in 0..<3 {
      let (shiftX, shiftY) = plane == 0 ? (0, 0) : (across, down)
      for row in 0..<(stored.height >> shiftY) {
        for column in 0..<(stored.width >> shiftX) {
          let x = Double(column << shiftX) + (plane == 0 ? 0.5 : site.x)
          let y = Double(row << shiftY) + (plane == 0 ? 0.5 : site.y)
          let mirrored = orientation.isMirrored ? Double(stored.width) - x : x
          let (w, h) = (Double(stored.width), Double(stored.height))
          let at =
            switch orientation.clockwise {
            case 90: (x: h - y, y: mirrored)
            case 180: (x: w - mirrored, y: h - y)
            case 270: (x: y, y: w - mirrored)
            default: (x: mirrored, y: y)
            }
          let code = plane == 0 ? 500 : plane == 1 ? cb(at.x * scale, at.y * scale) : cr(at.x * scale, at.y * scale)
          let number = Int(code.rounded())
          bytes += [UInt8(number & 255), UInt8(number >> 8)]
        }
      }
    }
    let index = try fixture.make(
      "s.nut", raw: bytes, format: FrameFormat(format).name, width: stored.width, height: stored.height,
      ["-c:v", "ffv1"])
    fixture.change(index) {
      $0.video.colour = ColourTags(matrix: "bt709", chromaLocation: location)
      $0.video.orientation = orientation
    }
    return index
  }

  /// The mean and the greatest error of the chroma of a film's frame, far from the edges of the frame.
  private static func errors(
    _ frame: [UInt8], _ format: PixelFormat, _ location: String?,
    _ cb: @escaping (Double, Double) -> Double = cb, _ cr: @escaping (Double, Double) -> Double = cr
  ) -> (mean: Double, greatest: Double) {
    let samples = CompositingTests.samples(frame, format)
    let (across, down) = format.chromaShift
    let site = site(location, format)
    let (width, height) = (filmSize.width >> across, filmSize.height >> down)
    var (worst, greatest) = (0.0, 0.0)
    for (plane, right) in [cb, cr].enumerated() {
      var (sum, count) = (0.0, 0.0)
      let start = filmSize.width * filmSize.height + plane * width * height
      for row in (height / 4)..<(height * 3 / 4) {
        for column in (width / 4)..<(width * 3 / 4) {
          let (x, y) = (Double(column << across) + site.x, Double(row << down) + site.y)
          let error = Double(samples[start + row * width + column]) - right(x, y)
          sum += error
          count += 1
          greatest = max(greatest, abs(error))
        }
      }
      worst = max(worst, abs(sum / count))
    }
    return (worst, greatest)
  }

  private static func film(
    _ fixture: VideoFixture, _ clip: ClipLayer, _ format: PixelFormat, _ location: String?,
    overlays: [PlannedOverlay] = []
  ) throws -> [UInt8] {
    try fixture.frame(
      fixture.task(
        [.clip(clip)], size: filmSize, format: format,
        colour: ColourTags(matrix: "bt709", chromaLocation: location), frameCount: 1, overlays: overlays))
  }

  @Test(
    arguments: ["left", "center", "topleft", "bottom"], [PixelFormat.yuv420p10, .yuv422p10, .yuv444p10])
  func `a clip's chroma is where the film's is`(location: String, format: PixelFormat) throws {
    var fixture = try VideoFixture()
    let source = try Self.add(&fixture, format, location, scale: 1)
    for film in [PixelFormat.yuv420p10, .yuv422p10, .yuv444p10] {
      for filmLocation in [nil, "center", "topleft"] {
        let errors = Self.errors(
          try Self.film(fixture, fixture.clip(source, frames: 0..<1), film, filmLocation), film, filmLocation)
        #expect(
          errors.mean < 1.3 && errors.greatest < 2, "\(format) \(location) to \(film) \(filmLocation ?? "-"): \(errors)"
        )
      }
    }
  }

  static let orientations = [0, 90, 180, 270].flatMap { clockwise in
    [false, true].map { Orientation(clockwise: clockwise, isMirrored: $0) }
  }

  private static let turned: [(Orientation, String)] = {
    let locations = ["left", "center", "topleft"]
    let all = orientations.flatMap { orientation in locations.map { (orientation, $0) } }
    let few = orientations.enumerated().map { ($1, locations[$0 % 3]) }
    return TestExtent.of(few, whole: all)
  }()

  /// Fitted by the scaler, and placed between the film's pixels.
  @Test(arguments: turned)
  func `a turned clip's chroma is in place where the clip is scaled`(orientation: Orientation, location: String) throws
  {
    var fixture = try VideoFixture()
    let source = try Self.add(&fixture, .yuv420p10, location, orientation, scale: 0.5)
    for film in [PixelFormat.yuv420p10, .yuv444p10] {
      var clip = try fixture.clip(source, frames: 0..<1, fit: .fill)
      let fitted = Self.errors(try Self.film(fixture, clip, film, nil), film, nil)
      #expect(fitted.mean < 1.3 && fitted.greatest < 2, "fitted in \(film): \(fitted)")
      clip.geometry = LayerGeometry(frame: .constant(Rectangle(x: -5.5, y: 3.25, width: 120, height: 80)))
      let placed = Self.errors(
        try Self.film(fixture, clip, film, nil), film, nil, { Self.cb(($0 + 5.5) / 1.25, ($1 - 3.25) / 1.25) },
        { Self.cr(($0 + 5.5) / 1.25, ($1 - 3.25) / 1.25) })
      #expect(placed.mean < 1.3 && placed.greatest < 2, "placed in \(film): \(placed)")
    }
  }

  // MARK: RGB

  private static func rgb(_ x: Double, _ y: Double) -> [Double] { [20 + 2 * x, 128, 220 - x - 1.5 * y] }

  private static func ofRGB(_ x: Double, _ y: Double) -> (cb: Double, cr: Double) {
    let rgb = rgb(x, y).map { $0 / 255 }
    let luma = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]
    return (512 + 896 * (rgb[2] - luma) / 1.8556, 512 + 896 * (rgb[0] - luma) / 1.5748)
  }

  /// As a clip, with geometry, as a clip with alpha, and over the film at odd pixels.
  @Test(arguments: [nil, "center", "topleft"], [PixelFormat.yuv420p10, .yuv422p10])
  func `the chroma of pictures in RGB is where the film's is`(location: String?, format: PixelFormat) throws {
    var fixture = try VideoFixture()
    func still(_ name: String, alpha: Bool) throws -> Int {
      var bytes: [UInt8] = []
      for y in 0..<64 {
        for x in 0..<96 {
          bytes += Self.rgb(Double(x) + 0.5, Double(y) + 0.5).map { UInt8(min(255, max(0, $0)).rounded()) }
          if alpha { bytes.append(255) }
        }
      }
      return try fixture.make(name, raw: bytes, format: alpha ? "rgba" : "rgb24", width: 96, height: 64)
    }
    let (opaque, transparent) = (try still("opaque.png", alpha: false), try still("alpha.png", alpha: true))
    func expectInPlace(_ frame: [UInt8], _ kind: String, by offset: (Double, Double) = (0, 0)) {
      let errors = Self.errors(
        frame, format, location, { Self.ofRGB($0 - offset.0, $1 - offset.1).cb },
        { Self.ofRGB($0 - offset.0, $1 - offset.1).cr })
      #expect(errors.mean < 0.5, "\(kind), \(location ?? "-"): \(errors)")
    }
    for (name, index) in [("opaque", opaque), ("alpha", transparent)] {
      var clip = try fixture.clip(index, frames: 0..<1)
      expectInPlace(try Self.film(fixture, clip, format, location), name)
      clip.geometry = LayerGeometry(frame: .constant(Rectangle(x: 3.5, y: 1.25, width: 96, height: 64)))
      expectInPlace(try Self.film(fixture, clip, format, location), "\(name), placed", by: (3.5, 1.25))
      let overlay = PlannedOverlay(
        content: .image(source: index, width: nil, height: nil), frames: [0..<30], placement: .point(x: 7, y: -3),
        opacity: 1, ramps: .one)
      let below = try fixture.clip(opaque, frames: 0..<1)
      expectInPlace(
        try Self.film(fixture, below, format, location, overlays: [overlay]), "\(name), overlay", by: (7, -3))
    }
  }

  /// Half the picture, with an edge at an odd pixel: the coverage of chroma is that of the place where chroma lies.
  @Test func `the coverage of chroma is that of its place`() throws {
    let picture = try RGBAPicture(PixelSize(width: 5, height: 2))
    for plane in 0..<4 { (picture.plane(plane)).update(repeating: 65535, count: 10) }
    let format = VideoTaskFormat(
      size: PixelSize(width: 64, height: 32), pixelFormat: .yuv420p, colour: ColourTags(matrix: "bt709"),
      frameDuration: MediaTime(value: 1, timescale: 30))
    let at = PixelRect(x: 11, y: 4, size: picture.size)
    let box = format.cell.reached(by: at, in: format.size)
    #expect(box == PixelRect(x: 10, y: 4, size: PixelSize(width: 8, height: 2)))
    let whole = try picture.placed(PixelRect(picture.size), x: 1, y: 0, in: box.size)
    let blend = try BlendPicture(whole, rect: box, cell: format.cell, matrix: YCbCrMatrix(format))
    // Chroma lies at the pixels 10, 12, 14 and 16, and the picture is at 11 to 15.
    let found = (0..<4).map { Int(blend.plane(.chromaCoverage)[$0]) }
    #expect(found == [4096, 16384, 16384, 4096])
  }

  /// The edges of a placed picture are those of the same film in 4:4:4 whose chroma is reduced afterwards. The colours
  /// are flat, so that nothing but coverage decides, and rounding in both films leaves one code.
  @Test(
    arguments: TestExtent.of(
      ["topleft", "center", "bottomleft"], whole: ["left", "center", "topleft", "top", "bottomleft", "bottom"]))
  func `the chroma of an edge is that of its pixels`(location: String) throws {
    let size = PixelSize(width: 66, height: 50)
    var fixture = try VideoFixture()
    let colours = try ["red", "blue"].map { colour in
      try fixture.make(
        "\(colour).png", ["-f", "lavfi", "-i", "color=\(colour):size=66x50", "-frames:v", "1", "-pix_fmt", "rgb24"])
    }
    let geometries = [
      LayerGeometry(
        transform: .turn(.constant(TransformComponents(rotation: 23, scaleX: 0.6, scaleY: 0.7, x: 3.3, y: 1.6)))),
      LayerGeometry(frame: .constant(Rectangle(x: 10.4, y: 7.3, width: 31.5, height: 24.9))),
      LayerGeometry(frame: .constant(Rectangle(x: 11, y: 9, width: 31, height: 22))),
      LayerGeometry(frame: .constant(Rectangle(x: -5, y: 20, width: 40, height: 60))),
    ]
    for geometry in geometries {
      for opacity in [1, 0.4] {
        func film(_ format: PixelFormat) throws -> [Double] {
          var placed = try fixture.clip(colours[0])
          var cropped = geometry
          cropped.crop = .constant(Rectangle(x: 0, y: 0, width: 66, height: 50))
          placed.geometry = cropped
          placed.opacity = try RampList.constant(opacity)
          let below = try fixture.clip(colours[1])
          let colour = ColourTags(matrix: "bt709", chromaLocation: location)
          let task = fixture.task([.clip(placed), .clip(below)], size: size, format: format, colour: colour)
          return CompositingTests.samples(try fixture.frame(task), format).map(Double.init)
        }
        let full = try film(.yuv444p10)
        for format in [PixelFormat.yuv420p10, .yuv422p10] {
          let (made, cell) = (try film(format), ChromaCell(format))
          let (width, height) = (size.width, size.height)
          let site = Self.site(location, format)
          func taps(_ side: Int, _ site: Double) -> [(Int, Double)] {
            if side == 1 { return [(0, 1)] }
            let first = Int(site.rounded(.down)) - 1
            return site == 1 ? [(0, 0.5), (1, 0.5)] : [(first, 0.25), (first + 1, 0.5), (first + 2, 0.25)]
          }
          let (columns, rows) = (width / cell.width, height / cell.height)
          var worst = 0.0
          for plane in 1...2 {
            for row in 0..<rows {
              for column in 0..<columns {
                var sum = 0.0
                for (dy, ofRow) in taps(cell.height, site.y) {
                  for (dx, ofColumn) in taps(cell.width, site.x) {
                    let x = min(width - 1, max(0, column * cell.width + dx))
                    let y = min(height - 1, max(0, row * cell.height + dy))
                    sum += ofRow * ofColumn * full[(plane * height + y) * width + x]
                  }
                }
                let at = width * height + (plane - 1) * columns * rows + row * columns + column
                worst = max(worst, abs(made[at] - sum))
              }
            }
          }
          #expect(worst <= 1.1, "\(format) \(geometry)")
        }
      }
    }
  }

  /// A split screen: nothing of what is below shows between scaled pictures that adjoin at cells.
  @Test(arguments: ["left", "topleft", "bottom"], [PixelFormat.yuv420p, .yuv422p10])
  func `pictures that adjoin at cells leave no seam`(location: String, format: PixelFormat) throws {
    let size = PixelSize(width: 64, height: 48)
    var fixture = try VideoFixture()
    let colours = try ["red", "blue"].map { colour in
      try fixture.make(
        "\(colour).png", ["-f", "lavfi", "-i", "color=\(colour):size=80x60", "-frames:v", "1", "-pix_fmt", "rgb24"])
    }
    let quarters = try [(0, 0), (32, 0), (0, 24), (32, 24)].map { x, y in
      var clip = try fixture.clip(colours[0])
      clip.geometry = LayerGeometry(frame: .constant(Rectangle(x: .init(x), y: .init(y), width: 32, height: 24)))
      return PlannedLayer.clip(clip)
    }
    let below = PlannedLayer.clip(try fixture.clip(colours[1]))
    let colour = ColourTags(matrix: "bt709", chromaLocation: location)
    let split = CompositingTests.samples(
      try fixture.frame(fixture.task(quarters + [below], size: size, format: format, colour: colour)), format)
    let chroma = (split.count - 64 * 48) / 2
    for (plane, range) in [0..<64 * 48, 64 * 48..<64 * 48 + chroma, 64 * 48 + chroma..<split.count].enumerated() {
      #expect(Set(split[range]).count == 1, "plane \(plane): \(Set(split[range]))")
    }
  }
}
