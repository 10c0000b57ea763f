import CompositionModel

extension OverlayPlacement {
  /// The top left corner of something of this size, in pixels of the frame. It may lie outside. Halves of a pixel go to
  /// the left and up.
  func origin(of size: PixelSize, in frame: PixelSize) -> (x: Int, y: Int) {
    switch self {
    case .point(let x, let y): return (x, y)
    case .anchor(let anchor, let inset):
      let (right, bottom) = (frame.width - size.width - inset, frame.height - size.height - inset)
      let (middle, centre) = ((frame.width - size.width) >> 1, (frame.height - size.height) >> 1)
      switch anchor {
      case .topLeft: return (inset, inset)
      case .top: return (middle, inset)
      case .topRight: return (right, inset)
      case .left: return (inset, centre)
      case .center: return (middle, centre)
      case .right: return (right, centre)
      case .bottomLeft: return (inset, bottom)
      case .bottom: return (middle, bottom)
      case .bottomRight: return (right, bottom)
      }
    }
  }

  /// Where a text without a width of its own is wrapped: the frame's width less the insets on both sides; from a point,
  /// what is left of the frame to its right. At least 1.
  func wrapWidth(in frame: PixelSize) -> Int {
    switch self {
    case .point(let x, _): max(1, frame.width - max(0, x))
    case .anchor(_, let inset): max(1, frame.width - 2 * inset)
    }
  }
}
