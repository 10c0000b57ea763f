/// How the video tracks are composited into one picture at each time: AVFoundation's `AVVideoComposition`.
public struct VideoComposition: Sendable, Hashable, Codable {
  /// The size of a frame.
  public var renderSize: PixelSize
  /// Seconds from one output frame to the next. Positive.
  public var frameDuration: MediaTime
  /// They tile [0, composition duration): each starts where the one before it ends.
  public var instructions: [Instruction]
  /// Drawn over the composited frame, the first on top.
  public var overlays: [Overlay]
  /// The filters of the composited frame before overlays are drawn, applied in order. Their ramps are on the
  /// composition's timeline. Nil: none.
  public var filters: [Filter<RampList>]?
  /// How clips of high dynamic range are brought into a film that cannot show them as they are. Nil: as BT.2390.
  public var toneMapping: ToneMapping?

  public init(
    renderSize: PixelSize, frameDuration: MediaTime, instructions: [Instruction], overlays: [Overlay] = [],
    filters: [Filter<RampList>]? = nil, toneMapping: ToneMapping? = nil
  ) {
    self.filters = filters
    self.toneMapping = toneMapping
    self.renderSize = renderSize
    self.frameDuration = frameDuration
    self.instructions = instructions
    self.overlays = overlays
  }
}

/// What is composited during a range of time: AVFoundation's `AVVideoCompositionInstruction`.
public struct Instruction: Sendable, Hashable, Codable {
  public var over: MediaTimeRange
  /// Drawn behind every layer.
  public var background: Color
  /// The first is on top.
  public var layers: [Layer]
  /// Whether overlays are drawn.
  public var wantsOverlays: Bool
  /// The filters of the composited layers, applied in order, before those of the whole film. Their ramps are on the
  /// composition's timeline. Nil: none.
  public var filters: [Filter<RampList>]?

  public init(
    over: MediaTimeRange, background: Color, layers: [Layer], wantsOverlays: Bool = true,
    filters: [Filter<RampList>]? = nil
  ) {
    self.filters = filters
    self.over = over
    self.background = background
    self.layers = layers
    self.wantsOverlays = wantsOverlays
  }
}

/// One layer of an instruction.
public enum Layer: Sendable, Hashable, Codable {
  case track(TrackLayer)
  case transition(TransitionLayer)
  case compositor(CompositorLayer)

  /// The tracks that it shows.
  package var tracks: [TrackLayer] {
    switch self {
    case .track(let layer): [layer]
    case .transition(let transition): [transition.from, transition.to]
    case .compositor(let layer): layer.sources
    }
  }
}

/// A transition from the pictures of one track to those of another.
public struct TransitionLayer: Sendable, Hashable, Codable {
  public var from: TrackLayer
  public var to: TrackLayer
  /// The position in the transition's time, 0…1, on the composition's timeline.
  public var progress: Ramp
  public var style: TransitionStyle
  /// The still picture of a transition of the kind `luma`. Nil for every other kind.
  public var matte: AssetID?

  public init(
    from: TrackLayer, to: TrackLayer, progress: Ramp, style: TransitionStyle = .dissolve, matte: AssetID? = nil
  ) {
    self.from = from
    self.to = to
    self.progress = progress
    self.style = style
    self.matte = matte
  }
}

/// A track's pictures in an instruction: AVFoundation's `AVVideoCompositionLayerInstruction`. An instruction that a
/// document is lowered to never spans two clips of a track that it shows.
public struct TrackLayer: Sendable, Hashable, Codable {
  public var track: TrackID
  public var fit: Fit
  public var opacity: RampList
  /// The filters of the fitted picture, applied in order. Their ramps are on the composition's timeline. Nil: none.
  public var filters: [Filter<RampList>]?
  /// Where the picture is drawn, on the composition's timeline. Nil: fitted into the whole frame.
  public var geometry: LayerGeometry?
  /// Nil: drawn over what is below.
  public var blendMode: BlendMode?
  public var mask: LayerMask?
  /// Nil: nothing is drawn around the picture.
  public var decoration: LayerDecoration?

  public init(
    track: TrackID, fit: Fit = .contain, opacity: RampList = .one, geometry: LayerGeometry? = nil,
    blendMode: BlendMode? = nil, mask: LayerMask? = nil
  ) {
    self.track = track
    self.fit = fit
    self.opacity = opacity
    self.geometry = geometry
    self.blendMode = blendMode
    self.mask = mask
  }
}

