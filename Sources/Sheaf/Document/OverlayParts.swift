import CompositionModel
import EditDocument

extension VideoComposition.Overlay {
  /// Nil if a time is in frames, or its size or its place is not one of an edit.
  /// - Parameter fonts: The names that are those of files, and not of families.
  init?(_ overlay: Document.Overlay, fonts: Set<AssetID>) {
    guard let content = Content(overlay, fonts: fonts), let range = overlay.over.converted({ $0.inSeconds }),
      let parts = GeometryParts(crop: overlay.crop, frame: nil, transform: overlay.transform, overlay.ramps),
      let filters = overlay.filters.all({ VideoComposition.Filter($0) })
    else { return nil }
    self.init(content, timeRange: range, place: Place(overlay))
    area = overlay.in.map {
      Area(x: Length($0.x), y: Length($0.y), width: Length($0.width), height: Length($0.height))
    }
    switch overlay.opacity {
    case nil: break
    case .constant(let number): opacity = number
    case .track(let track): opacityTrack = track
    }
    (opacityRamps, crop) = (parts.opacity, parts.geometry.crop)
    switch parts.geometry.transform {
    case .turn(let turns): transform = turns
    case .matrix: return nil
    case nil: break
    }
    switch overlay.rotate {
    case nil: break
    case .track(let track): rotationTrack = track
    // Short for a transform, before whose first ramp it holds.
    case .constant(let degrees):
      let turn = ValueRampList.constant(TransformComponents(rotation: degrees))
      transform = ValueRampList(turn.ramps + (transform?.ramps ?? []))
    }
    (self.filters, alpha, blendMode) = (filters, overlay.alpha, overlay.blendMode?.mode)
  }

  func written() throws(DocumentError) -> Document.Overlay {
    let parts = GeometryParts(
      opacity: opacityRamps, geometry: LayerGeometry(crop: crop, transform: transform.map { .turn($0) }))
    var overlay = try content.written()
    place.write(into: &overlay)
    overlay.in = area.map {
      Document.Overlay.Area(x: $0.x.written, y: $0.y.written, width: $0.width.written, height: $0.height.written)
    }
    overlay.over = timeRange.map { Document.TimeRange($0) }
    guard opacityTrack == nil || opacity == 1 else {
      throw DocumentError(
        "/opacity", "an overlay has the opacity \(opacity) or that of the track '\(opacityTrack ?? "")', not both")
    }
    overlay.opacity = opacityTrack.map { .track($0) } ?? (opacity == 1 ? nil : .constant(opacity))
    overlay.rotate = rotationTrack.map { .track($0) }
    (overlay.crop, overlay.transform, overlay.ramps) = (try parts.crop(), try parts.transform(), try parts.ramps())
    (overlay.filters, overlay.alpha) = (filters.map(\.written), alpha)
    overlay.blendMode = blendMode.map { .mode($0) }
    return overlay
  }
}

extension VideoComposition.Overlay.Length {
  fileprivate init(_ length: Document.FrameLength) {
    switch length {
    case .pixels(let pixels): self = .pixels(pixels)
    case .percent(let percent): self = .percent(percent)
    }
  }

  fileprivate var written: Document.FrameLength {
    switch self {
    case .pixels(let pixels): .pixels(pixels)
    case .percent(let percent): .percent(percent)
    }
  }
}

extension VideoComposition.Overlay.Content {
  fileprivate init?(_ overlay: Document.Overlay, fonts: Set<AssetID>) {
    typealias Length = VideoComposition.Overlay.Length
    let (width, height) = (overlay.width.map { Length($0) }, overlay.height.map { Length($0) })
    if let image = overlay.image {
      guard overlay.loop == nil else { return nil }
      self = .image(image, width: width, height: height)
    } else if let video = overlay.video {
      guard let use = overlay.use.converted({ $0.inSeconds }) else { return nil }
      var loop: Int? = 1
      switch overlay.loop {
      case nil: break
      case .forever: loop = nil
      case .times(let count): loop = count
      }
      self = .video(video, use: use, width: width, height: height, loop: loop)
    } else if let waveform = overlay.waveform {
      self = .waveform(waveform, color: overlay.color, width: width, height: height)
    } else if let shape = overlay.shape {
      let fill = overlay.color.map { Edit.Picture.Fill.color($0) } ?? overlay.gradient.map { .gradient($0) }
      self = .shape(
        Edit.Picture(shape, fill: fill, cornerRadius: overlay.cornerRadius, border: overlay.border), width: width,
        height: height)
    } else {
      switch overlay.text {
      case nil: return nil
      case .text(let text):
        guard overlay.reveal == nil, let styled = StyledText(text, overlay, fonts: fonts) else { return nil }
        self = .text(styled)
      case .counting(let count):
        guard let styled = StyledText("", overlay, fonts: fonts) else { return nil }
        self = .counting(count, styled)
      case .track(let source):
        guard let styled = StyledText("", overlay, fonts: fonts) else { return nil }
        self = .metadata(
          source.track, styled, decimals: source.decimals ?? 0, rounding: source.rounding ?? .nearest,
          prefix: source.prefix ?? "", suffix: source.suffix ?? "")
      }
    }
  }

