import CompositionModel

/// `export`.
enum ExportKeys {
  static let to = Key(
    "to", .name("the output's path"), default: "the command line's `-o`, which also overrides it",
    "the output's path; its extension is the container, see below")
  static let video = Key(
    "video",
    Form<Document.Stream<Document.Video>>(
      "object or `false`", .any(["type": "boolean"], VideoKeys.table.reference, VideoKeys.shared.reference),
      VideoKeys.sharedForm.read),
    default: "all defaults if there is a video clip or an overlay, and the container can have pictures",
    "`false`: the output has no video")
  static let audio = Key(
    "audio",
    Form<Document.Stream<Document.Audio>>(
      "object or `false`", .any(["type": "boolean"], AudioKeys.table.reference, AudioKeys.shared.reference),
      AudioKeys.sharedForm.read),
    default: "all defaults if there is sound",
    "`false`: the output has no audio. With an object the output has audio even if it is silent")
  static let optimizeForNetworkUse = Key(
    "optimizeForNetworkUse", .boolean, default: "`true`", "the index is at the start of the file")
  static let timeRange = Key(
    "timeRange", .range(.film), default: "all of the film", "the part of the film that is exported, see below")
  static let preset = Key(
    "preset",
    Form<PresetChoice>("see [Presets](export.md#presets)", ["enum": .array(PresetChoice.allCases.map(\.name))]) {
      $0.preset($1)
    },
    "codecs, quality, size and containers in one word; keys of `video` and `audio` override it. `passthrough`: what is "
      + "stored is copied and nothing is rendered, see [Copying](copying.md)")
  static let metadata = Key(
    "metadata",
    Form<[String: String]>(
      "object of strings",
      [
        "type": "object", "propertyNames": .pattern(#"^[^=\u0000]+$"#),
        "additionalProperties": .pattern(#"^[^\u0000]*$"#), "maxProperties": .integer(MetadataEntry.greatestCount),
      ], write: JSONValue.texts
    ) { $0.metadataTexts($1) }, "such as `title`, `artist`, `comment`, see [Metadata](metadata.md)")
  static let carryMetadata = Key(
    "carryMetadata",
    Form<Document.MetadataSource>(
      "boolean, or an asset", ["type": ["boolean", "string"]]
    ) { $0.metadataSource($1) }, default: "`false`; of a copy of one asset that asset",
    "whether the metadata of an asset become the film's: `true` is the asset that is seen first, or else heard first")
  static let metadataFilter = Key(
    "metadataFilter", Form<Document.MetadataFilter>.choice("metadata filter"),
    "leaves out what is personal of metadata that are carried")
  static let chapters = Key(
    "chapters",
    Form<[Document.Chapter]>(
      "array of `{ \"at\": time, \"title\": string }`",
      ["type": "array", "items": ChapterKeys.table.reference, "maxItems": .integer(Document.Chapter.greatestCount)]
    ) { $0.chapters($1) }, default: "none; of a copy those of its media",
    "named parts, for mp4, mov, m4v, m4a, mkv and webm; each lasts until the next one")
  static let artwork = Key(
    "artwork",
    Form<Document.Artwork>("an asset, or `false`", .any(["type": "string"], ["const": .boolean(false)])) {
      $0.artwork($1)
    }, default: "that of the asset of `carryMetadata`, if it has one",
    "the picture that players show for the film, see [Metadata](metadata.md)")
  static let manifests = Key(
    "manifests",
    Form<Set<Manifest>>(
      "array of \(list(Manifest.allCases.map { "`\($0.rawValue)`" }))",
      [
        "type": "array", "items": ["enum": .array(Manifest.allCases.map(\.rawValue))], "minItems": .integer(1),
      ], write: JSONValue.manifests
    ) { $0.manifests($1) }, default: "the extension of `to`",
    "what names the files of a film for HTTP Live Streaming or MPEG-DASH, see [Streaming](streaming.md): both, or the one "
      + "that `to` is")
  static let outputs = Key(
    "outputs",
    Form<[Document.Output]>(
      "array of 1 to 8 objects",
      [
        "type": "array", "items": OutputKeys.table.reference, "minItems": .integer(EditOutput.counts.lowerBound),
        "maxItems": .integer(EditOutput.counts.upperBound),
      ]
    ) { reader, value in
      reader.outputs(value, of: ExportEntry(pointer: value.pointer), video: nil, audio: nil).map(\.written)
    }, default: "one output",
    "several files of one render, such as the renditions of a ladder, see [Several outputs](outputs.md)")
  static let carry: Key<Set<Document.Carried>> = {
    let kinds = Document.Carried.allCases.map(\.rawValue)
    return Key(
      Document.Carried.key,
      Form<Set<Document.Carried>>(
        "boolean, or an array of \(list(kinds.map { "`\($0)`" }))",
        .any(["type": "boolean"], ["type": "array", "items": ["enum": .array(kinds)]]),
        write: JSONValue.carried
      ) { $0.carried($1) }, default: "`true`",
      "with the preset `passthrough`: what a copy has beside the tracks that are named, see [Copying](copying.md)")
  }()

  static let smart = Key(
    "smart", .boolean, default: "`false`",
    "`true`: pictures that the film shows as they are stored are copied, and only the others are encoded, see [Smart "
      + "rendering](smart-rendering.md)")

  /// How pictures and sound are encoded depends on the container, the preset and the outputs.
  static let properties: [Property<Document.Export>] = [
    to.of(\.to), video.of(\.video).readBySection, audio.of(\.audio).readBySection,
    optimizeForNetworkUse.of(\.optimizeForNetworkUse), timeRange.of(\.timeRange), preset.of(\.preset).readBySection,
    metadata.of(\.metadata, standard: [:]), carryMetadata.of(\.carryMetadata), metadataFilter.of(\.metadataFilter),
    chapters.of(list: \.chapters), artwork.of(\.artwork), manifests.of(\.manifests),
    outputs.of(list: \.outputs).readBySection, carry.of(\.carry), smart.of(\.smart),
  ]
  static let table = ObjectTable(
    name: "export", noun: "'export'", keys: Array(properties), instead: ExportEntry.instead,
    rules: [
      .needs("metadataFilter", "carryMetadata", "the filter is for metadata that are carried: give 'carryMetadata' too")
    ],
    restrictions: [
      ["not": .requires("outputs", "preset")],
      .when(
        .requires("outputs"),
        then: settings(VideoKeys.shared, AudioKeys.shared), else: settings(VideoKeys.table, AudioKeys.table)),
    ])

  private static func settings(_ video: ObjectTable, _ audio: ObjectTable) -> JSONValue {
    [
      "properties": [
        "video": .any(["type": "boolean"], video.reference), "audio": .any(["type": "boolean"], audio.reference),
      ]
    ]
  }
}

/// A chapter.
enum ChapterKeys {
  static let at = Key(required: "at", .time(.film), "where it starts, on the film's timeline")
  static let title = Key(
    required: "title", .name("a chapter's title"), "at most \(Document.Chapter.longestTitle) bytes of UTF-8")
  static let properties: [Property<Document.Chapter>] = [at.of(\.at), title.of(\.title)]
  static let table = ObjectTable(name: "chapter", noun: "a chapter", keys: Array(properties))
}

/// One of `outputs` of `export`.
enum OutputKeys {
  static let name = Key(
    required: "name",
    Form<String>(
      "string", .pattern("^[A-Za-z0-9_-][A-Za-z0-9._-]{0,\(EditOutput.greatestName - 1)}$"), write: JSONValue.text
    ) {
      $0.outputName($1)
    },
    "the name of its file, without extension: at most \(EditOutput.greatestName) letters, digits, `-`, `_` and `.`, "
      + "which is not first. Names that differ in capitals alone are the same")
  static let container = Key(
    required: "container", Form<Container>.choice("container"), type: "an extension of the table above", "")
  static let video = Key(
    "video", VideoKeys.sharedForm, default: "that of `export`",
    "its keys take the place of those of `video` of `export`")
  static let audio = Key(
    "audio", AudioKeys.sharedForm, default: "that of `export`",
    "its keys take the place of those of `audio` of `export`")
  static let size = Key(
    "size", .size(VideoCompositionEntry.sides), default: "the film's",
    "the same in place of `height`. Its proportions are the film's, but for the rounding to even numbers")
  static let height = Key(
    "height", .integer(VideoCompositionEntry.sides), default: "the film's", type: "pixels, even",
    "of its pictures; the width follows, as the nearest even number")
  static let optimizeForNetworkUse = Key("optimizeForNetworkUse", .boolean, default: "that of `export`", "")
  static let properties: [Property<Document.Output>] = [
    name.of(\.name), container.of(\.container), video.of(\.video).readBySection, audio.of(\.audio).readBySection,
    size.of(\.size), height.of(\.height), optimizeForNetworkUse.of(\.optimizeForNetworkUse),
  ]
  static let table = ObjectTable(
    name: "output", noun: "an output", keys: Array(properties), instead: OutputEntry.instead,
    rules: [
      .excludes("size", "height", "'size' is the width and the height: write 'size' or 'height', not both")
    ])
}
