import CompositionModel

/// The keys of overlays.
enum OverlayKeys {
  // MARK: Of all

  static let over = Key(
    "over", .range(.film), default: "the whole film; for a video from 0 for as long as it plays",
    "the time at which it is shown; it may end after the film, but must start before the film's end")
  static let anchor = Key(
    "anchor", Form<Anchor>.choice("anchor"), default: "`center`",
    "the edge, corner or centre of the frame where it is placed")
  static let inset = Key(
    "inset", .inset, default: "0", type: "length, or `[x, y]`",
    "between it and those edges; two lengths are those from the left or the right edge and from the top or the bottom "
      + "edge. A text has as many lines as keep it that far from the left and the right edge: `[0, 100]` of one at the "
      + "top leaves it the whole width")
  static let area = Key(
    "in", .area, default: "the whole frame",
    "the rectangle of the frame in which `anchor` and `inset` count, of lengths")
  private static let offsets = -OverlayEntry.greatestOffset...OverlayEntry.greatestOffset
  static let x = Key(
    "x", .frameLength(offsets), default: "0 if there is a `y`", type: "length",
    "in place of `anchor`: its left edge, from the frame's")
  static let y = Key(
    "y", .frameLength(offsets), default: "0 if there is an `x`", type: "length",
    "in place of `anchor`: its top edge, from the frame's")
  static let transform = Key(
    "transform", TransformKeys.form,
    "turns, scales and moves it in its place; the object of [Geometry](geometry.md), whose `anchor` is a point of the "
      + "overlay")
  static let rotate = Key(
    "rotate", .number(in: GeometryEntry.rotations), default: "0",
    type: "\(Form<Double>.number(GeometryEntry.rotations).type), or an object",
    "degrees clockwise about its centre: short for `transform` with `rotate` alone; or the numbers of a "
      + "[metadata track](metadata-tracks.md)")
  static let opacity = Key(
    "opacity", .number(in: 0...1), default: "1",
    type: "0 to 1, or an object", "an object: the numbers of a [metadata track](metadata-tracks.md)")
  static let blendMode = LayerKeys.blendMode
  static let filters = Key(
    "filters", FilterTables.list,
    "applied before it is transformed; ramps are on the overlay's own time; see [Filters](filters.md)")
  /// A number may come from a metadata track.
  static let commonProperties: [Property<Document.Overlay>] = [
    over.of(\.over), anchor.of(\.anchor), inset.of(\.inset), area.of(\.in), x.of(\.x), y.of(\.y),
    transform.of(\.transform),
    rotate.of(\.rotate).readBySection, opacity.of(\.opacity).readBySection, blendMode.of(\.blendMode),
    filters.of(list: \.filters),
  ]
  static let common: [any DeclaredKey] = Array(commonProperties)

  // MARK: Of pictures and videos

  static let image = Key(
    "image", .asset, default: "required, or `video`",
    "a name of `assets` whose file is a still picture, or an animated one: GIF or APNG")
  static let video = Key(
    "video", .asset, default: "required, or `image`",
    "a name of `assets` whose file is a video, such as an animated logo with transparency")
  static let use = Key(
    "use", .range(.own), default: "all of it",
    "the part of the video that is shown, on its own timeline; not for `image`")
  static let loop = Key(
    "loop", .loop, default: "`true` for an animated picture, `false` for a video",
    "whether it is repeated for as long as it is shown, or how often it is played. After that its last frame stays")
  static let width = Key(
    "width", .frameLength(OverlayEntry.sides), default: "from `height` and the picture's shape, else its own",
    type: "length, 1 to \(PixelSize.largestSide) pixels", "")
  static let height = Key(
    "height", .frameLength(OverlayEntry.sides), default: "from `width` and the picture's shape, else its own",
    type: "length, 1 to \(PixelSize.largestSide) pixels", "")
  static let alpha = Key("alpha", .alpha, default: "`straight`", "as for a clip")
  static let crop = Key(
    "crop", .rectangle, default: "all of it",
    "the part of the picture that is seen, in its pixels or in per cent; the rest is cut off, which moves nothing")
  static let ramps = Key(
    "ramps", RampTables.layers(RampTables.picture, .own), default: "none",
    "changes of `opacity`, `transform` and `crop` on the overlay's own time")
  static let pictureProperties: [Property<Document.Overlay>] = [
    width.of(\.width), height.of(\.height), loop.of(\.loop), crop.of(\.crop), alpha.of(\.alpha),
  ]
  static let ofPictures: [any DeclaredKey] = Array(pictureProperties)

