import CompositionModel

/// An explicit instruction as the document means it.
struct InstructionEntry: Sendable {
  enum Content: Sendable {
    case layers([LayerEntry])
    case passthrough(TrackID)
    /// A problem leaves open what is shown.
    case unknown

    /// The tracks that are shown.
    var tracks: [TrackID] {
      switch self {
      case .layers(let layers): layers.map(\.track)
      case .passthrough(let track): [track]
      case .unknown: []
      }
    }
  }

  let written: Document.Instruction
  /// Nil: it cannot be read.
  let over: Document.TimeRange?
  let content: Content
  let pointer: JSONPointer

  var background: Color? { written.background }
  var wantsOverlays: Bool { written.wantsOverlays ?? true }
  /// Makes the picture of the layers.
  var compositor: CustomCompositor? { written.compositor?.compositor }
  /// The filters of the composited picture. Their ramps are on the composition's timeline.
  var filters: [Document.Filter] { written.filters }

  static let instead = ["overlays": "did you mean 'wantsOverlays'?"]
}

/// A layer of an explicit instruction as the document means it. Its times are on the composition's timeline.
struct LayerEntry: Sendable {
  private let written: Document.Layer
  let geometry: GeometryEntry
  /// Those of the opacity.
  let ramps: [Document.Ramp]

  init(_ layer: Document.Layer) {
    written = layer
    geometry = GeometryEntry(crop: layer.crop, frame: layer.frame, transform: layer.transform, ramps: layer.ramps)
    ramps = layer.ramps.opacity
  }

  var track: TrackID { written.track }
  /// Nil: the clip's.
  var fit: Fit? { written.fit }
  var opacity: Double { written.opacity ?? 1 }
  /// Nil: the clip's.
  var filters: [Document.Filter]? { written.filters }
  var blendMode: BlendMode? { written.blendMode?.mode }
  var mask: Document.Mask? { written.mask }
  var decoration: LayerDecoration? {
    LayerDecoration(written.cornerRadius, written.border, written.shadow)
  }
  var pointer: JSONPointer { written.pointer }
}

extension DocumentReader {
  /// Reads an explicit instruction. What cannot be used of it is a problem, and does not hide those of the others.
  mutating func instruction(_ value: JSONValue) -> InstructionEntry {
    var written = Document.Instruction(over: Document.TimeRange(from: 0, to: 0))
    guard let fields = fields(value, InstructionKeys.table) else {
      return InstructionEntry(written: written, over: nil, content: .unknown, pointer: value.pointer)
    }
    let over = read(fields, InstructionKeys.over)
    read(fields, InstructionKeys.properties, into: &written) { $0.name != InstructionKeys.over.name }
    if let over { written.over = over }
    let content: InstructionEntry.Content
    if let passthrough = fields["passthrough"] {
      written.passthrough = videoTrack(passthrough)
      content = written.passthrough.map { .passthrough($0) } ?? .unknown
    } else {
      written.layers = read(fields, InstructionKeys.layers) ?? []
      if fields.has("compositor") {
        for layer in written.layers where layer.blendMode?.mode != nil {
          problems.add(
            layer.pointer.key("blendMode"),
            "the compositor makes one picture of the layers; here there is no 'blendMode'")
        }
      }
      content = .layers(written.layers.map { LayerEntry($0) })
    }
    return InstructionEntry(written: written, over: over, content: content, pointer: fields.pointer)
  }

