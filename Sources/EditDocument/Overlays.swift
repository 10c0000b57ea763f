import CompositionModel

/// An overlay as the document means it.
struct OverlayEntry: Sendable {
  enum Content: Sendable {
    /// `loop` is nil if not written.
    case image(AssetID, OverlaySize, loop: Document.Overlay.Loop?)
    case video(AssetID, use: Document.TimeRange?, OverlaySize, loop: Document.Overlay.Loop?)
    case shape(DrawnPicture, OverlaySize)
    case waveform(Document.Waveform, OverlaySize)
    /// If `size` is nil, it follows the frame's height. With `track` the text itself comes from there.
    case text(StyledText, size: Double?, track: TrackText?)
  }

  let written: Document.Overlay
  let content: Content
  let pointer: JSONPointer
  /// Those of the opacity, on the overlay's own time.
  let ramps: [Document.Ramp]
  /// `crop` and `transform`, on the overlay's own time.
  let geometry: GeometryEntry

  init(_ overlay: Document.Overlay, _ content: Content, pointer: JSONPointer) {
    (written, self.content, self.pointer) = (overlay, content, pointer)
    ramps = overlay.ramps.opacity
    geometry = overlay.geometry
  }

  /// Nil: the whole film.
  var over: Document.TimeRange? { written.over }
  var opacity: Double { written.opacity?.constant ?? 1 }
  /// The metadata track whose numbers are the opacity, in place of `opacity`.
  var opacityTrack: TrackID? { written.opacity?.track }
  /// The metadata track whose numbers are the rotation, in place of a transform.
  var rotationTrack: TrackID? { written.rotate?.track }
  /// On the overlay's own time.
  var filters: [Document.Filter] { written.filters }
  /// Nil: straight.
  var alpha: AlphaMode? { written.alpha == .straight ? nil : written.alpha }
  var blendMode: BlendMode? { written.blendMode?.mode }

  /// By default it is in the centre. If only one of `x` and `y` is given, the other is 0.
  var placement: WrittenPlacement {
    if written.x != nil || written.y != nil {
      return .point(x: written.x ?? .pixels(0), y: written.y ?? .pixels(0))
    }
    return .anchor(written.anchor ?? .center, inset: written.inset ?? .same(.pixels(0)))
  }

  /// Whether its text is a value of each frame.
  var counts: Bool { if case .counting? = written.text { true } else { false } }

  static let instead = [
    "scale": "the size is 'width' or 'height', or 'transform' with 'scale'", "rotation": "did you mean 'rotate'?",
    "angle": "did you mean 'rotate'?", "position": "the place is 'anchor' with 'inset', or 'x' and 'y'",
    "fontsize": "did you mean 'size'?",
    "fadeIn": "an overlay appears with 'ramps' of its opacity: [{\"over\": \"0..1/2\", \"opacity\": [0, 1]}]",
    "fadeOut": "an overlay disappears with 'ramps' of its opacity: [{\"over\": \"end-1/2..end\", \"opacity\": [1, 0]}]",
    "cornerRadius": "a clip of a track has it, and an overlay with 'shape'",
    "colour": "did you mean 'color'?", "at": "the time is 'over', a range", "start": "the time is 'over', a range",
    "end": "the time is 'over', a range", "duration": "the time is 'over', a range",
    "captions": "'captions' is a key of the document", "stroke": "did you mean 'outline'?",
    "background": "did you mean 'box'?", "gif": "did you mean 'image'?",
    "rectangle": "write \"shape\": \"rectangle\"", "ellipse": "write \"shape\": \"ellipse\"",
  ]

  /// The greatest inset, and the greatest distance of `x` and `y` from 0, in pixels.
  static let greatestOffset = 65_536
  /// Widths and heights of an image, and the width at which text is wrapped, in pixels.
  static let sides = 1...PixelSize.largestSide
  /// How often a video or an animated picture may be played.
  static let loops = 1...1_000_000
  /// Sizes of a font, in pixels.
  static let fontSizes = 1.0...4096
  /// The most characters of a text. A frame cannot show more, and they are laid out in a short time.
  static let greatestTextLength = 10_000
}

extension Document.Overlay {
  /// A number of `rotate` is a transform.
  fileprivate var geometry: GeometryEntry {
    let turn = rotate?.constant.map { Document.Transform.parts(Document.TransformParts(rotate: $0)) }
    return GeometryEntry(crop: crop, frame: nil, transform: transform ?? turn, ramps: ramps)
  }
}

