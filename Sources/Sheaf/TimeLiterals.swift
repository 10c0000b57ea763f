public import CompositionModel

// Times as they are written in code: `2.seconds`, `2.5.seconds`, `MediaTime(1, 30)`, `time * 3`, `time / 2`.

extension MediaTime {
  /// `value / timescale` seconds, as `init(value:timescale:)`: `MediaTime(1, 30)` is a thirtieth of a second.
  public init(_ value: Int64, _ timescale: Int32) { self.init(value: value, timescale: timescale) }

  /// The exact product.
  @_disfavoredOverload
  public static func * (left: MediaTime, right: Int) throws(TimeError) -> MediaTime {
    try left.multiplied(by: Rational(right))
  }

  /// The exact quotient. Throws for 0.
  @_disfavoredOverload
  public static func / (left: MediaTime, right: Int) throws(TimeError) -> MediaTime {
    try left.multiplied(by: Rational(1, Int128(right)))
  }
}

extension Int {
  /// So many seconds.
  public var seconds: MediaTime { MediaTime(seconds: Int64(self)) }
}

extension Double {
  /// The seconds that the number has in decimals, exactly: `0.1.seconds` is 1/10 s, and not the binary number that is
  /// next to it. What is finer than 10⁻¹⁸ s is rounded to that.
  ///
  /// NaN is `.invalid`, and what is beyond ±10¹⁸ s is infinite.
  public var seconds: MediaTime {
    guard isFinite, magnitude < 1e18 else {
      return isNaN ? .invalid : sign == .minus ? .negativeInfinity : .positiveInfinity
    }
    // The description is the shortest text that is read as this number, such as `0.1` or `1e-07`.
    let parts = magnitude.description.split(separator: "e")
    let places = parts[0].split(separator: ".", omittingEmptySubsequences: false)
    let fraction = places.count > 1 ? String(places[1]) : ""
    var digits = Int128(places[0] + fraction) ?? 0
    var exponent = (parts.count > 1 ? Int(parts[1]) ?? 0 : 0) - fraction.utf8.count
    if exponent < -18 {
      let tenth = (0..<min(30, -18 - exponent)).reduce(Int128(1)) { power, _ in power * 10 }
      (digits, exponent) = ((digits + tenth / 2) / tenth, -18)
    }
    var denominator: Int128 = 1
    for _ in 0..<abs(exponent) { if exponent > 0 { digits *= 10 } else { denominator *= 10 } }
    let exact = try? Rational(sign == .minus ? -digits : digits, denominator)
    // Both are below 10³⁶, and the denominator is at most 10¹⁸: nothing of it can fail.
    return exact.flatMap { try? MediaTime($0) } ?? .invalid
  }
}
