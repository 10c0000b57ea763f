/// Why an exact computation on times has no exact answer.
public enum TimeError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The exact result does not fit: a `MediaTime` holds an `Int64` over an `Int32`, a `Rational` an `Int128` over an
  /// `Int128`. No result is rounded or wrapped instead.
  case overflow
  /// A division by zero, such as the rate of a range with no duration.
  case divisionByZero
  /// An invalid or infinite time where a finite one is needed.
  case notNumeric

  public var description: String {
    switch self {
    case .overflow:
      "a time is too large, or too finely divided, to be kept exactly (a time is a 64-bit count of 1/timescale seconds)"
    case .divisionByZero: "a time was divided by zero"
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