/// The written size of a picture.
struct OverlaySize: Sendable {
  var width: Document.FrameLength?
  var height: Document.FrameLength?
}

/// The written place of an overlay.
enum WrittenPlacement: Sendable {
  case anchor(Anchor, inset: Document.Overlay.Inset)
  case point(x: Document.FrameLength, y: Document.FrameLength)
}

extension DocumentReader {
  /// Reads an overlay. Nil and a problem if it cannot be used.
  mutating func overlay(_ value: JSONValue) -> OverlayEntry? {
    guard case .object(let members) = value.content else {
      problems.addShape(
        value.pointer,
        "\(value.shown) should be an overlay: an object with 'image', 'video', 'shape', 'text' or "
          + "'waveform'")
      return nil
    }
    let written = OverlayKeys.contents.filter { content in members.contains { $0.key == content.0 } }
    let isOne = written.count == 1
    guard let fields = fields(value, isOne ? written[0].1 : OverlayKeys.table) else { return nil }
    if !isOne {
      let names = list(written.map { "'\($0.0)'" })
      problems.addShape(
        value.pointer,
        "an overlay has 'image', 'video', 'shape', 'text' or 'waveform'; this one has \(written.isEmpty ? "none of them" : names)"
      )
    }
    // The other keys are checked all the same, so that all problems are reported at once.
    let found = problems.count
    var overlay = Document.Overlay()
    readPlacement(fields, into: &overlay)
    let isPlaced = problems.count == found
    let isShape = fields.has("shape")
    let isColoured = isShape || fields.has("waveform")
    let isPicture = fields.has("image") || fields.has("video") || isColoured
    var properties = isOne ? written[0].2 : OverlayKeys.contents.flatMap(\.2)
    var seen: Set<String> = ["anchor", "inset", "in", "x", "y"]
    properties.removeAll { property in
      let (name, ofPictures) = (property.key.name, OverlayKeys.ofPictures.map(\.name))
      // What is seen of it can be cut off whatever it shows, as long as it is no text.
      let isLeftOut =
        ["crop", "alpha"].contains(name)
        ? fields.has("text") : ofPictures.contains(name) && !isPicture && name != OverlayKeys.wrapWidth.name
      return !seen.insert(name).inserted || isLeftOut
        || OverlayKeys.ofTexts.contains { $0.name == name } && !fields.has("text") && !(isPicture && name == "width")
          && !(isColoured && name == "color")
    }
    read(fields, properties, into: &overlay)
    overlay.opacity = read(fields, OverlayKeys.opacity)
    overlay.rotate = read(fields, OverlayKeys.rotate)
    checkGeometry(of: &overlay, fields)
    if case .object? = fields["opacity"]?.content, let ramp = overlay.ramps.opacity.first {
      problems.add(ramp.pointer, "the opacity is that of a metadata track; there can be no ramp of it")
    }
    let content = content(of: &overlay, fields)
    guard isOne, let content, isPlaced, overlay.over != nil || !fields.has("over") else { return nil }
    return OverlayEntry(overlay, content, pointer: fields.pointer)
  }

  private mutating func readPlacement(_ fields: Fields, into overlay: inout Document.Overlay) {
    let keys = ["anchor", "inset", "in", "x", "y"]
    read(fields, OverlayKeys.commonProperties, into: &overlay) { keys.contains($0.name) }
  }

  /// Reports a transform that the overlay cannot have, alone or with a rotation.
  private mutating func checkGeometry(of overlay: inout Document.Overlay, _ fields: Fields) {
    checkTransforms(
      GeometryEntry(crop: nil, frame: nil, transform: overlay.transform, ramps: overlay.ramps), fields)
    if let place = matrix(fields) {
      problems.addShape(place, "the transform of an overlay is an object such as {\"rotate\": 90}, not a matrix")
      overlay.transform = nil
      for index in overlay.ramps.indices { overlay.ramps[index].transform = nil }
    }
    guard let rotate = fields["rotate"] else { return }
    if case .object = rotate.content {
      if fields.has("transform") {
        problems.addShape(rotate.pointer, "an overlay has a 'transform', or a 'rotate' of a metadata track, not both")
      } else if overlay.ramps.contains(where: { $0.transform != nil }) {
        problems.add(rotate.pointer, "an overlay has a 'transform', or a 'rotate' of a metadata track, not both")
      }
    } else if overlay.rotate != nil, fields.has("transform") {
      problems.addShape(rotate.pointer, "'rotate' is a part of 'transform'; write it there")
    }
  }

