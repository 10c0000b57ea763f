import CompositionModel

/// A transform by its parts.
enum TransformKeys {
  static let rotate = Key("rotate", .number(GeometryEntry.rotations), default: "0", "degrees clockwise")
  static let scale = Key(
    "scale", .raw("number, or `[x, y]`", .any(factor, .tuple(factor, factor))), default: "1",
    "0.001 to 100; negative: mirrored")
  static let translate = Key(
    "translate", .raw("`[x, y]`", .reference("point")), default: "`[0, 0]`",
    "pixels of the film, or per cent of its width and height")
  static let anchor = Key(
    "anchor", .raw("`\"center\"`, or `[x, y]`", .any(["const": "center"], .reference("point"))),
    default: "`\"center\"`",
    "the point that stays: pixels, or per cent, from the corner of the layer's rectangle (`frame`)")

  static let table = ObjectTable(
    name: "transform", noun: "a transform", keys: [rotate, scale, translate, anchor],
    instead: GeometryEntry.insteadInTransform)

  private static let factor: JSONValue = {
    let scales = GeometryEntry.scales
    return .any(.number(scales), .number(-scales.upperBound ... -scales.lowerBound))
  }()

  static let form = Form<WrittenTransform>("object", table.reference) { $0.transform($1) }
  /// A matrix too.
  static let matrixForm = Form<WrittenTransform>(
    "object, or `[a, b, c, d, tx, ty]`", .any(table.reference, .reference("matrix"))
  ) { $0.transform($1) }
}

extension Form where Value == WrittenRectangle {
  static var rectangle: Form { shared("`[x, y, width, height]`", "rectangle") { $0.rectangle($1) } }
}

/// The keys that clips and the layers of explicit instructions have in common.
enum LayerKeys {
  static let fit = Key(
    "fit", Form<Fit>.choice("fit"), default: "`contain`",
    "how its picture is fitted, centred, into a frame of another size")
  static let crop = Key(
    "crop", .rectangle, default: "all of it", "the part of the picture that is shown; see [Geometry](#geometry)")
  static let frame = Key(
    "frame", .rectangle, default: "the whole frame", "the rectangle of the film into which the picture is fitted")
  static let transform = Key("transform", TransformKeys.matrixForm, "turns, scales and moves the picture")
  static let opacity = Key("opacity", .number(0...1), default: "1", "0 is invisible, 1 is opaque")
  static let blendMode = Key(
    "blendMode", .blendMode, default: "`normal`", type: "see [Blend modes](#blend-modes)",
    "how its colours and those below become one")
  static let mask = Key(
    "mask", MaskKeys.form, "a picture that decides where it can be seen; see [Masks](#masks)")

  /// Of explicit instructions.
  static let table = ObjectTable(
    name: "layer", noun: "a layer",
    keys: [
      Key(required: "track", .text, "a video track; once in an instruction. In a gap it is transparent"),
      Key("fit", Form<Fit>.choice("fit"), default: "the clip's", "as for a clip"),
      Key("crop", .rectangle, "as for a clip"),
      Key("frame", .rectangle, default: "the whole frame", "as for a clip"),
      Key("transform", TransformKeys.matrixForm, "as for a clip"),
      opacity, blendMode, mask,
      ramps, filters,
    ])
  static let ramps = Key(
    "ramps", RampTables.list(RampTables.layer), type: "array of ramps",
    "changes of `opacity`, `crop`, `frame` and `transform`, on the film's timeline")
  static let filters = Key(
    "filters", FilterTables.list, default: "the clip's", "in place of the clip's; ramps are on the film's timeline")
}

extension Form where Value == BlendMode? {
  static var blendMode: Form {
    let names = [BlendMode.normal] + BlendMode.allCases.map(\.rawValue)
    return Form(Form<String>.choice("blend mode", among: names).type, ["enum": .array(names)]) { $0.blendMode($1) }
  }
}

extension Form where Value == AlphaMode? {
  static var alpha: Form {
    let choice = Form<AlphaMode>.choice("alpha")
    return Form(choice.type, choice.schema) { $0.alpha($1) }
  }
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

  static let table = ObjectTable(
    name: "mask", noun: "a mask", keys: [image, track, channel, invert], instead: MaskEntry.instead,
    rules: [
      .excludes("image", "track", "a mask has 'image', a still picture, or 'track', not both"),
      .needsOne(of: ["image", "track"], "a mask needs 'image', a still picture, or 'track', a video track"),
    ])
  static let form = Form<MaskEntry>("object", table.reference) { $0.mask($1) }
}
