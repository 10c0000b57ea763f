import CompositionModel
import EditDocument

// The items of a track.

extension OTIOReader {
  mutating func items(
    _ objects: [OTIOObject], at place: (Int) -> String, type: MediaType, markers: inout [TimelineMarker]
  ) throws -> [TimelineItem] {
    var items: [TimelineItem] = []
    var elapsed = Rational.zero
    for (index, object) in objects.enumerated() {
      let place = place(index)
      self.place = place
      let known = items.count
      switch object.type {
      case "Gap":
        count(object)
        let name = "the gap '\(object.name ?? "")'"
        noteEffects(object, name, at: place, timeEffects: true)
        guard let range = object.sourceRange, let duration = try time(range.duration), .zero <= duration else {
          note(place, name, "not taken: it has no length")
          continue
        }
        // A gap has no place in a document; its markers are on the time of the track.
        for var marker in try self.markers(
          of: object, at: place, from: try time(range.start) ?? .zero, for: duration, speed: .one)
        {
          marker.time = try marker.time + elapsed
          markers.append(marker)
        }
        items.append(.gap(duration))
      case "Transition": if let transition = try transition(object, at: place) { items.append(.transition(transition)) }
      case "Clip": if let item = try clip(object, at: place) { items.append(item) }
      case "Track", "Stack", "Timeline":
        let isFlat = Self.isCut(objects, index)
        items += try nested(object, at: place, type: type, mayBeFlat: isFlat)
      default: note(place, "the \(object.schema) '\(object.name ?? "")'", "not taken: it is no item of a track")
      }
      self.place = place
      for item in items[known...] { elapsed = try elapsed + item.duration }
    }
    return items
  }

  /// Whether an item is between cuts.
  private static func isCut(_ objects: [OTIOObject], _ index: Int) -> Bool {
    (index == 0 || objects[index - 1].type != "Transition")
      && (index + 1 == objects.count || objects[index + 1].type != "Transition")
  }

  private mutating func transition(_ object: OTIOObject, at place: String) throws -> TimelineTransition? {
    let style = OTIOTransitions.style(of: object)
    var foreign = object
    if style != nil { foreign.metadata?[OTIOTransitions.data] = nil }
    count(foreign)
    let name = "the transition '\(object.name ?? object.transitionType ?? "")'"
    guard object.enabled ?? true else {
      note(place, name, "not taken: it is not enabled")
      return nil
    }
    let before = try object.inOffset.map { try time($0) } ?? .zero
    let after = try object.outOffset.map { try time($0) } ?? .zero
    guard let before, let after, .zero <= before, .zero <= after, try .zero < before + after else {
      note(place, name, "not taken: it has no length")
      return nil
    }
    noteEffects(object, name, at: place, timeEffects: true)
    var transition = TimelineTransition(name: object.name ?? "", before: before, after: after, place: place)
    if let style {
      transition.style = style
    } else if let type = object.transitionType, type != OTIOTransitions.dissolve, !type.isEmpty {
      note(place, name, "taken as a dissolve: OpenTimelineIO does not say what '\(type)' looks like")
    }
    return transition
  }

