import CompositionModel
import RenderTasks

/// Plans a video or an animated picture that is an overlay for the frames of one segment.
///
/// If the segment shows frames of one turn only, they are planned like those of a clip, so that what came before has no
/// effect on the task. Else the turns that are over are left out, and the source is read from the start of its turns.
struct OverlayVideoPlanner {
  let video: OverlayVideo
  var alpha: AlphaMode?
  /// The start of the overlay, on the composition's timeline.
  let start: MediaTime
  let grid: FrameGrid
  let clock: SegmentClock

  /// - Parameter shown: frames of the segment, as frames of the film; not empty.
  func plan(_ shown: Range<Int>, used: inout SegmentSources) throws(PlanError) -> PlannedOverlayVideo {
    let clip = try mapErrors(to: error) { () throws(TimeError) in
      Clip(
        asset: video.asset, sourceTrack: video.sourceTrack, source: video.source,
        target: try MediaTimeRange(start: start, duration: video.source.duration))
    }
    let (_, track, format) = try used.lookup.video(of: clip)
    let turns = try mapErrors(to: error) { () throws(TimeError) in
      (first: try turn(at: shown.lowerBound), last: try turn(at: shown.upperBound - 1))
    }
    let held = try video.turns.flatMap { count throws(PlanError) in
      count <= turns.last ? try mapErrors(to: error) { () throws(TimeError) in try lastTime(track, format) } : nil
    }
    var planned = try mapErrors(to: error) { () throws(TimeError) in
      PlannedOverlayVideo(
        source: 0, sourceRange: video.source,
        start: try start + clock.offset + video.source.duration * Rational(turns.first),
        turns: held == nil ? nil : (video.turns ?? 0) - turns.first, held: held, width: video.width,
        height: video.height)
    }
    var read = try mapErrors(to: error) { () throws(TimeError) in
      (from: try video.source.start.exact, through: try video.source.end.exact)
    }
    if let held, let count = planned.turns, count <= 0 {
      planned.sourceRange = try mapErrors(to: error) { () throws(TimeError) in
        read = (try held.exact, try held.exact)
        return try MediaTimeRange(start: held, duration: .zero)
      }
      (planned.start, planned.turns, planned.held) = (.zero, nil, nil)
    } else if held == nil, turns.first == turns.last {
      let turn = turns.first
      try mapErrors(to: error) { () throws(TimeError) in
        var clip = clip
        clip.target = try clip.target.shifted(by: video.source.duration * Rational(turn))
        let (source, target, _) = try clock.local(clip) { frames throws(TimeError) in
          try used.lookup.time(of: clip, track: track, format: format, in: frames, grid: grid)
        }
        (planned.sourceRange, planned.start) = (source, target.start)
        read = (
          try clip.sourceTime(at: grid.time(of: shown.lowerBound)),
          try clip.sourceTime(at: grid.time(of: shown.upperBound - 1))
        )
      }
    }
    planned.source = try used.index(
      of: video, alpha: alpha, start: start, shown: shown, from: read.from, through: read.through)
    return planned
  }

  private var error: (TimeError) -> PlanError { PlanError.time("the overlay of '\(video.asset)' at \(start)") }

  private func turn(at frame: Int) throws(TimeError) -> Int {
    Int(clamping: max(0, try ((grid.time(of: frame) - start) / video.source.duration).floor))
  }

  /// A time of the asset at which the last frame of a turn is shown: the last one that is stored before the end.
  private func lastTime(_ track: TrackDescription, _ format: VideoFormat) throws(TimeError) -> MediaTime {
    let end = try video.source.end.exact / track.timebase.exact
    let tick = StoredTime.tick(max(end.ceiling, .min + 1) - 1, origin: track.origin)
    guard let stored = format.frames.last(atOrBefore: tick) ?? format.frames.first else { return video.source.start }
    // The true time of a frame is at most a tick after the stored one if the container rounds times.
    let ticks = stored - track.origin + (track.hasRoundedTimes ? 1 : 0)
    return max(video.source.start, try track.timebase * Rational(ticks))
  }
}
