import CompositionModel

/// From composition time to a segment's own, on which its first frame is at zero.
struct SegmentClock {
  let frames: Range<Int>
  /// What to add to a composition time.
  let offset: MediaTime
  private let duration: MediaTime

  init(frames: Range<Int>, grid: FrameGrid) throws(TimeError) {
    self.frames = frames
    offset = try MediaTime.zero - grid.time(of: frames.lowerBound)
    duration = try grid.frameDuration * Rational(frames.count)
  }

  func local(_ part: Range<Int>) -> Range<Int> {
    (part.lowerBound - frames.lowerBound)..<(part.upperBound - frames.lowerBound)
  }

  /// A clip's ranges. At natural rate only what the segment shows of them: how much more of the clip there is elsewhere
  /// does not change these pictures.
  func local(_ clip: Clip) throws(TimeError) -> (source: MediaTimeRange, target: MediaTimeRange) {
    let target = try clip.target.shifted(by: offset)
    guard !clip.source.isEmpty else {
      return (clip.source, try MediaTimeRange(start: .zero, duration: duration))
    }
    guard clip.source.duration == clip.target.duration,
      let shown = try target.intersection(MediaTimeRange(start: .zero, duration: duration))
    else { return (clip.source, target) }
    let skipped = try shown.start - target.start
    return (try MediaTimeRange(start: clip.source.start + skipped, duration: shown.duration), shown)
  }

  /// The ramps that matter between the segment's first frame and its end.
  func local(_ list: RampList) throws(TimeError) -> RampList {
    let shifted = try list.shifted(by: offset).ramps
    var kept: [Ramp] = []
    for (index, ramp) in shifted.enumerated() where ramp.over.start < duration {
      let isReplaced = index + 1 < shifted.count && shifted[index + 1].over.start <= .zero
      if isReplaced { continue }
      if ramp.over.end <= .zero {
        let now = try MediaTimeRange(start: .zero, duration: .zero)
        kept.append(Ramp(over: now, from: ramp.to, to: ramp.to))
      } else {
        kept.append(ramp)
      }
    }
    return kept.allSatisfy { $0.from == 1 && $0.to == 1 } ? .one : RampList(kept)
  }
}
