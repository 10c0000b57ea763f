/// The block of luma samples that share one chroma sample; 1 by 1 without subsampling.
package struct ChromaCell: Sendable, Hashable {
  package let horizontalShift: Int
  package let verticalShift: Int
  /// Where its chroma sample lies in it.
  package let site: ChromaSite

  package init(_ format: PixelFormat, site: ChromaSite = .left) {
    (horizontalShift, verticalShift) = format.chromaShift
    self.site = site
  }

  package init(horizontalShift: Int, verticalShift: Int, site: ChromaSite = .left) {
    self.horizontalShift = horizontalShift
    self.verticalShift = verticalShift
    self.site = site
  }

  package var width: Int { 1 << horizontalShift }
  package var height: Int { 1 << verticalShift }
}

/// Where one picture is drawn in one frame: a plain value, the same for every frame in which nothing moves.
package struct Placement: Sendable, Hashable {
  /// The part of the upright picture, in its square pixels, whose samples are used. Beyond it, its edges are repeated.
  package var crop: Rectangle
  /// The part of the crop that is drawn; the rest is cut off, as where the picture covers a rectangle of another shape.
  package var visible: Rectangle
  /// From square pixels of the upright picture to pixels of the film. It is not singular.
  package var matrix: AffineMatrix
  /// From the square of side 1 to the layer's rectangle in the film, which a mask fills.
  package var rectangle: AffineMatrix
  /// Pixels of the film for a square pixel of the picture across and down, as it is fitted and before it is
  /// transformed: the lengths of filters are in these. 1 with a matrix, which takes the place of the fit.
  package var fittedX: Double
  package var fittedY: Double
  /// Whether the picture lies over a blurred copy of itself, which fills `visible`. Only then is that larger than the
  /// crop.
  package var isOverBlur: Bool

  package init(
    crop: Rectangle, visible: Rectangle, matrix: AffineMatrix, rectangle: AffineMatrix, fittedX: Double = 1,
    fittedY: Double = 1, isOverBlur: Bool = false
  ) {
    self.crop = crop
    self.visible = visible
    self.matrix = matrix
    self.rectangle = rectangle
    self.fittedX = fittedX
    self.fittedY = fittedY
    self.isOverBlur = isOverBlur
  }

  /// The place of a mask of a size.
  package func mask(_ size: PixelSize) -> Placement {
    let whole = Rectangle(size)
    let unit = AffineMatrix(a: 1 / whole.width, b: 0, c: 0, d: 1 / whole.height, tx: 0, ty: 0)
    return Placement(crop: whole, visible: whole, matrix: unit.then(rectangle), rectangle: rectangle)
  }

  /// The corners of what is drawn, in pixels of the film, in order around it.
  package var corners: [(x: Double, y: Double)] {
    let (right, bottom) = (visible.x + visible.width, visible.y + visible.height)
    return [(visible.x, visible.y), (right, visible.y), (right, bottom), (visible.x, bottom)].map {
      matrix.map(x: $0.0, y: $0.1)
    }
  }

  /// Whether the frame is covered from edge to edge.
  package func covers(_ frame: PixelSize) -> Bool {
    guard let back = matrix.inverse else { return false }
    let (right, bottom) = (visible.x + visible.width, visible.y + visible.height)
    let tolerance = 1e-9 * max(1, max(right.magnitude, bottom.magnitude))
    let (width, height) = (Double(frame.width), Double(frame.height))
    return [(0, 0), (width, 0), (width, height), (0, height)].allSatisfy { corner in
      let (x, y) = back.map(x: corner.0, y: corner.1)
      return x >= visible.x - tolerance && x <= right + tolerance && y >= visible.y - tolerance
        && y <= bottom + tolerance
    }
  }
}

extension LayerGeometry {
  /// How many times wider, or higher, than the picture its blurred copy may be: in such a rectangle the picture is a
  /// hair.
  private static let greatestSurround = 1000.0

