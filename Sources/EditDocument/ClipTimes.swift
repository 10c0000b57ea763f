import CompositionModel

// What a clip uses of its asset, and how long it lasts.

extension Lowering {
  mutating func positive(_ written: Document.Time, at pointer: JSONPointer) -> MediaTime? {
    guard let duration = resolve(written, at: pointer) else { return nil }
    if duration != .zero { return duration }
    problems.add(pointer, "a clip must last longer than 0")
    return nil
  }

  /// How long a clip without `duration` lasts, with all its turns. Nil and a problem if that is unknown or nothing.
  /// - Parameter natural: the duration of what it uses at its speed. Nil for a still picture without `use`.
  mutating func length(
    of entry: ClipEntry, from place: MediaTime, natural: MediaTime?
  ) -> MediaTime? {
    let pointer = entry.pointer
    guard entry.until != nil || entry.loops else { return natural }
    var end = things.filmEnd
    let key = entry.until == nil ? pointer.key("loop") : pointer.key("until")
    if case .time(let written) = entry.until {
      end = self.place(written, after: nil, at: key)
      if written.origin == .end, let time = end, let filmEnd = things.filmEnd, filmEnd < time {
        problems.add(key, "\(time) is after the end of the film, at \(filmEnd), which the other clips set")
        return nil
      }
    }
    guard let end else { return nil }
    guard place < end else {
      let (what, cause) =
        end == things.filmEnd && entry.endsWithTheFilm
        ? ("the film ends at \(end),", ": the other clips set its end") : ("\(end) is", "")
      problems.add(key, "\(what) not after the clip's start at \(place)\(cause)")
      return nil
    }
    guard let rest = exact(at: key, { () throws(TimeError) in try end - place }) else { return nil }
    guard let natural, !entry.loops else { return rest }
    return min(natural, rest)
  }

  /// The turns of a clip that is repeated: what each uses, and where it is. Nil and a problem if there are too many.
  mutating func turns(
    of source: MediaTimeRange, _ retiming: Retiming?, natural: MediaTime?, _ target: MediaTimeRange,
    at pointer: JSONPointer
  ) -> [(MediaTimeRange, MediaTimeRange)]? {
    guard let natural, !source.isEmpty else {
      problems.add(pointer.key("loop"), "a still picture has nothing to repeat: give 'until' or 'duration' alone")
      return nil
    }
    let count = exact(at: pointer.key("loop")) { () throws(TimeError) in try (target.duration / natural).ceiling }
    guard let count else { return nil }
    guard count <= ClipEntry.greatestCount else {
      problems.add(
        pointer.key("loop"),
        "\(seconds(natural)) would be repeated \(count) times; at most \(ClipEntry.greatestCount) times are allowed")
      return nil
    }
    let isFirstTooMany = turnCount <= ClipEntry.greatestTurns
    turnCount += Int(count)
    guard turnCount <= ClipEntry.greatestTurns else {
      if isFirstTooMany {
        problems.add(
          pointer.key("loop"),
          "with this clip the film's clips are repeated more than \(ClipEntry.greatestTurns) times together")
      }
      return nil
    }
    var turns: [(MediaTimeRange, MediaTimeRange)] = []
    var start = target.start
    while start < target.end {
      let turn = exact(at: pointer.key("loop")) { [start] () throws(TimeError) in
        let whole = try MediaTimeRange(placing: start, lasting: natural)
        return whole.end <= target.end ? whole : try MediaTimeRange(start: start, end: target.end)
      }
      guard let turn else { return nil }
      guard turn.duration < natural else {
        turns.append((source, turn))
        start = turn.end
        continue
      }
      guard let used = cut(source, retiming, to: turn.duration, of: natural, at: pointer.key("loop")) else {
        return nil
      }
      turns.append((used, turn))
      start = turn.end
    }
    return turns
  }

  /// The part of a range that plays in the first `length` of the `natural` duration that all of it lasts.
  mutating func cut(
    _ source: MediaTimeRange, _ retiming: Retiming?, to length: MediaTime, of natural: MediaTime,
    at pointer: JSONPointer
  ) -> MediaTimeRange? {
    exact(at: pointer) { () throws(TimeError) in
      // At its own speed a clip plays exactly as long as it lasts.
      let part = source.duration == natural ? length : try MediaTime(stored: (source.duration / natural) * length.exact)
      return try MediaTimeRange(start: retiming.isReversed ? source.end - part : source.start, duration: part)
    }
  }

  /// How long a clip lasts at a speed. Nil and a problem if that is too long.
  mutating func lasting(_ natural: MediaTime?, speed: Rational?, at pointer: JSONPointer) -> MediaTime? {
    guard let natural, let speed else { return natural }
    return exact(at: pointer) { () throws(TimeError) in try MediaTime(stored: natural.exact / speed) }
  }

  /// The part of its asset that a clip uses, and its duration at natural speed. Nil and a problem if there is none. The
  /// duration of a still picture is nil if only the clip's `duration` gives it.
  mutating func source(
    _ entry: ClipEntry, _ type: MediaType, _ id: AssetID, _ asset: AssetDescription
  ) -> (track: Int, range: MediaTimeRange, lasting: MediaTime?)? {
    let pointer = entry.pointer
    let chosen =
      type == .audio && asset.defaultTrack(.audio) != nil
      ? soundTrack(of: entry.sound, in: asset, id, at: pointer) : asset.defaultTrack(type)
    guard let track = chosen else {
      if asset.defaultTrack(type) != nil { return nil }
      let types = Set(asset.tracks.map(\.type)).map(\.rawValue).sorted()
      problems.add(
        pointer.key("asset"),
        "'\(id)' has no \(type) track\(types.isEmpty ? "" : ", only \(types.joined(separator: " and "))")"
          + (type == .audio ? asset.lostSounds : []).map { "; \($0)" }.joined())
      return nil
    }
    var use: MediaTimeRange?
    if let written = entry.use {
      use = resolve(written, at: pointer.key("use"), on: .own(end: asset.duration, "the asset"))
      if use == nil { return nil }
    }
    if type == .video, track.video?.isStill == true {
      if let key = entry.speed != nil ? "speed" : entry.retiming.keys.first(where: { $0 != "freeze" }) {
        problems.add(pointer.key(key), "'\(id)' is a still picture, which has no speed: give 'duration'")
        return nil
      }
      if let freeze = entry.retiming.freeze,
        resolve(freeze, at: pointer.key("freeze"), on: .own(end: asset.duration, "the asset")) != .zero
      {
        problems.add(pointer.key("freeze"), "'\(id)' is a still picture, whose only time is 0")
        return nil
      }
      if use == nil, entry.duration == nil, entry.until == nil, !entry.loops {
        if entry.timesAreKnown {
          problems.add(pointer, "'\(id)' is a still picture: give the length of the clip with 'duration' or 'until'")
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
    if let written = entry.retiming.freeze {
      return frozen(written, entry, of: asset, id).map { (track.index, $0, nil) }
    }
    if let use, !whole.contains(use) {
      problems.add(
        pointer.key("use"),
        "\(use) goes beyond '\(id)', which is \(seconds(asset.duration)) long; allowed is up to \(whole)")
      return nil
    }
    return (track.index, use ?? whole, (use ?? whole).duration)
  }

  mutating func checkSpeed(_ clip: Clip, at pointer: JSONPointer) -> Bool {
    let (source, target) = (clip.source, clip.target)
    guard !source.isEmpty else { return true }
    if let curve = clip.retiming?.speed { return checkSpeed(curve, clip, at: pointer) }
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
