/// A day of the Gregorian calendar and the time of day, without a time zone: each day has 86,400 seconds.
public struct CalendarDate: Sendable, Hashable, Codable {
  /// From the start of the year 1970.
  public var seconds: Int

  public init(seconds: Int) { self.seconds = seconds }

  /// Nil if it is no date such as `2026-11-28`, `2026-11-28T09:30` or `2026-11-28T09:30:00` of the years 1 to 9999.
  public init?(_ text: String) {
    let parts = text.split(separator: "T", maxSplits: 1, omittingEmptySubsequences: false)
    guard let first = parts.first, let day = Self.fields(first, "-", [4, 2, 2]), day[0] >= 1,
      (1...12).contains(day[1]), day[2] >= 1, day[2] <= Self.dayCount(of: day[1], in: day[0])
    else { return nil }
    var time = [0, 0, 0]
    if parts.count > 1 {
      let written = Self.fields(parts[1], ":", [2, 2, 2]) ?? Self.fields(parts[1], ":", [2, 2])
      guard let written else { return nil }
      time = written + [0, 0, 0].dropFirst(written.count)
    }
    guard time[0] < 24, time[1] < 60, time[2] < 60 else { return nil }
    seconds = Self.days(until: day) * 86_400 + time[0] * 3600 + time[1] * 60 + time[2]
  }

  /// Numbers of as many digits as are given.
  private static func fields(_ text: Substring, _ separator: Character, _ digits: [Int]) -> [Int]? {
    let fields = text.split(separator: separator, omittingEmptySubsequences: false)
    guard fields.map(\.utf8.count) == digits, fields.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } })
    else { return nil }
    return fields.compactMap { Int($0) }
  }

  package func advanced(by seconds: Int) -> CalendarDate {
    let (sum, overflow) = self.seconds.addingReportingOverflow(seconds)
    return CalendarDate(seconds: overflow ? (seconds < 0 ? .min : .max) : sum)
  }

  private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && year % 100 != 0 || year % 400 == 0 }

  private static func dayCount(of month: Int, in year: Int) -> Int {
    month == 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// The days before the first of January of a year, from the year 1 on.
  private static func days(beforeYear year: Int) -> Int {
    let past = year - 1
    return past * 365 + past / 4 - past / 100 + past / 400
  }

  private static let epoch = days(beforeYear: 1970)

  /// From the start of the year 1970.
  private static func days(until day: [Int]) -> Int {
    days(beforeYear: day[0]) - epoch + (1..<day[1]).reduce(0) { $0 + dayCount(of: $1, in: day[0]) } + day[2] - 1
  }

  /// What a calendar and a clock show. A date outside of the years 1 to 9999 is the first or the last one within them.
  package struct Parts: Sendable, Hashable {
    package var year: Int
    /// From 1.
    package var month: Int
    package var day: Int
    /// From 1, the first of January.
    package var dayOfYear: Int
    /// 0 is Sunday.
    package var weekday: Int
    package var hour: Int
    package var minute: Int
    package var second: Int
  }

  package var parts: Parts {
    let (first, last) = (-Self.epoch * 86_400, (Self.days(beforeYear: 10_000) - Self.epoch) * 86_400 - 1)
    // From the start of the year 1, which is a Monday.
    let since = max(first, min(last, seconds)) - first
    let (day, time) = since.quotientAndRemainder(dividingBy: 86_400)
    // It is not too early, as no year is shorter.
    var year = min(9999, day / 365 + 1)
    while Self.days(beforeYear: year) > day { year -= 1 }
    let dayOfYear = day - Self.days(beforeYear: year)
    var (month, rest) = (1, dayOfYear)
    while rest >= Self.dayCount(of: month, in: year) {
      rest -= Self.dayCount(of: month, in: year)
      month += 1
    }
    return Parts(
      year: year, month: month, day: rest + 1, dayOfYear: dayOfYear + 1, weekday: (day + 1) % 7, hour: time / 3600,
      minute: time / 60 % 60, second: time % 60)
  }
}

/// How a date is written: text with the conversions of POSIX's `strftime` in the C locale.
public struct DateFormat: Sendable, Hashable, Codable {
  private enum Part {
    case text(String)
    case conversion(Character)
  }

  public let text: String

  /// Nil if it has a conversion that there is not.
  public init?(_ text: String) {
    self.text = text
    guard Self.parts(text) != nil else { return nil }
  }

  package static let standard = "%Y-%m-%d %H:%M:%S"
  /// What may follow a `%`.
  package static let conversions: [Character] = [
    "Y", "y", "m", "d", "e", "B", "b", "A", "a", "j", "H", "I", "M", "S", "p", "F", "T", "%",
  ]

  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
  ]
  private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]

  private static func parts(_ text: String) -> [Part]? {
    var parts: [Part] = []
    var rest = text[...]
    while let sign = rest.firstIndex(of: "%") {
      let after = rest.index(after: sign)
      guard after < rest.endIndex, conversions.contains(rest[after]) else { return nil }
      parts += [.text(String(rest[..<sign])), .conversion(rest[after])]
      rest = rest[rest.index(after: after)...]
    }
    return parts + [.text(String(rest))]
  }

  private func joined(_ value: (Character) -> String) -> String {
    (Self.parts(text) ?? []).map { part in
      switch part {
      case .text(let text): text
      case .conversion(let name): value(name)
      }
    }.joined()
  }

  package func text(of date: CalendarDate) -> String {
    let parts = date.parts
    func padded(_ number: Int, _ digits: Int = 2) -> String { CountingText.padded(number, digits) }
    let (year, month, day) = (padded(parts.year, 4), padded(parts.month), padded(parts.day))
    let (hour, minute, second) = (padded(parts.hour), padded(parts.minute), padded(parts.second))
    return joined { name in
      switch name {
      case "Y": year
      case "y": padded(parts.year % 100)
      case "m": month
      case "d": day
      case "e": parts.day < 10 ? " \(parts.day)" : "\(parts.day)"
      case "B": Self.months[parts.month - 1]
      case "b": String(Self.months[parts.month - 1].prefix(3))
      case "A": Self.weekdays[parts.weekday]
      case "a": String(Self.weekdays[parts.weekday].prefix(3))
      case "j": padded(parts.dayOfYear, 3)
      case "H": hour
      case "I": padded((parts.hour + 11) % 12 + 1)
      case "M": minute
      case "S": second
      case "p": parts.hour < 12 ? "AM" : "PM"
      case "F": "\(year)-\(month)-\(day)"
      case "T": "\(hour):\(minute):\(second)"
      default: "%"
      }
    }
  }

  /// Every character that may be shown but digits.
  var sample: String {
    joined { name in
      switch name {
      case "B", "b": Self.months.joined()
      case "A", "a": Self.weekdays.joined()
      case "e": " "
      case "p": "AMP"
      case "F": "-"
      case "T": ":"
      case "%": "%"
      default: ""
      }
    }
  }
}
