public import CompositionModel

extension Document {
  /// How the video tracks are combined into one picture. What is nil has its default.
  public struct VideoComposition: Hashable, Sendable {
    /// The size of the film in pixels. Nil: that of the largest clip that is shown.
    public var renderSize: PixelSize?
    /// Above 0, at most 1, of at most six decimals: makes the frame smaller. Nil: 1.
    public var scale: Rational?
    /// Seconds from one frame to the next, 1/1000 to 60. Nil: those of `frameRate`, or of the clip with the highest
    /// rate.
    public var frameDuration: MediaTime?
    /// Frames a second, in place of `frameDuration`.
    public var frameRate: Rational?
    /// The colour behind all tracks; solid. Nil: black.
    public var background: Color?
    /// From one track to another.
    public var transitions: [Transition] = []
    /// In place of `transitions`. Nil: derived from the tracks.
    public var instructions: [Instruction]?
    /// Over everything; the first is on top.
    public var overlays: [Overlay] = []
    /// Of the composited picture without overlays; ramps are on the film's timeline.
    public var filters: [Filter] = []
    /// The film's primaries, transfer function, matrix and range, by libavutil's names. Nil: the first clip's.
    public var color: ColourTags?
    /// How HDR is brought into a film that cannot show it. Nil: as BT.2390.
    public var toneMapping: ToneMapping?

    public init() {}
  }

  /// An explicit instruction.
  public struct Instruction: Hashable, Sendable {
    public var over: TimeRange
    /// Nil: that of the video composition.
    public var background: Color?
    /// The first is on top. None: the background alone.
    public var layers: [Layer]
    /// In place of `layers`: shows this track alone, which plays throughout.
    public var passthrough: TrackID?
    /// Makes one picture of the layers.
    public var compositor: Compositor?
    /// Of the composited picture; ramps are on the film's timeline.
    public var filters: [Filter] = []
    /// Whether overlays are drawn. Nil: they are.
    public var wantsOverlays: Bool?

    public init(over: TimeRange, layers: [Layer] = []) {
      self.over = over
      self.layers = layers
    }
  }

  /// A layer of an explicit instruction. What is nil has its default; times are on the film's timeline.
  public struct Layer: Hashable, Sendable {
    /// A video track, once in an instruction.
    public var track: TrackID
    /// Nil: the clip's.
    public var fit: Fit?
    public var crop: Rectangle?
    public var frame: Rectangle?
    public var transform: Transform?
    /// 0 to 1. Nil: 1.
    public var opacity: Double?
    public var blendMode: Blending?
    public var mask: Mask?
    /// Pixels, 0 to 4096. Nil: 0.
    public var cornerRadius: Double?
    public var border: LayerBorder?
    public var shadow: TextShadow?
    public var ramps: [LayerRamp] = []
    /// In place of the clip's. Nil: the clip's.
    public var filters: [Filter]?
    @Incidental var pointer = JSONPointer.root

    public init(_ track: TrackID) { self.track = track }
  }

  /// A compositor of your own that makes one picture of an instruction's layers.
  public struct Compositor: Hashable, Sendable {
    /// 1 to 40 ASCII letters, digits and `-`, `_`, `.`.
    public var name: String
    /// The text of a JSON object, which the compositor is given. Nil: `{}`.
    public var parameters: String?
    /// The metadata tracks whose values the compositor is given.
    public var metadata: [TrackID] = []

    public init(_ name: String, parameters: String? = nil) {
      self.name = name
      self.parameters = parameters
    }
  }
}

extension Document.Compositor {
  /// With every default filled in.
  package var compositor: CustomCompositor {
    CustomCompositor(name: name, parameters: parameters ?? "{}", metadata: metadata.isEmpty ? nil : metadata)
  }
}
