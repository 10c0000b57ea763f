import CompositionModel

/// `audioMix`: of each track its volume, ramps, or an object.
enum AudioMixKeys {
  static let volume = Key(
    "volume", .raw("a volume, or ramps of `volume`", .any(volumes, list(RampTables.volume))), default: "1", "")
  static let pan = Key(
    "pan", .raw("-1 to 1, or ramps of `pan`", .any(.number(RampEntry.Quantity.pan.range), list(RampTables.pan))),
    default: "0", "-1 is the left speakers alone, and 1 the right ones")
  static let filters = Key(
    "filters", AudioFilterTables.list,
    "before the volume, in order, at most \(AudioFilterEntry.greatestCount); see [Filters of sound](#filters-of-sound)")
  static let duck = Key("duck", .raw("object", DuckKeys.table.reference), "lowers the track while another is heard")

  static let trackTable = ObjectTable(
    name: "trackMix", noun: "a track's mix", keys: [volume, pan, filters, duck], instead: TrackMixEntry.instead)

  private static let volumes = Form<Double>.volume(RampEntry.Quantity.volume.range).schema
  private static func list(_ table: ObjectTable) -> JSONValue { ["type": "array", "items": table.reference] }

  /// A member of `audioMix`.
  static let member = JSONValue.any(volumes, list(RampTables.mix), trackTable.reference)
  static let schema: JSONValue = [
    "type": "object",
    "properties": .object([(AudioMixEntry.loudnessKey, loudness.schema)]),
    "additionalProperties": .reference("mix"),
  ]

  /// `loudness` is a track where one has this name.
  static let loudness = Form<Bool>("", .any(LoudnessKeys.table.reference, .reference("mix"))) { reader, value in
    if reader.accepts(value, Form<TrackMixEntry>("", [:]) { $0.trackMix("", $1) }) { return true }
    return reader.loudness(value) != nil
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
  static let table = ObjectTable(
    name: "duck", noun: "'duck'", keys: [under, by, threshold, attack, hold, release],
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
  static let table = ObjectTable(
    name: "loudness", noun: "'loudness'", keys: [target, truePeak], instead: AudioMixEntry.loudnessInstead)
}

/// An entry of `captions`. `kinds` has the uses of captions that a key is for.
enum CaptionKeys {
  static let asset = Key(required: "asset", .asset, "a name of `assets`")
  static let use = Key(
    "as", Form<CaptionsEntry.Use>.choice("use of captions"), default: "`picture`",
    "whether they are drawn, or carried as a track")
  static let part = Key(
    "use", .range, default: "all of it",
    "the part of the captions that is used, on the asset's timeline; a caption at its edge is cut there, and begins anew"
  )
  static let at = Key(
    "at", .signedTime, default: "0", "when `use` starts, or without it the asset's time 0; may be negative")

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
    type: "as of [overlays](#overlays)",
    "where in the frame they are")
  static let margin = Key(
    "margin", .integer(CaptionsEntry.margins), default: "1/27 of the frame's height", kinds: ["picture"],
    "pixels between them and the frame's edges")
  static let sideMargin = Key(
    "sideMargin", .integer(CaptionsEntry.margins), default: "as `margin`", kinds: ["picture"],
    "those at the left and at the right, between which lines are wrapped")

  private static let ofPictures: [any DeclaredKey] = [
    font, bold, italic, size, color, outline, outlineColor, anchor, margin, sideMargin,
  ]
  /// The keys of the style of captions that are drawn.
  static let style = ofPictures.map(\.name)

  static let language = Key(
    "language", .language, kinds: ["track"], "of a track: three letters of ISO 639-2, such as `eng`")
  static let title = Key(
    "title", .title, kinds: ["track"], "of a track: for people, at most \(TrackLabel.greatestTitle) characters")
  static let isDefault = Key(
    "default", .boolean, default: "`false`", kinds: ["track"],
    "of a track: whether players show it without being asked")

  static let table = ObjectTable(
    name: "captions", noun: "captions",
    keys: [
      asset, use, part, at,
    ] + ofPictures + [language, title, isDefault], instead: CaptionsEntry.instead,
    kind: KindKey(name: "as", standard: "picture", names: CaptionsEntry.Use.allCases.map(\.rawValue)) { key, kind in
      kind == "picture"
        ? "'\(key.name)' is for captions that are a track of the output: \"as\": \"track\""
        : "'\(key.name)' is for captions that are drawn; a player decides how a track looks"
    })
}

extension Form where Value == String {
  /// Of a track, for people. How many characters it has is counted as they are seen, which a schema cannot do.
  static var title: Form { shared("string", "name") { $0.title($1) } }
}
