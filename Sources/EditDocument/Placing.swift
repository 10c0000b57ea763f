import CompositionModel

/// A track whose clips are put in their places, in whichever order.
private struct PlacingTrack {
  let entry: TrackEntry
  /// Nil as long as no clip is placed.
  var style: TrackStyle?
  let lanes: [TrackID]
  /// The lane of each clip. Empty if there is only one.
  var laneNumbers: [Int] = []
  /// In the order in which they were placed.
  var placed: [LoweredClip] = []
  /// When each clip is shown with all its turns. Nil: it has no place.
  var shown: [(start: MediaTime, end: MediaTime)?]
  /// Every clip is in its place.
  var isComplete = true

  init(_ entry: TrackEntry) {
    self.entry = entry
    shown = entry.clips.map { _ in nil }
    guard entry.hasTransitions else {
      lanes = [entry.id]
      return
    }
    lanes = [entry.id, Document.ClipTransition.lane(of: entry.id)]
    var lane = 0
    for (number, clip) in entry.clips.enumerated() {
      if clip.transition != nil, number > 0 { lane = 1 - lane }
      laneNumbers.append(lane)
    }
  }

  func lane(of number: Int) -> Int { laneNumbers.isEmpty ? 0 : laneNumbers[number] }
}

extension Lowering {
  /// Puts the clips of all tracks and the markers in their places.
  mutating func lowerTracks() {
    let order = PlacingOrder(document)
    for circle in order.circles { addCircle(circle) }
    var placing = document.tracks.map { PlacingTrack($0) }
    for step in order.steps {
      switch step {
      case .clip(let track, let number): place(number, of: &placing[track])
      case .marker(let number):
        let marker = document.markers[number]
        things.markers[marker.name] = resolve(marker.time, at: marker.pointer)
      case .filmEnd:
        let isKnown = document.timesAreKnown && placing.allSatisfy(\.isComplete)
        let ends = placing.lazy.flatMap { $0.shown.lazy.compactMap { $0?.end } }
        things.filmEnd = isKnown ? ends.max() ?? .zero : nil
      }
    }
    tracks = placing.map { finish($0) }
  }

  /// Puts a clip of a track in its place.
  private mutating func place(_ number: Int, of track: inout PlacingTrack) {
    let clip = track.entry.clips[number]
    if clip.endsWithTheFilm, things.filmEnd == nil {
      track.isComplete = false
      return
    }
    let style = track.style ?? TrackStyle(blendMode: track.entry.blendMode, mask: lower(track.entry.mask))
    track.style = style
    let preceding = number > 0 ? track.shown[number - 1] : nil
    var start = number == 0 ? .zero : preceding?.end
    if let transition = clip.transition, number > 0 {
      checkMatte(transition.style, at: transition.pointer)
      start = clip.at == nil ? self.start(of: transition, before: preceding?.end) : nil
    }
    let lowered = lower(
      clip, number, of: track.entry, style, lane: track.lanes[track.lane(of: number)], from: start)
    track.placed += lowered ?? []
    guard let first = lowered?.first?.clip.target, let last = lowered?.last?.clip.target else {
      track.isComplete = false
      return
    }
    track.shown[number] = (first.start, last.end)
    // Of two clips with one name, which is a problem, the first has it.
    if let name = clip.name, things.clips[name] == nil { things.clips[name] = (first.start, last.end) }
  }

  /// Makes a track of clips that are in their places.
  private mutating func finish(_ track: PlacingTrack) -> LoweredTrack {
    var track = track
    if let filters = filters(track.entry.filters) {
      for index in track.placed.indices {
        track.placed[index].layer.filters = (track.placed[index].layer.filters ?? []) + filters
      }
    }
    let (transitions, areComplete) = transitions(of: track)
    var overlaps: [(LoweredClip, LoweredClip)] = []
    let clips = LoweredClips(track.placed, lanes: track.lanes) { overlaps.append(($0, $1)) }
    addOverlaps(overlaps)
    var lowered = LoweredTrack(
      entry: track.entry, clips: clips, transitions: transitions,
      isComplete: track.isComplete && areComplete && overlaps.isEmpty)
    lowered.composed = clips.lanes.map { id, lane in
      CompositionTrack(id: id, type: track.entry.type, clips: lane.entries.map(\.element.clip))
    }
    lowered.composed += audioTracks(of: lowered)
    return lowered
  }

