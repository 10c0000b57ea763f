import CompositionModel

/// The damaged frames that a film shows as far as the descriptions of its media have them, before anything is rendered.
enum DescribedDamage {
  static func shown(by edit: Edit, sources: SourceLookup) throws(PlanError) -> ShownDamage {
    var counter = DamageCounter(limit: ShownDamage.placesOfFilm)
    let range = try mapErrors(to: PlanError.time("the film's start")) { () throws(TimeError) in try edit.exportedRange }
    let (exportStart, exportEnd) = (range.start.approximateSeconds, range.end.approximateSeconds)
    let clips = edit.composition.tracks.filter { $0.type == .video }.flatMap(\.clips) + edit.movingOverlays
    for clip in clips.sorted(by: { $0.target.start < $1.target.start }) {
      let (asset, track, video) = try sources.video(of: clip)
      guard let damaged = video.damagedFrames else { continue }
      try mapErrors(to: PlanError.time("the clip of '\(clip.asset)' at \(clip.target.start)")) {
        () throws(TimeError) in
        // The frame that is shown first may be due before the clip starts.
        let whole = clip.retiming.isReversed ? clip.target.end : clip.target.start
        let first = try sources.shownFrame(of: clip, track: track, format: video, at: whole) ?? .min
        let (start, end) = (clip.source.start.approximateSeconds, clip.source.end.approximateSeconds)
        for time in damaged.times where time >= first {
          let seconds = Double(time - track.origin) * track.timebase.approximateSeconds
          guard time == first || seconds < end, !clip.source.isEmpty || time == first else { break }
          let output = try clip.place(of: max(start, seconds))
          guard exportStart <= output, output < exportEnd else { continue }
          counter.add(
            .init(source: seconds, output: output - exportStart), digest: asset.digest, track: track.index, type: .video
          )
        }
      }
    }
    return counter.damage
  }
}

extension Clip {
  /// About when it shows a time of the asset, in seconds of the composition: its end if it does not.
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
  /// The first turn of each moving overlay, as a clip.
  fileprivate var movingOverlays: [Clip] {
    videoComposition.overlays.compactMap { overlay in
      guard case .video(let video) = overlay.content,
        let target = try? MediaTimeRange(start: overlay.over.start, duration: video.source.duration)
      else { return nil }
      return Clip(asset: video.asset, sourceTrack: video.sourceTrack, source: video.source, target: target)
    }
  }
}
