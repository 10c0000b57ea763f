import CompositionModel

/// A clip as the document means it, with what is known of its times.
struct ClipEntry: Sendable {
  private(set) var written: Document.Clip
  let pointer: JSONPointer
  /// No problem makes its asset or its times uncertain. (An unknown key may be a misspelt one of those.)
  fileprivate(set) var timesAreKnown = false
  let retiming: RetimingEntry
  let sound: ClipSoundEntry
  /// On the clip's own time.
  let geometry: GeometryEntry
  /// Those of the opacity, on the clip's own time.
  let ramps: [Document.Ramp]

  /// - Parameter speedIsKnown: Whether every point is there of a speed that changes.
  init(_ clip: Document.Clip, speedIsKnown: Bool = true, timesAreKnown: Bool = false, pointer: JSONPointer) {
    (written, self.pointer, self.timesAreKnown) = (clip, pointer, timesAreKnown)
    retiming = RetimingEntry(
      isReversed: clip.reverse ?? false, speed: clip.speed?.points ?? [], isKnown: speedIsKnown, freeze: clip.freeze,
      dropsSound: clip.sound == .drop)
    sound = ClipSoundEntry(clip, at: pointer)
    geometry = GeometryEntry(crop: clip.crop, frame: clip.frame, transform: clip.transform, ramps: clip.ramps)
    ramps = clip.ramps.opacity
  }

  /// Nil if the document gives none, or one that it does not declare.
  var asset: AssetID? { written.asset.isEmpty ? nil : written.asset }
  var use: Document.TimeRange? { written.use }
  var at: Document.Time? { written.at }
  var duration: Document.Time? { written.duration }
  /// Seconds of the asset a second of the film. Nil if not written, or if it changes.
  var speed: Rational? { if case .constant(let speed) = written.speed { speed } else { nil } }
  var until: Document.Clip.End? { written.until }
  /// From the clip before it on the track.
  var transition: Document.ClipTransition? { written.transition }
  /// With what it appears and disappears, of its own.
  var entrance: Document.Edge? { written.fadeIn.map { .fade($0) } ?? written.in.map { .transition($0) } }
  var exit: Document.Edge? { written.fadeOut.map { .fade($0) } ?? written.out.map { .transition($0) } }
  /// Whether what it uses plays again and again.
  var loops: Bool { written.loop ?? false }
  var fit: Fit { written.fit ?? .contain }
  var opacity: Double { written.opacity ?? 1 }
  var filters: [Document.Filter] { written.filters }
  var deinterlace: Deinterlacing? { written.deinterlace?.mode }
  var stabilize: Document.Stabilize? { written.stabilize }
  /// Nil: straight.
  var alpha: AlphaMode? { written.alpha == .straight ? nil : written.alpha }
  var blendMode: BlendMode? { written.blendMode?.mode }
  /// Whether it has a mode of its own, which may be `normal`.
  var setsBlendMode: Bool { written.blendMode != nil }
  var mask: Document.Mask? { written.mask }
  var decoration: LayerDecoration? {
    LayerDecoration(written.cornerRadius, written.border, written.shadow)
  }

  static let instead = [
    "gain": "did you mean 'volume'?", "start": "did you mean 'at'?", "fade": "did you mean 'fadeIn' or 'fadeOut'?",
    "trim": "did you mean 'use'?", "timerange": "the part of the asset is 'use'", "range": "did you mean 'use'?",
    "length": "did you mean 'duration'?", "for": "did you mean 'duration'?",
    "source": "did you mean 'asset'?", "src": "did you mean 'asset'?", "file": "did you mean 'asset'?",
    "rate": "did you mean 'speed'?", "x": "the place is 'frame', [x, y, width, height], or 'transform'",
    "y": "the place is 'frame', [x, y, width, height], or 'transform'", "position": "did you mean 'frame'?",
    "scale": "the size is 'frame', [x, y, width, height], or 'transform' with 'scale'",
    "rotate": "did you mean 'transform', {\"rotate\": 90}?", "rotation": "did you mean 'transform', {\"rotate\": 90}?",
    "blend": "did you mean 'blendMode'?", "radius": "did you mean 'cornerRadius'?",
    "borderRadius": "did you mean 'cornerRadius'?", "dropShadow": "did you mean 'shadow'?",
    "stabilise": "did you mean 'stabilize'?", "stabilization": "did you mean 'stabilize'?",
    "id": "did you mean 'name'?", "label": "did you mean 'name'?",
    "ripple": "a clip without 'at' follows the one before it, and one with \"at\": \"clip:NAME.end\" follows that clip",
  ]

