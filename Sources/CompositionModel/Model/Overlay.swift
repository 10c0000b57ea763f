/// A picture or a text over the composited frame (FEATURES F44).
public struct Overlay: Sendable, Hashable, Codable {
  public var content: OverlayContent
  /// On composition time.
  public var over: MediaTimeRange
  public var placement: OverlayPlacement
  /// Product of the overlay's own opacity, 0…1, and its ramps, which are on composition time here.
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

public enum OverlayContent: Sendable, Hashable, Codable {
  /// Size in pixels of the frame: as given; of one alone, the other follows the picture's shape; of none, its own.
  case image(asset: AssetID, width: Int?, height: Int?)
  case text(StyledText)
}

/// Where an overlay stands, in pixels of the frame.
public enum OverlayPlacement: Sendable, Hashable, Codable {
  /// At an edge, a corner or the centre, `inset` pixels from the edges it touches.
  case anchor(Anchor, inset: Int)
  /// Its top left corner at a point.
  case point(x: Int, y: Int)
}

public enum Anchor: String, Sendable, Hashable, Codable, CaseIterable {
  case topLeft = "top-left"
  case top
  case topRight = "top-right"
  case left, center, right
  case bottomLeft = "bottom-left"
  case bottom
  case bottomRight = "bottom-right"
}

/// A text and how it looks (FEATURES X5).
public struct StyledText: Sendable, Hashable, Codable {
  public var text: String
  /// A font family known to fontconfig.
  public var font: String
  public var isBold: Bool
  public var isItalic: Bool
  /// Height of the font's em square in pixels of the frame.
  public var size: Double
  public var color: Color
  public var alignment: Alignment
  /// Lines are wrapped at this width in pixels; nil wraps at the frame's width less the insets.
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
