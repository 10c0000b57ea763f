import CompositionModel
import EditDocument

/// A value that a ramp of a document changes.
protocol RampValue: Interpolatable, DocumentValue {}

extension Double: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) { self = try value.number }
  func written() throws(DocumentError) -> JSONValue { .number(self) }
}

extension Rectangle: RampValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let numbers = try value.items(4, "a rectangle in pixels: [x, y, width, height]")
    self.init(
      x: try numbers[0].number, y: try numbers[1].number, width: try numbers[2].number, height: try numbers[3].number)
  }

  func written() throws(DocumentError) -> JSONValue { .numbers([x, y, width, height]) }
}

extension AffineMatrix: RampValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let numbers = try value.items(6, "the six numbers of a matrix: [a, b, c, d, tx, ty]")
    self.init(
      a: try numbers[0].number, b: try numbers[1].number, c: try numbers[2].number, d: try numbers[3].number,
      tx: try numbers[4].number, ty: try numbers[5].number)
  }

  func written() throws(DocumentError) -> JSONValue { .numbers([a, b, c, d, tx, ty]) }
}

extension TransformComponents: RampValue {
  init(_ value: JSONValue) throws(DocumentError) {
    let fields = try value.fields("a transform", ["rotate", "scale", "translate", "anchor"])
    self.init(rotation: try fields.number("rotate") ?? 0)
    if let scale = try fields["scale"]?.items(2, "two numbers") {
      (scaleX, scaleY) = (try scale[0].number, try scale[1].number)
    }
    if let distance = try fields["translate"]?.items(2, "a distance in pixels, [x, y]") {
      (x, y) = (try distance[0].number, try distance[1].number)
    }
    if let anchor = try fields["anchor"]?.items(2, "a point, [x, y]") {
      (anchorX, anchorY) = (try Coordinate(anchor[0]), try Coordinate(anchor[1]))
    }
  }

  func written() throws(DocumentError) -> JSONValue {
    .object([
      ("rotate", .number(rotation)), ("scale", .numbers([scaleX, scaleY])),
      ("translate", .numbers([x, y])), ("anchor", try .array([anchorX.written(), anchorY.written()])),
    ])
  }
}

extension TransformComponents.Coordinate: DocumentValue {
  init(_ value: JSONValue) throws(DocumentError) {
    guard case .string(let text) = value.content else {
      self.init(fraction: 0, pixels: try value.number)
      return
    }
    guard text.hasSuffix("%"), let percent = Double(text.dropLast()) else {
      throw value.problem("\(value.shown) should be a number of pixels, or per cent such as \"50%\"")
    }
    self.init(fraction: percent / 100, pixels: 0)
  }

  func written() throws(DocumentError) -> JSONValue {
    guard fraction != 0 else { return .number(pixels) }
    guard pixels == 0, fraction.isFinite else {
      let message = "an anchor is \(fraction) of a side and \(pixels) pixels; a document has one of them"
      throw DocumentError(problems: [Problem(pointer: "", message: message)])
    }
    // A document has hundredths. Of the neighbours, the one that is read as the same fraction, if there is one.
    let percent = fraction * 100
    return .text("\([percent, percent.nextUp, percent.nextDown].first { $0 / 100 == fraction } ?? percent)%")
  }
}

// MARK: Ramps

/// The time of a ramp in a document.
private struct RampTime {
  var over: MediaTimeRange
  var easing: Easing?
  var isSet: Bool

  init(_ fields: DocumentFields) throws(DocumentError) {
    isSet = fields["over"] == nil
    easing = try fields.read("easing") { (value) throws(DocumentError) in try Easing(value) }
    if let over = fields["over"] {
      self.over = try over.range
    } else {
      let value = fields["at"] ?? .time(.zero)
      let time = try value.time
      do { over = try MediaTimeRange(start: time, duration: .zero) } catch { throw value.problem("\(error)") }
    }
  }