  /// The slowest and the fastest speed of a clip: a hundredth and a hundred times its own.
  static let speeds = Rational(1, over: 100)...Rational(100)

  /// How often a clip is repeated at most.
  static let greatestCount = 10_000
  /// The most turns of all clips of a film that are repeated, together.
  static let greatestTurns = 20_000

  /// Whether the film's other clips decide when it ends.
  var endsWithTheFilm: Bool {
    switch until {
    case .film: true
    case .time(let time): time.origin == .end
    case nil: loops && duration == nil
    }
  }
  /// By which times can count from it.
  var name: String? { written.name }
  /// The keys of what is set on layers if there are explicit instructions.
  var keysOfLayers: [String] {
    (opacity != 1 || !ramps.isEmpty ? ["opacity"] : []) + geometry.used + (blendMode == nil ? [] : ["blendMode"])
      + (mask == nil ? [] : ["mask"]) + keysOfDecoration
  }

  private var keysOfDecoration: [String] {
    (written.cornerRadius == nil ? [] : ["cornerRadius"]) + (written.border == nil ? [] : ["border"])
      + (written.shadow == nil ? [] : ["shadow"])
  }
}

extension LayerDecoration {
  /// Nil if there is nothing to draw.
  init?(_ cornerRadius: Double?, _ border: LayerBorder?, _ shadow: TextShadow?) {
    let radius = cornerRadius == 0 ? nil : cornerRadius
    if radius == nil, border == nil, shadow == nil { return nil }
    self.init(cornerRadius: radius, border: border, shadow: shadow)
  }
}

extension DocumentReader {
  /// Reads a clip of a track of a type.
  /// - Parameter hasSound: Whether the clip's sound is in the mix.
  mutating func clip(_ value: JSONValue, _ type: MediaType, hasSound: Bool) -> ClipEntry {
    let beforeKeys = problems.count
    var clip = Document.Clip("")
    guard let fields = fields(value, ClipKeys.table) else { return ClipEntry(clip, pointer: value.pointer) }
    let keysAreKnown = problems.count == beforeKeys
    clip.name = clipName(fields, of: value.pointer)
    let found = problems.count
    read(fields, ClipKeys.times, into: &clip) { $0.name != ClipKeys.speed.name }
    let beforeSpeed = problems.count
    clip.speed = read(fields, ClipKeys.speed)
    let isList = if case .array? = fields["speed"]?.content { true } else { false }
    let speedIsKnown = !isList || problems.count == beforeSpeed
    checkSpeed(of: clip, fields, isKnown: speedIsKnown)
    read(fields, ClipKeys.moments, into: &clip)
    var timesAreKnown = keysAreKnown && problems.count == found
    if let written = fields["transition"] {
      clip.transition = clipTransition(written, type)
      if clip.transition?.timesAreKnown == false { timesAreKnown = false }
    }
    read(fields, ClipKeys.fades, into: &clip)
    clipSound(fields, hasSound: hasSound, into: &clip)
    if type == .video {
      read(fields, ClipKeys.pictures, into: &clip)
      checkTransforms(
        GeometryEntry(crop: clip.crop, frame: clip.frame, transform: clip.transform, ramps: clip.ramps), fields)
    } else {
      for key in ClipKeys.table.keyNames(ofKind: "video") where fields.has(key) {
        let instead =
          ["opacity", "ramps"].contains(key)
          ? "; that of sound is 'volume'" : ["in", "out"].contains(key) ? "; sound has 'fadeIn' and 'fadeOut'" : ""
        problems.addShape(fields.pointer.key(key), "'\(key)' is for clips of video tracks\(instead)")
      }
    }
    return ClipEntry(clip, speedIsKnown: speedIsKnown, timesAreKnown: timesAreKnown, pointer: value.pointer)
  }

