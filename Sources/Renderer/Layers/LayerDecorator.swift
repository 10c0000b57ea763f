import CKernels
import CompositionModel
import RenderTasks

/// Draws what is around the picture of a layer: rounds its corners, draws its border over its edges, and puts its shadow
/// below. What does not depend on the picture is kept for the next one in the same place.
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
    if let cut = parts.cut { drawn = try drawn.multiplied(by: cut) }
    if let shadow = parts.shadow { return try drawn.over(shadow) }
    guard !isOpaque, let style = decoration.shadow,
      let shadow = try shadow(style, within: drawn.rect, { rect throws(RenderError) in
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
    if let border = decoration.border {
      let inner = try CoverageMask(outline.path(inset: border.width, radius: radius - border.width), in: rect)
      inner.invert()
      parts.border = try painted(inner, border.color, in: rect)
      parts.cut = try CoverageMask(outline.path(inset: 0, radius: radius), in: rect).narrowed()
    } else if radius > 0 {
      parts.cut = try CoverageMask(outline.corners(radius: radius), in: rect).narrowed()
    }
    if isOpaque, let style = decoration.shadow {
      let path = outline.path(inset: 0, radius: radius)
      parts.shadow = try shadow(style, within: path.bounds) { rect throws(RenderError) in
        try CoverageMask(path, in: rect)
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

  /// The rectangle, smaller by `inset` on each side, with round corners.
  func path(inset: Double, radius: Double) -> CurvedPath {
    let (left, top) = (min(inset, width / 2), min(inset, height / 2))
    let (right, bottom) = (width - left, height - top)
    let radius = max(0, min(radius, (right - left) / 2, (bottom - top) / 2))
    return path([
      (left, top, 1, 1), (right, top, -1, 1), (right, bottom, -1, -1), (left, bottom, 1, -1),
    ].map { Corner(x: $0.0, y: $0.1, right: $0.2, down: $0.3, radius: radius, margin: 0) })
  }

  /// All but what is beyond round corners. The straight edges are those of the picture, whose coverage has them
  /// already, so the path is far from them.
  func corners(radius: Double) -> CurvedPath {
    let radius = min(radius, width / 2, height / 2)
    return path([(0, 0, 1, 1), (width, 0, -1, 1), (width, height, -1, -1), (0, height, 1, -1)].map {
      Corner(x: $0.0, y: $0.1, right: $0.2, down: $0.3, radius: radius, margin: 4 * max(1, width, height))
    })
  }

  /// A corner of a rectangle, and where the rectangle is, seen from it: 1 is to the right or below.
  private struct Corner {
    var x, y, right, down, radius: Double
    /// How far beyond the edge the path goes before and after the corner.
    var margin: Double

    /// Clockwise.
    func add(to path: inout CurvedPath, _ place: (Double, Double) -> (x: Double, y: Double)) {
      // From one edge to the other: of the corners at the top left and the bottom right the vertical edge comes first.
      let isVerticalFirst = right == down
      let onVertical = (x: x, y: y + down * radius)
      let onHorizontal = (x: x + right * radius, y: y)
      let (first, last) = isVerticalFirst ? (onVertical, onHorizontal) : (onHorizontal, onVertical)
      /// A point beyond an edge: that of the vertical edge is to its side.
      func beyond(_ point: (x: Double, y: Double), _ isVertical: Bool) -> (x: Double, y: Double) {
        isVertical ? place(point.x - right * margin, point.y) : place(point.x, point.y - down * margin)
      }
      if margin > 0 { path.line(to: beyond(first, isVerticalFirst)) }
      path.line(to: place(first.x, first.y))
      if radius > 0 {
        // So far from its ends, as a part of the radius, are the control points of a quarter of a circle.
        let handle = 0.5522847498
        func control(_ point: (x: Double, y: Double)) -> (x: Double, y: Double) {
          place(point.x + (x - point.x) * handle, point.y + (y - point.y) * handle)
        }
        path.curve(control(first), control(last), to: place(last.x, last.y))
      }
      if margin > 0 { path.line(to: beyond(last, !isVerticalFirst)) }
    }
  }

  private func path(_ corners: [Corner]) -> CurvedPath {
    var path = CurvedPath()
    for corner in corners { corner.add(to: &path) { x, y in matrix.map(x: x, y: y) } }
    return path
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
