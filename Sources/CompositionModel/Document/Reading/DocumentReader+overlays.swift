extension DocumentReader {
  private static let keysOfAll = ["over", "anchor", "inset", "x", "y", "opacity", "ramps"]
  private static let keysOfImages = ["image", "width", "height"]
  private static let keysOfTexts = ["text", "font", "bold", "italic", "size", "color", "align", "width"]
  private static let unsupported = [
    "transform", "crop", "blendMode", "filters", "outline", "shadow", "box", "rotate", "video", "captions",
  ]
  /// Pixels, for places, widths and insets.
  private static let pixels = 0...65_536

  /// Characters of a text: more than any frame shows, and few enough to be set in a moment.
  private static let greatestTextLength = 10_000

  mutating func overlay(_ value: JSONValue) -> OverlayEntry? {
    guard case .object(let members) = value.content else {
      problems.add(value.pointer, "\(value.shown) should be an overlay: an object with 'image' or 'text'")
      return nil
    }
    let hasImage = members.contains { $0.key == "image" }
    let hasText = members.contains { $0.key == "text" }
    let own =
      hasImage == hasText
      ? Self.keysOfImages + Self.keysOfTexts.dropLast() : hasImage ? Self.keysOfImages : Self.keysOfTexts
    let noun = hasImage == hasText ? "an overlay" : hasImage ? "an image overlay" : "a text overlay"
    guard let fields = fields(value, noun, keys: own + Self.keysOfAll, unsupported: Self.unsupported) else {
      return nil
    }
    if hasImage == hasText {
      problems.add(
        value.pointer, "an overlay has 'image' or 'text'\(hasImage ? ", not both" : "; this one has neither")")
    }
    // The rest is looked at all the same (FEATURES F46).
    let picture = hasImage ? image(fields) : nil
    let words = hasText ? text(fields) : nil
    let content = hasImage == hasText ? nil : picture ?? words
    let placement = placement(fields)
    let over = range(fields["over"])
    let opacity = number(fields["opacity"], in: 0...1) ?? 1
    let ramps = ramps(fields["ramps"], of: "opacity", in: 0...1)
    guard let content, let placement, over != nil || !fields.has("over") else { return nil }
    return OverlayEntry(
      content: content, over: over, placement: placement, opacity: opacity, ramps: ramps, pointer: fields.pointer)
  }

  private mutating func image(_ fields: Fields) -> OverlayEntry.Content? {
    let asset = asset(fields["image"])
    let width = integer(fields["width"], in: 1...16384)
    let height = integer(fields["height"], in: 1...16384)
    return asset.map { .image($0, width: width, height: height) }
  }

  private mutating func text(_ fields: Fields) -> OverlayEntry.Content? {
    var text = name(fields["text"], "an overlay's text")
    if let length = text?.unicodeScalars.count, length > Self.greatestTextLength {
      problems.add(
        fields.pointer.key("text"), "a text of \(length) characters; at most \(Self.greatestTextLength) can be set")
      text = nil
    }
    let font = fields.has("font") ? name(fields["font"], "a font family") : "sans-serif"
    let size = number(fields["size"], in: 1...4096)
    let styled = StyledText(
      text: text ?? "", font: font ?? "", isBold: boolean(fields["bold"]) ?? false,
      isItalic: boolean(fields["italic"]) ?? false, size: size ?? 0, color: color(fields["color"]) ?? .white,
      alignment: choice(fields["align"], "alignment") ?? .center, width: integer(fields["width"], in: 1...16384))
    return text == nil || font == nil ? nil : .text(styled, size: size)
  }

  /// In the centre by default; at a point where one of its coordinates is given, the other being 0.
  private mutating func placement(_ fields: Fields) -> OverlayPlacement? {
    let found = problems.count
    let anchor: Anchor? = choice(fields["anchor"], "anchor")
    let inset = integer(fields["inset"], in: Self.pixels)
    let x = integer(fields["x"], in: -Self.pixels.upperBound...Self.pixels.upperBound)
    let y = integer(fields["y"], in: -Self.pixels.upperBound...Self.pixels.upperBound)
    guard problems.count == found else { return nil }
    guard fields.has("x") || fields.has("y") else {
      return .anchor(anchor ?? .center, inset: inset ?? 0)
    }
    for key in ["anchor", "inset"] where fields.has(key) {
      problems.add(fields.pointer.key(key), "an overlay stands at 'anchor' with 'inset' or at 'x' and 'y', not both")
      return nil
    }
    return .point(x: x ?? 0, y: y ?? 0)
  }
}
