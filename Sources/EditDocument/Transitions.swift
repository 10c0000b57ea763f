import CompositionModel

extension DocumentReader {
  /// Reads a transition. Nil and a problem if it cannot be used.
  mutating func transition(_ value: JSONValue) -> Document.Transition? {
    guard let fields = fields(value, TransitionKeys.table) else { return nil }
    let style = transitionStyle(fields)
    let from = videoTrack(fields["from"])
    let to = videoTrack(fields["to"])
    let over = read(fields, TransitionKeys.over)
    guard let from, let to, let over else { return nil }
    if from == to {
      problems.add(fields.pointer.key("to"), "a transition goes from one track to another; both are '\(to.shortened)'")
      return nil
    }
    var transition = Document.Transition(from: from, to: to, over: over, style: style)
    transition.pointer = fields.pointer
    return transition
  }

  /// Reads what a transition looks like. What is wrong has its default.
  mutating func transitionStyle(_ fields: Fields) -> Document.TransitionStyle {
    var style = Document.TransitionStyle()
    style.kind = read(fields, TransitionKeys.kind)
    // Of an unknown kind no key is read.
    let kind = fields.has("kind") ? style.kind?.rawValue : TransitionKeys.standardKind
    // The direction of what slides is none of a diagonal.
    let isStraight = kind == "slide" || kind == "push"
    // An edit has a matte beside any style.
    let isOfEdit = isOfPart
    read(fields, TransitionKeys.styleProperties, into: &style) { key in
      key.name != "kind"
        && (key.kinds.isEmpty || isOfEdit && key.name == "matte" || kind.map(key.kinds.contains) ?? false)
        && !(isStraight && key.name == "direction")
    }
    if isStraight, let value = fields["direction"] {
      style.direction = Form<SlideDirection>.choice("direction").read(&self, value)
        .flatMap { WipeDirection(rawValue: $0.rawValue) }
    }
    // A compositor whose parameters cannot be read is none.
    if fields.has("parameters"), style.parameters == nil { style.name = nil }
    return style
  }

  /// A point in parts of the frame's width and height.
  mutating func center(_ value: JSONValue) -> Document.TransitionStyle.Center? {
    guard case .array(let items) = value.content, items.count == 2 else {
      problems.addShape(
        value.pointer,
        "\(value.shown) should be a point: two numbers from 0 to 1, parts of the frame's width and height, such as "
          + "[0.5, 0.5]")
      return nil
    }
    let (x, y) = (number(items[0], in: 0...1), number(items[1], in: 0...1))
    guard let x, let y else { return nil }
    return Document.TransitionStyle.Center(x: x, y: y)
  }
}

/// A transition in its place.
struct LoweredTransition {
  /// Tracks of the composition.
  var from: TrackID
  var to: TrackID
  var style: Document.TransitionStyle
  var range: MediaTimeRange
  var pointer: JSONPointer
  /// How the sound of the one gives way to that of the other.
  var curve: Document.FadeCurve?
  var edge = Edge.between

  /// Of what it is the edge.
  enum Edge {
    /// Of two clips.
    case between
    /// Of one clip: `from` or `to` has none.
    case start, end
  }
}

extension Lowering {
  /// The transitions of each track of the document that is in one: those between its clips, and those to other tracks.
  mutating func lowerTransitions() -> [TrackID: Timeline<LoweredTransition>] {
    var entries: [TrackID: [(range: MediaTimeRange, element: LoweredTransition)]] = [:]
    for track in tracks where track.entry.type == .video && !track.transitions.isEmpty {
      entries[track.entry.id] = track.transitions.map { ($0.range, $0) }
    }
    for entry in document.videoComposition.transitions {
      checkMatte(entry.style, at: entry.pointer)
      guard let range = resolve(entry.over, at: entry.pointer.key("over")) else { continue }
      for (key, id) in [("from", entry.from), ("to", entry.to)] { checkCover(range, id, entry.pointer.key(key)) }
      let transition = LoweredTransition(
        from: entry.from, to: entry.to, style: entry.style, range: range, pointer: entry.pointer)
      for id in [entry.from, entry.to] { entries[id, default: []].append((range, transition)) }
    }
    var timelines: [TrackID: Timeline<LoweredTransition>] = [:]
    for id in entries.keys.sorted() {
      var overlaps: [(LoweredTransition, LoweredTransition)] = []
      timelines[id] = Timeline(entries[id] ?? []) { overlaps.append(($0, $1)) }
      for (transition, earlier) in overlaps {
        problems.add(
          transition.pointer,
          "track '\(id)' is in two transitions at once: \(transition.range) here and \(earlier.range) at "
            + earlier.pointer.text)
      }
    }
    return timelines
  }

  /// Reports the matte of a luma transition that is not a still picture.
  mutating func checkMatte(_ style: Document.TransitionStyle, at pointer: JSONPointer) {
    guard let id = style.matte, let asset = assets[id] else { return }
    guard let video = asset.defaultTrack(.video)?.video else {
      problems.add(pointer.key("matte"), "'\(id)' has no picture; a matte is a still picture")
      return
    }
    if !video.isStill { problems.add(pointer.key("matte"), "'\(id)' is a video; a matte is a still picture") }
  }

  /// Reports a track that does not play throughout a transition.
  private mutating func checkCover(_ range: MediaTimeRange, _ id: TrackID, _ pointer: JSONPointer) {
    guard let track = track(id), track.isComplete, track.entry.timesAreKnown else { return }
    guard !track.clips.covers(range) else { return }
    let clips = track.clips[range].map { "\($0.range)" }
    problems.add(
      pointer,
      "track '\(id)' does not cover the transition \(range): "
        + (clips.isEmpty ? "it has no clip there" : "there it has clips only at \(list(clips.prefix(8)))")
        + "; both tracks of a transition must play throughout it")
  }

  /// The stack of an instruction with its transitions. A mix is in the place of the upper one of its tracks.
  func mixed(
    _ stack: [TrackLayer], during range: MediaTimeRange, _ transitions: [TrackID: Timeline<LoweredTransition>]
  ) -> [Layer] {
    var layers: [Layer] = []
    var done: Set<TrackID> = []
    /// The layer of a track of the document, whichever of its lanes plays, or of a lane.
    func layer(_ id: TrackID) -> TrackLayer? {
      stack.first { $0.track == id } ?? stack.first { track($0.track)?.entry.id == id }
    }
    for shown in stack where !done.contains(shown.track) {
      guard let owner = track(shown.track)?.entry.id, let transition = transitions[owner]?[range].first?.element else {
        layers.append(.track(shown))
        continue
      }
      let from = transition.edge == .start ? TrackLayer(track: transition.from) : layer(transition.from)
      let to = transition.edge == .end ? TrackLayer(track: transition.to) : layer(transition.to)
      guard let from, let to else { continue }
      done.formUnion([from.track, to.track])
      layers.append(
        .transition(
          TransitionLayer(
            from: from, to: to, progress: Ramp(over: transition.range, from: 0, to: 1), style: transition.style.style,
            matte: transition.style.matte)))
    }
    return layers
  }
}
