/// A point in time, to a millisecond. Its text, also as JSON, is RFC 3339's in UTC with three digits after the point,
/// such as `2026-11-28T04:05:06.789Z`.
package struct Timestamp: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  /// 0001-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z: what the text can say.
  private static let range: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

  /// Since 1970-01-01T00:00:00Z, without leap seconds.
  package let milliseconds: Int64

  /// A time that the text cannot say becomes the nearest one that it can.
  package init(milliseconds: Int64) {
    self.milliseconds = min(max(milliseconds, Self.range.lowerBound), Self.range.upperBound)
  }

  /// - Parameter duration: Since 1970, rounded down.
  package init(since1970 duration: Duration) {
    let (seconds, attoseconds) = duration.components
    let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1000)
    guard !overflows else {
      self.init(milliseconds: seconds < 0 ? .min : .max)
      return
    }
    let (rest, fraction) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000_000_000)
    self.init(milliseconds: whole + rest - (fraction < 0 ? 1 : 0))
  }

  package var since1970: Duration { .milliseconds(milliseconds) }

  package static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

  package init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let time = Timestamp(text) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "\"\(text.prefix(64))\" is no time of RFC 3339"))
    }
    self = time
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

// MARK: - RFC 3339

extension Timestamp {
  /// What a time looks like, for messages.
  package static let form = "a time of RFC 3339, such as 2026-11-28T04:05:06Z"

  package var description: String {
    let (days, time) = Self.floored(milliseconds, by: 86_400_000)
    let (year, month, day) = Self.date(of: days)
    let clock = [time / 3_600_000, time / 60_000 % 60, time / 1000 % 60].map { Self.digits($0, 2) }
    return "\(Self.digits(year, 4))-\(Self.digits(month, 2))-\(Self.digits(day, 2))T"
      + clock.joined(separator: ":") + ".\(Self.digits(time % 1000, 3))Z"
  }

  /// A date and a time of RFC 3339, with any number of digits after the point, of which those beyond a millisecond are
  /// dropped. Nil for any other text.
  package init?(_ text: String) {
    var rest = text.utf8[...]
    guard let year = rest.takeNumber(4), rest.take("-"), let month = rest.takeNumber(2), rest.take("-"),
      let day = rest.takeNumber(2), rest.take("T") || rest.take("t"), let hour = rest.takeNumber(2), rest.take(":"),
      let minute = rest.takeNumber(2), rest.take(":"), let second = rest.takeNumber(2)
    else { return nil }
    guard year > 0, (1...12).contains(month), (1...Self.days(inMonth: month, of: year)).contains(day), hour < 24,
      minute < 60, second <= 60
    else { return nil }
    var fraction: Int64 = 0
    if rest.take(".") {
      let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      guard !digits.isEmpty else { return nil }
      rest = rest.dropFirst(digits.count)
      for place in 0..<3 { fraction = fraction * 10 + Int64(digits.dropFirst(place).first.map { $0 - 48 } ?? 0) }
    }
    guard let offset = rest.takeOffset(), rest.isEmpty else { return nil }
    let seconds = Self.day(year, month, day) * 86_400 + hour * 3600 + (minute - offset) * 60 + second
    self.init(milliseconds: seconds * 1000 + fraction)
  }

  private static func digits(_ number: Int64, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }

  private static func floored(_ value: Int64, by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  private static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  private static func days(inMonth month: Int64, of year: Int64) -> Int64 {
    month == 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// The days from 1970-01-01 to a date. Years begin in March here, so that the day of a leap year is the last of its
  /// year: the months from March on then have 153 days in each five.
  private static func day(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return year * 365 + floored(year, by: 4).quotient - floored(year, by: 100).quotient
      + floored(year, by: 400).quotient + dayOfYear - 719_468
  }

  private static func date(of days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let (era, inEra) = floored(days + 719_468, by: 146_097)
    let yearOfEra = (inEra - inEra / 1460 + inEra / 36_524 - inEra / 146_096) / 365
    let dayOfYear = inEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let fromMarch = (5 * dayOfYear + 2) / 153
    let month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * fromMarch + 2) / 5 + 1)
  }
}

extension Substring.UTF8View {
  fileprivate mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard first == UInt8(ascii: character) else { return false }
    self = dropFirst()
    return true
  }

  /// A number of so many digits.
  fileprivate mutating func takeNumber(_ count: Int) -> Int64? {
    let digits = prefix(count)
    guard digits.count == count, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    self = dropFirst(count)
    return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
  }

  /// `Z`, or the difference from UTC in minutes.
  fileprivate mutating func takeOffset() -> Int64? {
    if take("Z") || take("z") { return 0 }
    let isWest = first == UInt8(ascii: "-")
    guard take("-") || take("+"), let hours = takeNumber(2), take(":"), let minutes = takeNumber(2), hours < 24,
      minutes < 60
    else { return nil }
    return (hours * 60 + minutes) * (isWest ? -1 : 1)
  }
}
