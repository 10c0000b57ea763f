import CompositionModel

/// The output's frames on the composition's timeline: frame n is at exactly n·frameDuration.
struct FrameGrid {
  let frameDuration: MediaTime
  let frameCount: Int

  /// The first frame at or after a time, within 0…frameCount.
  func firstFrame(atOrAfter time: Rational) throws(TimeError) -> Int {
    let frame = try (time / frameDuration.exact).ceiling
    return Int(min(max(frame, 0), Int128(frameCount)))
  }

  /// The first frame at or after a time, within 0…frameCount.
  func firstFrame(atOrAfter time: MediaTime) throws(TimeError) -> Int {
    try firstFrame(atOrAfter: time.exact)
  }

  /// The frames whose times are in a range.
  func frames(in range: MediaTimeRange) throws(TimeError) -> Range<Int> {
    try firstFrame(atOrAfter: range.start)..<firstFrame(atOrAfter: range.end)
  }

  /// The time of a frame.
  func time(of frame: Int) throws(TimeError) -> MediaTime {
    try frameDuration * Rational(frame)
  }
}

/// Frames of the output that show the same clips in the same stack: an instruction, cut where a clip starts or ends.
struct TimelineSpan {
  var frames: Range<Int>
  var instruction: Instruction
  /// The first is on top. Tracks in a gap are left out.
  var layers: [TimelineLayer]
}

/// A layer of an instruction with its clips. A side of a dissolve is nil if its track is in a gap.
enum TimelineLayer {
  case clip(TimelineClip)
  case dissolve(from: TimelineClip?, to: TimelineClip?, progress: Ramp)

  var clips: [TimelineClip] {
    switch self {
    case .clip(let clip): [clip]
    case .dissolve(let from, let to, _): [from, to].compactMap(\.self)
    }
  }
}

/// A clip with the style of its layer, and its track.
struct TimelineClip {
  var track: TrackID
  var clip: Clip
  var fit: Fit
  var opacity: RampList
}

/// The whole film as spans that tile 0..<frameCount.
struct Timeline {
  let grid: FrameGrid
  let spans: [TimelineSpan]

  init(_ edit: Edit, grid: FrameGrid) throws(PlanError) {
    self.grid = grid
    var spans: [TimelineSpan] = []
    for instruction in edit.videoComposition.instructions {
      let frames = try mapErrors(to: PlanError.time("the instruction over \(instruction.over)")) {
        () throws(TimeError) in
        try grid.frames(in: instruction.over)
      }
      guard !frames.isEmpty else { continue }
      let tracks = instruction.layers.flatMap(\.tracks).compactMap { edit.composition.track($0) }
      var cuts: Set<Int> = [frames.lowerBound, frames.upperBound]
      for clip in tracks.flatMap(\.clips) {
        let shown = try mapErrors(to: PlanError.time("the clip of '\(clip.asset)' at \(clip.target.start)")) {
          () throws(TimeError) in
          try grid.frames(in: clip.target)
        }
        cuts.formUnion([shown.lowerBound, shown.upperBound].filter { frames.contains($0) })
      }
      let ordered = cuts.sorted()
      for (start, end) in zip(ordered, ordered.dropFirst()) {
        let time = try mapErrors(to: PlanError.time("frame \(start)")) { () throws(TimeError) in
          try grid.time(of: start)
        }
        let layers = instruction.layers.compactMap { Timeline.resolve($0, at: time, in: edit.composition) }
        spans.append(TimelineSpan(frames: start..<end, instruction: instruction, layers: layers))
      }
    }
    self.spans = spans
  }

  /// A layer with the clips that it shows at a time. Nil if it shows none.
  private static func resolve(_ layer: Layer, at time: MediaTime, in composition: Composition) -> TimelineLayer? {
    func clip(_ layer: TrackLayer) -> TimelineClip? {
      composition.track(layer.track)?.clips.first { $0.target.contains(time) }.map {
        TimelineClip(track: layer.track, clip: $0, fit: layer.fit, opacity: layer.opacity)
      }
    }
    switch layer {
    case .track(let layer):
      return clip(layer).map(TimelineLayer.clip)
    case .dissolve(let from, let to, let progress):
      let (from, to) = (clip(from), clip(to))
      return from == nil && to == nil ? nil : .dissolve(from: from, to: to, progress: progress)
    }
  }
}

extension Layer {
  fileprivate var tracks: [TrackID] {
    switch self {
    case .track(let layer): [layer.track]
    case .dissolve(let from, let to, _): [from.track, to.track]
    }
  }
}