  /// What the overlay shows. Nil and a problem if that cannot be used.
  private mutating func content(of overlay: inout Document.Overlay, _ fields: Fields) -> OverlayEntry.Content? {
    let size = OverlaySize(width: overlay.width, height: overlay.height)
    if fields.has("text") { return text(fields, of: &overlay) }
    if let image = overlay.image { return .image(image, size, loop: overlay.loop) }
    if fields.has("shape") {
      return overlay.shape.map {
        let fill = overlay.color.map { DrawnPicture.Fill.color($0) } ?? overlay.gradient.map { .gradient($0) }
        return .shape(
          DrawnPicture($0, fill: fill, cornerRadius: overlay.cornerRadius, border: overlay.border), size)
      }
    }
    if fields.has("waveform") { return overlay.waveform.map { .waveform($0, size) } }
    guard let video = overlay.video, overlay.use != nil || !fields.has("use") else { return nil }
    return .video(video, use: overlay.use, size, loop: overlay.loop)
  }

  /// The place of the first transform that is written as a matrix, in the overlay or in a ramp of it.
  private func matrix(_ fields: Fields) -> JSONPointer? {
    func isMatrix(_ value: JSONValue) -> Bool { if case .array = value.content { true } else { false } }
    if let transform = fields["transform"], isMatrix(transform) { return transform.pointer }
    guard case .array(let ramps)? = fields["ramps"]?.content else { return nil }
    for ramp in ramps {
      guard case .object(let members) = ramp.content,
        let transform = members.first(where: { $0.key == "transform" })?.value,
        case .array(let ends) = transform.content
      else { continue }
      if !members.contains(where: { $0.key == "over" }) || ends.contains(where: isMatrix) { return transform.pointer }
    }
    return nil
  }

  mutating func loop(_ value: JSONValue) -> Document.Overlay.Loop? {
    switch value.content {
    case .boolean(let loops): return loops ? .forever : .times(1)
    case .number: return integer(value, in: OverlayEntry.loops).map { .times($0) }
    default:
      problems.addShape(
        value.pointer, "\(value.shown) should be true, false or how often it is played, such as 3")
      return nil
    }
  }

  /// A length in pixels, or a percentage of the frame's side such as `"12.5%"`, which may be up to 1000 %.
  mutating func length(_ value: JSONValue, in range: ClosedRange<Int>) -> Document.FrameLength? {
    guard case .string(let text) = value.content else { return integer(value, in: range).map { .pixels($0) } }
    let (least, most) = (
      range.lowerBound < 0 ? GeometryEntry.percents.lowerBound : 0, GeometryEntry.percents.upperBound
    )
    if let percent = percent(text, in: least...most) { return .percent(percent) }
    let message =
      "\(value.shown) should be a whole number of pixels from \(range.lowerBound) to \(range.upperBound), or per cent "
      + "of the frame from \"\(plain(least))%\" to \"\(plain(most))%\""
    let number = percent(text, in: -.infinity ... .infinity)
    if let number, range.lowerBound < 0 || number >= 0 {
      problems.add(value.pointer, message)
    } else {
      problems.addShape(value.pointer, message)
    }
    return nil
  }

  /// A text that is written, or the values of a metadata track.
  private mutating func text(_ fields: Fields, of overlay: inout Document.Overlay) -> OverlayEntry.Content? {
    var (text, track): (String?, TrackText?)
    if let value = fields["text"], let kind = countingKind(value) {
      let counting = countingText(value, kind)
      text = counting?.sample
      overlay.text = counting.map { .counting($0) }
    } else if let value = fields["text"], case .object = value.content {
      track = trackText(value, over: overlay.over, isAlwaysShown: !fields.has("over"))
      text = track.map { _ in "" }
      overlay.text = track.map { .track($0.written) }
    } else {
      text = fields["text"].flatMap { overlayText($0) }?.text
      overlay.text = text.map { .text($0) }
    }
    if let reveal = fields["reveal"], case .object? = fields["text"]?.content {
      problems.add(reveal.pointer, "it is for a text that is written; this one is a value of each frame")
    }
    let file = fields["font"].flatMap { value in overlay.font.flatMap { fontFile($0, at: value.pointer) } }
    guard let text, overlay.font != nil || !fields.has("font") else { return nil }
    var width: Int?
    if case .pixels(let pixels) = overlay.width { width = pixels }
    let styled = StyledText(
      text: text, font: file == nil ? overlay.font ?? "sans-serif" : "sans-serif", fontFile: file,
      isBold: overlay.bold ?? false, isItalic: overlay.italic ?? false, size: overlay.size ?? 0,
      color: overlay.color ?? .white, alignment: overlay.align ?? .center, width: width,
      lineSpacing: overlay.lineSpacing, letterSpacing: overlay.letterSpacing, outline: overlay.outline,
      shadow: overlay.shadow, box: overlay.box)
    return .text(styled, size: overlay.size, track: track)
  }