  /// Reports a speed that the clip cannot have with its other keys.
  private mutating func checkSpeed(of clip: Document.Clip, _ fields: Fields, isKnown: Bool) {
    guard let written = fields["speed"] else { return }
    let loops = clip.loop ?? false
    if loops, case .array = written.content {
      problems.add(written.pointer, "a clip that is repeated has one speed: a number, and no list of them")
    }
    // The length of a clip that is repeated does not change its speed.
    if fields.has("duration"), clip.speed?.points.isEmpty ?? true, isKnown, !loops {
      problems.add(written.pointer, "a clip has 'speed' or 'duration', not both")
    }
  }

  mutating func until(_ value: JSONValue) -> Document.Clip.End? {
    if case .string("end") = value.content { return .film }
    return time(value, .film).map { .time($0) }
  }

  /// `true`, `false` or `"auto"`.
  mutating func deinterlacing(_ value: JSONValue) -> Document.Deinterlace? {
    switch value.content {
    case .boolean(let isOn): return isOn ? .always : .never
    case .string("auto"): return .auto
    default:
      problems.addShape(value.pointer, "\(value.shown) should be true, false or \"auto\"")
      return nil
    }
  }
}

extension Document.Clip.End {
  var json: JSONValue {
    switch self {
    case .film: .text("end")
    case .time(let time): time.json
    }
  }
}

/// A clip in its place, or one turn of a clip that is repeated.
struct LoweredClip {
  var entry: ClipEntry
  /// The clip's index in the list of its track.
  var number: Int
  var clip: Clip
  /// The part of the asset as written. The clip's own may start a part of a tick later.
  var used: MediaTimeRange
  /// The index of the asset's audio track that is heard. Nil: there is none.
  var soundTrack: Int?
  /// Its layer in the instructions that show it, on the composition's timeline.
  var layer: TrackLayer
  /// Nil: fitted into the whole frame.
  var geometry: PlacedGeometry?
}

