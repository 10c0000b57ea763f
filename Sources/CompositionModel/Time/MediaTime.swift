/// A point in time or a duration, in seconds, as an exact fraction: AVFoundation's `CMTime`.
///
/// Two times are equal when their values are (200/2 = 400/4). Arithmetic is exact or throws; it never rounds and never
/// wraps. Only `rescaled(to:)` rounds, and an edit of a composition, which says so in `hasBeenRounded`.
public struct MediaTime: Sendable {
  /// As written, which is not always in lowest terms.
  let numerator: Int128
  /// Positive for a finite time. Zero marks the special times.
  let denominator: Int64
  /// Whether the time is the place of a clip that was rounded to the nearest `roundingTimescale`th of a second because
  /// the exact place is too finely divided, or was computed from such a time: the flag of `CMTime` with this name. It
  /// plays no part in comparisons, and is not written to JSON.
  public let hasBeenRounded: Bool

  /// Units a second to which the place of a clip is rounded if it does not fit an `Int64` over an `Int32`. Each usual
  /// frame rate (24000/1001, 24, 25, 30000/1001, 30, 48, 50, 60000/1001, 60, 120) and sample rate (8000 to 192,000 Hz)
  /// has times that are whole numbers of these.
  public static let roundingTimescale: Int32 = 705_600_000

  private init(_ numerator: Int128, _ denominator: Int64, hasBeenRounded: Bool = false) {
    self.numerator = numerator
    self.denominator = denominator
    self.hasBeenRounded = hasBeenRounded
  }

  /// `value / timescale` seconds. A timescale that is not positive gives `.invalid`, as `CMTimeMake` does.
  public init(value: Int64, timescale: Int32) {
    if timescale > 0 { self.init(Int128(value), Int64(timescale)) } else { self = .invalid }
  }

  /// A whole number of seconds.
  public init(seconds: Int64) {
    self.init(value: seconds, timescale: 1)
  }

  /// The exact time, or `.overflow` if its denominator does not fit 64 bits.
  public init(_ exact: Rational) throws(TimeError) {
    guard let denominator = Int64(exactly: exact.denominator) else { throw .overflow }
    self.init(exact.numerator, denominator)
  }

  /// The count of `1/timescale` seconds. The places of clips are exactly these two numbers; a time that is more finely
  /// divided, as the difference of two may be, is given to the nearest `roundingTimescale`th of a second. `exact` has
  /// all of it.
  public var value: Int64 { terms.value }
  /// Units a second: positive for a finite time. Zero marks the special times.
  public var timescale: Int32 { terms.timescale }

  /// Not a time. As the place of an insertion it means the end of the track.
  public static let invalid = MediaTime(0, 0)
  public static let positiveInfinity = MediaTime(1, 0)
  public static let negativeInfinity = MediaTime(-1, 0)
  public static let zero = MediaTime(value: 0, timescale: 1)

  /// Finite: neither invalid nor infinite.
  public var isNumeric: Bool { denominator > 0 }
  /// Finite or infinite.
  public var isValid: Bool { isNumeric || numerator != 0 }

  /// The exact fraction. Throws `.notNumeric` for a time that is invalid or infinite.
  public var exact: Rational {
    get throws(TimeError) {
      guard isNumeric else { throw .notNumeric }
      return try Rational(numerator, Int128(denominator))
    }
  }

  public static func + (left: MediaTime, right: MediaTime) throws(TimeError) -> MediaTime {
    try MediaTime(left.exact + right.exact).rounded(if: left.hasBeenRounded || right.hasBeenRounded)
  }

  public static func - (left: MediaTime, right: MediaTime) throws(TimeError) -> MediaTime {
    try MediaTime(left.exact - right.exact).rounded(if: left.hasBeenRounded || right.hasBeenRounded)
  }

  public static func * (left: MediaTime, right: Rational) throws(TimeError) -> MediaTime {
    try MediaTime(left.exact * right).rounded(if: left.hasBeenRounded)
  }

  /// How many times `right` fits into `left`: a pure number, such as a rate.
  public static func / (left: MediaTime, right: MediaTime) throws(TimeError) -> Rational {
    try left.exact / right.exact
  }

