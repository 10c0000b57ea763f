import CompositionModel

/// The speed of an event, as the line `M2` has it: frames a second.
enum EDLSpeed {
  /// Seconds of the source a second of the film. A rate of television such as 14.985, half of 29.97, is relative to the
  /// rate; another number, such as 15, to the number that the rate is called by.
  static func factor(_ number: Rational, rate: Rational) throws(TimeError) -> Rational {
    let size = try TimelineRates.snapped(number.magnitude)
    let factor = try size == number.magnitude ? size / Rational(rate.rounded) : size / rate
    return number < .zero ? -factor : factor
  }

  /// The number for a speed, with at most six decimals, and the speed that it stands for.
  static func number(_ speed: Rational, rate: Rational) throws(TimeError) -> (text: String, speed: Rational) {
    let million = Rational(1_000_000)
    let exact = try speed.magnitude * Rational(rate.rounded)
    let count = try (exact * million).rounded
    let (whole, rest) = count.quotientAndRemainder(dividingBy: 1_000_000)
    var decimals = String("00000\(rest)".suffix(6))
    while decimals.count > 1, decimals.last == "0" { decimals.removeLast() }
    let text = (speed < .zero ? "-" : "") + String("00\(whole)".suffix(max(3, "\(whole)".count))) + "." + decimals
    let written = try Rational(speed < .zero ? -count : count) / million
    return (text, try factor(written, rate: rate))
  }
}