  private mutating func clip(_ object: OTIOObject, at place: String) throws -> TimelineItem? {
    count(object)
    let reference = object.activeReference
    if let reference { count(reference) }
    let path = reference?.targetURL ?? ""
    let name =
      [object.name, reference?.name, MediaPath.name(of: path)].compactMap(\.self).first { !$0.isEmpty } ?? "clip"
    let shown = "the clip '\(name)'"
    let available = try reference?.availableRange.flatMap { range in
      try time(range.start).map { MediaReference.Available(start: $0, duration: try time(range.duration)) }
    }
    let range = try object.sourceRange.flatMap { range in
      try time(range.start).flatMap { start in try time(range.duration).map { (start: start, duration: $0) } }
    }
    guard let (start, duration) = range ?? available.flatMap({ used in used.duration.map { (used.start, $0) } }) else {
      note(place, shown, "not taken: it has neither a source_range nor an available_range that is finite")
      return nil
    }
    guard .zero < duration else {
      note(place, shown, "not taken: it has no length")
      return nil
    }
    guard object.enabled ?? true else {
      note(place, shown, "a gap: it is not enabled")
      return .gap(duration)
    }
    for key in (object.mediaReferences ?? [:]).keys.sorted()
    where key != object.activeMediaReferenceKey ?? OTIOObject.defaultKey {
      note(place, "the media '\(key)' of \(shown)", "not taken: they are not in use")
    }
    guard let source = source(reference, available, name: name, at: place) else { return .gap(duration) }
    var clip = TimelineClip(name: name, source: source, start: start, duration: duration, place: place)
    try setMotion(of: &clip, object, shown)
    guard .zero < clip.duration else { return nil }
    clip.markers = try markers(of: object, at: place, from: start, for: clip.duration, speed: clip.speed)
    return .clip(clip)
  }

  /// Nil: there is nothing that it could be, which is noted.
  private mutating func source(
    _ reference: OTIOObject?, _ available: MediaReference.Available?, name: String, at place: String
  ) -> TimelineClip.Source? {
    let place = "\(place)/media_reference"
    switch reference?.type {
    case nil, "MissingReference": return .media(MediaReference(path: "", available: available))
    case "ExternalReference":
      return .media(MediaReference(path: reference?.targetURL ?? "", available: available))
    case "GeneratorReference":
      if let picture = OTIOGenerators.picture(reference) { return .picture(picture) }
      note(
        place, "the generator '\(reference?.generatorKind ?? "")' of the clip '\(name)'",
        "a gap: a document has pictures of one colour, and not this one")
      return nil
    case "ImageSequenceReference":
      note(
        place, "the files '\(reference?.sequencePattern ?? "")' of the clip '\(name)'",
        "a gap: files of one picture each have to become a movie first")
      return nil
    default:
      note(
        place, "the media of the clip '\(name)'",
        "a gap: \(reference?.schema ?? "") is not read")
      return nil
    }
  }

  /// Changes of speed. By the specification they do not change the clip's length: it plays more or less of its media.
  /// Premiere Pro gives the part of the media that is played, and the length follows from the speed.
  private mutating func setMotion(of clip: inout TimelineClip, _ object: OTIOObject, _ shown: String) throws {
    let place = clip.place
    noteEffects(object, shown, at: place)
    var speed = Rational.one
    var isFrozen = false
    var isOfPremiere = object.metadata?[OTIOTimeWarps.premiere] != nil
    for (index, effect) in (object.effects ?? []).enumerated() where Self.isOfTime(effect) {
      let name = "the effect '\(effect.effectName ?? effect.type)' of \(shown)"
      guard effect.enabled ?? true else {
        note("\(place)/effects/\(index)", name, "not taken: it is not enabled")
        continue
      }
      isOfPremiere = isOfPremiere || effect.metadata?[OTIOTimeWarps.premiere] != nil
      guard effect.type == "LinearTimeWarp", let scalar = (effect.timeScalar ?? OTIONumber(1)).exact, scalar != .zero
      else {
        isFrozen = true
        continue
      }
      speed = try speed * scalar
    }
    clip.motion = isFrozen ? .frozen : .speed(speed)
    if isOfPremiere, !isFrozen { clip.duration = try clip.duration / speed.magnitude }
  }

