import CompositionModel
import EditDocument

// The elements of a storyline as items of tracks.

extension FCPXMLReader {
  /// What an element is on its storyline's track. Sound alone is put on a track of its own.
  mutating func items(
    _ element: XMLElement, _ duration: Rational, at place: Rational, lane: Int, _ lanes: inout FCPXMLLanes
  ) throws(TimeError) -> [TimelineItem] {
    let name = element["name"] ?? ""
    let shown = "the \(element.name) '\(name)'"
    let empty = [TimelineItem.gap(duration)]
    guard element["enabled"] != "0" else {
      note(element, shown, "a gap: it is not enabled")
      return empty
    }
    switch element.name {
    case "gap": return empty
    case "title":
      try addTitle(element, duration, at: place, &lanes)
      return empty
    case "audition":
      for other in element.children.dropFirst() {
        note(other, "the \(other.name) '\(other["name"] ?? "")'", "not taken: it is not the pick of its audition")
      }
      guard let pick = element.children.first else { return empty }
      return try items(pick, duration, at: place, lane: lane, &lanes)
    case "asset-clip", "clip", "video", "audio", "ref-clip", "sync-clip", "mc-clip": break
    default:
      note(element, shown, "not taken: it is no element of a storyline that is read")
      return empty
    }
    guard let (source, local) = try source(of: element) else { return empty }
    let used = parts(element)
    var clips = try retimed(element, source, local, duration, name)
    for index in clips.indices { try setAppearance(of: &clips[index], element) }
    guard used.picture else {
      let run = FCPXMLLanes.Run(
        lane: lane, type: .audio, name: Self.role(of: element), start: place, items: clips.map { .clip($0) })
      lanes.runs.append(run)
      return empty
    }
    if !used.sound, used.hasSound { for index in clips.indices { clips[index].settings.sound = .drop } }
    return clips.map { .clip($0) }
  }

  /// That of its sound, without what is after a dot. Empty: it has none.
  static func role(of element: XMLElement) -> String {
    String((element["audioRole"] ?? element["role"] ?? "").prefix { $0 != "." })
  }

  /// Whether a picture and a sound of an element are used.
  func parts(_ element: XMLElement) -> (picture: Bool, sound: Bool, hasSound: Bool) {
    let asset = (element["ref"] ?? element.children.first { $0["ref"] != nil && $0["lane"] == nil }?["ref"])
      .flatMap { resources[$0] }
    var (picture, sound) = (element.name != "audio", element.name != "video")
    if let asset, asset.name == "asset" {
      picture = picture && asset["hasVideo"] != "0" && (asset["hasVideo"] != nil || asset["hasAudio"] == nil)
      sound = sound && asset["hasAudio"] == "1"
    }
    if element.name == "clip", !element.children.contains(where: { $0.name == "video" }) { picture = false }
    switch element["srcEnable"] {
    case "video": sound = false
    case "audio": picture = false
    default: break
    }
    return (picture, sound, asset.map { $0.name != "asset" || $0["hasAudio"] == "1" } ?? true)
  }

  /// What an element shows, and how the time of that comes from the element's own: by adding `local`. Nil: nothing,
  /// which is noted.
  private mutating func source(
    of element: XMLElement
  ) throws(TimeError) -> (source: TimelineClip.Source, local: Rational)? {
    let resource = element["ref"].flatMap { resources[$0] }
    switch (element.name, resource?.name) {
    case ("clip", _):
      guard let inner = element.children.first(where: { ["video", "audio"].contains($0.name) && $0["lane"] == nil }),
        let (source, local) = try source(of: inner)
      else { break }
      let (offset, start) = (try Self.time(inner["offset"]) ?? .zero, try Self.time(inner["start"]) ?? .zero)
      return (source, try local + start - offset)
    case ("sync-clip", _):
      return try nested(element).map { (.timeline($0), .zero) }
    case ("ref-clip", "media"):
      guard let sequence = resource?.child("sequence"), let timeline = try nested(sequence) else { break }
      return (.timeline(timeline), -(try Self.time(sequence["tcStart"]) ?? .zero))
    case ("mc-clip", "media"):
      let angles = resource?.child("multicam")?.children("mc-angle") ?? []
      let chosen = element.children("mc-source").first { $0["srcEnable"] != "audio" && $0["srcEnable"] != "none" }
      let angle = angles.first { $0["angleID"] == chosen?["angleID"] } ?? angles.first
      guard let angle, let timeline = try nested(angle) else { break }
      let start = try Self.time(resource?.child("multicam")?["tcStart"]) ?? .zero
      return (.timeline(timeline), -start)
    case (_, "asset"):
      guard let resource else { break }
      let source = resource["src"] ?? resource.children("media-rep").first?["src"] ?? ""
      let start = try Self.time(resource["start"]) ?? .zero
      let available = MediaReference.Available(start: start, duration: try Self.time(resource["duration"]))
      // A still picture has no length.
      let isStill = available.duration == .zero
      return (.media(MediaReference(path: source, available: isStill ? nil : available)), .zero)
    case (_, "effect"):
      note(
        element, "the generator '\(resource?["name"] ?? "")'", "a gap: what it draws is in Final Cut Pro alone")
      return nil
    default: break
    }
    note(
      element, "the \(element.name) '\(element["name"] ?? "")'", "a gap: there is no resource '\(element["ref"] ?? "")'"
    )
    return nil
  }

