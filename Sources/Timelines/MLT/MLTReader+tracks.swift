import CompositionModel
import EditDocument

// Tractors and playlists as timelines and tracks.

extension MLTReader {
  mutating func timeline(_ service: XMLElement) throws(TimeError) -> Timeline {
    var timeline = Timeline(name: service.property("kdenlive:clipname") ?? service["id"] ?? "", rate: rate)
    guard service.name == "tractor" else {
      timeline.tracks = [TimelineTrack(name: "", type: .video, items: try items(service))]
      timeline.tracks[0].hasSound = true
      return timeline
    }
    for (number, track) in Self.tracks(of: service).enumerated() {
      guard let inner = track["producer"].flatMap({ services[$0] }) else {
        note(track, "the track of '\(track["producer"] ?? "")'", "not taken: there is no such producer")
        continue
      }
      let hide = track["hide"] ?? inner["hide"]
      let name = inner.property("kdenlive:track_name") ?? inner.property("shotcut:name") ?? ""
      // The lowest track of Kdenlive and Shotcut is the black behind all others.
      if number == 0, isBlack(inner) { continue }
      guard hide != "both" else {
        note(track, "the track '\(name)'", "not taken: it is hidden")
        continue
      }
      let isAudio = hide == "video"
      var made = TimelineTrack(name: name, type: isAudio ? .audio : .video, items: try items(inner))
      made.hasSound = !isAudio && hide != "audio"
      if !isAudio, hide == "audio" { made.forgetSound() }
      let hasClips = made.items.contains { if case .clip = $0 { true } else { false } }
      if hasClips { timeline.tracks.append(made) }
      noteFilters(inner, "the track '\(name)'")
    }
    for transition in service.children("transition") { noteTransition(transition) }
    noteFilters(service, "the tractor '\(service["id"] ?? "")'")
    return timeline
  }

  private func isBlack(_ service: XMLElement) -> Bool {
    if service.name == "playlist" {
      let entries = service.children("entry").compactMap { $0["producer"].flatMap { services[$0] } }
      return entries.count == 1 && service.children("blank").isEmpty && entries[0].name != "playlist"
        && isBlack(entries[0])
    }
    guard ["color", "colour"].contains(service.property("mlt_service")) else { return false }
    return MLTColors.color(service.property("resource") ?? "") == .black
  }

  /// Those that combine the pictures and the sound of tracks for the whole film are what a document does by itself.
  private mutating func noteTransition(_ transition: XMLElement) {
    let service = transition.property("mlt_service") ?? ""
    let isAlways = transition.property("always_active") == "1" || transition.property("internal_added") != nil
    let isOfTracks = ["mix", "qtblend", "composite", "frei0r.cairoblend", "movit.overlay"].contains(service)
    guard !isAlways, !(isOfTracks && transition["in"] == nil) else { return }
    note(
      transition, "the transition '\(transition.property("kdenlive_id") ?? service)' between tracks",
      "not taken: those between clips of one track are")
  }

  mutating func noteFilters(_ element: XMLElement, _ owner: String) {
    for filter in element.children("filter") where filter.property("disable") != "1" {
      // Kdenlive and Shotcut have some on each track, which do nothing.
      if filter.property("internal_added") != nil || filter.property("mlt_service") == "audiolevel" { continue }
      if filter.property("mlt_service") == "panner", filter.property("start") == "0.5" { continue }
      let name = filter.property("kdenlive_id") ?? filter.property("mlt_service") ?? ""
      note(filter, "the filter '\(name)' of \(owner)", "not taken: those of clips are, as far as a document has them")
    }
  }

  // MARK: Items

  /// What a track plays.
  mutating func items(_ service: XMLElement) throws(TimeError) -> [TimelineItem] {
    switch service.name {
    case "playlist":
      var items: [TimelineItem] = []
      for child in service.children {
        switch child.name {
        case "blank":
          if let length = frames(child["length"]), length >= 0 {
            items.append(.gap(try seconds(length)))
          } else {
            note(child, "the blank", "not taken: it has no length")
          }
        case "entry": items += try entry(child)
        default: break
        }
      }
      return try items.joined
    case "tractor" where Self.tracks(of: service).allSatisfy { services[$0["producer"] ?? ""]?.name == "playlist" }:
      return try mixed(service)
    default: return try entry(service.setting("producer", to: service["id"]))
    }
  }

  /// A track of Kdenlive: two playlists, whose clips overlap where they are mixed.
  private mutating func mixed(_ tractor: XMLElement) throws(TimeError) -> [TimelineItem] {
    var placed: [(start: Rational, clip: TimelineClip)] = []
    for track in Self.tracks(of: tractor) {
      guard let inner = track["producer"].flatMap({ services[$0] }) else { continue }
      var place = Rational.zero
      for item in try items(inner) {
        switch item {
        case .clip(let clip): placed.append((place, clip))
        case .transition(let transition):
          notes.add(
            transition.place, "the transition '\(transition.name)'", "a cut: it is within a track that has others")
        case .gap: break
        }
        place = try place + item.duration
      }
    }
    placed.sort { $0.start < $1.start }
    let mixes = tractor.children("transition")
    var (items, end): ([TimelineItem], Rational) = ([], .zero)
    for (start, clip) in placed {
      place = clip.place
      let overlap = try end - start
      if overlap < .zero { items.append(.gap(-overlap)) }
      guard .zero < overlap, case .clip(let last)? = items.last else {
        items.append(.clip(clip))
        end = try start + clip.duration
        continue
      }
      let first = Int(clamping: try (start * rate).rounded)
      let mix = mixes.first { $0["in"] != nil && frames($0["in"]) == first && $0.property("mlt_service") != "mix" }
      // The cut is in the middle.
      let after = try seconds(Int(clamping: (overlap * rate / Rational(2)).floor))
      let before = try overlap - after
      guard let shorter = try last.trimmed(head: .zero, tail: after),
        let rest = try clip.trimmed(head: before, tail: .zero)
      else {
        notes.add(clip.place, "the clip '\(clip.name)'", "not taken: it is all within the clip before it")
        continue
      }
      items[items.count - 1] = .clip(shorter)
      items.append(.transition(transition(mix, before, after, tractor)))
      items.append(.clip(rest))
      end = try start + clip.duration
    }
    return items
  }

