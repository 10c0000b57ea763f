import CompositionModel
import Media
import RenderTasks

/// Draws a picture that is described and not stored, at any size: its edges are exact at each.
///
/// The colour of a pixel is the sum of what is inside of the border and of the border over what the shape is filled
/// with, each by the part of the pixel's area that it covers. What changes is that of the pixel's centre.
struct PicturePainter {
  private let picture: DrawnPicture
  /// The picture's own, in which its lengths are.
  private let size: PixelSize

  /// Nil: the pictures are stored.
  init?(_ video: VideoFormat) {
    guard let drawn = video.drawn else { return nil }
    (picture, size) = (drawn, video.size)
  }

  /// The picture in the colours of documents, multiplied by alpha.
  func rgba(_ target: PixelSize) throws(RenderError) -> RGBAPicture {
    let result = try RGBAPicture(target)
    let outer = try coverage(inset: 0, target)
    let inner = try picture.border.map { border throws(RenderError) in try coverage(inset: border.width, target) }
    let paint = Paint(picture.fill, size: size, isEllipse: picture.shape == .ellipse)
    let border = picture.border.map { Premultiplied($0.color) } ?? .clear
    let (across, down) = (Double(size.width) / Double(target.width), Double(size.height) / Double(target.height))
    let planes = (0..<4).map { result.plane($0) }
    let one = Double(Weight.one)
    for y in 0..<target.height {
      let row = y * result.stride / 2
      for x in 0..<target.width {
        let whole = Double(outer.base[y * target.width + x])
        guard whole > 0 else { continue }
        let filled = paint.colour(x: (Double(x) + 0.5) * across, y: (Double(y) + 0.5) * down)
        let inside = inner.map { Double($0.base[y * target.width + x]) } ?? whole
        let line = inside < whole ? border.over(filled) : filled
        func sum(_ inner: Double, _ line: Double) -> UInt16 {
          UInt16(min(65535, ((inner * min(inside, whole) + line * max(0, whole - inside)) / one).rounded()))
        }
        planes[0][row + x] = sum(filled.red, line.red)
        planes[1][row + x] = sum(filled.green, line.green)
        planes[2][row + x] = sum(filled.blue, line.blue)
        planes[3][row + x] = sum(filled.alpha, line.alpha)
      }
    }
    return result
  }

  /// An opaque picture as a frame of the film's format. One colour has the codes of a background of that colour.
  func frame(_ target: PixelSize, _ format: VideoTaskFormat) throws(RenderError) -> Frame {
    let frame = try mapErrors(to: RenderError.during("making a frame")) { () throws(MediaError) in
      try Frame(size: target, format: FrameFormat(format.pixelFormat), colour: format.colour)
    }
    frame.pts = 0
    let whole = PixelRect(target)
    if case .color(let color)? = picture.fill, picture.border == nil {
      try frame.withMutablePlanes { $0.fill(whole, codes: YCbCrMatrix(format).codes(color)) }
      return frame
    }
    let drawn = try rgba(target)
    try ColourConversion.graphics(format)?.convert(drawn)
    let blend = try BlendPicture(drawn, rect: whole, cell: format.cell, matrix: YCbCrMatrix(format))
    try frame.withMutablePlanes { $0.draw(blend, weight: Weight.one) }
    return frame
  }

  /// A frame that stands for a picture with transparency, which is drawn for each use. Its samples have no meaning.
  func placeholder() throws(RenderError) -> Frame {
    guard let grey = FrameFormat(name: "gray") else { throw RenderError(.infrastructure, "libav has no gray") }
    let frame = try mapErrors(to: RenderError.during("making a frame")) { () throws(MediaError) in
      try Frame(size: size, format: grey, colour: ColourTags(isFullRange: true))
    }
    frame.pts = 0
    return frame
  }

