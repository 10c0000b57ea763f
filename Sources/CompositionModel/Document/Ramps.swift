/// A ramp as written. A value that is set at a time has the same number twice.
struct RampEntry: Sendable {
  enum Place: Sendable {
    case over(WrittenRange)
    case at(WrittenTime)
  }

  /// What a ramp changes.
  struct Quantity: Sendable {
    /// The key of its values.
    var key: String
    var range: ClosedRange<Double>
    /// Keys of its ramps that belong to the document's language and cannot be rendered yet.
    var notYet: [String]

    static let opacity = Quantity(
      key: "opacity", range: 0...1, notYet: ["transform", "crop", "easing", "pitch", "pan"])
  }

  var place: Place
  var from: Double
  var to: Double
  var pointer: JSONPointer
}

extension DocumentReader {
  /// Reads ramps and set values: `{"over": "0..2", "volume": [0, 1]}` or `{"at": 2, "volume": 1}`, by default at 0.
  mutating func ramps(
    _ value: JSONValue?, of quantity: RampEntry.Quantity, mayBeNegative: Bool = false
  ) -> [RampEntry] {
    items(value, "ramps").compactMap { ramp($0, of: quantity, mayBeNegative: mayBeNegative) }
  }

  private mutating func ramp(
    _ value: JSONValue, of quantity: RampEntry.Quantity, mayBeNegative: Bool
  ) -> RampEntry? {
    let (key, noun) = (quantity.key, "a ramp of \(quantity.key)")
    guard let fields = fields(value, noun, keys: ["over", "at", key], notYet: quantity.notYet),
      let target = required(fields, key, noun)
    else { return nil }
    if fields.has("over"), let at = fields["at"] {
      problems.add(at.pointer, "a ramp has 'over', a range, or 'at', a time, not both")
      return nil
    }
    if fields.has("over") {
      guard case .array(let ends) = target.content, ends.count == 2 else {
        problems.add(
          target.pointer,
          "\(target.shown) should be the \(key) at the start and at the end of 'over', such as [0, 1]; "
            + "a value set once has 'at' and not 'over'")
        return nil
      }
      let over = range(fields["over"], mayBeNegative: mayBeNegative)
      guard let from = number(ends[0], in: quantity.range), let to = number(ends[1], in: quantity.range), let over
      else { return nil }
      return RampEntry(place: .over(over), from: from, to: to, pointer: fields.pointer)
    }
    if case .array = target.content {
      problems.add(
        fields.pointer, "a \(key) that goes from one value to another needs 'over', the range of the change")
      return nil
    }
    let at = fields.has("at") ? time(fields["at"], mayBeNegative: mayBeNegative) : .seconds(.zero)
    guard let value = number(target, in: quantity.range), let at else { return nil }
    return RampEntry(place: .at(at), from: value, to: value, pointer: fields.pointer)
  }
}

/// A ramp of the document with its times known.
struct PlacedRamp {
  var ramp: Ramp
  var pointer: JSONPointer
}

extension Lowering {
  /// The ramps in order of time. Nil and problems if a time cannot be kept exactly, or ramps overlap.
  mutating func timeline(_ entries: [RampEntry]) -> [PlacedRamp]? {
    let found = problems.count
    var ramps: [PlacedRamp] = []
    for entry in entries {
      let range: MediaTimeRange?
      switch entry.place {
      case .over(let written): range = resolve(written, at: entry.pointer.key("over"))
      case .at(let written):
        range = resolve(written, at: entry.pointer.key("at")).map { MediaTimeRange(emptyAt: $0) }
      }
      if let range {
        ramps.append(PlacedRamp(ramp: Ramp(over: range, from: entry.from, to: entry.to), pointer: entry.pointer))
      }
    }
    // Of two that start together the first as written stays first.
    let order = ramps.indices.sorted { a, b in
      let (first, second) = (ramps[a].ramp.over, ramps[b].ramp.over)
      return first.start == second.start ? a < b : first.start < second.start
    }
    let sorted = order.map { ramps[$0] }
    for (earlier, later) in zip(sorted, sorted.dropFirst())
    where later.ramp.over.start < earlier.ramp.over.end || later.ramp.over.start == earlier.ramp.over.start {
      problems.add(
        later.pointer,
        "the ramp at \(later.ramp.over) overlaps the one at \(earlier.ramp.over) (\(earlier.pointer.text)); "
          + "a value has one ramp at a time")
    }
    return problems.count == found ? sorted : nil
  }

  /// The opacity of a clip or an overlay that shows during `range`: its ramps times a constant. The ramps are on its
  /// own time. Nil and problems if they go beyond it.
  mutating func rampList(
    _ local: [PlacedRamp], opacity: Double, within range: MediaTimeRange, owner: String
  ) -> RampList? {
    let found = problems.count
    for entry in local where range.duration < entry.ramp.over.end || entry.ramp.over.start < .zero {
      problems.add(
        entry.pointer,
        "the ramp at \(entry.ramp.over) goes beyond \(owner), which lasts \(seconds(range.duration)); "
          + "its times count from the start of \(owner)")
    }
    guard problems.count == found else { return nil }
    let list = multiplied(local.map(\.ramp), by: opacity, from: .zero)
    return exact(at: local.first?.pointer ?? .root) { () throws(TimeError) in try list.shifted(by: range.start) }
  }

  /// The ramps times a constant that holds from `start` on. Before the first ramp a value is 1, so the constant is a
  /// value that is set at the start.
  func multiplied(_ ramps: [Ramp], by constant: Double, from start: MediaTime) -> RampList {
    var multiplied = ramps.map { Ramp(over: $0.over, from: $0.from * constant, to: $0.to * constant) }
    let first = min(start, multiplied.first?.over.start ?? start)
    if constant != 1, multiplied.first?.over.start != first {
      multiplied.insert(Ramp(over: MediaTimeRange(emptyAt: first), from: constant, to: constant), at: 0)
    }
    return RampList(multiplied)
  }
}