  private mutating func transition(
    _ mix: XMLElement?, _ before: Rational, _ after: Rational, _ owner: XMLElement
  ) -> TimelineTransition {
    let matte = mix?.property("resource") ?? ""
    let name = mix?.property("mlt_service") ?? "luma"
    if !matte.isEmpty {
      note(mix ?? owner, "the wipe '\(MediaPath.name(of: matte))'", "a dissolve: its matte is a file of the editor")
    } else if !["luma", "dissolve", "mix"].contains(name) {
      note(mix ?? owner, "the transition '\(name)'", "a dissolve: a document has no equal for it")
    }
    return TimelineTransition(name: name, before: before, after: after, place: (mix ?? owner).place)
  }

  /// An entry of a playlist.
  private mutating func entry(_ entry: XMLElement) throws(TimeError) -> [TimelineItem] {
    place = entry.place
    count += 1
    guard count <= Timeline.greatestClipCount else {
      note(entry, "what follows", "not taken: a file has at most \(Timeline.greatestClipCount) clips")
      return []
    }
    guard let service = entry["producer"].flatMap({ services[$0] }) else {
      note(entry, "the entry of '\(entry["producer"] ?? "")'", "not taken: there is no such producer")
      return []
    }
    guard let range = range(of: entry, in: service) else {
      note(entry, "the entry of '\(entry["producer"] ?? "")'", "not taken: it has no length")
      return []
    }
    guard ["tractor", "playlist"].contains(service.name) else { return [try clip(entry, service, range)] }
    let tracks = Self.tracks(of: service)
    let mix = service.children("transition").first { $0.property("mlt_service") == "luma" }
    if tracks.count == 2, tracks.allSatisfy({ $0["out"] != nil }), mix != nil || !service.children("transition").isEmpty
    {
      return try dissolve(tracks, mix ?? service.children("transition")[0], range, entry)
    }
    guard depth < Timeline.greatestDepth else {
      note(
        entry, "the sequence '\(service["id"] ?? "")'",
        "a gap: sequences are within each other more than \(Timeline.greatestDepth) deep")
      return [.gap(try seconds(range.count))]
    }
    depth += 1
    defer { depth -= 1 }
    let timeline = try timeline(service)
    return [
      .clip(
        TimelineClip(
          name: timeline.name, source: .timeline(timeline), start: try seconds(range.lowerBound),
          duration: try seconds(range.count), place: entry.place))
    ]
  }

  /// A transition as melt and Shotcut have it: a tractor with the end of one clip and the start of the next.
  private mutating func dissolve(
    _ tracks: [XMLElement], _ mix: XMLElement, _ range: Range<Int>, _ entry: XMLElement
  ) throws(TimeError) -> [TimelineItem] {
    let half = range.count / 2
    var parts: [TimelineItem] = []
    for (number, track) in tracks.enumerated() {
      guard let service = track["producer"].flatMap({ services[$0] }), let own = self.range(of: track, in: service)
      else {
        note(track, "the transition of '\(entry["producer"] ?? "")'", "a gap: a track of it has no such producer")
        return [.gap(try seconds(range.count))]
      }
      let first = own.lowerBound + range.lowerBound
      let used = number == 0 ? first..<first + half : first + half..<first + range.count
      if used.isEmpty { continue }
      parts.append(try clip(track, service, used))
    }
    guard parts.count == 2 else { return parts }
    let transition = transition(mix, try seconds(half), try seconds(range.count - half), entry)
    return [parts[0], .transition(transition), parts[1]]
  }
}

extension [TimelineItem] {
  /// The same with clips in one that go on where the one before ends.
  fileprivate var joined: [TimelineItem] {
    get throws(TimeError) {
      var items: [TimelineItem] = []
      for item in self {
        if case .clip(let clip) = item, case .clip(var last)? = items.last, last.source == clip.source,
          last.motion == .speed(.one), clip.motion == last.motion, last.settings == clip.settings,
          try last.start + last.duration == clip.start
        {
          last.duration = try last.duration + clip.duration
          items[items.count - 1] = .clip(last)
        } else {
          items.append(item)
        }
      }
      return items
    }
  }
}

extension TimelineTrack {
  /// Without what only sound has, of a track that is not heard.
  fileprivate mutating func forgetSound() {
    for (index, item) in items.enumerated() {
      guard case .clip(var clip) = item else { continue }
      (clip.settings.sound, clip.settings.pitch) = (nil, nil)
      items[index] = .clip(clip)
    }
  }
}
