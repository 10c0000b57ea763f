import CompositionModel

/// Makes the task of one segment. All times are on the segment's own clock, and the task contains nothing that its
/// frames do not depend on, so that equal frames have equal fingerprints.
struct SegmentBuilder {
  let edit: Edit
  let timeline: Timeline
  let format: VideoTaskFormat
  let encoder: VideoSettings
  let sources: SourceLookup

  func task(frames: Range<Int>) throws(PlanError) -> VideoTask {
    let clock = try mapErrors(to: PlanError.time("frame \(frames.lowerBound)")) { () throws(TimeError) in
      try SegmentClock(frames: frames, grid: timeline.grid)
    }
    var used = SegmentSources(lookup: sources)
    var spans: [Span] = []
    for span in timeline.spans {
      let shown = span.frames.clamped(to: frames)
      guard !shown.isEmpty else { continue }
      var layers: [PlannedLayer] = []
      for layer in span.layers {
        layers.append(try plan(layer, clock: clock, firstFrame: shown.lowerBound, used: &used))
      }
      let local = clock.local(shown)
      if let last = spans.last, last.layers == layers, last.background == span.instruction.background {
        spans[spans.count - 1].frames = last.frames.lowerBound..<local.upperBound
      } else {
        spans.append(Span(frames: local, background: span.instruction.background, layers: layers))
      }
    }
    var overlays: [PlannedOverlay] = []
    for overlay in edit.videoComposition.overlays {
      if let planned = try plan(overlay, clock: clock, used: &used) { overlays.append(planned) }
    }
    return VideoTask(
      format: format, encoder: encoder, frameCount: frames.count, spans: spans, overlays: overlays,
      sources: used.sources)
  }

  private func plan(
    _ layer: TimelineLayer, clock: SegmentClock, firstFrame: Int, used: inout SegmentSources
  ) throws(PlanError) -> PlannedLayer {
    switch layer {
    case .clip(let clip):
      return .clip(try plan(clip, clock: clock, firstFrame: firstFrame, used: &used))
    case .dissolve(let from, let to, let progress):
      let planned = (
        from: try from.map { clip throws(PlanError) in
          try plan(clip, clock: clock, firstFrame: firstFrame, used: &used)
        },
        to: try to.map { clip throws(PlanError) in
          try plan(clip, clock: clock, firstFrame: firstFrame, used: &used)
        }
      )
      let shifted = try mapErrors(to: PlanError.time("the dissolve over \(progress.over)")) { () throws(TimeError) in
        Ramp(over: try progress.over.shifted(by: clock.offset), from: progress.from, to: progress.to)
      }
      return .dissolve(from: planned.from, to: planned.to, progress: shifted)
    }
  }

  private func plan(
    _ layer: TimelineClip, clock: SegmentClock, firstFrame: Int, used: inout SegmentSources
  ) throws(PlanError) -> ClipLayer {
    let clip = layer.clip
    let source = try used.index(of: clip, track: layer.track, from: firstFrame, grid: timeline.grid)
    return try mapErrors(to: PlanError.time("the clip of '\(clip.asset)' at \(clip.target.start)")) {
      () throws(TimeError) in
      let (sourceRange, targetRange) = try clock.local(clip)
      return ClipLayer(
        source: source, sourceRange: sourceRange, targetRange: targetRange, fit: layer.fit,
        opacity: try clock.local(layer.opacity))
    }
  }

  private func plan(
    _ overlay: Overlay, clock: SegmentClock, used: inout SegmentSources
  ) throws(PlanError) -> PlannedOverlay? {
    let frames = try mapErrors(to: PlanError.time("the overlay over \(overlay.over)")) { () throws(TimeError) in
      try timeline.grid.frames(in: overlay.over)
    }
    var shown: [Range<Int>] = []
    for span in timeline.spans where span.instruction.wantsOverlays {
      let part = span.frames.clamped(to: frames).clamped(to: clock.frames)
      guard !part.isEmpty else { continue }
      let local = clock.local(part)
      if let last = shown.last, last.upperBound == local.lowerBound {
        shown[shown.count - 1] = last.lowerBound..<local.upperBound
      } else {
        shown.append(local)
      }
    }
    guard !shown.isEmpty else { return nil }
    let content: PlannedOverlayContent
    switch overlay.content {
    case .text(let text): content = .text(text)
    case .image(let asset, let width, let height):
      content = .image(source: try used.index(ofStill: asset), width: width, height: height)
    }
    return PlannedOverlay(
      content: content, frames: shown, placement: overlay.placement, opacity: overlay.opacity,
      ramps: try mapErrors(to: PlanError.time("the ramps of the overlay over \(overlay.over)")) {
        () throws(TimeError) in
        try clock.local(overlay.ramps)
      })
  }
}

/// The conversion from the composition's timeline to a segment's own clock, on which its first frame is at zero.
struct SegmentClock {
  let frames: Range<Int>
  /// The difference to add to a time of the composition.
  let offset: MediaTime
  private let duration: MediaTime

  init(frames: Range<Int>, grid: FrameGrid) throws(TimeError) {
    self.frames = frames
    offset = try MediaTime.zero - grid.time(of: frames.lowerBound)
    duration = try grid.frameDuration * Rational(frames.count)
  }

  /// Frames of the output as frames of the segment.
  func local(_ part: Range<Int>) -> Range<Int> {
    (part.lowerBound - frames.lowerBound)..<(part.upperBound - frames.lowerBound)
  }

  /// A clip's ranges. At natural speed they are cut to what the segment shows, because the rest of the clip does not
  /// change its frames.
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

  /// The ramps that have an effect between the segment's first frame and its end.
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