  mutating func layers(_ value: JSONValue) -> [Document.Layer] {
    var shown: Set<TrackID> = []
    var layers: [Document.Layer] = []
    for item in items(value, "layers") {
      guard let fields = fields(item, LayerKeys.table) else { continue }
      let track = videoTrack(fields["track"])
      var layer = Document.Layer(track ?? "")
      layer.pointer = fields.pointer
      read(fields, LayerKeys.properties, into: &layer)
      checkTransforms(
        GeometryEntry(crop: layer.crop, frame: layer.frame, transform: layer.transform, ramps: layer.ramps), fields)
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

extension Lowering {
  /// The most layers in all instructions together. A film has thousands; a hostile document has more.
  private static let greatestLayerCount = 1_000_000

  private mutating func checkLayerCount(_ count: Int) -> Bool {
    if count <= Self.greatestLayerCount { return true }
    problems.add(
      .root.key("tracks"),
      "the film has more than \(Self.greatestLayerCount) layers in all its instructions; use fewer tracks or cuts")
    return false
  }

  // MARK: Derived instructions

  /// A new instruction wherever the stack changes: where a clip or a transition starts or ends.
  mutating func derivedInstructions() -> [Instruction] {
    let transitions = lowerTransitions()
    guard filmIsKnown, !film.isEmpty else { return [] }
    let masks = maskTracks
    let shown = tracks.filter { $0.entry.type == .video && !masks.contains($0.entry.id) }
    var cuts: [MediaTime] = []
    for track in shown { cuts += track.clips.entries.flatMap { [$0.range.start, $0.range.end] } }
    for transition in transitions.values.flatMap(\.entries) { cuts += [transition.range.start, transition.range.end] }
    let film = film
    guard let ranges = exact(at: .root.key("tracks"), { () throws(TimeError) in try film.pieces(cutAt: cuts) }),
      let stacks = stacks(of: shown, during: ranges)
    else { return [] }
    return zip(ranges, stacks).map { range, stack in
      Instruction(
        over: range, background: document.videoComposition.background,
        layers: transitions.isEmpty ? stack.map { .track($0) } : mixed(stack, during: range, transitions))
    }
  }

  /// The layers of each of the ranges, which tile the film and in which no clip starts or ends. The time that it takes
  /// depends on the number of layers alone, and not on the number of tracks.
  private mutating func stacks(of shown: [LoweredTrack], during ranges: [MediaTimeRange]) -> [[TrackLayer]]? {
    var stacks = Array(repeating: [TrackLayer](), count: ranges.count)
    var numbers: [MediaTime: Int] = [film.end: ranges.count]
    for (number, range) in ranges.enumerated() { numbers[range.start] = number }
    var layerCount = 0
    for clip in shown.flatMap(\.clips.entries) {
      guard let first = numbers[clip.range.start], let end = numbers[clip.range.end] else { continue }
      layerCount += end - first
      guard checkLayerCount(layerCount) else { return nil }
      var (layer, placed) = (clip.element.layer, clip.element.geometry)
      layer.geometry = geometry(&placed, of: clip.element.clip.asset)
      layer.filters = scaled(layer.filters, layer.geometry)
      layer.decoration = scaled(layer.decoration, layer.geometry)
      for number in first..<end { stacks[number].append(layer) }
    }
    return stacks
  }

  // MARK: Explicit instructions

  /// The document's own instructions, cut to the film and where a clip that they show starts or ends.
  mutating func lower(_ entries: [InstructionEntry]) -> [Instruction] {
    let ranges = entries.map { entry in
      entry.over.flatMap { resolve($0, at: entry.pointer.key("over"), mayBeNegative: true) }
    }
    checkTiling(entries, ranges)
    addKeysOfDerivedInstructions()
    var instructions: [Instruction] = []
    var layerCount = 0
    for (entry, range) in zip(entries, ranges) {
      guard let range, var layers = layers(of: entry, range) else { continue }
      let filters = scaled(filters(entry.filters))
      guard filmIsKnown, let visible = visible(range, at: entry.pointer.key("over")) else { continue }
      let cuts = layers.flatMap { layer in
        layer.clips[visible].flatMap { [$0.range.start, $0.range.end] }
      }
      guard
        let pieces = exact(at: entry.pointer.key("over"), { () throws(TimeError) in try visible.pieces(cutAt: cuts) })
      else { continue }
      layerCount += pieces.count * layers.count
      guard checkLayerCount(layerCount) else { return [] }
      for piece in pieces {
        var shown: [TrackLayer] = []
        for index in layers.indices {
          guard let clip = layers[index].clips[piece].first?.element else { continue }
          let geometry = geometry(&layers[index].geometry, of: clip.clip.asset)
          let layer = layers[index]
          checkFit(layer.fit, of: assets[clip.clip.asset], clip.clip.asset, at: layer.pointer)
          let own = layer.filters ?? clip.layer.filters ?? []
          var drawn = TrackLayer(
            track: layer.track, fit: layer.fit ?? clip.layer.fit, opacity: layer.opacity, geometry: geometry,
            blendMode: layer.blendMode, mask: layer.mask)
          drawn.filters = scaled(own.isEmpty ? nil : own, geometry)
          drawn.decoration = scaled(layer.decoration, geometry)
          shown.append(drawn)
        }
        instructions.append(
          Instruction(
            over: piece, background: entry.background ?? document.videoComposition.background,
            layers: entry.composed(shown, over: range), wantsOverlays: entry.wantsOverlays, filters: filters))
      }
    }
    return instructions
  }

  /// Reports what tracks and clips have for derived instructions.
  private mutating func addKeysOfDerivedInstructions() {
    for track in tracks where !track.entry.keysOfLayers.isEmpty {
      let keys = track.entry.keysOfLayers
      problems.add(
        track.entry.pointer,
        "with explicit 'instructions' \(list(keys)) \(keys.count == 1 ? "is" : "are") set on their layers, not on the track"
      )
    }
    for track in tracks where track.entry.type == .video {
      for clip in track.clips.entries {
        let keys = clip.element.entry.keysOfLayers
        guard !keys.isEmpty else { continue }
        problems.add(
          clip.element.entry.pointer,
          "with explicit 'instructions' \(list(keys)) \(keys.count == 1 ? "is" : "are") set on their layers, not on the clip"
        )
      }
    }
    for track in tracks where track.entry.type == .video {
      for clip in track.entry.clips {
        for pointer in [clip.transition?.pointer, clip.entrance?.pointer, clip.exit?.pointer].compactMap(\.self) {
          problems.add(pointer, "transitions are for derived instructions; with 'instructions' there can be none")
        }
      }
    }
  }

  /// Reports instructions that do not tile the film.
  private mutating func checkTiling(_ entries: [InstructionEntry], _ ranges: [MediaTimeRange?]) {
    guard let firstEntry = entries.first, let lastEntry = entries.last else {
      problems.add(
        document.videoComposition.pointer.key("instructions"),
        "there is no instruction; leave the key out to have them derived")
      return
    }
    if let first = ranges[0], .zero < first.start {
      problems.add(
        firstEntry.pointer.key("over"), "the first instruction starts at \(first.start); it must start at 0 or before")
    }
    for index in entries.indices.dropFirst() {
      guard let range = ranges[index], let before = ranges[index - 1], range.start != before.end else { continue }
      problems.add(
        entries[index].pointer.key("over"),
        "\(range) \(range.start < before.end ? "overlaps" : "leaves a gap after") the instruction before it, "
          + "\(before); each starts where the one before ends, here at \(before.end)")
    }
    if filmIsKnown, let last = ranges[ranges.count - 1], last.end < film.end {
      problems.add(
        lastEntry.pointer.key("over"),
        "the last instruction ends at \(last.end), before the film, which is \(seconds(film.duration)) long")
    }
  }

  /// The layers of an instruction. Nil if one of them cannot be used.
  private mutating func layers(of entry: InstructionEntry, _ range: MediaTimeRange) -> [ExplicitLayer]? {
    switch entry.content {
    case .unknown: return nil
    case .passthrough(let id):
      guard let track = track(id) else { return nil }
      if filmIsKnown, let visible = visible(range, at: entry.pointer.key("over")), !track.clips.covers(visible) {
        problems.add(
          entry.pointer.key("passthrough"),
          "track '\(id)' does not play throughout \(visible); there must be a frame to pass through at any time")
      }
      return [ExplicitLayer(track: id, fit: nil, opacity: .one, clips: track.clips, pointer: entry.pointer)]
    case .layers(let layers):
      var lowered: [ExplicitLayer] = []
      for layer in layers {
        guard let track = track(layer.track), let ramps = timeline(layer.ramps) else { return nil }
        let opacity = multiplied(ramps.map(\.ramp), by: layer.opacity, from: range.start)
        let found = problems.count
        let geometry = placed(layer.geometry, within: nil, at: layer.pointer)
        let mask = lower(layer.mask)
        guard problems.count == found else { return nil }
        lowered.append(
          ExplicitLayer(
            track: layer.track, fit: layer.fit, opacity: opacity, filters: layer.filters.map { filters($0) ?? [] },
            geometry: geometry, blendMode: layer.blendMode, mask: mask, decoration: layer.decoration,
            clips: track.clips, pointer: layer.pointer))
      }
      return lowered
    }
  }

  /// The part of a range that lies in the film.
  private mutating func visible(_ range: MediaTimeRange, at pointer: JSONPointer) -> MediaTimeRange? {
    let film = film
    return exact(at: pointer) { () throws(TimeError) in try range.intersection(film) } ?? nil
  }
}

/// A layer of an explicit instruction with its clips.
private struct ExplicitLayer {
  var track: TrackID
  var fit: Fit?
  var opacity: RampList
  /// Nil: the clip's.
  var filters: [Filter<RampList>]?
  var geometry: PlacedGeometry?
  var blendMode: BlendMode?
  var mask: LayerMask?
  var decoration: LayerDecoration?
  var clips: LoweredClips
  var pointer: JSONPointer
}

extension InstructionEntry {
  /// The layers of the instruction, or the one that its compositor makes of them.
  /// - Parameter over: the whole time of the instruction.
  fileprivate func composed(_ layers: [TrackLayer], over: MediaTimeRange) -> [Layer] {
    guard let compositor else { return layers.map { .track($0) } }
    return [
      .compositor(CompositorLayer(sources: layers, progress: Ramp(over: over, from: 0, to: 1), compositor: compositor))
    ]
  }
}

extension MediaTimeRange {
  /// The range in pieces, cut at the times that are inside it.
  fileprivate func pieces(cutAt times: [MediaTime]) throws(TimeError) -> [MediaTimeRange] {
    var pieces: [MediaTimeRange] = []
    var start = start
    for time in times.filter({ self.start < $0 && $0 < end }).sorted() + [end] where start < time {
      pieces.append(try MediaTimeRange(start: start, end: time))
      start = time
    }
    return pieces
  }
}
