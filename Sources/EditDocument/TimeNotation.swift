public import CompositionModel

extension Document {
  /// A time in the notation of documents. The duration of a frame is known only when the document is lowered.
  public enum Time: Sendable, Hashable, ExpressibleByIntegerLiteral {
    /// Exact.
    case seconds(MediaTime)
    /// So many frames of the output.
    case frames(Int64)
    /// So long after the end, a clip or a marker.
    indirect case after(Origin, Offset)

    public init(integerLiteral seconds: Int64) { self = .seconds(MediaTime(seconds: seconds)) }

    public init(_ time: MediaTime) { self = .seconds(time) }

    /// Reads `5`, `1.5`, `7/30`, `90f`, `1:02.5`, `end-2` or `clip:intro.end`. Nil: the text is no time, or one that
    /// cannot be kept exactly.
    public init?(_ notation: String) {
      guard let time = try? Self(text: notation) else { return nil }  // The caller reports that it is not a time.
      self = time
    }
  }

  /// A range of time in the notation of documents: `4..9`, without its end, or `4+5`, a start and a duration.
  public struct TimeRange: Sendable, Hashable {
    public var start: Time
    /// The end of the range, or its duration.
    public var end: Time
    /// Whether `end` is the duration of the range.
    public var endIsDuration: Bool

    /// From a time up to, and without, another.
    public init(from start: Time, to end: Time) { self.init(start: start, end: end, endIsDuration: false) }

    public init(from start: Time, for duration: Time) { self.init(start: start, end: duration, endIsDuration: true) }

    public init(_ range: MediaTimeRange) {
      // An end can be more finely divided than a document can have it.
      let isWritable = MediaTime(notation: range.end.description) != nil
      self.init(
        start: .seconds(range.start), end: .seconds(isWritable ? range.end : range.duration), endIsDuration: !isWritable
      )
    }

    /// Reads `4..9` or `4+5`. Nil: the text is no range, or one that cannot be kept exactly.
    public init?(_ notation: String) {
      guard let range = try? Self(text: notation) else { return nil }  // The caller reports that it is not a range.
      self = range
    }

    init(start: Time, end: Time, endIsDuration: Bool) {
      self.start = start
      self.end = end
      self.endIsDuration = endIsDuration
    }
  }
}

extension Document.Time {
  static let notations = "5, 1.5, \"7/30\", \"90f\" (output frames), \"1:02.5\" or \"1:00:02.5\""

  /// Reads the text of a JSON number.
  init(number: String) throws(TimeNotationError) {
    guard let seconds = try exactDecimal(number) else { throw .notATime }
    self = .seconds(try Self.time(seconds))
  }

  /// Reads a string in any notation of a time.
  init(text: some StringProtocol) throws(TimeNotationError) {
    guard let (origin, offset) = Origin.leading(Substring(text)) else {
      try self.init(counted: text)
      return
    }
    self = .after(origin, try Offset(text: offset))
  }

  /// Reads a time that counts from 0.
  init(counted text: some StringProtocol) throws(TimeNotationError) {
    let isNegative = text.hasPrefix("-")
    let digits = isNegative ? text.dropFirst() : text[...]
    guard let first = digits.first, first.isASCII, first.isNumber else { throw .notATime }
    if digits.hasSuffix("f") {
      let count = digits.dropLast()
      guard count.allSatisfy({ $0.isASCII && $0.isNumber }) else { throw .notATime }
      guard let frames = Int64(count) else { throw .tooPrecise }
      self = .frames(isNegative ? -frames : frames)
      return
    }
    let seconds =
      digits.contains(":")
      ? try Self.clock(digits) : digits.contains("/") ? try Self.fraction(digits) : try Self.decimal(digits)
    self = .seconds(try Self.time(isNegative ? -seconds : seconds))
  }

  private static func time(_ seconds: Rational) throws(TimeNotationError) -> MediaTime {
    guard seconds.denominator <= MediaTime.finestDenominator, seconds <= longest, -longest <= seconds else {
      throw .tooPrecise
    }
    do { return try MediaTime(seconds) } catch { throw .tooPrecise }
  }

  private static let longest = Rational(Int64.max)

  private static func decimal(_ text: some StringProtocol) throws(TimeNotationError) -> Rational {
    guard text.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }), let value = try exactDecimal(text) else {
      throw .notATime
    }
    return value
  }

  private static func fraction(_ text: some StringProtocol) throws(TimeNotationError) -> Rational {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts.contains(where: { $0.isEmpty || !$0.allSatisfy { $0.isASCII && $0.isNumber } })
    else { throw .notATime }
    guard let numerator = Int128(parts[0]), let denominator = Int128(parts[1]) else { throw .tooPrecise }
    do { return try Rational(numerator, denominator) } catch { throw .notATime }
  }

  /// `m:ss.s` or `h:mm:ss.s`. Each number after a colon is below 60 and has two digits before its point.
  private static func clock(_ text: some StringProtocol) throws(TimeNotationError) -> Rational {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2 || parts.count == 3 else { throw .notATime }
    var total = Rational.zero
    for (index, part) in parts.enumerated() {
      let whole = part.prefix { $0 != "." }
      guard index == 0 || whole.count == 2, index == parts.count - 1 || whole.count == part.count else {
        throw .notATime
      }
      let value = try decimal(part)
      guard index == 0 || value < Rational(60) else { throw .notATime }
      do { total = try total * Rational(60) + value } catch { throw .tooPrecise }
    }
    return total
  }

  /// Whether the time is before zero. It does not depend on the duration of a frame. Of a time that does not count from
  /// 0 it is not known.
  var isNegative: Bool {
    switch self {
    case .seconds(let time): time < .zero
    case .frames(let count): count < 0
    case .after: false
    }
  }

  /// The time in seconds. Nil if that of its origin is unknown.
  func resolved(
    frameDuration: MediaTime, from known: (Origin) -> MediaTime? = { _ in nil }
  ) throws(TimeError) -> MediaTime? {
    switch self {
    case .seconds(let time): time
    case .frames(let count): try Offset.frames(count).resolved(frameDuration: frameDuration)
    case .after(let origin, let offset):
      try known(origin).map { time throws(TimeError) in try time + offset.resolved(frameDuration: frameDuration) }
    }
  }
}

