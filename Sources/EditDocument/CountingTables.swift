import CompositionModel

/// `text` of an overlay whose text is a value of each frame: the keys of each kind, which has one of the first of them.
enum CountingKeys {
  static let timecode = Key(
    required: "timecode",
    Form<String>("string", .pattern(#"^[0-9]{2}:[0-5][0-9]:[0-5][0-9][:;][0-9]{2,3}$"#), write: JSONValue.text) {
      $0.timecode($1)
    },
    "the timecode of the film's first frame, such as `\"01:00:00:00\"`, counted at the film's rate. With `;` before the "
      + "frames it is drop-frame, in films of 30000/1001 and 60000/1001 frames a second")
  static let frame = Key(
    required: "frame", .integer(0...1_000_000_000),
    "in place of `timecode`: the number of the film's first frame, mostly 0 or 1")
  static let counter = Key(
    required: "counter",
    Form<Document.CountingText.Counter>(
      "number, or `[from, to]`", .any(.number(numbers), .tuple(.number(numbers), .number(numbers)))
    ) { $0.counter($1) },
    "a number when the overlay starts, which changes by `rate`; or two, of which the first becomes the second in the "
      + "time of `over`; each from -1000000000000 to 1000000000000")
  static let countdown = Key(
    required: "countdown", .time,
    "the time that is left when the overlay starts. It is rounded up, so that 0 is reached when it has passed, and stays"
  )
  static let date = Key(
    required: "date",
    Form<String>(
      "string",
      .pattern(#"^[0-9]{4}-[0-9]{2}-[0-9]{2}(T([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?)?$"#), write: JSONValue.text
    ) { $0.date($1) },
    "the day and the time of day when the overlay starts, such as `\"2026-11-28T09:30:00\"`; they go on with the film")

  static let over = Key(
    "over", .range(.own), default: "all of it",
    "of a counter of two numbers: when it changes, on the overlay's own time")
  static let rate = Key(
    "rate", .number(numbers), default: "required for one number",
    "of a counter of one number: by how much it changes in a second")
  static let decimals = Key(
    "decimals", .integer(0...TrackText.greatestDecimals), default: "0",
    "of a counter or a countdown: how many are shown")
  static let rounding = Key(
    "rounding", Form<NumberRounding>.choice("rounding"), default: "`nearest`",
    "of a counter: as of the numbers of a [metadata track](metadata-tracks.md)")
  static let digits = Key(
    "digits", .integer(1...12), default: "1",
    "of a frame or a counter: the fewest before the decimal mark; zeros are put before shorter numbers")
  static let grouping = Key(
    "grouping", Form<CountingNumber.Grouping>.choice("grouping"), default: "none",
    "of a counter: what is between each three digits before the decimal mark, which is a comma if this is a point")
  static let format = Key(
    "format", Form<CountingNumber.Format>.choice("format"), default: "`number`; of a countdown `m:ss`",
    "of a counter or a countdown: a number, or seconds as minutes and seconds or with hours, which have no `digits` and "
      + "no `grouping`")
  static let dateFormat = Key(
    "format",
    Form<String>("string", .pattern("^([^%\\u0000]|%[\(String(DateFormat.conversions))])+$"), write: JSONValue.text) {
      $0.dateFormat($1)
    }, default: "`\"\(DateFormat.standard)\"`",
    "of a date: text with the conversions of `strftime`, `%Y` `%y` `%m` `%d` `%e` `%B` `%b` `%A` `%a` `%j` `%H` "
      + "`%I` `%M` `%S` `%p` `%F` `%T` `%%`, with English names")

  /// What a number can be, either way from 0.
  fileprivate static let numbers = -1e12...1e12

  /// For the reference.
  static let reference: [any DeclaredKey] =
    [timecode, frame, counter, countdown, date, over, rate, format, decimals, rounding, digits, grouping, dateFormat]
    + affixes.map(\.key)

  struct Kind: Sendable {
    var name: String
    var table: ObjectTable
    var properties: [Property<Document.CountingText>]
  }

  private static let affixes: [Property<Document.CountingText>] = [
    TrackTextKeys.prefix.of(\.prefix), TrackTextKeys.suffix.of(\.suffix),
  ]

  /// In the order in which a text is looked through for them.
  static let all: [Kind] = [
    kind("timecode", "a timecode", [timecode.of(\.timecode)]),
    kind("frame", "a frame's number", [frame.of(\.frame), digits.of(\.digits)]),
    kind(
      "counter", "a counter",
      [
        counter.of(\.counter), over.of(\.over), rate.of(\.rate), decimals.of(\.decimals), rounding.of(\.rounding),
        digits.of(\.digits), grouping.of(\.grouping), format.of(\.format),
      ], rules: [rateRule] + formatRules),
    kind(
      "countdown", "a countdown", [countdown.of(\.countdown), format.of(\.format), decimals.of(\.decimals)]),
    kind("date", "a date", [date.of(\.date), dateFormat.of(\.dateFormat)]),
  ]

  private static func kind(
    _ name: String, _ noun: String, _ properties: [Property<Document.CountingText>], rules: [KeyRule] = []
  ) -> Kind {
    let properties = properties + affixes
    return Kind(
      name: name,
      table: ObjectTable(
        name: "\(name)Text", noun: noun, keys: Array(properties),
        instead: TrackText.instead.filter { $0.key != "format" }, rules: rules), properties: properties)
  }

  /// Two numbers have no rate, and one has one and no time.
  private static let rateRule = KeyRule(
    schema: .when(
      ["properties": ["counter": ["type": "array"]], "required": ["counter"]], then: .lacks(["rate"]),
      else: .all(.requires("rate"), .lacks(["over"])))
  ) { fields in
    if case .array? = fields["counter"]?.content {
      return fields["rate"].map { ($0.pointer, "'rate' is for a counter of one number; this one has two") }
    }
    if let over = fields["over"] {
      return (over.pointer, "'over' is for a counter of two numbers: \"counter\": [from, to]")
    }
    return fields.has("rate")
      ? nil : (fields.pointer, "a counter has two numbers, \"counter\": [from, to], or one number and a 'rate'")
  }

  /// Clocks have their own digits.
  private static let formatRules: [KeyRule] = ["digits", "grouping"].map { key in
    KeyRule(
      schema: .when(
        .chosen("format", among: CountingNumber.Format.allCases.filter { $0 != .number }.map(\.rawValue)),
        then: .lacks([key]))
    ) { fields in
      guard let value = fields[key], case .string(let name)? = fields["format"]?.content,
        let format = CountingNumber.Format(rawValue: name), format != .number
      else { return nil }
      return (value.pointer, "'\(key)' is for the format 'number'; this one is '\(name)'")
    }
  }
}

extension DocumentReader {
  /// The text of an overlay as a value of each frame. Nil: it is none, and has no problems.
  func countingKind(_ value: JSONValue) -> CountingKeys.Kind? {
    guard case .object(let members) = value.content else { return nil }
    return CountingKeys.all.first { kind in members.contains { $0.key == kind.name } }
  }

  mutating func countingText(_ value: JSONValue, _ kind: CountingKeys.Kind) -> Document.CountingText? {
    let found = problems.count
    guard let fields = fields(value, kind.table) else { return nil }
    var text = Document.CountingText()
    read(fields, kind.properties, into: &text)
    return problems.count == found ? text : nil
  }

  fileprivate mutating func counter(_ value: JSONValue) -> Document.CountingText.Counter? {
    let range = CountingKeys.numbers
    guard case .array(let items) = value.content else { return number(value, in: range).map { .from($0) } }
    guard items.count == 2 else {
      problems.addShape(value.pointer, "\(value.shown) should be a number, or two of them: [from, to]")
      return nil
    }
    let (from, to) = (number(items[0], in: range), number(items[1], in: range))
    guard let from, let to else { return nil }
    return .between(from, to)
  }

  fileprivate mutating func timecode(_ value: JSONValue) -> String? {
    guard let text = string(value) else { return nil }
    let shapes = [":", ";"].flatMap { ["00:00:00\($0)00", "00:00:00\($0)000"] }
    let fields = text.split { ":;".contains($0) }.compactMap { Int($0) }
    if shapes.contains(where: { text.isShaped(as: $0) }), fields.dropFirst().prefix(2).allSatisfy({ $0 < 60 }) {
      return text
    }
    problems.addShape(
      value.pointer,
      "\(value.shown) should be a timecode of hours, minutes, seconds and frames, such as \"01:00:00:00\" or, "
        + "drop-frame, \"01:00:00;00\"")
    return nil
  }

  fileprivate mutating func date(_ value: JSONValue) -> String? {
    guard let text = string(value) else { return nil }
    if CalendarDate(text) != nil { return text }
    let message =
      "\(value.shown) should be a day, such as \"2026-11-28\", with a time of day or without: \"2026-11-28T09:30:00\""
    // A schema cannot say how many days a month has.
    if text.isShaped(as: "0000-00-00") || CalendarDate("2000-01-01\(text.dropFirst(10))") != nil,
      String(text.prefix(10)).isShaped(as: "0000-00-00")
    {
      problems.add(value.pointer, message)
    } else {
      problems.addShape(value.pointer, message)
    }
    return nil
  }

  fileprivate mutating func dateFormat(_ value: JSONValue) -> String? {
    guard let text = name(value, "a date's format") else { return nil }
    if DateFormat(text) != nil { return text }
    let names = DateFormat.conversions.map { "%\($0)" }
    problems.addShape(value.pointer, "\(value.shown) has a conversion that there is not; there are \(list(names))")
    return nil
  }
}

extension String {
  /// Whether it has digits where a text has zeros, and is that text elsewhere.
  fileprivate func isShaped(as shape: String) -> Bool {
    utf8.count == shape.utf8.count
      && zip(utf8, shape.utf8).allSatisfy { $1 == UInt8(ascii: "0") ? (0x30...0x39).contains($0) : $0 == $1 }
  }
}

extension Document.CountingText {
  /// As the model has it.
  /// - Parameters:
  ///   - start: When the overlay starts, on the timeline on which it is shown. Timecodes and frames count from 0.
  ///   - change: When a counter with two numbers changes, from the overlay's start on.
  ///   - countdown: In seconds.
  func model(start: MediaTime, change: MediaTimeRange, countdown: MediaTime) -> CompositionModel.CountingText? {
    var (count, from) = (CompositionModel.CountingText.Count?.none, start)
    if let timecode {
      (count, from) = (.timecode(timecode), .zero)
    } else if let frame {
      (count, from) = (.frame(first: frame, digits: digits ?? 1), .zero)
    } else if let date {
      if let date = CalendarDate(date), let format = DateFormat(dateFormat ?? DateFormat.standard) {
        count = .date(date, format: format)
      }
    } else {
      count = number(change: change, countdown: countdown).map { .number($0) }
    }
    return count.map { CompositionModel.CountingText($0, prefix: prefix ?? "", suffix: suffix ?? "", start: from) }
  }

  private func number(change: MediaTimeRange, countdown left: MediaTime) -> CountingNumber? {
    var number: CountingNumber
    switch counter {
    case .between(let first, let last):
      number = CountingNumber(from: first, to: last, delay: change.start, duration: change.duration)
    case .from(let first):
      number = CountingNumber(
        from: first, to: first + (rate ?? 0), duration: MediaTime(seconds: 1), goesOn: true)
    case nil:
      guard countdown != nil else { return nil }
      number = CountingNumber(from: left.approximateSeconds, to: 0, duration: left, rounding: .up)
    }
    number.decimals = decimals ?? 0
    number.rounding = rounding ?? number.rounding
    (number.digits, number.grouping) = (digits ?? 1, grouping)
    number.format = format ?? (counter == nil ? .minutes : .number)
    return number
  }

  /// Every character that may be shown.
  var sample: String {
    let now = MediaTimeRange(emptyAt: .zero)
    return model(start: .zero, change: now, countdown: .zero)?.sample ?? ""
  }
}

extension Lowering {
  /// The value of each frame of an overlay. Nil and a problem if it cannot be one.
  mutating func counting(
    _ written: Document.CountingText, over: MediaTimeRange, at pointer: JSONPointer
  ) -> CountingText? {
    if let timecode = written.timecode, !checkTimecode(timecode, at: pointer.key(CountingKeys.timecode.name)) {
      return nil
    }
    var (change, left) = (MediaTimeRange(emptyAt: .zero), MediaTime.zero)
    if case .between = written.counter {
      let place = pointer.key(CountingKeys.over.name)
      let whole = exact(at: pointer) { () throws(TimeError) in
        try MediaTimeRange(start: .zero, duration: over.duration)
      }
      guard let whole else { return nil }
      change = whole
      if let own = written.over {
        guard let resolved = resolve(own, at: place, on: .own(end: over.duration, "the overlay")) else { return nil }
        guard whole.contains(resolved) else {
          problems.add(place, "\(resolved) is not within the overlay, which lasts \(seconds(over.duration))")
          return nil
        }
        change = resolved
      }
    }
    if let countdown = written.countdown {
      guard let resolved = resolve(countdown, at: pointer.key(CountingKeys.countdown.name)) else { return nil }
      left = resolved
    }
    return written.model(start: over.start, change: change, countdown: left)
  }

  private mutating func checkTimecode(_ text: String, at pointer: JSONPointer) -> Bool {
    let isDropFrame = text.contains(";")
    let duration = frameDuration
    let rates = exact(at: pointer) { () throws(TimeError) in
      let rate = try Rational.one / duration.exact
      let nominal = Rational(rate.rounded)
      return (rate: rate, nominal: nominal, ofNTSC: try nominal * Rational(1000, over: 1001))
    }
    guard let (rate, nominal, ofNTSC) = rates else { return false }
    guard rate == nominal || rate == ofNTSC, nominal.numerator > 0 else {
      problems.add(
        pointer,
        "a film of \(rate) frames a second has no timecode: there is one for whole rates, and for those of NTSC such as "
          + "30000/1001")
      return false
    }
    guard !isDropFrame || rate == ofNTSC && [30, 60].contains(nominal.numerator) else {
      problems.add(
        pointer,
        "drop-frame timecode is for films of 30000/1001 and 60000/1001 frames a second; this one has \(rate): write ':' "
          + "before the frames")
      return false
    }
    guard let code = Timecode(text, rate: rate) else {
      problems.add(
        pointer,
        "'\(text)' is no timecode of a film of \(rate) frames a second: hours are below 24, and frames below "
          + "\(nominal)")
      return false
    }
    if isDropFrame, code.text != text {
      problems.add(
        pointer,
        "there is no '\(text)' in drop-frame timecode: the first numbers of each minute but the tenth are left out")
      return false
    }
    return true
  }
}
