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
    let rectangle = RoundedRectangle(width: width, height: height).inset(by: inset, radius: radius)
    let enlargement = max(
      (matrix.a * matrix.a + matrix.b * matrix.b).squareRoot(), (matrix.c * matrix.c + matrix.d * matrix.d).squareRoot()
    )
    let radius = rectangle.radiusX
    let steps = radius == 0 ? 0 : Int(min(63, max(8, (6 * (radius * enlargement).squareRoot()).rounded(.up))))
    return rectangle.corners(steps: steps, matrix)
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
