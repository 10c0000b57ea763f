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

  public init(
    renderSize: PixelSize, frameDuration: MediaTime, instructions: [Instruction], overlays: [Overlay] = []
  ) {
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

  public init(over: MediaTimeRange, background: Color, layers: [Layer], wantsOverlays: Bool = true) {
    self.over = over
    self.background = background
    self.layers = layers
    self.wantsOverlays = wantsOverlays
  }
}

/// One layer of an instruction.
public enum Layer: Sendable, Hashable, Codable {
  case track(TrackLayer)
  /// The mix (1-p)A + pB of two tracks' pictures. `progress` is p, 0…1, on the composition's timeline.
  case dissolve(from: TrackLayer, to: TrackLayer, progress: Ramp)
}

/// A track's pictures in an instruction: AVFoundation's `AVVideoCompositionLayerInstruction`. An instruction that a
/// document is lowered to never spans two clips of a track that it shows.
public struct TrackLayer: Sendable, Hashable, Codable {
  public var track: TrackID
  public var fit: Fit
  public var opacity: RampList
  /// Where the picture is drawn, on the composition's timeline. Nil: fitted into the whole frame.
  public var geometry: LayerGeometry?
  /// Nil: drawn over what is below.
  public var blendMode: BlendMode?
  public var mask: LayerMask?

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
}

/// An sRGB colour with straight alpha. Each component is 0…255.
public struct Color: Sendable, Hashable, Codable {
  public var red: UInt8
  public var green: UInt8
  public var blue: UInt8
  public var alpha: UInt8

  public init(red: UInt8, green: UInt8, blue: UInt8, alpha: UInt8 = 255) {
    self.red = red
    self.green = green
    self.blue = blue
    self.alpha = alpha
  }

  public static let black = Color(red: 0, green: 0, blue: 0)
  public static let white = Color(red: 255, green: 255, blue: 255)
}

/// A still picture or a text that is drawn over the composited frame.
public struct Overlay: Sendable, Hashable, Codable {
  public var content: OverlayContent
  /// On the composition's timeline.
  public var over: MediaTimeRange
  public var placement: OverlayPlacement
  /// 0…1. It is multiplied by the value of `ramps`, which are on the composition's timeline.
  public var opacity: Double
  public var ramps: RampList
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
  case text(StyledText)
}

/// The place of an overlay, in pixels of the frame.
public enum OverlayPlacement: Sendable, Hashable, Codable {
  /// At an edge, in a corner or in the centre, `inset` pixels away from those edges.
  case anchor(Anchor, inset: Int)
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

/// A text and its style.
public struct StyledText: Sendable, Hashable, Codable {
  public var text: String
  /// A font family, found by fontconfig.
  public var font: String
  public var isBold: Bool
  public var isItalic: Bool
  /// The height of the font's em square in pixels of the frame.
  public var size: Double
  public var color: Color
  public var alignment: Alignment
  /// The width in pixels at which lines are wrapped. Nil: the frame's width less the insets.
  public var width: Int?

  public enum Alignment: String, Sendable, Hashable, Codable, CaseIterable {
    case left, center, right
  }

  public init(
    text: String, font: String = "sans-serif", isBold: Bool = false, isItalic: Bool = false, size: Double,
    color: Color = .white, alignment: Alignment = .center, width: Int? = nil
  ) {
    self.text = text
    self.font = font
    self.isBold = isBold
    self.isItalic = isItalic
    self.size = size
    self.color = color
    self.alignment = alignment
    self.width = width
  }
}

/// What decides the fonts of a text: its characters, and the family and style that it asks for.
public struct FontRequest: Sendable, Hashable, Codable {
  public var text: String
  /// A font family, found by fontconfig.
  public var font: String
  public var isBold: Bool
  public var isItalic: Bool

  public init(text: String, font: String, isBold: Bool, isItalic: Bool) {
    self.text = text
    self.font = font
    self.isBold = isBold
    self.isItalic = isItalic
  }
}

extension StyledText {
  public var fontRequest: FontRequest {
    FontRequest(text: text, font: font, isBold: isBold, isItalic: isItalic)
  }
}
