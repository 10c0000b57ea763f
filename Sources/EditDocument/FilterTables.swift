import CompositionModel

/// Filters of pictures: a table for each kind.
enum FilterTables {
  static let kind = Key(required: "kind", Form<FilterKind>.choice("kind of filter"), "")

  /// Those of a clip, a layer, an overlay or a track.
  static let list = Form<[Document.Filter]>(
    "array of filters", array(schema)
  ) { $0.filters($1) }
  /// Those of the whole film or of an instruction.
  static let listOfFilm = Form<[Document.Filter]>(
    "array of filters",
    array(.all(schema, .has("kind", among: FilterKind.allCases.filter { $0 != .chromaKey }.map(\.rawValue))))
  ) { $0.filters($1, ofFilm: true) }

  static let schema = JSONValue.reference("filter")
  static let definition = variants("kind", FilterKind.allCases.map(\.rawValue)) { "\($0)Filter" }

  private static func array(_ filter: JSONValue) -> JSONValue {
    ["type": "array", "items": filter, "maxItems": .integer(Document.Filter.greatestCount)]
  }

  /// One of several objects, by the name in one of its keys.
  static func variants(_ key: String, _ names: [String], _ definition: (String) -> String) -> JSONValue {
    let kinds: JSONValue = ["enum": .array(names)]
    return .object([
      ("type", "object"), ("required", .array([key])), ("properties", .object([(key, kinds)])),
      (
        "allOf",
        .array(names.map { .when(.chosen(key, among: [$0]), then: .reference(definition($0))) })
      ),
    ])
  }

  static let tables: [FilterKind: ObjectTable] = Dictionary(
    uniqueKeysWithValues: FilterKind.allCases.map { ($0, table(of: $0)) })

  /// The keys of the parameters, in the order of `FilterKind.parameters`.
  static let parameters: [FilterKind: [Key<Document.Filter.Parameter>]] = Dictionary(
    uniqueKeysWithValues: FilterKind.allCases.map { kind in
      let keys = kind.parameters.map { parameter -> Key<Document.Filter.Parameter> in
        let form = Form<Document.Filter.Parameter>(
          "\(plain(parameter.range.lowerBound)) to \(plain(parameter.range.upperBound))",
          .any(.number(parameter.range), ramps(in: parameter.range))
        ) { $0.parameter($1, parameter) }
        let summary = summaries[kind]?[parameter.key] ?? ""
        guard let standard = parameter.standard else { return Key(required: parameter.key, form, summary) }
        return Key(parameter.key, form, default: plain(standard), summary)
      }
      return (kind, keys)
    })

  private static func table(of kind: FilterKind) -> ObjectTable {
    var keys: [any DeclaredKey] = [Self.kind]
    switch kind {
    case .chromaKey: keys.append(color)
    case .lut: keys.append(asset)
    case .curves: keys += curves.map { $0.key }
    default: break
    }
    keys += parameters[kind] ?? []
    return ObjectTable(
      name: "\(kind.rawValue)Filter", noun: "a filter '\(kind.rawValue)'", keys: keys, instead: Document.Filter.instead)
  }

  private static func ramps(in range: ClosedRange<Double>) -> JSONValue {
    guard case .object(let members) = RampTables.list(RampTables.parameter, in: range).content else { return [:] }
    return .object(members + [("minItems", 1)])
  }

  static let color = Key(
    required: "color", .color.solid("the colour of a chroma key is"), type: "`\"#rrggbb\"`",
    "the colour that becomes transparent; in clips, layers and overlays, not in the filters of a film")
  static let asset = Key(required: "asset", .asset, type: "", "a name of `assets` whose file is a `.cube`")

  /// The keys of `curves`, with the curve of each.
  static let curves: [(key: Key<[ToneCurves.Point]>, curve: any Curve)] = [
    (curve("all", "after the curve of the channel: points from a value to another, 0 to 1; see below"), \.all),
    (curve("red", "of *R'*"), \.red), (curve("green", "of *G'*"), \.green), (curve("blue", "of *B'*"), \.blue),
  ]

  typealias Curve = WritableKeyPath<ToneCurves, [ToneCurves.Point]?> & Sendable

  private static func curve(_ name: String, _ summary: String) -> Key<[ToneCurves.Point]> {
    let point = JSONValue.tuple(.number(0...1), .number(0...1))
    let schema: JSONValue = [
      "type": "array", "items": point, "minItems": 2, "maxItems": .integer(Document.Filter.greatestPoints),
    ]
    let form = Form<[ToneCurves.Point]>("`[[x, y], …]`", schema, write: JSONValue.points) { $0.toneCurve($1) }
    return Key(name, form, default: "`[[0, 0], [1, 1]]`", summary)
  }