  // MARK: Of shapes

  static let shape = Key(
    "shape", Form<DrawnPicture.Shape>.choice("shape"), default: "required", "of its width and height")
  static let shapeWidth = Key(
    "width", .frameLength(OverlayEntry.sides), default: "that of `in`, else the frame's",
    type: "length, 1 to \(PixelSize.largestSide) pixels", "")
  static let shapeHeight = Key(
    "height", .frameLength(OverlayEntry.sides), default: "that of `in`, else the frame's",
    type: "length, 1 to \(PixelSize.largestSide) pixels", "")
  private static let shapeStyle: [Property<Document.Overlay>] = [
    shape.of(\.shape), PictureKeys.color.of(\.color), PictureKeys.gradient.of(\.gradient),
    PictureKeys.cornerRadius.of(\.cornerRadius), PictureKeys.border.of(\.border), shapeWidth.of(\.width),
    shapeHeight.of(\.height), crop.of(\.crop),
  ]
  static let ofShapes: [any DeclaredKey] = Array(shapeStyle)

  // MARK: Of texts

  static let text = Key(
    "text",
    Form<Document.Overlay.Text>(
      "string, or an object",
      .any(
        [.all(.reference("name"), .reference("text")), TrackTextKeys.table.reference]
          + CountingKeys.all.map(\.table.reference))
    ) { $0.overlayText($1) },
    default: "required",
    "may have several lines, in any script that the installed fonts have; at most "
      + "\(OverlayEntry.greatestTextLength) characters. An object: the values of a "
      + "[metadata track](metadata-tracks.md), or a [text that counts](counting-texts.md)")
  static let font = Key(
    "font", .name("a font family"), default: "`sans-serif`",
    "a font family, as fontconfig finds it where the film is rendered (on a farm: on one of its workers, for the whole "
      + "film); or a font file: a name of `assets`, or a path that ends in `.ttf`, `.otf`, `.ttc` or `.otc` or has a "
      + "`/`")
  static let bold = Key("bold", .boolean, default: "`false`", "")
  static let italic = Key("italic", .boolean, default: "`false`", "")
  static let size = Key(
    "size", .number(OverlayEntry.fontSizes), default: "an eighteenth of the frame's height",
    "pixels of the font's em square")
  static let color = Key("color", .color, default: "`\"#ffffff\"`", "")
  static let align = Key(
    "align", Form<StyledText.Alignment>.choice("alignment"), default: "`center`",
    "how its lines are aligned to each other; `justify` makes wrapped lines as wide as the text may be")
  static let wrapWidth = Key(
    "width", .wrapWidth, default: "the frame's width less the insets",
    "pixels at which lines are wrapped")
  static let lineSpacing = Key(
    "lineSpacing", .number(TextStyleKeys.lineSpacings), default: "1",
    "the distance of lines, as a multiple of the font's own")
  static let letterSpacing = Key(
    "letterSpacing", .number(TextStyleKeys.letterSpacings), default: "0", "pixels that are added between characters")
  static let outline = Key("outline", OutlineKeys.form, "a line around the letters")
  static let shadow = Key("shadow", ShadowKeys.form, "the shadow of letters and outline")
  static let box = Key("box", BoxKeys.form, "a rectangle behind the lines")
  static let reveal = Key(
    "reveal", RevealKeys.form, "of a text that is written: it is seen part by part, as typed. See below")
  static let textRamps = Key(
    "ramps", RampTables.layers(RampTables.text, .own), default: "none",
    "changes of `opacity` and `transform` on the overlay's own time")
  /// The texts of a metadata track depend on when the overlay is shown.
  private static let styleProperties: [Property<Document.Overlay>] = [
    text.of(\.text).readBySection, font.of(\.font), bold.of(\.bold), italic.of(\.italic), size.of(\.size),
    color.of(\.color), align.of(\.align), wrapWidth.of(\.width), outline.of(\.outline), shadow.of(\.shadow),
    box.of(\.box),
    lineSpacing.of(\.lineSpacing), letterSpacing.of(\.letterSpacing), reveal.of(\.reveal),
  ]
  static let ofTexts: [any DeclaredKey] = Array(styleProperties)

  // MARK: Tables

