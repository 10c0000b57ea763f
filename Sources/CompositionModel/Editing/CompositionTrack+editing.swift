/// AVFoundation's verbs on one track (FEATURES F12, F14–F16). Each either does all that it says or throws and changes
/// nothing; each is exact.
extension CompositionTrack {
  /// Puts a range of an asset's default track at `time`, at its natural rate. What plays at `time` is split, and
  /// everything after it moves later. An invalid time appends; a time after the end leaves a gap.
  public mutating func insert(_ range: AssetRange, at time: MediaTime = .invalid) throws(EditingError) {
    try insert([range], at: time)
  }

  /// Puts several ranges one after the other at `time`: all of them or none.
  public mutating func insert(_ ranges: [AssetRange], at time: MediaTime = .invalid) throws(EditingError) {
    var edited = self
    var place = try place(time, end: end)
    for range in ranges {
      guard let track = range.description.defaultTrack(type) else { throw .noTrack(type, of: range.asset) }
      let clip = try range.clip(track, at: place)
      try edited.open(at: place, for: range.range.duration)
      edited.place(clip)
      place = clip.target.end
    }
    self = edited
  }

  /// Puts a gap in; what plays at its start is split, and everything after it moves later by its duration.
  public mutating func insertEmpty(_ range: MediaTimeRange) throws(EditingError) {
    if range.isEmpty { throw .emptyRange(range) }
    var edited = self
    try edited.open(at: try place(range.start, end: end), for: range.duration)
    self = edited
  }

  /// Takes a range out. What it meets is cut, and everything after it moves earlier by its duration.
  public mutating func remove(_ range: MediaTimeRange) throws(EditingError) {
    if range.isEmpty { return }
    var edited = self
    try edited.split(at: range.start)
    try edited.split(at: range.end)
    edited.clips.removeAll { range.contains($0.target) }
    let back = try editing { () throws(TimeError) in try .zero - range.duration }
    try edited.move(from: range.end, by: back)
    self = edited
  }

  /// Makes a range last `duration`: what is in it plays faster or slower, its gaps shrink or grow with it, and
  /// everything after it moves.
  public mutating func scale(_ range: MediaTimeRange, to duration: MediaTime) throws(EditingError) {
    if range.isEmpty { throw .emptyRange(range) }
    guard duration.isNumeric, .zero < duration else { throw .outsideTimeline(duration) }
    var edited = self
    try edited.split(at: range.start)
    try edited.split(at: range.end)
    let rate = try editing { () throws(TimeError) in try duration / range.duration }
    let offset = try editing { () throws(TimeError) in try duration - range.duration }
    for index in edited.clips.indices where range.start <= edited.clips[index].target.start {
      let target = edited.clips[index].target
      edited.clips[index].target = try editing { () throws(TimeError) in
        if range.end <= target.start { return try target.shifted(by: offset) }
        let start = try range.start + (target.start - range.start) * rate
        return try MediaTimeRange(start: start, duration: target.duration * rate)
      }
    }
    self = edited
  }

  // MARK: Steps

  /// Where an insertion at `time` goes.
  private func place(_ time: MediaTime, end: MediaTime) throws(EditingError) -> MediaTime {
    if !time.isValid { return end }
    guard time.isNumeric, .zero <= time else { throw .outsideTimeline(time) }
    return time
  }

  /// Makes room at `time`.
  mutating func open(at time: MediaTime, for duration: MediaTime) throws(EditingError) {
    try split(at: time)
    try move(from: time, by: duration)
  }

  /// Adds a clip where there is room for it.
  mutating func place(_ clip: Clip) {
    let index = clips.firstIndex { clip.target.start < $0.target.start } ?? clips.count
    clips.insert(clip, at: index)
  }

  private mutating func move(from time: MediaTime, by offset: MediaTime) throws(EditingError) {
    for index in clips.indices where time <= clips[index].target.start {
      clips[index].target = try editing { () throws(TimeError) in try clips[index].target.shifted(by: offset) }
    }
  }

  /// Makes two clips of the one that plays at `time`, if it started before; they play as it did.
  private mutating func split(at time: MediaTime) throws(EditingError) {
    guard let index = clips.firstIndex(where: { $0.target.start < time && time < $0.target.end }) else { return }
    let clip = clips[index]
    let halves = try editing { () throws(TimeError) in
      var (first, second) = (clip, clip)
      first.target = try MediaTimeRange(start: clip.target.start, end: time)
      second.target = try MediaTimeRange(start: time, end: clip.target.end)
      if !clip.source.isEmpty {
        let middle = try MediaTime(clip.sourceTime(at: time))
        first.source = try MediaTimeRange(start: clip.source.start, end: middle)
        second.source = try MediaTimeRange(start: middle, end: clip.source.end)
      }
      return [first, second]
    }
    clips.replaceSubrange(index...index, with: halves)
  }
}
