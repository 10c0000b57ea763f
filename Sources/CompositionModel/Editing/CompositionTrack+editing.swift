/// AVFoundation's edits of one track. An edit that throws changes nothing.
///
/// Each is exact, but that the place of a clip is rounded to the nearest `MediaTime.roundingTimescale`th of a second if
/// it does not fit a 64-bit count of 1/timescale seconds. Such a place `hasBeenRounded`, the clip still plays at its
/// exact speed, and what follows is placed from there.
extension CompositionTrack {
  /// Inserts a range of an asset's default track at `time`, at its natural rate. A clip that plays at `time` is split,
  /// and everything after `time` moves later. An invalid time appends. A time after the end leaves a gap.
  public mutating func insert(_ range: AssetRange, at time: MediaTime = .invalid) throws(EditingError) {
    try insert([range], at: time)
  }

  /// Inserts several ranges at `time`, one after the other: either all of them or none.
  public mutating func insert(_ ranges: [AssetRange], at time: MediaTime = .invalid) throws(EditingError) {
    var edited = self
    var place = try insertionTime(time)
    for range in ranges {
      guard let track = range.contents.defaultTrack(type) else { throw .noTrack(type, of: range.asset) }
      let clip = try range.clip(track, at: place)
      try edited.open(at: place, for: range.range.duration)
      edited.place(clip)
      place = clip.target.end
    }
    self = edited
  }

  /// Inserts a range of one of an asset's tracks at `time`, at its natural rate: of several languages, for example, the
  /// one that is chosen. A clip that plays at `time` is split, and everything after `time` moves later.
  /// - Parameters:
  ///   - range: A range of the asset.
  ///   - track: A track of the asset, of this track's type.
  ///   - time: Where the clip begins. An invalid time appends. A time after the end leaves a gap.
  public mutating func insert(
    _ range: AssetRange, of track: TrackDescription, at time: MediaTime = .invalid
  ) throws(EditingError) {
    guard track.type == type else { throw .noTrack(type, of: range.asset) }
    guard range.contents.tracks.contains(where: { $0.index == track.index && $0.type == type }) else {
      throw .unknownSourceTrack(track.index, of: range.asset)
    }
    var edited = self
    let place = try insertionTime(time)
    let clip = try range.clip(track, at: place)
    try edited.open(at: place, for: range.range.duration)
    edited.place(clip)
    self = edited
  }

  /// Inserts a gap. A clip that plays at its start is split, and everything after that moves later by its duration.
  public mutating func insertEmpty(_ range: MediaTimeRange) throws(EditingError) {
    if range.isEmpty { throw .emptyRange(range) }
    var edited = self
    try edited.open(at: try insertionTime(range.start), for: range.duration)
    self = edited
  }

  /// Removes a range. Clips that overlap it are cut, and everything after it moves earlier by its duration.
  public mutating func remove(_ range: MediaTimeRange) throws(EditingError) {
    if range.isEmpty { return }
    let range = try place(of: range)
    var edited = self
    try edited.split(at: range.start)
    try edited.split(at: range.end)
    edited.clips.removeAll { range.contains($0.target) }
    try edited.place(from: range.end) { (time) throws(TimeError) in try time - (range.end.exact - range.start.exact) }
    self = edited
  }

  /// Changes the duration of a range. Clips in it play faster or slower, gaps in it shrink or grow, and everything
  /// after it moves.
  public mutating func scale(_ range: MediaTimeRange, to duration: MediaTime) throws(EditingError) {
    if range.isEmpty { throw .emptyRange(range) }
    guard duration.isNumeric, .zero < duration else { throw .outsideTimeline(duration) }
    let range = try place(of: range)
    var edited = self
    try edited.split(at: range.start)
    try edited.split(at: range.end)
    let (start, length, rate) = try mapErrors(to: EditingError.time) { () throws(TimeError) in
      let (start, length) = (try range.start.exact, try range.end.exact - range.start.exact)
      return (start, length, try duration.exact / length)
    }
    try edited.place(from: range.start, scaling: range, to: duration, by: rate) { (time) throws(TimeError) in
      let elapsed = try time - start
      return try start + (elapsed < length ? elapsed * rate : elapsed - length + duration.exact)
    }
    self = edited
  }

