import CompositionModel
import EditDocument

extension VideoComposition {
  /// Nil if a time is in frames, or a part is more than an edit can hold.
  init?(_ written: Document.VideoComposition, fonts: Set<AssetID>) {
    let frameDuration = written.frameDuration ?? written.frameRate.flatMap { try? MediaTime(.one / $0) }
    guard let transitions = written.transitions.all({ Transition($0) }),
      let instructions = written.instructions.converted({ $0.all { Instruction($0) } }),
      let overlays = written.overlays.all({ Overlay($0, fonts: fonts) }),
      let filters = written.filters.all({ Filter($0) })
    else { return nil }
    self.init(
      renderSize: written.renderSize, renderScale: written.scale?.approximate ?? 1, frameDuration: frameDuration,
      background: written.background ?? .black, instructions: instructions, transitions: transitions,
      overlays: overlays, filters: filters, colorProperties: written.color, toneMapping: written.toneMapping)
  }

  /// Without the scale, which `writtenScale` has.
  func written() throws(DocumentError) -> Document.VideoComposition {
    var written = Document.VideoComposition()
    written.renderSize = renderSize
    written.frameDuration = frameDuration
    written.background = background == .black ? nil : background
    written.transitions = transitions.map(\.written)
    if let instructions {
      written.instructions = try below("/instructions") { () throws(DocumentError) in
        try Sheaf.written(instructions) { (part) throws(DocumentError) in try part.written() }
      }
    }
    written.overlays = try below("/overlays") { () throws(DocumentError) in
      try Sheaf.written(overlays) { (part) throws(DocumentError) in try part.written() }
    }
    written.filters = filters.map(\.written)
    (written.color, written.toneMapping) = (colorProperties, toneMapping)
    return written
  }

  /// Nil for 1.
  func writtenScale() throws(DocumentError) -> Rational? {
    if renderScale == 1 { return nil }
    guard let scale = try? MediaTime(notation: "\(renderScale)")?.exact else {
      throw DocumentError("/videoComposition/scale", "\(renderScale) cannot be written; numbers must be finite")
    }
    return scale
  }
}

extension CompositionModel.Filter<RampList> {
  /// Nil if a time is in frames.
  init?(_ filter: Document.Filter) {
    let values = filter.effect.values.all { parameter -> RampList? in
      switch parameter {
      case .constant(let number): RampList(.constant(number))
      case .ramps(let ramps): RampList(ramps)
      }
    }
    guard let values else { return nil }
    self.init(filter.effect.kind, values, filter.effect.extra)
  }

  var written: Document.Filter {
    let parameters = values.map { list -> Document.Filter.Parameter in
      list.constant.map { .constant($0) } ?? .ramps(list.written)
    }
    return Document.Filter(Document.Filter.Effect(kind, parameters, extra))
  }
}

extension LayerMask {
  var written: Document.Mask {
    let (channel, invert): (Channel?, Bool?) = (channel == .alpha ? nil : channel, isInverted ? true : nil)
    return switch source {
    case .image(let image): Document.Mask(image: image, channel: channel, invert: invert)
    case .track(let track): Document.Mask(track: track, channel: channel, invert: invert)
    }
  }
}

extension CustomCompositor {
  /// Throws if the parameters are no JSON.
  fileprivate func written() throws(DocumentError) -> Document.Compositor {
    do {
      _ = try JSONReader.read(Array(parameters.utf8))
    } catch {
      throw DocumentError("", "the parameters of the compositor '\(name)' are not JSON: \(error.message)")
    }
    var written = Document.Compositor(name, parameters: parameters == "{}" ? nil : parameters)
    written.metadata = metadata ?? []
    return written
  }
}

