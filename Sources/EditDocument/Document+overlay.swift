public import CompositionModel

extension Document {
  /// A picture, a video, a shape, a text or a waveform over the composited frame. It has one of `image`, `video`,
  /// `shape`, `text` and `waveform`, and the keys of that. What is nil has its default.
  public struct Overlay: Hashable, Sendable {
    /// An asset that is a still picture, or an animated one.
    public var image: AssetID?
    /// An asset that is a video.
    public var video: AssetID?
    public var shape: DrawnPicture.Shape?
    public var text: Text?
    public var waveform: Waveform?

    /// When it is shown. Nil: during the whole film; a video from 0 for as long as it plays.
    public var over: TimeRange?
    /// The edge, corner or centre of the frame where it is placed. Nil: the centre.
    public var anchor: Anchor?
    /// Between it and those edges. Nil: 0.
    public var inset: Inset?
    /// The rectangle of the frame in which it is anchored, in place of the whole frame. Nil: the frame.
    public var `in`: Area?
    /// In place of `anchor`: its left edge, from the frame's. Nil: 0 if there is a `y`.
    public var x: FrameLength?
    /// In place of `anchor`: its top edge, from the frame's. Nil: 0 if there is an `x`.
    public var y: FrameLength?
    /// By its parts.
    public var transform: Transform?
    /// Degrees clockwise about its centre, -36000 to 36000; a number is short for `transform` with `rotate` alone.
    public var rotate: Number?
    /// 0 to 1. Nil: 1.
    public var opacity: Number?
    public var blendMode: Blending?
    /// Applied before it is transformed; ramps are on the overlay's own time.
    public var filters: [Filter] = []
    /// On the overlay's own time. Those of a text have no crop.
    public var ramps: [LayerRamp] = []

    /// Of a video: the part that is shown, on its own timeline. Nil: all of it.
    public var use: TimeRange?
    /// Nil: an animated picture is repeated for as long as it is shown, and a video plays once.
    public var loop: Loop?
    /// Of a picture: nil follows from `height` and the picture's shape. Of a shape: nil is that of `in`, or the
    /// frame's. Of a text: whole pixels at which lines are wrapped; nil: the frame's width less the insets.
    public var width: FrameLength?
    /// Of a picture: nil follows from `width` and the picture's shape. Of a shape: nil is that of `in`, or the frame's.
    public var height: FrameLength?
    /// Of a picture or a shape: the part that is seen, which moves nothing. Nil: all of it.
    public var crop: Rectangle?
    /// Of a picture with transparency: how its colours are stored. Nil: straight.
    public var alpha: AlphaMode?

    // Of a shape:

    /// In place of `color`.
    public var gradient: Gradient?
    /// Of a rectangle: the radius of its round corners, in pixels. Nil: 0.
    public var cornerRadius: Double?
    /// Inside of its edge.
    public var border: LayerBorder?

    // Of a text:

    /// A font family, an asset that is a font, or a font's path. Nil: `sans-serif`.
    public var font: String?
    public var bold: Bool?
    public var italic: Bool?
    /// Pixels of the font's em square. Nil: an eighteenth of the frame's height.
    public var size: Double?
    /// Of a text or a waveform: nil is white. Of a shape: what it is filled with.
    public var color: Color?
    /// Nil: `center`.
    public var align: StyledText.Alignment?
    public var outline: TextOutline?
    public var shadow: TextShadow?
    public var box: TextBox?
    /// The distance of lines, as a multiple of the font's own. Nil: 1.
    public var lineSpacing: Double?
    /// Pixels between characters. Nil: 0.
    public var letterSpacing: Double?
    /// How a text that is written is seen, part by part. Nil: at once.
    public var reveal: Reveal?

    public init(image: AssetID) { self.image = image }
    public init(video: AssetID) { self.video = video }
    public init(shape: DrawnPicture.Shape) { self.shape = shape }
    public init(waveform: Waveform) { self.waveform = waveform }
    public init(text: String) { self.text = .text(text) }
    public init(text track: TrackText) { text = .track(track) }
    public init(text counting: CountingText) { text = .counting(counting) }

