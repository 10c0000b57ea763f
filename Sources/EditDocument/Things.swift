import CompositionModel

/// What times of the film's timeline can count from: clips with a name, and markers.
struct DeclaredThings: Sendable {
  /// The names, in the document's order, each with its place.
  private(set) var clips: [(name: String, pointer: JSONPointer)] = []
  private(set) var markers: [String] = []
  private var clipPlaces: [String: JSONPointer] = [:]
  private var knownMarkers: Set<String> = []
  /// False if a name could not be read.
  var areKnown = true
  /// The origins of all times.
  fileprivate(set) var uses: [(origin: Document.Time.Origin, pointer: JSONPointer)] = []

  /// Nil: no other clip has the name.
  mutating func addClip(_ name: String, at pointer: JSONPointer) -> JSONPointer? {
    if let other = clipPlaces[name] { return other }
    clipPlaces[name] = pointer
    clips.append((name, pointer))
    return nil
  }

  mutating func addMarker(_ name: String) { if knownMarkers.insert(name).inserted { markers.append(name) } }

  func hasClip(_ name: String) -> Bool { clipPlaces[name] != nil }
  func hasMarker(_ name: String) -> Bool { knownMarkers.contains(name) }
}

/// A marker as the document means it.
struct MarkerEntry: Sendable {
  var name: String
  /// On the film's timeline.
  var time: Document.Time
  var pointer: JSONPointer
}

extension DocumentReader {
  /// Reads the name of a clip and declares it.
  mutating func clipName(_ fields: Fields, of clip: JSONPointer) -> String? {
    guard let written = fields[ClipKeys.name.name] else { return nil }
    guard let name = read(fields, ClipKeys.name) else {
      names.things.areKnown = false
      return nil
    }
    if let other = names.things.addClip(name, at: clip) {
      problems.add(
        written.pointer, "there is another clip '\(name.shortened)' (\(other.text)); every name is that of one clip")
    }
    return name
  }

  /// The name of a clip or a marker.
  mutating func thingName(_ value: JSONValue) -> String? {
    guard let name = string(value) else { return nil }
    if ThingName.isOne(name) { return name }
    problems.addShape(value.pointer, "'\(name.shortened)' cannot be a name: it has \(ThingName.rule)")
    return nil
  }

  /// Reads `markers`, and declares their names.
  mutating func markers(_ value: JSONValue?) -> [MarkerEntry] {
    members(value, "times by name, such as {\"drop\": 12.5}").compactMap { name, value in
      guard ThingName.isOne(name) else {
        names.things.areKnown = false
        problems.addShape(
          value.pointer, "'\(name.shortened)' cannot be the name of a marker: it has \(ThingName.rule)")
        return nil
      }
      names.things.addMarker(name)
      return time(value, .film).map { MarkerEntry(name: name, time: $0, pointer: value.pointer) }
    }
  }

  /// Whether a time's scope allows its origins. If it does, they are looked up when all names are known; if not, it is
  /// a problem.
  mutating func use(_ origins: [Document.Time.Origin?], _ scope: TimeScope, at value: JSONValue) -> Bool {
    for case let origin? in origins {
      guard scope.allows(origin) else {
        problems.addShape(value.pointer, "\(value.shown) is not possible: \(scope.refusal(of: origin))")
        return false
      }
      if origin != .end { names.things.uses.append((origin, value.pointer)) }
    }
    return true
  }

  /// Whether a scope allows the origins of a time or a range that is not read because it is too finely divided.
  func allowsOrigins(of value: JSONValue, _ scope: TimeScope) -> Bool {
    guard case .string(let text) = value.content else { return true }
    let sides = text.firstRange(of: "..").map { [text[..<$0.lowerBound], text[$0.upperBound...]] } ?? [text[...]]
    return sides.allSatisfy { side in
      Document.Time.Origin.leading(side).map { scope.allows($0.origin) } ?? true
    }
  }

  /// Reports times that count from clips and markers that the document does not have.
  mutating func checkThings() {
    let things = names.things
    guard things.areKnown, names.tracksAreKnown else { return }
    for (origin, pointer) in things.uses {
      switch origin {
      case .end: continue
      case .startOfClip(let name), .endOfClip(let name):
        if things.hasClip(name) { continue }
        let hint =
          things.hasMarker(name)
          ? "; '\(name.shortened)' is a marker: write \"marker:\(name)\""
          : things.clips.isEmpty
            ? ": no clip has a 'name'" : suggestion(for: name, amongDeclared: things.clips.map(\.name))
        problems.add(pointer, "there is no clip '\(name.shortened)'\(hint)")
      case .marker(let name):
        if things.hasMarker(name) { continue }
        let hint =
          things.hasClip(name)
          ? "; '\(name.shortened)' is a clip: write \"clip:\(name).start\" or \"clip:\(name).end\""
          : things.markers.isEmpty
            ? ": the document has no 'markers'" : suggestion(for: name, amongDeclared: things.markers)
        problems.add(pointer, "there is no marker '\(name.shortened)'\(hint)")
      }
    }
  }
}

