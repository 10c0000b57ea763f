extension Rational {
  /// The fraction with the smallest denominator between two bounds, both included, and of several such fractions the
  /// smallest. It is found in their continued fractions.
  /// - Parameters:
  ///   - low: Not below zero.
  ///   - high: Not below `low`.
  package static func simplest(from low: Rational, to high: Rational) throws(TimeError) -> Rational {
    precondition(.zero <= low && low <= high)
    let whole = Rational(low.floor)
    if whole == low { return low }
    let next = try whole + .one
    if next <= high { return next }
    // Both bounds are between two whole numbers.
    let inverse = try simplest(from: Rational.one / (high - whole), to: Rational.one / (low - whole))
    return try whole + Rational.one / inverse
  }
}
