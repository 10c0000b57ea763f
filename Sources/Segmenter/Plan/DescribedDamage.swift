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
        let first = try sources.shownFrame(of: clip, track: track, format: video, at: clip.target.start) ?? .min
        let (start, end) = (clip.source.start.approximateSeconds, clip.source.end.approximateSeconds)
        let speed = clip.source.isEmpty ? 1 : try (clip.source.duration / clip.target.duration).approximate
        for time in damaged.times where time >= first {
          let seconds = Double(time - track.origin) * track.timebase.approximateSeconds
          guard time == first || seconds < end, !clip.source.isEmpty || time == first else { break }
          let output = clip.target.start.approximateSeconds + max(0, seconds - start) / speed
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
