public import CompositionModel

extension Document {
  /// A text whose value is that of each frame. It has one of `timecode`, `frame`, `counter`, `countdown` and `date`,
  /// and the keys of that. What is nil has its default.
  public struct CountingText: Hashable, Sendable {
    /// The timecode of the film's first frame, such as `00:00:00:00`; with a semicolon before the frames, drop-frame.
    public var timecode: String?
    /// The number of the film's first frame.
    public var frame: Int?
    public var counter: Counter?
    /// The time that is left when the overlay starts. At 0 it stays.
    public var countdown: Time?
    /// The day and time when the overlay starts, such as `2026-11-28T09:30:00`.
    public var date: String?

    /// Of a counter with two numbers: when it changes, on the overlay's own time. Nil: throughout.
    public var over: TimeRange?
    /// Of a counter with one number: by how much it changes in a second.
    public var rate: Double?
    /// Of a counter or a countdown: how many decimals there are, 0 to 6. Nil: 0.
    public var decimals: Int?
    /// Of a counter. Nil: to the nearest. A countdown is rounded up.
    public var rounding: NumberRounding?
    /// Of a frame's number or a counter: the fewest digits, 1 to 12. Nil: 1.
    public var digits: Int?
    /// Of a counter: between each three digits. Nil: nothing.
    public var grouping: CountingNumber.Grouping?
    /// Of a counter or a countdown. Nil: a number, and minutes and seconds.
    public var format: CountingNumber.Format?
    /// Of a date: as of `strftime`. Nil: `%Y-%m-%d %H:%M:%S`.
    public var dateFormat: String?
    /// Before the value.
    public var prefix: String?
    /// After the value.
    public var suffix: String?

    public enum Counter: Hashable, Sendable {
      /// It changes by `rate` in a second.
      case from(Double)
      /// It changes from the one to the other in the time of `over`.
      case between(Double, Double)
    }

    public init(timecode: String) { self.timecode = timecode }
    public init(frame: Int) { self.frame = frame }
    public init(counter: Counter) { self.counter = counter }
    public init(countdown: Time) { self.countdown = countdown }
    public init(date: String) { self.date = date }

    init() {}
  }
}

extension Document.CountingText: WrittenValue {
  var json: JSONValue {
    let isOf = [timecode != nil, frame != nil, counter != nil, countdown != nil].firstIndex(of: true) ?? 4
    return .object(self, CountingKeys.all[isOf].properties)
  }
}

extension Document.CountingText.Counter: WrittenValue {
  var json: JSONValue {
    switch self {
    case .from(let number): .decimal(number)
    case .between(let from, let to): [.decimal(from), .decimal(to)]
    }
  }
}
