import CompositionModel

/// `audioMix`: of each track its volume, ramps, or an object.
enum AudioMixKeys {
  static let volume = Key(
    "volume", .level("a volume, or ramps of `volume`", .any(volumes, list(RampTables.volume)), .volume), default: "1",
    "")
  static let pan = Key(
    "pan", .level("-1 to 1, or ramps of `pan`", .any(.number(RampQuantity.pan.range), list(RampTables.pan)), .pan),
    default: "0", "-1 is the left speakers alone, and 1 the right ones")
  static let filters = Key(
    "filters", AudioFilterTables.list,
    "before the volume, in order, at most \(Document.AudioFilter.greatestCount); see [Filters of sound](audio-filters.md)"
  )
  static let duck = Key(
    "duck", Form<Ducking>("object", DuckKeys.table.reference) { $0.ducking($1) },
    "lowers the track while another is heard")

  static let properties: [Property<Document.TrackMix>] = [
    volume.of(\.volume), pan.of(\.pan), filters.of(list: \.filters), duck.of(\.duck),
  ]
  static let trackTable = ObjectTable(
    name: "trackMix", noun: "a track's mix", keys: Array(properties), instead: TrackMixEntry.instead)

  private static let volumes = Form<Double>.volume(RampQuantity.volume.range).schema
  private static func list(_ table: ObjectTable) -> JSONValue { ["type": "array", "items": table.reference] }

  /// A member of `audioMix`.
  static let member = JSONValue.any(volumes, list(RampTables.mix), trackTable.reference)
  static let schema: JSONValue = [
    "type": "object",
    "properties": .object([(AudioMixEntry.loudnessKey, loudness.schema)]),
    "additionalProperties": .reference("mix"),
  ]

  /// `loudness` is a track where one has this name.
  static let loudness = Form<Bool>("", .any(LoudnessKeys.table.reference, .reference("mix")), write: JSONValue.boolean)
  { reader, value in
    if reader.accepts(value, Form<Document.TrackMix>("", [:]) { $0.trackMix("", $1).written }) { return true }
    return reader.loudness(value) != nil
  }
}

extension Form where Value == Document.Level {
  /// A number, or ramps of a quantity.
  static func level(_ type: String, _ schema: JSONValue, _ quantity: RampQuantity) -> Form {
    Form(type, schema, write: quantity.written) { $0.level($1, of: quantity) }
  }
}

/// `duck` of a track's mix.
enum DuckKeys {
  static let under = Key(required: "under", .text, "the audio track that is listened to, as it is in the mix")
  static let by = Key("by", .decibels(-60...0), default: "-12", "decibels by which the track is lowered")
  static let threshold = Key(
    "threshold", .decibels(-80...0), default: "-36", "decibels of full scale that a sample of the other track must have"
  )
  static let attack = Key("attack", .number(0...10), default: "0.2", "seconds that lowering takes, linearly")
  static let hold = Key(
    "hold", .number(0...10), default: "0.4", "seconds for which the track stays lowered after the last such sample")
  static let release = Key("release", .number(0...30), default: "0.8", "seconds that rising again takes, linearly")
  private static let standard = DuckingLevels()
  static let properties: [Property<Ducking>] = [
    under.of(\.under), by.of(\.levels.by, standard: standard.by),
    threshold.of(\.levels.threshold, standard: standard.threshold),
    attack.of(\.levels.attack, standard: standard.attack), hold.of(\.levels.hold, standard: standard.hold),
    release.of(\.levels.release, standard: standard.release),
  ]
  static let table = ObjectTable(
    name: "duck", noun: "'duck'", keys: Array(properties),
    instead: TrackMixEntry.duckingInstead)
}

/// `loudness` of `audioMix`.
enum LoudnessKeys {
  static let target = Key(
    required: "target", .number(AudioMixEntry.targets),
    "integrated loudness in LUFS, such as -23 for broadcasting or -16 for the web")
  static let truePeak = Key(
    "truePeak", .decibels(AudioMixEntry.truePeaks), default: "-1",
    "the highest true peak, in decibels of full scale")
  static let properties: [Property<LoudnessTarget>] = [
    target.of(\.target), truePeak.of(\.truePeak, standard: LoudnessTarget(target: 0).truePeak),
  ]
  static let table = ObjectTable(
    name: "loudness", noun: "'loudness'", keys: Array(properties), instead: AudioMixEntry.loudnessInstead)
}

/// An entry of `captions`. `kinds` has the uses of captions that a key is for.
enum CaptionKeys {
  static let asset = Key(
    "asset", .asset, default: "required without `cues`",
    "a name of `assets`, of a file of captions or a movie with them")
  static let cues = Key(
    "cues",
    Form<[Document.Captions.Cue]>(
      "array of captions", ["type": "array", "items": CueKeys.table.reference, "minItems": 1]
    ) { $0.cues($1) }, "in place of `asset`: the captions themselves, see below")
  static let use = Key(
    "as", Form<Document.Captions.Use>.choice("use of captions"), default: "`picture`",
    "whether they are drawn, or carried as a track")
  static let part = Key(
    "use", .range(.own), default: "all of it",
    "the part of the captions that is used, on the asset's timeline; a caption at its edge is cut there, and begins anew"
  )
  static let at = Key(
    "at", .time(.signed), default: "0", "when `use` starts, or without it the asset's time 0; may be negative")

