extension Lowering {
  /// Layers in all; a film has thousands, a document made to exhaust memory has more.
  private static let greatestLayerCount = 1_000_000

  // MARK: Derived (FEATURES F30, F37)

  /// One instruction wherever the stack is another: cut where a clip or a transition starts or ends.
  mutating func derivedInstructions() -> [Instruction] {
    let transitions = lowerTransitions()
    guard isFilmKnown, !film.isEmpty else { return [] }
    let shown = tracks.filter { $0.entry.type == .video }
    var cuts: [MediaTime] = []
    for track in shown { cuts += track.clips.entries.flatMap { [$0.range.start, $0.range.end] } }
    for transition in transitions.values.flatMap(\.entries) { cuts += [transition.range.start, transition.range.end] }
    let film = film
    guard let ranges = exactly(at: .root.key("tracks"), { () throws(TimeError) in try film.pieces(cutAt: cuts) }),
      let stacks = stacks(of: shown, during: ranges)
    else { return [] }
    return zip(ranges, stacks).map { range, stack in
      Instruction(
        over: range, background: document.videoComposition.background,
        layers: transitions.isEmpty ? stack.map { .track($0) } : mixed(stack, during: range, transitions))
    }
  }

  /// What the tracks show in each of the ranges, which tile the film and in which no clip starts or ends. Takes time
  /// for what is shown only, however many tracks there are.
  private mutating func stacks(of shown: [LoweredTrack], during ranges: [MediaTimeRange]) -> [[TrackLayer]]? {
    var stacks = Array(repeating: [TrackLayer](), count: ranges.count)
    var numbers: [MediaTime: Int] = [film.end: ranges.count]
    for (number, range) in ranges.enumerated() { numbers[range.start] = number }
    var layerCount = 0
    for clip in shown.flatMap(\.clips.entries) {
      guard let first = numbers[clip.range.start], let end = numbers[clip.range.end] else { continue }
      layerCount += end - first
      guard isBearable(layerCount) else { return nil }
      for number in first..<end { stacks[number].append(clip.element.layer) }
    }
    return stacks
  }

  private mutating func isBearable(_ layerCount: Int) -> Bool {
    if layerCount <= Self.greatestLayerCount { return true }
    problems.add(
      .root.key("tracks"),
      "the film comes to more than \(Self.greatestLayerCount) layers in all its instructions; use fewer tracks or cuts")
    return false
  }

