import CKernels
import CompositionModel
import RenderTasks

/// Draws what is around the picture of a layer: rounds its corners, draws its border over its edges, and puts its
/// shadow below. What does not depend on the picture is kept for the next one in the same place.
final class LayerDecorator {
  private let format: VideoTaskFormat
  private var kept: (key: Key, parts: Parts)?

  private struct Key: Equatable {
    var rect: PixelRect
    var visible: Rectangle
    var matrix: AffineMatrix
    var decoration: LayerDecoration
    var isOpaque: Bool
  }

  private struct Parts {
    /// Which part of each pixel of the picture is seen, in 1/16384. Nil: all of it.
    var cut: SampleStorage?
    var border: BlendPicture?
    /// Nil: there is none, or it depends on the picture.
    var shadow: BlendPicture?
  }

  init(_ format: VideoTaskFormat) {
    self.format = format
  }

  /// - Parameter placement: Where the picture is drawn.
  func decorated(
    _ picture: LayerPicture, _ placement: Placement, _ decoration: LayerDecoration
  ) throws(RenderError) -> BlendPicture {
    let isOpaque = if case .blend = picture { false } else { true }
    var drawn = try picture.blendPicture
    let key = Key(
      rect: drawn.rect, visible: placement.visible, matrix: placement.matrix, decoration: decoration,
      isOpaque: isOpaque)
    let parts: Parts
    if let kept, kept.key == key {
      parts = kept.parts
    } else {
      parts = try makeParts(drawn.rect, PictureOutline(placement), decoration, isOpaque: isOpaque)
      kept = (key, parts)
    }
    if let border = parts.border { drawn = try border.over(drawn) }
    if let cut = parts.cut { drawn = try drawn.multiplied(by: cut, format.cell) }
    if let shadow = parts.shadow { return try drawn.over(shadow) }
    guard !isOpaque, let style = decoration.shadow,
      let shadow = try shadow(
        style, within: drawn.rect,
        { rect throws(RenderError) in
          try CoverageMask(coverageOf: drawn, in: rect)
        })
    else { return drawn }
    return try drawn.over(shadow)
  }

  private func makeParts(
    _ rect: PixelRect, _ outline: PictureOutline, _ decoration: LayerDecoration, isOpaque: Bool
  ) throws(RenderError) -> Parts {
    var parts = Parts()
    let radius = decoration.cornerRadius ?? 0
    let seen = outline.corners(inset: 0, radius: radius)
    if let border = decoration.border {
      let inner = try Shape(outline.corners(inset: border.width, radius: radius - border.width), in: rect).plane()
      for index in 0..<(rect.size.width * rect.size.height) {
        inner.base[index] = UInt16(Weight.one) - inner.base[index]
      }
      parts.border = try painted(CoverageMask(inner, rect.size), border.color, in: rect)
      // The border has the picture's edges too, so those of both are cut together.
      parts.cut = try Shape(seen, in: rect).plane()
    } else if radius > 0 {
      // The picture's own edges are in its coverage already.
      let (cut, whole) = (try Shape(seen, in: rect).plane(), try Shape(outline.corners(inset: 0), in: rect).plane())
      sheaf_part16(cut.base, whole.base, rect.size.width * rect.size.height)
      parts.cut = cut
    }
    if isOpaque, let style = decoration.shadow {
      parts.shadow = try shadow(style, within: .around(seen)) { rect throws(RenderError) in
        try CoverageMask(Shape(seen, in: rect).plane(), rect.size)
      }
    }
    return parts
  }

  /// The shadow of what is within a rectangle. Nil if it is outside of the frame.
  private func shadow(
    _ style: TextShadow, within bounds: PixelRect, _ shape: (PixelRect) throws(RenderError) -> CoverageMask
  ) throws(RenderError) -> BlendPicture? {
    let deviation = style.blur / 2
    let reach = Int((deviation * 3).rounded(.up))
    guard
      let seen = bounds.shifted(x: style.x, y: style.y).grown(by: reach).intersection(PixelRect(format.size))
    else { return nil }
    let rect = format.cell.reached(by: seen, in: format.size)
    let mask = try shape(rect.shifted(x: -style.x, y: -style.y).grown(by: reach))
    return try painted(mask.blurred(deviation: deviation, reach: reach), style.color, in: rect)
  }

  private func painted(_ mask: CoverageMask, _ color: Color, in rect: PixelRect) throws(RenderError) -> BlendPicture {
    let picture = try RGBAPicture(rect.size)
    var colour = color.premultiplied
    sheaf_paint_over(
      picture.planes(), mask.base, mask.stride, &colour, Int32(rect.size.width), Int32(rect.size.height))
    try ColourConversion.graphics(format)?.convert(picture)
    return try BlendPicture(picture, rect: rect, cell: format.cell, matrix: YCbCrMatrix(format))
  }
}

/// What is seen of a picture: a rectangle in pixels of the film as it is fitted, and its way to its place.
private struct PictureOutline {
  let width: Double
  let height: Double
  private let matrix: AffineMatrix

