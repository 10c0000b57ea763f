import CompositionModel

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

  static let lineLength = Key(
    "lineLength", .integer(CaptionWording.lineLengths),
    "the most characters of a line: longer ones are broken into as few lines as possible, see below")

  static let speakers = Key(
    "speakers",
    Form<[String: CaptionSpeaker]>(
      "object of speakers by name",
      [
        "type": "object", "propertyNames": .reference("name"), "additionalProperties": SpeakerKeys.table.reference,
        "maxProperties": .integer(SpeakerKeys.greatestCount),
      ], write: JSONValue.speakers
    ) { $0.speakers($1) }, "how the words of those who speak are shown, see below")
  static let speakerNames = Key(
    "speakerNames", .boolean, default: "`false`", "whether the name of the speaker is before the words, as `Fred: …`")

  private static let ofTexts: [Property<Document.Captions>] = [
    lineLength.of(\.lineLength),
    Property(key: speakers) { reader, value, captions in
      if let speakers = speakers.form.read(&reader, value) { captions.speakers = speakers }
    } write: {
      $0.speakers.isEmpty ? nil : .speakers($0.speakers)
    },
    speakerNames.of(\.speakerNames),
  ]
  /// The keys of the texts of captions that have no styles of their own.
  static let texts = ofTexts.map(\.key.name)

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
    "anchor", Form<Anchor>.choice("anchor"), default: "`bottom`; of vertical ones `top-right`", kinds: ["picture"],
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

  static let vertical = Key(
    "vertical", .boolean, default: "`false`", kinds: ["picture"],
    "lines run from top to bottom, the first line at the right, see below")

  private static let ofPictures: [Property<Document.Captions>] = [
    font.of(\.font), bold.of(\.bold), italic.of(\.italic), size.of(\.size), color.of(\.color), outline.of(\.outline),
    outlineColor.of(\.outlineColor), anchor.of(\.anchor), margin.of(\.margin), sideMargin.of(\.sideMargin),
    leftMargin.of(\.leftMargin), rightMargin.of(\.rightMargin), topMargin.of(\.topMargin),
    bottomMargin.of(\.bottomMargin), box.of(\.box), highlightColor.of(\.highlightColor),
    spokenColor.of(\.spokenColor), vertical.of(\.vertical),
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
    ] + [use.of(\.as), part.of(\.use), at.of(\.at)] + ofTexts + ofPictures
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
  static let speaker = Key("speaker", .name("a speaker"), "who says it: see `speakers` of captions")

  static let properties: [Property<Document.Captions.Cue>] = [
    over.of(\.over), text.of(\.text), speaker.of(\.speaker),
  ]
  static let table = ObjectTable(
    name: "cue", noun: "a caption", keys: Array(properties),
    instead: [
      "start": "did you mean 'over'?", "end": "did you mean 'over'?", "from": "did you mean 'over'?",
      "at": "'over' is the range of the caption: \"1..3.5\"", "caption": "did you mean 'text'?",
      "content": "did you mean 'text'?", "name": "did you mean 'speaker'?", "voice": "did you mean 'speaker'?",
      "actor": "did you mean 'speaker'?",
    ])
}

/// One of `speakers`.
enum SpeakerKeys {
  /// The most speakers of captions.
  static let greatestCount = 1000

  static let color = Key(
    "color", .color, default: "as others", "of the words, and of the name, in captions that are drawn")
  static let name = Key(
    "name", .name("a speaker"), default: "the name in the captions", "what is before the words, with `speakerNames`")

  static let properties: [Property<CaptionSpeaker>] = [color.of(\.color), name.of(\.name)]
  static let table = ObjectTable(
    name: "speaker", noun: "a speaker", keys: Array(properties),
    instead: ["title": "did you mean 'name'?", "label": "did you mean 'name'?"])
}

extension CaptionSpeaker: WrittenObject {
  static var properties: [Property<CaptionSpeaker>] { SpeakerKeys.properties }
}

extension Document.Captions.Cue: WrittenObject {
  static var properties: [Property<Document.Captions.Cue>] { CueKeys.properties }
}
