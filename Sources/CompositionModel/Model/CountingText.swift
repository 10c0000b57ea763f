/// A text whose value is that of each frame of the film.
public struct CountingText: Sendable, Hashable, Codable {
  public enum Count: Sendable, Hashable, Codable {
    /// The timecode of each frame at the film's rate, of SMPTE ST 12; that of `start`, such as `01:00:00:00`. With a
    /// semicolon before the frames it is drop-frame.
    case timecode(String)
    /// The number of each frame, which is `first` at `start`, with at least so many digits.
    case frame(first: Int, digits: Int)
    case number(CountingNumber)
    /// The day and time, which are `date` at `start` and go on with the film.
    case date(CalendarDate, format: DateFormat)
    /// The beginning of a text, whose other lines and letters keep their places.
    case revealed(RevealedText)
  }

  public var count: Count
  /// Before and after the value.
  public var prefix: String
  public var suffix: String
  /// From where on it counts, on the timeline of the overlay that shows it.
  public var start: MediaTime

  public init(_ count: Count, prefix: String = "", suffix: String = "", start: MediaTime = .zero) {
    self.count = count
    self.prefix = prefix
    self.suffix = suffix
    self.start = start
  }

  /// The text of a frame.
  /// - Parameters:
  ///   - time: That of the frame, on the timeline of `start`.
  ///   - frameDuration: The film's.
  package func text(at time: MediaTime, frameDuration: MediaTime) throws(TimeError) -> String {
    prefix + (try value(after: time.exact - start.exact, frameDuration: frameDuration.exact)) + suffix
  }

  private func value(after elapsed: Rational, frameDuration: Rational) throws(TimeError) -> String {
    switch count {
    case .timecode(let first):
      let rate = try .one / frameDuration
      guard let code = Timecode(first, rate: rate) else { return first }
      return try code.advanced(by: elapsed, rate: rate).text
    case .frame(let first, let digits):
      return Self.padded(first + Int(clamping: try (elapsed / frameDuration).floor), digits)
    case .number(let number): return number.text(of: try number.value(after: elapsed))
    case .revealed(let text): return try text.seen(after: elapsed)
    case .date(let date, let format): return format.text(of: date.advanced(by: Int(clamping: elapsed.floor)))
    }
  }

  /// A text with every character that it may have, for which fonts are found.
  package var sample: String {
    let digits = "0123456789"
    let value =
      switch count {
      case .timecode: "\(digits):;"
      case .frame: "-\(digits)"
      case .number(let number): number.sample
      case .date(_, let format): digits + format.sample
      case .revealed(let text): text.text
      }
    return prefix + value + suffix
  }

  package func shifted(by offset: MediaTime) throws(TimeError) -> CountingText {
    var shifted = self
    shifted.start = try start + offset
    return shifted
  }

  /// With zeros before it, so that it has so many digits.
  static func padded(_ number: Int, _ digits: Int) -> String {
    let text = "\(number.magnitude)"
    return (number < 0 ? "-" : "") + String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}

/// A number that changes evenly.
public struct CountingNumber: Sendable, Hashable, Codable {
  /// How it is written. The raw value is the name in documents.
  public enum Format: String, Sendable, Hashable, Codable, CaseIterable {
    case number
    /// Seconds as minutes and seconds, or with hours.
    case minutes = "m:ss"
    case paddedMinutes = "mm:ss"
    case hours = "h:mm:ss"
    case paddedHours = "hh:mm:ss"
  }

  /// Between each three digits before the decimal mark.
  public enum Grouping: String, Sendable, Hashable, Codable, CaseIterable {
    case comma = ","
    /// The decimal mark is a comma then.
    case point = "."
    case space = " "
    case apostrophe = "'"
  }

  public var from: Double
  /// The number at the end of `duration`.
  public var to: Double
  /// Until it begins to change.
  public var delay: MediaTime
  /// How long it changes. Of 0, it is `to` from then on.
  public var duration: MediaTime
  /// Whether it goes on changing after that.
  public var goesOn: Bool
  public var decimals: Int
  public var rounding: NumberRounding
  /// The fewest digits before the decimal mark.
  public var digits: Int
  public var grouping: Grouping?
  public var format: Format

  public init(
    from: Double, to: Double, delay: MediaTime = .zero, duration: MediaTime, goesOn: Bool = false, decimals: Int = 0,
    rounding: NumberRounding = .nearest, digits: Int = 1, grouping: Grouping? = nil, format: Format = .number
  ) {
    self.from = from
    self.to = to
    self.delay = delay
    self.duration = duration
    self.goesOn = goesOn
    self.decimals = decimals
    self.rounding = rounding
    self.digits = digits
    self.grouping = grouping
    self.format = format
  }

  func value(after elapsed: Rational) throws(TimeError) -> Double {
    let counted = try elapsed - delay.exact
    if counted < .zero || counted == .zero && .zero < duration { return from }
    if duration <= .zero { return to }
    let share = try counted / duration.exact
    return share < .one || goesOn ? from + (to - from) * share.approximate : to
  }

  func text(of value: Double) -> String {
    var scale = 1.0
    for _ in 0..<decimals { scale *= 10 }
    // Nearer to 0 than what an Int holds, whatever is written.
    let units = Int(max(-9e17, min(9e17, rounding.rounded(value * scale))))
    let one = Int(scale)
    let (whole, part) = (Int(units.magnitude) / one, Int(units.magnitude) % one)
    let mark = grouping == .point ? "," : "."
    let fraction = decimals == 0 ? "" : mark + CountingText.padded(part, decimals)
    return (units < 0 ? "-" : "") + written(whole) + fraction
  }

  private func written(_ whole: Int) -> String {
    func two(_ number: Int) -> String { CountingText.padded(number, 2) }
    let (seconds, minutes, hours) = (two(whole % 60), whole / 60, whole / 3600)
    switch format {
    case .minutes: return "\(minutes):\(seconds)"
    case .paddedMinutes: return "\(two(minutes)):\(seconds)"
    case .hours: return "\(hours):\(two(minutes % 60)):\(seconds)"
    case .paddedHours: return "\(two(hours)):\(two(minutes % 60)):\(seconds)"
    case .number:
      let text = CountingText.padded(whole, digits)
      guard let grouping else { return text }
      var grouped = ""
      for (index, digit) in text.enumerated() {
        if index > 0, (text.count - index) % 3 == 0 { grouped += grouping.rawValue }
        grouped.append(digit)
      }
      return grouped
    }
  }

  var sample: String {
    "-0123456789" + (format == .number ? "" : ":") + (decimals == 0 ? "" : grouping == .point ? "," : ".")
      + (grouping?.rawValue ?? "")
  }
}

/// How a number that is shown is rounded to its last decimal.
public enum NumberRounding: String, Sendable, Hashable, Codable, CaseIterable {
  /// Halves away from zero.
  case nearest
  /// To the next one above, as in a countdown: each number lasts until the next one is reached.
  case up
  /// To the next one below, as in a stopwatch.
  case down

  /// What computing leaves beside a whole number counts as that number.
  package func rounded(_ number: Double) -> Double {
    switch self {
    case .nearest: number.rounded(.toNearestOrAwayFromZero)
    case .up: (number - 1e-6).rounded(.up)
    case .down: (number + 1e-6).rounded(.down)
    }
  }
}