extension Lowering {
  /// Puts a clip in its place. Nil and a problem if it has none.
  /// - Parameters:
  ///   - number: its index in the list of its track.
  ///   - style: what its track sets for all clips.
  ///   - lane: the track of the composition that it is on.
  ///   - start: where it starts if it has no `at`: at the end of the clip before it in the list, or where the
  ///     transition from that one starts. Nil if it is unknown.
  /// - Returns: the turns of a clip that is repeated, one after the other; a single one otherwise.
  mutating func lower(
    _ entry: ClipEntry, _ number: Int, of track: TrackEntry, _ style: TrackStyle, lane: TrackID, from start: MediaTime?
  ) -> [LoweredClip]? {
    let pointer = entry.pointer
    var ramps = timeline(entry.ramps, on: .own(end: nil, "the clip"))
    let place = entry.at.map { self.place($0, after: start, at: pointer.key("at")) } ?? start
    // `.some(.none)` is a duration that cannot be used.
    let duration = entry.duration.map { positive($0, at: pointer.key("duration")) }
    guard let id = entry.asset, let asset = assets[id], let source = source(entry, track.type, id, asset) else {
      return nil
    }
    guard let retiming = retiming(entry, asset, at: place ?? .zero) else { return nil }
    let natural =
      retiming?.speed.map { curve in
        lasting(source.lasting, curve, isCut: duration != nil || entry.until != nil, at: pointer.key("speed"))
      } ?? lasting(source.lasting, speed: entry.speed, at: pointer.key("speed"))
    guard let place, duration != .some(.none),
      let lasting = duration ?? length(of: entry, from: place, natural: natural),
      let target = exact(
        at: pointer, { () throws(TimeError) in try MediaTimeRange(placing: place, lasting: lasting) })
    else { return nil }
    let turns = entry.loops ? turns(of: source.range, retiming, natural: natural, target, at: pointer) : nil
    if entry.loops, turns == nil { return nil }
    var clip = Clip(asset: id, sourceTrack: source.track, source: source.range, target: target)
    clip.retiming = retiming
    if entry.duration == nil, let natural, lasting < natural, !source.range.isEmpty, retiming?.speed == nil {
      guard let cut = cut(source.range, retiming, to: lasting, of: natural, at: pointer) else { return nil }
      clip.source = cut
    }
    guard entry.loops || checkSpeed(clip, at: pointer), entry.timesAreKnown else { return nil }
    if entry.ramps.countFromEnd { ramps = timeline(entry.ramps, on: .own(end: target.duration, "the clip")) }
    let opacity = ramps.flatMap { rampList($0, opacity: entry.opacity, within: target, owner: "the clip") }
    let geometry = placed(entry.geometry, within: target, at: pointer)
    var layer = TrackLayer(
      track: lane, fit: entry.fit, opacity: opacity ?? .one,
      blendMode: entry.setsBlendMode ? entry.blendMode : style.blendMode,
      mask: entry.mask == nil ? style.mask : lower(entry.mask))
    layer.decoration = entry.decoration
    layer.filters = filters(entry.filters, within: target)
    if track.type == .video { checkFit(entry.fit, of: asset, id, at: pointer) }
    let soundTrack = track.hasSound ? soundTrack(of: entry.sound, in: asset, id, at: pointer) : nil
    let heard = asset.tracks.first { $0.index == (track.type == .audio ? source.track : soundTrack?.index) }
    lower(entry.sound, of: track, heard, into: &clip, at: pointer)
    clip.deinterlace = entry.deinterlace
    if track.type == .video { clip.stabilization = stabilization(entry, of: asset, id) }
    clip.alpha = entry.alpha
    if track.type == .video { checkAlpha(entry.alpha, of: asset, id, at: pointer) }
    if turns != nil { clip.stabilization?.part = source.range }
    var lowered: [LoweredClip] = []
    for (used, target) in turns ?? [(clip.source, target)] {
      // The sound stays at the time that is written.
      clip.source = used
      clip.target = target
      if track.type == .video, let description = asset.defaultTrack(.video) {
        guard let moved = exact(at: pointer.key("use"), { () throws(TimeError) in try description.shown(used) })
        else { return nil }
        clip.source = moved
      }
      lowered.append(
        LoweredClip(
          entry: entry, number: number, clip: clip, used: used, soundTrack: soundTrack?.index, layer: layer,
          geometry: geometry))
    }
    return lowered
  }

  /// Reports a way to store alpha of an asset without any.
  mutating func checkAlpha(_ alpha: AlphaMode?, of asset: AssetDescription, _ id: AssetID, at pointer: JSONPointer) {
    guard alpha != nil, asset.defaultTrack(.video)?.video?.hasAlpha == false else { return }
    problems.add(
      pointer.key("alpha"), "'\(id.shortened)' has no transparency, by which its colours could be multiplied")
  }

  /// Where a clip is put by its `at`, or ends by its `until`. Nil and a problem if that is too late.
  /// - Parameter end: The end of the clip before it. If it has been rounded and is this time but for rounding, it is
  ///   the place.
  mutating func place(_ written: Document.Time, after end: MediaTime?, at pointer: JSONPointer) -> MediaTime? {
    guard let time = resolve(written, at: pointer) else { return nil }
    return exact(at: pointer) { () throws(TimeError) in
      let place = try time.place
      guard let end, end.hasBeenRounded, try place.isNear(end) else { return place }
      return end
    }
  }
}
