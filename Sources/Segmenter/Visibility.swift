import CompositionModel
import RenderTasks

/// Which layers of a stack can be seen. What is hidden has no effect on the frames, so it must have none on the
/// segments and their fingerprints either.
struct Visibility {
  let format: VideoTaskFormat
  let sources: SourceLookup

  /// The frames for which it is still found out whether a picture that moves hides what is below. An edit of any size
  /// is planned in seconds: what comes after them is taken as not hidden, which changes no picture.
  private let movements = Movements()

  private final class Movements {
    var left = 2_000_000
  }

  /// The span without the layers that an opaque layer hides in all of its frames. If one does, the background, which it
  /// hides too, is black.
  func visible(_ span: TimelineSpan, grid: FrameGrid) throws(PlanError) -> TimelineSpan {
    var visible = span
    visible.layers = []
    for layer in span.layers {
      visible.layers.append(layer)
      guard try hides(layer, in: span.frames, grid: grid) else { continue }
      visible.background = .black
      break
    }
    return visible
  }

  /// Whether a layer covers the frame from edge to edge, without any transparency. The two sides of a transition add up
  /// to one if each of them does.
  private func hides(_ layer: TimelineLayer, in frames: Range<Int>, grid: FrameGrid) throws(PlanError) -> Bool {
    switch layer {
    case .clip(let clip): return try hides(clip, in: frames, grid: grid)
    case .transition(let transition):
      // A compositor of the author's own may show what lies below.
      if case .custom = transition.style.kind { return false }
      guard let from = transition.from, let to = transition.to, try hides(from, in: frames, grid: grid) else {
        return false
      }
      return try hides(to, in: frames, grid: grid)
    case .compositor: return false
    }
  }

  private func hides(_ clip: TimelineClip, in frames: Range<Int>, grid: FrameGrid) throws(PlanError) -> Bool {
    let video = try sources.video(of: clip.clip).format
    let cell = ChromaCell(format.pixelFormat)
    guard !video.hasAlpha, clip.blendMode == nil, clip.mask == nil, clip.decoration == nil,
      clip.filters.keepCoverage
    else { return false }
    guard let geometry = clip.geometry else {
      guard Fitting(video.presentationSize, fit: clip.fit, frame: format.size, cell: cell).covers(format.size) else {
        return false
      }
      return try isOpaque(clip, in: frames, grid: grid)
    }
    let covers = try mapErrors(to: PlanError.time("the geometry of track '\(clip.track)'")) {
      () throws(TimeError) -> Bool in
      guard let local = try SegmentClock(frames: frames, grid: grid).local(geometry) else { return false }
      // A picture that moves must cover the frame in each of its places.
      let moving = local.isConstant(from: .zero) ? 1 : frames.count
      for frame in 0..<moving {
        movements.left -= moving == 1 ? 0 : 1
        guard moving == 1 || movements.left > 0 else { return false }
        let placement = try local.placement(
          at: grid.time(of: frame), picture: video.presentationSize, fit: clip.fit, frame: format.size, cell: cell)
        guard placement?.covers(format.size) == true else { return false }
      }
      return true
    }
    guard covers else { return false }
    return try isOpaque(clip, in: frames, grid: grid)
  }

  private func isOpaque(_ clip: TimelineClip, in frames: Range<Int>, grid: FrameGrid) throws(PlanError) -> Bool {
    try mapErrors(to: PlanError.time("the opacity of track '\(clip.track)'")) { () throws(TimeError) in
      try SegmentClock(frames: frames, grid: grid).local(clip.opacity) == .one
    }
  }
}
