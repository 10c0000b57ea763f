import CompositionModel
import RenderTasks

/// Estimates work. The unit is one pixel through x264's preset `medium`. Only ratios are meaningful, and they need only
/// be good enough to balance segments: the numbers are rounded from timings of libavcodec in one thread at 720p.
struct CostModel {
  let format: VideoTaskFormat
  /// How the pictures are encoded, for each of the film's outputs.
  let renditions: [VideoRendition]
  let sources: SourceLookup
  /// The filters of the whole film.
  var filters: [Filter<RampList>]?
  /// The work for a frame of the assets that are edits, as far as it was asked for.
  private let nested = NestedCosts()

  init(
    format: VideoTaskFormat, renditions: [VideoRendition], sources: SourceLookup, filters: [Filter<RampList>]? = nil
  ) {
    (self.format, self.renditions, self.sources, self.filters) = (format, renditions, sources, filters)
  }

  private final class NestedCosts {
    var perFrame: [AssetID: Double] = [:]
  }

  /// The work for a pixel of the source.
  private static let decode = 0.08
  /// The work for a pixel of the output.
  private static let convert = 0.2
  /// To map a high dynamic range to that of the film.
  private static let toneMap = 2.0
  private static let blend = 0.03
  /// To place a picture anywhere, and to draw a mask.
  fileprivate static let place = 0.12
  private static let mask = 0.2
  /// To read and write a stored picture.
  private static let copy = 0.002
  /// A still overlay is blended; a text has ink on a small part of the frame.
  private static let textShare = 0.05
  /// How often a segment is encoded to find the quality that has its target, about.
  private static let searched = 3.0
  /// The pixels of the output for which blending takes as long as setting a text in every frame.
  private static let counting = 1.0
  /// The work for a pixel of the output in a compositor of the author's own, whose real work is not known.
  private static let compositor = 0.5

  private func pixels(_ size: PixelSize) -> Double { Double(size.width * size.height) }

  /// To copy stored pictures.
  func copy(of frameCount: Int) -> Double { Double(frameCount) * pixels(format.size) * Self.copy }

  /// To make and encode one frame of a span.
  func frame(of span: TimelineSpan) throws(PlanError) -> Double {
    let outputPixels = pixels(format.size)
    var cost = 0.0
    let bits = try bits(of: span)
    for rendition in renditions {
      let codec = rendition.encoder.codec.definition
      let wanted = codec.expectedBits(rendition.encoder)?.relative ?? 1
      let detail = bits.map { Self.detail($0 * wanted) } ?? 1
      let encodings = rendition.encoder.targetQuality == nil ? 1 : CostModel.searched
      cost += encodings * detail * pixels(rendition.size) * codec.costPerPixel(rendition.encoder)
      if rendition.size != format.size { cost += outputPixels * CostModel.convert }
    }
    for layer in span.layers {
      for clip in layer.clips {
        for (_, decoded) in clip.decoded {
          let video = try sources.video(of: decoded).format
          guard !video.isStill else { continue }
          let picture = try madeFrame(of: decoded.asset) ?? pixels(video.size) * CostModel.decode
          cost += picture * (try speed(of: decoded))
        }
        cost += try drawing(clip)
      }
    }
    for filter in (span.filters ?? []) + (filters ?? []) { cost += outputPixels * filter.kind.cost }
    for case .transition(let transition) in span.layers { cost += outputPixels * transition.style.kind.cost }
    for layer in span.layers where layer.isCustom { cost += outputPixels * CostModel.compositor }
    return cost + Double(max(0, span.layers.count - 1)) * outputPixels * CostModel.blend
  }

  /// What pictures take of an encoder, relative to those of usual detail. An encoder spends little on what hardly
  /// moves, and so did the one of their files: it follows from the bits that they had there.
  static func detail(_ bits: Double) -> Double { min(1.6, 0.17 + 0.83 * bits.squareRoot()) }

  /// The bits of the pictures of a span in their files, relative to those of usual detail. Nil: they are not known.
  private func bits(of span: TimelineSpan) throws(PlanError) -> Double? {
    var found: [Double] = []
    for (_, clip) in span.layers.flatMap(\.clips).flatMap(\.decoded) {
      let (asset, track, video) = try sources.video(of: clip)
      guard !video.isStill, let rate = asset.description.bitRate else { continue }
      let sounds = asset.description.tracks.count { $0.type == .audio }
      // How much of the file is sound is not known.
      let frame = Double(max(rate / 2, rate - sounds * 128_000)) / max(1, video.nominalFrameRate.approximateSeconds)
      found.append(Self.bits(ofPixel: frame / pixels(video.size), codec: track.codec))
    }
    return found.isEmpty ? nil : found.reduce(0, +) / Double(found.count)
  }

