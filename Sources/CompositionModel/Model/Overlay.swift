/// A still picture or a text that is drawn over the composited frame.
public struct Overlay: Sendable, Hashable, Codable {
  public var content: OverlayContent
  /// On the composition's timeline.
  public var over: MediaTimeRange
  public var placement: OverlayPlacement
  /// 0…1. It is multiplied by the value of `ramps`, which are on the composition's timeline.
  public var opacity: Double
  public var ramps: RampList

  public init(
    content: OverlayContent, over: MediaTimeRange, placement: OverlayPlacement, opacity: Double = 1,
    ramps: RampList = .one
  ) {
    self.content = content
    self.over = over
    self.placement = placement
    self.opacity = opacity
    self.ramps = ramps
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
