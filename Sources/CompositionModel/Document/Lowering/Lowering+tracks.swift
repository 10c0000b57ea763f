/// A track of the document with its clips in their places.
struct LoweredTrack {
  var entry: TrackEntry
  var clips: Timeline<LoweredClip>
  /// The tracks of the composition that it makes: itself, and its sound.
  var composed: [CompositionTrack]
  /// Every clip is in its place.
  var isWhole: Bool
}

/// A clip in its place.
struct LoweredClip {
  var entry: ClipEntry
  var clip: Clip
  /// The layer that it is where it shows, on composition time.
  var layer: TrackLayer
}

extension Lowering {
  /// Changes of speed that make sense: from a hundredth to a hundred times.
  private static let speeds = (slowest: Int128(100), fastest: 100)

  /// The highest nominal rate among the clips, else 30 a second (FEATURES F29).
  mutating func lowerFrameDuration() {
    if let written = document.videoComposition.frameDuration {
      frameDuration = written
      return
    }
    let rates = videoFormats.filter { !$0.isStill && .zero < $0.nominalFrameRate }.map(\.nominalFrameRate)
    guard let highest = rates.max() else { return }
    guard let duration = try? MediaTime(.one / highest.exact), DocumentReader.frameDurations.shortest <= duration,
      duration <= DocumentReader.frameDurations.longest
    else {
      problems.add(
        document.videoComposition.pointer,
        "the highest frame rate among the clips, \(highest) a second, cannot be the film's: give 'frameDuration'")
      return
    }
    frameDuration = duration
  }

  /// The pictures of every clip of the document, in its order.
  private var videoFormats: [VideoFormat] {
    document.tracks.filter { $0.type == .video }.flatMap(\.clips).compactMap { clip in
      clip.asset.flatMap { assets[$0] }?.defaultTrack(.video)?.video
    }
  }

  mutating func lower(_ track: TrackEntry) -> LoweredTrack {
    var placed: [(range: MediaTimeRange, element: LoweredClip)] = []
    var end: MediaTime? = .zero
    for clip in track.clips {
      let lowered = lower(clip, of: track, after: end)
      end = lowered?.clip.target.end
      if let lowered { placed.append((lowered.clip.target, lowered)) }
    }
    var overlaps: [(LoweredClip, LoweredClip)] = []
    let clips = Timeline(placed) { overlaps.append(($0, $1)) }
    for (clip, earlier) in overlaps {
      problems.add(
        clip.entry.pointer,
        "'\(clip.clip.asset)' would play \(clip.clip.target) and overlap '\(earlier.clip.asset)' "
          + "(\(earlier.entry.pointer.text)), which plays \(earlier.clip.target); clips of one track follow each other")
    }
    var composed = [
      CompositionTrack(id: track.id, type: track.type, clips: clips.entries.map(\.element.clip))
    ]
    if track.hasSound { composed.append(sound(of: track.id, clips)) }
    return LoweredTrack(
      entry: track, clips: clips, composed: composed, isWhole: clips.entries.count == track.clips.count)
  }

  /// What is heard of a video track: the same clips, of those assets that have sound.
  private func sound(of id: TrackID, _ clips: Timeline<LoweredClip>) -> CompositionTrack {
    CompositionTrack(
      id: id + ".sound", type: .audio,
      clips: clips.entries.compactMap { entry in
        var clip = entry.element.clip
        guard let track = assets[clip.asset]?.defaultTrack(.audio), !clip.source.isEmpty else { return nil }
        clip.sourceTrack = track.index
        return clip
      })
  }

  private mutating func lower(_ entry: ClipEntry, of track: TrackEntry, after end: MediaTime?) -> LoweredClip? {
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
    guard duration != .some(.none), let lasting = duration.flatMap({ $0 }) ?? source.lasting, let place else {
      return nil
    }
    guard
      let target = exactly(at: pointer, { () throws(TimeError) in try MediaTimeRange(start: place, duration: lasting) })
    else { return nil }
    guard checkSpeed(source.range, target, at: pointer) else { return nil }
    guard entry.hasSureTimes else { return nil }
    let opacity = ramps.flatMap { rampList($0, opacity: entry.opacity, within: target, owner: "the clip") }
    return LoweredClip(
      entry: entry,
      clip: Clip(asset: id, sourceTrack: source.track, source: source.range, target: target),
      layer: TrackLayer(track: track.id, fit: entry.fit, opacity: opacity ?? .one))
  }

  /// What a clip uses of its asset, and how long that lasts at its own speed. Nil and a problem where that is nothing.
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
      if use == nil, entry.duration == nil {
        if entry.hasSureTimes {
          problems.add(pointer, "'\(id)' is a still picture: say how long it stays with 'duration'")
        }
        return nil
      }
      return (track.index, MediaTimeRange(emptyAt: .zero), use?.duration)
    }
    let played = exactly(at: pointer) { () throws(TimeError) in
      try MediaTimeRange(start: .zero, duration: asset.duration)
    }
    guard let whole = played else { return nil }
    guard !whole.isEmpty else {
      problems.add(pointer.key("asset"), "'\(id)' lasts no time: there is nothing in it to play")
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
    let checked = exactly(at: pointer) { () throws(TimeError) in
      let speed = try source.duration / target.duration
      return (speed, isAllowed: try Rational(1, Self.speeds.slowest) <= speed && speed <= Rational(Self.speeds.fastest))
    }
    guard let (speed, isAllowed) = checked else { return false }
    if isAllowed { return true }
    problems.add(
      pointer.key("duration"),
      "\(seconds(target.duration)) for \(seconds(source.duration)) of media is \(speed.approximate) times its speed; "
        + "from 1/100 to 100 times is allowed")
    return false
  }
}
