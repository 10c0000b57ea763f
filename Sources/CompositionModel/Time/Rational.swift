/// An exact fraction, wide enough for every intermediate result between two `MediaTime`s.
///
/// Always in lowest terms with a positive denominator, so equal values are equal fields.
public struct Rational: Sendable, Hashable {
  public let numerator: Int128
  /// Positive.
  public let denominator: Int128

  private init(reduced numerator: Int128, _ denominator: Int128) {
    self.numerator = numerator
    self.denominator = denominator
  }

  /// `numerator / denominator` in lowest terms.
  public init(_ numerator: Int128, _ denominator: Int128) throws(TimeError) {
    guard denominator != 0 else { throw .divisionByZero }
    guard numerator != .min, denominator != .min else { throw .overflow }
    let divisor = Rational.greatestCommonDivisor(numerator.magnitude, denominator.magnitude)
    let sign: Int128 = denominator < 0 ? -1 : 1
    self.init(reduced: sign * numerator / Int128(divisor), sign * denominator / Int128(divisor))
  }

  /// A fraction that always fits. `denominator` must be positive.
  public init(_ numerator: Int32, over denominator: Int32) {
    precondition(denominator > 0)
    let divisor = Rational.greatestCommonDivisor(UInt128(numerator.magnitude), UInt128(denominator))
    self.init(reduced: Int128(numerator) / Int128(divisor), Int128(denominator) / Int128(divisor))
  }

  /// A whole number. One beyond ±(2^127 - 1), which no fraction holds, becomes the nearest that is held.
  public init(_ integer: some FixedWidthInteger) {
    self.init(reduced: max(-Int128.max, Int128(clamping: integer)), 1)
  }

  public static let zero = Rational(0)
  public static let one = Rational(1)

  package static func greatestCommonDivisor(_ a: UInt128, _ b: UInt128) -> UInt128 {
    var (a, b) = (a, b)
    while b > UInt128(UInt64.max) { (a, b) = (b, a % b) }
    guard b != 0 else { return a == 0 ? 1 : a }
    // Nearly all are so short, and a division of 64 bits takes a fraction of the time of one of 128.
    var (c, d) = (UInt64(truncatingIfNeeded: b), UInt64(truncatingIfNeeded: a <= UInt128(UInt64.max) ? a : a % b))
    while d != 0 { (c, d) = (d, c % d) }
    return UInt128(c)
  }

  public static func + (left: Rational, right: Rational) throws(TimeError) -> Rational {
    if left.denominator == 1, right.denominator == 1 {
      let (sum, overflow) = left.numerator.addingReportingOverflow(right.numerator)
      if overflow || sum == .min { throw .overflow }
      return Rational(reduced: sum, 1)
    }
    let divisor = Int128(greatestCommonDivisor(left.denominator.magnitude, right.denominator.magnitude))
    let scaledLeft = try multiply(left.numerator, right.denominator / divisor)
    let scaledRight = try multiply(right.numerator, left.denominator / divisor)
    let (sum, overflow) = scaledLeft.addingReportingOverflow(scaledRight)
    if overflow { throw .overflow }
    return try Rational(sum, multiply(left.denominator / divisor, right.denominator))
  }

  public static prefix func - (value: Rational) -> Rational {
    Rational(reduced: -value.numerator, value.denominator)
  }

  public static func - (left: Rational, right: Rational) throws(TimeError) -> Rational {
    try left + (-right)
  }

  public static func * (left: Rational, right: Rational) throws(TimeError) -> Rational {
    // Cancelling first keeps the products small.
    let a = try Rational(left.numerator, right.denominator)
    let b = try Rational(right.numerator, left.denominator)
    return Rational(reduced: try multiply(a.numerator, b.numerator), try multiply(a.denominator, b.denominator))
  }

  public static func / (left: Rational, right: Rational) throws(TimeError) -> Rational {
    try left * Rational(right.denominator, right.numerator)
  }

  private static func multiply(_ a: Int128, _ b: Int128) throws(TimeError) -> Int128 {
    let (product, overflow) = a.multipliedReportingOverflow(by: b)
    if overflow || product == .min { throw .overflow }
    return product
  }

  /// The greatest integer not above the value.
  public var floor: Int128 {
    let (quotient, remainder) = numerator.quotientAndRemainder(dividingBy: denominator)
    return remainder < 0 ? quotient - 1 : quotient
  }

  /// The smallest integer not below the value.
  public var ceiling: Int128 {
    let (quotient, remainder) = numerator.quotientAndRemainder(dividingBy: denominator)
    return remainder > 0 ? quotient + 1 : quotient
  }

  /// The nearest integer. Halves are rounded away from zero.
  public var rounded: Int128 {
    let (quotient, remainder) = numerator.quotientAndRemainder(dividingBy: denominator)
    // |remainder| < denominator, so the distance to the next integer cannot overflow.
    let isHalfOrMore = remainder.magnitude >= denominator.magnitude - remainder.magnitude
    return isHalfOrMore ? quotient + (remainder < 0 ? -1 : remainder > 0 ? 1 : 0) : quotient
  }

  /// The nearest `Double`, for display and for ramps, where exactness is no longer needed.
  public var approximate: Double { Double(numerator) / Double(denominator) }
}

extension Rational: Comparable {
  public static func < (left: Rational, right: Rational) -> Bool {
    let a = left.numerator.multipliedFullWidth(by: right.denominator)
    let b = right.numerator.multipliedFullWidth(by: left.denominator)
    return a.high == b.high ? a.low < b.low : a.high < b.high
  }
}

extension Rational: CustomStringConvertible {
  public var description: String { denominator == 1 ? "\(numerator)" : "\(numerator)/\(denominator)" }
}

/// Why an exact computation on times has no exact answer.
public enum TimeError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The exact result does not fit: a `Rational` holds an `Int128` over an `Int128`, a `MediaTime` an `Int128` over an
  /// `Int64`, and a time that is written in a document an `Int64` over an `Int32`. No result is rounded or wrapped
  /// instead.
  case overflow
  /// A division by zero, such as the rate of a range with no duration.
  case divisionByZero
  /// An invalid or infinite time where a finite one is needed.
  case notNumeric
  /// A range whose end is before its start, or whose duration is negative.
  case negativeDuration

  public var description: String {
    switch self {
    case .overflow:
      "a time is too large, or too finely divided, to be kept exactly"
    case .divisionByZero: "a time was divided by zero"
    case .negativeDuration: "a range ends before it starts"
    case .notNumeric: "an invalid or infinite time was used where a finite one is needed"
    }
  }
}

/// Runs a computation and converts its error to the error type of the caller.
///
/// The closure names its error type, because Swift does not infer it:
///
///     try mapErrors(to: EditingError.time) { () throws(TimeError) in try start + duration }
package func mapErrors<Value, Inner: Error, Outer: Error>(
  to transform: (Inner) -> Outer, _ compute: () throws(Inner) -> Value
) throws(Outer) -> Value {
  do { return try compute() } catch { throw transform(error) }
}

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
