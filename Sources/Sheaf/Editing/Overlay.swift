public import CompositionModel
import EditDocument

extension VideoComposition {
  /// A picture, a video, a shape or a text that is drawn over the composited frame: what AVFoundation's
  /// `AVVideoCompositionCoreAnimationTool` is used for. Its ramps count from its own start.
  public struct Overlay: Sendable, Hashable {
    /// A length in pixels of the frame, or in hundredths of its width or height.
    public enum Length: Sendable, Hashable {
      case pixels(Int)
      case percent(Double)
    }

    public enum Content: Sendable, Hashable {
      /// A picture, or an animated one that plays again and again. If one of width and height is nil, it follows from
      /// the other; if both are, the picture has its own size.
      case image(AssetID, width: Length? = nil, height: Length? = nil)
      /// A video that plays `loop` times, nil for as long as it is shown. `use` is the part that plays; nil: all of it.
      case video(AssetID, use: MediaTimeRange? = nil, width: Length? = nil, height: Length? = nil, loop: Int? = 1)
      /// A shape, of which nil is the frame's width or height. It has no size of its own.
      case shape(Edit.Picture, width: Length? = nil, height: Length? = nil)
      case text(StyledText)
      /// The values of a metadata track in the style of a text, whose own `text` is empty. Numbers are rounded to
      /// `decimals` of them, at most 6. Where the track has no value nothing is drawn.
      case metadata(
        TrackID, StyledText, decimals: Int = 0, rounding: NumberRounding = .nearest, prefix: String = "",
        suffix: String = "")
      /// A value of each frame, such as a timecode or a counter, in the style of a text, whose own `text` is empty.
      case counting(Count, StyledText)
      /// A picture of sound that moves with it, of which nil is white, the frame's width and a quarter of its height.
      case waveform(Waveform, color: VideoComposition.Color? = nil, width: Length? = nil, height: Length? = nil)
    }

    /// A rectangle of the frame.
    public struct Area: Sendable, Hashable {
      public var x: Length
      public var y: Length
      public var width: Length
      public var height: Length

      public init(x: Length, y: Length, width: Length, height: Length) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
      }
    }

    public enum Place: Sendable, Hashable {
      /// At an edge, in a corner or in the centre, `inset` away from those edges.
      case anchor(Anchor, inset: Length = .pixels(0))
      /// The same, `x` away from the left or the right edge, and `y` from the top or the bottom edge.
      case anchorInsets(Anchor, x: Length, y: Length)
      /// With its top left corner at a point.
      case point(x: Length, y: Length)
    }

    /// A text whose value is that of each frame.
    public typealias Count = Document.CountingText
    /// The sound that is shown, and how.
    public typealias Waveform = Document.Waveform
    public typealias Anchor = CompositionModel.Anchor
    /// How numbers of a metadata track are rounded.
    public typealias NumberRounding = CompositionModel.NumberRounding
    /// How the colours of a picture with alpha are stored.
    public typealias AlphaMode = CompositionModel.AlphaMode

    public var content: Content
    /// On the composition's timeline. Nil: the whole film.
    public var timeRange: MediaTimeRange?
    public var place: Place
    /// The rectangle of the frame in which the anchor of `place` counts. Nil: the frame.
    public var area: Area?
    /// 0…1. It is multiplied by the value of `opacityRamps`.
    public var opacity: Double
    public var opacityRamps: RampList
    /// The metadata track whose numbers, 0…1, are the opacity, in place of `opacity` and its ramps. Where it has no
    /// value nothing is drawn. Nil: none.
    public var opacityTrack: TrackID?
    /// The metadata track whose numbers are degrees clockwise about the overlay's centre, in place of `transform`.
    /// Where it has no value the last one stays. Nil: none.
    public var rotationTrack: TrackID?
    /// In square pixels of the upright picture.
    public var crop: ValueRampList<Rectangle>?
    /// By its parts, about the overlay's own place.
    public var transform: ValueRampList<Turn>?
    public var filters: [Filter]
    /// Nil: straight.
    public var alpha: AlphaMode?
    /// Nil: drawn over what is below.
    public var blendMode: BlendMode?

    public init(
      _ content: Content, timeRange: MediaTimeRange? = nil, place: Place = .anchor(.center), opacity: Double = 1
    ) {
      self.content = content
      self.timeRange = timeRange
      self.place = place
      self.opacity = opacity
      opacityRamps = .one
      filters = []
    }
  }
}