  // MARK: Steps of an edit

  /// The place of an insertion at `time`.
  private func insertionTime(_ time: MediaTime) throws(EditingError) -> MediaTime {
    if !time.isValid { return end }
    guard time.isNumeric, .zero <= time else { throw .outsideTimeline(time) }
    return try place(of: time)
  }

  /// The place that a time of the caller's is: where a clip starts or ends if that has been rounded and is the time but
  /// for rounding, so that no sliver of a clip is cut off.
  func place(of time: MediaTime) throws(EditingError) -> MediaTime {
    try mapErrors(to: EditingError.time) { () throws(TimeError) in
      let place = try time.place
      for clip in clips {
        for edge in [clip.target.start, clip.target.end] where edge.hasBeenRounded && edge != place {
          if try edge.isNear(place) { return edge }
        }
      }
      return place
    }
  }

  private func place(of range: MediaTimeRange) throws(EditingError) -> MediaTimeRange {
    let (start, end) = (try place(of: range.start), try place(of: range.end))
    guard start < end else { throw .emptyRange(range) }
    return try mapErrors(to: EditingError.time) { () throws(TimeError) in try MediaTimeRange(start: start, end: end) }
  }

  /// Makes a gap at `time`.
  mutating func open(at time: MediaTime, for duration: MediaTime) throws(EditingError) {
    try split(at: time)
    try place(from: time) { (time) throws(TimeError) in try time + duration.exact }
  }

  /// Adds a clip, which must not overlap another.
  mutating func place(_ clip: Clip) {
    let index = clips.firstIndex { clip.target.start < $0.target.start } ?? clips.count
    clips.insert(clip, at: index)
  }

  /// Gives each clip from `time` on another place. Clips that follow each other without a gap still do.
  /// - Parameters:
  ///   - scaled: clips in it last `rate` times as long, and one that fills it `duration`.
  ///   - moved: where a time of the track goes.
  private mutating func place(
    from time: MediaTime, scaling scaled: MediaTimeRange? = nil, to duration: MediaTime? = nil,
    by rate: Rational = .one, _ moved: (Rational) throws(TimeError) -> Rational
  ) throws(EditingError) {
    var last: (before: MediaTime, after: MediaTime)?
    for index in clips.indices where time <= clips[index].target.start {
      let old = clips[index].target
      let rate = scaled.map { old.start < $0.end } ?? false ? rate : .one
      let fills = old.start == scaled?.start && old.end == scaled?.end && clips[index].retiming?.speed == nil
      try mapErrors(to: EditingError.time) { () throws(TimeError) in
        if let last, last.before == old.start {
          try clips[index].place(at: last.after, rate: rate, lasting: fills ? duration : nil)
        } else {
          let start = try MediaTime(place: moved(old.start.exact))
          try clips[index].place(
            at: start.rounded(if: old.start.hasBeenRounded), rate: rate, lasting: fills ? duration : nil)
        }
      }
      last = (old.end, clips[index].target.end)
    }
  }

  /// Splits the clip that plays at `time`, unless it starts there. The two halves play as the whole did.
  private mutating func split(at time: MediaTime) throws(EditingError) {
    guard let index = clips.firstIndex(where: { $0.target.start < time && time < $0.target.end }) else { return }
    let clip = clips[index]
    let halves = try mapErrors(to: EditingError.time) { () throws(TimeError) in try clip.halves(at: time) }
    clips.replaceSubrange(index...index, with: halves)
  }
}

