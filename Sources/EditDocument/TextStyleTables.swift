import CompositionModel

/// `outline` of a text.
enum OutlineKeys {
  static let width = Key(
    required: "width", .number(TextStyleKeys.outlines), "pixels outside of the letters")
  static let color = Key("color", .color, default: "`\"#000000\"`", "")

  static let table = ObjectTable(name: "outline", noun: "an outline", keys: [width, color])

  static let form = Form<TextOutline>("object", table.reference) { reader, value in
    guard let fields = reader.fields(value, table) else { return nil }
    let color = reader.read(fields, color)
    return reader.read(fields, width).map { TextOutline(width: $0, color: color ?? .black) }
  }
}

/// `shadow` of a text.
enum ShadowKeys {
  static let x = Key("x", .integer(TextStyleKeys.offsets), default: "2", "pixels to the right")
  static let y = Key("y", .integer(TextStyleKeys.offsets), default: "2", "pixels down")
  static let blur = Key(
    "blur", .number(TextStyleKeys.blurs), default: "4", "pixels, twice the deviation of a Gaussian; 0 is sharp")
  static let color = Key("color", .color, default: "`\"#000000c0\"`", "")

  static let table = ObjectTable(name: "shadow", noun: "a shadow", keys: [x, y, blur, color])

  static let form = Form<TextShadow>("object", table.reference) { reader, value in
    guard let fields = reader.fields(value, table) else { return nil }
    var shadow = TextShadow()
    if let x = reader.read(fields, x) { shadow.x = x }
    if let y = reader.read(fields, y) { shadow.y = y }
    if let blur = reader.read(fields, blur) { shadow.blur = blur }
    if let color = reader.read(fields, color) { shadow.color = color }
    return shadow
  }
}

/// `box` of a text.
enum BoxKeys {
  static let color = Key("color", .color, default: "`\"#00000080\"`", "")
  static let padding = Key("padding", .integer(TextStyleKeys.paddings), default: "16", "pixels around the lines")
  static let radius = Key("radius", .integer(TextStyleKeys.paddings), default: "0", "of its corners, in pixels")

  static let table = ObjectTable(name: "box", noun: "a box", keys: [color, padding, radius])

  static let form = Form<TextBox>("object", table.reference) { reader, value in
    guard let fields = reader.fields(value, table) else { return nil }
    var box = TextBox()
    if let color = reader.read(fields, color) { box.color = color }
    if let padding = reader.read(fields, padding) { box.padding = padding }
    if let radius = reader.read(fields, radius) { box.radius = radius }
    return box
  }
}
