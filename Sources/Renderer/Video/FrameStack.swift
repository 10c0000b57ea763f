import CompositionModel
import Segmenter

/// What one frame shows, as the task alone determines it before anything is decoded: which source at which time, with which
/// weight. Layers that are hidden or have no weight are left out, and so are never decoded.
struct FrameStack: Hashable {
  var background: Color
  /// Bottom first.
  var layers: [StackLayer]
  /// Whether the first layer is opaque from edge to edge, so that it hides the background.
  var hasBase: Bool
  /// Bottom first; indices in `VideoTask.overlays`.
  var overlays: [StackOverlay]
}

enum StackLayer: Hashable {
  case clip(ClipUse)
  /// The sum of both, each by its own weight, over what lies below.
  case dissolve(ClipUse, ClipUse)

  var clips: [ClipUse] {
    switch self {
    case .clip(let use): [use]
    case .dissolve(let from, let to): [from, to]
    }
  }
}

struct ClipUse: Hashable {
  /// Index in `VideoTask.sources`.
  var source: Int
  /// On the asset's timeline.
  var time: Rational
  var fit: Fit
  /// In 1/16384; never zero.
  var weight: Int
  /// Nil: fitted into the whole frame.
  var placement: Placement? = nil
  /// Nil: drawn over what is below.
  var blendMode: BlendMode? = nil
  /// The mask, which has the placement's rectangle. There is a placement then.
  var mask: PlannedMask? = nil
}

struct StackOverlay: Hashable {
  var index: Int
  /// In 1/16384; never zero.
  var weight: Int
  /// Nil: drawn over what is below.
  var blendMode: BlendMode? = nil
}

/// Opacities as the kernels take them: whole numbers of 1/16384, rounded to nearest.
enum Weight {
  static let one = 16384

  /// The nearest weight. An opacity outside 0…1 is limited to it.
  static func of(_ opacity: Double) -> Int {
    Int((min(1, max(0, opacity)) * Double(one)).rounded())
  }

  /// The product of two weights, rounded to nearest, halves up.
  static func product(_ a: Int, _ b: Int) -> Int {
    (a * b + one / 2) / one
  }
}

/// Computes the stack of each frame of a task.
struct StackPlanner {
  let task: VideoTask
  /// Whether each source has no alpha, so that at full weight its picture hides what is below.
  private let isOpaque: [Bool]
  private let cell: ChromaCell

  init(_ task: VideoTask) {
    self.task = task
    isOpaque = task.sources.map { !$0.video.hasAlpha }
    cell = ChromaCell(task.format.pixelFormat)
  }

  /// How a source's picture is fitted into the frame.
  func fitting(_ use: ClipUse) -> Fitting {
    Fitting(
      task.sources[use.source].video.presentationSize, fit: use.fit, frame: task.format.size, cell: cell)
  }

  /// The stack of a frame of a span.
  func stack(frame: Int, in span: Span) throws(RenderError) -> FrameStack {
    do {
      let time = try task.format.frameDuration * Rational(frame)
      var stack = FrameStack(background: span.background, layers: [], hasBase: false, overlays: [])
      for layer in span.layers {
        guard let visible = try visible(layer, at: time) else { continue }
        stack.layers.insert(visible, at: 0)
        if isBase(visible) {
          stack.hasBase = true
          break
        }
      }
      for (index, overlay) in task.overlays.enumerated() where overlay.frames.contains(where: { $0.contains(frame) }) {
        var opacity = try overlay.opacity * overlay.ramps.value(at: time)
        if case .text(let text, _) = overlay.content { opacity *= Double(text.color.alpha) / 255 }
        let weight = Weight.of(opacity)
        if weight > 0 {
          stack.overlays.insert(StackOverlay(index: index, weight: weight, blendMode: overlay.blendMode), at: 0)
        }
      }
      return stack
    } catch {
      throw RenderError(.task, "the times of frame \(frame) of the segment are out of range: \(error)")
    }
  }

  /// Nil for a layer without weight.
  private func visible(_ layer: PlannedLayer, at time: MediaTime) throws(TimeError) -> StackLayer? {
    switch layer {
    case .clip(let clip):
      let weight = Weight.of(try clip.opacity.value(at: time))
      return weight > 0 ? try use(clip, weight: weight, at: time).map(StackLayer.clip) : nil
    case .dissolve(let from, let to, let progress):
      let share = Weight.of(try progress.value(holdingAt: time))
      let from = try from.flatMap { clip throws(TimeError) in
        try dissolving(clip, share: Weight.one - share, at: time)
      }
      let to = try to.flatMap { clip throws(TimeError) in try dissolving(clip, share: share, at: time) }
      if let from, let to { return .dissolve(from, to) }
      return (from ?? to).map(StackLayer.clip)
    }
  }

  private func dissolving(_ clip: ClipLayer, share: Int, at time: MediaTime) throws(TimeError) -> ClipUse? {
    let weight = Weight.product(share, Weight.of(try clip.opacity.value(at: time)))
    return weight > 0 ? try use(clip, weight: weight, at: time) : nil
  }

  /// Nil for a picture that has no area.
  private func use(_ clip: ClipLayer, weight: Int, at time: MediaTime) throws(TimeError) -> ClipUse? {
    let video = task.sources[clip.source].video
    var placement: Placement?
    if let geometry = clip.geometry ?? (clip.mask == nil ? nil : LayerGeometry()) {
      placement = try geometry.placement(
        at: time, picture: video.presentationSize, fit: clip.fit, frame: task.format.size, cell: cell)
      if placement == nil { return nil }
    }
    return ClipUse(
      source: clip.source, time: video.isStill ? .zero : try clip.sourceTime(at: time), fit: clip.fit, weight: weight,
      placement: placement, blendMode: clip.blendMode, mask: clip.mask)
  }

  private func isBase(_ layer: StackLayer) -> Bool {
    layer.clips.reduce(0) { $0 + $1.weight } == Weight.one
      && layer.clips.allSatisfy { isOpaque[$0.source] && $0.blendMode == nil && $0.mask == nil && covers($0) }
  }

  private func covers(_ use: ClipUse) -> Bool {
    use.placement?.covers(task.format.size) ?? fitting(use).covers(task.format.size)
  }
}

extension Ramp {
  /// The value at a time: the first value before the ramp, the last after it.
  fileprivate func value(holdingAt time: MediaTime) throws(TimeError) -> Double {
    if time <= over.start { return from }
    if time >= over.end { return to }
    return try RampList([self]).value(at: time)
  }
}
