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
    return Document.Ramp(
      when: time.when, from: values.from, to: values.to, easing: time.easing, pointer: fields.pointer)
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
    return problems.count == found
      ? over.map { RampTime(when: .over($0), easing: easing == .linear ? nil : easing) } : nil
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
    guard case .array(let ends) = target.content, ends.count == 2 else {
      problems.addShape(
        target.pointer,
        "\(target.shown) should be the \(key) at the start and at the end of 'over', such as \(example); "
          + "a value set once has 'at' and not 'over'")
      return nil
    }
    let (from, to) = (read(&self, ends[0]), read(&self, ends[1]))
    guard let from, let to else { return nil }
    return Document.Change(from: from, to: to)
  }
}

extension [Document.Ramp] {
  /// Whether a time of a ramp is counted from an end.
  var countFromEnd: Bool { contains { !$0.when.origins.isEmpty } }
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
    return ordered(written, on: timeline, mayBeNegative: mayBeNegative)?.map { index, over in
      let entry = entries[index]
      return PlacedRamp(
        ramp: Ramp(over: over, from: entry.from, to: entry.to, easing: entry.easing), pointer: entry.pointer)
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
