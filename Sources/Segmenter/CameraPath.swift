import CompositionModel
import RenderTasks

/// The path of the camera in a clip, evened out: where each picture has to be drawn so that short motion is not
/// seen.
///
/// All sums are of whole numbers, so that the place of a picture depends on the motion around it and on nothing
/// else: a clip that begins a little later has the same places but near its start.
struct CameraPath {
  /// Standard deviations of the Gaussian that are used to each side.
  private static let reach = 3.0
  /// Pictures that a standard deviation has at most: more add time to planning and nothing to the path.
  private static let knotsOfDeviation = 150.0

  /// The sum of all motion up to each picture, in order of time.
  private let sums: [MotionStep]
  /// Half of what is shown of a picture, in square pixels.
  private let halfWidth: Double
  private let halfHeight: Double
  /// Seconds a tick.
  private let tick: Double

  /// - Parameters:
  ///   - steps: The motion of each picture since the one before it, in order of time.
  ///   - size: What is shown of a stored picture, in square pixels.
  init(_ steps: [MotionStep], width: Double, height: Double, timebase: MediaTime) {
    var sum = MotionStep(pts: 0)
    sums = steps.enumerated().map { index, step in
      // Nothing is known of the time before the clip.
      if index > 0 { (sum.x, sum.y, sum.angle) = (sum.x + step.x, sum.y + step.y, sum.angle + step.angle) }
      sum.pts = step.pts
      return sum
    }
    (halfWidth, halfHeight) = (width / 2, height / 2)
    tick = timebase.approximateSeconds
  }

  /// The places of all pictures, as `PlannedStabilization` has them.
  func stabilized(_ stabilization: Stabilization) -> PlannedStabilization {
    let deviation = stabilization.smoothing.approximateSeconds / 2
    let knots = knots(deviation)
    let wanted = sums.map { offset(of: $0, deviation, knots) }
    let zoom = stabilization.zoom ?? min(Stabilization.greatestZoom, wanted.map(zoom(for:)).max() ?? 1)
    return PlannedStabilization(zoom: zoom, places: wanted.map { limited($0, zoom: zoom) })
  }

  /// The pictures that the path is fitted to: all, or of so many that they tell nothing more, the first of each of
  /// equal stretches of time.
  private func knots(_ deviation: Double) -> [MotionStep] {
    let cell = Int64(max(1, deviation / Self.knotsOfDeviation / tick))
    var knots: [MotionStep] = []
    for sum in sums {
      func number(_ pts: Int64) -> Int64 { pts >= 0 ? pts / cell : (pts + 1) / cell - 1 }
      if knots.last.map({ number($0.pts) == number(sum.pts) }) != true { knots.append(sum) }
    }
    return knots
  }

  /// How far a picture is from the evened path: from the line that fits the pictures around it best, each with the
  /// weight of its distance in time and of the time that it stands for. What moves evenly is such a line, whatever
  /// pictures are missing of it, also at the ends of the clip.
  private func offset(
    of own: MotionStep, _ deviation: Double, _ knots: [MotionStep]
  ) -> (pts: Int64, x: Double, y: Double, angle: Double) {
    let reach = Int64(min(4e18, Self.reach * deviation / tick))
    let first = knots.partitionPoint { own.pts.subtractingReportingOverflow(reach).partialValue <= $0.pts }
    let end = knots.partitionPoint { own.pts.addingReportingOverflow(reach).partialValue < $0.pts }
    var (s0, s1, s2) = (0.0, 0.0, 0.0)
    var (x, y, angle) = ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0))
    for index in first..<max(first, end) {
      let there = knots[index]
      let (before, after) = (knots[max(0, index - 1)], knots[min(knots.count - 1, index + 1)])
      let distance = Double(there.pts - own.pts) * tick / deviation
      // One before a long pause does not stand for all of it.
      let share = min(1, max(1e-9, Double(after.pts - before.pts) * tick / deviation))
      let weight = Self.bell(distance) * share
      (s0, s1, s2) = (s0 + weight, s1 + weight * distance, s2 + weight * distance * distance)
      func add(_ difference: Int, to sums: inout (Double, Double)) {
        sums = (sums.0 + weight * Double(difference), sums.1 + weight * distance * Double(difference))
      }
      add(there.x - own.x, to: &x)
      add(there.y - own.y, to: &y)
      add(there.angle - own.angle, to: &angle)
    }
    let determinant = s0 * s2 - s1 * s1
    func fitted(_ sums: (Double, Double)) -> Double {
      if determinant > 1e-9 * s0 * s0 { return (s2 * sums.0 - s1 * sums.1) / determinant }
      return s0 > 0 ? sums.0 / s0 : 0
    }
    return (own.pts, -fitted(x).rounded(), -fitted(y).rounded(), -fitted(angle).rounded())
  }

  /// exp(-r²/2) by arithmetic alone, the same on every machine: (1 - r²/32)^16 is as near to a bell.
  private static func bell(_ ratio: Double) -> Double {
    var value = max(0, 1 - ratio * ratio / 32)
    for _ in 0..<4 { value *= value }
    return value
  }

  /// The least zoom at which a picture may be moved as far: in steps of a thousandth.
  private func zoom(for place: (pts: Int64, x: Double, y: Double, angle: Double)) -> Double {
    let turn = abs(place.angle) / MotionStep.unitsOfRadian
    func zoom(_ half: Double, _ other: Double, _ distance: Double) -> Double {
      let free = half - abs(distance) / MotionStep.unitsOfPixel
      return free > 0 ? (half + turn * other) / free : .infinity
    }
    let least = max(zoom(halfWidth, halfHeight, place.x), zoom(halfHeight, halfWidth, place.y))
    return (min(least, 100) * 1000).rounded(.up) / 1000
  }

  /// A place as near to the wanted one as a zoom allows without an edge of the picture being seen.
  private func limited(
    _ place: (pts: Int64, x: Double, y: Double, angle: Double), zoom: Double
  ) -> MotionStep {
    let turn = abs(place.angle) / MotionStep.unitsOfRadian
    func share(_ half: Double, _ other: Double, _ distance: Double) -> Double {
      let needed = abs(distance) / MotionStep.unitsOfPixel + turn * other / zoom
      return needed > 0 ? min(1, half * (1 - 1 / zoom) / needed) : 1
    }
    let share = min(share(halfWidth, halfHeight, place.x), share(halfHeight, halfWidth, place.y))
    func scaled(_ number: Double) -> Int { Int((number * share).rounded(.towardZero)) }
    return MotionStep(pts: place.pts, x: scaled(place.x), y: scaled(place.y), angle: scaled(place.angle))
  }
}