  /// Where a picture is drawn at a time of the ramps' timeline. Nil if it has no area then: its crop is empty, or its
  /// matrix is singular, as where it turns over, or the fit is `blur` in a rectangle that is a thousand times wider or
  /// higher.
  ///
  /// - Parameters:
  ///   - picture: the size of the upright picture in square pixels.
  ///   - fit: how the cropped picture is fitted into its rectangle, centred. For `none`, the distance to the
  ///     rectangle's corner is rounded down to whole chroma cells, so that a picture at its own size stays sharp.
  package func placement(
    at time: MediaTime, picture: PixelSize, fit: Fit, frame: PixelSize, cell: ChromaCell
  ) throws(TimeError) -> Placement? {
    let whole = Rectangle(picture)
    let cropped = try crop?.value(at: time)?.intersection(whole) ?? whole
    guard !cropped.isEmpty else { return nil }
    if case .matrix(let matrices) = transform {
      let matrix = try matrices.value(at: time) ?? .identity
      if matrix.isSingular { return nil }
      return Placement(crop: cropped, visible: cropped, matrix: matrix, rectangle: whole.fromUnit.then(matrix))
    }
    let rectangle = try self.frame?.value(at: time) ?? Rectangle(frame)
    guard !rectangle.isEmpty else { return nil }
    let fitted = cropped.fitted(fit, into: rectangle, cell: cell)
    var placement = Placement(
      crop: cropped, visible: cropped, matrix: fitted, rectangle: rectangle.fromUnit, fittedX: fitted.a,
      fittedY: fitted.d)
    if let back = fitted.inverse {
      // The rectangle, seen from the picture. Only one that is smaller than the fitted picture cuts it.
      let (x, y) = back.map(x: rectangle.x, y: rectangle.y)
      let seen = Rectangle(x: x, y: y, width: rectangle.width * back.a, height: rectangle.height * back.d)
      switch fit {
      case .cover, .none: placement.visible = cropped.intersection(seen)
      case .blur where cropped.width * Self.greatestSurround < seen.width: return nil
      case .blur where cropped.height * Self.greatestSurround < seen.height: return nil
      case .blur where !cropped.nearlyCovers(seen): (placement.visible, placement.isOverBlur) = (seen, true)
      case .contain, .fill, .blur: break
      }
    }
    if case .turn(let turns) = transform, let turn = try turns.value(at: time) {
      let turned = turn.matrix(in: rectangle)
      placement.matrix = fitted.then(turned)
      placement.rectangle = placement.rectangle.then(turned)
    }
    return placement.matrix.isSingular || placement.visible.isEmpty ? nil : placement
  }
}

extension Placement {
  /// How many times larger than it is the picture is shown, along the side that is enlarged more.
  package var enlargement: Double {
    max(
      (matrix.a * matrix.a + matrix.b * matrix.b).squareRoot(), (matrix.c * matrix.c + matrix.d * matrix.d).squareRoot()
    )
  }

  /// Whether a part of what is drawn may be within the frame: the smallest upright rectangle around it is.
  package func isWithin(_ frame: PixelSize) -> Bool {
    let (x, y) = (corners.map(\.x), corners.map(\.y))
    return (x.min() ?? 0) < Double(frame.width) && (x.max() ?? 0) > 0 && (y.min() ?? 0) < Double(frame.height)
      && (y.max() ?? 0) > 0
  }
}

extension LayerGeometry {
  /// The times in a range at which a ramp starts or ends, and the range's start.
  package func keyTimes(in range: MediaTimeRange) -> [MediaTime] {
    var ramps = (crop?.ramps.map(\.over) ?? []) + (frame?.ramps.map(\.over) ?? [])
    switch transform {
    case .matrix(let matrices): ramps += matrices.ramps.map(\.over)
    case .turn(let turns): ramps += turns.ramps.map(\.over)
    case nil: break
    }
    return [range.start] + ramps.flatMap { [$0.start, $0.end] }.filter { range.contains($0) }
  }

  /// Whether nothing of it changes from a time on.
  package func isConstant(from time: MediaTime) -> Bool {
    guard crop.isConstant(from: time), frame.isConstant(from: time) else { return false }
    switch transform {
    case .matrix(let matrices): return Optional(matrices).isConstant(from: time)
    case .turn(let turns): return Optional(turns).isConstant(from: time)
    case nil: return true
    }
  }
}

