import CompositionModel
import RenderTasks

/// The damaged frames that a film shows as far as the descriptions of its media have them, before anything is rendered.
enum DescribedDamage {
  /// The most that are counted of a clip: those of nine hours at 30 a second.
  private static let mostTimes = 1_000_000

  static func shown(by edit: Edit, sources: SourceLookup) throws(PlanError) -> ShownDamage {
    var counter = DamageCounter(limit: ShownDamage.placesOfFilm)
    for frame in try frames(of: edit, sources: sources) {
      counter.add(
        .init(source: frame.source, output: frame.output), digest: frame.digest, track: frame.track, type: .video)
    }
    return counter.damage
  }

  private struct DamagedFrame {
    /// On the asset's timeline, in seconds.
    var source: Double
    /// From the start of the film, in seconds.
    var output: Double
    var digest: String
    var track: Int
  }

  /// In the order of the clips that show them. Those of an edit that is an asset come again with each of its clips.
  private static func frames(of edit: Edit, sources: SourceLookup) throws(PlanError) -> [DamagedFrame] {
    var found: [DamagedFrame] = []
    var ofNested: [AssetID: [DamagedFrame]] = [:]
    let film = try mapErrors(to: PlanError.time("the film's start")) { () throws(TimeError) in try edit.exportedRange }
    var clips = edit.composition.tracks.filter { $0.type == .video }.flatMap(\.clips).map { ($0, over: $0.target) }
    clips += try edit.movingOverlays
    for (clip, over) in clips.sorted(by: { $0.over.start < $1.over.start }) {
      let (asset, track, video) = try sources.video(of: clip)
      let (start, end) = (max(over.start, film.start), min(over.end, film.end))
      guard start < end else { continue }
      if let (nested, own) = sources.nested(clip.asset) {
        let inner: [DamagedFrame]
        if let known = ofNested[clip.asset] { inner = known } else { inner = try frames(of: nested.edit, sources: own) }
        ofNested[clip.asset] = inner
        try mapErrors(to: PlanError.time("the clip of '\(clip.asset)' at \(clip.target.start)")) {
          () throws(TimeError) in
          for var frame in inner.prefix(mostTimes) {
            let place = try clip.place(of: frame.output)
            guard start.approximateSeconds <= place, place < end.approximateSeconds else { continue }
            frame.output = place - film.start.approximateSeconds
            found.append(frame)
          }
        }
        continue
      }
      guard let damaged = video.damagedFrames else { continue }
      try mapErrors(to: PlanError.time("the clip of '\(clip.asset)' at \(clip.target.start)")) {
        () throws(TimeError) in
        let shown = try clip.frames(from: start, to: end, of: track, video)
        var times = damaged.times(in: shown).prefix(mostTimes).map { (time: $0, first: Int64?.some($0)) }
        if clip.retiming.isReversed {
          // Backwards, a frame is first shown at the time of the next one.
          for index in times.indices { times[index].first = video.frames.first(after: times[index].time) }
          times.reverse()
        }
        for (time, first) in times {
          let place = try first.map { tick throws(TimeError) in try clip.place(of: track.seconds(of: tick)) }
          let output = min(max(place ?? 0, start.approximateSeconds), end.approximateSeconds)
          found.append(
            DamagedFrame(
              source: track.seconds(of: time), output: output - film.start.approximateSeconds, digest: asset.digest,
              track: track.index))
        }
      }
    }
    return found
  }
}

extension TrackDescription {
  /// A stored timestamp on the asset's timeline.
  fileprivate func seconds(of tick: Int64) -> Double { Double(tick &- origin) * timebase.approximateSeconds }
}

extension Clip {
  /// The stored timestamps of the frames that it shows in a part of the composition, from the first to the last in the
  /// order of the file. A frame that could not be decoded is among them if it would be shown.
  /// - Parameters:
  ///   - start: Within the clip.
  ///   - end: After `start`. What begins to be shown then is not among them.
  fileprivate func frames(
    from start: MediaTime, to end: MediaTime, of track: TrackDescription, _ video: VideoFormat
  ) throws(TimeError) -> ClosedRange<Int64> {
    let times = [try sourceTime(at: start), try sourceTime(at: end)].sorted()
    func tick(_ time: Rational, isBefore: Bool) throws(TimeError) -> Int64 {
      try StoredTime.lastTick(
        dueAt: time, timebase: track.timebase, origin: track.origin, isRounded: track.hasRoundedTimes,
        cadence: video.cadence, isBefore: isBefore)
    }
    let from = try tick(times[0], isBefore: false)
    let first = (video.isStill ? nil : video.frames.last(atOrBefore: from)) ?? video.frames.first ?? from
    return first...max(first, video.isStill ? first : try tick(times[1], isBefore: true))
  }

  /// About when it shows a time of the asset, in seconds of the composition; before its start or after its end if it
  /// does not.
  fileprivate func place(of seconds: Double) throws(TimeError) -> Double {
    let (start, length) = (target.start.approximateSeconds, target.duration.approximateSeconds)
    guard !source.isEmpty else { return start }
    let played =
      retiming.isReversed ? source.end.approximateSeconds - seconds : seconds - source.start.approximateSeconds
    guard let curve = retiming?.speed else {
      return start + played / (try source.duration / target.duration).approximate
    }
    var (low, high) = (Int32(0), Int32(1 << 12))
    while high - low > 1 {
      let middle = (low + high) / 2
      let time = try target.duration.exact * Rational(middle, over: 1 << 12)
      if try curve.played(in: time).approximate <= played { low = middle } else { high = middle }
    }
    return start + length * Double(low) / Double(1 << 12)
  }
}

extension Edit {
  /// The first turn of each moving overlay, as a clip, and when it is shown.
  fileprivate var movingOverlays: [(Clip, over: MediaTimeRange)] {
    get throws(PlanError) {
      var clips: [(Clip, over: MediaTimeRange)] = []
      for overlay in videoComposition.overlays {
        guard case .video(let video) = overlay.content else { continue }
        let target = try mapErrors(to: PlanError.time("the overlay of '\(video.asset)' at \(overlay.over.start)")) {
          () throws(TimeError) in
          try MediaTimeRange(start: overlay.over.start, duration: video.source.duration)
        }
        let clip = Clip(asset: video.asset, sourceTrack: video.sourceTrack, source: video.source, target: target)
        clips.append((clip, over: target.end < overlay.over.end ? target : overlay.over))
      }
      return clips
    }
  }
}
