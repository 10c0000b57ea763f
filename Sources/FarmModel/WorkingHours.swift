/// When a pool is open, by the week: spans of days and times of day, such as `mon-fri 19:00-07:00, sat-sun
/// 00:00-24:00`.
///
/// A span that ends at or before the time at which it begins ends on the next day, and belongs to the day on which it
/// begins. Spans may overlap. The times are of a time zone, which is given elsewhere.
package struct WorkingHours: Sendable, Hashable, CustomStringConvertible {
  /// One span of each of its days.
  package struct Span: Sendable, Hashable, Comparable {
    /// 1 is Monday, 7 is Sunday.
    package var day: Int
    /// Minutes from the midnight at which the day begins. From 0 to 1,439.
    package var opens: Int
    /// Minutes from the same midnight. Above `opens`, and at most 2,879.
    package var closes: Int

    package init(day: Int, opens: Int, closes: Int) {
      (self.day, self.opens, self.closes) = (day, opens, closes)
    }

    package static func < (left: Span, right: Span) -> Bool {
      (left.day, left.opens, left.closes) < (right.day, right.opens, right.closes)
    }
  }

  /// Why a text is not one of hours, for a person.
  package struct Problem: Error, Sendable, Hashable, CustomStringConvertible {
    package var description: String
  }

  /// The most spans that a text may list.
  package static let mostEntries = 32
  package static let example = "mon-fri 19:00-07:00, sat-sun 00:00-24:00"

  /// As they were given, in one notation.
  package let description: String
  /// In their order, without duplicates.
  package let spans: [Span]

  /// - Parameter text: Entries `DAYS HH:MM-HH:MM` with commas between them. DAYS is a day (`mon`), a range of days
  ///   (`sat-sun`, `fri-mon`) or `daily`, in letters of any case. The last time may be 24:00.
  package init(parsing text: String) throws(Problem) {
    let entries = text.split(separator: ",", omittingEmptySubsequences: false)
    guard entries.count <= Self.mostEntries else {
      throw Problem(description: "working hours have at most \(Self.mostEntries) spans, not \(entries.count)")
    }
    var (spans, names): (Set<Span>, [String]) = ([], [])
    for entry in entries {
      let (days, times, name) = try Self.parse(entry)
      names.append(name)
      for day in days { spans.insert(Span(day: day, opens: times.opens, closes: times.closes)) }
    }
    self.spans = spans.sorted()
    description = names.joined(separator: ", ")
  }

  private static let days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]

  private static func parse(
    _ entry: Substring
  ) throws(Problem) -> (days: [Int], times: (opens: Int, closes: Int), name: String) {
    let words = entry.split(whereSeparator: \.isWhitespace)
    let shown = words.joined(separator: " ").prefix(60)
    guard words.count == 2 else {
      throw Problem(
        description: "\"\(shown)\" is not a span of working hours: it has days and times, such as \"\(example)\"")
    }
    let name = words[0].lowercased()
    guard let days = parse(days: name) else {
      throw Problem(
        description: "\"\(words[0].prefix(40))\" in \"\(shown)\" names no days: write a day (mon), a range of days "
          + "(mon-fri) or daily")
    }
    let times = words[1].split(separator: "-", omittingEmptySubsequences: false).map(parse(time:))
    guard times.count == 2, let opens = times[0], let closes = times[1], opens < 1440 else {
      throw Problem(
        description: "\"\(words[1].prefix(40))\" in \"\(shown)\" is not from one time of day to another: "
          + "write 19:00-07:00; the first is 00:00 to 23:59, the last 00:00 to 24:00")
    }
    let spelled = "\(name) \(spell(opens))-\(spell(closes))"
    return (days, (opens, closes > opens ? closes : closes + 1440), spelled)
  }

  private static func parse(days text: String) -> [Int]? {
    if text == "daily" { return Array(1...7) }
    let ends = text.split(separator: "-", omittingEmptySubsequences: false)
    let found = ends.compactMap { end in days.firstIndex { $0 == end } }
    guard found.count == ends.count, let first = found.first, let last = found.last, found.count <= 2 else {
      return nil
    }
    return (0...(last - first + 7) % 7).map { (first + $0) % 7 + 1 }
  }

  private static func parse(time text: Substring) -> Int? {
    let bytes = Array(text.utf8)
    guard bytes.count == 5, bytes[2] == 58, [0, 1, 3, 4].allSatisfy({ (48...57).contains(bytes[$0]) }) else {
      return nil
    }
    let digits = bytes.map { Int($0) - 48 }
    let (hours, minutes) = (digits[0] * 10 + digits[1], digits[3] * 10 + digits[4])
    guard minutes < 60, hours * 60 + minutes <= 1440 else { return nil }
    return hours * 60 + minutes
  }

  private static func spell(_ minutes: Int) -> String {
    let (hours, rest) = (minutes / 60, minutes % 60)
    return "\(hours / 10)\(hours % 10):\(rest / 10)\(rest % 10)"
  }
}