  private static let summaries: [FilterKind: [String: String]] = [
    .blur: ["radius": "a Gaussian with this standard deviation in pixels of the film; below 0.2 it has no effect"],
    .sharpen: [
      "amount": "luma plus `amount` times its difference from its blur",
      "radius": "of the blur, in pixels of the film",
    ],
    .exposure: ["stops": "the light of the picture times 2^stops"],
    .brightness: ["amount": "what is added; 1 is the distance from black to white"],
    .contrast: ["amount": "the distance from the middle grey times `amount`"],
    .saturation: ["amount": "the distance from grey times `amount`"],
    .hue: ["degrees": "turns all hues"],
    .colorBalance: [
      "temperature": "above 0 warmer, below 0 colder", "tint": "above 0 towards magenta, below 0 towards green",
    ],
    .grayscale: ["amount": "part of the colour that is taken away"],
    .sepia: ["amount": "part of the picture that is brown"],
    .invert: ["amount": "1 is the negative, 0.5 is grey"],
    .vignette: [
      "amount": "how dark the outside is; 1 is black",
      "radius": "where it starts, from the picture's centre; 1 is a corner",
      "softness": "how far it goes until the outside is reached",
    ],
    .pixelate: [
      "size": "the side of the blocks in pixels of the film; from the centre of what is seen of the picture"
    ],
    .grain: [
      "amount": "the standard deviation of the noise; 1 is the distance from black to white",
      "size": "of a grain, in pixels of the film",
      "seed": "another number is another noise",
    ],
    .glow: [
      "amount": "of the light that is added", "radius": "the standard deviation of its Gaussian in pixels of the film",
      "threshold": "what is brighter shines",
    ],
    .posterize: ["levels": "the shades of each of red, green and blue; a fraction is cut off"],
    .curves: ["amount": "part of the new colour"],
    .denoise: [
      "amount": "differences of neighbours that are smaller are evened out; 1 is the distance from black to white"
    ],
    .lut: ["amount": "part of the new colour"],
    .chromaKey: [
      "similarity": "the distance from it up to which colours are transparent",
      "blend": "the further distance over which they become opaque",
      "spill": "part of the colour that is taken off what stays",
    ],
  ]

  /// The keys of all kinds, each once.
  static let allKeys: [String] = {
    var seen: Set<String> = []
    return FilterKind.allCases.flatMap { tables[$0]?.keyNames ?? [] }.filter { seen.insert($0).inserted }
  }()
}

extension JSONValue {
  /// The points of a curve.
  fileprivate static func points(_ points: [ToneCurves.Point]) -> JSONValue {
    .array(points.map { .array([.decimal($0.x), .decimal($0.y)]) })
  }
}

extension Form where Value == Color {
  /// The same without transparency.
  /// - Parameter words: Why, for the message.
  func solid(_ words: String) -> Form {
    Form(type, .reference("solidColor"), write: write) { reader, value in
      guard let color = read(&reader, value) else { return nil }
      if color.alpha != 255 {
        reader.problems.addShape(value.pointer, "\(value.shown) is transparent; \(words) \"#rrggbb\"")
      }
      return color
    }
  }
}

/// Filters of sound: a table for each kind.
enum AudioFilterTables {
  static let kind = Key(required: "kind", Form<String>.choice("kind of filter of sound", among: kinds), "")
  /// The kind of several filters that have a name together.
  static let presetKind = "preset"
  /// Of filters of sound: those of one filter, and that of presets.
  static let kinds = AudioFilterKind.allCases.map(\.rawValue) + [presetKind]
  static let preset = Key(
    required: "preset", Form<AudioFilterPreset>.choice("preset of filters of sound"), "several filters, see below")
  static let presetTable = ObjectTable(
    name: "presetAudioFilter", noun: "a filter 'preset'", keys: [kind, preset], instead: Document.AudioFilter.instead)
  static let list = Form<[Document.AudioFilter]>(
    "array of filters of sound",
    ["type": "array", "items": .reference("audioFilter"), "maxItems": .integer(Document.AudioFilter.greatestCount)]
  ) { $0.audioFilters($1) }
  static let definition = FilterTables.variants("kind", kinds) { "\($0)AudioFilter" }

  /// The keys of the parameters, in the order of `AudioFilterKind.parameters`.
  static let parameters: [AudioFilterKind: [Key<Double>]] = Dictionary(
    uniqueKeysWithValues: AudioFilterKind.allCases.map { kind in
      let keys = kind.parameters.map { parameter -> Key<Double> in
        let isLevel = AudioFilterKind.levels.contains(parameter.key)
        let form: Form<Double> = isLevel ? .decibels(parameter.range) : .number(parameter.range)
        let summary = summaries["\(kind.rawValue).\(parameter.key)"] ?? summaries[parameter.key] ?? ""
        guard let standard = parameter.standard else { return Key(required: parameter.key, form, summary) }
        return Key(parameter.key, form, default: plain(standard), summary)
      }
      return (kind, keys)
    })

  static let tables: [AudioFilterKind: ObjectTable] = Dictionary(
    uniqueKeysWithValues: AudioFilterKind.allCases.map { kind in
      let keys: [any DeclaredKey] = [Self.kind] + (parameters[kind] ?? [])
      return (
        kind,
        ObjectTable(
          name: "\(kind.rawValue)AudioFilter", noun: "a filter '\(kind.rawValue)'", keys: keys,
          instead: Document.AudioFilter.instead)
      )
    })

  private static let summaries = [
    "frequency": "Hz; below half of the output's sample rate", "gain": "dB", "q": "a larger one is narrower",
    "threshold": "dB", "ratio": "the dB above the threshold of which 1 dB stays", "attack": "seconds",
    "release": "seconds", "knee": "dB", "makeup": "dB that are added after that", "limit": "dB of full scale",
    "time": "seconds, to the nearest whole sample",
    "noiseGate.threshold": "dB of full scale; what is below is lowered",
    "noiseGate.ratio": "the dB by which it falls for each dB below the threshold",
    "range": "dB; it falls by no more", "intensity": "of what counts as hissing: the more, the larger",
    "maximum": "how much of it is taken away at most", "keep": "part of the high frequencies that stays then",
    "reduction": "dB by which the noise is lowered", "floor": "dB of full scale, the level of the noise",
  ]
}
