import CKernels
import CompositionModel

/// A rectangle whose corners are quarters of ellipses, as a polygon. With half its sides as radii it is an ellipse.
struct RoundedRectangle {
  var left = 0.0
  var top = 0.0
  var right: Double
  var bottom: Double
  var radiusX = 0.0
  var radiusY = 0.0

  init(width: Double, height: Double) { (right, bottom) = (width, height) }

  /// Smaller by `inset` on each side, but not smaller than nothing, with circles of a radius as corners.
  func inset(by inset: Double, radius: Double) -> RoundedRectangle {
    var inner = self
    let (across, down) = (min(inset, (right - left) / 2), min(inset, (bottom - top) / 2))
    (inner.left, inner.top, inner.right, inner.bottom) = (left + across, top + down, right - across, bottom - down)
    inner.radiusX = max(0, min(radius, (inner.right - inner.left) / 2, (inner.bottom - inner.top) / 2))
    inner.radiusY = inner.radiusX
    return inner
  }

  /// The corners of the polygon, clockwise from the top left, each mapped by a matrix.
  /// - Parameter steps: The sides of the polygon that take the place of each quarter. 0: the corners are not round.
  func corners(steps: Int, _ matrix: AffineMatrix) -> [(x: Double, y: Double)] {
    var corners: [(x: Double, y: Double)] = []
    // The first of each is the direction to the inside.
    for (x, y, first, second) in [
      (left, top, (1.0, 0.0), (0.0, 1.0)), (right, top, (0, 1), (-1, 0)), (right, bottom, (-1, 0), (0, -1)),
      (left, bottom, (0, -1), (1, 0)),
    ] {
      // A direction is along one of the axes, and has its radius.
      let (alongFirst, alongSecond) = first.0 != 0 ? (radiusX, radiusY) : (radiusY, radiusX)
      for step in 0...steps {
        let (along, across) = Self.quarter(steps == 0 ? 0 : Double(step) / Double(steps))
        // From the point where the ellipse meets the one edge to that where it meets the other.
        let (u, v) = (alongFirst * (1 - along), alongSecond * (1 - across))
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
  init(_ corners: [(x: Double, y: Double)], in rect: PixelRect) {
    self.init(corners.map { ($0.x - Double(rect.x), $0.y - Double(rect.y)) }, in: rect.size)
  }

  /// The coverage of each pixel in 1/16384.
  func plane() throws(RenderError) -> SampleStorage {
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
