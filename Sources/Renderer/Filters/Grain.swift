import CKernels
import CompositionModel

/// Noise on luma. A grid whose points are a grain's size apart has a number at each, of a hash of its place, of the
/// seed and of the time; a pixel has the weighted mean of the four around it, divided by the deviation that the weights
/// leave.
struct Grain {
  private let amplitude: Double
  /// In luma samples, one at least.
  private let across: Double
  private let down: Double
  private let key: UInt64

  /// The standard deviation of a number of the grid: of the sum of four numbers of 16 bits.
  private static let deviation = ((65536.0 * 65536 - 1) / 3).squareRoot()

  /// - Parameters:
  ///   - amplitude: The standard deviation in 1/16384 of a sample's range.
  ///   - time: Since the grain began.
  init(amplitude: Double, size: Double, seed: Double, time: MediaTime, _ lengths: FilterLengths) throws(RenderError) {
    self.amplitude = amplitude
    across = max(1, size / lengths.across)
    down = max(1, size / lengths.down)
    let exact: Rational
    do { exact = try time.exact } catch { throw RenderError(.task, "the time of grain: \(error)") }
    key = sheaf_grain_key(
      UInt64(seed.rounded(.down)), Int64(truncatingIfNeeded: exact.numerator),
      Int64(truncatingIfNeeded: exact.denominator))
  }

  /// Where a sample lies between two points of the grid, and the weights of both.
  private static func place(_ sample: Int, _ step: Double) -> (first: Int, weight: Double, next: Double) {
    let place = (Double(sample) + 0.5) / step - 0.5
    let first = place.rounded(.down)
    let share = place - first
    let deviation = (share * share + (1 - share) * (1 - share)).squareRoot()
    return (Int(first), (1 - share) / deviation, share / deviation)
  }

  func apply(to work: FilterPicture) throws(RenderError) {
    let size = work.size
    let places = (0..<size.width).map { Self.place($0, across) }
    // The first point is beyond the edge.
    let columns = places.map { Int32($0.first + 1) }
    let weights = places.flatMap { [$0.weight, $0.next] }
    let count = Int(columns.last ?? 0) + 2
    var rows = [[Int32](repeating: 0, count: count), [Int32](repeating: 0, count: count)]
    var loaded: [Int?] = [nil, nil]
    let coverage = work.isOpaque ? nil : work.planes.plane(.coverage)
    for y in 0..<size.height {
      let place = Self.place(y, down)
      for row in place.first...(place.first + 1) where loaded[row & 1] != row {
        sheaf_grain_numbers(&rows[row & 1], Int32(count), Int32(row), key)
        loaded[row & 1] = row
      }
      let unit = amplitude / Self.deviation
      sheaf_grain_row(
        work.planes.plane(.luma) + y * size.width, coverage.map { $0 + y * size.width }, Int32(size.width), columns,
        weights, rows[place.first & 1], rows[(place.first + 1) & 1], place.weight * unit, place.next * unit)
    }
  }
}
