import CompositionModel
import EditDocument

// The clips of a document's track, each at its place, and the items of a timeline's track that they are.

extension TimelineOfDocument {
  /// A clip with all that is shown of it, also in its transitions.
  struct PlacedClip {
    var written: Document.Clip
    var clip: TimelineClip
    var start: Rational
    var end: Rational
    /// How long the clip before it is shown with it; zero after a cut.
    var overlap: Rational
    var hasSound: Bool
    var place: String
    /// Whether it is a picture that is nothing but transparent.
    var isEmpty: Bool
    var fades: (in: (Rational, Document.ClipTransition)?, out: (Rational, Document.ClipTransition)?)
  }

  /// Those whose times are known.
  mutating func placed(
    _ track: Document.MediaTrack, at pointer: JSONPointer, mayNote: Bool
  ) throws(TimeError) -> [PlacedClip] {
    var placed: [PlacedClip] = []
    var previous: Rational? = .zero
    for (index, clip) in track.clips.enumerated() {
      let place = pointer.key("clips").index(index).text
      let found = try self.placed(clip, after: previous, isFirst: index == 0, on: track, at: place, mayNote: mayNote)
      if let found {
        placed += found
      } else if mayNote {
        note(
          place, "the clip of '\(clip.asset)'",
          "not taken: how long it lasts or when it starts is not known without its media")
      }
      previous = found?.last?.end
    }
    return placed
  }

  /// The turns of a clip. Nil: its times are not known.
  private mutating func placed(
    _ written: Document.Clip, after previous: Rational?, isFirst: Bool, on track: Document.MediaTrack,
    at place: String, mayNote: Bool
  ) throws(TimeError) -> [PlacedClip]? {
    let source = try source(of: written)
    let isStill = source.isStill
    let natural = try used(written, source.length, isStill: isStill)
    // Where it starts, and for how long it overlaps the clip before it.
    let overlap = try written.transition?.duration.flatMap { time throws(TimeError) in try clock.seconds(time) }
    var start: Rational?
    if let at = written.at {
      start = try clock.seconds(at)
    } else if written.transition != nil, let previous {
      start = try previous - (overlap ?? .one)
    } else {
      start = previous
    }
    guard let start else { return nil }
    var length = try written.duration.flatMap { time throws(TimeError) in try clock.seconds(time) } ?? natural?.duration
    if let until = written.until ?? (written.loop == true && written.duration == nil ? .film : nil) {
      let end: Rational?
      switch until {
      case .film: end = clock.end
      case .time(let time): end = try clock.seconds(time)
      }
      guard let end else { return nil }
      let rest = try end - start
      length = written.loop == true ? rest : min(length ?? rest, rest)
    }
    guard let length, .zero < length else { return nil }
    var clip = TimelineClip(
      name: written.name ?? written.asset, source: source.source, start: .zero, duration: length,
      place: pointer + place)
    let settings = written.withoutTimes
    let isHeard = track.type == .audio || !separatesSound && track.sound != false
    clip.settings = isHeard ? settings : settings.ofPicture
    if isHeard, track.type != .audio, written.sound == .drop { clip.settings.sound = .drop }
    var turn = length
    if let natural, !isStill {
      clip.start = natural.start
      if written.freeze != nil {
        clip.motion = .frozen
      } else {
        var speed = try natural.length / natural.duration
        if written.duration != nil, written.loop != true { speed = try natural.length / length }
        if written.loop == true { turn = natural.duration }
        let part = try length * speed
        // Backwards, a clip that is cut plays the end of what it uses.
        if written.reverse == true, written.loop != true { clip.start = try natural.start + natural.length - part }
        clip.motion = .speed(written.reverse == true ? -speed : speed)
      }
    }
    // By the clock of its media.
    if case .media(let reference) = source.source, let available = reference.available {
      clip.start = try clip.start + available.start
    }
    if mayNote { noteSettings(of: written, source, clip, on: track, at: place) }
    var placed: [PlacedClip] = []
    var from = start
    let end = try start + length
    while from < end {
      var part = clip
      part.duration = try min(turn, end - from)
      if part.duration < turn, written.reverse == true {
        part.start = try clip.start + (turn - part.duration) * clip.speed.magnitude
      }
      placed.append(
        PlacedClip(
          written: written, clip: part, start: from, end: try from + part.duration, overlap: .zero,
          hasSound: source.hasSound, place: pointer + place, isEmpty: source.isEmpty, fades: (nil, nil)))
      from = try from + part.duration
    }
    if written.transition != nil, !isFirst, let previous { placed[0].overlap = max(.zero, try previous - start) }
    placed[0].fades.in = try fade(written.fadeIn, written.in)
    placed[placed.count - 1].fades.out = try fade(written.fadeOut, written.out)
    return placed
  }

