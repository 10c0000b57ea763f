import CompositionModel
import RenderTasks

/// The path of the camera in a clip, evened out: where each picture has to be drawn so that short movements are not
/// seen.
///
/// All sums are of whole numbers, so that the place of a picture depends on the movements around it and on nothing
/// else: a clip that begins a little later has the same places but near its start.
struct CameraPath {
  /// Standard deviations of the Gaussian that are used to each side.
  private static let reach = 3.0

  /// The sum of all movements up to each picture, in order of time.
  private let sums: [MotionStep]
  /// Half of what is shown of a picture, in square pixels.
  private let halfWidth: Double
  private let halfHeight: Double
  /// Seconds a tick.
  private let tick: Double

  /// - Parameters:
  ///   - steps: The movement of each picture since the one before it, in order of time.
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
    let wanted = sums.indices.map { offset(of: $0, deviation: stabilization.smoothing.approximateSeconds / 2) }
    let zoom = stabilization.zoom ?? min(Stabilization.greatestZoom, wanted.map(zoom(for:)).max() ?? 1)
    return PlannedStabilization(zoom: zoom, places: wanted.map { limited($0, zoom: zoom) })
  }

  /// How far a picture is from the evened path.
  private func offset(of index: Int, deviation: Double) -> (pts: Int64, x: Double, y: Double, angle: Double) {
    let own = sums[index]
    var (x, y, angle, total) = (0.0, 0.0, 0.0, 1.0)
    // In pairs, one from each side. Where a side has no more pictures, the path is continued by its mirror image
    // through the picture at the edge, so that a camera that moves evenly keeps moving so.
    var distance = 1
    while let before = place(index - distance), let after = place(index + distance) {
      // Of pictures that are not equally long, on average.
      let seconds = (Double(after.pts) - Double(before.pts)) / 2 * tick
      if seconds > Self.reach * deviation { break }
      let weight = Self.bell(seconds / deviation)
      for there in [before, after] {
        x += weight * Double(there.x - own.x)
        y += weight * Double(there.y - own.y)
        angle += weight * Double(there.angle - own.angle)
      }
      total += 2 * weight
      distance += 1
    }
    return (own.pts, -x / total, -y / total, -angle / total)
  }

  /// exp(-r²/2) by arithmetic alone, the same on every machine: (1 - r²/32)^16 is as near to a bell.
  private static func bell(_ ratio: Double) -> Double {
    var value = max(0, 1 - ratio * ratio / 32)
    for _ in 0..<4 { value *= value }
    return value
  }

  /// The sum at a picture, or, beyond the edges, at the mirror image of one. Nil: it would be of none.
  private func place(_ index: Int) -> MotionStep? {
    if sums.indices.contains(index) { return sums[index] }
    let edge = index < 0 ? 0 : sums.count - 1
    guard sums.indices.contains(2 * edge - index) else { return nil }
    let (middle, mirrored) = (sums[edge], sums[2 * edge - index])
    return MotionStep(
      pts: 2 * middle.pts - mirrored.pts, x: 2 * middle.x - mirrored.x, y: 2 * middle.y - mirrored.y,
      angle: 2 * middle.angle - mirrored.angle)
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
