import CompositionModel
import EditDocument

/// Writes Final Cut Pro's XML 1.10: the lowest track of pictures is the primary storyline, and every other track is a
/// storyline that is connected to it.
struct FCPXMLWriter {
  var notes = TimelineNotes()
  var resources = FCPXMLResources()
  /// Of the sequence that is written.
  var rate: Rational

  static func write(_ timeline: Timeline) throws(TimelineError) -> (bytes: [UInt8], notes: [TimelineNote]) {
    guard let rate = timeline.rate else { throw TimelineError("", TimelineFormat.withoutRate) }
    do throws(TimeError) {
      var writer = FCPXMLWriter(rate: rate)
      let sequence = try writer.sequence(timeline)
      let project = XMLNode("project", ["name": timeline.name], [sequence])
      let library = XMLNode("library", [:], [XMLNode("event", ["name": timeline.name], [project])])
      let root = XMLNode(
        "fcpxml", ["version": "1.10"], [XMLNode("resources", [:], writer.resources.elements), library])
      return (root.document(type: "fcpxml"), writer.notes.all)
    } catch {
      throw TimelineError(error)
    }
  }

  private init(rate: Rational) { self.rate = rate }

  private mutating func sequence(_ timeline: Timeline) throws(TimeError) -> XMLNode {
    let outer = rate
    rate = timeline.rate ?? outer
    defer { rate = outer }
    let format = resources.format(frameDuration: try .one / rate, size: timeline.size)
    let (start, duration) = (timeline.startTime ?? .zero, try timeline.duration)
    let video = timeline.tracks.filter { $0.type == .video && $0.hasItems }
    var primary = try storyline(video.first ?? TimelineTrack(name: "", type: .video), from: start)
    // What is connected needs something to be connected to, also where the primary storyline has nothing.
    if primary.isEmpty {
      primary = [Element(node: XMLNode("gap", Self.timing(start, "Gap", .zero, duration)), place: start, start: .zero)]
    }
    noteName(of: video.first)
    var (above, below) = (0, 0)
    for track in video.dropFirst() {
      above += 1
      noteName(of: track)
      try connect(track, lane: above, to: &primary[0])
    }
    let sounds = timeline.tracks.filter { $0.type == .audio && $0.hasItems }
    for (index, track) in sounds.enumerated() {
      below -= 1
      var named = track
      // Sound of one role is on one track.
      if named.name.isEmpty, index > 0 { named.name = "audio\(index + 1)" }
      if named.name.contains(".") {
        notes.add("", "the name of the track '\(named.name)'", "a role and a part of it: a dot separates them")
      }
      try connect(named, lane: below, to: &primary[0])
    }
    for marker in timeline.markers {
      let time = try start + marker.time
      let index = primary.lastIndex { $0.place <= time } ?? 0
      let local = try primary[index].start + time - primary[index].place
      primary[index].markers.append(
        XMLNode(
          "marker",
          [
            "start": FCPXMLTime.text(local), "duration": FCPXMLTime.text(try Rational.one / rate), "value": marker.name,
          ]))
    }
    return XMLNode(
      "sequence",
      [
        "format": format, "duration": FCPXMLTime.text(duration), "tcStart": FCPXMLTime.text(start),
        "tcFormat": Timecode.dropsFrames(rate) ? "DF" : "NDF",
      ],
      [XMLNode("spine", [:], primary.map(\.whole))])
  }

  private mutating func noteName(of track: TimelineTrack?) {
    guard let name = track?.name, !name.isEmpty else { return }
    notes.add("", "the name of the track '\(name)'", "not taken: storylines have none")
  }

  private mutating func connect(
    _ track: TimelineTrack, lane: Int, to anchor: inout Element
  ) throws(TimeError) {
    let elements = try storyline(track, from: .zero)
    anchor.connected.append(
      XMLNode("spine", ["lane": "\(lane)", "offset": FCPXMLTime.text(anchor.start)], elements.map(\.whole)))
  }

  // MARK: Storylines

  /// An element of a storyline.
  struct Element {
    /// Without what is connected to it.
    var node: XMLNode
    /// On the storyline's time.
    var place: Rational
    /// The element's own time at its place.
    var start: Rational
    var connected: [XMLNode] = []
    var markers: [XMLNode] = []
    /// What follows those by the rules of the format.
    var last: [XMLNode] = []

    var whole: XMLNode {
      var whole = node
      whole.children += connected + markers + last
      return whole
    }
  }

  private mutating func storyline(_ track: TimelineTrack, from start: Rational) throws(TimeError) -> [Element] {
    var (elements, place): ([Element], Rational) = ([], start)
    let faded = try track.fadesOnClips(&notes)
    for item in faded.items {
      switch item {
      case .gap(let duration):
        noteFraction(duration, "", "a gap")
        let node = XMLNode("gap", Self.timing(place, "Gap", .zero, duration))
        elements.append(Element(node: node, place: place, start: .zero))
      case .transition(let transition):
        let begin = try place - transition.before
        noteTransition(transition, on: track.type)
        let node = XMLNode(
          "transition",
          [
            "name": "Cross Dissolve", "offset": FCPXMLTime.text(begin),
            "duration": FCPXMLTime.text(try transition.duration),
          ])
        elements.append(Element(node: node, place: begin, start: .zero))
      case .clip(let clip):
        noteFraction(clip.duration, clip.place, "the length of the clip '\(clip.name)'")
        elements.append(try element(clip, at: place, on: faded))
      }
      place = try place + item.duration
    }
    return elements
  }

  private mutating func noteTransition(_ transition: TimelineTransition, on type: MediaType) {
    if transition.curve != nil {
      notes.add(transition.place, "'sound' of the transition", "not taken: a transition of FCPXML has no curves")
    }
    guard type == .video, ![nil, .dissolve].contains(transition.style.kind) else { return }
    notes.add(
      transition.place, "the transition '\(transition.name)'",
      "a dissolve: what others look like is in Final Cut Pro alone")
  }

  mutating func noteFraction(_ time: Rational, _ place: String, _ item: String) {
    do throws(TimeError) {
      guard try (time * rate).denominator != 1 else { return }
    } catch {}  // It is no whole number of frames either.
    notes.add(place, item, "exact, and no whole number of frames: Final Cut Pro moves it to one")
  }

  static func timing(
    _ offset: Rational, _ name: String, _ start: Rational, _ duration: Rational
  ) -> KeyValuePairs<String, String?> {
    [
      "name": name, "offset": FCPXMLTime.text(offset), "start": FCPXMLTime.text(start),
      "duration": FCPXMLTime.text(duration),
    ]
  }

  /// A timeline as a compound clip.
  mutating func compound(_ timeline: Timeline) throws(TimeError) -> String {
    if let known = resources.compound(timeline) { return known }
    let sequence = try sequence(timeline)
    return resources.add(timeline, sequence)
  }
}

extension TimelineTrack {
  fileprivate var hasItems: Bool { items.contains { .zero < $0.duration } }
}