/// Why a text is not a time.
enum TimeNotationError: Error {
  /// The text is not in any notation of a time.
  case notATime
  /// It is, but the time does not fit a `MediaTime`.
  case tooPrecise

  func explanation(_ scope: TimeScope) -> String {
    switch self {
    case .notATime: "a time is written \(Document.Time.notations)\(scope.notations)"
    case .tooPrecise:
      "the time is too large or too finely divided to be kept exactly; a fraction of two whole numbers below 2^48 fits"
    }
  }
}

extension Document.TimeRange {
  static let notations =
    "\"4..9\" (from 4 up to 9) or \"4+5\" (from 4, for 5), each side a time such as "
    + Document.Time.notations

  init(text: String) throws(TimeNotationError) {
    let sides: (Substring, Substring)
    if let dots = text.firstRange(of: "..") {
      (sides, endIsDuration) = ((text[..<dots.lowerBound], text[dots.upperBound...]), false)
    } else if let plus = text.lastIndex(of: "+") {
      (sides, endIsDuration) = ((text[..<plus], text[text.index(after: plus)...]), true)
    } else {
      throw .notATime
    }
    // A side that is no time at all decides, whichever comes first.
    let first = Self.side { () throws(TimeNotationError) in try Document.Time(text: sides.0) }
    let second = Self.side { [endIsDuration] () throws(TimeNotationError) in
      endIsDuration ? try Document.Time(counted: sides.1) : try Document.Time(text: sides.1)
    }
    for side in [first, second] { if case .failure(.notATime) = side { throw .notATime } }
    (start, end) = (try first.get(), try second.get())
  }

  private static func side(
    _ read: () throws(TimeNotationError) -> Document.Time
  ) -> Result<Document.Time, TimeNotationError> { Result(catching: read) }

  /// Nil if the end is before the start, or the time of an origin is unknown.
  func resolved(
    frameDuration: MediaTime, from known: (Document.Time.Origin) -> MediaTime? = { _ in nil }
  ) throws(TimeError) -> MediaTimeRange? {
    guard let first = try start.resolved(frameDuration: frameDuration, from: known),
      let second = try end.resolved(frameDuration: frameDuration, from: known)
    else { return nil }
    if endIsDuration { return second < .zero ? nil : try MediaTimeRange(start: first, duration: second) }
    return second < first ? nil : try MediaTimeRange(start: first, end: second)
  }
}

/// The exact value of a decimal number in JSON's notation, with or without an exponent. Nil if the text is not one.
func exactDecimal(_ text: some StringProtocol) throws(TimeNotationError) -> Rational? {
  var digits = Int128(0)
  var scale = 0
  var hasPoint = false
  var digitCount = 0
  var rest = text[...]
  let isNegative = rest.hasPrefix("-")
  if isNegative { rest = rest.dropFirst() }
  while let character = rest.first, character != "e", character != "E" {
    rest = rest.dropFirst()
    if character == "." {
      guard !hasPoint, digitCount > 0 else { return nil }
      hasPoint = true
      digitCount = 0
      continue
    }
    guard character.isASCII, let digit = character.wholeNumberValue else { return nil }
    digitCount += 1
    let (tenfold, overflow) = digits.multipliedReportingOverflow(by: 10)
    let (sum, overflowToo) = tenfold.addingReportingOverflow(Int128(digit))
    guard !overflow, !overflowToo else { throw .tooPrecise }
    digits = sum
    if hasPoint { scale -= 1 }
  }
  guard digitCount > 0 else { return nil }
  if !rest.isEmpty {
    guard let exponent = Int(rest.dropFirst()) else { return nil }
    guard digits != 0 else { return .zero }
    guard (-99...99).contains(exponent) else { throw .tooPrecise }
    scale += exponent
  }
  do {
    var value = Rational(isNegative ? -digits : digits)
    let ten = Rational(10)
    for _ in 0..<abs(scale) { value = scale < 0 ? try value / ten : try value * ten }
    return value
  } catch {
    throw .tooPrecise
  }
}

extension MediaTime {
  /// Reads a time in the notation of documents: `5`, `1.5`, `7/30`, `90f`, `1:02.5`. Nil if the text is not a time, or
  /// the time cannot be kept exactly.
  /// - Parameters:
  ///   - text: The time as it is written.
  ///   - frameDuration: The duration of a frame for `90f`. Nil: a number of frames is refused.
  public init?(notation text: String, frameDuration: MediaTime? = nil) {
    guard let written = try? Document.Time(counted: text) else { return nil }  // The caller reports that it is no time.
    switch written {
    case .seconds(let time): self = time
    case .frames(let count):
      guard let frameDuration, let time = try? frameDuration * Rational(count) else { return nil }
      self = time
    case .after: return nil
    }
  }
}
