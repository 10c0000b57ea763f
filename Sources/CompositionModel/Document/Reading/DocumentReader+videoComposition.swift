extension DocumentReader {
  /// Widths and heights that a render size may have.
  static let renderSizes = 2...16384
  /// Seconds from one frame to the next.
  static let frameDurations = (shortest: MediaTime(value: 1, timescale: 1000), longest: MediaTime(seconds: 60))

  mutating func videoComposition(_ value: JSONValue?, at pointer: JSONPointer) -> VideoCompositionEntry {
    var entry = VideoCompositionEntry(pointer: pointer)
    guard let value else { return entry }
    let keys = [
      "renderSize", "scale", "frameDuration", "background", "transitions", "instructions", "overlays",
    ]
    guard let fields = fields(value, "'videoComposition'", keys: keys, unsupported: ["filters", "color", "compositor"])
    else { return entry }
    entry.renderSize = size(fields["renderSize"], in: Self.renderSizes)
    if let scale = scale(fields["scale"]) { entry.scale = scale }
    entry.frameDuration = frameDuration(fields["frameDuration"])
    entry.background = background(fields["background"]) ?? .black
    let found = problems.count
    entry.transitions = items(fields["transitions"], "transitions").compactMap { transition($0) }
    if let written = fields["instructions"] {
      entry.instructions = items(written, "instructions").compactMap { instruction($0) }
      if fields.has("transitions") {
        problems.add(
          fields.pointer.key("transitions"),
          "transitions are for derived instructions; write 'instructions' or "
            + "'transitions', not both")
      }
    }
    entry.isWhole = problems.count == found
    entry.overlays = items(fields["overlays"], "overlays").compactMap { overlay($0) }
    return entry
  }

  private mutating func scale(_ value: JSONValue?) -> Rational? {
    guard let value else { return nil }
    if case .number(let text) = value.content, let scale = try? exactDecimal(text), .zero < scale, scale <= .one,
      scale.denominator <= 1_000_000
    {
      return scale
    }
    problems.add(value.pointer, "\(value.shown) should be a number above 0 and at most 1, of at most six decimals")
    return nil
  }

  private mutating func frameDuration(_ value: JSONValue?) -> MediaTime? {
    guard let value, let written = time(value) else { return nil }
    guard case .seconds(let duration) = written else {
      problems.add(value.pointer, "\(value.shown) counts frames; this is the place that says how long one is: \"1/30\"")
      return nil
    }
    if Self.frameDurations.shortest <= duration, duration <= Self.frameDurations.longest { return duration }
    problems.add(
      value.pointer, "\(value.shown) should be from 1/1000 to 60 seconds, such as \"1/30\" or \"1001/30000\"")
    return nil
  }

  /// Output has no transparency, so what lies behind everything is solid.
  private mutating func background(_ value: JSONValue?) -> Color? {
    guard let value, let color = color(value) else { return nil }
    if color.alpha == 255 { return color }
    problems.add(value.pointer, "\(value.shown) is see-through; a background is solid: \"#rrggbb\"")
    return nil
  }

  private mutating func transition(_ value: JSONValue) -> TransitionEntry? {
    let keys = ["from", "to", "over", "kind"]
    guard let fields = fields(value, "a transition", keys: keys, unsupported: ["easing", "color", "matte"]) else {
      return nil
    }
    _ = choice(
      fields["kind"], "kind of transition", among: ["dissolve"],
      unsupported: ["fade", "wipe", "slide", "push", "circle", "luma", "luma-matte"])
    let from = videoTrack(required(fields, "from", "a transition"))
    let to = videoTrack(required(fields, "to", "a transition"))
    let over = range(required(fields, "over", "a transition"))
    guard let from, let to, let over else { return nil }
    if from == to {
      problems.add(fields.pointer.key("to"), "a transition goes from one track to another; both are '\(to.shortened)'")
      return nil
    }
    return TransitionEntry(from: from, to: to, over: over, pointer: fields.pointer)
  }

  private mutating func videoTrack(_ value: JSONValue?) -> TrackID? {
    guard let value, let id = string(value), checkTrack(id, .video, at: value.pointer) else { return nil }
    return id
  }

  private mutating func instruction(_ value: JSONValue) -> InstructionEntry? {
    let keys = ["over", "background", "layers", "passthrough", "wantsOverlays"]
    guard let fields = fields(value, "an instruction", keys: keys, unsupported: ["filters", "compositor"]) else {
      return nil
    }
    let over = range(required(fields, "over", "an instruction"), mayBeNegative: true)
    let background = background(fields["background"])
    let wantsOverlays = boolean(fields["wantsOverlays"]) ?? true
    let content: InstructionEntry.Content?
    if let passthrough = fields["passthrough"] {
      if let layers = fields["layers"] {
        problems.add(layers.pointer, "an instruction has 'layers' or 'passthrough', not both")
      }
      content = videoTrack(passthrough).map { .passthrough($0) }
    } else {
      content = .layers(layers(fields["layers"]))
    }
    guard let over, let content else { return nil }
    return InstructionEntry(
      over: over, background: background, content: content, wantsOverlays: wantsOverlays, pointer: fields.pointer)
  }

  private mutating func layers(_ value: JSONValue?) -> [LayerEntry] {
    var shown: Set<TrackID> = []
    var layers: [LayerEntry] = []
    for item in items(value, "layers") {
      let keys = ["track", "fit", "opacity", "ramps"]
      guard
        let fields = fields(
          item, "a layer", keys: keys, unsupported: ["transform", "crop", "blendMode", "filters", "mask"])
      else { continue }
      let track = videoTrack(required(fields, "track", "a layer"))
      let layer = LayerEntry(
        track: track ?? "", fit: choice(fields["fit"], "fit"),
        opacity: number(fields["opacity"], in: 0...1) ?? 1,
        ramps: ramps(fields["ramps"], of: "opacity", in: 0...1, mayBeNegative: true), pointer: fields.pointer)
      guard let track else { continue }
      if shown.insert(track).inserted {
        layers.append(layer)
      } else {
        problems.add(
          fields.pointer.key("track"), "an instruction shows a track once; '\(track.shortened)' is there already")
      }
    }
    return layers
  }
}
