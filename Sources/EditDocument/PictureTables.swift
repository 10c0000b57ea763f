import CompositionModel

/// The keys of a picture of `assets` that is drawn, which the shape of an overlay has too.
enum PictureKeys {
  static let color = Key("color", .color, "what it is filled with")
  static let gradient = Key(
    "gradient", GradientKeys.form, "in place of `color`: colours that follow each other, see below")
  static let shape = Key(
    "shape", Form<DrawnPicture.Shape>.choice("shape"), default: "`rectangle`",
    "as large as the picture. Around an ellipse it is transparent")
  static let cornerRadius = Key(
    "cornerRadius", .number(BorderKeys.radii), default: "0", kinds: [DrawnPicture.Shape.rectangle.rawValue],
    "the radius of the round corners of a rectangle, in pixels")
  static let border = Key(
    "border", BorderKeys.form, type: "object",
    "a line along its edge, inside of it: the object of [Borders and shadows](blending.md#borders-and-shadows)")
  static let size = Key(
    "size", .size(1...PixelSize.largestSide), default: "the film's", "pixels")

  static let kinds = KindKey(
    name: shape.name, standard: DrawnPicture.Shape.rectangle.rawValue,
    names: DrawnPicture.Shape.allCases.map(\.rawValue)
  ) { key, kind in "'\(key.name)' is for rectangles; this is an \(kind)" }

  static let rules: [KeyRule] = [
    .excludes("color", "gradient", "a shape is filled with 'color' or with 'gradient', not both"),
    .needsOne(
      of: ["color", "gradient", "border"],
      "nothing of it would be seen: it needs a 'color', a 'gradient' or a 'border'"),
  ]

  static let properties: [Property<DrawnPicture>] = [
    color.of(\.color), gradient.of(\.gradient), shape.of(\.shape, standard: .rectangle),
    cornerRadius.of(\.cornerRadius), border.of(\.border), size.of(\.size),
  ]
  static let table = ObjectTable(
    name: "picture", noun: "a picture that is drawn", keys: Array(properties),
    instead: [
      "colour": "did you mean 'color'?", "fill": "did you mean 'color'?", "radius": "did you mean 'cornerRadius'?",
      "width": "the size is 'size': [width, height]", "height": "the size is 'size': [width, height]",
      "duration": "the clip that shows it has the 'duration'", "path": "the path of a file is a string in its place",
    ], kind: kinds, rules: rules)

  static let form = Form<DrawnPicture>("object", table.reference) { reader, value in
    let found = reader.problems.count
    guard let fields = reader.fields(value, table) else { return nil }
    var picture = DrawnPicture(fill: nil)
    reader.read(fields, properties, into: &picture)
    return reader.problems.count == found ? picture : nil
  }
}

/// `gradient` of a picture that is drawn.
enum GradientKeys {
  static let stops = Key(
    required: "stops", stopList, "two colours or more, in order; each a colour, or an object with its place")
  static let kind = Key(
    "kind", Form<Gradient.Kind>.choice("gradient"), default: "`linear`",
    "from one side to the other, or from the centre to the corners (of an ellipse, to its edge)")
  static let angle = Key(
    "angle", .number(GeometryEntry.rotations), default: "180", kinds: [Gradient.Kind.linear.rawValue],
    "where its last colour is, in degrees clockwise from the top: 90 is the right side, 180 the bottom, 135 the corner at "
      + "the bottom right of a square. Its first and last colours are those of the outermost corners")

  static let properties: [Property<Gradient>] = [
    stops.of(\.stops), kind.of(\.kind, standard: .linear), angle.of(\.angle),
  ]
  static let table = ObjectTable(
    name: "gradient", noun: "a gradient", keys: Array(properties),
    instead: ["colors": "did you mean 'stops'?", "colours": "did you mean 'stops'?", "type": "did you mean 'kind'?"],
    kind: KindKey(
      name: kind.name, standard: Gradient.Kind.linear.rawValue, names: Gradient.Kind.allCases.map(\.rawValue)
    ) { key, kind in "'\(key.name)' is for linear gradients; this one is \(kind)" })

