import CompositionModel

// Parts of timelines.

extension Timeline {
  /// What is shown from a time on, for a time; after its end nothing. Nil: one of both ends is within a transition.
  func trimmed(from start: Rational, for duration: Rational) throws(TimeError) -> Timeline? {
    var part = self
    part.tracks = []
    for track in tracks {
      guard let trimmed = try track.trimmed(from: start, to: start + duration) else { return nil }
      part.tracks.append(trimmed)
    }
    part.markers = []
    for var marker in markers {
      marker.time = try marker.time - start
      part.markers.append(marker)
    }
    return try part.padded(to: duration)
  }

  /// The same with nothing after its end, if it is shorter.
  func padded(to duration: Rational) throws(TimeError) -> Timeline {
    let missing = try duration - self.duration
    guard .zero < missing, let first = tracks.first else { return self }
    var padded = self
    padded.tracks[0].items.append(.gap(try duration - first.duration))
    return padded
  }
}

extension TimelineTrack {
  fileprivate func trimmed(from start: Rational, to end: Rational) throws(TimeError) -> TimelineTrack? {
    var part = self
    part.items = []
    var place = Rational.zero
    if start < .zero { part.items.append(.gap(-start)) }
    for item in items {
      let next = try place + item.duration
      switch item {
      case .transition(let transition):
        let (first, last) = (try place - transition.before, try place + transition.after)
        for edge in [start, end] where first < edge && edge < last { return nil }
        if start <= first, last <= end { part.items.append(item) }
      case .gap:
        let (first, last) = (max(start, place), min(end, next))
        if first < last { part.items.append(.gap(try last - first)) }
      case .clip(let clip):
        if let trimmed = try clip.trimmed(head: max(.zero, start - place), tail: max(.zero, next - end)) {
          part.items.append(.clip(trimmed))
        }
      }
      place = next
    }
    return part
  }
}

extension TimelineClip {
  /// Without so much of its start and its end. Nil: nothing is left.
  func trimmed(head: Rational, tail: Rational) throws(TimeError) -> TimelineClip? {
    var part = self
    part.duration = try duration - head - tail
    guard .zero < part.duration else { return nil }
    // Backwards, the end of the media is played first.
    part.start = try start + (speed < .zero ? tail : head) * speed.magnitude
    part.markers = []
    for var marker in markers {
      marker.time = try marker.time - head
      part.markers.append(marker)
    }
    return part
  }
}
