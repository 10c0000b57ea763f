// What of a file can be copied into a film without being decoded.

extension Clip {
  /// What is copied of the clip into a film of a part of the composition, on the film's timeline. Nil: nothing, as
  /// where the file has nothing stored, or of less than a tick of its times. The source is exact only of a clip that
  /// plays at its own speed.
  package func copiedPart(_ range: MediaTimeRange, of track: TrackDescription) throws(TimeError) -> Clip? {
    let (start, end) = (max(target.start, range.start), min(target.end, range.end))
    guard start < end else { return nil }
    var part = self
    part.target = try target.part(from: start, to: end).shifted(by: .zero - range.start)
    if part.target.isEmpty { return nil }
    if source.duration == target.duration {
      part.source = try MediaTimeRange(
        start: source.start + (start - target.start), duration: part.target.duration)
    }
    // A still picture is always there.
    if track.range.isEmpty { return part }
    let isStored = part.source.start < track.range.end && track.range.start < part.source.end
    let ticks = try [part.source.start, part.source.end].map { (time) throws(TimeError) in
      try (time / track.timebase).rounded
    }
    return isStored && ticks[0] < ticks[1] ? part : nil
  }
}

extension TrackDescription {
  /// The stored timestamp of the picture that is shown at a time. Nil for a track without pictures.
  package func firstFrame(in time: MediaTime) throws(TimeError) -> Int64? {
    guard let video else { return nil }
    let tick = try StoredTime.lastTick(
      dueAt: time.exact, timebase: timebase, origin: origin, isRounded: hasRoundedTimes, cadence: video.cadence)
    return video.frames.last(atOrBefore: tick) ?? video.frames.first
  }

  /// The stored timestamp of the first picture that is not shown before a time. Nil if there is none.
  package func firstFrame(from time: MediaTime) throws(TimeError) -> Int64? {
    guard let video, let shown = try firstFrame(in: time) else { return nil }
    let stored = try timebase.exact * Rational(shown - origin)
    // A picture that begins to be shown at this time, within the rounding of the container.
    let isBegun = hasRoundedTimes ? try stored + timebase.exact >= time.exact : try stored >= time.exact
    if isBegun { return shown }
    return video.frames.first(after: shown)
  }
}

extension VideoFormat {
  /// Whether decoding can start at a picture: at a keyframe, or at the head of the file, unless that is hidden.
  package func isStart(_ pts: Int64?) -> Bool {
    guard let pts else { return false }
    let index = keyframes.partitionPoint { pts <= $0.pts }
    if pts == frames.first, index == 0 { return true }
    return index < keyframes.count && keyframes[index].pts == pts
  }
}
