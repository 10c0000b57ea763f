/// A transition as written. Every transition is a dissolve.
struct TransitionEntry: Sendable {
  var from: TrackID
  var to: TrackID
  var over: WrittenRange
  var pointer: JSONPointer

  static let keys = ["from", "to", "over", "kind"]
  static let notYet = ["easing", "color", "matte"]
  static let kinds = ["dissolve"]
  static let kindsNotYet = ["fade", "wipe", "slide", "push", "circle", "luma", "luma-matte"]
}

extension DocumentReader {
  /// Reads a transition. Nil and a problem if it cannot be used.
  mutating func transition(_ value: JSONValue) -> TransitionEntry? {
    guard let fields = fields(value, "a transition", keys: TransitionEntry.keys, notYet: TransitionEntry.notYet)
    else { return nil }
    _ = choice(
      fields["kind"], "kind of transition", among: TransitionEntry.kinds, notYet: TransitionEntry.kindsNotYet)
    let from = videoTrack(required(fields, "from", "a transition"))
    let to = videoTrack(required(fields, "to", "a transition"))
    let over = range(required(fields, "over", "a transition"))
    guard let from, let to, let over else { return nil }
    if from == to {
      problems.add(fields.pointer.key("to"), "a transition goes from one track to another; both are '\(to.shortened)'")
      return nil
    }
    return TransitionEntry(from: from, to: to, over: over, pointer: fields.pointer)
  }
}

/// A transition in its place.
struct LoweredTransition {
  var entry: TransitionEntry
  var range: MediaTimeRange
}

extension Lowering {
  /// The transitions of each track that is in one.
  mutating func lowerTransitions() -> [TrackID: Timeline<LoweredTransition>] {
    var entries: [TrackID: [(range: MediaTimeRange, element: LoweredTransition)]] = [:]
    for entry in document.videoComposition.transitions {
      guard let range = resolve(entry.over, at: entry.pointer.key("over")) else { continue }
      for (key, id) in [("from", entry.from), ("to", entry.to)] { checkCover(range, id, entry.pointer.key(key)) }
      for id in [entry.from, entry.to] {
        entries[id, default: []].append((range, LoweredTransition(entry: entry, range: range)))
      }
    }
    var timelines: [TrackID: Timeline<LoweredTransition>] = [:]
    for id in entries.keys.sorted() {
      var overlaps: [(LoweredTransition, LoweredTransition)] = []
      timelines[id] = Timeline(entries[id] ?? []) { overlaps.append(($0, $1)) }
      for (transition, earlier) in overlaps {
        problems.add(
          transition.entry.pointer,
          "track '\(id)' is in two transitions at once: \(transition.range) here and \(earlier.range) at "
            + earlier.entry.pointer.text)
      }
    }
    return timelines
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
    for layer in stack where !done.contains(layer.track) {
      guard let transition = transitions[layer.track]?[range].first?.element else {
        layers.append(.track(layer))
        continue
      }
      let isFrom = transition.entry.from == layer.track
      let otherID = isFrom ? transition.entry.to : transition.entry.from
      guard let other = stack.first(where: { $0.track == otherID }) else { continue }
      done.insert(otherID)
      layers.append(
        .dissolve(
          from: isFrom ? layer : other, to: isFrom ? other : layer,
          progress: Ramp(over: transition.range, from: 0, to: 1)))
    }
    return layers
  }
}
