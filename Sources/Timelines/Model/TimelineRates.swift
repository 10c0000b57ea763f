package import CompositionModel
package import EditDocument

/// Rates and times that other programs have written as binary fractions, as the exact fractions that they stand for.
package enum TimelineRates {
  /// Frames a second.
  package static let allowed = Rational.one...Rational(1000)
  /// Seconds, some 31 years: no time of a timeline is larger, so sums of them can be computed.
  static let longest = Rational(1_000_000_000)

  /// Frames a second. Programs write 24000/1001 as 23.976, 23.98 or 23.976023976; so a rate that is no whole number and
  /// within 0.01 of n · 1000/1001 is that.
  package static func snapped(_ rate: Rational) throws(TimeError) -> Rational {
    guard rate.denominator != 1 else { return rate }
    let whole = try Rational((rate * Rational(1001, over: 1000)).rounded)
    let exact = try whole * Rational(1000, over: 1001)
    let distance = try rate - exact
    return try max(distance, -distance) * Rational(100) < .one && .zero < whole ? exact : rate
  }

  /// Reads `25`, `23.976`, `30000/1001`. Nil: it is no rate from 1 to 1000.
  package static func rate(_ text: some StringProtocol) -> Rational? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    do throws(TimeError) {
      let rate: Rational
      switch parts.count {
      case 1:
        guard let decimal = decimal(parts[0]) else { return nil }
        rate = try snapped(decimal)
      case 2:
        guard let numerator = Int64(parts[0]), let denominator = Int64(parts[1]), denominator > 0 else { return nil }
        rate = try Rational(Int128(numerator), Int128(denominator))
      default: return nil
      }
      return allowed.contains(rate) ? rate : nil
    } catch {
      return nil  // The caller reports that it is no rate.
    }
  }

  /// The exact value of a decimal, with or without an exponent. Nil: it is none, or too long for a fraction.
  package static func decimal(_ text: some StringProtocol) -> Rational? {
    let parts = String(text).split(omittingEmptySubsequences: false) { $0 == "e" || $0 == "E" }
    guard parts.count <= 2, let mantissa = parts.first else { return nil }
    var exponent = 0
    if parts.count == 2 {
      guard let number = Int(parts[1]), abs(number) <= 30 else { return nil }
      exponent = number
    }
    let isNegative = mantissa.hasPrefix("-")
    let sides = mantissa.drop { $0 == "-" || $0 == "+" }.split(separator: ".", omittingEmptySubsequences: false)
    guard sides.count <= 2, let whole = sides.first, sides.contains(where: { !$0.isEmpty }) else { return nil }
    let decimals = sides.count == 2 ? sides[1] : ""
    guard (whole + decimals).allSatisfy({ $0.isASCII && $0.isNumber }), let digits = Int128(whole + decimals) else {
      return nil
    }
    exponent -= decimals.count
    do throws(TimeError) {
      let ten = Rational(10)
      var value = Rational(isNegative ? -digits : digits)
      for _ in 0..<abs(exponent) { value = exponent < 0 ? try value / ten : try value * ten }
      return value
    } catch {
      return nil
    }
  }

  /// What a binary fraction stands for: the decimal that it is written as, if that has at most 15 digits, and else the
  /// simplest fraction that is as near as its last digit. Nil: it is not finite, or too large.
  package static func exact(_ number: Double) -> Rational? {
    guard number.isFinite else { return nil }
    let text = "\(number.magnitude)"
    guard let decimal = decimal(text) else { return nil }
    let digits = text.prefix { $0 != "e" }.filter(\.isNumber).drop { $0 == "0" }.count
    do throws(TimeError) {
      var value = decimal
      if digits > 15 {
        let distance = try decimal * Rational(1, 1_000_000_000_000_000)
        value = try .simplest(from: decimal - distance, to: decimal + distance)
      }
      return number < 0 ? -value : value
    } catch {
      return nil
    }
  }

  /// A time of so many frames. A count that is not whole was computed from seconds with the rate as it is written, so
  /// 71.94 frames at 23.98 a second are 3 s.
  /// - Parameter rate: As it is written.
  package static func time(_ count: Rational, rate: Rational) throws(TimeError) -> Rational {
    try count / (count.denominator == 1 ? snapped(rate) : rate)
  }
}

extension Rational {
  /// As a time of a document. Throws `.overflow` for one that a document cannot have.
  package var documentTime: Document.Time {
    get throws(TimeError) {
      guard denominator <= 1 << 48 else { throw .overflow }
      return .seconds(try MediaTime(self))
    }
  }
}
