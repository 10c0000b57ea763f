import CompositionModel

// A clip with a transition overlaps the one before it by the transition's length. A composition's track has one clip at
// a time, so the clips alternate between two lanes, which are tracks of the composition: the track itself, and one of
// which the document has no name.

extension Document.ClipTransition {
  static let instead = [
    "type": "did you mean 'kind'?", "name": "did you mean 'kind'?", "length": "did you mean 'duration'?",
    "over": "did you mean 'duration'?", "colour": "did you mean 'color'?",
  ]
  static let standardDuration = MediaTime(seconds: 1)

  /// The second lane of a track of the document.
  static func lane(of id: TrackID) -> TrackID { id + ".B" }
}

extension DocumentReader {
  /// Reads the transition of a clip: an object, the name of a kind, or the duration of a dissolve.
  mutating func clipTransition(_ value: JSONValue?, _ type: MediaType) -> Document.ClipTransition? {
    guard let value else { return nil }
    var entry = Document.ClipTransition()
    (entry.pointer, entry.durationPointer) = (value.pointer, value.pointer)
    let found = problems.count
    let table = type == .video ? TransitionKeys.clipTable : TransitionKeys.audioTable
    switch value.content {
    case .number:
      entry.duration = time(value)
      entry.timesAreKnown = problems.count == found
    case .string(let text) where text.first?.isLetter != true:
      entry.duration = time(value)
      entry.timesAreKnown = problems.count == found
    case .string:
      entry.timesAreKnown = true
      // A name alone is short for an object with it.
      let object = JSONValue(content: .object([("kind", value)]), pointer: value.pointer, offset: value.offset)
      if let fields = fields(object, table) { entry.style = style(fields, type) }
    case .object:
      guard let fields = fields(value, table) else { return entry }
      entry.duration = read(fields, TransitionKeys.duration)
      entry.sound = read(fields, TransitionKeys.sound)
      entry.durationPointer = fields["duration"]?.pointer ?? value.pointer
      entry.timesAreKnown = problems.count == found
      entry.style = style(fields, type)
    default:
      let names = list(TransitionKind.Name.allCases.map(\.rawValue))
      problems.addShape(
        value.pointer,
        "\(value.shown) should be the duration of a dissolve, such as 1, a kind (\(names)), or an object with 'kind' and "
          + "'duration'")
    }
    return entry
  }

  private mutating func style(_ fields: Fields, _ type: MediaType) -> Document.TransitionStyle {
    guard type == .audio else { return transitionStyle(fields) }
    let kind = choice(
      fields["kind"], "kind of transition of an audio track", among: [TransitionKind.Name.dissolve.rawValue])
    return kind == nil ? Document.TransitionStyle() : transitionStyle(fields)
  }
}

extension Document.ClipTransition {
  /// The duration or the kind if nothing else is said, or an object.
  package var json: JSONValue {
    let object = JSONValue.object(self, TransitionKeys.clipProperties)
    guard case .object(let members) = object.content, let only = members.first, members.count == 1 else {
      return object
    }
    return only.key == TransitionKeys.duration.name || only.key == TransitionKeys.kind.name ? only.value : object
  }
}

/// The clip before another in the list of its track, with all its turns.
struct PrecedingClip {
  var entry: ClipEntry
  var start: MediaTime
  var end: MediaTime
  /// The end of the transition to it.
  var transitionEnd: MediaTime?
}

extension Lowering {
  /// Where a clip with a transition and without an `at` starts: before the end of the preceding one, by the
  /// transition's length. Nil and a problem if that is unknown.
  mutating func start(of transition: Document.ClipTransition, before end: MediaTime?) -> MediaTime? {
    guard let length = length(of: transition), let end else { return nil }
    return exact(at: transition.durationPointer) { () throws(TimeError) in try (end - length).place }
  }

  mutating func length(of transition: Document.ClipTransition) -> MediaTime? {
    guard let written = transition.duration else { return Document.ClipTransition.standardDuration }
    guard let length = resolve(written, at: transition.durationPointer) else { return nil }
    if length != .zero { return length }
    problems.add(transition.durationPointer, "a transition must last longer than 0")
    return nil
  }

