/// A clip as written.
struct ClipEntry: Sendable {
  /// Nil if the document gives none, or one that it does not declare.
  var asset: AssetID?
  var use: WrittenRange?
  var at: WrittenTime?
  var duration: WrittenTime?
  /// Seconds of the asset a second of the film. Nil if not written.
  var speed: Rational?
  var fit = Fit.contain
  var opacity = 1.0
  /// On the clip's own time.
  var ramps: [RampEntry] = []
  var pointer: JSONPointer
  /// No problem makes its asset or its times uncertain. (An unknown key may be a misspelt one of those.)
  var timesAreKnown = false

  static let keys = ["asset", "use", "at", "duration", "speed"] + keysOfVideo
  /// The keys of clips on video tracks only.
  static let keysOfVideo = ["fit", "opacity", "ramps"]
  static let notYet = ["transform", "crop", "filters", "blendMode", "mask", "pitch", "reverse", "loop", "timeRange"]

  static let instead = [
    "volume": "the volume of a track is set in 'audioMix'", "start": "did you mean 'at'?",
    "in": "the part of the asset is 'use'", "out": "the part of the asset is 'use'",
    "trim": "did you mean 'use'?", "range": "did you mean 'use'?", "length": "did you mean 'duration'?",
    "source": "did you mean 'asset'?", "src": "did you mean 'asset'?", "file": "did you mean 'asset'?",
    "rate": "did you mean 'speed'?",
  ]

  /// The slowest and the fastest speed of a clip: a hundredth and a hundred times its own.
  static let speeds = slowestSpeed...Rational(100)
  private static let slowestSpeed = (try? Rational(1, 100)) ?? .one

  /// Whether the clip has an opacity of its own.
  var changesOpacity: Bool { opacity != 1 || !ramps.isEmpty }
}

extension DocumentReader {
  /// Reads a clip of a track of a type.
  mutating func clip(_ value: JSONValue, _ type: MediaType) -> ClipEntry {
    let found = problems.count
    var clip = ClipEntry(pointer: value.pointer)
    guard
      let fields = fields(value, "a clip", keys: ClipEntry.keys, notYet: ClipEntry.notYet, instead: ClipEntry.instead)
    else { return clip }
    clip.asset = asset(required(fields, "asset", "a clip"))
    clip.use = range(fields["use"])
    clip.at = time(fields["at"])
    clip.duration = time(fields["duration"])
    clip.speed = rational(fields["speed"], in: ClipEntry.speeds)
    if fields.has("duration"), let speed = fields["speed"] {
      problems.add(speed.pointer, "a clip has 'speed' or 'duration', not both")
    }
    clip.timesAreKnown = problems.count == found
    if type == .video {
      clip.fit = choice(fields["fit"], "fit") ?? .contain
      clip.opacity = number(fields["opacity"], in: 0...1) ?? 1
      clip.ramps = ramps(fields["ramps"], of: .opacity)
    } else {
      for key in ClipEntry.keysOfVideo where fields.has(key) {
        let instead = key == "fit" ? "" : "; the volume of a track is set in 'audioMix'"
        problems.add(fields.pointer.key(key), "'\(key)' is for clips of video tracks\(instead)")
      }
    }
    return clip
  }
}

/// A clip in its place.
struct LoweredClip {
  var entry: ClipEntry
  var clip: Clip
  /// The part of the asset as written. The clip's own may start a part of a tick later.
  var used: MediaTimeRange
  /// Its layer in the instructions that show it, on the composition's timeline.
  var layer: TrackLayer
}