  static let font = Key("font", .name("a font"), default: "`sans-serif`", kinds: ["picture"], "the font family")
  static let bold = Key("bold", .boolean, default: "`false`", kinds: ["picture"], "")
  static let italic = Key("italic", .boolean, default: "`false`", kinds: ["picture"], "")
  static let size = Key(
    "size", .number(OverlayEntry.fontSizes), default: "1/18 of the frame's height", kinds: ["picture"],
    "the height of a line's letters, from the highest to the lowest, in pixels")
  static let color = Key("color", .color, default: "`#ffffff`", kinds: ["picture"], "")
  static let outline = Key(
    "outline", .number(TextStyleKeys.outlines), default: "1/360 of the frame's height", kinds: ["picture"],
    "the outline's width in pixels")
  static let outlineColor = Key("outlineColor", .color, default: "`#000000`", kinds: ["picture"], "")
  static let anchor = Key(
    "anchor", Form<Anchor>.choice("anchor"), default: "`bottom`", kinds: ["picture"],
    type: "as of [overlays](overlays.md)",
    "where in the frame they are")
  static let margin = Key(
    "margin", .integer(CaptionsEntry.margins), default: "1/27 of the frame's height", kinds: ["picture"],
    "pixels between them and the frame's edges")
  static let sideMargin = Key(
    "sideMargin", .integer(CaptionsEntry.margins), default: "as `margin`", kinds: ["picture"],
    "those at the left and at the right, between which lines are wrapped")
  private static func edge(_ name: String, default standard: String, _ summary: String) -> Key<Int> {
    Key(name, .integer(CaptionsEntry.margins), default: standard, kinds: ["picture"], summary)
  }
  static let leftMargin = edge("leftMargin", default: "as `sideMargin`", "that at the left")
  static let rightMargin = edge("rightMargin", default: "as `sideMargin`", "that at the right")
  static let topMargin = edge(
    "topMargin", default: "as `margin`", "that of captions at the top, by their `anchor` or by the file")
  static let bottomMargin = edge(
    "bottomMargin", default: "as `margin`", "that of captions at the bottom, by their `anchor` or by the file")
  static let box = Key(
    "box", BoxKeys.form, kinds: ["picture"], type: "object, as of [texts](texts.md)",
    "a rectangle behind the lines of each caption, from which the margins count then")
  static let highlightColor = Key(
    "highlightColor", .color, default: "as `spokenColor`", kinds: ["picture"],
    "that of a word while it is said, where the file states the times of its words: see below")
  static let spokenColor = Key(
    "spokenColor", .color, default: "as `color`", kinds: ["picture"], "that of the words that have been said")

  private static let ofPictures: [Property<Document.Captions>] = [
    font.of(\.font), bold.of(\.bold), italic.of(\.italic), size.of(\.size), color.of(\.color), outline.of(\.outline),
    outlineColor.of(\.outlineColor), anchor.of(\.anchor), margin.of(\.margin), sideMargin.of(\.sideMargin),
    leftMargin.of(\.leftMargin), rightMargin.of(\.rightMargin), topMargin.of(\.topMargin),
    bottomMargin.of(\.bottomMargin), box.of(\.box), highlightColor.of(\.highlightColor),
    spokenColor.of(\.spokenColor),
  ]
  /// The keys of the style of captions that are drawn.
  static let style = ofPictures.map(\.key.name)

  static let language = Key(
    "language", .language, kinds: ["track"], "of a track: three letters of ISO 639-2, such as `eng`")
  static let title = Key(
    "title", .title, kinds: ["track"], "of a track: for people, at most \(TrackLabel.greatestTitle) characters")
  static let isDefault = Key(
    "default", .boolean, default: "`false`", kinds: ["track"],
    "of a track: whether players show it without being asked")

  static let properties: [Property<Document.Captions>] =
    [
      Property(key: asset) { reader, value, captions in
        if let id = asset.form.read(&reader, value) { captions.asset = id }
      } write: {
        $0.asset.isEmpty && !$0.cues.isEmpty ? nil : .text($0.asset)
      },
      cues.of(list: \.cues),
    ] + [use.of(\.as), part.of(\.use), at.of(\.at)] + ofPictures
    + [language.of(\.language), title.of(\.title), isDefault.of(\.default)]
  static let table = ObjectTable(
    name: "captions", noun: "captions", keys: Array(properties), instead: CaptionsEntry.instead,
    kind: KindKey(name: "as", standard: "picture", names: Document.Captions.Use.allCases.map(\.rawValue)) { key, kind in
      kind == "picture"
        ? "'\(key.name)' is for captions that are a track of the output: \"as\": \"track\""
        : "'\(key.name)' is for captions that are drawn; a player decides how a track looks"
    },
    rules: [
      .needsOne(of: ["asset", "cues"], "captions need 'asset', a name of 'assets', or 'cues', a list of them"),
      .excludes("cues", "asset", "captions are those of 'asset' or of 'cues', not of both"),
    ])
}

/// One caption of a list.
enum CueKeys {
  static let over = Key(
    required: "over", .range(.plain), "when it is shown, counted from `at` of the captions; to the nearest millisecond")
  static let text = Key(
    required: "text", .name("a caption"), "its lines, with `\\n` between them")

  static let properties: [Property<Document.Captions.Cue>] = [over.of(\.over), text.of(\.text)]
  static let table = ObjectTable(
    name: "cue", noun: "a caption", keys: Array(properties),
    instead: [
      "start": "did you mean 'over'?", "end": "did you mean 'over'?", "from": "did you mean 'over'?",
      "at": "'over' is the range of the caption: \"1..3.5\"", "caption": "did you mean 'text'?",
      "content": "did you mean 'text'?",
    ])
}

extension Document.Captions.Cue: WrittenObject {
  static var properties: [Property<Document.Captions.Cue>] { CueKeys.properties }
}

extension Form where Value == String {
  /// Of a track, for people. How many characters it has is counted as they are seen, which a schema cannot do.
  static var title: Form { shared("string", "name", write: JSONValue.text) { $0.title($1) } }
}
