import CompositionModel

/// What a ramp of numbers changes.
struct RampQuantity: Sendable {
  /// The key of its values.
  var key: String
  var range: ClosedRange<Double>
  /// Whether a value may be written in decibels.
  var hasDecibels = false

  static let opacity = Self(key: "opacity", range: 0...1)
}

extension DocumentReader {
  /// When a ramp changes its value, and how.
  struct RampTime {
    var when: Document.When
    var easing: Easing?
    var course = Document.Course()
  }

  /// Reads ramps and set values: `{"over": "0..2", "volume": [0, 1]}` or `{"at": 2, "volume": 1}`, by default at 0.
  mutating func ramps(
    _ value: JSONValue?, of quantity: RampQuantity, _ table: ObjectTable, _ scope: TimeScope
  ) -> [Document.Ramp] {
    items(value, "ramps").compactMap { ramp($0, of: quantity, table, scope) }
  }

  private mutating func ramp(
    _ value: JSONValue, of quantity: RampQuantity, _ table: ObjectTable, _ scope: TimeScope
  ) -> Document.Ramp? {
    guard let fields = fields(value, table), fields.has(quantity.key) else { return nil }
    let time = rampTime(fields, scope)
    guard let values = rampNumbers(fields, of: quantity), let time else { return nil }
    return Document.Ramp(time, values, pointer: fields.pointer)
  }

  /// The time of a ramp. Nil and a problem if it cannot be used.
  mutating func rampTime(_ fields: Fields, _ scope: TimeScope) -> RampTime? {
    if fields.has("over"), fields.has("at") { return nil }
    guard fields.has("over") else {
      let at = fields.has("at") ? time(fields["at"], scope) : .seconds(.zero)
      return at.map { RampTime(when: .at($0), easing: nil) }
    }
    let found = problems.count
    let easing = easing(fields["easing"])
    let over = range(fields["over"], scope)
    var course = Document.Course()
    if let count = read(fields, RampTables.repeatCount) { course.repeatCount = count }
    if let flag = read(fields, RampTables.autoreverse) { course.autoreverses = flag }
    course.keyTimes = read(fields, RampTables.keyTimes)
    guard problems.count == found, let over else { return nil }
    return RampTime(when: .over(over), easing: easing == .linear ? nil : easing, course: course)
  }

  /// When a ramp has its values: from 0 to 1, rising.
  mutating func keyTimes(_ value: JSONValue) -> [Rational]? {
    let counts = Document.Course.valueCounts
    var times: [Rational] = []
    if case .array(let items) = value.content, counts.contains(items.count) {
      times = items.compactMap { item in
        if case .number(let text) = item.content, let time = try? exactDecimal(text), .zero <= time, time <= .one {
          return time
        }
        return nil
      }
      if times.count == items.count {
        if times.first == .zero, times.last == .one, zip(times, times.dropFirst()).allSatisfy({ $0 < $1 }) {
          return times
        }
        problems.add(value.pointer, "\(value.shown) should rise from 0 to 1")
        return nil
      }
    }
    problems.addShape(
      value.pointer,
      "\(value.shown) should be an array of \(counts.lowerBound) to \(counts.upperBound) numbers from 0 to 1, one for each "
        + "value, such as [0, 0.2, 1]")
    return nil
  }

  /// The numbers at the start and at the end of a ramp.
  mutating func rampNumbers(_ fields: Fields, of quantity: RampQuantity) -> Document.Change<Double>? {
    if !fields.has("over"), case .array? = fields[quantity.key]?.content {
      problems.addShape(
        fields.pointer, "a \(quantity.key) that goes from one value to another needs 'over', the range of the change")
      return nil
    }
    return rampValues(fields, quantity.key, example: "[0, 1]") { reader, value in
      reader.number(value, of: quantity)
    }
  }

  /// A value of a quantity.
  mutating func number(_ value: JSONValue?, of quantity: RampQuantity) -> Double? {
    quantity.hasDecibels ? volume(value, in: quantity.range) : number(value, in: quantity.range)
  }

