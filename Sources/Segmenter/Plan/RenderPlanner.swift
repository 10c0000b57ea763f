package import CompositionModel

/// Makes the tasks of an edit. The result depends on the edit and its assets alone, and not on the number or the speed
/// of the workers.
package enum RenderPlanner {
  /// The plan of an edit.
  /// - Parameters:
  ///   - assets: every asset that a clip or an overlay of the edit uses.
  ///   - segmentDuration: the intended duration of a segment in seconds. Positive. Nil: 5 s for a film of up to 30 s,
  ///     7.5 s up to two minutes, 10 s up to ten minutes, 20 s beyond. So a short film keeps every core busy, and a long
  ///     film spends little on starting tasks.
  package static func plan(
    _ edit: Edit, assets: [AssetID: PlannedAsset], segmentDuration: MediaTime? = nil
  ) throws(PlanError) -> RenderPlan {
    let lookup = SourceLookup(assets: assets)
    let frameCount = try mapErrors(to: PlanError.time("the film's length")) { () throws(TimeError) in
      try edit.frameCount
    }
    let audio = try edit.export.audio.map { encoder throws(PlanError) in
      try AudioPlanner(edit: edit, sources: lookup).task(encoder)
    }
    var segments: [Segment] = []
    var format: VideoTaskFormat?
    var video: StitchedVideo?
    if let encoder = edit.export.video {
      let made = VideoTaskFormat(
        size: edit.videoComposition.renderSize, pixelFormat: encoder.pixelFormat, colour: encoder.colour,
        frameDuration: edit.videoComposition.frameDuration)
      format = made
      segments = try self.segments(
        of: edit, format: made, encoder: encoder, frameCount: frameCount,
        segmentDuration: segmentDuration ?? defaultSegmentDuration(edit.composition.duration), lookup: lookup)
      video = StitchedVideo(format: made, encoder: encoder, frameCounts: segments.map(\.frames.count))
    }
    let stitch = StitchTask(
      container: edit.export.container, video: video,
      audio: audio.map { StitchedAudio(encoder: $0.encoder, sampleCount: $0.sampleCount) },
      optimizeForNetworkUse: edit.export.optimizeForNetworkUse, metadata: edit.export.metadata)
    return RenderPlan(
      frameCount: frameCount, duration: edit.composition.duration, format: format,
      instructions: edit.videoComposition.instructions, segments: segments, audio: audio, stitch: stitch)
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
    let nominalFrames = try mapErrors(to: PlanError.time("the segments' length")) { () throws(TimeError) in
      Int(clamping: max(1, try (segmentDuration / format.frameDuration).rounded))
    }
    let cumulative = try CumulativeCost(timeline: timeline, costs: costs)
    let chooser = BoundaryChooser(
      timeline: timeline, costs: costs, cumulative: cumulative, nominalFrames: nominalFrames,
      keyframeInterval: encoder.keyframeInterval)
    let builder = SegmentBuilder(edit: edit, timeline: timeline, format: format, encoder: encoder, sources: lookup)
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
