/// A point in time or a duration, in seconds, as an exact fraction: AVFoundation's `CMTime`.
///
/// Two times are equal when their values are (200/2 = 400/4). Arithmetic is exact or throws; it never rounds and never
/// wraps. Only `rescaled(to:)` rounds.
public struct MediaTime: Sendable {
  /// The count of `1/timescale` seconds.
  public let value: Int64
  /// Units a second: positive for a finite time. Zero marks the special times.
  public let timescale: Int32

  private init(special: Int64) {
    value = special
    timescale = 0
  }

  /// `value / timescale` seconds. A timescale that is not positive gives `.invalid`, as `CMTimeMake` does.
  public init(value: Int64, timescale: Int32) {
    guard timescale > 0 else {
      self = .invalid
      return
    }
    self.value = value
    self.timescale = timescale
  }

  /// A whole number of seconds.
  public init(seconds: Int64) {
    self.init(value: seconds, timescale: 1)
  }

  /// The exact time, or `.overflow` if it does not fit 64 over 32 bits.
  public init(_ exact: Rational) throws(TimeError) {
    guard let value = Int64(exactly: exact.numerator), let timescale = Int32(exactly: exact.denominator) else {
      throw .overflow
    }
    self.init(value: value, timescale: timescale)
  }

  /// Not a time. As the place of an insertion it means the end of the track.
  public static let invalid = MediaTime(special: 0)
  public static let positiveInfinity = MediaTime(special: 1)
  public static let negativeInfinity = MediaTime(special: -1)
  public static let zero = MediaTime(value: 0, timescale: 1)

  /// Finite: neither invalid nor infinite.
  public var isNumeric: Bool { timescale > 0 }
  /// Finite or infinite.
  public var isValid: Bool { isNumeric || value != 0 }

  /// The exact fraction. Throws `.notNumeric` for a time that is invalid or infinite.
  public var exact: Rational {
    get throws(TimeError) {
      guard isNumeric else { throw .notNumeric }
      return try Rational(Int128(value), Int128(timescale))
    }
  }

  public static func + (left: MediaTime, right: MediaTime) throws(TimeError) -> MediaTime {
    try MediaTime(left.exact + right.exact)
  }

  public static func - (left: MediaTime, right: MediaTime) throws(TimeError) -> MediaTime {
    try MediaTime(left.exact - right.exact)
  }

  public static func * (left: MediaTime, right: Rational) throws(TimeError) -> MediaTime {
    try MediaTime(left.exact * right)
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
    isNumeric ? Double(value) / Double(timescale) : value == 0 ? .nan : value > 0 ? .infinity : -.infinity
  }

  private var lowestTerms: (value: Int64, timescale: Int32) {
    guard isNumeric else { return (value, 0) }
    let divisor = Rational.greatestCommonDivisor(UInt128(value.magnitude), UInt128(timescale.magnitude))
    return (value / Int64(divisor), timescale / Int32(divisor))
  }
}

extension MediaTime: Hashable {
  public static func == (left: MediaTime, right: MediaTime) -> Bool {
    left.lowestTerms == right.lowestTerms
  }

  public func hash(into hasher: inout Hasher) {
    let terms = lowestTerms
    hasher.combine(terms.value)
    hasher.combine(terms.timescale)
  }
}

extension MediaTime: Comparable {
  /// Orders by value. As in CoreMedia: -∞ < every finite time < +∞ < invalid.
  public static func < (left: MediaTime, right: MediaTime) -> Bool {
    if left.isNumeric, right.isNumeric {
      let a = Int128(left.value) * Int128(right.timescale)
      let b = Int128(right.value) * Int128(left.timescale)
      return a < b
    }
    return left.rank < right.rank
  }

  private var rank: Int { isNumeric ? 1 : value < 0 ? 0 : value > 0 ? 2 : 3 }
}

extension MediaTime: CustomStringConvertible {
  /// `7/30`, `5`, `invalid`, `+inf` or `-inf`. In lowest terms, so that equal times have equal descriptions.
  public var description: String {
    guard isNumeric else { return value == 0 ? "invalid" : value > 0 ? "+inf" : "-inf" }
    let terms = lowestTerms
    return terms.timescale == 1 ? "\(terms.value)" : "\(terms.value)/\(terms.timescale)"
  }

  /// Reads the format of `description`. Nil for any other text.
  public init?(_ text: some StringProtocol) {
    switch text {
    case "invalid": self = .invalid
    case "+inf": self = .positiveInfinity
    case "-inf": self = .negativeInfinity
    default:
      let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      guard let value = Int64(parts[0]) else { return nil }
      guard parts.count == 2 else {
        self.init(seconds: value)
        return
      }
      guard let timescale = Int32(parts[1]), timescale > 0 else { return nil }
      self.init(value: value, timescale: timescale)
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

/// A half-open range of time [start, start+duration): AVFoundation's `CMTimeRange`.
public struct MediaTimeRange: Sendable, Hashable, Codable {
  public let start: MediaTime
  /// Not negative.
  public let duration: MediaTime

  /// Throws `.notNumeric` unless both are finite and the duration is not negative, `.overflow` if the end does not fit.
  public init(start: MediaTime, duration: MediaTime) throws(TimeError) {
    guard duration.isNumeric, start.isNumeric, duration.value >= 0 else { throw .notNumeric }
    self.start = start
    self.duration = duration
    end = try start + duration
  }

  /// The range from `start` up to, and without, `end`.
  public init(start: MediaTime, end: MediaTime) throws(TimeError) {
    try self.init(start: start, duration: end - start)
  }

  /// The empty range at a finite time.
  package init(emptyAt start: MediaTime) {
    self.start = start
    duration = .zero
    end = start
  }

  /// The first time after the range.
  public let end: MediaTime

  public var isEmpty: Bool { duration == .zero }

  /// Whether a time is in the range. Its end is not.
  public func contains(_ time: MediaTime) -> Bool { start <= time && time < end }

  /// Whether every time of `other` is in this range. An empty range is contained if it starts in this range or at its
  /// end.
  public func contains(_ other: MediaTimeRange) -> Bool { start <= other.start && other.end <= end }

  /// The times in both ranges. Nil if there are none, as for ranges that only touch.
  public func intersection(_ other: MediaTimeRange) throws(TimeError) -> MediaTimeRange? {
    let (start, end) = (max(start, other.start), min(end, other.end))
    return start < end ? try MediaTimeRange(start: start, end: end) : nil
  }

  /// The smallest range that holds both.
  public func union(_ other: MediaTimeRange) throws(TimeError) -> MediaTimeRange {
    try MediaTimeRange(start: min(start, other.start), end: max(end, other.end))
  }

  /// The same duration, `offset` later.
  public func shifted(by offset: MediaTime) throws(TimeError) -> MediaTimeRange {
    try MediaTimeRange(start: start + offset, duration: duration)
  }

  private enum CodingKeys: CodingKey { case start, duration }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    try self.init(
      start: container.decode(MediaTime.self, forKey: .start),
      duration: container.decode(MediaTime.self, forKey: .duration))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(start, forKey: .start)
    try container.encode(duration, forKey: .duration)
  }
}

extension MediaTimeRange: CustomStringConvertible {
  /// The notation of documents: `4..9`.
  public var description: String { "\(start)..\(end)" }
}