extension Optional {
  fileprivate func isConstant<Value>(from time: MediaTime) -> Bool where Wrapped == ValueRampList<Value> {
    guard let ramps = self?.ramps else { return true }
    return ramps.dropLast().isEmpty && ramps.allSatisfy { $0.over.isEmpty && $0.over.start <= time }
  }
}

extension Rectangle {
  /// Whether another rectangle is larger than this one by rounding alone.
  fileprivate func nearlyCovers(_ other: Rectangle) -> Bool {
    other.width <= width * (1 + 1e-9) && other.height <= height * (1 + 1e-9)
  }

  /// The map of the square of side 1 to this rectangle.
  fileprivate var fromUnit: AffineMatrix { AffineMatrix(a: width, b: 0, c: 0, d: height, tx: x, ty: y) }

  /// The map of this part of a picture into a rectangle of the film.
  fileprivate func fitted(_ fit: Fit, into rectangle: Rectangle, cell: ChromaCell) -> AffineMatrix {
    let (across, down) = (rectangle.width / width, rectangle.height / height)
    let (scaleX, scaleY): (Double, Double) =
      switch fit {
      case .contain, .blur: (min(across, down), min(across, down))
      case .cover: (max(across, down), max(across, down))
      case .fill: (across, down)
      case .none: (1, 1)
      }
    var (left, top) = ((rectangle.width - width * scaleX) / 2, (rectangle.height - height * scaleY) / 2)
    if fit == .none {
      left = (left / Double(cell.width)).rounded(.down) * Double(cell.width)
      top = (top / Double(cell.height)).rounded(.down) * Double(cell.height)
    }
    return AffineMatrix(
      a: scaleX, b: 0, c: 0, d: scaleY, tx: rectangle.x + left - x * scaleX, ty: rectangle.y + top - y * scaleY)
  }
}

extension TransformComponents {
  /// The map of a fitted picture whose rectangle is given.
  package func matrix(in rectangle: Rectangle) -> AffineMatrix {
    let (x0, y0) = (
      rectangle.x + anchorX.fraction * rectangle.width + anchorX.pixels,
      rectangle.y + anchorY.fraction * rectangle.height + anchorY.pixels
    )
    let (sine, cosine) = Trigonometry.sineAndCosine(ofDegrees: rotation)
    return AffineMatrix(a: 1, b: 0, c: 0, d: 1, tx: -x0, ty: -y0)
      .then(AffineMatrix(a: scaleX, b: 0, c: 0, d: scaleY, tx: 0, ty: 0))
      .then(AffineMatrix(a: cosine, b: sine, c: -sine, d: cosine, tx: 0, ty: 0))
      .then(AffineMatrix(a: 1, b: 0, c: 0, d: 1, tx: x0 + x, ty: y0 + y))
  }
}

/// Sine and cosine by additions and multiplications alone, so that they are the same on every machine, and exact for
/// quarter turns.
package enum Trigonometry {
  package static func sineAndCosine(ofDegrees degrees: Double) -> (sine: Double, cosine: Double) {
    // Exact, as remainders are.
    let turned = degrees.truncatingRemainder(dividingBy: 360)
    let quarters = (turned / 90).rounded()
    let angle = (turned - quarters * 90) * (Double.pi / 180)
    let square = angle * angle
    // Their series: with |angle| <= π/4, terms of a higher order than 18 are less than the last bit.
    var (sine, cosine) = (1.0, 1.0)
    for order in stride(from: 16, through: 0, by: -2) {
      sine = 1 - square / Double((order + 2) * (order + 3)) * sine
      cosine = 1 - square / Double((order + 1) * (order + 2)) * cosine
    }
    sine *= angle
    switch ((Int(quarters) % 4) + 4) % 4 {
    case 0: return (sine, cosine)
    case 1: return (cosine, -sine)
    case 2: return (-sine, -cosine)
    default: return (-cosine, sine)
    }
  }
}