extension TransitionStyle {
  /// - Parameter matte: Of a transition of the kind `luma`.
  fileprivate func written(matte: AssetID?) -> Document.TransitionStyle {
    var style = Document.TransitionStyle(Document.TransitionStyle.Kind(rawValue: kind.name.rawValue))
    style.easing = easing == .linear ? nil : easing
    style.matte = matte
    switch kind {
    case .dissolve: break
    case .fade(let color): style.color = color
    case .wipe(let direction, let softness): (style.direction, style.softness) = (direction, softness)
    case .slide(let direction), .push(let direction):
      style.direction = Document.WipeDirection(rawValue: direction.rawValue)
    case .circle(let x, let y, let softness): (style.center, style.softness) = (.init(x: x, y: y), softness)
    case .clock(let x, let y, let softness): (style.center, style.softness) = (.init(x: x, y: y), softness)
    case .iris(let shape, let x, let y, let softness):
      (style.shape, style.center, style.softness) = (shape, .init(x: x, y: y), softness)
    case .zoom, .spin: break
    case .blur(let amount), .pixelate(let amount): style.amount = amount
    case .luma(let softness, let isInverted):
      (style.softness, style.invert) = (softness, isInverted ? true : nil)
    case .custom(let compositor):
      style.name = compositor.name
      style.parameters = compositor.parameters == "{}" ? nil : compositor.parameters
      style.metadata = compositor.metadata ?? []
    }
    return style
  }
}

extension VideoComposition.Transition {
  fileprivate init?(_ transition: Document.Transition) {
    guard let range = transition.over.inSeconds else { return nil }
    self.init(
      from: transition.from, to: transition.to, timeRange: range, style: transition.style.style,
      matte: transition.style.matte)
  }

  fileprivate var written: Document.Transition {
    Document.Transition(
      from: from, to: to, over: Document.TimeRange(timeRange), style: style.written(matte: matte))
  }
}

extension VideoComposition.Instruction {
  fileprivate init?(_ instruction: Document.Instruction) {
    guard instruction.passthrough == nil, let range = instruction.over.inSeconds,
      let layers = instruction.layers.all({ VideoComposition.LayerInstruction($0) }),
      let filters = instruction.filters.all({ VideoComposition.Filter($0) })
    else { return nil }
    self.init(
      timeRange: range, layers: layers, background: instruction.background,
      wantsOverlays: instruction.wantsOverlays ?? true, compositor: instruction.compositor?.compositor, filters: filters
    )
  }

  fileprivate func written() throws(DocumentError) -> Document.Instruction {
    var written = Document.Instruction(over: Document.TimeRange(timeRange))
    written.layers = try below("/layers") { () throws(DocumentError) in
      try Sheaf.written(layers) { (layer) throws(DocumentError) in try layer.written() }
    }
    written.background = background
    written.wantsOverlays = wantsOverlays ? nil : false
    if let compositor {
      written.compositor = try below("/compositor") { () throws(DocumentError) in try compositor.written() }
    }
    written.filters = filters.map(\.written)
    return written
  }
}

extension VideoComposition.LayerInstruction {
  /// Without filters of its own a layer has those of its clip, and with none it has none.
  fileprivate init?(_ layer: Document.Layer) {
    guard layer.opacity == nil, layer.filters?.isEmpty != true,
      let parts = GeometryParts(crop: layer.crop, frame: layer.frame, transform: layer.transform, layer.ramps),
      let filters = (layer.filters ?? []).all({ VideoComposition.Filter($0) })
    else { return nil }
    self.init(track: layer.track, fit: layer.fit ?? .contain)
    opacity = parts.opacity
    (crop, frame, transform) = (parts.geometry.crop, parts.geometry.frame, parts.geometry.transform)
    (blendMode, mask, self.filters) = (layer.blendMode?.mode, layer.mask?.mask, filters)
    if layer.cornerRadius != nil || layer.border != nil || layer.shadow != nil {
      decoration = LayerDecoration(cornerRadius: layer.cornerRadius, border: layer.border, shadow: layer.shadow)
    }
  }

  fileprivate func written() throws(DocumentError) -> Document.Layer {
    let parts = GeometryParts(
      opacity: opacity, geometry: LayerGeometry(crop: crop, frame: frame, transform: transform))
    var layer = Document.Layer(track)
    layer.fit = fit == .contain ? nil : fit
    (layer.crop, layer.frame, layer.transform) = (try parts.crop(), try parts.frame(), try parts.transform())
    layer.ramps = try parts.ramps()
    layer.blendMode = blendMode.map { .mode($0) }
    layer.mask = mask?.written
    layer.filters = filters.isEmpty ? nil : filters.map(\.written)
    (layer.cornerRadius, layer.border, layer.shadow) = (
      decoration?.cornerRadius, decoration?.border, decoration?.shadow
    )
    return layer
  }
}
