/// An overlay as written.
struct OverlayEntry: Sendable {
  enum Content: Sendable {
    case image(AssetID, width: Int?, height: Int?)
    /// If `size` is nil, it follows the frame's height.
    case text(StyledText, size: Double?)
  }

  var content: Content
  /// Nil: the whole film.
  var over: WrittenRange?
  var placement: OverlayPlacement
  var opacity: Double
  /// On the overlay's own time.
  var ramps: [RampEntry]
  var blendMode: BlendMode?
  var pointer: JSONPointer

  static let keys = ["over", "anchor", "inset", "x", "y", "opacity", "blendMode", "ramps"]
  static let keysOfImages = ["image", "width", "height"]
  static let keysOfTexts = ["text", "font", "bold", "italic", "size", "color", "align", "width"]
  static let notYet = [
    "transform", "crop", "filters", "outline", "shadow", "box", "rotate", "video", "captions",
  ]

  static let instead = [
    "position": "the place is 'anchor' with 'inset', or 'x' and 'y'", "fontsize": "did you mean 'size'?",
    "colour": "did you mean 'color'?", "at": "the time is 'over', a range", "start": "the time is 'over', a range",
    "end": "the time is 'over', a range", "duration": "the time is 'over', a range",
  ]

  /// The greatest inset, and the greatest distance of `x` and `y` from 0, in pixels.
  static let greatestOffset = 65_536
  /// Widths and heights of an image, and the width at which text is wrapped, in pixels.
  static let sides = 1...PixelSize.largestSide
  /// Sizes of a font, in pixels.
  static let fontSizes = 1.0...4096
  /// The most characters of a text. A frame cannot show more, and they are laid out in a short time.
  static let greatestTextLength = 10_000
}

extension DocumentReader {
  /// Reads an overlay. Nil and a problem if it cannot be used.
  mutating func overlay(_ value: JSONValue) -> OverlayEntry? {
    guard case .object(let members) = value.content else {
      problems.add(value.pointer, "\(value.shown) should be an overlay: an object with 'image' or 'text'")
      return nil
    }
    let hasImage = members.contains { $0.key == "image" }
    let hasText = members.contains { $0.key == "text" }
    let isOne = hasImage != hasText
    let own =
      isOne
      ? hasImage ? OverlayEntry.keysOfImages : OverlayEntry.keysOfTexts
      : OverlayEntry.keysOfImages + OverlayEntry.keysOfTexts.filter { !OverlayEntry.keysOfImages.contains($0) }
    let noun = isOne ? hasImage ? "an image overlay" : "a text overlay" : "an overlay"
    guard
      let fields = fields(
        value, noun, keys: own + OverlayEntry.keys, notYet: OverlayEntry.notYet, instead: OverlayEntry.instead)
    else { return nil }
    if !isOne {
      problems.add(
        value.pointer, "an overlay has 'image' or 'text'\(hasImage ? ", not both" : "; this one has neither")")
    }
    // The other keys are checked all the same, so that all problems are reported at once.
    let image = hasImage ? image(fields) : nil
    let text = hasText ? text(fields) : nil
    let content = isOne ? image ?? text : nil
    let placement = placement(fields)
    let over = range(fields["over"])
    let opacity = number(fields["opacity"], in: 0...1) ?? 1
    let ramps = ramps(fields["ramps"], of: .opacity)
    let blendMode = blendMode(fields["blendMode"])
    guard let content, let placement, over != nil || !fields.has("over") else { return nil }
    return OverlayEntry(
      content: content, over: over, placement: placement, opacity: opacity, ramps: ramps,
      blendMode: blendMode, pointer: fields.pointer)
  }

  private mutating func image(_ fields: Fields) -> OverlayEntry.Content? {
    let asset = asset(fields["image"])
    let width = integer(fields["width"], in: OverlayEntry.sides)
    let height = integer(fields["height"], in: OverlayEntry.sides)
    return asset.map { .image($0, width: width, height: height) }
  }

