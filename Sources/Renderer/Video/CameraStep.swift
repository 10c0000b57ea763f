/// How a camera has moved between two pictures, from the motion of parts of the picture.
///
/// libvidstab fits one to the other by a search with random steps, and each result would be another.
struct CameraStep: Equatable {
  /// A part of the picture.
  struct Part {
    /// Its place, in pixels from the middle of the picture.
    var x: Double
    var y: Double
    /// Its motion, in pixels.
    var across: Double
    var down: Double
  }

  /// In pixels.
  private(set) var x = 0.0
  private(set) var y = 0.0
  /// Clockwise around the middle, in radians.
  private(set) var angle = 0.0

  /// How often parts that move otherwise are left out.
  private static let rounds = 8
  /// The least difference, in pixels, that a part is left out for: motion is found in whole pixels.
  private static let tolerance = 1.0

  /// The motion of most parts, by least squares. Nil: there are none.
  init?(_ parts: [Part]) {
    guard !parts.isEmpty else { return nil }
    func median(_ numbers: [Double]) -> Double { numbers.sorted()[numbers.count / 2] }
    (x, y) = (median(parts.map(\.across)), median(parts.map(\.down)))
    for _ in 0..<Self.rounds {
      let misses = parts.map(miss)
      let limit = max(Self.tolerance, 2.5 * median(misses))
      let kept = zip(parts, misses).filter { $0.1 <= limit }.map(\.0)
      guard let fitted = Self(fitting: kept), fitted != self else { break }
      self = fitted
    }
  }

  private init?(fitting parts: [Part]) {
    let count = Double(parts.count)
    guard count > 0 else { return nil }
    func mean(_ value: (Part) -> Double) -> Double { parts.reduce(0) { $0 + value($1) } / count }
    let (middleX, middleY) = (mean(\.x), mean(\.y))
    var (turn, spread) = (0.0, 0.0)
    for part in parts {
      let (right, below) = (part.x - middleX, part.y - middleY)
      turn += right * part.down - below * part.across
      spread += right * right + below * below
    }
    angle = spread > 0 ? turn / spread : 0
    (x, y) = (mean(\.across) + angle * middleY, mean(\.down) - angle * middleX)
  }

  /// How far a part is from where this step moves it.
  private func miss(_ part: Part) -> Double {
    let (right, below) = (x - angle * part.y - part.across, y + angle * part.x - part.down)
    return (right * right + below * below).squareRoot()
  }
}
