import CompositionModel

/// The document itself.
enum DocumentKeys {
  static let version = Key(
    required: "sheaf",
    Form<Int>("`1`", ["const": 1], write: JSONValue.integer) { reader, value in
      if case .number(let text) = value.content, let number = try? exactDecimal(text), number == .one { return 1 }
      reader.problems.addShape(
        value.pointer, "\(value.shown) is not a version that this Sheaf reads; it reads 1")
      return nil
    }, example: #""sheaf": 1"#, "the version of this language")
  static let assets = Key(
    "assets",
    Form<[AssetID: Document.Asset]>(
      "object",
      [
        "type": "object", "propertyNames": ["minLength": 1],
        "additionalProperties": .when(
          ["type": "object"],
          then: .when(
            .requires(NestedKeys.document.name), then: NestedKeys.table.reference,
            else: PictureKeys.table.reference), else: .reference("name")),
      ], write: JSONValue.assets
    ) { reader, value in
      let (files, pictures, nested) = reader.assets(value)
      return Dictionary(
        files.map { ($0.id, .file($0.path)) } + pictures.map { ($0.id, .picture($0.picture)) }
          + nested.map { ($0.id, .document($0.written)) }
      ) { first, _ in first }
    },
    "files by name, [pictures that are drawn](pictures.md), and "
      + "[documents](documents.md)")
  static let markers = Key(
    "markers",
    Form<[String: Document.Time]>(
      "object of times by name",
      [
        "type": "object", "propertyNames": .reference("thingName"), "additionalProperties": .reference("filmTime"),
      ], write: JSONValue.markers
    ) { reader, value in
      Dictionary(reader.markers(value).map { ($0.name, $0.time) }) { first, _ in first }
    },
    "times on the film's timeline, from which others count: see [Times from the end and from things]"
      + "(times.md#times-from-the-end-and-from-things)")
  static let tracks = Key(
    required: "tracks",
    Form<[Document.Track]>(
      "array of tracks", ["type": "array", "items": .reference("track")]
    ) { $0.tracks($1).written },
    "video and audio; the first video track is on top")
  static let videoComposition = Key(
    "videoComposition",
    Form<Document.VideoComposition>(
      "object", VideoCompositionKeys.table.reference
    ) { $0.videoComposition($1, at: $1.pointer).written }, default: "all defaults",
    "how the video tracks are combined into one picture")
  static let audioMix = Key(
    "audioMix",
    Form<Document.AudioMix>("object", AudioMixKeys.schema) { $0.audioMix($1).written },
    "volumes by track")
  static let captions = Key(
    "captions",
    Form<[Document.Captions]>(
      "array of captions",
      ["type": "array", "items": CaptionKeys.table.reference, "maxItems": .integer(CaptionsEntry.greatestCount)]
    ) { $0.captions($1).map(\.written) },
    "captions that are drawn over the film, or are tracks of the output: see [captions](captions.md)")
  static let export = Key(
    "export",
    Form<Document.Export>(
      "object", ExportKeys.table.reference
    ) { $0.export($1, at: $1.pointer).written }, default: "all defaults", "the output file")
  static let schema = Key(
    "$schema", .text, "where an editor finds the language: `docs/document.schema.json`. It has no effect on the film")

  static let parameters = Key(
    "parameters",
    .raw(
      "object of parameters by name",
      [
        "type": "object", "propertyNames": .pattern("^[A-Za-z_][A-Za-z0-9_-]*$"),
        "additionalProperties": ParameterKeys.table.reference,
      ]),
    "values that are given when the document is rendered: see [Parameters](parameters.md)")

  /// The parts of a document are read together, in an order of their own.
  static let properties: [Property<Document>] = [
    version.always(1), assets.written { $0.allAssets.isEmpty ? nil : $0.allAssets },
    markers.of(\.markers, standard: [:]),
    tracks.of(\.tracks),
    videoComposition.of(\.videoComposition, standard: Document.VideoComposition()),
    audioMix.of(\.audioMix, standard: Document.AudioMix()), captions.of(list: \.captions),
    export.of(\.export, standard: Document.Export()), schema.of(\.schema),
    // They were filled in.
    parameters.written { _ in nil },
  ]
  static let table = ObjectTable(
    name: "document", noun: "a document", keys: Array(properties), instead: Document.instead)
}

/// A parameter of a document.
enum ParameterKeys {
  static let type = Key(
    required: "type", Form<Template.Kind>.choice("type of parameter"),
    "what its values are: a `time` is a number of seconds or a text such as `7/30`, a `color` is `#rrggbb` or "
      + "`#rrggbbaa`, a `path` is that of a file")
  static let standard = Key(
    "default", .raw("of its type", ["type": ["string", "number", "boolean"]]), default: "none: it must be set",
    "its value where none is given")
  static let summary = Key("summary", .text, default: "", "what it is for; for people alone")