  /// The values at the start and at the end of a ramp; twice the same for a value that is set at a time. Nil if the
  /// ramp does not have the key.
  mutating func rampValues<Value>(
    _ fields: Fields, _ key: String, example: String, _ read: (inout DocumentReader, JSONValue) -> Value?
  ) -> Document.Change<Value>? {
    guard let target = fields[key] else { return nil }
    guard fields.has("over") else { return read(&self, target).map { Document.Change($0) } }
    let counts = Document.Course.valueCounts
    var reader = self
    var (written, values): ([JSONValue], [Value]) = ([], [])
    if case .array(let items) = target.content, counts.contains(items.count) {
      written = items
      values = items.compactMap { read(&reader, $0) }
    }
    // An array without any value is one value, such as a rectangle, or something else.
    guard !values.isEmpty || written.count == 2 else {
      problems.addShape(
        target.pointer,
        "\(target.shown) should be the \(key) at the start and at the end of 'over', such as \(example), or up to "
          + "\(counts.upperBound) values that follow each other; a value set once has 'at' and not 'over'")
      return nil
    }
    self = reader
    guard values.count == written.count else { return nil }
    if case .array(let times)? = fields["keyTimes"]?.content, times.count != values.count {
      problems.add(
        target.pointer, "there are \(values.count) values, and \(times.count) times of them in 'keyTimes'")
      return nil
    }
    return Document.Change(values: values)
  }
}

extension [Document.Ramp] {
  /// Whether a time of a ramp is counted from an end.
  var countFromEnd: Bool { contains { !$0.when.origins.isEmpty } }
}

extension Document.Course {
  /// How many values a ramp may have.
  static let valueCounts = 2...64
  static let repeatCounts = 1...1000
  /// The most steps of all ramps of a document.
  static let greatestStepCount = 100_000
}

/// A ramp of the document with its times known.
struct PlacedRamp {
  var ramp: Ramp
  var pointer: JSONPointer
}

extension Lowering {
  /// The ramps in order of time. Nil and problems if a time cannot be kept exactly, or ramps overlap.
  mutating func timeline(
    _ entries: [Document.Ramp], on timeline: WrittenTimeline = .film, mayBeNegative: Bool = true
  ) -> [PlacedRamp]? {
    let written = entries.map { (place: $0.when, pointer: $0.pointer) }
    guard let ordered = ordered(written, on: timeline, mayBeNegative: mayBeNegative) else { return nil }
    var placed: [PlacedRamp] = []
    for (index, over) in ordered {
      let entry = entries[index]
      let change = Document.Change(values: [entry.from] + entry.between + [entry.to])
      guard let steps = steps(change, entry.course, over: over, at: entry.pointer) else { return nil }
      placed += steps.map {
        PlacedRamp(ramp: Ramp(over: $0.over, from: $0.from, to: $0.to, easing: entry.easing), pointer: entry.pointer)
      }
    }
    return placed
  }

  /// The steps from each value of a ramp to its next one, in order, without a gap. Nil and a problem if a time cannot
  /// be kept exactly, or if all ramps together have too many.
  mutating func steps<Value>(
    _ change: Document.Change<Value>, _ course: Document.Course, over: MediaTimeRange, at pointer: JSONPointer
  ) -> [(over: MediaTimeRange, from: Value, to: Value)]? {
    guard !over.isEmpty, course != .once || !change.between.isEmpty else { return [(over, change.from, change.to)] }
    let there = change.values
    let count = there.count - 1
    let times = course.keyTimes ?? (0...count).map { Rational(Int32($0), over: Int32(count)) }
    let turns = course.repeatCount * (course.autoreverses ? 2 : 1)
    rampStepCount += turns * count
    guard rampStepCount <= Document.Course.greatestStepCount else {
      problems.add(
        pointer, "the ramps have more than \(Document.Course.greatestStepCount) steps together, with their repetitions")
      return nil
    }
    return exact(at: pointer) { () throws(TimeError) in
      let turn = try over.duration.exact / Rational(turns)
      func time(_ number: Int, _ part: Rational) throws(TimeError) -> MediaTime {
        try MediaTime(over.start.exact + turn * (Rational(number) + part))
      }
      var steps: [(over: MediaTimeRange, from: Value, to: Value)] = []
      for number in 0..<turns {
        let goesBack = course.autoreverses && number % 2 == 1
        for step in 0..<count {
          let (first, last) = goesBack ? (count - step, count - step - 1) : (step, step + 1)
          let start = goesBack ? try .one - times[first] : times[first]
          let end = goesBack ? try .one - times[last] : times[last]
          steps.append(
            (try MediaTimeRange(start: time(number, start), end: time(number, end)), there[first], there[last]))
        }
      }
      return steps
    }
  }