extension Lowering {
  /// Puts a clip in its place. Nil and a problem if it has none.
  /// - Parameter end: the end of the clip before it in the list. Nil if it is unknown.
  mutating func lower(_ entry: ClipEntry, of track: TrackEntry, after end: MediaTime?) -> LoweredClip? {
    let pointer = entry.pointer
    let ramps = timeline(entry.ramps)
    let place = entry.at.map { resolve($0, at: pointer.key("at")) } ?? end
    let duration = entry.duration.map { resolve($0, at: pointer.key("duration")) }
    if let duration, duration == .zero {
      problems.add(pointer.key("duration"), "a clip must last longer than 0")
      return nil
    }
    guard let id = entry.asset, let asset = assets[id], let source = source(entry, track.type, id, asset) else {
      return nil
    }
    // `.some(.none)` is a duration that could not be resolved.
    guard duration != .some(.none),
      let lasting = duration.flatMap({ $0 }) ?? lasting(source.lasting, speed: entry.speed, at: pointer.key("speed")),
      let place
    else { return nil }
    guard
      let target = exact(at: pointer, { () throws(TimeError) in try MediaTimeRange(start: place, duration: lasting) })
    else { return nil }
    guard checkSpeed(source.range, target, at: pointer) else { return nil }
    guard entry.timesAreKnown else { return nil }
    // The sound stays at the time that is written.
    var shown = source.range
    if track.type == .video, !shown.isEmpty, let description = asset.defaultTrack(.video) {
      guard
        let moved = exact(at: pointer.key("use"), { () throws(TimeError) in try description.shown(source.range) })
      else { return nil }
      shown = moved
    }
    let opacity = ramps.flatMap { rampList($0, opacity: entry.opacity, within: target, owner: "the clip") }
    return LoweredClip(
      entry: entry,
      clip: Clip(asset: id, sourceTrack: source.track, source: shown, target: target), used: source.range,
      layer: TrackLayer(track: track.id, fit: entry.fit, opacity: opacity ?? .one))
  }

  /// How long a clip lasts at a speed. Nil and a problem if that cannot be kept exactly.
  private mutating func lasting(_ natural: MediaTime?, speed: Rational?, at pointer: JSONPointer) -> MediaTime? {
    guard let natural, let speed else { return natural }
    return exact(at: pointer) { () throws(TimeError) in try MediaTime(natural.exact / speed) }
  }

  /// The part of its asset that a clip uses, and its duration at natural speed. Nil and a problem if there is none. The
  /// duration of a still picture is nil if only the clip's `duration` gives it.
  private mutating func source(
    _ entry: ClipEntry, _ type: MediaType, _ id: AssetID, _ asset: AssetDescription
  ) -> (track: Int, range: MediaTimeRange, lasting: MediaTime?)? {
    let pointer = entry.pointer
    guard let track = asset.defaultTrack(type) else {
      let types = Set(asset.tracks.map(\.type)).map(\.rawValue).sorted()
      problems.add(
        pointer.key("asset"),
        "'\(id)' has no \(type) track\(types.isEmpty ? "" : ", only \(types.joined(separator: " and "))")")
      return nil
    }
    var use: MediaTimeRange?
    if let written = entry.use {
      use = resolve(written, at: pointer.key("use"))
      if use == nil { return nil }
    }
    if type == .video, track.video?.isStill == true {
      if entry.speed != nil {
        problems.add(pointer.key("speed"), "'\(id)' is a still picture, which has no speed: give 'duration'")
        return nil
      }
      if use == nil, entry.duration == nil {
        if entry.timesAreKnown {
          problems.add(pointer, "'\(id)' is a still picture: give the length of the clip with 'duration'")
        }
        return nil
      }
      return (track.index, MediaTimeRange(emptyAt: .zero), use?.duration)
    }
    let played = exact(at: pointer) { () throws(TimeError) in
      try MediaTimeRange(start: .zero, duration: asset.duration)
    }
    guard let whole = played else { return nil }
    guard !whole.isEmpty else {
      problems.add(pointer.key("asset"), "'\(id)' has a duration of 0: there is nothing in it to play")
      return nil
    }
    if let use, !whole.contains(use) {
      problems.add(
        pointer.key("use"),
        "\(use) goes beyond '\(id)', which is \(seconds(asset.duration)) long; allowed is up to \(whole)")
      return nil
    }
    return (track.index, use ?? whole, (use ?? whole).duration)
  }

  private mutating func checkSpeed(_ source: MediaTimeRange, _ target: MediaTimeRange, at pointer: JSONPointer) -> Bool
  {
    guard !source.isEmpty else { return true }
    let speeds = ClipEntry.speeds
    let checked = exact(at: pointer) { () throws(TimeError) in
      let speed = try source.duration / target.duration
      return (speed, isAllowed: speeds.contains(speed))
    }
    guard let (speed, isAllowed) = checked else { return false }
    if isAllowed { return true }
    problems.add(
      pointer.key("duration"),
      "\(seconds(target.duration)) for \(seconds(source.duration)) of media is \(speed.approximate) times its speed; "
        + "from \(speeds.lowerBound) to \(speeds.upperBound) times is allowed")
    return false
  }
}