  /// A text that is written.
  mutating func overlayText(_ value: JSONValue) -> Document.Overlay.Text? {
    guard let text = name(value, "an overlay's text") else { return nil }
    let (length, greatest) = (text.unicodeScalars.count, OverlayEntry.greatestTextLength)
    if length <= greatest { return .text(text) }
    problems.addShape(value.pointer, "a text of \(length) characters; at most \(greatest) are allowed")
    return nil
  }
}

extension Document.Overlay.Text {
  fileprivate var text: String? { if case .text(let text) = self { text } else { nil } }
}

extension Lowering {
  /// What an overlay becomes on the composition's timeline. `scale` makes its lengths in pixels smaller with the frame.
  mutating func overlays(_ entry: OverlayEntry, frame: PixelSize?) -> [Overlay] {
    guard let overlay = lower(entry, frame: frame) else { return [] }
    guard case .text(_, _, let track?) = entry.content else { return [overlay] }
    return overlays(overlay, of: track, at: entry.pointer)
  }

  private mutating func lower(_ entry: OverlayEntry, frame: PixelSize?) -> Overlay? {
    let content = content(entry, frame: frame)
    var ramps = timeline(entry.ramps, on: .own(end: nil, "the overlay"))
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
    if entry.over == nil, case .video = entry.content, case .video(let video)? = content, let turns = video.turns {
      let played = exact(at: entry.pointer) { () throws(TimeError) in
        try MediaTimeRange(start: .zero, duration: video.source.duration * Rational(turns))
      }
      guard let played else { return nil }
      over = played
    }
    if entry.ramps.countFromEnd { ramps = timeline(entry.ramps, on: .own(end: over.duration, "the overlay")) }
    guard let ramps, let list = rampList(ramps, opacity: 1, within: over, owner: "the overlay"), let content else {
      return nil
    }
    var overlay = Overlay(
      content: content, over: over, placement: placement(entry, frame), opacity: entry.opacity, ramps: list,
      blendMode: entry.blendMode)
    overlay.alpha = entry.alpha
    overlay.geometry = geometry(of: entry, over)
    overlay.filters = scaled(filters(entry.filters, within: over, owner: "the overlay"))
    drive(&overlay, entry)
    if case .counting(let written)? = entry.written.text, case .text(var text) = overlay.content {
      text.counting = counting(written, over: over, at: entry.pointer.key("text"))
      overlay.content = .text(text)
    }
    if let reveal = entry.written.reveal, case .text(var text) = overlay.content, text.counting == nil {
      text.counting = revealed(text.text, reveal, over: over, at: entry.pointer.key("reveal"))
      overlay.content = .text(text)
    }
    return overlay
  }

  /// A text of which more is seen with time. Nil and a problem if its time goes beyond that of the overlay.
  private mutating func revealed(
    _ text: String, _ reveal: Document.Overlay.Reveal, over: MediaTimeRange, at pointer: JSONPointer
  ) -> CountingText? {
    let place = pointer.key("over")
    guard let range = resolve(reveal.over, at: place, on: .own(end: over.duration, "the overlay")) else { return nil }
    guard range.end <= over.duration else {
      problems.add(place, "\(range) goes beyond the overlay, which lasts \(seconds(over.duration))")
      return nil
    }
    return exact(at: place) { () throws(TimeError) in
      CountingText(
        .revealed(RevealedText(text, by: reveal.by, over: range.duration)), start: try over.start + range.start)
    }
  }

  private mutating func geometry(of entry: OverlayEntry, _ over: MediaTimeRange) -> LayerGeometry? {
    var placed = placed(entry.geometry, within: over, owner: "the overlay", at: entry.pointer)
    switch entry.content {
    case .image(let id, _, _), .video(let id, _, _, _): return geometry(&placed, of: id)
    case .shape(_, let size):
      return frameSize.flatMap { geometry(&placed, of: shapeSize(size, entry, $0), named: "the shape") }
    case .waveform(_, let size):
      return frameSize.flatMap { geometry(&placed, of: waveformSize(size, entry, $0), named: "the waveform") }
    // A text has no crop, which is all that depends on the picture's size.
    case .text: return geometry(&placed, of: PixelSize(width: 1, height: 1), named: "the text")
    }
  }