  /// The transitions between the clips of a track, and from nothing and to it, as far as they can be, and whether all
  /// are there.
  private mutating func transitions(of track: PlacingTrack) -> ([LoweredTransition], areComplete: Bool) {
    var (transitions, areComplete): ([LoweredTransition], Bool) = ([], true)
    guard track.entry.hasTransitions else { return (transitions, areComplete) }
    var preceding: PrecedingClip?
    for (number, clip) in track.entry.clips.enumerated() {
      guard let place = track.shown[number] else {
        preceding = nil
        continue
      }
      let lane = track.lane(of: number)
      var transitionEnd: MediaTime?
      if let transition = clip.transition, let preceding, checkHasNoExit(preceding.entry, before: transition),
        let shown = exact(
          at: clip.pointer, { () throws(TimeError) in try MediaTimeRange(start: place.start, end: place.end) })
      {
        let range = range(of: transition, to: clip, shown, after: preceding)
        areComplete = areComplete && range != nil
        transitionEnd = range?.end
        if let range {
          transitions.append(
            LoweredTransition(
              from: track.lanes[1 - lane], to: track.lanes[lane], style: transition.style, range: range,
              pointer: transition.pointer, curve: transition.sound))
        }
      }
      if clip.entrance != nil || clip.exit != nil {
        let edges = edges(
          of: clip, from: place.start, to: place.end, after: transitionEnd, lane: track.lanes[lane],
          empty: track.lanes[1 - lane])
        areComplete = areComplete && edges != nil
        transitionEnd = edges?.first { $0.edge == .start }?.range.end ?? transitionEnd
        transitions += edges ?? []
      }
      preceding = PrecedingClip(entry: clip, start: place.start, end: place.end, transitionEnd: transitionEnd)
    }
    return (transitions, areComplete)
  }

  /// - Parameter overlaps: Each clip with an earlier one of its track that it overlaps.
  private mutating func addOverlaps(_ overlaps: [(LoweredClip, LoweredClip)]) {
    var reported: JSONPointer?
    // A clip that is repeated would overlap with each of its turns.
    for (clip, earlier) in overlaps where clip.entry.pointer != reported {
      reported = clip.entry.pointer
      problems.add(
        clip.entry.pointer,
        "'\(clip.clip.asset)' would play \(clip.clip.target) and overlap '\(earlier.clip.asset)' "
          + "(\(earlier.entry.pointer.text)), which plays \(earlier.clip.target); clips of one track follow each other")
    }
  }

  /// The audio tracks of a video track's lanes. None if there is no sound in them, unless the document names it.
  private func audioTracks(of track: LoweredTrack) -> [CompositionTrack] {
    guard track.entry.type == .video, mayBeHeard(track.entry) else { return [] }
    let audio = zip(track.clips.lanes, track.audioLanes).map { lane, id in audioTrack(id, lane.clips) }
    let isNamed =
      track.entry.sound == true || mixedTracks.contains(TrackEntry.audioTrack(of: track.entry.id))
    return isNamed || audio.contains { !$0.clips.isEmpty } ? audio : []
  }

  /// The audio of a lane of a video track: the same clips, of the assets that have an audio track.
  private func audioTrack(_ id: TrackID, _ clips: Timeline<LoweredClip>) -> CompositionTrack {
    CompositionTrack(
      id: id, type: .audio,
      clips: clips.entries.compactMap { entry in
        var clip = entry.element.clip
        guard let track = entry.element.soundTrack, !clip.source.isEmpty, !entry.element.entry.retiming.dropsSound
        else { return nil }
        clip.sourceTrack = track
        clip.source = entry.element.used
        clip.stabilization = nil
        return clip
      })
  }

  // MARK: Circles

  /// Reports times that count from each other, where the first of them is written.
  private mutating func addCircle(_ circle: [PlacingStep]) {
    let written = circle.indices.filter { place(of: circle[$0]) != nil }
    // The end of the film and clips that follow each other are in a circle only by a time that is written.
    guard
      let first = written.min(by: { (place(of: circle[$0])?.text ?? "") < (place(of: circle[$1])?.text ?? "") }),
      let pointer = place(of: circle[first])
    else { return }
    let turned = circle[first...] + circle[..<first]
    let names = turned.prefix(8).map { name(of: $0) }
    let others = turned.count - names.count
    let path = names.dropFirst().map { " depends on \($0), which" }.joined()
    problems.add(
      pointer,
      "this time depends on itself: \(names[0])\(path)\(others > 0 ? ", with \(others) more between," : "") depends on "
        + names[0]
        + (circle.contains(.filmEnd)
          ? "; the film ends with its last clip, except for a clip whose 'until' counts from the end" : ""))
  }

  /// Where the time of a step is written with an origin.
  private func place(of step: PlacingStep) -> JSONPointer? {
    switch step {
    case .clip(let track, let number):
      let clip = document.tracks[track].clips[number]
      if clip.at?.origin != nil { return clip.pointer.key("at") }
      return clip.origins.isEmpty ? nil : clip.pointer.key("until")
    case .marker(let number):
      let marker = document.markers[number]
      return marker.time.origin == nil ? nil : marker.pointer
    case .filmEnd: return nil
    }
  }

  private func name(of step: PlacingStep) -> String {
    switch step {
    case .clip(let track, let number):
      let clip = document.tracks[track].clips[number]
      return clip.name.map { "the clip '\($0.shortened)' (\(clip.pointer.text))" } ?? "the clip \(clip.pointer.text)"
    case .marker(let number): return "the marker '\(document.markers[number].name.shortened)'"
    case .filmEnd: return "the film's end"
    }
  }
}