/// How a picture is fitted, centred, into a frame of another size. The raw value is the name in documents.
public enum Fit: String, Sendable, Hashable, Codable, CaseIterable {
  /// As large as possible with all of the picture visible.
  case contain
  /// As small as possible with all of the frame filled. The rest of the picture is cut off.
  case cover
  /// Stretched to the size of the frame.
  case fill
  /// At its own size.
  case none
  /// As `contain`, over a blurred copy of itself that fills the frame.
  case blur
}

/// A picture, a video or a text that is drawn over the composited frame.
public struct Overlay: Sendable, Hashable, Codable {
  public var content: OverlayContent
  /// On the composition's timeline.
  public var over: MediaTimeRange
  public var placement: OverlayPlacement
  /// 0…1. It is multiplied by the value of `ramps`, which are on the composition's timeline.
  public var opacity: Double
  public var ramps: RampList
  /// A crop, in square pixels of the upright picture, which cuts it without moving it, and a transform of the overlay
  /// in its place, by its parts. On the composition's timeline. Nil: neither.
  public var geometry: LayerGeometry?
  /// Before the transform, on the composition's timeline. Nil: none.
  public var filters: [Filter<RampList>]?
  /// How the colours of a picture or a video with alpha are stored. Nil: straight.
  public var alpha: AlphaMode?
  /// Nil: drawn over what is below.
  public var blendMode: BlendMode?

  public init(
    content: OverlayContent, over: MediaTimeRange, placement: OverlayPlacement, opacity: Double = 1,
    ramps: RampList = .one, blendMode: BlendMode? = nil
  ) {
    self.content = content
    self.over = over
    self.placement = placement
    self.opacity = opacity
    self.ramps = ramps
    self.blendMode = blendMode
  }
}

/// What an overlay shows.
public enum OverlayContent: Sendable, Hashable, Codable {
  /// Width and height are in pixels of the frame. If one is nil, it follows from the other and the picture's shape. If
  /// both are nil, the picture has its own size.
  case image(asset: AssetID, width: Int?, height: Int?)
  case video(OverlayVideo)
  case text(StyledText)
  case waveform(Waveform)
}

/// A video or an animated picture as an overlay. It starts with the overlay. When it has played as often as it is to,
/// its last frame stays.
public struct OverlayVideo: Sendable, Hashable, Codable {
  public var asset: AssetID
  /// The stream's index in the file.
  public var sourceTrack: Int
  /// What is played, on the asset's timeline. Not empty.
  public var source: MediaTimeRange
  /// How often it is played; above 0. Nil: again and again for as long as the overlay is shown.
  public var turns: Int?
  /// In pixels of the frame. If one of width and height is nil, it follows from the other and the picture's shape. If
  /// both are nil, the picture has its own size.
  public var width: Int?
  public var height: Int?

  public init(
    asset: AssetID, sourceTrack: Int, source: MediaTimeRange, turns: Int? = 1, width: Int? = nil, height: Int? = nil
  ) {
    self.asset = asset
    self.sourceTrack = sourceTrack
    self.source = source
    self.turns = turns
    self.width = width
    self.height = height
  }
}

/// The place of an overlay, in pixels of the frame.
public enum OverlayPlacement: Sendable, Hashable, Codable {
  /// At an edge, in a corner or in the centre, `inset` pixels away from those edges.
  case anchor(Anchor, inset: Int)
  /// The same, `x` pixels away from the left or the right edge, and `y` from the top or the bottom edge.
  case anchorInsets(Anchor, x: Int, y: Int)
  /// The same within a rectangle of the frame, which may go beyond it.
  case within(PixelRect, Anchor, x: Int, y: Int)
  /// With its top left corner at a point.
  case point(x: Int, y: Int)
}

/// An edge, a corner or the centre of the frame. The raw value is the name in documents.
public enum Anchor: String, Sendable, Hashable, Codable, CaseIterable {
  case topLeft = "top-left"
  case top
  case topRight = "top-right"
  case left, center, right
  case bottomLeft = "bottom-left"
  case bottom
  case bottomRight = "bottom-right"
}