  /// The indices of the ramps of one value in order of time, with their ranges. Nil and problems if a time cannot be
  /// kept exactly, or ramps overlap.
  mutating func ordered(
    _ entries: [(place: Document.When, pointer: JSONPointer)], noun: String = "ramp",
    on timeline: WrittenTimeline = .film, mayBeNegative: Bool = true
  ) -> [(index: Int, over: MediaTimeRange)]? {
    let found = problems.count
    var ramps: [(index: Int, over: MediaTimeRange)] = []
    for (index, entry) in entries.enumerated() {
      let range: MediaTimeRange?
      switch entry.place {
      case .over(let written):
        range = resolve(written, at: entry.pointer.key("over"), on: timeline, mayBeNegative: mayBeNegative)
      case .at(let written):
        let time = resolve(written, at: entry.pointer.key("at"), on: timeline, mayBeNegative: mayBeNegative)
        range = time.map { MediaTimeRange(emptyAt: $0) }
      }
      if let range { ramps.append((index, range)) }
    }
    // Of two that start together the first as written stays first.
    ramps.sort { $0.over.start == $1.over.start ? $0.index < $1.index : $0.over.start < $1.over.start }
    for (earlier, later) in zip(ramps, ramps.dropFirst())
    where later.over.start < earlier.over.end || later.over.start == earlier.over.start {
      problems.add(
        entries[later.index].pointer,
        "the \(noun) at \(later.over) overlaps the one at \(earlier.over) (\(entries[earlier.index].pointer.text)); "
          + (noun == "ramp" ? "a value has one ramp at a time" : "a track has one value at a time"))
    }
    return problems.count == found ? ramps : nil
  }

  /// The opacity of a clip or an overlay that shows during `range`: its ramps times a constant. The ramps are on its
  /// own time. Nil and problems if they go beyond it.
  mutating func rampList(
    _ local: [PlacedRamp], opacity: Double, within range: MediaTimeRange, owner: String
  ) -> RampList? {
    let found = problems.count
    for entry in local { checkPlace(of: entry.ramp.over, within: range, owner: owner, at: entry.pointer) }
    guard problems.count == found else { return nil }
    let list = multiplied(local.map(\.ramp), by: opacity, from: .zero)
    return exact(at: local.first?.pointer ?? .root) { () throws(TimeError) in try list.shifted(by: range.start) }
  }

  /// Reports a ramp on the own time of a clip or an overlay that goes beyond it.
  mutating func checkPlace(
    of over: MediaTimeRange, within range: MediaTimeRange, owner: String, at pointer: JSONPointer
  ) {
    guard range.duration < over.end || over.start < .zero else { return }
    problems.add(
      pointer,
      "the ramp at \(over) goes beyond \(owner), which lasts \(seconds(range.duration)); "
        + "its times count from the start of \(owner)")
  }

  /// The ramps times a constant that holds from `start` on. Before the first ramp a value is 1, so the constant is a
  /// value that is set at the start.
  func multiplied(_ ramps: [Ramp], by constant: Double, from start: MediaTime) -> RampList {
    var multiplied = ramps.map {
      Ramp(over: $0.over, from: $0.from * constant, to: $0.to * constant, easing: $0.easing)
    }
    let first = min(start, multiplied.first?.over.start ?? start)
    if constant != 1, multiplied.first?.over.start != first {
      multiplied.insert(Ramp(over: MediaTimeRange(emptyAt: first), from: constant, to: constant), at: 0)
    }
    return RampList(multiplied)
  }
}