  private mutating func content(_ entry: OverlayEntry, frame: PixelSize?) -> OverlayContent? {
    switch entry.content {
    case .image(let id, let size, let loop):
      guard let (asset, track, video) = picture(id, of: entry, "image") else { return nil }
      guard video.isStill else {
        guard animations.contains(asset.container) else {
          problems.add(
            entry.pointer.key("image"), "'\(id)' is a video, not a picture: write \"video\": \"\(id.shortened)\"")
          return nil
        }
        return moving(id, asset, track, use: nil, turns: (loop ?? .forever).turns, size, frame, entry)
      }
      if loop != nil {
        problems.add(entry.pointer.key("loop"), "'\(id)' is a still picture, which has nothing to repeat")
        return nil
      }
      let (width, height) = sides(size, own: video.presentationSize, frame)
      return .image(asset: id, width: width, height: height)
    case .video(let id, let use, let size, let loop):
      guard let (asset, track, video) = picture(id, of: entry, "video") else { return nil }
      if video.isStill {
        problems.add(
          entry.pointer.key("video"), "'\(id)' is a still picture: write \"image\": \"\(id.shortened)\"")
        return nil
      }
      return moving(id, asset, track, use: use, turns: (loop ?? .times(1)).turns, size, frame, entry)
    case .shape(var picture, let size):
      guard let frame else { return nil }
      picture = picture.scaled(by: scale.approximate)
      let shown = shapeSize(size, entry, frame)
      picture.size = shown
      checkArea(of: picture, at: entry.pointer)
      return .image(asset: addPicture(picture, at: entry.pointer), width: shown.width, height: shown.height)
    case .waveform(let written, let size):
      guard let frame else { return nil }
      let shown = waveformSize(size, entry, frame)
      return waveform(written, color: entry.written.color, shown, at: entry.pointer.key("waveform")).map {
        .waveform($0)
      }
    case .text(var text, let size, _):
      // An eighteenth of the frame's height is 60 pixels at 1080.
      text.size = size.map { $0 * scale.approximate } ?? Double(frame?.height ?? 18) / 18
      text.width = text.width.map { max(1, scaled($0)) }
      scaleStyle(of: &text)
      guard checkFont(of: text, at: entry.pointer.key("font")) else { return nil }
      return .text(text)
    }
  }

  /// The containers whose moving pictures are shown as `image`.
  private var animations: [String] { ["gif", "apng"] }

  /// The picture of an overlay's asset. Nil and a problem if it has none.
  private mutating func picture(
    _ id: AssetID, of entry: OverlayEntry, _ key: String
  ) -> (AssetDescription, TrackDescription, VideoFormat)? {
    guard let asset = assets[id] else { return nil }
    guard let track = asset.defaultTrack(.video), let video = track.video else {
      problems.add(entry.pointer.key(key), "'\(id)' has no picture")
      return nil
    }
    checkAlpha(entry.alpha, of: asset, id, at: entry.pointer)
    return (asset, track, video)
  }

  private mutating func moving(
    _ id: AssetID, _ asset: AssetDescription, _ track: TrackDescription, use: Document.TimeRange?, turns: Int?,
    _ size: OverlaySize, _ frame: PixelSize?, _ entry: OverlayEntry
  ) -> OverlayContent? {
    let pointer = entry.pointer.key("use")
    let played = exact(at: entry.pointer) { () throws(TimeError) in
      try MediaTimeRange(start: .zero, duration: asset.duration)
    }
    guard var source = played, let video = track.video else { return nil }
    guard !source.isEmpty else {
      problems.add(entry.pointer, "'\(id)' has a duration of 0: there is nothing in it to play")
      return nil
    }
    if let use {
      guard let written = resolve(use, at: pointer, on: .own(end: asset.duration, "the asset")) else { return nil }
      guard source.contains(written) else {
        problems.add(
          pointer,
          "\(written) goes beyond '\(id)', which is \(seconds(asset.duration)) long; allowed is up to \(source)")
        return nil
      }
      let moved = exact(at: pointer) { () throws(TimeError) in try track.shown(written) }
      guard let moved else { return nil }
      source = moved
    }
    let (width, height) = sides(size, own: video.presentationSize, frame)
    return .video(
      OverlayVideo(
        asset: id, sourceTrack: track.index, source: source, turns: turns, width: width, height: height))
  }
}