  static let imageProperties: [Property<Document.Overlay>] =
    [image.of(\.image)] + pictureProperties + commonProperties + [ramps.of(list: \.ramps)]
  static let videoProperties: [Property<Document.Overlay>] =
    [video.of(\.video), use.of(\.use)] + pictureProperties + commonProperties + [ramps.of(list: \.ramps)]
  static let shapeProperties = shapeStyle + commonProperties + [ramps.of(list: \.ramps)]
  static let textProperties = styleProperties + commonProperties + [textRamps.of(list: \.ramps)]
  static let imageTable = table("imageOverlay", "an image overlay", Array(imageProperties))
  static let videoTable = table("videoOverlay", "a video overlay", Array(videoProperties))
  static let shapeTable = table(
    "shapeOverlay", "a shape overlay", Array(shapeProperties), kind: PictureKeys.kinds, rules: PictureKeys.rules)
  static let waveformTable = table("waveformOverlay", "a waveform overlay", Array(waveformProperties))
  static let textTable = table("textOverlay", "a text overlay", Array(textProperties))
  /// What is none of them, or several.
  static let table: ObjectTable = {
    var keys = [image] + ofPictures + [video, use] + ofTexts.filter { $0.name != "width" }
    keys += [waveform, shape, PictureKeys.gradient, PictureKeys.cornerRadius, PictureKeys.border] + common + [ramps]
    return table("", "an overlay", keys)
  }()

  static let contents = [
    ("image", imageTable, imageProperties), ("video", videoTable, videoProperties),
    ("shape", shapeTable, shapeProperties), ("text", textTable, textProperties),
    ("waveform", waveformTable, waveformProperties),
  ]

  private static func table(
    _ name: String, _ noun: String, _ keys: [any DeclaredKey], kind: KindKey? = nil, rules: [KeyRule] = []
  ) -> ObjectTable {
    ObjectTable(
      name: name, noun: noun, keys: keys, instead: OverlayEntry.instead, kind: kind,
      rules: ["anchor", "inset", "in"].flatMap { key in
        ["x", "y"].map {
          .excludes(key, $0, "an overlay is placed by 'anchor', 'inset' and 'in' or by 'x' and 'y', not both")
        }
      } + rules,
      restrictions: [
        // A number is a part of the transform; the numbers of a track take its place.
        ["not": .requires("rotate", "transform")]
      ])
  }

  /// An overlay has one of `image`, `video`, `shape`, `text` and `waveform`, and the keys of that.
  static let schema: JSONValue = .object([
    ("type", "object"), ("oneOf", .array(contents.map { .requires($0.0) })),
    ("allOf", .array(contents.map { .when(.requires($0.0), then: $0.1.reference) })),
  ])
}

extension Form where Value == Document.FrameLength {
  /// Whole pixels, or per cent of the frame's side.
  static func frameLength(_ range: ClosedRange<Int>) -> Form {
    let percent: JSONValue =
      range.lowerBound < 0 ? .reference("percent") : .all(.reference("percent"), ["not": .pattern("-[0.]*[1-9]")])
    return Form("length", .any(Form<Int>.integer(range).schema, percent)) { $0.length($1, in: range) }
  }
}

extension Form where Value == Document.FrameLength {
  /// Whole pixels.
  static var wrapWidth: Form {
    let pixels = Form<Int>.integer(OverlayEntry.sides)
    return Form(pixels.type, pixels.schema) { reader, value in
      pixels.read(&reader, value).map { .pixels($0) }
    }
  }
}

extension Form where Value == Document.Overlay.Number {
  /// A number, or the numbers of a metadata track, which the overlay's reader checks.
  static func number(in range: ClosedRange<Double>) -> Form {
    Form("", .any(.number(range), NumberTrackKeys.table.reference)) { reader, value in
      let (isTrack, track) = reader.numberTrack(value, in: range)
      return isTrack ? track.map { .track($0) } : reader.number(value, in: range).map { .constant($0) }
    }
  }
}

extension Form where Value == Document.Overlay.Area {
  static var area: Form {
    let place = Form<Document.FrameLength>.frameLength(
      -OverlayEntry.greatestOffset...OverlayEntry.greatestOffset)
    let side = Form<Document.FrameLength>.frameLength(OverlayEntry.sides)
    return Form("`[x, y, width, height]`", .tuple(place.schema, place.schema, side.schema, side.schema)) {
      reader, value in
      guard case .array(let items) = value.content, items.count == 4 else {
        reader.problems.addShape(
          value.pointer, "\(value.shown) should be a rectangle of the frame: [x, y, width, height]")
        return nil
      }
      let (x, y) = (place.read(&reader, items[0]), place.read(&reader, items[1]))
      let (width, height) = (side.read(&reader, items[2]), side.read(&reader, items[3]))
      guard let x, let y, let width, let height else { return nil }
      return Document.Overlay.Area(x: x, y: y, width: width, height: height)
    }
  }
}

