import CompositionModel

/// Estimated work. The unit is one pixel through x264's `medium`; only ratios mean anything, and they need only be good
/// enough to balance segments: the figures are rounded from timings of single-threaded libavcodec at 720p.
struct CostModel {
  let format: VideoTaskFormat
  let encoder: VideoSettings
  let sources: SourceLookup

  private static let presets: [String: Double] = [
    "ultrafast": 0.15, "superfast": 0.25, "veryfast": 0.4, "faster": 0.65, "fast": 0.85, "medium": 1, "slow": 1.8,
    "slower": 4, "veryslow": 8, "placebo": 20,
  ]
  private static let decode = 0.08
  private static let convert = 0.1
  private static let blend = 0.03

  private var outputPixels: Double { Double(format.size.width * format.size.height) }

  private func pixels(_ size: PixelSize) -> Double { Double(size.width * size.height) }

  /// To encode one frame of the output.
  var encodeFrame: Double {
    switch encoder.codec {
    case .h264: outputPixels * (CostModel.presets[encoder.preset ?? "medium"] ?? 1)
    case .ffv1: outputPixels * 0.5
    }
  }

  /// To make and encode one frame of a span.
  func frame(of span: TimelineSpan) throws(PlanError) -> Double {
    var cost = encodeFrame
    for layer in span.layers {
      for clip in layer.clips {
        let video = try sources.video(of: clip.clip).format
        guard !video.isStill else { continue }
        cost += pixels(video.size) * CostModel.decode * (try speed(of: clip.clip))
        if video.presentationSize != format.size { cost += outputPixels * CostModel.convert }
      }
    }
    return cost + Double(max(0, span.layers.count - 1)) * outputPixels * CostModel.blend
  }

  /// To decode what is not shown, if a segment starts at this frame of a span.
  func runUp(to frame: Int, in span: TimelineSpan, grid: FrameGrid) throws(PlanError) -> Double {
    var cost = 0.0
    for clip in span.layers.flatMap(\.clips) {
      let (_, track, video) = try sources.video(of: clip.clip)
      guard !video.isStill else { continue }
      cost += try timed("the clip of '\(clip.clip.asset)' at frame \(frame)") { () throws(TimeError) in
        let time = try grid.time(of: frame)
        guard let shown = try sources.shownFrame(of: clip.clip, track: track, format: video, at: time),
          let key = try sources.keyframe(of: clip.clip, track: track, format: video, at: time)
        else { return 0 }
        let seconds = try (track.timebase.exact * Rational(shown - key.pts)).approximate
        return seconds * max(1, video.nominalFrameRate.approximateSeconds) * pixels(video.size) * CostModel.decode
      }
    }
    return cost
  }

  /// Source frames decoded for one output frame, relative to the natural rate.
  private func speed(of clip: Clip) throws(PlanError) -> Double {
    guard !clip.source.isEmpty else { return 0 }
    return try timed("the speed of the clip of '\(clip.asset)'") { () throws(TimeError) in
      try (clip.source.duration / clip.target.duration).approximate
    }
  }
}
