/// How a time zone's clock is set on and back every year: a TZ string of POSIX, as at the end of a file of the IANA
/// time zone database. `CET-1CEST,M3.5.0,M10.5.0/3` is one.
struct YearlyRule: Sendable, Hashable {
  /// How far the clock is ahead of UTC, in seconds.
  private var standard: Int64
  private var summer: Summer?

  private struct Summer: Sendable, Hashable {
    var offset: Int64
    var begins: Change
    var ends: Change
  }

  /// A day of every year, and a time of it by the clock that is shown before.
  fileprivate struct Change: Sendable, Hashable {
    enum Day: Sendable, Hashable {
      /// From 1 to 365; 29 February is not counted.
      case julian(Int64)
      /// From 0 to 365.
      case ofYear(Int64)
      /// The nth of a day of the week, 0 is Sunday; the fifth is the last.
      case ofMonth(Int64, week: Int64, weekday: Int64)
    }

    var day: Day
    var seconds: Int64
  }

  /// Nil: the text is no such string.
  init?(_ text: String) {
    var rest = Array(text.utf8)[...]
    guard Self.skipName(&rest), let behind = Self.time(&rest) else { return nil }
    standard = -behind
    if rest.isEmpty { return }
    guard Self.skipName(&rest) else { return nil }
    var offset = standard + 3600
    if rest.first != 44 {
      guard let behind = Self.time(&rest) else { return nil }
      offset = -behind
    }
    guard let begins = Self.change(&rest), let ends = Self.change(&rest), rest.isEmpty else { return nil }
    summer = Summer(offset: offset, begins: begins, ends: ends)
  }

  func offset(at time: Int64) -> Int64 {
    guard let summer else { return standard }
    // The changes may be some days away from the year that they are of.
    let year = Self.year(ofDay: Self.floor(time, 86_400))
    var last: (at: Int64, offset: Int64)?
    for year in year - 1...year + 1 {
      let begins = summer.begins.time(inYear: year) - standard
      let ends = summer.ends.time(inYear: year) - summer.offset
      for change in [(at: begins, offset: summer.offset), (at: ends, offset: standard)] where change.at <= time {
        if last.map({ change.at > $0.at }) ?? true { last = change }
      }
    }
    return last?.offset ?? standard
  }

  // MARK: Reading

  private static func skipName(_ rest: inout ArraySlice<UInt8>) -> Bool {
    if rest.first == 60 {
      guard let end = rest.firstIndex(of: 62) else { return false }
      rest = rest[(end + 1)...]
      return true
    }
    let count = rest.prefix { (65...90).contains($0 & ~32) }.count
    rest = rest.dropFirst(count)
    return count >= 3
  }

  private static func number(_ rest: inout ArraySlice<UInt8>) -> Int64? {
    let digits = rest.prefix { (48...57).contains($0) }
    rest = rest.dropFirst(digits.count)
    return digits.isEmpty || digits.count > 3 ? nil : digits.reduce(0) { $0 * 10 + Int64($1) - 48 }
  }

  private static func take(_ byte: UInt8, _ rest: inout ArraySlice<UInt8>) -> Bool {
    guard rest.first == byte else { return false }
    rest = rest.dropFirst()
    return true
  }

  /// `hh[:mm[:ss]]` with a sign, in seconds.
  private static func time(_ rest: inout ArraySlice<UInt8>) -> Int64? {
    let isNegative = take(45, &rest)
    if !isNegative { _ = take(43, &rest) }
    guard var seconds = number(&rest).map({ $0 * 3600 }) else { return nil }
    for unit: Int64 in [60, 1] where take(58, &rest) {
      guard let more = number(&rest) else { return nil }
      seconds += more * unit
    }
    return isNegative ? -seconds : seconds
  }

  /// `,date[/time]`
  private static func change(_ rest: inout ArraySlice<UInt8>) -> Change? {
    guard take(44, &rest), let day = day(&rest) else { return nil }
    guard take(47, &rest) else { return Change(day: day, seconds: 7200) }
    return time(&rest).map { Change(day: day, seconds: $0) }
  }

  private static func day(_ rest: inout ArraySlice<UInt8>) -> Change.Day? {
    if take(74, &rest) { return number(&rest).map { .julian($0) } }
    guard take(77, &rest) else { return number(&rest).map { .ofYear($0) } }
    guard let month = number(&rest), (1...12).contains(month), take(46, &rest), let week = number(&rest),
      (1...5).contains(week), take(46, &rest), let weekday = number(&rest), (0...6).contains(weekday)
    else { return nil }
    return .ofMonth(month, week: week, weekday: weekday)
  }
}

extension YearlyRule.Change {
  /// When it is, in seconds of the calendar since 1970.
  fileprivate func time(inYear year: Int64) -> Int64 {
    let first = YearlyRule.day(of: year, 1)
    let day: Int64
    switch self.day {
    case .julian(let number): day = first + number - 1 + (number > 59 && YearlyRule.isLeap(year) ? 1 : 0)
    case .ofYear(let number): day = first + number
    case .ofMonth(let month, let week, let weekday):
      let begins = YearlyRule.day(of: year, month)
      let next = month == 12 ? YearlyRule.day(of: year + 1, 1) : YearlyRule.day(of: year, month + 1)
      var found = begins + (weekday - CivilDay.weekday(begins) + 7) % 7 + (week - 1) * 7
      if found >= next { found -= 7 }
      day = found
    }
    return day * 86_400 + seconds
  }
}

// MARK: - The calendar

extension YearlyRule {
  fileprivate static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  fileprivate static func floor(_ number: Int64, _ unit: Int64) -> Int64 { CivilDay.floor(number, unit) }

  /// The days from 1970 to the first day of a month.
  fileprivate static func day(of year: Int64, _ month: Int64) -> Int64 {
    let before = year - 1
    let days = before * 365 + before / 4 - before / 100 + before / 400 - 719_162
    let lengths: [Int64] = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return days + lengths.prefix(Int(month) - 1).reduce(0, +)
  }

  /// The year of a day since 1970.
  fileprivate static func year(ofDay day: Int64) -> Int64 {
    var year = 1970 + floor(day, 366)
    while self.day(of: year + 1, 1) <= day { year += 1 }
    return year
  }
}

/// Days since 1970 by the calendar of a clock.
enum CivilDay {
  /// Rounded down.
  static func floor(_ number: Int64, _ unit: Int64) -> Int64 {
    number / unit - (number % unit < 0 ? 1 : 0)
  }

  /// 0 is Sunday. 1 January 1970 was a Thursday.
  static func weekday(_ day: Int64) -> Int64 { ((day + 4) % 7 + 7) % 7 }
}
