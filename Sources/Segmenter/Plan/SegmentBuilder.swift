import CompositionModel

/// Makes the task of one segment: everything on the segment's own clock, and nothing that its pictures do not depend
/// on, so that equal pictures have equal fingerprints.
struct SegmentBuilder {
  let edit: Edit
  let timeline: Timeline
  let format: VideoTaskFormat
  let encoder: VideoSettings
  let sources: SourceLookup

  func task(frames: Range<Int>) throws(PlanError) -> VideoTask {
    let clock = try timed("frame \(frames.lowerBound)") { () throws(TimeError) in
      try SegmentClock(frames: frames, grid: timeline.grid)
    }
    var opened = OpenedSources(lookup: sources)
    var spans: [Span] = []
    for span in timeline.spans {
      let shown = span.frames.clamped(to: frames)
      guard !shown.isEmpty else { continue }
      var layers: [PlannedLayer] = []
      for layer in span.layers {
        layers.append(try plan(layer, clock: clock, firstFrame: shown.lowerBound, opened: &opened))
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
      if let planned = try plan(overlay, clock: clock, opened: &opened) { overlays.append(planned) }
    }
    return VideoTask(
      format: format, encoder: encoder, frameCount: frames.count, spans: spans, overlays: overlays,
      sources: opened.sources)
  }

  private func plan(
    _ layer: TimelineLayer, clock: SegmentClock, firstFrame: Int, opened: inout OpenedSources
  ) throws(PlanError) -> PlannedLayer {
    switch layer {
    case .clip(let clip):
      return .clip(try plan(clip, clock: clock, firstFrame: firstFrame, opened: &opened))
    case .dissolve(let from, let to, let progress):
      let planned = (
        from: try from.map { clip throws(PlanError) in
          try plan(clip, clock: clock, firstFrame: firstFrame, opened: &opened)
        },
        to: try to.map { clip throws(PlanError) in
          try plan(clip, clock: clock, firstFrame: firstFrame, opened: &opened)
        }
      )
      let shifted = try timed("the dissolve over \(progress.over)") { () throws(TimeError) in
        Ramp(over: try progress.over.shifted(by: clock.offset), from: progress.from, to: progress.to)
      }
      return .dissolve(from: planned.from, to: planned.to, progress: shifted)
    }
  }

  private func plan(
    _ layer: TimelineClip, clock: SegmentClock, firstFrame: Int, opened: inout OpenedSources
  ) throws(PlanError) -> ClipLayer {
    let clip = layer.clip
    let source = try opened.index(of: clip, track: layer.track, from: firstFrame, grid: timeline.grid)
    return try timed("the clip of '\(clip.asset)' at \(clip.target.start)") { () throws(TimeError) in
      let (sourceRange, targetRange) = try clock.local(clip)
      return ClipLayer(
        source: source, sourceRange: sourceRange, targetRange: targetRange, fit: layer.fit,
        opacity: try clock.local(layer.opacity))
    }
  }

  private func plan(
    _ overlay: Overlay, clock: SegmentClock, opened: inout OpenedSources
  ) throws(PlanError) -> PlannedOverlay? {
    let frames = try timed("the overlay over \(overlay.over)") { () throws(TimeError) in
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
      content = .image(source: try opened.index(ofStill: asset), width: width, height: height)
    }
    return PlannedOverlay(
      content: content, frames: shown, placement: overlay.placement, opacity: overlay.opacity,
      ramps: try timed("the ramps of the overlay over \(overlay.over)") { () throws(TimeError) in
        try clock.local(overlay.ramps)
      })
  }
}