  /// The range of a transition to a clip that is in its place. Nil and a problem if there is none.
  /// - Parameter shown: the time of the clip with all its turns.
  mutating func range(
    of transition: Document.ClipTransition, to clip: ClipEntry, _ shown: MediaTimeRange, after preceding: PrecedingClip
  ) -> MediaTimeRange? {
    guard shown.start < preceding.end else {
      problems.add(
        transition.pointer,
        "the clip starts at \(shown.start), and the one before it (\(preceding.entry.pointer.text)) ends at "
          + "\(preceding.end): a transition needs a time at which both play; leave out 'at', or let the clip start earlier"
      )
      return nil
    }
    let times = exact(at: transition.pointer) { () throws(TimeError) in
      (
        range: try MediaTimeRange(start: shown.start, end: preceding.end),
        before: try MediaTimeRange(start: preceding.start, end: preceding.end),
        first: try preceding.transitionEnd.map { end throws(TimeError) in try end - preceding.start }
      )
    }
    guard let (range, before, first) = times else { return nil }
    if clip.at != nil, transition.duration != nil {
      guard let length = length(of: transition) else { return nil }
      // Of a rounded end the author's own sum is the same but for rounding.
      let isNear = preceding.end.hasBeenRounded && (try? length.isNear(range.duration)) == true
      let isSame = isNear || length == range.duration
      guard isSame else {
        problems.add(
          transition.durationPointer,
          "the transition lasts \(seconds(length)), but the clip's 'at' lets it overlap the one before by "
            + "\(seconds(range.duration)); leave out 'at' or 'duration'")
        return nil
      }
    }
    guard range.duration <= shown.duration else {
      problems.add(
        transition.pointer,
        "the transition lasts \(seconds(range.duration)), longer than the clip, which lasts \(seconds(shown.duration))")
      return nil
    }
    guard before.start <= range.start else {
      problems.add(
        transition.pointer,
        "the transition lasts \(seconds(range.duration)), longer than the clip before it "
          + "(\(preceding.entry.pointer.text)), which lasts \(seconds(before.duration))")
      return nil
    }
    if let first, let end = preceding.transitionEnd, range.start < end {
      problems.add(
        transition.pointer,
        "the clip before (\(preceding.entry.pointer.text)) lasts \(seconds(before.duration)), less than its two "
          + "transitions: \(seconds(first)) at its start and \(seconds(range.duration)) at its end")
      return nil
    }
    return range
  }
}

/// The clips of a track in their places: on one lane, or on two if there are transitions between them.
struct LoweredClips {
  /// By the time at which they start.
  private(set) var entries: [(range: MediaTimeRange, element: LoweredClip)] = []
  /// Each has the clips whose layers are of its track of the composition.
  private(set) var lanes: [(id: TrackID, clips: Timeline<LoweredClip>)] = []

  /// A clip that overlaps an earlier one without a transition is left out and passed to `overlap`.
  /// - Parameter ids: The track of the composition for each lane.
  init(
    _ clips: [LoweredClip], lanes ids: [TrackID], overlap: (_ clip: LoweredClip, _ earlier: LoweredClip) -> Void
  ) {
    // Of two that start together the first as written stays.
    let order = clips.indices.sorted { a, b in
      let (first, second) = (clips[a], clips[b])
      guard first.clip.target.start == second.clip.target.start else {
        return first.clip.target.start < second.clip.target.start
      }
      return first.number == second.number ? a < b : first.number < second.number
    }
    var last: LoweredClip?
    for clip in order.map({ clips[$0] }) {
      if let last, clip.clip.target.start < last.clip.target.end, !clip.isJoined(to: last) {
        overlap(clip, last)
        continue
      }
      entries.append((clip.clip.target, clip))
      if last.map({ $0.clip.target.end < clip.clip.target.end }) ?? true { last = clip }
    }
    lanes = ids.map { id in
      (id, Timeline(entries.filter { $0.element.layer.track == id }) { _, _ in })
    }
  }

  /// The entries that overlap a range.
  subscript(_ range: MediaTimeRange) -> [(range: MediaTimeRange, element: LoweredClip)] {
    let found = lanes.flatMap { $0.clips[range] }
    return lanes.count == 1 ? found : found.sorted { $0.range.start < $1.range.start }
  }

  /// Whether the entries leave no gap in a range.
  func covers(_ range: MediaTimeRange) -> Bool {
    var covered = range.start
    for entry in self[range] {
      guard entry.range.start <= covered else { return false }
      covered = max(covered, entry.range.end)
    }
    return range.end <= covered
  }
}

extension LoweredClip {
  /// Whether a transition joins the clips.
  fileprivate func isJoined(to other: LoweredClip) -> Bool {
    let (first, second) = number < other.number ? (self, other) : (other, self)
    return second.number == first.number + 1 && second.entry.transition != nil
  }
}

extension LoweredTrack {
  /// The volume of each lane's fades. Of a cross-fade one goes from 1 to 0 while the other goes from 0 to 1. Clips
  /// change the lane at each one, so the ramps of a lane fall and rise in turn; after a clip that fades to nothing the
  /// next one of the lane begins at 1.
  func fades(_ lane: TrackID) -> RampList {
    var ramps: [Ramp] = []
    var ends: [MediaTime] = []
    for transition in transitions {
      let isEqualPower = transition.curve == .equalPower
      if transition.to == lane, transition.edge != .end {
        ramps.append(
          Ramp(over: transition.range, from: 0, to: 1, easing: isEqualPower ? Easing.equalPowerRise : nil))
      } else if transition.from == lane, transition.edge != .start {
        ramps.append(
          Ramp(over: transition.range, from: 1, to: 0, easing: isEqualPower ? Easing.equalPowerFall : nil))
        if transition.edge == .end { ends.append(transition.range.end) }
      }
    }
    let starts = Set(ramps.map(\.over.start))
    ramps += ends.filter { !starts.contains($0) }.map { Ramp(over: MediaTimeRange(emptyAt: $0), from: 1, to: 1) }
    return RampList(ramps.sorted { $0.over.start < $1.over.start })
  }
}
