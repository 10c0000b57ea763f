import CompositionModel
import Media
import Segmenter

/// Makes the frames of one segment in order. Sources are opened when they are first needed and closed after the last span
/// that shows them. If nothing changes from one frame to the next, both are the same frame.
final class FrameMaker {
  private let task: VideoTask
  private let planner: StackPlanner
  private let compositor: Compositor
  private let inputs: [String: any ByteSource]
  private let movement: Movement?
  private let damage: DamageLog?
  /// By index in `task.sources`.
  private var streams: [Int: (stream: SourceStream, fitter: SourceFitter)] = [:]
  /// By index in `task.overlays`; the value is nil for an overlay outside the frame.
  private var overlays: [Int: BlendPicture?] = [:]
  /// The last span that shows each source.
  private let lastSpan: [Int: Int]
  private var span = 0
  private var latest: (key: CompositeKey, frame: Frame)?
  /// The lowest items of the latest frame, drawn once for the frames in which only what is above them changes.
  private var standing: (key: CompositeKey, frame: Frame)?

  /// Everything that a composited frame depends on, or the lowest items of one.
  private struct CompositeKey: Equatable {
    /// What one item depends on.
    enum Item: Equatable {
      /// With its times set to zero: the timestamps of the frames that they lead to are compared instead.
      case layer(StackLayer, shown: [Int64])
      case overlay(StackOverlay)
    }

    var background: Color
    /// Bottom first.
    var items: [Item]

    func prefix(_ count: Int) -> CompositeKey {
      CompositeKey(background: background, items: Array(items.prefix(count)))
    }

    /// How many of the lowest items are the same in another frame.
    func shared(with other: CompositeKey) -> Int {
      background == other.background ? zip(items, other.items).prefix { $0 == $1 }.count : 0
    }
  }

  /// Throws `.task` if the inputs lack media that the task names.
  /// - Parameters:
  ///   - movement: Advanced with every picture that is decoded and every frame that is made.
  ///   - damage: Receives the damaged pictures that are shown.
  init(
    _ task: VideoTask, inputs: [String: any ByteSource], movement: Movement? = nil, damage: DamageLog? = nil
  ) throws(RenderError) {
    self.movement = movement
    self.damage = damage
    for source in task.sources where inputs[source.digest] == nil {
      throw RenderError(.task, "\(source.title) is not among the task's inputs")
    }
    self.task = task
    self.inputs = inputs
    planner = StackPlanner(task)
    compositor = Compositor(format: task.format)
    var lastSpan: [Int: Int] = [:]
    for (index, span) in task.spans.enumerated() {
      for clip in span.clips { lastSpan[clip.source] = index }
    }
    self.lastSpan = lastSpan
  }

  /// A frame of the segment. Indices must rise from call to call. The frame is shared and must not be changed.
  func frame(_ index: Int) throws(RenderError) -> Frame {
    while !task.spans[span].frames.contains(index), span + 1 < task.spans.count {
      for (source, last) in lastSpan where last == span { streams[source] = nil }
      span += 1
    }
    let stack = try planner.stack(frame: index, in: task.spans[span])
    damage?.move(to: Double(index) * task.format.frameDuration.approximateSeconds)
    var frames: [[Frame]] = []
    var key = CompositeKey(background: stack.background, items: [])
    for layer in stack.layers {
      var shown: [Frame] = []
      for use in layer.clips {
        let stream = try stream(use.source).stream
        shown.append(try stream.frame(at: use.time))
        record(stream, of: use.source)
      }
      key.items.append(.layer(layer.withoutTimes, shown: shown.map(\.pts)))
      frames.append(shown)
    }
    key.items += stack.overlays.map { .overlay($0) }
    defer { movement?.advance() }
    if let latest, latest.key == key { return latest.frame }
    let frame = try composite(stack, frames, key)
    latest = (key, frame)
    return frame
  }

