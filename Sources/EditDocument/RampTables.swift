import CompositionModel

/// The tables of ramps: of what each kind changes, and whether its times may be before 0.
enum RampTables {
  static let keyTimes = Key(
    "keyTimes",
    Form<[Rational]>(
      "array of numbers",
      [
        "type": "array", "items": .number(0...1), "minItems": .integer(Document.Course.valueCounts.lowerBound),
        "maxItems": .integer(Document.Course.valueCounts.upperBound),
      ], write: { .array($0.map(JSONValue.exact)) }
    ) { $0.keyTimes($1) }, default: "evenly apart",
    "when it has each of its values: as many numbers, which rise from 0 to 1")
  static let repeatCount = Key(
    "repeat", .integer(Document.Course.repeatCounts), default: "1",
    "how often it goes through its values in its time")
  static let autoreverse = Key(
    "autoreverse", .boolean, default: "`false`", "whether it goes back through them each time")

  private static let over = "the time of the ramp; with two values or more"
  private static let at = "the time at which the value is set; with one value"
  static let easing = Key(
    "easing", .easing, default: "`linear`", "how the value goes from each to the next")

  /// Of the opacity and the geometry of a clip, on its own time.
  static let clip = pictures("clipRamp", ["opacity", "crop", "frame", "transform"], .own)
  /// The same of a layer, on the film's timeline.
  static let layer = pictures("layerRamp", ["opacity", "crop", "frame", "transform"], .signed)
  /// Of a picture or a video that is an overlay.
  static let picture = pictures("overlayRamp", ["opacity", "crop", "transform"], .own, TransformKeys.form)
  /// Of a text that is an overlay.
  static let text = pictures("textRamp", ["opacity", "transform"], .own, TransformKeys.form)

  static let value = numbers("valueRamp", .value(-1...1), ["type": "number"], .own, values)
  /// Of a parameter of a filter.
  static let parameter = numbers("parameterRamp", .value(-1...1), ["type": "number"], .signed, values)
  static let volume = numbers("volumeRamp", .volume, volumes, .film)
  /// Of the volume of a clip, on its own time.
  static let clipVolume = numbers("clipVolumeRamp", .volume, volumes, .own)
  static let pan = numbers("panRamp", .pan, .number(RampQuantity.pan.range), .film)
  /// Of the volume, the pan, or both.
  static let mix: ObjectTable = {
    var mix = table(
      "mixRamp", "a ramp of volume or pan",
      [(volumeKey, volumes), (panKey, .number(RampQuantity.pan.range))], .film)
    mix.rules.append(.needsOne(of: ["pan", "volume"], "a ramp of volume needs 'volume'"))
    return mix
  }()

  private static let values = "of a parameter of a filter, or of `pan` of a clip; required there"
  private static let volumes = Form<Double>.volume(RampQuantity.volume.range).schema
  private static let volumeKey = "0 to 10; 1 leaves the sound as it is"
  private static let panKey = "-1 to 1"

  /// Ramps of the opacity and the place of a clip, a layer or an overlay.
  static func layers(_ table: ObjectTable, _ scope: TimeScope) -> Form<[Document.LayerRamp]> {
    Form(
      "array of ramps", ["type": "array", "items": table.reference]
    ) { $0.layerRamps($1, table, scope) }
  }

  /// Ramps of a number in a range, by a table of `value`.
  static func list(_ table: ObjectTable, in range: ClosedRange<Double>) -> JSONValue {
    let number = JSONValue.number(range)
    return [
      "type": "array",
      "items": .all(
        table.reference, ["properties": ["value": .any(number, ["type": "array", "items": number])]]),
    ]
  }

  private static func pictures(
    _ name: String, _ keys: [String], _ scope: TimeScope,
    _ transform: Form<Document.Transform> = TransformKeys.matrixForm
  ) -> ObjectTable {
    let schemas: [String: JSONValue] = [
      "opacity": .number(0...1), "crop": .reference("rectangle"), "frame": .reference("rectangle"),
      "transform": transform.schema,
    ]
    let summaries = [
      "opacity": "0 to 1", "transform": "both in the same form", "crop": "see [Geometry](geometry.md)",
      "frame": "see [Geometry](geometry.md)",
    ]
    var pictures = table(
      name, "a ramp", keys.map { (summaries[$0] ?? "", schemas[$0] ?? [:]) }, scope, keys)
    let names = keys.map { "'\($0)'" }
    pictures.instead = ["pan": "'pan' is a key of clips, not of their ramps"]
    pictures.rules.insert(
      .needsOne(
        of: keys,
        "a ramp needs \(CompositionModel.list(names.dropLast())) or \(names.last ?? ""), the value that it changes"),
      at: 0)
    return pictures
  }

  private static func numbers(
    _ name: String, _ quantity: RampQuantity, _ schema: JSONValue, _ scope: TimeScope, _ summary: String = ""
  ) -> ObjectTable {
    let noun = "a ramp of \(quantity.key)"
    var numbers = table(name, noun, [(summary, schema)], scope, [quantity.key])
    numbers.rules.append(.needsOne(of: [quantity.key], "\(noun) needs '\(quantity.key)'"))
    return numbers
  }

  /// - Parameter quantities: Of each, its summary and the schema of one value.
  private static func table(
    _ name: String, _ noun: String, _ quantities: [(summary: String, schema: JSONValue)],
    _ scope: TimeScope, _ keys: [String] = ["volume", "pan"]
  ) -> ObjectTable {
    let counts = Document.Course.valueCounts
    let pairs = quantities.map { quantity -> JSONValue in
      [
        "type": "array", "items": quantity.schema, "minItems": .integer(counts.lowerBound),
        "maxItems": .integer(counts.upperBound),
      ]
    }
    func properties(_ schemas: [JSONValue]) -> JSONValue {
      ["properties": .object(zip(keys, schemas).map { ($0, $1) })]
    }
    return ObjectTable(
      name: name, noun: noun,
      keys: [
        Key("over", .range(scope), over),
        Key("at", .time(scope), default: "0", at),
        easing, keyTimes, repeatCount, autoreverse,
      ]
        + zip(keys, zip(quantities, pairs)).map { key, quantity in
          Key(
            key, .raw("`[from, …, to]`, or one value with `at`", .any(quantity.0.schema, quantity.1)), default: "",
            quantity.0.summary)
        },
      rules: [
        .excludes("at", "over", "a ramp has 'over', a range, or 'at', a time, not both")
      ]
        + [easing.name, keyTimes.name, repeatCount.name, autoreverse.name].map { key in
          .needs(key, "over", "a value that is set at a time has no '\(key)'; it is for ramps with 'over'")
        },
      restrictions: [.when(.requires("over"), then: properties(pairs), else: properties(quantities.map(\.schema)))])
  }
}

extension RampQuantity {
  static let valueKey = "value"
  static func value(_ range: ClosedRange<Double>) -> Self { Self(key: valueKey, range: range) }
}

extension Form where Value == Easing {
  static var easing: Form {
    let names = CompositionModel.list(Easing.named.map { "`\($0.name)`" })
    return shared("\(names), or `[x1, y1, x2, y2]`", "easing") { $0.easing($1) }
  }
}
