// Where overlays are in the frame.

extension OverlayPlacement {
  /// The top left corner, in pixels of the frame, of an overlay of this size. It may be outside the frame. Halves of a
  /// pixel are rounded to the left and up.
  package func origin(of size: PixelSize, in frame: PixelSize) -> (x: Int, y: Int) {
    switch self {
    case .point(let x, let y): return (x, y)
    case .anchor(let anchor, let inset):
      return Self.anchorInsets(anchor, x: inset, y: inset).origin(of: size, in: frame)
    case .within(let area, let anchor, let x, let y):
      let origin = Self.anchorInsets(anchor, x: x, y: y).origin(of: size, in: area.size)
      return (area.x + origin.x, area.y + origin.y)
    case .anchorInsets(let anchor, let x, let y):
      let (right, bottom) = (frame.width - size.width - x, frame.height - size.height - y)
      let (middle, centre) = ((frame.width - size.width) >> 1, (frame.height - size.height) >> 1)
      switch anchor {
      case .topLeft: return (x, y)
      case .top: return (middle, y)
      case .topRight: return (right, y)
      case .left: return (x, centre)
      case .center: return (middle, centre)
      case .right: return (right, centre)
      case .bottomLeft: return (x, bottom)
      case .bottom: return (middle, bottom)
      case .bottomRight: return (right, bottom)
      }
    }
  }

  /// The width at which a text is wrapped: its own, or else the width of the frame, or of the rectangle in which it is
  /// placed, less the insets on both sides, and from a point the distance to the frame's right edge; all without the
  /// text's box. At least 1.
  package func wrapWidth(of text: StyledText, in frame: PixelSize) -> Int {
    if let width = text.width { return width }
    let padding = text.box?.padding ?? 0
    switch self {
    case .point(let x, _): return max(1, max(1, frame.width - max(0, x)) - 2 * padding)
    case .within(let area, _, let inset, _): return max(1, max(1, area.size.width - 2 * inset) - 2 * padding)
    case .anchor(_, let inset), .anchorInsets(_, let inset, _):
      return max(1, max(1, frame.width - 2 * inset) - 2 * padding)
    }
  }
}

extension PixelSize {
  /// The size of a picture of this size as an overlay.
  package func overlaySize(width: Int?, height: Int?) -> PixelSize {
    let (ownWidth, ownHeight) = (max(1, self.width), max(1, self.height))
    func rounded(_ numerator: Int, _ denominator: Int) -> Int {
      max(1, (2 * numerator + denominator) / (2 * denominator))
    }
    return switch (width.map { max(1, $0) }, height.map { max(1, $0) }) {
    case (let width?, let height?): PixelSize(width: width, height: height)
    case (let width?, nil): PixelSize(width: width, height: rounded(width * ownHeight, ownWidth))
    case (nil, let height?): PixelSize(width: rounded(height * ownWidth, ownHeight), height: height)
    case (nil, nil): PixelSize(width: ownWidth, height: ownHeight)
    }
  }
}
