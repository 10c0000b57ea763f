package import CompositionModel

/// Cuts an edit into tasks. A pure function of the edit and its assets: how many workers there are, or how fast, changes
/// nothing (DESIGN 5).
package enum RenderPlanner {
  /// - Parameter segmentDuration: what a segment aims at, in seconds; positive. Nil: 5 s for a film of up to
  ///   30 s, 7.5 s up to two minutes, 10 s up to ten, 20 s beyond, so that a short film feeds every core and a long one
  ///   wastes little on starting tasks.
  package static func plan(
    _ edit: Edit, assets: [AssetID: PlannedAsset], segmentDuration: MediaTime? = nil
  ) throws(PlanError) -> RenderPlan {
    let lookup = SourceLookup(assets: assets)
    let frameCount = try timed("the film's length") { () throws(TimeError) in try edit.frameCount }
    let sound = try edit.export.audio.map { encoder throws(PlanError) in
      try AudioPlanner(edit: edit, sources: lookup).task(encoder)
    }
    var segments: [Segment] = []
    var format: VideoTaskFormat?
    var pictures: StitchedVideo?
    if let encoder = edit.export.video {
      let made = VideoTaskFormat(
        size: edit.videoComposition.renderSize, pixelFormat: encoder.pixelFormat, colour: encoder.colour,
        frameDuration: edit.videoComposition.frameDuration)
      format = made
      segments = try self.segments(
        of: edit, format: made, encoder: encoder, frameCount: frameCount,
        segmentDuration: segmentDuration ?? defaultSegmentDuration(edit.composition.duration), lookup: lookup)
      pictures = StitchedVideo(format: made, encoder: encoder, frameCounts: segments.map(\.frames.count))
    }
    let stitch = StitchTask(
      container: edit.export.container,
      video: pictures,
      audio: sound.map { StitchedAudio(encoder: $0.encoder, sampleCount: $0.sampleCount) },
      optimizeForNetworkUse: edit.export.optimizeForNetworkUse, metadata: edit.export.metadata)
    return RenderPlan(
      frameCount: frameCount, duration: edit.composition.duration, format: format,
      instructions: edit.videoComposition.instructions, segments: segments, audio: sound, stitch: stitch)
  }

  private static func defaultSegmentDuration(_ duration: MediaTime) -> MediaTime {
    if duration <= MediaTime(seconds: 30) { return MediaTime(seconds: 5) }
    if duration <= MediaTime(seconds: 120) { return MediaTime(value: 15, timescale: 2) }
    return MediaTime(seconds: duration <= MediaTime(seconds: 600) ? 10 : 20)
  }

  private static func segments(
    of edit: Edit, format: VideoTaskFormat, encoder: VideoSettings, frameCount: Int, segmentDuration: MediaTime,
    lookup: SourceLookup
  ) throws(PlanError) -> [Segment] {
    let grid = FrameGrid(frameDuration: format.frameDuration, frameCount: frameCount)
    let timeline = try Timeline(edit, grid: grid)
    let costs = CostModel(format: format, encoder: encoder, sources: lookup)
    let nominalFrames = try timed("the segments' length") { () throws(TimeError) in
      Int(clamping: max(1, try (segmentDuration / format.frameDuration).rounded))
    }
    let chooser = BoundaryChooser(
      timeline: timeline, costs: costs, nominalFrames: nominalFrames, keyframeInterval: encoder.keyframeInterval)
    let builder = SegmentBuilder(edit: edit, timeline: timeline, format: format, encoder: encoder, sources: lookup)
    let cumulative = try CumulativeCost(timeline: timeline, costs: costs)
    let choices = try chooser.boundaries()
    let ends = choices.dropFirst().map(\.frame) + [frameCount]
    var segments: [Segment] = []
    for (choice, end) in zip(choices, ends) {
      let span = timeline.spans[cumulative.span(of: choice.frame)]
      let runUp = try costs.runUp(to: choice.frame, in: span, grid: grid)
      segments.append(
        Segment(
          frames: choice.frame..<end,
          cost: cumulative.cost(before: end) - cumulative.cost(before: choice.frame) + runUp,
          boundary: choice.boundary, task: try builder.task(frames: choice.frame..<end)))
    }
    return segments
  }
}
