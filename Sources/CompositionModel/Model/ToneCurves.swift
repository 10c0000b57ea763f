/// Curves from a sample to another, both 0…1: that of a channel first, then the one for all. Nil: the sample itself.
public struct ToneCurves: Sendable, Hashable, Codable {
  public var all: [Point]?
  public var red: [Point]?
  public var green: [Point]?
  public var blue: [Point]?

  public struct Point: Sendable, Hashable, Codable {
    /// 0…1, more than that of the point before it.
    public var x: Double
    /// 0…1.
    public var y: Double

    public init(x: Double, y: Double) {
      self.x = x
      self.y = y
    }
  }

  public init(all: [Point]? = nil, red: [Point]? = nil, green: [Point]? = nil, blue: [Point]? = nil) {
    (self.all, self.red, self.green, self.blue) = (all, red, green, blue)
  }

  /// The samples that red, green and blue become.
  package func value(red: Double, green: Double, blue: Double) -> (red: Double, green: Double, blue: Double) {
    func value(_ sample: Double, _ channel: [Point]?) -> Double {
      ToneCurve(all).value(at: ToneCurve(channel).value(at: sample))
    }
    return (value(red, self.red), value(green, self.green), value(blue, self.blue))
  }
}

/// A curve through points that rises where they rise, falls where they fall, and has no extremes between them: cubic
/// pieces whose slopes at the points are those of Fritsch and Butland. Before the first point and after the last one it
/// is level.
package struct ToneCurve: Sendable {
  private let points: [ToneCurves.Point]
  private let slopes: [Double]

  /// - Parameter points: Nil: the curve is the sample itself.
  package init(_ points: [ToneCurves.Point]?) {
    let points = points ?? []
    self.points = points
    let steps = zip(points, points.dropFirst()).map { (width: $1.x - $0.x, slope: ($1.y - $0.y) / ($1.x - $0.x)) }
    slopes = points.indices.map { index in
      guard index > 0 else { return steps.first?.slope ?? 0 }
      guard index < steps.count else { return steps.last?.slope ?? 0 }
      let (before, after) = (steps[index - 1], steps[index])
      guard before.slope * after.slope > 0 else { return 0 }
      // A harmonic mean of both, in which the shorter step counts for more.
      return 3 * (before.width + after.width)
        / ((before.width + 2 * after.width) / before.slope + (2 * before.width + after.width) / after.slope)
    }
  }

  package func value(at x: Double) -> Double {
    guard let first = points.first, let last = points.last else { return x }
    guard first.x < x else { return first.y }
    guard x < last.x else { return last.y }
    let next = points.firstIndex { x < $0.x } ?? points.count - 1
    let (a, b) = (points[next - 1], points[next])
    let width = b.x - a.x
    let t = (x - a.x) / width
    let rest = 1 - t
    return a.y * (1 + 2 * t) * rest * rest + b.y * (3 - 2 * t) * t * t
      + width * t * rest * (slopes[next - 1] * rest - slopes[next] * t)
  }
}