  /// - Parameter codec: As FFmpeg names it.
  static func bits(ofPixel bits: Double, codec: String) -> Double {
    // H.264 has half of the bits of the ones before it, and twice those of the ones after it.
    let relative =
      switch codec {
      case "av1": 2.0
      case "hevc", "vp9", "vvc": 1.7
      case "mpeg4", "mpeg2video", "mpeg1video", "vp8", "h263", "theora", "wmv2", "wmv3": 0.6
      case "h264": 1.0
      // Each frame by itself.
      default: 0.1
      }
    return relative * bits / 0.05
  }

  /// To make a frame of an asset that is an edit, on average. Nil: it is no edit.
  private func madeFrame(of id: AssetID) throws(PlanError) -> Double? {
    if let known = nested.perFrame[id] { return known }
    guard let (nested, own) = sources.nested(id) else { return nil }
    let film = try NestedFilm(id, nested, own, within: format)
    let (composition, count) = (nested.edit.videoComposition, film.timeline.grid.frameCount)
    let whole = try CumulativeCost(
      timeline: film.timeline, overlays: composition.overlays,
      costs: CostModel(format: film.format, renditions: [], sources: own, filters: composition.filters))
    let mean = whole.cost(before: count) / Double(max(1, count)) * (nested.isTransparent ? 2 : 1)
    self.nested.perFrame[id] = mean
    return mean
  }

  /// To fit, filter, place and mask a picture. A still picture that stands still is made once.
  private func drawing(_ clip: TimelineClip) throws(PlanError) -> Double {
    let video = try sources.video(of: clip.clip).format
    let outputPixels = pixels(format.size)
    let changes = clip.filters?.contains { $0.changes } == true
    guard !video.isStill || changes || clip.geometry?.isConstant(from: clip.clip.target.start) == false else {
      return 0
    }
    var cost = 0.0
    if clip.geometry != nil || clip.mask != nil || clip.decoration != nil {
      cost += outputPixels * CostModel.place
    } else if video.presentationSize != format.size {
      cost += outputPixels * CostModel.convert
    }
    // A picture with a place of its own is filtered in its own size.
    let filtered =
      clip.geometry == nil && clip.mask == nil && clip.decoration == nil ? outputPixels : pixels(video.size)
    if !video.isStill || changes { for filter in clip.filters ?? [] { cost += filtered * filter.kind.cost } }
    if clip.decoration != nil { cost += outputPixels * CostModel.mask }
    if clip.clip.stabilization != nil { cost += pixels(video.size) * CostModel.place }
    func isHDR(_ tags: ColourTags) -> Bool { TransferFunction(tag: tags.transfer)?.isHDR == true }
    if isHDR(video.colour), !isHDR(format.colour) { cost += outputPixels * CostModel.toneMap }
    return clip.mask == nil ? cost : cost + outputPixels * CostModel.mask
  }

  /// To draw an overlay in one frame.
  func frame(of overlay: Overlay) throws(PlanError) -> Double {
    let outputPixels = pixels(format.size)
    var (own, shown) = (0.0, outputPixels * CostModel.textShare)
    var (asset, width, height, isMoving) = (AssetID?.none, Int?.none, Int?.none, false)
    switch overlay.content {
    case .text(let text): if text.counting != nil { shown += outputPixels * CostModel.counting }
    case .waveform(let waveform): shown = pixels(waveform.size) * (1 + CostModel.counting)
    case .image(let image, let ownWidth, let ownHeight): (asset, width, height) = (image, ownWidth, ownHeight)
    case .video(let video): (asset, width, height, isMoving) = (video.asset, video.width, video.height, true)
    }
    if let asset, let size = sources.assets[asset]?.description.defaultTrack(.video)?.video?.presentationSize {
      own = pixels(size)
      let across = width.map(Double.init) ?? height.map { Double($0) * Double(size.width) / Double(size.height) }
      let shape = Double(size.height) / Double(max(1, size.width))
      shown = (across ?? Double(size.width)) * (height.map(Double.init) ?? (across ?? Double(size.width)) * shape)
    }
    shown = min(shown, outputPixels)
    var cost = shown * CostModel.blend
    if isMoving {
      let made = try asset.flatMap { id throws(PlanError) in try madeFrame(of: id) }
      cost += (made ?? own * CostModel.decode) + shown * CostModel.place
    }
    let isPosed = overlay.geometry?.isConstant(from: overlay.over.start) == false
    if !isMoving, isPosed { cost += shown * CostModel.place }
    let changes = overlay.filters?.contains { $0.changes } == true
    if isMoving || changes {
      for filter in overlay.filters ?? [] { cost += (own > 0 ? own : shown) * filter.kind.cost }
    }
    return cost
  }

