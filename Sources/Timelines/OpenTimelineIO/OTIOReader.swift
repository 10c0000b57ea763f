import CompositionModel
import FoundationEssentials

/// Reads the JSON of OpenTimelineIO.
package struct OTIOReader {
  private var notes = TimelineNotes()
  /// Where the reader is, for errors.
  var place = ""
  /// Compositions within compositions.
  var depth = 0
  /// Of other programs' data, by its name: on how many objects it is.
  private var metadata: [String: Int] = [:]

  package static func read(_ bytes: [UInt8]) throws(TimelineError) -> (timeline: Timeline, notes: [TimelineNote]) {
    let decoder = JSONDecoder()
    // The reference implementation writes NaN and Infinity, as JSON5 has them.
    decoder.allowsJSON5 = true
    let root: OTIOObject
    do {
      root = try decoder.decode(OTIOObject.self, from: Data(bytes))
    } catch let error as DecodingError {
      throw TimelineError(error)
    } catch {
      throw TimelineError("", "it is not OpenTimelineIO's JSON: \(error)")
    }
    var reader = OTIOReader()
    do {
      let timeline = try reader.timeline(root)
      reader.noteMetadata()
      return (timeline, reader.notes.all)
    } catch let error as TimeError {
      throw TimelineError(error, at: reader.place)
    } catch let error as TimelineError {
      throw error
    } catch {
      throw TimelineError("", "\(error)")
    }
  }

  mutating func note(_ place: String, _ item: String, _ reason: String) {
    notes.add(place, item, reason)
  }

  // MARK: The whole

  private mutating func timeline(_ root: OTIOObject, at place: String = "") throws -> Timeline {
    count(root)
    switch root.type {
    case "Timeline":
      guard let tracks = root.tracks?.object else {
        throw TimelineError("\(place)/tracks", "the timeline has no tracks")
      }
      var timeline = try composition(tracks, at: "\(place)/tracks", type: .video)
      timeline.name = root.name ?? tracks.name ?? ""
      timeline.startTime = try root.globalStartTime.flatMap { try time($0) }
      timeline.rate = try frameRate(of: root, at: place)
      return timeline
    case "Stack", "Track", "Clip":
      var timeline = try composition(root, at: place, type: root.kind == "Audio" ? .audio : .video)
      timeline.rate = try frameRate(of: root, at: place)
      return timeline
    case "SerializableCollection":
      let children = root.children ?? []
      guard let first = children.firstIndex(where: { $0.type == "Timeline" }) else {
        throw TimelineError(place, "the collection has no timeline")
      }
      for (index, other) in children.enumerated() where index != first {
        note(
          "\(place)/children/\(index)", "the \(other.schema) '\(other.name ?? "")'",
          "not taken: the first timeline of the collection is read")
      }
      return try timeline(children[first], at: "\(place)/children/\(first)")
    default:
      throw TimelineError("", "the file has a \(root.schema), and no timeline")
    }
  }

  /// The rate of the start time, or of the first clip of a video track.
  private mutating func frameRate(of root: OTIOObject, at place: String) throws -> Rational? {
    if let start = root.globalStartTime {
      if let rate = TimelineRates.exact(start.rate.value), TimelineRates.allowed.contains(rate) {
        return try TimelineRates.snapped(rate)
      }
      note(
        "\(place)/global_start_time", "the rate \(plain(start.rate.value))",
        "that of the first clip: a rate is from 1 to 1000")
    }
    func first(in object: OTIOObject, isVideo: Bool) -> Rational? {
      let isVideo = object.type == "Track" ? object.kind ?? "Video" == "Video" : isVideo
      guard isVideo else { return nil }
      if object.type == "Clip", let range = object.sourceRange ?? object.activeReference?.availableRange {
        return TimelineRates.exact(range.duration.rate.value)
      }
      for child in object.children ?? [] { if let found = first(in: child, isVideo: isVideo) { return found } }
      return nil
    }
    guard let rate = first(in: root.tracks?.object ?? root, isVideo: true), TimelineRates.allowed.contains(rate) else {
      return nil
    }
    return try TimelineRates.snapped(rate)
  }

  /// A composition as a timeline of its own.
  /// - Parameter type: That of clips that are in no track of it.
  mutating func composition(_ object: OTIOObject, at place: String, type: MediaType) throws -> Timeline {
    count(object)
    var timeline = Timeline(name: object.name ?? "")
    if object.type == "Stack" {
      for (index, child) in (object.children ?? []).enumerated() {
        let place = "\(place)/children/\(index)"
        if let track = try track(child, at: place, type: type, markers: &timeline.markers) {
          timeline.tracks.append(track)
        }
      }
      noteEffects(object, "the stack '\(object.name ?? "")'", at: place, timeEffects: true)
      timeline.markers += try markers(of: object, at: place, from: .zero, speed: .one)
    } else if let track = try track(object, at: place, type: type, markers: &timeline.markers) {
      timeline.tracks.append(track)
    }
    return object.type == "Stack" ? try trimmed(timeline, to: object.sourceRange, at: place) : timeline
  }

  /// The part of a timeline. One whose ends are within a transition is a timeline that plays a part of another.
  private mutating func trimmed(_ timeline: Timeline, to range: OTIORange?, at place: String) throws -> Timeline {
    guard let range else { return timeline }
    guard let start = try time(range.start), let duration = try time(range.duration), .zero < duration else {
      note("\(place)/source_range", "the source_range of '\(timeline.name)'", "all of it: it has no length")
      return timeline
    }
    if let part = try timeline.trimmed(from: start, for: duration) { return part }
    var whole = Timeline(name: timeline.name, rate: timeline.rate)
    for type in [MediaType.video, .audio] where timeline.tracks.contains(where: { $0.type == type }) {
      let inner = try timeline.padded(to: start + duration)
      let clip = TimelineClip(
        name: timeline.name, source: .timeline(inner), start: start, duration: duration, place: place)
      whole.tracks.append(TimelineTrack(name: timeline.name, type: type, items: [.clip(clip)]))
    }
    return whole
  }

  /// Nil: it is not taken, which is noted.
  private mutating func track(
    _ object: OTIOObject, at place: String, type: MediaType, markers: inout [TimelineMarker]
  ) throws -> TimelineTrack? {
    guard object.type == "Track" else {
      var track = TimelineTrack(name: object.name ?? "", type: type)
      track.items = try items([object], at: { _ in place }, type: type, markers: &markers)
      return track
    }
    count(object)
    let name = "the track '\(object.name ?? "")'"
    guard let type = object.kind.map({ MediaType(rawValue: $0.lowercased()) }) ?? .video,
      type == .video || type == .audio
    else {
      note(place, name, "not taken: its kind is '\(object.kind ?? "")', and tracks of video and audio are read")
      return nil
    }
    guard object.enabled ?? true else {
      note(place, name, "not taken: it is not enabled")
      return nil
    }
    noteEffects(object, name, at: place, timeEffects: true)
    var track = TimelineTrack(name: object.name ?? "", type: type)
    var own: [TimelineMarker] = []
    track.items = try items(object.children ?? [], at: { "\(place)/children/\($0)" }, type: type, markers: &own)
    // What is before the part that is used is no time of the film.
    let start = try object.sourceRange.flatMap { try time($0.start) } ?? .zero
    markers += try self.markers(of: object, at: place, from: start, speed: .one)
    for var marker in own {
      marker.time = try marker.time - start
      markers.append(marker)
    }
    let alone = try trimmed(Timeline(name: track.name, tracks: [track]), to: object.sourceRange, at: place)
    return alone.tracks.first ?? track
  }

  // MARK: Notes

  /// Counts the data of other programs.
  mutating func count(_ object: OTIOObject) {
    for key in object.metadata?.keys ?? [:].keys { metadata[key, default: 0] += 1 }
    if object.color != nil, object.type != "Marker" { metadata["color", default: 0] += 1 }
  }

  private mutating func noteMetadata() {
    for (key, count) in metadata.sorted(by: { $0.key < $1.key }) {
      note(
        "", "the data '\(key)' on \(count) \(count == 1 ? "object" : "objects")",
        "not taken: a document has no place for data of other programs")
    }
  }

  mutating func noteEffects(_ object: OTIOObject, _ owner: String, at place: String, timeEffects: Bool = false) {
    for (index, effect) in (object.effects ?? []).enumerated() where timeEffects || !Self.isOfTime(effect) {
      let name = [effect.effectName, effect.name, effect.type].compactMap(\.self).first { !$0.isEmpty } ?? ""
      note(
        "\(place)/effects/\(index)", "the effect '\(name)' of \(owner)",
        "not taken: OpenTimelineIO does not say what it does")
    }
  }

  static func isOfTime(_ effect: OTIOObject) -> Bool {
    effect.type == "LinearTimeWarp" || effect.type == "FreezeFrame"
  }

  /// Nil: it is not finite, or larger than any film.
  func time(_ time: OTIOTime) throws -> Rational? {
    guard let value = TimelineRates.exact(time.value.value), let rate = TimelineRates.exact(time.rate.value),
      .zero < rate
    else { return nil }
    let seconds = try TimelineRates.time(value, rate: rate)
    return seconds.magnitude <= TimelineRates.longest ? seconds : nil
  }
}

extension TimelineError {
  fileprivate init(_ error: DecodingError) {
    switch error {
    case .keyNotFound(let key, let context):
      self.init(Self.pointer(context.codingPath), "there is no '\(key.stringValue)', which OpenTimelineIO's JSON has")
    case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
      self.init(
        Self.pointer(context.codingPath), "this is not OpenTimelineIO's: a value of the type \(type) is expected")
    case .dataCorrupted(let context):
      let reason = context.underlyingError.map { "\($0)" } ?? context.debugDescription
      self.init(Self.pointer(context.codingPath), "the file is not JSON: \(reason)")
    @unknown default: self.init("", "\(error)")
    }
  }

  private static func pointer(_ path: [any CodingKey]) -> String {
    path.map { "/" + ($0.intValue.map(String.init) ?? $0.stringValue) }.joined()
  }
}