  private mutating func text(_ fields: Fields) -> OverlayEntry.Content? {
    var text = name(fields["text"], "an overlay's text")
    let greatest = OverlayEntry.greatestTextLength
    if let length = text?.unicodeScalars.count, length > greatest {
      problems.add(fields.pointer.key("text"), "a text of \(length) characters; at most \(greatest) are allowed")
      text = nil
    }
    let font = fields.has("font") ? name(fields["font"], "a font family") : "sans-serif"
    let size = number(fields["size"], in: OverlayEntry.fontSizes)
    let styled = StyledText(
      text: text ?? "", font: font ?? "", isBold: boolean(fields["bold"]) ?? false,
      isItalic: boolean(fields["italic"]) ?? false, size: size ?? 0, color: color(fields["color"]) ?? .white,
      alignment: choice(fields["align"], "alignment") ?? .center,
      width: integer(fields["width"], in: OverlayEntry.sides))
    return text == nil || font == nil ? nil : .text(styled, size: size)
  }

  /// The place of an overlay. By default it is the centre. If only one of `x` and `y` is given, the other is 0.
  private mutating func placement(_ fields: Fields) -> OverlayPlacement? {
    let found = problems.count
    let greatest = OverlayEntry.greatestOffset
    let anchor: Anchor? = choice(fields["anchor"], "anchor")
    let inset = integer(fields["inset"], in: 0...greatest)
    let x = integer(fields["x"], in: -greatest...greatest)
    let y = integer(fields["y"], in: -greatest...greatest)
    guard problems.count == found else { return nil }
    guard fields.has("x") || fields.has("y") else {
      return .anchor(anchor ?? .center, inset: inset ?? 0)
    }
    for key in ["anchor", "inset"] where fields.has(key) {
      problems.add(
        fields.pointer.key(key), "an overlay is placed by 'anchor' and 'inset' or by 'x' and 'y', not both")
      return nil
    }
    return .point(x: x ?? 0, y: y ?? 0)
  }
}

extension Lowering {
  /// An overlay on the composition's timeline. `scale` makes its lengths in pixels smaller with the frame.
  mutating func lower(_ entry: OverlayEntry, frame: PixelSize?) -> Overlay? {
    let content = content(entry, frame: frame)
    let ramps = timeline(entry.ramps)
    var over = film
    if let written = entry.over {
      guard let range = resolve(written, at: entry.pointer.key("over")) else { return nil }
      over = range
      if filmIsKnown, !film.isEmpty, film.end <= range.start {
        problems.add(
          entry.pointer.key("over"), "\(range) starts after the film, which is \(seconds(film.duration)) long")
        return nil
      }
    }
    // Without `over`, the ramps are compared with the film's duration, which must be known for that.
    guard entry.over != nil || filmIsKnown else { return nil }
    guard let ramps, let list = rampList(ramps, opacity: 1, within: over, owner: "the overlay"), let content else {
      return nil
    }
    return Overlay(
      content: content, over: over, placement: scaled(entry.placement), opacity: entry.opacity, ramps: list,
      blendMode: entry.blendMode)
  }

  private mutating func content(_ entry: OverlayEntry, frame: PixelSize?) -> OverlayContent? {
    switch entry.content {
    case .image(let id, let width, let height):
      guard let asset = assets[id] else { return nil }
      guard let video = asset.defaultTrack(.video)?.video else {
        problems.add(entry.pointer.key("image"), "'\(id)' has no picture")
        return nil
      }
      guard video.isStill else {
        problems.add(
          entry.pointer.key("image"),
          "'\(id)' is a video; a video as an overlay is part of the document's language but this version cannot render "
            + "it yet, only a still picture (put the video on a track above the others)")
        return nil
      }
      let hasOwnSize = width == nil && height == nil && document.videoComposition.scale != .one
      let own = hasOwnSize ? video.presentationSize.width : nil
      return .image(
        asset: id, width: (width ?? own).map { max(1, scaled($0)) }, height: height.map { max(1, scaled($0)) })
    case .text(var text, let size):
      // An eighteenth of the frame's height is 60 pixels at 1080.
      text.size = size.map { $0 * document.videoComposition.scale.approximate } ?? Double(frame?.height ?? 18) / 18
      text.width = text.width.map { max(1, scaled($0)) }
      return .text(text)
    }
  }

  private func scaled(_ placement: OverlayPlacement) -> OverlayPlacement {
    switch placement {
    case .anchor(let anchor, let inset): .anchor(anchor, inset: scaled(inset))
    case .point(let x, let y): .point(x: scaled(x), y: scaled(y))
    }
  }

  private func scaled(_ length: Int) -> Int {
    length.scaled(by: document.videoComposition.scale, .toNearestOrAwayFromZero)
  }
}