  private mutating func nested(_ sequence: XMLElement) throws(TimeError) -> Timeline? {
    guard depth < Timeline.greatestDepth else {
      note(
        sequence, "the compound clip",
        "a gap: compound clips are within each other more than \(Timeline.greatestDepth) deep")
      return nil
    }
    depth += 1
    defer { depth -= 1 }
    return try timeline(sequence)
  }

  // MARK: Speed

  /// The clips that an element is: several if its speed changes.
  private mutating func retimed(
    _ element: XMLElement, _ source: TimelineClip.Source, _ local: Rational, _ duration: Rational, _ name: String
  ) throws(TimeError) -> [TimelineClip] {
    var start = try Self.time(element["start"])
    if start == nil, case .media(let reference) = source, element.name != "clip" { start = reference.available?.start }
    let first = start ?? .zero
    let clip = TimelineClip(
      name: name, source: source, start: try first + local, duration: duration, place: element.place)
    var points: [(time: Rational, value: Rational)] = []
    for point in element.child("timeMap")?.children("timept") ?? [] {
      guard let time = try Self.time(point["time"]), let value = try Self.time(point["value"]) else { continue }
      points.append((time, value))
    }
    guard points.count >= 2 else { return [try conformed(clip, element, first)] }
    if element.child("timeMap")?.children("timept").contains(where: { $0["interp"]?.hasPrefix("smooth") == true })
      == true,
      points.count > 2
    {
      note(element, "the speed of '\(name)'", "changes at once: a smooth change is not taken")
    }
    var clips: [TimelineClip] = []
    let end = try first + duration
    for (index, (point, next)) in zip(points, points.dropFirst()).enumerated() where point.time < next.time {
      // The first and the last speed go on.
      let from = index == 0 ? first : max(first, point.time)
      let to = index == points.count - 2 ? end : min(end, next.time)
      guard from < to else { continue }
      let speed = try (next.value - point.value) / (next.time - point.time)
      let begin = try point.value + (from - point.time) * speed
      var part = clip
      part.duration = try to - from
      if speed == .zero {
        part.motion = .frozen
        part.start = try begin + local
      } else {
        part.motion = .speed(speed)
        part.start = try local + (speed < .zero ? begin + part.duration * speed : begin)
      }
      clips.append(part)
    }
    return clips.isEmpty ? [clip] : clips
  }

  /// A clip whose media have another rate than the sequence plays each of their frames for one of it, unless the clip
  /// says that it does not.
  private func conformed(
    _ clip: TimelineClip, _ element: XMLElement, _ first: Rational
  ) throws(TimeError) -> TimelineClip {
    guard let conform = element.child("conform-rate"), conform["scaleEnabled"] != "0", let rate,
      let own = conform["srcFrameRate"].flatMap({ TimelineRates.rate($0) }), own != rate
    else { return clip }
    var conformed = clip
    let speed = try rate / own
    conformed.motion = .speed(speed)
    var origin = Rational.zero
    if case .media(let reference) = clip.source { origin = reference.available?.start ?? .zero }
    conformed.start = try origin + (clip.start - origin) * speed
    return conformed
  }
}