extension Clip {
  /// The parts before and after a time within the clip.
  fileprivate func halves(at time: MediaTime) throws(TimeError) -> [Clip] {
    var (first, second) = (self, self)
    first.target = try target.part(from: target.start, to: time)
    second.target = try target.part(from: time, to: target.end)
    (first.pan, second.pan) = try pan?.parts(before: time) ?? (nil, nil)
    (first.volume, second.volume) = try volume?.parts(before: time) ?? (nil, nil)
    guard !source.isEmpty else { return [first, second] }
    if let speed = retiming?.speed {
      let middle = try MediaTime(sourceTime(at: time))
      let before = try MediaTimeRange(start: source.start, end: middle)
      let after = try MediaTimeRange(start: middle, end: source.end)
      (first.source, second.source) = retiming.isReversed ? (after, before) : (before, after)
      second.retiming?.speed = try speed.suffix(from: time - target.start)
      return [first, second]
    }
    // Each plays its share of the source, at its own speed exactly as long as it lasts.
    let speed = try source.duration / target.duration
    func share(_ part: MediaTimeRange) throws(TimeError) -> MediaTime {
      speed == .one ? part.duration : try MediaTime(stored: part.duration.exact * speed)
    }
    let (played, rest) = (try share(first.target), try share(second.target))
    let earlier = try MediaTimeRange(start: source.start, duration: retiming.isReversed ? rest : played)
    let later = try MediaTimeRange(
      start: MediaTime(stored: source.start.exact + earlier.duration.exact),
      duration: retiming.isReversed ? played : rest)
    (first.source, second.source) = retiming.isReversed ? (later, earlier) : (earlier, later)
    return [first, second]
  }

  /// Gives the clip, and what changes over it, another place on the composition's timeline.
  /// - Parameters:
  ///   - rate: how many times as long as before it lasts.
  ///   - duration: how long it lasts, if that is known exactly.
  fileprivate mutating func place(
    at start: MediaTime, rate: Rational, lasting duration: MediaTime?
  ) throws(TimeError) {
    let (before, after) = (try target.start.exact, try start.exact)
    let scaled = rate == .one ? target.duration : try MediaTime(stored: target.duration.exact * rate)
    target = try MediaTimeRange(placing: start, lasting: duration ?? scaled)
    if rate != .one, let speed = retiming?.speed { retiming?.speed = try speed.lasting(rate) }
    func moved(_ list: RampList) throws(TimeError) -> RampList {
      var ramps = list.ramps
      for index in ramps.indices where RampList.earliest < ramps[index].over.start {
        let over = ramps[index].over
        ramps[index].over = try MediaTimeRange(
          start: MediaTime(stored: after + (over.start.exact - before) * rate),
          duration: MediaTime(stored: over.duration.exact * rate))
      }
      return RampList(ramps)
    }
    pan = try pan.map(moved)
    volume = try volume.map(moved)
  }
}

/// A range of an asset, to be inserted into a track.
public struct AssetRange: Sendable, Hashable {
  /// The name of the asset in the edit.
  public var asset: AssetID
  /// The result of probing the asset.
  public var contents: AssetDescription
  /// On the asset's timeline. For a still image only the duration matters.
  public var range: MediaTimeRange

  public init(asset: AssetID, contents: AssetDescription, range: MediaTimeRange) {
    self.asset = asset
    self.contents = contents
    self.range = range
  }

  /// The whole of an asset that has a duration of its own.
  public init(whole asset: AssetID, contents: AssetDescription) throws(EditingError) {
    self.init(
      asset: asset, contents: contents,
      range: try mapErrors(to: EditingError.time) { () throws(TimeError) in
        try MediaTimeRange(start: .zero, duration: contents.duration)
      })
  }

  /// The clip that plays `track` of the asset at its natural rate from `start` on.
  func clip(_ track: TrackDescription, at start: MediaTime) throws(EditingError) -> Clip {
    if range.isEmpty { throw .emptyRange(range) }
    let target = try mapErrors(to: EditingError.time) { () throws(TimeError) in
      try MediaTimeRange(placing: start, lasting: range.duration)
    }
    if track.video?.isStill == true {
      let moment = try mapErrors(to: EditingError.time) { () throws(TimeError) in
        try MediaTimeRange(start: .zero, duration: .zero)
      }
      return clip(track, source: moment, target: target)
    }
    guard .zero <= range.start, range.end <= contents.duration else {
      throw .beyondAsset(range, of: asset, duration: contents.duration)
    }
    return clip(track, source: range, target: target)
  }

  private func clip(_ track: TrackDescription, source: MediaTimeRange, target: MediaTimeRange) -> Clip {
    var clip = Clip(asset: asset, sourceTrack: track.index, source: source, target: target)
    if contents.defaultTrack(track.type)?.index != track.index {
      clip.trackNumber = contents.tracks.filter { $0.type == track.type }.firstIndex { $0.index == track.index }
    }
    return clip
  }
}
