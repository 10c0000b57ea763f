import CompositionModel
import EditDocument

/// The events of a timeline's track.
struct EDLEvents {
  var notes = TimelineNotes()
  private(set) var reels = EDLReels()
  private let frames: TimelineFrames
  private let dropsFrames: Bool

  init(rate: Rational) {
    frames = TimelineFrames(rate: rate)
    dropsFrames = Timecode.dropsFrames(rate)
  }

  /// A clip on the film's frames.
  private struct Piece {
    var record: Range<Int>
    var source: EDLSource?
    var transition: TimelineTransition?
    var isFromClip: Bool
    var fadeOut: (length: Int, TimelineTransition)?
    var place: String
  }

  /// - Parameter end: That of the film: what is not filled is black. Nil: nothing is, as of sound.
  mutating func events(of track: TimelineTrack, to end: Rational?) throws(TimeError) -> [EDLEvent] {
    var pieces = try track.wholeClips.map { whole throws(TimeError) in try piece(whole) }
    // A transition begins where the clip before it ends.
    for index in pieces.indices.dropFirst() where pieces[index].isFromClip {
      let last = pieces[index - 1].record
      let next = max(last.lowerBound, min(last.upperBound, pieces[index].record.lowerBound))
      pieces[index - 1].record = last.lowerBound..<next
      pieces[index - 1].source = try pieces[index - 1].source?.cut(by: last.upperBound - next)
    }
    var events: [EDLEvent] = []
    if end != nil, let first = pieces.first?.record.lowerBound, first > 0 {
      events.append(EDLEvent(record: 0..<first, place: pieces[0].place))
    }
    for (index, piece) in pieces.enumerated() {
      var event = EDLEvent(record: piece.record, source: piece.source, place: piece.place)
      if let transition = piece.transition {
        let length = try nearest(transition.duration, transition.place, "the transition '\(transition.name)'")
        event.transition = word(transition, on: track.type)
        event.length = min(length, piece.record.count)
        if piece.isFromClip {
          let last = pieces[index - 1]
          event.outgoing = try last.source?.after(last.record.count)
        }
      }
      let fade = min(piece.fadeOut?.length ?? 0, piece.record.count - event.length)
      event.record = piece.record.lowerBound..<piece.record.upperBound - fade
      event.source = try piece.source?.cut(by: fade)
      if !event.record.isEmpty { events.append(event) }
      if let (_, transition) = piece.fadeOut, fade > 0 {
        var black = EDLEvent(record: event.record.upperBound..<piece.record.upperBound, place: transition.place)
        (black.transition, black.length) = (word(transition, on: track.type), fade)
        black.outgoing = try event.source?.after(event.record.count)
        events.append(black)
      }
    }
    if let end {
      let (film, shown) = (try nearest(end, "", "the end of the film"), events.last?.record.upperBound ?? 0)
      if shown < film { events.append(EDLEvent(record: shown..<film, place: "")) }
    }
    return events
  }

  private mutating func piece(_ whole: WholeClip) throws(TimeError) -> Piece {
    let clip = whole.clip
    let shown = "the clip '\(clip.name)'"
    for key in clip.settings.writtenKeys where key != "sound" {
      notes.add("\(clip.place)/\(key)", "'\(key)' of \(shown)", "not taken: an EDL has no such property")
    }
    let (first, last) = (
      try nearest(whole.start, clip.place, shown), try nearest(whole.end, clip.place, shown)
    )
    var piece = Piece(
      record: first..<max(first, last), transition: whole.transition ?? whole.fadeIn,
      isFromClip: whole.transition != nil, place: clip.place)
    piece.source = try source(of: clip, shown)
    if let fade = whole.fadeOut {
      piece.fadeOut = (try nearest(fade.duration, fade.place, "the transition '\(fade.name)'"), fade)
    }
    return piece
  }

  /// Nil: black.
  private mutating func source(of clip: TimelineClip, _ shown: String) throws(TimeError) -> EDLSource? {
    switch clip.source {
    case .picture(let picture):
      if picture != DrawnPicture(color: .black) {
        notes.add(clip.place, shown, "black: an EDL has no other picture that is drawn")
      }
      return nil
    case .timeline:
      notes.add(clip.place, shown, "black: an EDL has no document within another")
      return nil
    case .media(let reference):
      var source = EDLSource(
        reel: reels.name(of: reference), name: clip.name, path: reference.path, start: 0, dropsFrames: dropsFrames,
        place: clip.place)
      if let facts = reference.facts, facts.timecode != nil { source.dropsFrames = facts.dropsFrames }
      if reference.facts?.isStill ?? MediaPath.isStill(reference.path) { return source }
      source.start = try nearest(clip.start, clip.place, "the start of \(shown)")
      switch clip.motion {
      case .frozen: source.speed = .zero
      case .speed(.one): break
      case .speed(let speed):
        source.speed = try EDLSpeed.number(speed, rate: frames.rate).speed
        if source.speed != speed {
          notes.add(
            clip.place, "the speed of \(shown)",
            "\(plain(source.speed.approximate)) in place of \(plain(speed.approximate)): an EDL has six decimals")
        }
      }
      return source
    }
  }

  mutating func nearest(_ time: Rational, _ place: String, _ item: String) throws(TimeError) -> Int {
    let (count, isExact) = try frames.nearest(time)
    if !isExact { notes.add(place, item, "moved to the nearest frame: an EDL counts frames") }
    return count
  }

  /// The word for a transition, of which sound has the dissolve alone.
  private mutating func word(_ transition: TimelineTransition, on type: MediaType) -> String {
    if transition.curve != nil {
      notes.add(transition.place, "'sound' of the transition", "not taken: an EDL has no curves")
    }
    guard type == .video else { return "D" }
    if let word = EDLTransition.word(transition.style) { return word }
    notes.add(
      transition.place, "the transition '\(transition.name)'", "a dissolve: an EDL has no number for it")
    return "D"
  }
}
