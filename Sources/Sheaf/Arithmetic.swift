public import CompositionModel

// A scoped re-export does not bring operators along. Where a program imports the model as well, the model's are used.

extension MediaTime {
  /// The exact sum.
  @_disfavoredOverload
  public static func + (left: MediaTime, right: MediaTime) throws(TimeError) -> MediaTime { try left.adding(right) }

  /// The exact difference.
  @_disfavoredOverload
  public static func - (left: MediaTime, right: MediaTime) throws(TimeError) -> MediaTime {
    try left.subtracting(right)
  }

  /// The exact product.
  @_disfavoredOverload
  public static func * (left: MediaTime, right: Rational) throws(TimeError) -> MediaTime {
    try left.multiplied(by: right)
  }

  /// How many times `right` fits into `left`: a pure number, such as a rate.
  @_disfavoredOverload
  public static func / (left: MediaTime, right: MediaTime) throws(TimeError) -> Rational { try left.divided(by: right) }
}

extension Rational {
  /// The exact sum.
  @_disfavoredOverload
  public static func + (left: Rational, right: Rational) throws(TimeError) -> Rational { try left.adding(right) }

  /// The exact difference.
  @_disfavoredOverload
  public static func - (left: Rational, right: Rational) throws(TimeError) -> Rational { try left.subtracting(right) }

  /// The exact product.
  @_disfavoredOverload
  public static func * (left: Rational, right: Rational) throws(TimeError) -> Rational {
    try left.multiplied(by: right)
  }

  /// The exact quotient. Throws for 0.
  @_disfavoredOverload
  public static func / (left: Rational, right: Rational) throws(TimeError) -> Rational { try left.divided(by: right) }
}