  static let table = ObjectTable(
    name: "parameter", noun: "a parameter", keys: [type, standard, summary],
    instead: [
      "kind": "did you mean 'type'?", "value": "did you mean 'default'?", "description": "did you mean 'summary'?",
    ])

  /// Whether a text is a parameter's name.
  static func isName(_ text: String) -> Bool {
    guard let first = text.utf8.first, first == UInt8(ascii: "_") || isLetter(first) else { return false }
    return text.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x5F }
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}

/// `videoComposition`.
enum VideoCompositionKeys {
  static let renderSize = Key(
    "renderSize", .size(VideoCompositionEntry.sides),
    default: "the largest clip that is shown, upright, rounded down to what the pixel format can store; 1920x1080 if "
      + "there are only [drawn pictures](pictures.md) without a `size`",
    "size of the film in pixels; each \(VideoCompositionEntry.sides.lowerBound) to "
      + "\(VideoCompositionEntry.sides.upperBound), at most 16384x8192 in all")
  static let scale = Key(
    "scale",
    Form<Rational>(
      "number above 0, at most 1, of at most six decimals", ["type": "number", "exclusiveMinimum": 0, "maximum": 1],
      write: JSONValue.exact
    ) { $0.scale($1) }, default: "1", "makes the frame smaller, and the lengths of overlays with it")
  static let frameDuration = Key(
    "frameDuration",
    Form<MediaTime>("time", .all(.reference("time"), ["not": .pattern("f$")]), write: JSONValue.frameDuration) {
      $0.frameDuration($1)
    },
    default: "that of the clip with the highest nominal rate, else `\"1/30\"`",
    "seconds from one frame to the next, 1/1000 to 60; not in frames. `\"1001/30000\"` is NTSC's")
  static let frameRate = Key(
    "frameRate", .frameRate, default: "", type: "number or fraction",
    "frames a second, in place of `frameDuration`: 30, or `\"30000/1001\"`. 23.976 (or 23.98), 29.97, 47.952, 59.94 and "
      + "119.88 mean the exact rates of NTSC, such as 30000/1001")
  static let background = Key(
    "background", .solidColor, default: "`\"#000000\"`", "the colour behind all tracks; solid")
  static let transitions = Key(
    "transitions",
    Form<[Document.Transition]>(
      "array", ["type": "array", "items": TransitionKeys.table.reference]
    ) { reader, value in reader.items(value, "transitions").compactMap { reader.transition($0) } },
    "from one track to another")
  static let instructions = Key(
    "instructions",
    Form<[Document.Instruction]>(
      "array", ["type": "array", "items": InstructionKeys.table.reference]
    ) { reader, value in reader.items(value, "instructions").map { reader.instruction($0).written } },
    default: "derived",
    "explicit instructions as in AVFoundation, in place of `transitions`")
  static let overlays = Key(
    "overlays",
    Form<[Document.Overlay]>(
      "array", ["type": "array", "items": .reference("overlay")]
    ) { reader, value in reader.items(value, "overlays").compactMap { reader.overlay($0)?.written } },
    "pictures and texts over everything; the first is on top")
  static let filters = Key(
    "filters", FilterTables.listOfFilm,
    "of the composited picture without overlays; ramps are on the film's timeline")
  static let color = Key(
    "color", FilmColourKeys.form, default: "the first clip's, or `bt709`", type: "name or object",
    "the film's colour, see [Colour](colour.md)")
  static let toneMapping = Key(
    "toneMapping", Form<ToneMapping>.choice("tone mapping"), default: "`bt2390`",
    "how HDR is brought into a film that cannot show it, see [Colour](colour.md)")