  /// What the shape covers of each pixel, in 1/16384.
  /// - Parameter inset: How much smaller the shape is on each side, in its own pixels.
  private func coverage(inset: Double, _ target: PixelSize) throws(RenderError) -> SampleStorage {
    var shape = RoundedRectangle(width: Double(size.width), height: Double(size.height))
      .inset(by: inset, radius: (picture.cornerRadius ?? 0) - inset)
    if picture.shape == .ellipse {
      (shape.radiusX, shape.radiusY) = ((shape.right - shape.left) / 2, (shape.bottom - shape.top) / 2)
    }
    let matrix = AffineMatrix(
      a: Double(target.width) / Double(size.width), b: 0, c: 0, d: Double(target.height) / Double(size.height), tx: 0,
      ty: 0)
    let radius = max(shape.radiusX * matrix.a, shape.radiusY * matrix.d)
    // A side of the polygon is 1/256 of a pixel beside the ellipse, of those up to 1600 pixels.
    let steps = radius == 0 ? 0 : Int(min(255, max(8, (9 * radius.squareRoot()).rounded(.up))))
    guard shape.left < shape.right, shape.top < shape.bottom else {
      return try SampleStorage(count: target.width * target.height)
    }
    return try Shape(shape.corners(steps: steps, matrix), in: target).plane()
  }
}

/// A colour multiplied by its alpha; 65535 is one.
private struct Premultiplied {
  var red: Double
  var green: Double
  var blue: Double
  var alpha: Double

  static let clear = Premultiplied(red: 0, green: 0, blue: 0, alpha: 0)

  init(red: Double, green: Double, blue: Double, alpha: Double) {
    (self.red, self.green, self.blue, self.alpha) = (red, green, blue, alpha)
  }

  init(_ color: Color) {
    let alpha = Double(color.alpha) / 255
    func number(_ component: UInt8) -> Double { Double(component) * 257 * alpha }
    self.init(
      red: number(color.red), green: number(color.green), blue: number(color.blue), alpha: Double(color.alpha) * 257)
  }

  func over(_ below: Premultiplied) -> Premultiplied {
    let rest = 1 - alpha / 65535
    return Premultiplied(
      red: red + below.red * rest, green: green + below.green * rest, blue: blue + below.blue * rest,
      alpha: alpha + below.alpha * rest)
  }

  /// A part of the way to another colour, 0 to 1.
  func mixed(_ other: Premultiplied, _ part: Double) -> Premultiplied {
    func mixed(_ from: Double, _ to: Double) -> Double { from + (to - from) * part }
    return Premultiplied(
      red: mixed(red, other.red), green: mixed(green, other.green), blue: mixed(blue, other.blue),
      alpha: mixed(alpha, other.alpha))
  }
}

/// What a shape is filled with, at each point of a picture.
private struct Paint {
  private let colours: [Premultiplied]
  private let places: [Double]
  private let place: Place

  private enum Place {
    /// The position is the sum of the coordinates multiplied by `across` and `down`, and of `start`.
    case linear(across: Double, down: Double, start: Double)
    /// The position is the distance from the centre, in which each coordinate is divided by half of its side.
    case radial(middleX: Double, middleY: Double, unit: Double)
    case everywhere
  }

  init(_ fill: DrawnPicture.Fill?, size: PixelSize, isEllipse: Bool) {
    switch fill {
    case nil: (colours, places, place) = ([.clear], [0], .everywhere)
    case .color(let color): (colours, places, place) = ([Premultiplied(color)], [0], .everywhere)
    case .gradient(let gradient):
      (colours, places) = (gradient.stops.map { Premultiplied($0.color) }, gradient.places)
      let (width, height) = (Double(size.width), Double(size.height))
      switch gradient.kind {
      case .linear:
        let (sine, cosine) = Trigonometry.sineAndCosine(ofDegrees: gradient.angle ?? Gradient.standardAngle)
        // Corner to corner along the direction (sine, -cosine).
        let length = width * abs(sine) + height * abs(cosine)
        let (across, down) = (sine / length, -cosine / length)
        place = .linear(across: across, down: down, start: 0.5 - (width * across + height * down) / 2)
      case .radial:
        place = .radial(middleX: width / 2, middleY: height / 2, unit: isEllipse ? 1 : 2.0.squareRoot())
      }
    }
  }

  func colour(x: Double, y: Double) -> Premultiplied {
    let position: Double
    switch place {
    case .everywhere: return colours[0]
    case .linear(let across, let down, let start): position = x * across + y * down + start
    case .radial(let middleX, let middleY, let unit):
      let (dx, dy) = ((x - middleX) / middleX, (y - middleY) / middleY)
      position = (dx * dx + dy * dy).squareRoot() / unit
    }
    guard position > places[0] else { return colours[0] }
    for index in places.indices.dropFirst() where position < places[index] {
      let (from, to) = (places[index - 1], places[index])
      return colours[index - 1].mixed(colours[index], (position - from) / (to - from))
    }
    return colours[colours.count - 1]
  }
}
