import CompositionModel

/// The places and sizes of overlays in pixels of the frame.
extension Lowering {
  /// The size of a shape in pixels of the frame.
  func shapeSize(_ size: OverlaySize, _ entry: OverlayEntry, _ frame: PixelSize) -> PixelSize {
    let whole = area(of: entry, frame)?.size ?? frame
    func within(_ side: Int) -> Int { min(max(1, side), PixelSize.largestSide) }
    return PixelSize(
      width: size.width.map { within(pixels($0, of: frame.width)) } ?? within(whole.width),
      height: size.height.map { within(pixels($0, of: frame.height)) } ?? within(whole.height))
  }

  /// The width and height of a picture in pixels of the frame.
  func sides(_ size: OverlaySize, own: PixelSize, _ frame: PixelSize?) -> (width: Int?, height: Int?) {
    let hasOwnSize = size.width == nil && size.height == nil && scale != .one
    let width = size.width.map { pixels($0, of: frame?.width) } ?? (hasOwnSize ? scaled(own.width) : nil)
    let height = size.height.map { pixels($0, of: frame?.height) }
    func within(_ side: Int) -> Int { min(max(1, side), PixelSize.largestSide) }
    return (width.map(within), height.map(within))
  }

  func placement(_ entry: OverlayEntry, _ frame: PixelSize?) -> OverlayPlacement {
    guard let area = area(of: entry, frame) else { return placement(entry.placement, frame) }
    switch placement(entry.placement, frame) {
    case .anchor(let anchor, let inset): return .within(area, anchor, x: inset, y: inset)
    case .anchorInsets(let anchor, let x, let y): return .within(area, anchor, x: x, y: y)
    case let other: return other
    }
  }

  /// The rectangle in which an overlay is anchored. Nil: the frame.
  private func area(of entry: OverlayEntry, _ frame: PixelSize?) -> PixelRect? {
    entry.written.in.map { area in
      PixelRect(
        x: pixels(area.x, of: frame?.width), y: pixels(area.y, of: frame?.height),
        size: PixelSize(
          width: max(1, pixels(area.width, of: frame?.width)), height: max(1, pixels(area.height, of: frame?.height))))
    }
  }

  private func placement(_ placement: WrittenPlacement, _ frame: PixelSize?) -> OverlayPlacement {
    switch placement {
    case .anchor(let anchor, .same(let inset)): .anchor(anchor, inset: pixels(inset, of: frame?.height))
    case .anchor(let anchor, .each(let x, let y)):
      .anchorInsets(anchor, x: pixels(x, of: frame?.width), y: pixels(y, of: frame?.height))
    case .point(let x, let y): .point(x: pixels(x, of: frame?.width), y: pixels(y, of: frame?.height))
    }
  }

  /// A length in pixels of the frame, of which a side is `side`.
  private func pixels(_ length: Document.FrameLength, of side: Int?) -> Int {
    switch length {
    case .pixels(let pixels): scaled(pixels)
    // The frame has the composition's scale already.
    case .percent(let percent): Int((percent * Double(side ?? 0) / 100).rounded(.toNearestOrAwayFromZero))
    }
  }

  func scaled(_ length: Int) -> Int {
    length.scaled(by: scale, .toNearestOrAwayFromZero)
  }
}