    init() {}

    public enum Text: Hashable, Sendable {
      case text(String)
      /// The values of a metadata track.
      case track(TrackText)
      /// A value of each frame.
      case counting(CountingText)
    }

    /// How a text is seen with time.
    public struct Reveal: Hashable, Sendable {
      /// On the overlay's own time: from the first part to the last.
      public var over: TimeRange
      public var by = RevealedText.Unit.character

      public init(over range: TimeRange, by unit: RevealedText.Unit = .character) { (over, by) = (range, unit) }
    }

    /// A number, or those of a metadata track.
    public enum Number: Hashable, Sendable {
      case constant(Double)
      case track(TrackID)

      var constant: Double? { if case .constant(let number) = self { number } else { nil } }
      var track: TrackID? { if case .track(let id) = self { id } else { nil } }
    }

    /// A rectangle of the frame.
    public struct Area: Hashable, Sendable {
      public var x: FrameLength
      public var y: FrameLength
      public var width: FrameLength
      public var height: FrameLength

      public init(x: FrameLength, y: FrameLength, width: FrameLength, height: FrameLength) {
        (self.x, self.y, self.width, self.height) = (x, y, width, height)
      }
    }

    public enum Inset: Hashable, Sendable {
      /// Per cent are of the frame's height.
      case same(FrameLength)
      /// From the left or the right edge, and from the top or the bottom edge.
      case each(x: FrameLength, y: FrameLength)
    }

    /// How often a video or an animated picture is played.
    public enum Loop: Hashable, Sendable {
      /// For as long as the overlay is shown.
      case forever
      case times(Int)

      var turns: Int? { if case .times(let count) = self { count } else { nil } }
    }
  }

  /// A length in whole pixels, or in hundredths of the frame's width or height.
  public enum FrameLength: Hashable, Sendable {
    case pixels(Int)
    case percent(Double)
  }

  /// The values of a metadata track as a text. What is nil has its default.
  public struct TrackText: Hashable, Sendable {
    public var track: TrackID
    /// How many decimals numbers are rounded to, 0 to 6. Nil: 0.
    public var decimals: Int?
    /// Nil: to the nearest.
    public var rounding: NumberRounding?
    /// Before the value.
    public var prefix: String?
    /// After the value.
    public var suffix: String?

    public init(_ track: TrackID) { self.track = track }
  }
}

extension Document.Overlay {
  var json: JSONValue {
    let isOf = [image != nil, video != nil, shape != nil, waveform != nil].firstIndex(of: true)
    let properties = isOf.map {
      [
        OverlayKeys.imageProperties, OverlayKeys.videoProperties, OverlayKeys.shapeProperties,
        OverlayKeys.waveformProperties,
      ][$0]
    }
    return .object(self, properties ?? OverlayKeys.textProperties)
  }
}

extension Document.FrameLength {
  var json: JSONValue {
    switch self {
    case .pixels(let pixels): .integer(pixels)
    case .percent(let percent): .percent(percent)
    }
  }
}

extension Document.Overlay.Area {
  var json: JSONValue { [x.json, y.json, width.json, height.json] }
}

extension Document.Overlay.Inset {
  var json: JSONValue {
    switch self {
    case .same(let length): length.json
    case .each(let x, let y): [x.json, y.json]
    }
  }
}

extension Document.Overlay.Loop {
  var json: JSONValue {
    switch self {
    case .forever: .boolean(true)
    case .times(let count): .integer(count)
    }
  }
}

extension Document.Overlay.Number {
  var json: JSONValue {
    switch self {
    case .constant(let number): .decimal(number)
    case .track(let id): ["track": .text(id)]
    }
  }
}

extension Document.Overlay.Text {
  var json: JSONValue {
    switch self {
    case .text(let text): .text(text)
    case .track(let track): track.json
    case .counting(let counting): counting.json
    }
  }
}
