import CompositionModel
import Glibc

/// Holds a segment to its share of the bits of a film with an average bit rate by encoding it again, for an encoder
/// that keeps the rate factor that it is opened with.
///
/// What a rate factor gives is only known when the whole segment is encoded with it. The next one is where the
/// logarithm of the bits, which falls nearly in a line, is expected to meet the share. Few encodings are made, and the
/// one that is nearest to the share is the result; it depends on nothing but the segment's frames and its task.
struct BitShareSearch {
  /// How often the segment is encoded at most to find the rate factor.
  private static let greatestCount = 4
  /// The least difference from the share that is worth another encoding.
  private static let tolerance = 0.01

  private let share: Double
  private let factors: ClosedRange<Double>
  private let stepsPerUnit: Double
  private let fall: Double
  /// What was encoded: the rate factor, and the logarithm of the bits by the share.
  private var tried: [(factor: Double, miss: Double)] = []

  /// Nil for a codec whose segments are not encoded again.
  /// - Parameters:
  ///   - planned: The rate factor of the film, with which the segment is encoded first.
  ///   - share: In bits; above 0.
  init?(planned: Double, share: Int, model: BitRateModel) {
    guard case .again(let fall, let range) = model.control else { return nil }
    self.share = Double(share)
    self.fall = fall
    stepsPerUnit = Double(model.stepsPerUnit)
    factors =
      max(planned - range, model.rateFactors.lowerBound)...min(planned + range, model.rateFactors.upperBound)
  }

  /// The rate factor with which the segment is to be encoded next. Nil: what was encoded last is the result.
  /// - Parameter factor: With which it was encoded last.
  mutating func next(after factor: Double, bits: Int) -> Double? {
    if let best, tried.contains(where: { $0.factor == factor }) {
      // The best one was encoded once more.
      return best == factor ? nil : best
    }
    tried.append((factor, log(Double(max(1, bits)) / share)))
    if let wanted, tried.count < Self.greatestCount, !tried.contains(where: { $0.factor == wanted }) { return wanted }
    return best == factor ? nil : best
  }

  private var best: Double? { tried.min { abs($0.miss) < abs($1.miss) }?.factor }

  /// Nil: no other is expected to be nearer to the share than the last one.
  private var wanted: Double? {
    guard let last = tried.last, abs(last.miss) > max(Self.tolerance, fall / stepsPerUnit / 2) else { return nil }
    var slope = fall
    if tried.count > 1 {
      let before = tried[tried.count - 2]
      slope = min(max((before.miss - last.miss) / (last.factor - before.factor), fall / 2), 2 * fall)
    }
    let exact = min(max(last.factor + last.miss / slope, factors.lowerBound), factors.upperBound)
    return (exact * stepsPerUnit).rounded() / stepsPerUnit
  }
}
