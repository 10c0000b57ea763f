import CompositionModel
import RenderTasks

/// What one frame shows, as the task alone determines it before anything is decoded: which source at which time, with
/// which weight. Layers that are hidden or have no weight are left out, and so are never decoded.
struct FrameStack: Hashable {
  var background: Color
  /// Bottom first.
  var layers: [StackLayer]
  /// Bottom first; indices in `VideoTask.overlays`.
  var overlays: [StackOverlay]
  /// The filters of the composited layers, in order.
  var filters: [Filter<Double>] = []
}

enum StackLayer: Hashable {
  case clip(ClipUse)
  /// The sum of both, each by its own weight, over what lies below.
  case dissolve(ClipUse, ClipUse)
  /// A colour that fills the frame, mixed by its share in 1/16384 with a picture of which the rest is seen.
  case fade(ClipUse?, Color, share: Int)
  case transition(StackTransition)
  case compositor(StackCompositor)

  var clips: [ClipUse] {
    switch self {
    case .clip(let use): [use]
    case .dissolve(let from, let to): [from, to]
    case .fade(let use, _, _): [use].compactMap(\.self)
    case .transition(let transition): [transition.from, transition.to].compactMap(\.self)
    case .compositor(let layer): layer.clips
    }
  }

  /// The same layer with every use of a clip changed.
  func map(_ change: (ClipUse) -> ClipUse) -> StackLayer {
    switch self {
    case .clip(let use): return .clip(change(use))
    case .dissolve(let from, let to): return .dissolve(change(from), change(to))
    case .fade(let use, let color, let share): return .fade(use.map(change), color, share: share)
    case .transition(var transition):
      transition.from = transition.from.map(change)
      transition.to = transition.to.map(change)
      return .transition(transition)
    case .compositor(let layer): return .compositor(layer.map(change))
    }
  }
}

/// Two pictures and a matte between them, or how they are changed or moved. A picture that is nil is transparent; each
/// has the weight of its own opacity.
struct StackTransition: Hashable {
  var from: ClipUse?
  var to: ClipUse?
  /// Neither a dissolve, nor a fade, nor one of the author's own.
  var kind: TransitionKind
  /// Index in `VideoTask.sources`.
  var matte: Int?
  /// More than 0, less than 1.
  var progress: Double
}

struct ClipUse: Hashable {
  /// Index in `VideoTask.sources`.
  var source: Int
  /// On the asset's timeline.
  var time: Rational
  /// Whether the picture just before `time` is shown.
  var isReversed = false
  var fit: Fit
  /// In 1/16384; never zero.
  var weight: Int
  /// The filters of the fitted picture, in order.
  var filters: [Filter<Double>] = []
  /// Nil: fitted into the whole frame.
  var placement: Placement? = nil
  /// Nil: drawn over what is below.
  var blendMode: BlendMode? = nil
  /// The mask, which has the placement's rectangle. There is a placement then.
  var mask: MaskUse? = nil
  /// What is drawn around the picture. There is a placement then.
  var decoration: LayerDecoration? = nil
}

struct MaskUse: Hashable {
  /// Index in `VideoTask.sources`.
  var source: Int
  /// On the asset's timeline. Nil for a still picture.
  var time: Rational?
  /// Whether the picture just before `time` is shown.
  var isReversed = false
  var channel: LayerMask.Channel
  var isInverted: Bool
}

struct StackOverlay: Hashable {
  var index: Int
  /// The time of a moving overlay, on the asset's timeline. Nil: the overlay does not move.
  var time: Rational?
  /// In 1/16384; never zero.
  var weight: Int
  /// Nil: drawn over what is below.
  var blendMode: BlendMode? = nil
  /// Nil: drawn in its place as it is.
  var pose: OverlayPose? = nil
  /// The text of a text overlay that counts. Nil: the overlay's own.
  var text: String? = nil
}

/// Computes the stack of each frame of a task.
struct StackPlanner {
  let task: VideoTask
  /// Whether each source has no alpha, so that at full weight its picture hides what is below.
  private let isOpaque: [Bool]
  private let cell: ChromaCell
  /// Compositors of the author's own whose pictures do not depend on time.
  private let timeless: Set<CustomCompositor>
  private let metadata: [TrackID: MetadataTrack]

