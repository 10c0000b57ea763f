import CompositionModel
import Foundation
import Media
import TestMedia
import TestPrograms
import Testing

/// Where chroma lies, before and after a conversion. The pictures are linear ramps, of which any interpolation between
/// samples gives the exact value, so the right value of a sample follows from its position alone.
@Suite struct ChromaPositionTests {
  static let locations = ["left", "center", "topleft", "top", "bottomleft", "bottom"]

  /// A picture as a function of the place in pixels, for luma, Cb and Cr or for red, green and blue.
  private struct Ramp {
    var planes: [(constant: Double, across: Double, down: Double)]

    func value(_ plane: Int, _ x: Double, _ y: Double) -> Double {
      planes[plane].constant + planes[plane].across * x + planes[plane].down * y
    }
  }

  /// For 10 bits and 96 by 64 pixels. Half a pixel is more than rounding is.
  private static let ramp = Ramp(planes: [(500, 0, 0), (200, 5, 2.5), (800, -2.5, -5)])
  /// Within R'G'B' by either matrix.
  private static let coloured = Ramp(planes: [(500, 0, 0), (382, 2.7, 0), (640, 0, -4)])

  private static func side(_ size: (Int, Int), _ format: String, _ location: String?, _ matrix: String = "bt709") throws
    -> FrameScaler.Side
  {
    FrameScaler.Side(
      size: PixelSize(width: size.0, height: size.1), format: try #require(FrameFormat(name: format)),
      colour: ColourTags(matrix: matrix, isFullRange: format.hasPrefix("gbr"), chromaLocation: location))
  }

  /// The place of a sample in pixels of the frame, by the definition of the locations.
  private static func place(
    _ column: Int, _ row: Int, isChroma: Bool, _ side: FrameScaler.Side
  ) -> (x: Double, y: Double) {
    let shift = side.format.chromaShift
    guard isChroma else { return (Double(column) + 0.5, Double(row) + 0.5) }
    let name = side.colour.chromaLocation ?? "left"
    let x = shift.horizontal == 0 ? 0.5 : name.hasSuffix("left") ? 0.5 : 1
    let y = shift.vertical == 0 ? 0.5 : name.hasPrefix("top") ? 0.5 : name.hasPrefix("bottom") ? 1.5 : 1
    return (Double(column << shift.horizontal) + x, Double(row << shift.vertical) + y)
  }

  private static func isChroma(_ plane: Int, _ format: FrameFormat) -> Bool { plane > 0 && !format.isRGB }

  /// Calls for each sample, with its plane, column, row and address.
  private static func forEachSample(
    of frame: Frame, _ body: (Int, Int, Int, UnsafeMutableRawPointer) -> Void
  ) {
    let bytes = frame.format.bitDepth > 8 ? 2 : 1
    for plane in 0..<3 {
      let (bytesPerRow, rows) = frame.extent(ofPlane: plane)
      let stride = frame.stride(ofPlane: plane)
      frame.withMutablePlane(plane) { base in
        for row in 0..<rows {
          for column in 0..<(bytesPerRow / bytes) { body(plane, column, row, base + row * stride + column * bytes) }
        }
      }
    }
  }

  private static func picture(_ side: FrameScaler.Side, _ ramp: Ramp) throws -> Frame {
    let frame = try Frame(size: side.size, format: side.format, colour: side.colour)
    let depth = side.format.bitDepth
    forEachSample(of: frame) { plane, column, row, address in
      let at = place(column, row, isChroma: isChroma(plane, side.format), side)
      let code = (ramp.value(plane, at.x, at.y) * pow(2, Double(depth - 10))).rounded()
      if depth > 8 {
        address.storeBytes(of: UInt16(code), as: UInt16.self)
      } else {
        address.storeBytes(of: UInt8(code), as: UInt8.self)
      }
    }
    return frame
  }

  /// How far the samples are from a ramp at most, in codes of 10 bits; those near the edges do not count.
  private static func greatestError(_ frame: Frame, _ side: FrameScaler.Side, _ right: Ramp, scale: (Double, Double))
    -> [Double]
  {
    var worst = [0.0, 0.0, 0.0]
    let unit = pow(2, Double(10 - side.format.bitDepth))
    let (width, height) = (Double(side.size.width), Double(side.size.height))
    forEachSample(of: frame) { plane, column, row, address in
      let at = place(column, row, isChroma: isChroma(plane, side.format), side)
      let margin = 8 * max(scale.0, scale.1)
      guard at.x > margin, at.y > margin, at.x < width - margin, at.y < height - margin else { return }
      let code =
        side.format.bitDepth > 8 ? Double(address.load(as: UInt16.self)) : Double(address.load(as: UInt8.self))
      worst[plane] = max(worst[plane], abs(code * unit - right.value(plane, at.x / scale.0, at.y / scale.1)))
    }
    return worst
  }