  /// The values of a key at the start and at the end.
  func values<Value>(
    _ value: JSONValue, _ read: (JSONValue) throws(DocumentError) -> Value
  ) throws(DocumentError) -> (from: Value, to: Value) {
    if isSet {
      let set = try read(value)
      return (set, set)
    }
    let ends = try value.items(2, "the values at the start and at the end of 'over'")
    return (try read(ends[0]), try read(ends[1]))
  }
}

extension JSONValue {
  fileprivate static func ramp(
    _ key: String, over: MediaTimeRange, easing: Easing?, from: JSONValue, to: JSONValue
  ) -> JSONValue {
    if over.isEmpty { return .object([("at", .time(over.start)), (key, to)]) }
    return .object([("over", .range(over)), (key, .array([from, to])), ("easing", easing?.written)])
  }
}

extension Easing {
  init(_ value: JSONValue) throws(DocumentError) {
    if case .string(let name) = value.content, let named = Self.named.first(where: { $0.name == name }) {
      self = named.easing
      return
    }
    let numbers = try value.items(4, "the name of an easing, or four numbers")
    self = .cubicBezier(
      x1: try numbers[0].number, y1: try numbers[1].number, x2: try numbers[2].number, y2: try numbers[3].number)
  }

  var written: JSONValue {
    if case .cubicBezier(let x1, let y1, let x2, let y2) = self {
      return .array([x1, y1, x2, y2].map { JSONValue(content: .number("\($0)")) })
    }
    return .text(Self.named.first { $0.easing == self }?.name ?? "linear")
  }
}

extension RampList {
  /// The number that the list always is. Nil for a list that changes, and for one that is set within the film.
  var constant: Double? {
    guard let ramp = ramps.first, ramps.count == 1, ramp.over.isEmpty, ramp.over.start == Self.earliest else {
      return ramps.isEmpty ? 1 : nil
    }
    return ramp.to
  }

  func written(_ key: String) -> [JSONValue] {
    ramps.map {
      .ramp(key, over: $0.over, easing: $0.easing, from: .number($0.from), to: .number($0.to))
    }
  }

  /// A number if the list never changes, and otherwise its ramps.
  func writtenValue(_ key: String) -> JSONValue {
    if let constant, !ramps.isEmpty { return .number(constant) }
    return .array(written(key))
  }

  /// Reads ramps of one key.
  init(_ value: JSONValue, _ key: String) throws(DocumentError) {
    self.init()
    for item in try value.items {
      let fields = try item.fields("a ramp", ["over", "at", "easing", key])
      try append(fields, key)
    }
  }

  mutating func append(_ fields: DocumentFields, _ key: String) throws(DocumentError) {
    let time = try RampTime(fields)
    let (from, to) = try time.values(fields.required(key)) { (value) throws(DocumentError) in
      try Self.value(value, of: key)
    }
    ramps.append(Ramp(over: time.over, from: from, to: to, easing: time.easing))
  }

  /// A volume may be in decibels.
  private static func value(_ value: JSONValue, of key: String) throws(DocumentError) -> Double {
    key == "volume" ? try value.volume : try value.number
  }

  /// A number of a document, which never changes.
  static func constant(_ value: JSONValue, _ key: String) throws(DocumentError) -> RampList {
    let number = try self.value(value, of: key)
    do { return try .constant(number) } catch { throw value.problem("\(error)") }
  }
}

extension ValueRampList where Value: RampValue {
  /// The value before the film, which a document has without a ramp.
  var first: Value? {
    guard let ramp = ramps.first, ramp.over.isEmpty, ramp.over.start == RampList.earliest else { return nil }
    return ramp.to
  }

  /// All ramps but that of `first`.
  func written(_ key: String) throws(DocumentError) -> [JSONValue] {
    var values: [JSONValue] = []
    for ramp in ramps.dropFirst(first == nil ? 0 : 1) {
      values.append(
        .ramp(
          key, over: ramp.over, easing: ramp.easing, from: try ramp.from.written(), to: try ramp.to.written()))
    }
    return values
  }