  fileprivate func written() throws(DocumentError) -> Document.Overlay {
    var overlay: Document.Overlay
    switch self {
    case .image(let asset, let width, let height):
      overlay = Document.Overlay(image: asset)
      (overlay.width, overlay.height) = (width?.written, height?.written)
    case .video(let asset, let use, let width, let height, let loop):
      overlay = Document.Overlay(video: asset)
      (overlay.width, overlay.height) = (width?.written, height?.written)
      overlay.use = use.map { Document.TimeRange($0) }
      overlay.loop = loop == 1 ? nil : loop.map { .times($0) } ?? .forever
    case .shape(let picture, _, _) where picture.size != nil:
      throw DocumentError(
        "/shape", "the size of an overlay's shape is its 'width' and 'height', not that of the picture")
    case .shape(let picture, let width, let height):
      overlay = Document.Overlay(shape: picture.shape)
      switch picture.fill {
      case .color(let color): overlay.color = color
      case .gradient(let gradient): overlay.gradient = gradient
      case nil: break
      }
      (overlay.cornerRadius, overlay.border) = (picture.cornerRadius, picture.border)
      (overlay.width, overlay.height) = (width?.written, height?.written)
    case .waveform(let waveform, let color, let width, let height):
      overlay = Document.Overlay(waveform: waveform)
      (overlay.color, overlay.width, overlay.height) = (color, width?.written, height?.written)
    case .text(let text):
      overlay = Document.Overlay(text: text.text)
      text.write(into: &overlay)
    // The text of the style has no place in a document.
    case .metadata(_, let style, _, _, _, _) where !style.text.isEmpty:
      throw DocumentError(
        "", "the style of a metadata track's overlay has the text \"\(style.text)\"; it must be empty")
    case .counting(_, let style) where !style.text.isEmpty:
      throw DocumentError("", "the style of a text that counts has the text \"\(style.text)\"; it must be empty")
    case .counting(let count, let style):
      overlay = Document.Overlay(text: count)
      style.write(into: &overlay)
    case .metadata(let track, let style, let decimals, let rounding, let prefix, let suffix):
      var source = Document.TrackText(track)
      source.decimals = decimals == 0 ? nil : decimals
      source.rounding = rounding == .nearest ? nil : rounding
      (source.prefix, source.suffix) = (prefix.isEmpty ? nil : prefix, suffix.isEmpty ? nil : suffix)
      overlay = Document.Overlay(text: source)
      style.write(into: &overlay)
    }
    return overlay
  }
}

extension VideoComposition.Overlay.Place {
  fileprivate init(_ overlay: Document.Overlay) {
    typealias Length = VideoComposition.Overlay.Length
    if overlay.x != nil || overlay.y != nil {
      self = .point(x: Length(overlay.x ?? .pixels(0)), y: Length(overlay.y ?? .pixels(0)))
      return
    }
    let anchor = overlay.anchor ?? .center
    switch overlay.inset {
    case nil: self = .anchor(anchor)
    case .same(let length): self = .anchor(anchor, inset: Length(length))
    case .each(let x, let y): self = .anchorInsets(anchor, x: Length(x), y: Length(y))
    }
  }

  fileprivate func write(into overlay: inout Document.Overlay) {
    switch self {
    case .anchor(let anchor, let inset): (overlay.anchor, overlay.inset) = (anchor, .same(inset.written))
    case .anchorInsets(let anchor, let x, let y):
      (overlay.anchor, overlay.inset) = (anchor, .each(x: x.written, y: y.written))
    case .point(let x, let y): (overlay.x, overlay.y) = (x.written, y.written)
    }
  }
}

extension StyledText {
  /// Nil without a size, which is a part of the frame's height then.
  fileprivate init?(_ text: String, _ overlay: Document.Overlay, fonts: Set<AssetID>) {
    guard let size = overlay.size else { return nil }
    var width: Int?
    if case .pixels(let pixels) = overlay.width { width = pixels }
    self.init(
      text: text, isBold: overlay.bold ?? false, isItalic: overlay.italic ?? false, size: size,
      color: overlay.color ?? .white, alignment: overlay.align ?? .center, width: width,
      lineSpacing: overlay.lineSpacing, letterSpacing: overlay.letterSpacing, outline: overlay.outline,
      shadow: overlay.shadow, box: overlay.box)
    guard let font = overlay.font else { return }
    if fonts.contains(font) { fontFile = font } else { self.font = font }
  }

  fileprivate func write(into overlay: inout Document.Overlay) {
    (overlay.font, overlay.size, overlay.color, overlay.align) = (fontFile ?? font, size, color, alignment)
    (overlay.bold, overlay.italic) = (isBold ? true : nil, isItalic ? true : nil)
    overlay.width = width.map { .pixels($0) }
    (overlay.lineSpacing, overlay.letterSpacing) = (lineSpacing, letterSpacing)
    (overlay.outline, overlay.shadow, overlay.box) = (outline, shadow, box)
  }
}
