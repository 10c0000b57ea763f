import CompositionModel

/// Estimates work. The unit is one pixel through x264's preset `medium`. Only ratios are meaningful, and they need only
/// be good enough to balance segments: the numbers are rounded from timings of libavcodec in one thread at 720p.
struct CostModel {
  let format: VideoTaskFormat
  let encoder: VideoSettings
  let sources: SourceLookup

  /// The work for a pixel of the source.
  private static let decode = 0.08
  /// The work for a pixel of the output.
  private static let convert = 0.1
  private static let blend = 0.03
  /// Of a compositor of the author's own, whose real work is not known.
  private static let compositor = 0.5

  private func pixels(_ size: PixelSize) -> Double { Double(size.width * size.height) }

  /// To make and encode one frame of a span.
  func frame(of span: TimelineSpan) throws(PlanError) -> Double {
    let outputPixels = pixels(format.size)
    var cost = outputPixels * encoder.codec.definition.costPerPixel(encoder)
    for layer in span.layers {
      for clip in layer.clips {
        let video = try sources.video(of: clip.clip).format
        guard !video.isStill else { continue }
        cost += pixels(video.size) * CostModel.decode * (try speed(of: clip.clip))
        if video.presentationSize != format.size || clip.geometry != nil { cost += outputPixels * CostModel.convert }
      }
    }
    for layer in span.layers where layer.isCustom { cost += outputPixels * CostModel.compositor }
    return cost + Double(max(0, span.layers.count - 1)) * outputPixels * CostModel.blend
  }

  /// To decode the frames that are not shown, if a segment starts at this frame of a span.
  func runUp(to frame: Int, in span: TimelineSpan, grid: FrameGrid) throws(PlanError) -> Double {
    var cost = 0.0
    for clip in span.layers.flatMap(\.clips) {
      let (_, track, video) = try sources.video(of: clip.clip)
      guard !video.isStill else { continue }
      cost += try mapErrors(to: PlanError.time("the clip of '\(clip.clip.asset)' at frame \(frame)")) {
        () throws(TimeError) in
        let time = try grid.time(of: frame)
        guard let shown = try sources.shownFrame(of: clip.clip, track: track, format: video, at: time),
          let key = try sources.keyframe(of: clip.clip, track: track, format: video, at: time)
        else { return 0 }
        let seconds = try (track.timebase.exact * Rational(shown - video.keyframes[key].pts)).approximate
        return seconds * max(1, video.nominalFrameRate.approximateSeconds) * pixels(video.size) * CostModel.decode
      }
    }
    return cost
  }

  /// Source frames decoded for one output frame, relative to natural speed.
  private func speed(of clip: Clip) throws(PlanError) -> Double {
    guard !clip.source.isEmpty else { return 0 }
    return try mapErrors(to: PlanError.time("the speed of the clip of '\(clip.asset)'")) { () throws(TimeError) in
      try (clip.source.duration / clip.target.duration).approximate
    }
  }
}

/// The cost of the film up to each frame.
struct CumulativeCost {
  private var starts: [(frame: Int, cost: Double)] = []
  private var perFrame: [Double] = []

  init(timeline: Timeline, costs: CostModel) throws(PlanError) {
    var total = 0.0
    for span in timeline.spans {
      let cost = try costs.frame(of: span)
      starts.append((span.frames.lowerBound, total))
      perFrame.append(cost)
      total += cost * Double(span.frames.count)
    }
  }

  /// The index of the span that contains a frame.
  func span(of frame: Int) -> Int {
    max(0, starts.partitionPoint { frame < $0.frame } - 1)
  }

  /// The cost of all frames before this one.
  func cost(before frame: Int) -> Double {
    let index = span(of: frame)
    return starts[index].cost + perFrame[index] * Double(frame - starts[index].frame)
  }
}
