/// AVFoundation's edits of one track. Each is exact. An edit that throws changes nothing.
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
      guard let track = range.description.defaultTrack(type) else { throw .noTrack(type, of: range.asset) }
      let clip = try range.clip(track, at: place)
      try edited.open(at: place, for: range.range.duration)
      edited.place(clip)
      place = clip.target.end
    }
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
    var edited = self
    try edited.split(at: range.start)
    try edited.split(at: range.end)
    edited.clips.removeAll { range.contains($0.target) }
    let back = try mapErrors(to: EditingError.time) { () throws(TimeError) in try .zero - range.duration }
    try edited.move(from: range.end, by: back)
    self = edited
  }

  /// Changes the duration of a range. Clips in it play faster or slower, gaps in it shrink or grow, and everything
  /// after it moves.
  public mutating func scale(_ range: MediaTimeRange, to duration: MediaTime) throws(EditingError) {
    if range.isEmpty { throw .emptyRange(range) }
    guard duration.isNumeric, .zero < duration else { throw .outsideTimeline(duration) }
    var edited = self
    try edited.split(at: range.start)
    try edited.split(at: range.end)
    let rate = try mapErrors(to: EditingError.time) { () throws(TimeError) in try duration / range.duration }
    let offset = try mapErrors(to: EditingError.time) { () throws(TimeError) in try duration - range.duration }
    let start = range.start
    for index in edited.clips.indices where start <= edited.clips[index].target.start {
      guard edited.clips[index].target.start < range.end else {
        try edited.clips[index].move(by: offset)
        continue
      }
      try mapErrors(to: EditingError.time) { () throws(TimeError) in
        try edited.clips[index].place { (range) throws(TimeError) in
          try MediaTimeRange(start: start + (range.start - start) * rate, duration: range.duration * rate)
        }
        if let speed = edited.clips[index].retiming?.speed {
          edited.clips[index].retiming?.speed = try speed.lasting(rate)
        }
      }
    }
    self = edited
  }

  // MARK: Steps of an edit

  /// The place of an insertion at `time`.
  private func insertionTime(_ time: MediaTime) throws(EditingError) -> MediaTime {
    if !time.isValid { return end }
    guard time.isNumeric, .zero <= time else { throw .outsideTimeline(time) }
    return time
  }

  /// Makes a gap at `time`.
  mutating func open(at time: MediaTime, for duration: MediaTime) throws(EditingError) {
    try split(at: time)
    try move(from: time, by: duration)
  }

  /// Adds a clip, which must not overlap another.
  mutating func place(_ clip: Clip) {
    let index = clips.firstIndex { clip.target.start < $0.target.start } ?? clips.count
    clips.insert(clip, at: index)
  }

  private mutating func move(from time: MediaTime, by offset: MediaTime) throws(EditingError) {
    for index in clips.indices where time <= clips[index].target.start {
      try clips[index].move(by: offset)
    }
  }

  /// Splits the clip that plays at `time`, unless it starts there. The two halves play as the whole did.
  private mutating func split(at time: MediaTime) throws(EditingError) {
    guard let index = clips.firstIndex(where: { $0.target.start < time && time < $0.target.end }) else { return }
    let clip = clips[index]
    let halves = try mapErrors(to: EditingError.time) { () throws(TimeError) in
      var (first, second) = (clip, clip)
      first.target = try MediaTimeRange(start: clip.target.start, end: time)
      second.target = try MediaTimeRange(start: time, end: clip.target.end)
      if !clip.source.isEmpty {
        let middle = try MediaTime(clip.sourceTime(at: time))
        let before = try MediaTimeRange(start: clip.source.start, end: middle)
        let after = try MediaTimeRange(start: middle, end: clip.source.end)
        (first.source, second.source) = clip.retiming.isReversed ? (after, before) : (before, after)
        if let speed = clip.retiming?.speed {
          second.retiming?.speed = try speed.suffix(from: time - clip.target.start)
        }
      }
      return [first, second]
    }
    clips.replaceSubrange(index...index, with: halves)
  }
}

extension Clip {
  fileprivate mutating func move(by offset: MediaTime) throws(EditingError) {
    try mapErrors(to: EditingError.time) { () throws(TimeError) in
      try place { (range) throws(TimeError) in try range.shifted(by: offset) }
    }
  }

  /// Gives the clip, and what changes over it, other places on the composition's timeline.
  fileprivate mutating func place(
    _ placed: (MediaTimeRange) throws(TimeError) -> MediaTimeRange
  ) throws(TimeError) {
    target = try placed(target)
    guard var ramps = pan?.ramps else { return }
    for index in ramps.indices where RampList.earliest < ramps[index].over.start {
      ramps[index].over = try placed(ramps[index].over)
    }
    pan = RampList(ramps)
  }
}

/// A range of an asset, to be inserted into a track.
public struct AssetRange: Sendable, Hashable {
  /// The name of the asset in the edit.
  public var asset: AssetID
  /// The result of probing the asset.
  public var description: AssetDescription
  /// On the asset's timeline. For a still image only the duration matters.
  public var range: MediaTimeRange

  public init(asset: AssetID, description: AssetDescription, range: MediaTimeRange) {
    self.asset = asset
    self.description = description
    self.range = range
  }

  /// The whole of an asset that has a duration of its own.
  public init(whole asset: AssetID, description: AssetDescription) throws(EditingError) {
    self.init(
      asset: asset, description: description,
      range: try mapErrors(to: EditingError.time) { () throws(TimeError) in
        try MediaTimeRange(start: .zero, duration: description.duration)
      })
  }

  /// The clip that plays `track` of the asset at its natural rate from `start` on.
  func clip(_ track: TrackDescription, at start: MediaTime) throws(EditingError) -> Clip {
    if range.isEmpty { throw .emptyRange(range) }
    let target = try mapErrors(to: EditingError.time) { () throws(TimeError) in
      try MediaTimeRange(start: start, duration: range.duration)
    }
    if track.video?.isStill == true {
      let moment = try mapErrors(to: EditingError.time) { () throws(TimeError) in
        try MediaTimeRange(start: .zero, duration: .zero)
      }
      return clip(track, source: moment, target: target)
    }
    guard .zero <= range.start, range.end <= description.duration else {
      throw .beyondAsset(range, of: asset, duration: description.duration)
    }
    return clip(track, source: range, target: target)
  }

  private func clip(_ track: TrackDescription, source: MediaTimeRange, target: MediaTimeRange) -> Clip {
    var clip = Clip(asset: asset, sourceTrack: track.index, source: source, target: target)
    if description.defaultTrack(track.type)?.index != track.index {
      clip.trackNumber = description.tracks.filter { $0.type == track.type }.firstIndex { $0.index == track.index }
    }
    return clip
  }
}
