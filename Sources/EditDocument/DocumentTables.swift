import CompositionModel

/// The document itself.
enum DocumentKeys {
  static let version = Key(
    required: "sheaf",
    Form<Int>("`1`", ["const": 1]) { reader, value in
      if case .number(let text) = value.content, let number = try? exactDecimal(text), number == .one { return 1 }
      reader.problems.addShape(
        value.pointer, "\(value.shown) is not a version that this Sheaf reads; it reads 1")
      return nil
    }, example: #""sheaf": 1"#, "the version of this language")
  static let assets = Key(
    "assets",
    .raw(
      "object",
      ["type": "object", "propertyNames": ["minLength": 1], "additionalProperties": .reference("name")]),
    "files by name")
  static let tracks = Key(
    required: "tracks", .raw("array of tracks", ["type": "array", "items": .reference("track")]),
    "video and audio; the first video track is on top")
  static let videoComposition = Key(
    "videoComposition", .raw("object", VideoCompositionKeys.table.reference), default: "all defaults",
    "how the video tracks are combined into one picture")
  static let audioMix = Key("audioMix", .raw("object", AudioMixKeys.schema), "volumes by track")
  static let captions = Key(
    "captions",
    .raw(
      "array of captions",
      ["type": "array", "items": CaptionKeys.table.reference, "maxItems": .integer(CaptionsEntry.greatestCount)]),
    "captions that are drawn over the film, or are tracks of the output: see [captions](#captions)")
  static let export = Key(
    "export", .raw("object", ExportKeys.table.reference), default: "all defaults", "the output file")
  static let schema = Key(
    "$schema", .text, "where an editor finds the language: `docs/document.schema.json`. It has no effect on the film")

  static let table = ObjectTable(
    name: "document", noun: "a document",
    keys: [version, assets, tracks, videoComposition, audioMix, captions, export, schema], instead: Document.instead)
}

/// `videoComposition`.
enum VideoCompositionKeys {
  static let renderSize = Key(
    "renderSize", .size(VideoCompositionEntry.sides),
    default: "the largest clip that is shown, upright, rounded down to what the pixel format can store",
    "size of the film in pixels; each \(VideoCompositionEntry.sides.lowerBound) to "
      + "\(VideoCompositionEntry.sides.upperBound), at most 16384x8192 in all")
  static let scale = Key(
    "scale",
    Form<Rational>(
      "number above 0, at most 1, of at most six decimals", ["type": "number", "exclusiveMinimum": 0, "maximum": 1]
    ) { $0.scale($1) }, default: "1", "makes the frame smaller, and the lengths of overlays with it")
  static let frameDuration = Key(
    "frameDuration",
    Form<MediaTime>("time", .all(.reference("time"), ["not": .pattern("f$")])) { $0.frameDuration($1) },
    default: "that of the clip with the highest nominal rate, else `\"1/30\"`",
    "seconds from one frame to the next, 1/1000 to 60; not in frames. `\"1001/30000\"` is NTSC's")
  static let frameRate = Key(
    "frameRate", .rational(VideoCompositionEntry.frameRates), default: "", type: "number or fraction",
    "frames a second, in place of `frameDuration`: 30, or `\"30000/1001\"`. 23.976 (or 23.98), 29.97, 47.952, 59.94 and "
      + "119.88 mean the exact rates of NTSC, such as 30000/1001")
  static let background = Key(
    "background", .solidColor, default: "`\"#000000\"`", "the colour behind all tracks; solid")
  static let transitions = Key(
    "transitions", .items("array", of: TransitionKeys.table.reference, "transitions"), "from one track to another")
  static let instructions = Key(
    "instructions", .items("array", of: InstructionKeys.table.reference, "instructions"), default: "derived",
    "explicit instructions as in AVFoundation, in place of `transitions`")
  static let overlays = Key(
    "overlays", .items("array", of: .reference("overlay"), "overlays"),
    "pictures and texts over everything; the first is on top")
  static let filters = Key(
    "filters", FilterTables.listOfFilm,
    "of the composited picture without overlays; ramps are on the film's timeline")
  static let color = Key(
    "color", FilmColourKeys.form, default: "the first clip's, or `bt709`", type: "name or object",
    "the film's colour, see [Colour](#colour)")
  static let toneMapping = Key(
    "toneMapping", Form<ToneMapping>.choice("tone mapping"), default: "`bt2390`",
    "how HDR is brought into a film that cannot show it, see [Colour](#colour)")

  static let table = ObjectTable(
    name: "videoComposition", noun: "'videoComposition'",
    keys: [
      renderSize, scale, frameDuration, frameRate, background, transitions, instructions, overlays, filters, color,
      toneMapping,
    ], instead: VideoCompositionEntry.instead,
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
    return Form("\(name.type), or an object", .any(name.schema, table.reference)) { $0.filmColour($1) }
  }()
}

/// An explicit instruction.
enum InstructionKeys {
  static let over = Key(required: "over", .signedRange, "the time of the instruction")
  static let background = Key("background", .solidColor, default: "that of `videoComposition`", "")
  static let layers = Key(
    "layers", .items("array", of: LayerKeys.table.reference, "layers"), default: "none: the background alone",
    "the tracks that are shown; the first is on top")
  static let passthrough = Key(
    "passthrough", .text, default: "", "in place of `layers`: shows this track alone, which must play throughout")
  static let compositor = Key(
    "compositor", .raw("object", CompositorKeys.table.reference),
    "a compositor of your own that makes one picture of the layers: `name`, required, `parameters`, an object, and "
      + "`metadata`, an array of the names of [metadata tracks](#metadata-tracks), as for a transition of the kind "
      + "`custom`. See [compositor.md](compositor.md)")
  static let filters = Key(
    "filters", FilterTables.listOfFilm,
    "of the composited picture during the instruction, before those of `videoComposition`; ramps are on the film's "
      + "timeline")
  static let wantsOverlays = Key("wantsOverlays", .boolean, default: "`true`", "whether overlays are drawn")

  static let table = ObjectTable(
    name: "instruction", noun: "an instruction",
    keys: [over, background, layers, passthrough, compositor, filters, wantsOverlays],
    instead: InstructionEntry.instead,
    rules: [
      .excludes("layers", "passthrough", "an instruction has 'layers' or 'passthrough', not both"),
      .excludes("compositor", "passthrough", "an instruction has 'compositor' or 'passthrough', not both"),
    ])
}
