public import CompositionModel

/// How the video tracks become one picture at each time: AVFoundation's `AVVideoComposition`.
///
/// Without `instructions` they are derived from the tracks: at each time the clips that play, the first track on top,
/// and `transitions` between tracks.
public struct VideoComposition: Sendable, Hashable {
  /// An sRGB colour with straight alpha.
  public typealias Color = CompositionModel.Color
  public typealias Filter = CompositionModel.Filter<RampList>
  public typealias ToneCurves = CompositionModel.ToneCurves
  public typealias Rectangle = CompositionModel.Rectangle
  /// A change of a fitted picture by its parts.
  public typealias Turn = TransformComponents
  public typealias Transform = LayerTransform
  public typealias Fit = CompositionModel.Fit
  public typealias BlendMode = CompositionModel.BlendMode
  public typealias Mask = LayerMask
  public typealias Compositor = CustomCompositor
  public typealias ToneMapping = CompositionModel.ToneMapping
  /// The primaries, the transfer function, the matrix and the range of the film, in libavutil's names. Where chroma
  /// samples lie is that of the first clip.
  public typealias ColorProperties = ColourTags

  /// The size of a frame. Nil: that of the largest clip.
  public var renderSize: PixelSize?
  /// Above 0 and at most 1: everything is made smaller, as for a proxy.
  public var renderScale: Double
  /// Seconds from one frame to the next. Nil: those of the highest rate among the clips, or 1/30.
  public var frameDuration: MediaTime?
  /// Behind every layer. Opaque.
  public var background: Color
  /// They tile the film: the first starts at 0 or before, each starts where the one before it ends, and the last ends
  /// at the film's end or after. Nil: derived.
  public var instructions: [Instruction]?
  /// The transitions between tracks, from which instructions are derived.
  public var transitions: [Transition]
  /// Drawn over the composited frame, the first on top.
  public var overlays: [Overlay]
  /// The filters of the composited frame before overlays are drawn, applied in order. Their ramps are on the
  /// composition's timeline.
  public var filters: [Filter]
  /// Nil: the colours of the first clip.
  public var colorProperties: ColorProperties?
  /// How clips of high dynamic range are brought into a film that cannot show them. Nil: as BT.2390.
  public var toneMapping: ToneMapping?

  public init(
    renderSize: PixelSize? = nil, renderScale: Double = 1, frameDuration: MediaTime? = nil,
    background: Color = .black, instructions: [Instruction]? = nil, transitions: [Transition] = [],
    overlays: [Overlay] = [], filters: [Filter] = [], colorProperties: ColorProperties? = nil,
    toneMapping: ToneMapping? = nil
  ) {
    self.renderSize = renderSize
    self.renderScale = renderScale
    self.frameDuration = frameDuration
    self.background = background
    self.instructions = instructions
    self.transitions = transitions
    self.overlays = overlays
    self.filters = filters
    self.colorProperties = colorProperties
    self.toneMapping = toneMapping
  }

  /// What is composited during a range: AVFoundation's `AVVideoCompositionInstruction`.
  public struct Instruction: Sendable, Hashable {
    public var timeRange: MediaTimeRange
    /// Nil: that of the video composition.
    public var background: Color?
    /// The first is on top. None: the background alone.
    public var layers: [LayerInstruction]
    /// Whether overlays are drawn: AVFoundation's `enablePostProcessing`.
    public var wantsOverlays: Bool
    /// Makes one picture of the layers. A worker's program has it.
    public var compositor: Compositor?
    /// The filters of the composited picture. Their ramps are on the composition's timeline.
    public var filters: [Filter]

    public init(
      timeRange: MediaTimeRange, layers: [LayerInstruction], background: Color? = nil, wantsOverlays: Bool = true,
      compositor: Compositor? = nil, filters: [Filter] = []
    ) {
      self.timeRange = timeRange
      self.layers = layers
      self.background = background
      self.wantsOverlays = wantsOverlays
      self.compositor = compositor
      self.filters = filters
    }
  }

  /// One track's pictures in an instruction: AVFoundation's `AVVideoCompositionLayerInstruction`. Ramps are on the
  /// composition's timeline; a value holds from its ramp to the next.
  public struct LayerInstruction: Sendable, Hashable {
    public var track: TrackID
    /// How the picture is fitted into its rectangle. A matrix takes the place of it.
    public var fit: Fit
    /// 0…1; 1 before the first ramp.
    public var opacity: RampList
    /// In square pixels of the upright picture. Nil: all of it.
    public var crop: ValueRampList<Rectangle>?
    /// The rectangle of the film that the picture is fitted into. Nil: the whole frame.
    public var frame: ValueRampList<Rectangle>?
    public var transform: Transform?
    /// Nil: drawn over what is below.
    public var blendMode: BlendMode?
    public var mask: Mask?
    /// What is drawn around the picture. Nil: nothing.
    public var decoration: LayerDecoration?
    /// The filters of the fitted picture, applied in order. Their ramps are on the composition's timeline.
    public var filters: [Filter]

    public init(track: TrackID, fit: Fit = .contain) {
      self.track = track
      self.fit = fit
      opacity = .one
      filters = []
    }

    /// Sets the opacity at a time, 0…1.
    public mutating func setOpacity(_ opacity: Double, at time: MediaTime = .zero) throws(TimeError) {
      try self.opacity.set(opacity, at: time)
    }

    /// Changes the opacity over a range.
    public mutating func setOpacityRamp(
      from start: Double, to end: Double, over range: MediaTimeRange, easing: Easing? = nil
    ) {
      opacity.addRamp(from: start, to: end, over: range, easing: easing)
    }

    /// Sets the crop at a time.
    public mutating func setCrop(_ rectangle: Rectangle, at time: MediaTime = .zero) throws(TimeError) {
      var list = crop ?? ValueRampList([])
      try list.set(rectangle, at: time)
      crop = list
    }

    /// Changes the crop over a range.
    public mutating func setCropRamp(
      from start: Rectangle, to end: Rectangle, over range: MediaTimeRange, easing: Easing? = nil
    ) {
      var list = crop ?? ValueRampList([])
      list.addRamp(from: start, to: end, over: range, easing: easing)
      crop = list
    }

    /// Sets the matrix at a time: from square pixels of the upright picture to pixels of the film. The numbers of
    /// matrices are interpolated one by one. Matrices take the place of a transform by parts.
    public mutating func setTransform(_ matrix: AffineMatrix, at time: MediaTime = .zero) throws(TimeError) {
      var list = matrices
      try list.set(matrix, at: time)
      transform = .matrix(list)
    }

    /// Changes the matrix over a range.
    public mutating func setTransformRamp(
      from start: AffineMatrix, to end: AffineMatrix, over range: MediaTimeRange, easing: Easing? = nil
    ) {
      var list = matrices
      list.addRamp(from: start, to: end, over: range, easing: easing)
      transform = .matrix(list)
    }

    private var matrices: ValueRampList<AffineMatrix> {
      if case .matrix(let list) = transform { list } else { ValueRampList([]) }
    }
  }

  /// A transition from one track to another, both of which play throughout it.
  public struct Transition: Sendable, Hashable {
    public var from: TrackID
    public var to: TrackID
    public var timeRange: MediaTimeRange
    public var style: TransitionStyle
    /// The still picture of a transition of the kind `luma`.
    public var matte: AssetID?

    public init(
      from: TrackID, to: TrackID, timeRange: MediaTimeRange, style: TransitionStyle = .dissolve, matte: AssetID? = nil
    ) {
      self.from = from
      self.to = to
      self.timeRange = timeRange
      self.style = style
      self.matte = matte
    }
  }
}