extension Form where Value == Document.Overlay.Inset {
  static var inset: Form {
    let length = Form<Document.FrameLength>.frameLength(0...OverlayEntry.greatestOffset)
    return Form("length, or `[x, y]`", .any(length.schema, .tuple(length.schema, length.schema))) {
      reader, value in
      guard case .array(let items) = value.content else { return length.read(&reader, value).map { .same($0) } }
      guard items.count == 2 else {
        reader.problems.addShape(
          value.pointer, "\(value.shown) should be a length, or two of them: [x, y], across and down")
        return nil
      }
      let (x, y) = (length.read(&reader, items[0]), length.read(&reader, items[1]))
      guard let x, let y else { return nil }
      return .each(x: x, y: y)
    }
  }
}

extension Form where Value == Document.Overlay.Loop {
  static var loop: Form {
    Form(
      "boolean, or \(OverlayEntry.loops.lowerBound) to \(OverlayEntry.loops.upperBound)",
      .any(["type": "boolean"], Form<Int>.integer(OverlayEntry.loops).schema)
    ) { $0.loop($1) }
  }
}

/// `text` of an overlay that shows the values of a metadata track.
enum TrackTextKeys {
  static let track = Key(required: "track", .text, "a metadata track")
  static let decimals = Key(
    "decimals", .integer(0...TrackText.greatestDecimals), default: "0",
    "of numbers, which are rounded to so many decimals")
  static let rounding = Key(
    "rounding", Form<NumberRounding>.choice("rounding"), default: "`nearest`",
    "of numbers: to the nearest, halves away from zero; to the next one above, as a countdown; to the next one below, "
      + "as a stopwatch")
  static let prefix = Key("prefix", affix("prefix"), default: "empty", "before the value")
  static let suffix = Key("suffix", affix("suffix"), default: "empty", "after the value")

  private static func affix(_ key: String) -> Form<String> {
    .shared("string", "text", write: JSONValue.text) { reader, value in
      guard let text = reader.string(value) else { return nil }
      if text.unicodeScalars.count > OverlayEntry.greatestTextLength || text.utf8.contains(0) {
        reader.problems.addShape(
          value.pointer,
          "'\(key)' has at most \(OverlayEntry.greatestTextLength) characters, and none of them is a null character")
      }
      return text
    }
  }

  static let properties: [Property<Document.TrackText>] = [
    track.of(\.track).readBySection, decimals.of(\.decimals), rounding.of(\.rounding), prefix.of(\.prefix),
    suffix.of(\.suffix),
  ]
  static let table = ObjectTable(
    name: "trackText", noun: "a text of a metadata track", keys: Array(properties),
    instead: TrackText.instead)
}

/// `opacity` and `rotate` of an overlay with the numbers of a metadata track.
enum NumberTrackKeys {
  static let track = Key(required: "track", .text, "a metadata track")
  static let table = ObjectTable(
    name: "numberTrack", noun: "a number of a metadata track", keys: [track],
    instead: ["id": "did you mean 'track'?"])
}

/// `reveal` of a text.
enum RevealKeys {
  static let over = Key(
    required: "over", .range(.own),
    "from when the first part of the text is seen to when the last one is, on the overlay's own time")
  static let unit = Key(
    "by", Form<RevealedText.Unit>.choice("part of a text"), default: "`character`", "what is seen at once")

  static let properties: [Property<Document.Overlay.Reveal>] = [
    over.of(\.over).readBySection, unit.of(\.by, standard: .character),
  ]
  static let table = ObjectTable(
    name: "reveal", noun: "'reveal'", keys: Array(properties),
    instead: [
      "unit": "did you mean 'by'?", "duration": "did you mean 'over'? \"0..2\" takes two seconds",
      "speed": "did you mean 'over'? \"0..2\" takes two seconds",
    ])

  static let form = Form<Document.Overlay.Reveal>("object", table.reference) { reader, value in
    guard let fields = reader.fields(value, table) else { return nil }
    guard let range = reader.read(fields, over) else { return nil }
    var reveal = Document.Overlay.Reveal(over: range)
    reader.read(fields, properties, into: &reveal)
    return reveal
  }
}

extension Document.Overlay.Reveal: WrittenObject {
  static var properties: [Property<Document.Overlay.Reveal>] { RevealKeys.properties }
}
