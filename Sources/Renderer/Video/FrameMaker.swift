import CompositionModel
package import Media
package import RenderTasks
package import SheafCompositing

/// Makes the frames of one segment in order. If nothing changes from one frame to the next, both are the same frame.
package final class FrameMaker {
  private let task: VideoTask
  private let planner: StackPlanner
  /// Those of the author's own that the task needs.
  private let composers: [CustomCompositor: any VideoCompositing]
  private let compositor: Compositor
  private let inputs: [String: any ByteSource]
  private let liveness: Liveness?
  private let damage: DamageLog?
  private let sources: SourceStreams
  private let filters: FilterChain
  private let sides: SideChanger
  /// The latest filtered picture of each source, for frames that are shown again.
  private var filtered: [Int: (key: FilteredKey, picture: LayerPicture)] = [:]
  /// By index in `task.sources`.
  private var decorators: [Int: LayerDecorator] = [:]
  /// By index in `task.overlays`; the value is nil for an overlay outside the frame.
  private var overlays: [Int: BlendPicture?] = [:]
  /// By index in `task.overlays`.
  private var movingOverlays: [Int: MovingOverlay] = [:]
  /// By index in `task.overlays`.
  private var posedPictures: [Int: (frame: Frame, fitter: SourceFitter)] = [:]
  private var posedTexts: [Int: PosedText] = [:]
  private let countingTexts: CountingTexts
  /// By index in `task.overlays`.
  private var waveforms: [Int: WaveformPainter] = [:]
  /// The mattes of transitions by index in `task.sources`.
  private var mattes: [Int: MatteLevels] = [:]
  /// By index in `task.captions`.
  private var captionPainters: [CaptionPainter] = []
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
      /// `shown` is of an overlay that moves.
      case overlay(StackOverlay, shown: Int64?)
      /// The picture of captions that are drawn, by its number.
      case captions(Int, picture: Int)
    }

    var background: Color
    /// Bottom first.
    var items: [Item]
    /// The filters of the composited layers, in order.
    var filters: [Filter<Double>]

    func prefix(_ count: Int) -> CompositeKey {
      CompositeKey(background: background, items: Array(items.prefix(count)), filters: filters)
    }

    /// How many of the lowest items are the same in another frame.
    func shared(with other: CompositeKey) -> Int {
      background == other.background ? zip(items, other.items).prefix { $0 == $1 }.count : 0
    }
  }

  private struct FilteredKey: Equatable {
    var pts: Int64
    var fitting: Fitting
    var filters: [Filter<Double>]
  }

  /// Throws `.task` if the inputs lack media that the task names.
  package convenience init(
    _ task: VideoTask, inputs: [String: any ByteSource], compositors: CompositorRegistry = .none
  ) throws(RenderError) {
    try self.init(task, inputs: inputs, compositors: compositors, liveness: nil, damage: nil)
  }

  /// Throws `.task` if the inputs lack media that the task names, or the program a compositor, or if a compositor
  /// refuses its parameters.
  /// - Parameters:
  ///   - liveness: Advanced with every picture that is decoded and every frame that is made.
  ///   - damage: Receives the damaged pictures that are shown.
  init(
    _ task: VideoTask, inputs: [String: any ByteSource], compositors: CompositorRegistry, liveness: Liveness?,
    damage: DamageLog?
  ) throws(RenderError) {
    self.liveness = liveness
    self.damage = damage
    for source in task.sources
    where source.video.drawn == nil && source.nested == nil && inputs[source.digest] == nil {
      throw RenderError(.task, "\(source.title) is not among the task's inputs")
    }
    self.task = task
    self.inputs = inputs
    countingTexts = CountingTexts(task, inputs: inputs)
    composers = try compositors.composers(of: task)
    planner = StackPlanner(task, timeless: try compositors.timeless(of: task))
    compositor = Compositor(format: task.format)
    filters = FilterChain(task.format, tables: ColourTables(inputs))
    sides = SideChanger(task.format, filters)
    sources = SourceStreams(task, inputs: inputs, liveness: liveness) { pictures throws(RenderError) in
      NestedFrames(pictures, inputs: inputs, compositors: compositors, liveness: liveness, damage: damage)
    }
    for captions in task.captions ?? [] {
      captionPainters.append(try CaptionPainter(captions, format: task.format, inputs: inputs))
    }
  }

  /// A frame of the segment. Indices must rise from call to call. The frame is shared and must not be changed.
  package func frame(_ index: Int) throws(RenderError) -> Frame {
    while !task.spans[span].frames.contains(index), span + 1 < task.spans.count {
      for source in sources.end(span: span) { (filtered[source], decorators[source]) = (nil, nil) }
      span += 1
    }
    for overlay in movingOverlays.keys where task.overlays[overlay].frames.allSatisfy({ $0.upperBound <= index }) {
      movingOverlays[overlay] = nil
    }
    let stack = try planner.stack(frame: index, in: task.spans[span])
    damage?.move(to: Double(index) * task.format.frameDuration.approximateSeconds)
    var frames: [[Frame]] = []
    var key = CompositeKey(background: stack.background, items: [], filters: stack.filters)
    for layer in stack.layers {
      var shown: [Frame] = []
      for use in layer.clips {
        let stream = try sources.source(use.source).stream
        shown.append(try stream.frame(at: use.time, isReversed: use.isReversed))
        record(stream, of: use.source)
        guard let mask = use.mask, let time = mask.time else { continue }
        let matte = try sources.source(mask.source).stream
        shown.append(try matte.frame(at: time, isReversed: mask.isReversed))
        record(matte, of: mask.source)
      }
      key.items.append(.layer(layer.withoutTimes, shown: shown.map(\.pts)))
      frames.append(shown)
    }
    var shownByOverlays: [Frame?] = []
    for overlay in stack.overlays {
      var still = overlay
      still.time = overlay.time.map { _ in .zero }
      if let time = overlay.time, let painter = try waveform(overlay.index) {
        key.items.append(.overlay(still, shown: try painter.move(to: time)))
        shownByOverlays.append(nil)
        continue
      }
      guard let time = overlay.time, let moving = try movingOverlay(overlay.index) else {
        key.items.append(.overlay(still, shown: nil))
        shownByOverlays.append(nil)
        continue
      }
      let shown = try moving.frame(at: time)
      record(moving.stream, of: moving.source)
      key.items.append(.overlay(still, shown: shown.pts))
      shownByOverlays.append(shown)
    }
    var captions: [BlendPicture] = []
    for (number, painter) in captionPainters.enumerated() {
      let drawn = try painter.picture(index)
      guard let picture = drawn.picture else { continue }
      key.items.append(.captions(number, picture: drawn.number))
      captions.append(picture)
    }
    defer { liveness?.advance() }
    if let latest, latest.key == key { return latest.frame }
    let frame = try composite(stack, frames, shownByOverlays, captions, key)
    latest = (key, frame)
    return frame
  }

  /// The frame with all items. Those that are the same as in the frame before, from the lowest on, are drawn once for
  /// all.
  private func composite(
    _ stack: FrameStack, _ frames: [[Frame]], _ shownByOverlays: [Frame?], _ captions: [BlendPicture],
    _ key: CompositeKey
  ) throws(RenderError) -> Frame {
    guard stack.filters.isEmpty else { return try filteredComposite(stack, frames, shownByOverlays, captions) }
    let shared = latest.map { key.shared(with: $0.key) } ?? 0
    let kept = key.prefix(shared)
    if standing?.key != kept { standing = nil }
    var items: [Compositor.Item] = []
    for (index, layer) in stack.layers.enumerated() where standing == nil || index >= shared {
      if let drawn = try item(layer, frames[index]) { items.append(drawn) }
    }
    for (index, overlay) in stack.overlays.enumerated()
    where standing == nil || stack.layers.count + index >= shared {
      if let drawn = try item(overlay, shownByOverlays[index]) { items.append(drawn) }
    }
    for (index, picture) in captions.enumerated()
    where standing == nil || stack.layers.count + stack.overlays.count + index >= shared {
      items.append(.overlay(.blend(picture), weight: Weight.one, nil))
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

  /// The frame of a stack whose composited layers are filtered.
  private func filteredComposite(
    _ stack: FrameStack, _ frames: [[Frame]], _ shownByOverlays: [Frame?], _ captions: [BlendPicture]
  ) throws(RenderError) -> Frame {
    var layers: [Compositor.Item] = []
    for (index, layer) in stack.layers.enumerated() {
      if let drawn = try item(layer, frames[index]) { layers.append(drawn) }
    }
    let plain: Frame
    if let whole = compositor.passed(layers) {
      plain = whole
    } else {
      plain = try compositor.canvas(stack.background, under: layers.first)
      try compositor.draw(layers, on: plain)
    }
    let filtered = try filters.apply(stack.filters, to: plain)
    var overlays: [Compositor.Item] = []
    for (index, overlay) in stack.overlays.enumerated() {
      if let drawn = try item(overlay, shownByOverlays[index]) { overlays.append(drawn) }
    }
    overlays += captions.map { .overlay(.blend($0), weight: Weight.one, nil) }
    // The filtered frame shares its planes with nothing.
    if !overlays.isEmpty { try compositor.draw(overlays, on: filtered) }
    return filtered
  }

  /// Nil if the overlay is outside the frame.
  private func item(_ overlay: StackOverlay, _ shown: Frame?) throws(RenderError) -> Compositor.Item? {
    let picture: LayerPicture?
    if let shown, let moving = try movingOverlay(overlay.index) {
      if let pose = overlay.pose {
        picture = try moving.picture(shown, pose, by: filters)
      } else {
        picture = try moving.picture(shown)
      }
    } else if let painter = waveforms[overlay.index] {
      if let pose = overlay.pose {
        picture = try painter.picture(pose, by: filters)
      } else {
        picture = try painter.picture().map { .blend($0) }
      }
    } else if let pose = overlay.pose {
      picture = try posed(overlay.index, pose, text: overlay.text)
    } else if let text = overlay.text {
      picture = try countingTexts.picture(overlay.index, text).map { .blend($0) }
    } else {
      picture = try overlayPicture(overlay.index).map { .blend($0) }
    }
    return picture.map { .overlay($0, weight: overlay.weight, overlay.blendMode) }
  }

  /// Nil if none of the layer's pictures is within the frame.
  private func item(_ layer: StackLayer, _ frames: [Frame]) throws(RenderError) -> Compositor.Item? {
    var next = frames.makeIterator()
    func side(_ use: ClipUse?) throws(RenderError) -> Compositor.Weighted? {
      guard let use, let frame = next.next() else { return nil }
      return try picture(use, frame, mask: use.mask?.time == nil ? nil : next.next())
    }
    switch layer {
    case .clip(let use): return try side(use).map { .layer(.clip($0)) }
    case .dissolve(let from, let to):
      let (a, b) = (try side(from), try side(to))
      guard let a, let b else { return (a ?? b).map { .layer(.clip($0)) } }
      return .layer(.dissolve(a, b))
    case .fade(let use, let color, let share): return .layer(.fade(try side(use), color, share: share))
    case .transition(let transition):
      let change = SideChange.of(transition.kind, progress: transition.progress, size: task.format.size)
      func changed(_ use: ClipUse?, _ change: SideChange?) throws(RenderError) -> Compositor.Weighted? {
        let picture = try side(use)
        guard let picture, let change else { return picture }
        return try sides.changed(picture, by: change)
      }
      let from = try changed(transition.from, change.from)
      let to = try changed(transition.to, change.to)
      return .layer(
        .transition(
          Compositor.Transition(
            from: from, to: to, kind: transition.kind, progress: transition.progress,
            levels: try levels(transition.matte))))
    case .compositor(let layer):
      guard let composer = composers[layer.compositor] else {
        throw RenderError(.task, "\(layer.compositor.title) was not made")
      }
      switch layer.content {
      case .transition(let from, let to):
        let (from, to) = (try side(from), try side(to))
        return .layer(.custom(CustomLayer(layer, composer, .transition(from: from, to: to))))
      case .tracks(let tracks):
        var sources: [(track: TrackID, picture: Compositor.Weighted)] = []
        for track in tracks {
          if let picture = try side(track.use) { sources.append((track.track, picture)) }
        }
        return .layer(.custom(CustomLayer(layer, composer, .tracks(sources))))
      }
    }
  }

  /// Nil if the picture is outside the frame.
  /// - Parameter moving: The frame of a mask that moves.
  private func picture(
    _ use: ClipUse, _ frame: Frame, mask moving: Frame?
  ) throws(RenderError) -> Compositor.Weighted? {
    let fitter = try sources.source(use.source).fitter
    var drawn: LayerPicture?
    if let placement = use.placement {
      drawn = try fitter.picture(frame, placement, use.filters, by: filters)
    } else {
      let fitting = planner.fitting(use)
      let key = FilteredKey(pts: frame.pts, fitting: fitting, filters: use.filters)
      drawn = try filtered(try fitter.picture(frame, fitting), of: frame, key, use)
    }
    if let mask = use.mask, let placement = use.placement, let whole = drawn {
      let source = try sources.source(mask.source)
      let matte: Frame
      if let moving { matte = moving } else { matte = try source.stream.onlyFrame() }
      drawn = .blend(
        try source.fitter.masked(
          whole.blendPicture, by: matte, mask.channel, isInverted: mask.isInverted, placement))
    }
    if let decoration = use.decoration, let placement = use.placement, let whole = drawn {
      let decorator = decorators[use.source] ?? LayerDecorator(task.format)
      decorators[use.source] = decorator
      drawn = .blend(try decorator.decorated(whole, placement, decoration))
    }
    return drawn.map { Compositor.Weighted(picture: $0, weight: use.weight, blendMode: use.blendMode) }
  }

  /// A fitted picture over its blurred copy, if its fit has one, with its filters applied.
  private func filtered(
    _ picture: LayerPicture, of frame: Frame, _ key: FilteredKey, _ use: ClipUse
  ) throws(RenderError) -> LayerPicture {
    if use.filters.isEmpty, !key.fitting.isOverBlur { return picture }
    if let known = filtered[use.source], known.key == key { return known.picture }
    var made = picture
    if key.fitting.isOverBlur {
      let cover = try sources.source(use.source).fitter.picture(frame, planner.fitting(use, as: .cover))
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

  private func levels(_ index: Int?) throws(RenderError) -> MatteLevels? {
    guard let index else { return nil }
    if let known = mattes[index] { return known }
    let source = task.sources[index]
    let stream = try sources.single(source)
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
        text, fonts: FontSet(fonts, of: text.text, inputs: inputs), placement: overlay.placement, format: task.format)
    case .image(let sourceIndex, let width, let height):
      let source = task.sources[sourceIndex]
      let stream = try sources.single(source)
      let frame = try stream.onlyFrame()
      record(stream, of: sourceIndex)
      picture = try Overlays.image(
        frame, of: source, SourceFitter(source, format: task.format), width: width, height: height,
        placement: overlay.placement, format: task.format)
    case .video, .waveform: picture = nil
    }
    overlays[index] = .some(picture)
    return picture
  }

  /// An overlay that does not move by itself and is transformed, filtered or cropped. Nil if it is outside the frame.
  /// - Parameter text: That of a text that counts.
  private func posed(_ index: Int, _ pose: OverlayPose, text shown: String?) throws(RenderError) -> LayerPicture? {
    let overlay = task.overlays[index]
    switch overlay.content {
    case .text(let text, let fonts):
      let style = shown.map { text.showing($0) } ?? text
      if let known = posedTexts[index], known.text == style { return try known.picture(pose, by: filters) }
      let made = PosedText(
        style, fonts: try countingTexts.fonts(fonts, of: text, index), overlay.placement, task.format)
      posedTexts[index] = made
      return try made.picture(pose, by: filters)
    case .image(let sourceIndex, let width, let height):
      let picture: (frame: Frame, fitter: SourceFitter)
      if let known = posedPictures[index] {
        picture = known
      } else {
        let source = task.sources[sourceIndex]
        let stream = try sources.single(source)
        picture = (try stream.onlyFrame(), SourceFitter(source, format: task.format))
        record(stream, of: sourceIndex)
        posedPictures[index] = picture
      }
      return try PosedOverlay.picture(
        picture.frame, picture.fitter, width: width, height: height, overlay.placement, pose, by: filters)
    case .video, .waveform: return nil
    }
  }

  /// Nil for an overlay that is no picture of sound.
  private func waveform(_ index: Int) throws(RenderError) -> WaveformPainter? {
    if let known = waveforms[index] { return known }
    let overlay = task.overlays[index]
    guard case .waveform(let planned) = overlay.content else { return nil }
    let painter = try WaveformPainter(
      planned, placement: overlay.placement, format: task.format, inputs: inputs, liveness: liveness)
    waveforms[index] = painter
    return painter
  }

  /// Nil for an overlay that does not move.
  private func movingOverlay(_ index: Int) throws(RenderError) -> MovingOverlay? {
    if let known = movingOverlays[index] { return known }
    let overlay = task.overlays[index]
    guard case .video(let video) = overlay.content else { return nil }
    let source = task.sources[video.source]
    let stream = try sources.single(source)
    let moving = MovingOverlay(video, of: source, stream, placement: overlay.placement, format: task.format)
    movingOverlays[index] = moving
    return moving
  }
}

extension StackLayer {
  /// The layer with all times set to zero.
  fileprivate var withoutTimes: StackLayer { map(\.withoutTimes) }
}

extension ClipUse {
  fileprivate var withoutTimes: ClipUse {
    var use = self
    use.time = .zero
    if use.mask?.time != nil { use.mask?.time = .zero }
    return use
  }
}
