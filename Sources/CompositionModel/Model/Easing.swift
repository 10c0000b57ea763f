/// How a value goes from the first to the last of a ramp: the course of the value for a course of time from 0 to 1.
/// A ramp without easing is linear.
public enum Easing: Sendable, Hashable, Codable {
  /// The first value until the end of the ramp, and then the last.
  case hold
  /// A cubic Bézier curve from (0, 0) to (1, 1) with two control points, as in CSS: x is time, within 0…1, and y is the
  /// value, which may go beyond 0…1.
  case cubicBezier(x1: Double, y1: Double, x2: Double, y2: Double)

  public static let easeIn = Easing.cubicBezier(x1: 0.42, y1: 0, x2: 1, y2: 1)
  public static let easeOut = Easing.cubicBezier(x1: 0, y1: 0, x2: 0.58, y2: 1)
  public static let easeInOut = Easing.cubicBezier(x1: 0.42, y1: 0, x2: 0.58, y2: 1)

  /// The course of the value at a position in the ramp from 0 up to, and without, 1. It is computed by additions and
  /// multiplications alone, so that it is the same on every machine.
  public func value(at position: Double) -> Double {
    guard case .cubicBezier(let x1, let y1, let x2, let y2) = self else { return 0 }
    guard position > 0 else { return 0 }
    // x rises with the curve's parameter. After 60 halvings the interval is a single number.
    var (low, high) = (0.0, 1.0)
    for _ in 0..<60 {
      let middle = (low + high) / 2
      if Self.bezier(x1, x2, at: middle) < position { low = middle } else { high = middle }
    }
    return Self.bezier(y1, y2, at: (low + high) / 2)
  }

  /// One coordinate of the curve.
  private static func bezier(_ first: Double, _ second: Double, at t: Double) -> Double {
    let rest = 1 - t
    return 3 * rest * rest * t * first + 3 * rest * t * t * second + t * t * t
  }
}
