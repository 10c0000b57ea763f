import CompositionModel

/// Frames of the output that show the same clips in the same stack: instructions, cut where a clip starts or ends.
struct TimelineSpan {
  var frames: Range<Int>
  var instruction: Instruction
  /// First on top; tracks in a gap are left out.
  var layers: [TimelineLayer]
}

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

/// A clip as a layer shows it, with the track it was found on.
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
      let frames = try timed("the instruction over \(instruction.over)") { () throws(TimeError) in
        try grid.frames(in: instruction.over)
      }
      guard !frames.isEmpty else { continue }
      let tracks = instruction.layers.flatMap(\.tracks).compactMap { edit.composition.track($0) }
      var cuts: Set<Int> = [frames.lowerBound, frames.upperBound]
      for clip in tracks.flatMap(\.clips) {
        let shown = try timed("the clip of '\(clip.asset)' at \(clip.target.start)") { () throws(TimeError) in
          try grid.frames(in: clip.target)
        }
        cuts.formUnion([shown.lowerBound, shown.upperBound].filter { frames.contains($0) })
      }
      let ordered = cuts.sorted()
      for (start, end) in zip(ordered, ordered.dropFirst()) {
        let time = try timed("frame \(start)") { () throws(TimeError) in try grid.time(of: start) }
        let layers = instruction.layers.compactMap { Timeline.resolve($0, at: time, in: edit.composition) }
        spans.append(TimelineSpan(frames: start..<end, instruction: instruction, layers: layers))
      }
    }
    self.spans = spans
  }

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