extension Form where Value == String {
  /// The name of a clip or a marker.
  static var thingName: Form { shared("string", "thingName", write: JSONValue.text) { $0.thingName($1) } }
}

extension JSONValue {
  static func markers(_ markers: [String: Document.Time]) -> JSONValue {
    .object(markers.sorted { $0.key < $1.key }.map { ($0.key, $0.value.json) })
  }
}

// MARK: Lowering

/// The timeline that a time of the document is on.
enum WrittenTimeline {
  case film
  /// That of a clip, an overlay or an asset.
  /// - end: Nil if it is not known.
  /// - owner: What it is, for messages.
  case own(end: MediaTime?, _ owner: String)
}

/// When the things are, from which times count, as far as it is known.
struct PlacedThings: Sendable {
  var filmEnd: MediaTime?
  var clips: [String: (start: MediaTime, end: MediaTime)] = [:]
  var markers: [String: MediaTime] = [:]

  func time(of origin: Document.Time.Origin, on timeline: WrittenTimeline) -> MediaTime? {
    switch (origin, timeline) {
    case (.end, .film): filmEnd
    case (.end, .own(let end, _)): end
    case (.startOfClip(let name), .film): clips[name]?.start
    case (.endOfClip(let name), .film): clips[name]?.end
    case (.marker(let name), .film): markers[name]
    default: nil
    }
  }
}

extension Lowering {
  /// A time in seconds. Nil and a problem if it cannot be kept exactly, and nil alone if what it counts from is not in
  /// its place, which has a problem of its own.
  mutating func resolve(
    _ time: Document.Time, at pointer: JSONPointer, on timeline: WrittenTimeline = .film, mayBeNegative: Bool = false
  ) -> MediaTime? {
    guard checkOrigin(time, on: timeline, at: pointer) else { return nil }
    let (frameDuration, things) = (frameDuration, things)
    let resolved = exact(at: pointer) { () throws(TimeError) in
      try time.resolved(frameDuration: frameDuration) { things.time(of: $0, on: timeline) }
    }
    guard let seconds = resolved ?? nil else { return nil }
    return mayBeNegative || checkStart(seconds, of: time, at: pointer) ? seconds : nil
  }

  /// A range in seconds. Nil and a problem if it is empty, ends before it starts, or cannot be kept exactly, and nil
  /// alone if what it counts from is not in its place.
  mutating func resolve(
    _ range: Document.TimeRange, at pointer: JSONPointer, on timeline: WrittenTimeline = .film,
    mayBeNegative: Bool = false
  ) -> MediaTimeRange? {
    for side in [range.start, range.end] { guard checkOrigin(side, on: timeline, at: pointer) else { return nil } }
    let things = things
    if range.origins.contains(where: { things.time(of: $0, on: timeline) == nil }) { return nil }
    do {
      guard
        let resolved = try range.resolved(
          frameDuration: frameDuration, from: { things.time(of: $0, on: timeline) })
      else {
        problems.add(
          pointer,
          range.origins.isEmpty
            ? "the range ends before it starts; it is written \(Document.TimeRange.notations)"
            : "the range \(range.text) ends before it starts, as the film is now")
        return nil
      }
      guard mayBeNegative || checkStart(resolved.start, of: range.start, at: pointer) else { return nil }
      if !resolved.isEmpty { return resolved }
      problems.add(pointer, "the range \(resolved) is empty: a range does not contain its end")
    } catch {
      problems.add(pointer, "\(error)")
    }
    return nil
  }

  /// The time on the film's timeline, without a problem. Nil if it is unknown.
  func known(_ time: Document.Time, on timeline: WrittenTimeline = .film) -> MediaTime? {
    // A time that cannot be computed has been reported.
    (try? time.resolved(frameDuration: frameDuration) { things.time(of: $0, on: timeline) }) ?? nil
  }

  /// The range on the film's timeline, without a problem. Nil if it is unknown.
  func known(_ range: Document.TimeRange, on timeline: WrittenTimeline = .film) -> MediaTimeRange? {
    // A range that cannot be computed has been reported.
    (try? range.resolved(frameDuration: frameDuration) { things.time(of: $0, on: timeline) }) ?? nil
  }

  /// Reports a time on the timeline of a clip or an overlay that counts from what is on the film's.
  private mutating func checkOrigin(
    _ time: Document.Time, on timeline: WrittenTimeline, at pointer: JSONPointer
  ) -> Bool {
    guard let origin = time.origin, origin != .end, case .own(_, let owner) = timeline else { return true }
    problems.add(
      pointer,
      "'\(origin.text.shortened)' is on the film's timeline; times here count from the start of \(owner), or from its "
        + "end with \"end\"")
    return false
  }

  /// Reports a time before 0 that does not count from 0. The others are reported where they are read.
  private mutating func checkStart(_ seconds: MediaTime, of time: Document.Time, at pointer: JSONPointer) -> Bool {
    guard time.origin != nil, seconds < .zero else { return true }
    problems.add(pointer, "'\(time.text.shortened)' is \(seconds), before 0, where nothing can start")
    return false
  }
}