  /// The frame with all items. Those that are the same as in the frame before, from the lowest on, are drawn once for all.
  private func composite(
    _ stack: FrameStack, _ frames: [[Frame]], _ key: CompositeKey
  ) throws(RenderError) -> Frame {
    let shared = latest.map { key.shared(with: $0.key) } ?? 0
    let kept = key.prefix(shared)
    if standing?.key != kept { standing = nil }
    var items: [Compositor.Item] = []
    for (index, layer) in stack.layers.enumerated() where standing == nil || index >= shared {
      if let drawn = try item(layer, frames[index]) { items.append(drawn) }
    }
    for (index, overlay) in stack.overlays.enumerated()
    where standing == nil || stack.layers.count + index >= shared {
      if let picture = try overlayPicture(overlay.index) {
        items.append(.overlay(picture, weight: overlay.weight, overlay.blendMode))
      }
    }
    if let standing {
      let canvas = try compositor.copy(standing.frame)
      try compositor.draw(items, on: canvas)
      return canvas
    }
    if let whole = compositor.passed(items) { return whole }
    let canvas = try compositor.canvas(stack.background, under: items.first)
    // Copying one picture costs as much as drawing it, so two at least are kept.
    guard shared > 1, items.count == key.items.count else {
      try compositor.draw(items, on: canvas)
      return canvas
    }
    try compositor.draw(items.prefix(shared), on: canvas)
    standing = (kept, canvas)
    let copy = try compositor.copy(canvas)
    try compositor.draw(items.dropFirst(shared), on: copy)
    return copy
  }

  /// Nil if none of the layer's pictures is within the frame.
  private func item(_ layer: StackLayer, _ frames: [Frame]) throws(RenderError) -> Compositor.Item? {
    func picture(_ use: ClipUse, _ frame: Frame) throws(RenderError) -> Compositor.Weighted? {
      let fitter = try stream(use.source).fitter
      let picture: LayerPicture?
      if let placement = use.placement {
        picture = try fitter.picture(frame, placement)
      } else {
        picture = try fitter.picture(frame, planner.fitting(use))
      }
      if let mask = use.mask, let placement = use.placement, let whole = picture {
        let source = try stream(mask.source)
        let masked = try source.fitter.masked(
          whole.blendPicture, by: source.stream.onlyFrame(), mask.channel, isInverted: mask.isInverted, placement)
        return Compositor.Weighted(picture: .blend(masked), weight: use.weight, blendMode: use.blendMode)
      }
      return picture.map { Compositor.Weighted(picture: $0, weight: use.weight, blendMode: use.blendMode) }
    }
    switch layer {
    case .clip(let use): return try picture(use, frames[0]).map { .layer(.clip($0)) }
    case .dissolve(let from, let to):
      let (a, b) = (try picture(from, frames[0]), try picture(to, frames[1]))
      guard let a, let b else { return (a ?? b).map { .layer(.clip($0)) } }
      return .layer(.dissolve(a, b))
    }
  }

  private func record(_ stream: SourceStream, of index: Int) {
    guard let tick = stream.damage else { return }
    let source = task.sources[index]
    damage?.add(source: source.seconds(of: tick), digest: source.digest, track: source.track, type: .video)
  }

  private func stream(_ index: Int) throws(RenderError) -> (stream: SourceStream, fitter: SourceFitter) {
    if let known = streams[index] { return known }
    let source = task.sources[index]
    let uses = task.spans.map { span in span.clips.count { $0.source == index } }.max() ?? 1
    let opened = (
      stream: SourceStream(source, input: try input(source), capacity: uses, movement: movement),
      fitter: SourceFitter(source, format: task.format)
    )
    streams[index] = opened
    return opened
  }

  private func input(_ source: PlannedSource) throws(RenderError) -> any ByteSource {
    guard let input = inputs[source.digest] else {
      throw RenderError(.task, "\(source.title) is not among the task's inputs")
    }
    return input
  }

  private func overlayPicture(_ index: Int) throws(RenderError) -> BlendPicture? {
    if let known = overlays[index] { return known }
    let overlay = task.overlays[index]
    let picture: BlendPicture?
    switch overlay.content {
    case .text(let text, let fonts):
      picture = try Overlays.text(
        text, fonts: fonts, inputs: inputs, placement: overlay.placement, format: task.format)
    case .image(let sourceIndex, let width, let height):
      let source = task.sources[sourceIndex]
      let stream = SourceStream(source, input: try input(source), capacity: 1, movement: movement)
      let frame = try stream.onlyFrame()
      record(stream, of: sourceIndex)
      picture = try Overlays.image(
        frame, of: source, width: width, height: height, placement: overlay.placement, format: task.format)
    }
    overlays[index] = .some(picture)
    return picture
  }
}

extension StackLayer {
  /// The layer with all times set to zero.
  fileprivate var withoutTimes: StackLayer {
    switch self {
    case .clip(let use): .clip(use.withoutTimes)
    case .dissolve(let from, let to): .dissolve(from.withoutTimes, to.withoutTimes)
    }
  }
}

extension ClipUse {
  fileprivate var withoutTimes: ClipUse {
    var use = self
    use.time = .zero
    return use
  }
}