  fileprivate mutating func append(_ fields: DocumentFields, _ value: JSONValue) throws(DocumentError) {
    let time = try RampTime(fields)
    let (from, to) = try time.values(value) { (value) throws(DocumentError) in try Value(value) }
    ramps.append(ValueRamp(over: time.over, from: from, to: to, easing: time.easing))
  }
}

// MARK: Opacity, crop and transform

/// The opacity of a layer or an overlay and its place, which share the list `ramps` of a document.
struct WrittenGeometry {
  var opacity: RampList
  var crop: ValueRampList<Rectangle>?
  var frame: ValueRampList<Rectangle>?
  var transform: LayerTransform?

  static let keys = ["crop", "frame", "transform", "ramps"]

  func written() throws(DocumentError) -> [(String, JSONValue?)] {
    var ramps = opacity.written("opacity")
    ramps += try crop?.written("crop") ?? []
    ramps += try frame?.written("frame") ?? []
    var constant: JSONValue?
    switch transform {
    case .matrix(let list):
      ramps += try list.written("transform")
      constant = try list.first?.written()
    case .turn(let list):
      ramps += try list.written("transform")
      constant = try list.first?.written()
    case nil: break
    }
    return [
      ("crop", try crop?.first?.written()), ("frame", try frame?.first?.written()), ("transform", constant),
      ("ramps", ramps.isEmpty ? nil : .array(ramps)),
    ]
  }

  init(opacity: RampList, geometry: LayerGeometry) {
    self.opacity = opacity
    crop = geometry.crop
    frame = geometry.frame
    transform = geometry.transform
  }

  init(_ fields: DocumentFields) throws(DocumentError) {
    opacity = .one
    if let value = fields["crop"] { crop = .constant(try Rectangle(value)) }
    if let value = fields["frame"] { frame = .constant(try Rectangle(value)) }
    if let value = fields["transform"] {
      transform =
        value.isArray ? .matrix(.constant(try AffineMatrix(value))) : .turn(.constant(try TransformComponents(value)))
    }
    for item in try fields["ramps"]?.items ?? [] {
      let ramp = try item.fields("a ramp", ["over", "at", "easing", "opacity", "crop", "frame", "transform"])
      if ramp["opacity"] != nil { try opacity.append(ramp, "opacity") }
      if let value = ramp["crop"] { try Self.append(ramp, value, to: &crop) }
      if let value = ramp["frame"] { try Self.append(ramp, value, to: &frame) }
      if let value = ramp["transform"] { try append(ramp, transform: value) }
    }
  }

  var geometry: LayerGeometry { LayerGeometry(crop: crop, frame: frame, transform: transform) }

  private static func append<Value: RampValue>(
    _ fields: DocumentFields, _ value: JSONValue, to list: inout ValueRampList<Value>?
  ) throws(DocumentError) {
    var ramps = list ?? ValueRampList([])
    try ramps.append(fields, value)
    list = ramps
  }

  private mutating func append(_ fields: DocumentFields, transform value: JSONValue) throws(DocumentError) {
    let isMatrix = fields["over"] == nil ? value.isArray : try value.items.first?.isArray == true
    switch (transform, isMatrix) {
    case (.matrix(var list), true):
      try list.append(fields, value)
      transform = .matrix(list)
    case (.turn(var list), false):
      try list.append(fields, value)
      transform = .turn(list)
    case (nil, true):
      var list = ValueRampList<AffineMatrix>([])
      try list.append(fields, value)
      transform = .matrix(list)
    case (nil, false):
      var list = ValueRampList<TransformComponents>([])
      try list.append(fields, value)
      transform = .turn(list)
    case (.some, _):
      throw value.problem("the transforms of a layer are all matrices, or all objects such as {\"rotate\": 90}")
    }
  }
}

extension JSONValue {
  fileprivate var isArray: Bool { if case .array = content { true } else { false } }
}