  private func fade(
    _ fade: Document.Fade?, _ transition: Document.ClipTransition?
  ) throws(TimeError) -> (Rational, Document.ClipTransition)? {
    if let fade, let duration = try clock.seconds(fade.duration) {
      var made = Document.ClipTransition()
      made.sound = fade.curve
      return (duration, made)
    }
    guard let transition else { return nil }
    return (try transition.duration.flatMap { time throws(TimeError) in try clock.seconds(time) } ?? .one, transition)
  }

  /// The part of its asset that a clip uses, and how long that lasts. Nil: it is not known, or has no length.
  private func used(
    _ clip: Document.Clip, _ whole: Rational?, isStill: Bool
  ) throws(TimeError) -> (start: Rational, length: Rational, duration: Rational)? {
    if let freeze = clip.freeze {
      return try clock.seconds(freeze, end: whole).map { ($0, .one, .one) }
    }
    guard
      let range = try clip.use.map({ range throws(TimeError) in try clock.range(range, end: whole) })
        ?? (isStill ? nil : whole.map { (.zero, $0) })
    else { return nil }
    let length = try range.end - range.start
    guard .zero < length else { return nil }
    switch clip.speed {
    case nil: return (range.start, length, length)
    case .constant(let speed): return (range.start, length, try length / speed)
    case .points: return clip.duration == nil ? nil : (range.start, length, length)
    }
  }

  // MARK: Items

  /// The items of a track: what only transitions show is theirs.
  mutating func items(_ clips: [PlacedClip]) throws(TimeError) -> [TimelineItem] {
    var items: [TimelineItem] = []
    var place = Rational.zero
    for (index, clip) in clips.enumerated() where !clip.isEmpty {
      let next = index + 1 < clips.count ? clips[index + 1] : nil
      let joint = try halves(of: clip.overlap)
      let exit = try halves(of: next?.overlap ?? .zero)
      let start = try clip.start + joint.before
      let isApart = place < start
      if isApart { items.append(.gap(try start - place)) }
      if let transition = clip.written.transition, .zero < clip.overlap {
        items.append(.transition(self.transition(transition, joint.before, joint.after, clip.place)))
      } else if let (duration, transition) = clip.fades.in {
        // A transition beside a clip would show that one longer.
        if !isApart, !items.isEmpty { items.append(.gap(.zero)) }
        items.append(.transition(self.transition(transition, .zero, duration, clip.place)))
      }
      if let trimmed = try clip.clip.trimmed(head: joint.before, tail: exit.after) { items.append(.clip(trimmed)) }
      place = try clip.end - exit.after
      if let (duration, transition) = clip.fades.out, next?.overlap ?? .zero == .zero {
        items.append(.transition(self.transition(transition, duration, .zero, clip.place)))
        if let next, next.start <= place, !next.isEmpty, next.fades.in == nil { items.append(.gap(.zero)) }
      }
    }
    if let last = clips.last, last.isEmpty, place < last.end { items.append(.gap(try last.end - place)) }
    return items
  }

  private func transition(
    _ written: Document.ClipTransition, _ before: Rational, _ after: Rational, _ place: String
  ) -> TimelineTransition {
    TimelineTransition(
      name: written.style.kind?.rawValue ?? "", before: before, after: after, style: written.style,
      curve: written.sound, place: place)
  }

  /// The parts of a transition before and after the cut, which is in its middle, between two frames.
  private func halves(of overlap: Rational) throws(TimeError) -> (before: Rational, after: Rational) {
    guard .zero < overlap else { return (.zero, .zero) }
    let half = try overlap / Rational(2)
    guard let rate = clock.rate else { return (half, half) }
    let before = try Rational((half * rate).floor) / rate
    return (before, try overlap - before)
  }
}