  /// The stack with its transitions.
  private func mixed(
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

  /// The transitions in which each track takes part.
  private mutating func lowerTransitions() -> [TrackID: Timeline<LoweredTransition>] {
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

  private mutating func checkCover(_ range: MediaTimeRange, _ id: TrackID, _ pointer: JSONPointer) {
    guard let track = track(id), track.isWhole, track.entry.hasSureTimes else { return }
    guard !track.clips.covers(range) else { return }
    let clips = track.clips[range].map { "\($0.range)" }
    problems.add(
      pointer,
      "track '\(id)' does not cover the transition \(range): "
        + (clips.isEmpty ? "it has no clip there" : "there it has clips only at \(list(clips.prefix(8)))")
        + "; both tracks of a transition must play throughout it")
  }

  // MARK: Explicit (FEATURES F31)

  mutating func lower(_ entries: [InstructionEntry]) -> [Instruction] {
    let ranges = entries.map { resolve($0.over, at: $0.pointer.key("over")) }
    checkTiling(entries, ranges)
    for track in tracks where track.entry.type == .video {
      for clip in track.clips.entries where clip.element.entry.changesOpacity {
        problems.add(
          clip.element.entry.pointer,
          "with explicit 'instructions' opacity is set on their layers, not on the clip")
      }
    }
    var instructions: [Instruction] = []
    var layerCount = 0
    for (entry, range) in zip(entries, ranges) {
      guard let range, let layers = layers(of: entry, range) else { continue }
      guard isFilmKnown, let visible = visible(range, at: entry.pointer.key("over")) else { continue }
      let cuts = layers.flatMap { layer in
        layer.clips[visible].flatMap { [$0.range.start, $0.range.end] }
      }
      guard
        let pieces = exactly(at: entry.pointer.key("over"), { () throws(TimeError) in try visible.pieces(cutAt: cuts) })
      else { continue }
      layerCount += pieces.count * layers.count
      guard isBearable(layerCount) else { return [] }
      for piece in pieces {
        let shown: [Layer] = layers.compactMap { layer in
          guard let clip = layer.clips[piece].first?.element else { return nil }
          return .track(TrackLayer(track: layer.track, fit: layer.fit ?? clip.layer.fit, opacity: layer.opacity))
        }
        instructions.append(
          Instruction(
            over: piece, background: entry.background ?? document.videoComposition.background, layers: shown,
            wantsOverlays: entry.wantsOverlays))
      }
    }
    return instructions
  }

  private mutating func checkTiling(_ entries: [InstructionEntry], _ ranges: [MediaTimeRange?]) {
    let isWhole = document.videoComposition.isWhole
    guard isWhole else { return }
    guard let firstEntry = entries.first, let lastEntry = entries.last else {
      problems.add(
        document.videoComposition.pointer.key("instructions"),
        "there is no instruction; leave the key out to have them derived")
      return
    }
    if let first = ranges[0], .zero < first.start {
      problems.add(
        firstEntry.pointer.key("over"), "the first instruction starts at \(first.start); it must start at 0 or before")
    }
    for index in entries.indices.dropFirst() {
      guard let range = ranges[index], let before = ranges[index - 1], range.start != before.end else { continue }
      problems.add(
        entries[index].pointer.key("over"),
        "\(range) \(range.start < before.end ? "overlaps" : "leaves a gap after") the instruction before it, "
          + "\(before); each starts where the one before ends, here at \(before.end)")
    }
    if isFilmKnown, let last = ranges[ranges.count - 1], last.end < film.end {
      problems.add(
        lastEntry.pointer.key("over"),
        "the last instruction ends at \(last.end), before the film, which is \(seconds(film.duration)) long")
    }
  }

  private mutating func layers(of entry: InstructionEntry, _ range: MediaTimeRange) -> [ExplicitLayer]? {
    switch entry.content {
    case .passthrough(let id):
      guard let track = track(id) else { return nil }
      if isFilmKnown, let visible = visible(range, at: entry.pointer.key("over")), !track.clips.covers(visible) {
        problems.add(
          entry.pointer.key("passthrough"),
          "track '\(id)' does not play throughout \(visible); there must be a frame to pass through at any time")
      }
      return [ExplicitLayer(track: id, fit: nil, opacity: .one, clips: track.clips)]
    case .layers(let layers):
      var lowered: [ExplicitLayer] = []
      for layer in layers {
        guard let track = track(layer.track), let ramps = timeline(layer.ramps),
          let opacity = scaled(ramps.map(\.ramp), by: layer.opacity, from: range.start)
        else { return nil }
        lowered.append(ExplicitLayer(track: layer.track, fit: layer.fit, opacity: opacity, clips: track.clips))
      }
      return lowered
    }
  }

  /// What of a range lies in the film.
  private mutating func visible(_ range: MediaTimeRange, at pointer: JSONPointer) -> MediaTimeRange? {
    let film = film
    return exactly(at: pointer) { () throws(TimeError) in try range.intersection(film) } ?? nil
  }
}

extension MediaTimeRange {
  /// The range in pieces, cut at those of the times that are inside it.
  fileprivate func pieces(cutAt times: [MediaTime]) throws(TimeError) -> [MediaTimeRange] {
    var pieces: [MediaTimeRange] = []
    var start = start
    for time in times.filter({ self.start < $0 && $0 < end }).sorted() + [end] where start < time {
      pieces.append(try MediaTimeRange(start: start, end: time))
      start = time
    }
    return pieces
  }
}

/// A transition in its place.
private struct LoweredTransition {
  var entry: TransitionEntry
  var range: MediaTimeRange
}

private struct ExplicitLayer {
  var track: TrackID
  var fit: Fit?
  var opacity: RampList
  var clips: Timeline<LoweredClip>
}