  static let properties: [Property<Document.VideoComposition>] = [
    renderSize.of(\.renderSize), scale.of(\.scale), frameDuration.of(\.frameDuration), frameRate.of(\.frameRate),
    background.of(\.background), transitions.of(list: \.transitions), instructions.of(\.instructions).readBySection,
    overlays.of(list: \.overlays).readBySection, filters.of(list: \.filters), color.of(\.color),
    toneMapping.of(\.toneMapping),
  ]
  static let table = ObjectTable(
    name: "videoComposition", noun: "'videoComposition'", keys: Array(properties),
    instead: VideoCompositionEntry.instead,
    rules: [
      .excludes(
        "frameRate", "frameDuration", "'frameRate' is 1 divided by 'frameDuration'; write one of them, not both"),
      .excludes(
        "transitions", "instructions",
        "transitions are for derived instructions; write 'instructions' or 'transitions', not both"),
    ])
}

/// `color` of `videoComposition` as an object.
enum FilmColourKeys {
  static let primaries = Key(required: "primaries", .choice("primaries", among: FilmColour.primaries), "")
  static let transfer = Key(required: "transfer", .choice("transfer function", among: FilmColour.transfers), "")
  static let matrix = Key(required: "matrix", .choice("matrix", among: FilmColour.matrices), "")
  static let range = Key("range", .choice("range", among: FilmColour.ranges), default: "`limited`", "")
  static let table = ObjectTable(
    name: "filmColor", noun: "a film's 'color'", keys: [primaries, transfer, matrix, range])

  static let form: Form<ColourTags> = {
    let name = Form<FilmColour>.choice("colour")
    return Form("\(name.type), or an object", .any(name.schema, table.reference)) {
      $0.filmColour($1)
    }
  }()
}

/// An explicit instruction.
enum InstructionKeys {
  static let over = Key(required: "over", .range(.signed), "the time of the instruction")
  static let background = Key("background", .solidColor, default: "that of `videoComposition`", "")
  static let layers = Key(
    "layers",
    Form<[Document.Layer]>(
      "array", ["type": "array", "items": LayerKeys.table.reference]
    ) { $0.layers($1) }, default: "none: the background alone",
    "the tracks that are shown; the first is on top")
  static let passthrough = Key(
    "passthrough", .text, default: "", "in place of `layers`: shows this track alone, which must play throughout")
  static let compositor = Key(
    "compositor",
    Form<Document.Compositor>(
      "object", CompositorKeys.table.reference
    ) { $0.compositor($1) },
    "a compositor of your own that makes one picture of the layers: `name`, required, `parameters`, an object, and "
      + "`metadata`, an array of the names of [metadata tracks](metadata-tracks.md), as for a transition of the kind "
      + "`custom`. See [compositor.md](../compositor.md)")
  static let filters = Key(
    "filters", FilterTables.listOfFilm,
    "of the composited picture during the instruction, before those of `videoComposition`; ramps are on the film's "
      + "timeline")
  static let wantsOverlays = Key("wantsOverlays", .boolean, default: "`true`", "whether overlays are drawn")

  static let properties: [Property<Document.Instruction>] = [
    over.of(\.over), background.of(\.background), layers.of(list: \.layers).readBySection,
    passthrough.of(\.passthrough).readBySection, compositor.of(\.compositor), filters.of(list: \.filters),
    wantsOverlays.of(\.wantsOverlays),
  ]
  static let table = ObjectTable(
    name: "instruction", noun: "an instruction", keys: Array(properties),
    instead: InstructionEntry.instead,
    rules: [
      .excludes("layers", "passthrough", "an instruction has 'layers' or 'passthrough', not both"),
      .excludes("compositor", "passthrough", "an instruction has 'compositor' or 'passthrough', not both"),
    ])
}
