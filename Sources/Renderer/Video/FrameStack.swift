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
  /// Of the composited layers, in order.
  var filters: [Filter<Double>] = []
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
  /// Of the fitted picture, in order.
  var filters: [Filter<Double>] = []
}

struct StackOverlay: Hashable {
  var index: Int
  /// Of a moving overlay, on the asset's timeline.
  var time: Rational?
  /// In 1/16384; never zero.
  var weight: Int
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
  /// - Parameter fit: In place of the clip's.
  func fitting(_ use: ClipUse, as fit: Fit? = nil) -> Fitting {
    Fitting(
      task.sources[use.source].video.presentationSize, fit: fit ?? use.fit, frame: task.format.size, cell: cell)
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
        // What is drawn around letters has its own opacity, so theirs is in the picture then.
        if case .text(let text, _) = overlay.content, !text.isDecorated { opacity *= Double(text.color.alpha) / 255 }
        let weight = Weight.of(opacity)
        guard weight > 0 else { continue }
        var shown = StackOverlay(index: index, weight: weight)
        if case .video(let video) = overlay.content { shown.time = try video.sourceTime(at: time) }
        stack.overlays.insert(shown, at: 0)
      }
      stack.filters = try values(of: task.filters, at: time)
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
      return weight > 0 ? .clip(try use(clip, weight: weight, at: time)) : nil
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

  private func use(_ clip: ClipLayer, weight: Int, at time: MediaTime) throws(TimeError) -> ClipUse {
    let isStill = task.sources[clip.source].video.isStill
    return ClipUse(
      source: clip.source, time: isStill ? .zero : try clip.sourceTime(at: time), fit: clip.fit, weight: weight,
      filters: try values(of: clip.filters, at: time))
  }

  /// The filters that change something at a time.
  private func values(of filters: [Filter<RampList>]?, at time: MediaTime) throws(TimeError) -> [Filter<Double>] {
    var values: [Filter<Double>] = []
    for filter in filters ?? [] {
      let value = try filter.at(time)
      if !value.changesNothing { values.append(value) }
    }
    return values
  }

  private func isBase(_ layer: StackLayer) -> Bool {
    layer.clips.reduce(0) { $0 + $1.weight } == Weight.one
      && layer.clips.allSatisfy { use in
        isOpaque[use.source] && !use.filters.contains { $0.kind == .chromaKey }
          && fitting(use).covers(task.format.size)
      }
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