  init(_ task: VideoTask, timeless: Set<CustomCompositor> = []) {
    self.task = task
    self.timeless = timeless
    isOpaque = task.sources.map { !$0.video.hasAlpha }
    metadata = Dictionary((task.metadata ?? []).map { ($0.id, $0) }) { first, _ in first }
    cell = task.format.cell
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
      var stack = FrameStack(background: span.background, layers: [], overlays: [])
      for layer in span.layers {
        guard let visible = try visible(layer, at: time) else { continue }
        stack.layers.insert(visible, at: 0)
        if hidesAllBelow(visible) { break }
      }
      for (index, overlay) in task.overlays.enumerated() where overlay.frames.contains(where: { $0.contains(frame) }) {
        var opacity = try overlay.opacity * overlay.ramps.value(at: time)
        // What is drawn around letters has its own opacity, so theirs is in the picture then.
        if case .text(let text, _) = overlay.content, !text.isDecorated { opacity *= Double(text.color.alpha) / 255 }
        let weight = Weight.of(opacity)
        guard weight > 0 else { continue }
        var shown = StackOverlay(index: index, weight: weight, blendMode: overlay.blendMode)
        if overlay.geometry != nil || overlay.filters != nil {
          shown.pose = try pose(overlay, at: time)
          if let crop = shown.pose?.crop, crop.isEmpty { continue }
        }
        if case .text(let text, _) = overlay.content {
          shown.text = try text.counting?.text(at: time, frameDuration: task.format.frameDuration)
        }
        if case .waveform = overlay.content { shown.time = try time.exact }
        if case .video(let video) = overlay.content { shown.time = try video.sourceTime(at: time) }
        stack.overlays.insert(shown, at: 0)
      }
      stack.filters = try values(of: span.filters, at: time) + values(of: task.filters, at: time)
      return stack
    } catch {
      throw RenderError(.task, "the times of frame \(frame) of the segment are out of range: \(error)")
    }
  }

  private func pose(_ overlay: PlannedOverlay, at time: MediaTime) throws(TimeError) -> OverlayPose {
    var turn: TransformComponents?
    if case .turn(let turns)? = overlay.geometry?.transform { turn = try turns.value(at: time) }
    return OverlayPose(
      crop: try overlay.geometry?.crop?.value(at: time), turn: turn, filters: try values(of: overlay.filters, at: time))
  }

  /// Nil for a layer without weight.
  private func visible(_ layer: PlannedLayer, at time: MediaTime) throws(TimeError) -> StackLayer? {
    switch layer {
    case .clip(let clip):
      let weight = Weight.of(try clip.opacity.value(at: time))
      return weight > 0 ? try use(clip, weight: weight, at: time).map(StackLayer.clip) : nil
    case .transition(let from, let to, let position, let style, let matte):
      let style = style ?? .dissolve
      let progress = min(1, max(0, style.easing(try position.value(holdingAt: time))))
      switch style.kind {
      case .dissolve:
        let share = Weight.of(progress)
        let from = try use(from, share: Weight.one - share, at: time)
        let to = try use(to, share: share, at: time)
        if let from, let to { return .dissolve(from, to) }
        return (from ?? to).map(StackLayer.clip)
      case .fade(let color):
        let share = Weight.of(1 - abs(2 * progress - 1))
        let side = share == Weight.one ? nil : progress < 0.5 ? from : to
        let shown = try use(side, share: Weight.one, at: time)
        return share > 0 ? .fade(shown, color, share: share) : shown.map(StackLayer.clip)
      case .custom(let compositor):
        let from = try use(from, share: Weight.one, at: time)
        let to = try use(to, share: Weight.one, at: time)
        return .compositor(
          StackCompositor(
            compositor: compositor, content: .transition(from: from, to: to),
            moment: timeless.contains(compositor)
              ? nil : try StackCompositor.Moment(at: time, in: position.over, progress: progress),
            metadata: try values(of: compositor.metadata, at: time)))
      default:
        // Both pictures are shown, each where the kind's matte gives it a share.
        let from = progress < 1 ? try use(from, share: Weight.one, at: time) : nil
        let to = progress > 0 ? try use(to, share: Weight.one, at: time) : nil
        guard 0 < progress, progress < 1 else { return (from ?? to).map(StackLayer.clip) }
        guard from != nil || to != nil else { return nil }
        return .transition(
          StackTransition(from: from, to: to, kind: style.kind, matte: matte, progress: progress))
      }
    case .compositor(let layer):
      var tracks: [StackCompositor.Track] = []
      for source in layer.sources {
        if let use = try use(source.clip, share: Weight.one, at: time) {
          tracks.append(StackCompositor.Track(track: source.track, use: use))
        }
      }
      var moment: StackCompositor.Moment?
      if !timeless.contains(layer.compositor) {
        moment = try StackCompositor.Moment(
          at: time, in: layer.progress.over, progress: try layer.progress.value(holdingAt: time))
        moment?.filmTime = try layer.filmStart + time
      }
      return .compositor(
        StackCompositor(
          compositor: layer.compositor, content: .tracks(tracks), moment: moment,
          metadata: try values(of: layer.compositor.metadata, at: time)))
    }
  }

  /// The values of metadata tracks, of those that have one.
  private func values(of tracks: [TrackID]?, at time: MediaTime) throws(TimeError) -> [TrackID: MetadataValue] {
    var values: [TrackID: MetadataValue] = [:]
    for track in tracks ?? [] { values[track] = try metadata[track]?.value(at: time) }
    return values
  }

  /// Nil for a side of a transition that has no clip or no weight.
  private func use(_ clip: ClipLayer?, share: Int, at time: MediaTime) throws(TimeError) -> ClipUse? {
    guard let clip else { return nil }
    let weight = Weight.product(share, Weight.of(try clip.opacity.value(at: time)))
    return weight > 0 ? try use(clip, weight: weight, at: time) : nil
  }

  /// Nil for a picture that has no area.
  private func use(_ clip: ClipLayer, weight: Int, at time: MediaTime) throws(TimeError) -> ClipUse? {
    let video = task.sources[clip.source].video
    var placement: Placement?
    if let geometry = clip.geometry ?? (clip.mask == nil && clip.decoration == nil ? nil : LayerGeometry()) {
      placement = try geometry.placement(
        at: time, picture: video.presentationSize, fit: clip.fit, frame: task.format.size, cell: cell)
      if placement == nil { return nil }
    }
    return ClipUse(
      source: clip.source, time: video.isStill ? .zero : try clip.sourceTime(at: time),
      isReversed: clip.retiming.isReversed, fit: clip.fit, weight: weight,
      filters: try values(of: clip.filters, at: time), placement: placement, blendMode: clip.blendMode,
      mask: try mask(clip.mask, at: time), decoration: clip.decoration)
  }

  private func mask(_ planned: PlannedMask?, at time: MediaTime) throws(TimeError) -> MaskUse? {
    guard let planned else { return nil }
    return MaskUse(
      source: planned.source, time: try planned.sourceTime(at: time), isReversed: planned.retiming.isReversed,
      channel: planned.channel, isInverted: planned.isInverted)
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

  /// Whether a layer is opaque from edge to edge.
  func hidesAllBelow(_ layer: StackLayer) -> Bool {
    let isFull =
      switch layer {
      case .clip(let use): use.weight == Weight.one
      case .dissolve(let from, let to): from.weight + to.weight == Weight.one
      case .fade(let use, _, let share): share == Weight.one || use?.weight == Weight.one
      case .transition(let transition):
        transition.from?.weight == Weight.one && transition.to?.weight == Weight.one
      case .compositor: false
      }
    return isFull
      && layer.clips.allSatisfy { use in
        isOpaque[use.source] && use.blendMode == nil && use.mask == nil && use.decoration == nil
          && !use.filters.contains { $0.kind == .chromaKey } && covers(use)
      }
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
