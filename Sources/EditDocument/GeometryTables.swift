import CompositionModel

/// A transform by its parts.
enum TransformKeys {
  static let rotate = Key("rotate", .number(GeometryEntry.rotations), default: "0", "degrees clockwise")
  static let scale = Key(
    "scale",
    Form<Document.TransformParts.Scale>(
      "number, or `[x, y]`", .any(factor, .tuple(factor, factor))
    ) { $0.scale($1) }, default: "1",
    "0.001 to 100; negative: mirrored")
  static let translate = Key(
    "translate",
    Form<Document.Point>("`[x, y]`", .reference("point")) {
      $0.point($1, "a distance [x, y]")
    }, default: "`[0, 0]`",
    "pixels of the film, or per cent of its width and height")
  static let anchor = Key(
    "anchor",
    Form<Document.Point>(
      "`\"center\"`, or `[x, y]`", .any(["const": "center"], .reference("point"))
    ) { reader, value in
      if case .string("center") = value.content { return Document.Point(x: .percent(50), y: .percent(50)) }
      return reader.point(value, "\"center\", or a point [x, y] of the layer's rectangle")
    }, default: "`\"center\"`",
    "the point that stays: pixels, or per cent, from the corner of the layer's rectangle (`frame`)")

  static let properties: [Property<Document.TransformParts>] = [
    rotate.of(\.rotate), scale.of(\.scale), translate.of(\.translate), anchor.of(\.anchor),
  ]
  static let table = ObjectTable(
    name: "transform", noun: "a transform", keys: Array(properties), instead: GeometryEntry.insteadInTransform)

  private static let factor: JSONValue = {
    let scales = GeometryEntry.scales
    return .any(.number(scales), .number(-scales.upperBound ... -scales.lowerBound))
  }()

  static let form = Form<Document.Transform>("object", table.reference) { $0.transform($1) }
  /// A matrix too.
  static let matrixForm = Form<Document.Transform>(
    "object, or `[a, b, c, d, tx, ty]`", .any(table.reference, .reference("matrix"))
  ) { $0.transform($1) }
}

extension Form where Value == Document.Rectangle {
  static var rectangle: Form { shared("`[x, y, width, height]`", "rectangle") { $0.rectangle($1) } }
}

/// The keys that clips and the layers of explicit instructions have in common.
enum LayerKeys {
  static let fit = Key(
    "fit", Form<Fit>.choice("fit"), default: "`contain`",
    "how its picture is fitted, centred, into a frame of another size")
  static let crop = Key(
    "crop", .rectangle, default: "all of it", "the part of the picture that is shown; see [Geometry](geometry.md)")
  static let frame = Key(
    "frame", .rectangle, default: "the whole frame", "the rectangle of the film into which the picture is fitted")
  static let transform = Key("transform", TransformKeys.matrixForm, "turns, scales and moves the picture")
  static let opacity = Key("opacity", .number(0...1), default: "1", "0 is invisible, 1 is opaque")
  static let blendMode = Key(
    "blendMode", .blendMode, default: "`normal`", type: "see [Blend modes](blending.md#blend-modes)",
    "how its colours and those below become one")
  static let mask = Key(
    "mask", MaskKeys.form, "a picture that decides where it can be seen; see [Masks](blending.md#masks)")
  static let cornerRadius = Key(
    "cornerRadius", .number(BorderKeys.radii), default: "0",
    "the radius of its round corners; see [Borders and shadows](blending.md#borders-and-shadows)")
  static let border = Key("border", BorderKeys.form, "a line along its edges, inside of them")
  static let shadow = Key("shadow", ShadowKeys.form, "its shadow on what is below")

  /// Of explicit instructions. Only tracks that are declared are shown.
  static let properties: [Property<Document.Layer>] = [
    Key(required: "track", .text, "a video track; once in an instruction. In a gap it is transparent")
      .of(\.track).readBySection,
    Key("fit", Form<Fit>.choice("fit"), default: "the clip's", "as for a clip").of(\.fit),
    Key("crop", .rectangle, "as for a clip").of(\.crop),
    Key("frame", .rectangle, default: "the whole frame", "as for a clip").of(\.frame),
    Key("transform", TransformKeys.matrixForm, "as for a clip").of(\.transform),
    opacity.of(\.opacity), blendMode.of(\.blendMode), mask.of(\.mask), cornerRadius.of(\.cornerRadius),
    border.of(\.border), shadow.of(\.shadow), ramps.of(list: \.ramps), filters.of(\.filters),
  ]
  static let table = ObjectTable(name: "layer", noun: "a layer", keys: Array(properties))
  static let ramps = Key(
    "ramps", RampTables.layers(RampTables.layer, .signed), type: "array of ramps",
    "changes of `opacity`, `crop`, `frame` and `transform`, on the film's timeline")
  static let filters = Key(
    "filters", FilterTables.list, default: "the clip's", "in place of the clip's; ramps are on the film's timeline")
}

extension Form where Value == Document.Blending {
  static var blendMode: Form {
    let names = [BlendMode.normal] + BlendMode.allCases.map(\.rawValue)
    return Form(
      Form<String>.choice("blend mode", among: names).type, ["enum": .array(names)]
    ) { $0.blendMode($1) }
  }
}

extension Form where Value == AlphaMode {
  static var alpha: Form { .choice("alpha") }
}

/// `mask` of a clip, a layer or a track.
enum MaskKeys {
  static let image = Key(
    "image", .asset, default: "required, or `track`", "a name of `assets` whose file is a still picture")
  static let track = Key(
    "track", .name("a track's id"), default: "required, or `image`",
    "a video track. It is not shown itself, except by a layer of explicit instructions, and a film's size, rate and "
      + "colour do not follow from a track that is not shown. Where it has a gap, it is transparent. Its clips can have "
      + "no `fit`, geometry, opacity, filters, masks or transitions")
  static let channel = Key(
    "channel", Form<LayerMask.Channel>.choice("channel"), default: "`alpha`",
    "what of it counts: its transparency, or its luma over black")
  static let invert = Key(
    "invert", .boolean, default: "`false`", "whether the layer is seen where the mask is transparent or black instead")

  static let properties: [Property<Document.Mask>] = [
    image.of(\.image), track.of(\.track), channel.of(\.channel), invert.of(\.invert),
  ]
  static let table = ObjectTable(
    name: "mask", noun: "a mask", keys: Array(properties), instead: Document.Mask.instead,
    rules: [
      .excludes("image", "track", "a mask has 'image', a still picture, or 'track', not both"),
      .needsOne(of: ["image", "track"], "a mask needs 'image', a still picture, or 'track', a video track"),
    ])
  static let form = Form<Document.Mask>("object", table.reference) { $0.mask($1) }
}

/// `border` of a clip or a layer.
enum BorderKeys {
  static let radii = 0.0...4096
  private static let widths = 0.1...1000

  static let width = Key(required: "width", .number(widths), "pixels, inside of the picture's edges")
  static let color = Key("color", .color, default: "`\"#ffffff\"`", "")

  static let properties: [Property<LayerBorder>] = [width.of(\.width), color.of(\.color, standard: .white)]
  static let table = ObjectTable(name: "border", noun: "a border", keys: Array(properties))

  static let form = Form<LayerBorder>("object", table.reference) { reader, value in
    guard let fields = reader.fields(value, table) else { return nil }
    var border = LayerBorder(width: 0)
    reader.read(fields, properties, into: &border)
    return border.width == 0 ? nil : border
  }
}