  private static let stopList = Form<[Gradient.Stop]>(
    "array of colours",
    [
      "type": "array", "minItems": 2, "maxItems": .integer(greatestCount),
      "items": .any(.reference("color"), GradientStopKeys.table.reference),
    ]
  ) { $0.gradientStops($1) }

  static let greatestCount = 64

  /// The stops alone, or an object.
  static let form = Form<Gradient>(
    "array of colours, or an object", .any(stopList.schema, table.reference)
  ) { reader, value in
    var gradient = Gradient(stops: [])
    if case .array = value.content {
      guard let stops = reader.gradientStops(value) else { return nil }
      gradient.stops = stops
      return gradient
    }
    guard let fields = reader.fields(value, table, alternative: ", or an array of its colours,") else { return nil }
    reader.read(fields, properties, into: &gradient)
    return gradient.stops.isEmpty ? nil : gradient
  }
}

/// A colour of a gradient with its place.
enum GradientStopKeys {
  static let color = Key(required: "color", .color, "")
  static let at = Key(
    "at", .number(0...1), default: "evenly between those that have one; of the first 0, of the last 1",
    "where it is on the way; not before the one before it. Before the first place and after the last one the colour stays"
  )

  static let properties: [Property<Gradient.Stop>] = [color.of(\.color), at.of(\.at)]
  static let table = ObjectTable(
    name: "gradientStop", noun: "a colour of a gradient", keys: Array(properties),
    instead: ["offset": "did you mean 'at'?", "position": "did you mean 'at'?", "colour": "did you mean 'color'?"])
}

extension DocumentReader {
  /// At least two colours of a gradient.
  fileprivate mutating func gradientStops(_ value: JSONValue) -> [Gradient.Stop]? {
    let found = problems.count
    guard case .array(let items) = value.content, (2...GradientKeys.greatestCount).contains(items.count) else {
      problems.addShape(
        value.pointer,
        "\(value.shown) should be an array of 2 to \(GradientKeys.greatestCount) colours, such as [\"#102030\", "
          + "\"#4060a0\"]")
      return nil
    }
    var stops: [Gradient.Stop] = []
    var (place, isFirst) = (0.0, true)
    for item in items {
      defer { isFirst = false }
      guard case .object = item.content else {
        if let color = color(item) { stops.append(Gradient.Stop(color)) }
        continue
      }
      guard let fields = fields(item, GradientStopKeys.table) else { continue }
      var stop = Gradient.Stop(.black)
      read(fields, GradientStopKeys.properties, into: &stop)
      if let at = stop.at {
        if at < place, !isFirst {
          problems.add(
            fields.pointer.key("at"), "\(plain(at)) is before the place of an earlier colour, \(plain(place))")
        }
        place = at
      }
      stops.append(stop)
    }
    return problems.count == found ? stops : nil
  }
}

extension DrawnPicture {
  var color: Color? {
    get { if case .color(let color) = fill { color } else { nil } }
    set { if let newValue { fill = .color(newValue) } }
  }

  var gradient: Gradient? {
    get { if case .gradient(let gradient) = fill { gradient } else { nil } }
    set { if let newValue { fill = .gradient(newValue) } }
  }
}

extension DrawnPicture: WrittenObject {
  static var properties: [Property<DrawnPicture>] { PictureKeys.properties }
}

extension Gradient: WrittenValue {
  /// The stops if nothing else is said, or an object.
  var json: JSONValue {
    kind == .linear && angle == nil ? stops.json : .object(self, GradientKeys.properties)
  }
}

extension Gradient.Stop: WrittenValue {
  var json: JSONValue { at == nil ? .color(color) : .object(self, GradientStopKeys.properties) }
}
