import CompositionModel
package import Media
package import Segmenter

/// Makes the frames of one segment in order. Sources are opened when they are first needed and closed after the last span
/// that shows them. If nothing changes from one frame to the next, both are the same frame.
package final class FrameMaker {
  private let task: VideoTask
  private let planner: StackPlanner
  private let compositor: Compositor
  private let inputs: [String: any ByteSource]
  private let movement: Movement?
  private let damage: DamageLog?
  /// By index in `task.sources`.
  private var streams: [Int: (stream: SourceStream, fitter: SourceFitter)] = [:]
  private let filters: FilterChain
  /// The latest filtered picture of each source, for frames that are shown again.
  private var filtered: [Int: (key: FilteredKey, picture: LayerPicture)] = [:]
  /// By index in `task.overlays`; the value is nil for an overlay outside the frame.
  private var overlays: [Int: BlendPicture?] = [:]
  /// By index in `task.overlays`.
  private var movingOverlays: [Int: MovingOverlay] = [:]
  /// The mattes of transitions by index in `task.sources`.
  private var mattes: [Int: MatteLevels] = [:]
  /// The last span that shows each source.
  private let lastSpan: [Int: Int]
  private var span = 0
  private var latest: (key: CompositeKey, frame: Frame)?

  /// Everything that a composited frame depends on.
  private struct CompositeKey: Equatable {
    var stack: FrameStack
    /// The timestamp of the frame that each clip and each moving overlay of the stack shows.
    var shown: [Int64]
  }

  private struct FilteredKey: Equatable {
    var pts: Int64
    var fitting: Fitting
    var filters: [Filter<Double>]
  }

  /// Throws `.task` if the inputs lack media that the task names.
  package convenience init(_ task: VideoTask, inputs: [String: any ByteSource]) throws(RenderError) {
    try self.init(task, inputs: inputs, movement: nil, damage: nil)
  }

  /// Throws `.task` if the inputs lack media that the task names.
  /// - Parameters:
  ///   - movement: Advanced with every picture that is decoded and every frame that is made.
  ///   - damage: Receives the damaged pictures that are shown.
  init(
    _ task: VideoTask, inputs: [String: any ByteSource], movement: Movement?, damage: DamageLog?
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
    filters = FilterChain(task.format, tables: ColourTables(inputs))
    var lastSpan: [Int: Int] = [:]
    for (index, span) in task.spans.enumerated() {
      for clip in span.clips { lastSpan[clip.source] = index }
    }
    self.lastSpan = lastSpan
  }

  /// A frame of the segment. Indices must rise from call to call. The frame is shared and must not be changed.
  package func frame(_ index: Int) throws(RenderError) -> Frame {
    while !task.spans[span].frames.contains(index), span + 1 < task.spans.count {
      for (source, last) in lastSpan where last == span {
        streams[source] = nil
        filtered[source] = nil
      }
      span += 1
    }
    for overlay in movingOverlays.keys where task.overlays[overlay].frames.allSatisfy({ $0.upperBound <= index }) {
      movingOverlays[overlay] = nil
    }
    let stack = try planner.stack(frame: index, in: task.spans[span])
    damage?.move(to: Double(index) * task.format.frameDuration.approximateSeconds)
    var frames: [Frame] = []
    for use in stack.layers.flatMap(\.clips) {
      let stream = try stream(use.source).stream
      frames.append(try stream.frame(at: use.time))
      record(stream, of: use.source)
    }
    for overlay in stack.overlays {
      guard let time = overlay.time, let moving = try movingOverlay(overlay.index) else { continue }
      frames.append(try moving.frame(at: time))
      record(moving.stream, of: moving.source)
    }
    defer { movement?.advance() }
    let key = CompositeKey(stack: stack.withoutTimes, shown: frames.map(\.pts))
    if let latest, latest.key == key { return latest.frame }
    let frame = try composite(stack, frames)
    latest = (key, frame)
    return frame
  }

  private func composite(_ stack: FrameStack, _ frames: [Frame]) throws(RenderError) -> Frame {
    var next = 0
    func picture(_ use: ClipUse) throws(RenderError) -> Compositor.Weighted {
      defer { next += 1 }
      let fitting = planner.fitting(use)
      let fitted = try stream(use.source).fitter.picture(frames[next], fitting)
      let key = FilteredKey(pts: frames[next].pts, fitting: fitting, filters: use.filters)
      let picture = try filtered(fitted, of: frames[next], key, use)
      return Compositor.Weighted(picture: picture, weight: use.weight)
    }
    func side(_ use: ClipUse?) throws(RenderError) -> Compositor.Weighted? {
      guard let use else { return nil }
      return try picture(use)
    }
    var drawn: [Compositor.Layer] = []
    for layer in stack.layers {
      switch layer {
      case .clip(let use): drawn.append(.clip(try picture(use)))
      case .dissolve(let from, let to): drawn.append(.dissolve(try picture(from), try picture(to)))
      case .fade(let use, let color, let share): drawn.append(.fade(try side(use), color, share: share))
      case .transition(let transition):
        drawn.append(
          .transition(
            Compositor.Transition(
              from: try side(transition.from), to: try side(transition.to), kind: transition.kind,
              progress: transition.progress, levels: try levels(transition.matte))))
      }
    }
    var visible: [(picture: LayerPicture, weight: Int)] = []
    for overlay in stack.overlays {
      if let moving = try movingOverlay(overlay.index) {
        defer { next += 1 }
        if let picture = try moving.picture(frames[next]) { visible.append((picture, overlay.weight)) }
      } else if let picture = try overlayPicture(overlay.index) {
        visible.append((.blend(picture), overlay.weight))
      }
    }
    guard !stack.filters.isEmpty else {
      return try compositor.frame(drawn, hasBase: stack.hasBase, background: stack.background, overlays: visible)
    }
    let plain = try compositor.frame(drawn, hasBase: stack.hasBase, background: stack.background, overlays: [])
    let whole = LayerPicture.whole(try filters.apply(stack.filters, to: plain))
    return try compositor.frame(
      [.clip(Compositor.Weighted(picture: whole, weight: Weight.one))], hasBase: true, background: stack.background,
      overlays: visible)
  }

  /// A fitted picture over its blurred copy, if its fit has one, with its filters applied.
  private func filtered(
    _ picture: LayerPicture, of frame: Frame, _ key: FilteredKey, _ use: ClipUse
  ) throws(RenderError) -> LayerPicture {
    if use.filters.isEmpty, !key.fitting.isOverBlur { return picture }
    if let known = filtered[use.source], known.key == key { return known.picture }
    var made = picture
    if key.fitting.isOverBlur {
      let cover = try stream(use.source).fitter.picture(frame, planner.fitting(use, as: .cover))
      made = try filters.over(blurred: cover, picture)
    }
    if !use.filters.isEmpty { made = try filters.apply(use.filters, to: made) }
    filtered[use.source] = (key, made)
    return made
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

  private func levels(_ index: Int?) throws(RenderError) -> MatteLevels? {
    guard let index else { return nil }
    if let known = mattes[index] { return known }
    let source = task.sources[index]
    let stream = SourceStream(source, input: try input(source), capacity: 1, movement: movement)
    let frame = try stream.onlyFrame()
    record(stream, of: index)
    let levels = try MatteLevels(SourceFitter(source, format: task.format).rgba(frame, size: task.format.size))
    mattes[index] = levels
    return levels
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
        frame, of: source, SourceFitter(source, format: task.format), width: width, height: height,
        placement: overlay.placement, format: task.format)
    case .video: picture = nil
    }
    overlays[index] = .some(picture)
    return picture
  }

  /// Nil for an overlay that does not move.
  private func movingOverlay(_ index: Int) throws(RenderError) -> MovingOverlay? {
    if let known = movingOverlays[index] { return known }
    let overlay = task.overlays[index]
    guard case .video(let video) = overlay.content else { return nil }
    let source = task.sources[video.source]
    let stream = SourceStream(source, input: try input(source), capacity: 1, movement: movement)
    let moving = MovingOverlay(video, of: source, stream, placement: overlay.placement, format: task.format)
    movingOverlays[index] = moving
    return moving
  }
}

extension FrameStack {
  /// The stack with all times set to zero: the frames that they lead to are compared instead.
  fileprivate var withoutTimes: FrameStack {
    var stack = self
    stack.layers = layers.map { $0.map(\.withoutTimes) }
    for index in stack.overlays.indices where stack.overlays[index].time != nil { stack.overlays[index].time = .zero }
    return stack
  }
}

extension ClipUse {
  fileprivate var withoutTimes: ClipUse {
    var use = self
    use.time = .zero
    return use
  }
}