  private static func errors(
    _ from: FrameScaler.Side, _ to: FrameScaler.Side, source: Ramp = ramp, right: Ramp? = nil
  ) throws -> [Double] {
    let target = try Frame(size: to.size, format: to.format, colour: to.colour)
    try FrameScaler(from: from, to: to).scale(picture(from, source), into: target)
    let scale = (
      Double(to.size.width) / Double(from.size.width), Double(to.size.height) / Double(from.size.height)
    )
    return greatestError(target, to, right ?? source, scale: scale)
  }

  @Test(arguments: locations, [("yuv420p10le", 1.2), ("yuv420p", 4.2)])
  func `chroma is where each side has it`(location: String, format: (name: String, tolerance: Double)) throws {
    let size = (96, 64)
    for other in Self.locations {
      for target in [size, (144, 96), (60, 40)] {
        let errors = try Self.errors(
          Self.side(size, format.name, location), Self.side(target, format.name, other))
        #expect(errors.allSatisfy { $0 <= format.tolerance }, "\(location) to \(other), \(target): \(errors)")
      }
    }
    let full = format.name.replacing("420", with: "444")
    let half = format.name.replacing("420", with: "422")
    for target in [size, (144, 96)] {
      for (from, to) in [
        (format.name, full), (full, format.name), (half, format.name), (format.name, half), (half, full), (full, half),
      ] {
        let errors = try Self.errors(Self.side(size, from, location), Self.side(target, to, location))
        #expect(errors.allSatisfy { $0 <= format.tolerance }, "\(from) to \(to), \(location), \(target): \(errors)")
      }
    }
  }

  @Test func `a frame whose chroma alone is moved keeps its luma`() throws {
    for format in ["yuv420p", "yuv420p10le", "yuv422p"] {
      let (from, to) = (try Self.side((98, 62), format, "left"), try Self.side((98, 62), format, "center"))
      let frame = try Frame(size: from.size, format: from.format)
      frame.fillWithPattern(3)
      let target = try Frame(size: to.size, format: to.format)
      try FrameScaler(from: from, to: to).scale(frame, into: target)
      let (bytes, rows) = frame.extent(ofPlane: 0)
      for row in 0..<rows {
        let isSame = frame.withPlane(0) { from in
          target.withPlane(0) { to in
            memcmp(from + row * frame.stride(ofPlane: 0), to + row * target.stride(ofPlane: 0), bytes) == 0
          }
        }
        #expect(isSame, "\(format), row \(row)")
      }
    }
  }

  // MARK: Matrices and RGB

  private static let weights = ["bt709": (0.2126, 0.0722), "smpte170m": (0.299, 0.114)]

  /// The ramps of red, green and blue, in 10 bits of full range, from those of luma and chroma of limited range.
  private static func rgb(_ ramp: Ramp, _ matrix: String) -> Ramp {
    let (red, blue) = weights[matrix]!
    func linear(_ y: Double, _ cb: Double, _ cr: Double, isConstant: Bool) -> [Double] {
      let luma = (y - (isConstant ? 64 : 0)) / 876
      let b = luma + 2 * (1 - blue) * (cb - (isConstant ? 512 : 0)) / 896
      let r = luma + 2 * (1 - red) * (cr - (isConstant ? 512 : 0)) / 896
      return [(luma - red * r - blue * b) / (1 - red - blue), b, r].map { $0 * 1023 }
    }
    let p = ramp.planes
    let constants = linear(p[0].constant, p[1].constant, p[2].constant, isConstant: true)
    let across = linear(p[0].across, p[1].across, p[2].across, isConstant: false)
    let down = linear(p[0].down, p[1].down, p[2].down, isConstant: false)
    return Ramp(planes: (0..<3).map { (constants[$0], across[$0], down[$0]) })
  }

