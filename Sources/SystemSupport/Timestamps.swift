/// A point in time as JSON and logs have it (RFC 3339): in UTC, with milliseconds.
package enum Timestamp {
  /// - Parameter time: Since 1970, from the year 0 to 9999. What is less than a millisecond is dropped.
  package static func text(_ time: Duration) -> String {
    let (seconds, attoseconds) = time.components
    // Both have the sign of the time.
    let thousandths = seconds * 1000 + Int64((Double(attoseconds) / 1e15).rounded(.down))
    let whole = Int64((Double(thousandths) / 1000).rounded(.down))
    let fraction = thousandths - whole * 1000
    let day = Int64((Double(whole) / 86_400).rounded(.down))
    let second = whole - day * 86_400
    let (year, month, date) = civil(day)
    return "\(digits(year, 4))-\(digits(month, 2))-\(digits(date, 2))T\(digits(second / 3600, 2))"
      + ":\(digits(second / 60 % 60, 2)):\(digits(second % 60, 2)).\(digits(fraction, 3))Z"
  }

  private static func digits(_ number: Int64, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(count - text.count, 0)) + text
  }

  /// The date of a day since 1970-01-01 in the Gregorian calendar, counted in eras of 400 years from a 1 March.
  private static func civil(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let date = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, date)
  }
}
