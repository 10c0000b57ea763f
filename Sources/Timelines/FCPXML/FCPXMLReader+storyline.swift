import CompositionModel
import EditDocument

// Storylines: elements one after the other, each with what is connected to it.

extension FCPXMLReader {
  /// Adds the elements of a storyline. Returns its end.
  /// - Parameter place: On the time of the sequence.
  mutating func add(
    _ elements: [XMLElement], at place: Rational, lane: Int, to lanes: inout FCPXMLLanes
  ) throws(TimeError) -> Rational {
    var run = FCPXMLLanes.Run(lane: lane, type: .video, name: "", start: place, items: [])
    // A storyline of sound alone is a track of it, with its transitions.
    if let role = roleOfSound(elements) { (run.type, run.name) = (.audio, role) }
    var next = place
    storyline: for element in elements {
      self.place = element.place
      guard element["lane"] == nil || element.name == "transition" else {
        // Connected to what holds the storyline.
        continue
      }
      switch element.name {
      case "transition":
        if let transition = try transition(element, cutAt: next, from: place, in: elements) {
          run.items.append(.transition(transition))
        }
      case "marker", "chapter-marker", "note", "metadata", "timeMap", "conform-rate", "audio-channel-source": break
      case let name where name.hasPrefix("adjust-") || name.hasPrefix("filter-"): break
      default:
        guard let duration = try duration(of: element), .zero < duration else {
          note(element, "the \(element.name) '\(element["name"] ?? "")'", "not taken: it has no length")
          continue
        }
        count += 1
        guard count <= Timeline.greatestClipCount else {
          note(element, "what follows", "not taken: a file has at most \(Timeline.greatestClipCount) clips")
          break storyline
        }
        if run.type == .audio {
          var own = FCPXMLLanes()
          let empty = try items(element, duration, at: next, lane: lane, &own)
          run.items += own.runs.first?.items ?? empty
        } else {
          run.items += try items(element, duration, at: next, lane: lane, &lanes)
        }
        self.place = element.place
        try addConnected(to: element, at: next, lane: lane, &lanes)
        next = try next + duration
      }
    }
    lanes.runs.append(run)
    return next
  }

  /// The role of a storyline that has no picture. Nil: it has one, or sound of several roles.
  private func roleOfSound(_ elements: [XMLElement]) -> String? {
    let kinds: Set = ["asset-clip", "clip", "audio", "ref-clip", "sync-clip", "mc-clip", "video", "title", "audition"]
    let clips = elements.filter { kinds.contains($0.name) && $0["lane"] == nil }
    guard let first = clips.first, clips.allSatisfy({ !["title", "audition"].contains($0.name) && !parts($0).picture })
    else { return nil }
    let role = Self.role(of: first)
    return clips.allSatisfy { Self.role(of: $0) == role } ? role : nil
  }

  /// That of the element, or of its media.
  func duration(of element: XMLElement) throws(TimeError) -> Rational? {
    if let text = element["duration"] { return try Self.time(text) }
    if element.name == "audition" || element.name == "spine" {
      var sum = Rational.zero
      for child in element.name == "audition" ? Array(element.children.prefix(1)) : element.children
      where child.name != "transition" && child["lane"] == nil {
        sum = try sum + (duration(of: child) ?? .zero)
      }
      return sum
    }
    return try Self.time(element["ref"].flatMap { resources[$0] }?["duration"])
  }

  /// What is connected to an element, on its own time.
  private mutating func addConnected(
    to element: XMLElement, at place: Rational, lane: Int, _ lanes: inout FCPXMLLanes
  ) throws(TimeError) {
    let start = try Self.time(element["start"]) ?? .zero
    for child in element.children {
      switch child.name {
      case "marker", "chapter-marker":
        guard let time = try Self.time(child["start"]) else { continue }
        lanes.markers.append(
          TimelineMarker(name: child["value"] ?? "", time: try place + time - start, place: child.place))
      case "keyword", "rating", "note", "metadata", "reserved":
        note(child, "the \(child.name)", "not taken: it is not seen")
      default: break
      }
      guard let own = child["lane"].flatMap({ Int16($0) }).map({ Int($0) }) else { continue }
      let offset = try Self.time(child["offset"]) ?? start
      let at = try place + offset - start
      let above = lane + own
      _ = try add(child.name == "spine" ? child.children : [child.withoutLane], at: at, lane: above, to: &lanes)
    }
  }

  /// Nil: it has no length.
  private mutating func transition(
    _ element: XMLElement, cutAt cut: Rational, from place: Rational, in elements: [XMLElement]
  ) throws(TimeError) -> TimelineTransition? {
    guard let duration = try Self.time(element["duration"]), .zero < duration else { return nil }
    // Offsets count from where the storyline's own do: from that of its first element.
    let origin = try Self.time(elements.first { $0["offset"] != nil && $0["lane"] == nil }?["offset"]) ?? .zero
    let half = try duration / Rational(2)
    let offset = try Self.time(element["offset"]).map { offset throws(TimeError) in try offset - origin + place }
    var before = half
    if let offset, offset <= cut, try cut <= offset + duration { before = try cut - offset }
    let name = element["name"] ?? ""
    if !name.lowercased().contains("dissolve"), !name.isEmpty {
      note(element, "the transition '\(name)'", "a dissolve: what it looks like is in Final Cut Pro alone")
    }
    return TimelineTransition(name: name, before: before, after: try duration - before, place: element.place)
  }
}

extension XMLElement {
  /// As an element of a storyline.
  fileprivate var withoutLane: XMLElement { setting("lane", to: nil) }
}