  private mutating func nested(
    _ object: OTIOObject, at place: String, type: MediaType, mayBeFlat: Bool
  ) throws -> [TimelineItem] {
    let composition = object.type == "Timeline" ? object.tracks?.object : object
    guard var composition else { return [] }
    let name = object.name ?? composition.name ?? ""
    let shown = "the composition '\(name)'"
    guard depth < Timeline.greatestDepth else {
      note(place, shown, "not taken: compositions are within each other more than \(Timeline.greatestDepth) deep")
      return []
    }
    depth += 1
    defer { depth -= 1 }
    let range = composition.sourceRange
    let effects = composition.effects
    (composition.sourceRange, composition.effects, composition.enabled) = (nil, nil, nil)
    let markers = composition.markers
    composition.markers = nil
    var inner = try self.composition(composition, at: place, type: type)
    inner.name = name
    inner.rate = try frameRateOfNested(composition)
    let whole = try inner.duration
    let start = try range.map { try time($0.start) } ?? .zero
    let duration = try range.map { try time($0.duration) } ?? whole
    guard let start, let duration, .zero < duration else {
      note(place, shown, "not taken: it has no length")
      return []
    }
    guard object.enabled ?? true else {
      note(place, shown, "a gap: it is not enabled")
      return [.gap(duration)]
    }
    var clip = TimelineClip(name: name, source: .timeline(inner), start: start, duration: duration, place: place)
    var owner = OTIOObject(object.schema)
    owner.effects = effects
    owner.metadata = object.metadata
    owner.markers = markers
    try setMotion(of: &clip, owner, shown)
    clip.markers = try self.markers(of: owner, at: place, from: start, for: clip.duration, speed: clip.speed)
    let isFlat =
      mayBeFlat && clip.motion == .speed(.one) && clip.markers.isEmpty && inner.markers.isEmpty
      && inner.tracks.count == 1 && inner.tracks.first?.type == type
    if isFlat, let track = try inner.trimmed(from: start, for: duration)?.tracks.first { return track.items }
    clip.source = .timeline(try inner.padded(to: start + duration * clip.speed.magnitude))
    return [.clip(clip)]
  }

  /// Of the first clip in it.
  private func frameRateOfNested(_ object: OTIOObject) throws -> Rational? {
    for child in object.children ?? [] {
      if child.type == "Clip", let rate = (child.sourceRange ?? child.activeReference?.availableRange)?.duration.rate,
        let exact = rate.exact, TimelineRates.allowed.contains(exact)
      {
        return try TimelineRates.snapped(exact)
      }
      if let found = try frameRateOfNested(child) { return found }
    }
    return nil
  }

  /// On the time of an item that starts at a time of its source.
  /// - Parameter duration: Of the item. Nil: it has markers at any time.
  mutating func markers(
    of object: OTIOObject, at place: String, from start: Rational, for duration: Rational? = nil, speed: Rational
  ) throws -> [TimelineMarker] {
    var markers: [TimelineMarker] = []
    for (index, marker) in (object.markers ?? []).enumerated() {
      let place = "\(place)/markers/\(index)"
      let name = "the marker '\(marker.name ?? "")'"
      guard let range = marker.markedRange, let own = try time(range.start), speed != .zero else {
        note(place, name, "not taken: it has no time, or is on a picture that stands still")
        continue
      }
      let time = try (own - start) / speed
      guard .zero <= time, duration.map({ time <= $0 }) ?? true else {
        note(place, name, "not taken: it is outside the part of '\(object.name ?? "")' that is used")
        continue
      }
      var lost: [String] = []
      if let duration = try self.time(range.duration), .zero < duration { lost.append("its length") }
      if let comment = marker.comment, !comment.isEmpty { lost.append("its comment") }
      if !lost.isEmpty { note(place, name, "taken as a time, without \(lost.joined(separator: " and "))") }
      markers.append(TimelineMarker(name: marker.name ?? "", time: time, place: place))
    }
    return markers
  }
}

extension OTIONumber {
  var exact: Rational? { TimelineRates.exact(value) }
}

extension Rational {
  var magnitude: Rational { self < .zero ? -self : self }
}

extension TimelineClip {
  /// Seconds of the source a second of the track; zero if it is frozen.
  var speed: Rational { if case .speed(let speed) = motion { speed } else { .zero } }
}

enum OTIOTimeWarps {
  /// The name of Premiere Pro's data, on what it has written.
  static let premiere = "PremierePro_OTIO"
}
