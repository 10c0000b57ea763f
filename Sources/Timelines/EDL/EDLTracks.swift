import CompositionModel
import EditDocument

/// The events of an EDL as tracks: each event is on its tracks at its time of the record side.
struct EDLTracks {
  private let events: [EDLReader.Event]
  private let rate: Rational

  init(_ events: [EDLReader.Event], rate: Rational) { (self.events, self.rate) = (events, rate) }

  func timeline(_ notes: inout TimelineNotes) throws(TimeError) -> Timeline {
    let start = events.map(\.record.lowerBound).min() ?? 0
    var timeline = Timeline(name: "", rate: rate)
    timeline.startTime = try seconds(start)
    var own: [String: [EDLReader.Event]] = [:]
    for event in events { for name in event.tracks { own[name, default: []].append(event) } }
    for name in own.keys.sorted(by: { ($0.first == "V" ? 0 : 1, $0) < ($1.first == "V" ? 0 : 1, $1) }) {
      timeline.tracks.append(try track(name, own[name] ?? [], from: start, &notes))
    }
    return timeline
  }

  private func seconds(_ frames: Int) throws(TimeError) -> Rational { try Rational(frames) / rate }

  private func track(
    _ name: String, _ events: [EDLReader.Event], from start: Int, _ notes: inout TimelineNotes
  ) throws(TimeError) -> TimelineTrack {
    var track = TimelineTrack(name: name, type: name.hasPrefix("V") ? .video : .audio)
    var place = start
    /// The event that is dissolved from, which has no length of its own.
    var outgoing: EDLReader.Event?
    var last: EDLReader.Event?
    // Lists are also in the order of their sources.
    let ordered = events.enumerated().sorted {
      ($0.element.record.lowerBound, $0.offset) < ($1.element.record.lowerBound, $1.offset)
    }
    for (_, event) in ordered {
      if event.record.isEmpty {
        if let outgoing { Self.noteEmpty(outgoing, &notes) }
        outgoing = event
        continue
      }
      if event.transition.length == 0, let outgoing { Self.noteEmpty(outgoing, &notes) }
      defer { (last, outgoing) = (event, nil) }
      guard place <= event.record.lowerBound else {
        notes.add(event.place, "the event \(event.number)", "not taken: it begins before the one before it ends")
        continue
      }
      if place < event.record.lowerBound { track.items.append(.gap(try seconds(event.record.lowerBound - place))) }
      place = event.record.upperBound
      let length = event.transition.length
      var skipped = 0
      if length > 0 {
        var before = 0
        // What is dissolved from is mostly the clip before it, which is then shown for longer.
        let isContinued = outgoing == nil || last.map { Self.continues($0, outgoing) } == true
        if !isContinued, let outgoing, !outgoing.isBlack {
          before = length / 2
          skipped = before
          var part = outgoing
          part.record = event.record.lowerBound..<event.record.lowerBound + before
          if let clip = try clip(part, &notes) { track.items.append(.clip(clip)) }
        } else if outgoing?.isBlack == true, last?.isBlack == false, last?.record.upperBound == event.record.lowerBound
        {
          // From nothing, right after a clip.
          track.items.append(.gap(.zero))
        }
        track.items.append(
          .transition(
            TimelineTransition(
              name: event.transition.style.kind?.rawValue ?? "", before: try seconds(before),
              after: try seconds(length - before), style: event.transition.style, place: event.place)))
      }
      let clip = try clip(event, skipping: skipped, &notes)
      let rest = try seconds(event.record.count - skipped)
      track.items.append(clip.map { .clip($0) } ?? .gap(rest))
    }
    if let outgoing { Self.noteEmpty(outgoing, &notes) }
    return track
  }

  private static func noteEmpty(_ event: EDLReader.Event, _ notes: inout TimelineNotes) {
    notes.add(event.place, "the event \(event.number)", "not taken: it has no length, and no transition follows it")
  }

  private static func continues(_ last: EDLReader.Event, _ next: EDLReader.Event?) -> Bool {
    guard let next else { return true }
    return last.reel == next.reel && last.record.upperBound == next.record.lowerBound
      && (last.isBlack || last.speed != nil || last.source.upperBound == next.source.lowerBound)
  }

  /// Nil: it is black.
  /// - Parameter skipping: Frames at its start that are left out.
  private func clip(
    _ event: EDLReader.Event, skipping: Int = 0, _ notes: inout TimelineNotes
  ) throws(TimeError) -> TimelineClip? {
    guard !event.isBlack else { return nil }
    let name = event.clipName ?? event.reel
    let frames = event.record.count - skipping
    guard frames > 0 else { return nil }
    let isFile = name.contains(".")
    let reference = MediaReference(path: event.path ?? (isFile ? name : ""), reel: event.reel)
    var clip = TimelineClip(
      name: name, source: .media(reference), start: try seconds(event.source.lowerBound), duration: try seconds(frames),
      place: event.place)
    if let speed = event.speed {
      clip.motion = speed == .zero ? .frozen : .speed(speed)
      clip.start = try clip.start + seconds(skipping) * speed.magnitude
    } else {
      clip.start = try clip.start + seconds(skipping)
      if !event.source.isEmpty, event.source.count != event.record.count {
        notes.add(
          event.place, "the event \(event.number)",
          "at its own speed for \(event.record.count) frames: it has \(event.source.count) of its source, and no M2")
      }
    }
    return clip
  }
}
