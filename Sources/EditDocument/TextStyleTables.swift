import CompositionModel

/// `outline` of a text.
enum OutlineKeys {
  static let width = Key(
    required: "width", .number(TextStyleKeys.outlines), "pixels outside of the letters")
  static let color = Key("color", .color, default: "`\"#000000\"`", "")

  static let properties: [Property<TextOutline>] = [width.of(\.width), color.of(\.color, standard: .black)]
  static let table = ObjectTable(name: "outline", noun: "an outline", keys: Array(properties))

  static let form = Form<TextOutline>("object", table.reference) { reader, value in
    guard let fields = reader.fields(value, table) else { return nil }
    var outline = TextOutline(width: -1)
    reader.read(fields, properties, into: &outline)
    return outline.width < 0 ? nil : outline
  }
}

/// `shadow` of a text.
enum ShadowKeys {
  static let x = Key("x", .integer(TextStyleKeys.offsets), default: "2", "pixels to the right")
  static let y = Key("y", .integer(TextStyleKeys.offsets), default: "2", "pixels down")
  static let blur = Key(
    "blur", .number(TextStyleKeys.blurs), default: "4", "pixels, twice the deviation of a Gaussian; 0 is sharp")
  static let color = Key("color", .color, default: "`\"#000000c0\"`", "")

  private static let standard = TextShadow()
  static let properties: [Property<TextShadow>] = [
    x.of(\.x, standard: standard.x), y.of(\.y, standard: standard.y), blur.of(\.blur, standard: standard.blur),
    color.of(\.color, standard: standard.color),
  ]
  static let table = ObjectTable(name: "shadow", noun: "a shadow", keys: Array(properties))

  static let form = Form<TextShadow>("object", table.reference) { reader, value in
    guard let fields = reader.fields(value, table) else { return nil }
    var shadow = TextShadow()
    reader.read(fields, properties, into: &shadow)
    return shadow
  }
}

/// `box` of a text.
enum BoxKeys {
  static let color = Key("color", .color, default: "`\"#00000080\"`", "")
  static let padding = Key("padding", .integer(TextStyleKeys.paddings), default: "16", "pixels around the lines")
  static let radius = Key("radius", .integer(TextStyleKeys.paddings), default: "0", "of its corners, in pixels")

  private static let standard = TextBox()
  static let properties: [Property<TextBox>] = [
    color.of(\.color, standard: standard.color), padding.of(\.padding, standard: standard.padding),
    radius.of(\.radius, standard: standard.radius),
  ]
  static let table = ObjectTable(name: "box", noun: "a box", keys: Array(properties))

  static let form = Form<TextBox>("object", table.reference) { reader, value in
    guard let fields = reader.fields(value, table) else { return nil }
    var box = TextBox()
    reader.read(fields, properties, into: &box)
    return box
  }
}