  /// To decode the frames that are not shown, if a segment starts at this frame of a span.
  func runUp(to frame: Int, in span: TimelineSpan, grid: FrameGrid) throws(PlanError) -> Double {
    var cost = 0.0
    for (_, clip) in span.layers.flatMap(\.clips).flatMap(\.decoded) {
      let (_, track, video) = try sources.video(of: clip)
      guard !video.isStill else { continue }
      cost += try mapErrors(to: PlanError.time("the clip of '\(clip.asset)' at frame \(frame)")) {
        () throws(TimeError) in
        // A reversed clip is decoded from before what it shows last.
        let time =
          clip.retiming.isReversed
          ? max(clip.target.start, try clip.target.end - grid.frameDuration) : try grid.time(of: frame)
        guard let shown = try sources.shownFrame(of: clip, track: track, format: video, at: time),
          let key = try sources.keyframe(of: clip, track: track, format: video, at: time)
        else { return 0 }
        let seconds = try (track.timebase.exact * Rational(shown - video.keyframes[key].pts)).approximate
        return seconds * max(1, video.nominalFrameRate.approximateSeconds) * pixels(video.size) * CostModel.decode
      }
    }
    return cost
  }

  /// Source frames decoded for one output frame, relative to natural speed.
  private func speed(of clip: Clip) throws(PlanError) -> Double {
    guard !clip.source.isEmpty else { return 0 }
    return try mapErrors(to: PlanError.time("the speed of the clip of '\(clip.asset)'")) { () throws(TimeError) in
      try (clip.source.duration / clip.target.duration).approximate
    }
  }
}

extension FilterKind {
  /// The work for a pixel.
  fileprivate var cost: Double {
    switch self {
    case .blur, .chromaKey: 0.15
    case .sharpen, .lut, .posterize, .curves, .vignette: 0.1
    case .pixelate: 0.05
    case .grain, .denoise: 0.3
    case .glow: 0.75
    case .exposure, .brightness, .contrast, .saturation, .hue, .colorBalance, .grayscale, .sepia, .invert: 0.03
    }
  }
}

extension TransitionKind {
  /// The work for a pixel of the output to change both pictures, or for a matte that is more than the mix.
  fileprivate var cost: Double {
    switch self {
    case .blur: 2 * FilterKind.blur.cost
    case .pixelate: 2 * FilterKind.pixelate.cost
    case .zoom: 2 * CostModel.place
    case .spin: CostModel.place
    case .clock: 0.1
    case .dissolve, .fade, .wipe, .slide, .push, .circle, .iris, .luma, .custom: 0
    }
  }
}

/// The cost of the film up to each frame.
struct CumulativeCost {
  private var starts: [(frame: Int, cost: Double)] = []
  private var perFrame: [Double] = []
  /// Where overlays begin and end: the cost of all overlays before a frame, and from it on for each.
  private var overlays: [(frame: Int, total: Double, perFrame: Double)] = []

  init(timeline: Timeline, overlays shown: [Overlay], costs: CostModel) throws(PlanError) {
    var changes: [Int: Double] = [:]
    for overlay in shown {
      let frames = try mapErrors(to: PlanError.time("the overlay over \(overlay.over)")) { () throws(TimeError) in
        try timeline.grid.frames(in: overlay.over)
      }
      let cost = try costs.frame(of: overlay)
      changes[frames.lowerBound, default: 0] += cost
      changes[frames.upperBound, default: 0] -= cost
    }
    for (frame, change) in changes.sorted(by: { $0.key < $1.key }) {
      let last = overlays.last ?? (frame, 0, 0)
      overlays.append(
        (frame, last.total + last.perFrame * Double(frame - last.frame), max(0, last.perFrame + change)))
    }
    var total = 0.0
    for span in timeline.spans {
      let cost = try costs.frame(of: span)
      starts.append((span.frames.lowerBound, total))
      perFrame.append(cost)
      total += cost * Double(span.frames.count)
    }
  }

  /// The index of the span that contains a frame.
  func span(of frame: Int) -> Int {
    max(0, starts.partitionPoint { frame < $0.frame } - 1)
  }

  /// The cost of all frames before this one.
  func cost(before frame: Int) -> Double {
    let index = span(of: frame)
    let layers = starts[index].cost + perFrame[index] * Double(frame - starts[index].frame)
    let next = overlays.partitionPoint { frame < $0.frame }
    guard next > 0 else { return layers }
    let last = overlays[next - 1]
    return layers + last.total + last.perFrame * Double(frame - last.frame)
  }
}
