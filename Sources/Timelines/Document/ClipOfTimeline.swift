import CompositionModel
import EditDocument

// A clip of a timeline as one of a document.

extension DocumentOfTimeline {
  /// How long a clip could be shown before its start and after its end, on its track. Nil: for any time.
  struct Room {
    var head: Rational?
    var tail: Rational?
  }

  /// The part of a clip's source that is used, on the source's own timeline, which starts at 0.
  private func used(_ clip: TimelineClip) throws(TimeError) -> (start: Rational, end: Rational, whole: Rational?) {
    var (origin, whole): (Rational, Rational?) = (.zero, nil)
    switch clip.source {
    case .media(let reference):
      let facts = media.facts(of: TimelineMedia.Key(reference, clip: clip.name))
      if let available = reference.available {
        (origin, whole) = (available.start, available.duration ?? facts?.duration)
      } else {
        // A clip counts from its file's timecode, or, where it starts before that, from the file's start.
        if let timecode = facts?.timecode, timecode <= clip.start { origin = timecode }
        whole = facts?.duration
      }
    case .timeline(let timeline): whole = try timeline.duration
    case .picture: break
    }
    let start = try clip.start - origin
    return (start, try start + clip.duration * clip.speed.magnitude, whole)
  }

  func room(of clip: TimelineClip) throws(TimeError) -> Room {
    let speed = clip.speed
    guard speed != .zero, !isStill(clip) else { return Room() }
    let (start, end, whole) = try used(clip)
    let before = max(.zero, try start / speed.magnitude)
    let after = try whole.map { whole throws(TimeError) in max(.zero, try (whole - end) / speed.magnitude) }
    return speed < .zero ? Room(head: after, tail: before) : Room(head: before, tail: after)
  }

  private func isStill(_ clip: TimelineClip) -> Bool {
    switch clip.source {
    case .picture: true
    case .timeline: false
    case .media(let reference):
      media.facts(of: TimelineMedia.Key(reference, clip: clip.name))?.isStill
        ?? MediaPath.isStill(reference.path.isEmpty ? clip.name : reference.path)
    }
  }

  /// - Parameters:
  ///   - head: How much earlier it starts.
  ///   - tail: How much later it ends.
  mutating func clip(
    _ clip: TimelineClip, _ asset: AssetID, head: Rational, tail: Rational, _ part: inout DocumentPart
  ) throws(TimeError) -> Document.Clip {
    place = clip.place
    var made = clip.settings
    made.asset = asset
    made.name = name(of: clip, asset, &part)
    let duration = try clip.duration + head + tail
    let speed = clip.speed
    if isStill(clip) {
      made.duration = try duration.documentTime
      return made
    }
    var (start, end, _) = try used(clip)
    if speed < .zero {
      (start, end) = (try start + speed * tail, try end - speed * head)
    } else {
      (start, end) = (try start - speed * head, try end + speed * tail)
    }
    if start < .zero {
      note(
        clip.place, "the clip '\(clip.name)'",
        "from the start of its media: it starts \(seconds(try MediaTime(-start))) before that")
      (start, end) = (.zero, try end - start)
    }
    guard speed != .zero else {
      made.freeze = try start.documentTime
      made.duration = try duration.documentTime
      return made
    }
    made.use = Document.TimeRange(from: try start.documentTime, to: try end.documentTime)
    if speed.magnitude != .one { made.duration = try duration.documentTime }
    if speed < .zero { made.reverse = true }
    return made
  }

  /// A name that says more than that of the asset, as a document can have it.
  private mutating func name(of clip: TimelineClip, _ asset: AssetID, _ part: inout DocumentPart) -> String? {
    let file = part.document.assets[asset].map(MediaPath.name)
    guard !clip.name.isEmpty, clip.name != asset, clip.name != file, clip.name != file.map(MediaPath.stem) else {
      return nil
    }
    let name = part.names.clip(clip.name)
    if name != clip.name { note(clip.place, "the clip '\(clip.name)'", "its name is '\(name)' in the document") }
    return name
  }
}