  /// The nearest time with this timescale, halves away from zero, and whether it is exactly this time.
  public func rescaled(to timescale: Int32) throws(TimeError) -> (time: MediaTime, isExact: Bool) {
    let scaled = try exact * Rational(timescale)
    guard let value = Int64(exactly: scaled.rounded) else { throw .overflow }
    return (MediaTime(value: value, timescale: timescale), scaled.denominator == 1)
  }

  /// Seconds as a `Double`, for display and for ramps, where exactness is no longer needed.
  public var approximateSeconds: Double {
    guard isNumeric else { return numerator == 0 ? .nan : numerator > 0 ? .infinity : -.infinity }
    // A conversion from 64 bits is rounded once.
    return (Int64(exactly: numerator).map { Double($0) } ?? Double(numerator)) / Double(denominator)
  }

  /// The same time, flagged if a condition holds or it is already.
  func rounded(if condition: Bool) -> MediaTime {
    MediaTime(numerator, denominator, hasBeenRounded: hasBeenRounded || condition)
  }

  private var terms: (value: Int64, timescale: Int32) {
    func fitting(_ terms: (numerator: Int128, denominator: Int64)) -> (Int64, Int32)? {
      guard let value = Int64(exactly: terms.numerator), let timescale = Int32(exactly: terms.denominator) else {
        return nil
      }
      return (value, timescale)
    }
    if let terms = fitting((numerator, denominator)) ?? fitting(lowestTerms) { return terms }
    let nearest = try? exact * Rational(Self.roundingTimescale)  // Overflow: the time is too large for this timescale.
    if let value = nearest.flatMap({ Int64(exactly: $0.rounded) }) { return (value, Self.roundingTimescale) }
    return (Int64(clamping: numerator / Int128(denominator)), 1)
  }

  private var lowestTerms: (numerator: Int128, denominator: Int64) {
    guard isNumeric else { return (numerator, 0) }
    let divisor = Rational.greatestCommonDivisor(numerator.magnitude, UInt128(denominator.magnitude))
    return divisor == 1 ? (numerator, denominator) : (numerator / Int128(divisor), denominator / Int64(divisor))
  }
}

extension MediaTime: Hashable {
  public static func == (left: MediaTime, right: MediaTime) -> Bool {
    left.lowestTerms == right.lowestTerms
  }

  public func hash(into hasher: inout Hasher) {
    let terms = lowestTerms
    hasher.combine(terms.numerator)
    hasher.combine(terms.denominator)
  }
}

extension MediaTime: Comparable {
  /// Orders by value. As in CoreMedia: -∞ < every finite time < +∞ < invalid.
  public static func < (left: MediaTime, right: MediaTime) -> Bool {
    guard left.isNumeric, right.isNumeric else { return left.rank < right.rank }
    if left.denominator == right.denominator { return left.numerator < right.numerator }
    if let a = Int64(exactly: left.numerator), let b = Int64(exactly: right.numerator) {
      return Int128(a) * Int128(right.denominator) < Int128(b) * Int128(left.denominator)
    }
    let a = left.numerator.multipliedFullWidth(by: Int128(right.denominator))
    let b = right.numerator.multipliedFullWidth(by: Int128(left.denominator))
    return a.high == b.high ? a.low < b.low : a.high < b.high
  }

  private var rank: Int { isNumeric ? 1 : numerator < 0 ? 0 : numerator > 0 ? 2 : 3 }
}

extension MediaTime: CustomStringConvertible {
  /// `7/30`, `5`, `invalid`, `+inf` or `-inf`. In lowest terms, so that equal times have equal descriptions.
  public var description: String {
    guard isNumeric else { return numerator == 0 ? "invalid" : numerator > 0 ? "+inf" : "-inf" }
    let terms = lowestTerms
    return terms.denominator == 1 ? "\(terms.numerator)" : "\(terms.numerator)/\(terms.denominator)"
  }

  /// Reads the format of `description`. Nil for any other text.
  public init?(_ text: some StringProtocol) {
    switch text {
    case "invalid": self = .invalid
    case "+inf": self = .positiveInfinity
    case "-inf": self = .negativeInfinity
    default:
      let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      guard let numerator = Int64(parts[0]).map({ Int128($0) }) ?? Int128(parts[0]) else { return nil }
      guard let denominator = parts.count == 2 ? Int64(parts[1]) : 1, denominator > 0 else { return nil }
      self.init(numerator, denominator)
    }
  }
}

extension MediaTime: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let time = MediaTime(text) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "'\(text)' is not a time such as 7/30")
    }
    self = time
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