  /// The reverse of `rgb`. Planes are in the order green, blue, red.
  private static func yuv(_ ramp: Ramp, _ matrix: String) -> Ramp {
    let (red, blue) = weights[matrix]!
    func linear(_ gbr: [Double], isConstant: Bool) -> [Double] {
      let luma = (red * gbr[2] + blue * gbr[1] + (1 - red - blue) * gbr[0]) / 1023
      let cb = (gbr[1] / 1023 - luma) / (2 * (1 - blue)) * 896
      let cr = (gbr[2] / 1023 - luma) / (2 * (1 - red)) * 896
      return [luma * 876 + (isConstant ? 64 : 0), cb + (isConstant ? 512 : 0), cr + (isConstant ? 512 : 0)]
    }
    let constants = linear(ramp.planes.map(\.constant), isConstant: true)
    let across = linear(ramp.planes.map(\.across), isConstant: false)
    let down = linear(ramp.planes.map(\.down), isConstant: false)
    return Ramp(planes: (0..<3).map { (constants[$0], across[$0], down[$0]) })
  }

  @Test(arguments: locations) func `chroma is in its place after a change of matrix`(location: String) throws {
    let right = Self.yuv(Self.rgb(Self.coloured, "smpte170m"), "bt709")
    for (target, to) in [((96, 64), "yuv420p10le"), ((96, 64), "yuv444p10le"), ((144, 96), "yuv420p10le")] {
      let errors = try Self.errors(
        Self.side((96, 64), "yuv420p10le", location, "smpte170m"), Self.side(target, to, "left", "bt709"),
        source: Self.coloured, right: right)
      #expect(errors.allSatisfy { $0 <= 1.2 }, "\(location) to \(to) \(target): \(errors)")
    }
    let eight = try Self.errors(
      Self.side((96, 64), "yuv420p", location, "smpte170m"), Self.side((96, 64), "yuv420p", "left", "bt709"),
      source: Self.coloured, right: right)
    #expect(eight.allSatisfy { $0 <= 6 }, "\(location), 8 bits: \(eight)")
  }

  @Test(arguments: locations) func `chroma is in its place from and to RGB`(location: String) throws {
    let right = Self.rgb(Self.coloured, "bt709")
    let (size, gbr) = ((96, 64), "gbrp12le")
    let (from, to) = (try Self.side(size, "yuv420p12le", location), try Self.side(size, gbr, nil))
    let target = try Frame(size: to.size, format: to.format)
    try FrameScaler(from: from, to: to, hasFullChroma: true).scale(Self.picture(from, Self.coloured), into: target)
    let ofRGB = Self.greatestError(target, to, right, scale: (1, 1))
    // libswscale's matrix is 2.4 off at most, and half a pixel is 2.9.
    #expect(ofRGB.allSatisfy { $0 <= 2.6 }, "\(location) to RGB: \(ofRGB)")
    let back = try Self.errors(to, from, source: right, right: Self.coloured)
    #expect(back[0] <= 2.5 && back[1] <= 1.2 && back[2] <= 1.2, "RGB to \(location): \(back)")
  }

  // MARK: Another implementation

  /// zimg's places of chroma are its own, and so is its interpolation.
  @Test(arguments: locations) func `chroma is where zimg puts it`(location: String) throws {
    let scratch = try TemporaryFolder()
    for (size, name, other) in [
      ((96, 64), "yuv420p10le", "left"), ((96, 64), "yuv420p10le", "center"), ((144, 96), "yuv420p10le", "topleft"),
      ((96, 64), "yuv444p10le", "left"),
    ] {
      let (from, to) = (try Self.side((96, 64), "yuv420p10le", location), try Self.side(size, name, other))
      let frame = try Self.picture(from, Self.ramp)
      try frame.pixels.write(to: scratch.url.appendingPathComponent("in"))
      let target = try Frame(size: to.size, format: to.format)
      try FrameScaler(from: from, to: to).scale(frame, into: target)
      let bytes = try Tool.ffmpeg(
        "-f", "rawvideo", "-pix_fmt", "yuv420p10le", "-s", "96x64", "-i", scratch.path("in"), "-vf",
        "zscale=\(size.0):\(size.1):filter=bicubic:chromalin=\(location):chromal=\(other),format=\(name)", "-f",
        "rawvideo", "-")
      var offset = 0
      var worst = 0.0
      Self.forEachSample(of: target) { plane, column, row, address in
        let at = Self.place(column, row, isChroma: plane > 0, to)
        let theirs = Int(bytes[offset]) | Int(bytes[offset + 1]) << 8
        offset += 2
        guard at.x > 12, at.y > 12, at.x < Double(size.0) - 12, at.y < Double(size.1) - 12 else { return }
        worst = max(worst, abs(Double(address.load(as: UInt16.self)) - Double(theirs)))
      }
      #expect(offset == bytes.count && worst <= 1, "\(location) to \(other) \(name) \(size): \(worst)")
    }
  }
}