  init(_ placement: Placement) {
    let visible = placement.visible
    (width, height) = (visible.width * placement.fittedX, visible.height * placement.fittedY)
    matrix = AffineMatrix(
      a: 1 / placement.fittedX, b: 0, c: 0, d: 1 / placement.fittedY, tx: visible.x, ty: visible.y
    ).then(placement.matrix)
  }

  /// The corners of the rectangle in the film, smaller by `inset` on each side. Those that are round are polygons with
  /// as many corners as are needed, which is less than a hundredth of a pixel beside the circle for most.
  func corners(inset: Double, radius: Double = 0) -> [(x: Double, y: Double)] {
    let (left, top) = (min(inset, width / 2), min(inset, height / 2))
    let (right, bottom) = (width - left, height - top)
    let radius = max(0, min(radius, (right - left) / 2, (bottom - top) / 2))
    let enlargement = max(
      (matrix.a * matrix.a + matrix.b * matrix.b).squareRoot(), (matrix.c * matrix.c + matrix.d * matrix.d).squareRoot()
    )
    let steps = radius == 0 ? 0 : Int(min(63, max(8, (6 * (radius * enlargement).squareRoot()).rounded(.up))))
    var corners: [(x: Double, y: Double)] = []
    // Clockwise from the top left; the first of each is the direction to the inside.
    for (x, y, first, second) in [
      (left, top, (1.0, 0.0), (0.0, 1.0)), (right, top, (0, 1), (-1, 0)), (right, bottom, (-1, 0), (0, -1)),
      (left, bottom, (0, -1), (1, 0)),
    ] {
      for step in 0...steps {
        let (along, across) = Self.quarter(steps == 0 ? 0 : Double(step) / Double(steps))
        // From the point where the circle meets the one edge to that where it meets the other.
        let (u, v) = (radius * (1 - along), radius * (1 - across))
        corners.append(matrix.map(x: x + first.0 * u + second.0 * v, y: y + first.1 * u + second.1 * v))
      }
    }
    return corners
  }

  /// A point of a quarter of the unit circle, from (1, 0) to (0, 1): a rational Bézier curve, which is the circle
  /// itself, in additions, multiplications and divisions alone.
  private static func quarter(_ t: Double) -> (Double, Double) {
    let (a, b, c) = ((1 - t) * (1 - t), 2 * t * (1 - t) * 0.5.squareRoot(), t * t)
    return ((a + b) / (a + b + c), (b + c) / (a + b + c))
  }
}

extension Shape {
  /// A polygon in the pixels of a rectangle of the film.
  fileprivate init(_ corners: [(x: Double, y: Double)], in rect: PixelRect) {
    self.init(corners.map { ($0.x - Double(rect.x), $0.y - Double(rect.y)) }, in: rect.size)
  }

  /// The coverage of each pixel in 1/16384.
  fileprivate func plane() throws(RenderError) -> SampleStorage {
    let plane = try SampleStorage(count: size.width * size.height)
    var next = 0
    for (y, span) in spans.enumerated() {
      let row = plane.base + y * size.width
      func edge(_ columns: Range<Int32>) {
        for x in columns {
          row[Int(x)] = edges[next]
          next += 1
        }
      }
      edge(span.start..<span.inner_start)
      for x in span.inner_start..<span.inner_end { row[Int(x)] = UInt16(Weight.one) }
      edge(span.inner_end..<span.end)
    }
    return plane
  }
}

extension PixelRect {
  /// A rectangle that has all of a polygon.
  fileprivate static func around(_ corners: [(x: Double, y: Double)]) -> PixelRect {
    func range(_ places: [Double]) -> Range<Int> {
      let limits = -1_000_000.0...1_000_000
      let (least, most) = (places.min() ?? 0, places.max() ?? 0)
      return Int(max(limits.lowerBound, least).rounded(.down))..<Int(min(limits.upperBound, most).rounded(.up))
    }
    return PixelRect(x: range(corners.map(\.x)), y: range(corners.map(\.y)))
  }
}

extension BlendPicture {
  /// The picture drawn over another.
  fileprivate func over(_ below: BlendPicture) throws(RenderError) -> BlendPicture {
    let whole = try BlendPicture(rect: rect.enclosing(below.rect), cell: cell)
    func row(_ picture: BlendPicture, _ plane: Plane, _ y: Int, of part: PixelRect) -> UnsafeMutablePointer<UInt16> {
      let rect = picture.rect(of: plane)
      return picture.plane(plane) + (part.y + y - rect.y) * rect.size.width + part.x - rect.x
    }
    for plane in Plane.allCases {
      let under = below.rect(of: plane)
      for y in 0..<under.size.height {
        row(whole, plane, y, of: under).update(from: row(below, plane, y, of: under), count: under.size.width)
      }
      let part = rect(of: plane)
      for y in 0..<part.size.height {
        sheaf_over16(
          row(whole, plane, y, of: part), row(self, plane, y, of: part),
          row(self, plane.isChroma ? .chromaCoverage : .coverage, y, of: part), part.size.width)
      }
    }
    return whole
  }
}
