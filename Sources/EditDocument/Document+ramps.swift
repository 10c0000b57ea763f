public import CompositionModel

extension Document {
  /// When a value changes, or is set.
  public enum When: Hashable, Sendable {
    /// It goes from one value to another.
    case over(TimeRange)
    /// It is set.
    case at(Time)
  }

  /// The way of a ramp through its values, if that is not once from the first to the last at an even pace.
  public struct Course: Hashable, Sendable {
    /// How often it goes, 1 to 1000; each time takes the same part of the ramp's time.
    public var repeatCount = 1
    /// Whether it also goes back each time, at the same pace.
    public var autoreverses = false
    /// When it has each of its values, from 0 to 1 of the time that it takes, rising. Nil: evenly apart.
    public var keyTimes: [Rational]?

    public init() {}

    static let once = Course()
  }

  /// The value at the start of a ramp and at its end; twice the same for a value that is set.
  public struct Change<Value: Hashable & Sendable>: Hashable, Sendable {
    public var from: Value
    /// The values that it has in between, in order.
    public var between: [Value] = []
    public var to: Value

    public init(from: Value, to: Value) {
      self.from = from
      self.to = to
    }

    /// A value that is set.
    public init(_ value: Value) { self.init(from: value, to: value) }
  }

  /// A ramp of a number: a volume, a pan, a parameter of a filter.
  public struct Ramp: Hashable, Sendable {
    public var when: When
    public var from: Double
    /// The values that it has in between, in order. Only with a range.
    public var between: [Double] = []
    public var to: Double
    /// From each value to the next. Only with a range. Nil: linear.
    public var easing: Easing?
    /// Only with a range.
    public var course = Course()
    @Incidental var pointer = JSONPointer.root

    public init(over range: TimeRange, from: Double, to: Double, easing: Easing? = nil) {
      self.init(when: .over(range), from: from, to: to, easing: easing, pointer: .root)
    }

    public init(at time: Time, _ value: Double) {
      self.init(when: .at(time), from: value, to: value, easing: nil, pointer: .root)
    }

    init(when: When, from: Double, to: Double, easing: Easing?, pointer: JSONPointer) {
      (self.when, self.from, self.to, self.easing, self.pointer) = (when, from, to, easing, pointer)
    }

    init(_ time: DocumentReader.RampTime, _ change: Change<Double>, pointer: JSONPointer) {
      self.init(when: time.when, from: change.from, to: change.to, easing: time.easing, pointer: pointer)
      (between, course) = (change.between, time.course)
    }
  }

  /// A number that stays, or ramps of it.
  public enum Level: Hashable, Sendable {
    case constant(Double)
    case ramps([Ramp])

    /// The ramps, of which one sets a number that stays.
    func ramps(at pointer: JSONPointer) -> [Ramp] {
      switch self {
      case .constant(let number):
        [Ramp(when: .at(.seconds(.zero)), from: number, to: number, easing: nil, pointer: pointer)]
      case .ramps(let ramps): ramps
      }
    }
  }

  /// A ramp of the opacity and the place of a clip, a layer or an overlay. What is nil does not change.
  public struct LayerRamp: Hashable, Sendable {
    public var when: When
    /// From each value to the next. Only with a range. Nil: linear.
    public var easing: Easing?
    /// Only with a range.
    public var course = Course()
    public var opacity: Change<Double>?
    public var crop: Change<Rectangle>?
    /// Not of overlays.
    public var frame: Change<Rectangle>?
    /// All transforms of a layer are matrices, or all are by their parts.
    public var transform: Change<Transform>?
    @Incidental var pointer = JSONPointer.root

    public init(over range: TimeRange, easing: Easing? = nil) {
      self.init(when: .over(range), easing: easing)
    }

    /// Values that are set at a time.
    public init(at time: Time) { self.init(when: .at(time)) }

    init(when: When, easing: Easing? = nil) { (self.when, self.easing) = (when, easing) }
  }
}

// MARK: Writing

extension Document.When {
  /// The key of the time and its value.
  var member: (key: String, value: JSONValue) {
    switch self {
    case .over(let range): ("over", range.json)
    case .at(let time): ("at", time.json)
    }
  }

  /// The values of a ramp: two with a range, and one that is set.
  func json<Value>(_ change: Document.Change<Value>, _ write: (Value) -> JSONValue) -> JSONValue {
    if case .over = self { .array(change.values.map(write)) } else { write(change.to) }
  }
}

extension Document.Change {
  var values: [Value] { [from] + between + [to] }

  /// At least two values.
  init(values: [Value]) {
    self.init(from: values[0], to: values[values.count - 1])
    between = Array(values.dropFirst().dropLast())
  }
}

extension Document.Course {
  fileprivate var members: [(key: String, value: JSONValue)] {
    (keyTimes.map { [("keyTimes", .array($0.map(JSONValue.exact)))] } ?? [])
      + (repeatCount == 1 ? [] : [("repeat", .integer(repeatCount))])
      + (autoreverses ? [("autoreverse", .boolean(true))] : [])
  }
}

extension Document.Ramp {
  /// - Parameter key: That of its values.
  func json(_ key: String) -> JSONValue {
    let change = Document.Change(values: [from] + between + [to])
    return .object(
      [when.member, (key, when.json(change, JSONValue.decimal))] + (easing.map { [("easing", $0.json)] } ?? [])
        + course.members)
  }
}

extension Document.Level {
  /// - Parameter key: That of the values of ramps.
  func json(_ key: String) -> JSONValue {
    switch self {
    case .constant(let number): .decimal(number)
    case .ramps(let ramps): .array(ramps.map { $0.json(key) })
    }
  }
}

extension Document.LayerRamp {
  var json: JSONValue {
    var members = [when.member]
    if let opacity { members.append(("opacity", when.json(opacity, JSONValue.decimal))) }
    if let crop { members.append(("crop", when.json(crop) { $0.json })) }
    if let frame { members.append(("frame", when.json(frame) { $0.json })) }
    if let transform { members.append(("transform", when.json(transform) { $0.json })) }
    if let easing { members.append(("easing", easing.json)) }
    return .object(members + course.members)
  }
}

extension Easing {
  /// The name, or the four numbers of a curve.
  var json: JSONValue {
    if let name = Self.named.first(where: { $0.easing == self })?.name { return .text(name) }
    guard case .cubicBezier(let x1, let y1, let x2, let y2) = self else { return .text("\(self)") }
    return .array([x1, y1, x2, y2].map(JSONValue.decimal))
  }
}

extension Document.Length {
  var json: JSONValue {
    switch self {
    case .pixels(let pixels): .decimal(pixels)
    case .percent(let percent): .percent(percent)
    }
  }
}

extension Document.Point {
  var json: JSONValue { [x.json, y.json] }
}

extension Document.Rectangle {
  var json: JSONValue { [x.json, y.json, width.json, height.json] }
}

extension Document.Transform {
  var json: JSONValue {
    switch self {
    case .matrix(let matrix):
      .array([matrix.a, matrix.b, matrix.c, matrix.d, matrix.tx, matrix.ty].map(JSONValue.decimal))
    case .parts(let parts): parts.json
    }
  }
}
