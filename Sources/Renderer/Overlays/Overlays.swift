import CompositionModel
import Media
import Segmenter

/// Overlays as blend pictures, placed in the composition's frame.
enum Overlays {
  /// An image at its placement, cut at the frame's edges and to what is not transparent; nil if nothing of that is in
  /// the frame.
  ///
  /// Its size in pixels of the frame is `width` by `height`. With one of them, the other follows the image's shape,
  /// rounded to the nearest pixel; with neither, it is the image's own, with pixel aspect and orientation applied.
  static func image(
    _ frame: Frame, of source: PlannedSource, _ fitter: SourceFitter, width: Int?, height: Int?,
    placement: OverlayPlacement, format: VideoTaskFormat
  ) throws(RenderError) -> BlendPicture? {
    let size = imageSize(source.video.presentationSize, width: width, height: height)
    guard size.width <= PixelSize.largestSide, size.height <= PixelSize.largestSide else {
      throw RenderError(
        .task,
        "an overlay of \(size.width)x\(size.height) pixels; each side must be within 1...\(PixelSize.largestSide)")
    }
    let origin = placement.origin(of: size, in: format.size)
    let placed = PixelRect(x: origin.x, y: origin.y, size: size)
    guard placed.intersection(PixelRect(format.size)) != nil else { return nil }
    let whole = try fitter.coloured(frame, size: size)
    // What is transparent throughout need not be drawn.
    guard let visible = whole.covered?.shifted(x: origin.x, y: origin.y).intersection(PixelRect(format.size)) else {
      return nil
    }
    let cell = format.cell
    let box = cell.reached(by: visible, in: format.size)
    let boxed = try whole.placed(
      visible.shifted(x: -origin.x, y: -origin.y), x: visible.x - box.x, y: visible.y - box.y, in: box.size)
    return try BlendPicture(boxed, rect: box, cell: cell, matrix: YCbCrMatrix(format))
  }

  /// The size of an image overlay, whose own size is `own`.
  static func imageSize(_ own: PixelSize, width: Int?, height: Int?) -> PixelSize {
    let (ownWidth, ownHeight) = (max(1, own.width), max(1, own.height))
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

  /// A text at its placement, cut at the frame's edges; nil if none of its ink is in the frame.
  ///
  /// The placement is that of the block of lines, or of its box, and not of the ink, so that two texts of one size have
  /// the same baseline whatever their letters. Glyphs, outlines and shadows may extend beyond the block.
  /// - Parameters:
  ///   - fonts: The fonts of this text.
  ///   - inputs: The fonts' files by digest.
  static func text(
    _ text: StyledText, fonts: TextFonts, inputs: [String: any ByteSource], placement: OverlayPlacement,
    format: VideoTaskFormat
  ) throws(RenderError) -> BlendPicture? {
    let (block, origin, _) = try block(text, fonts: fonts, inputs: inputs, placement: placement, format: format)
    guard let visible = block.extent.shifted(x: origin.x, y: origin.y).intersection(PixelRect(format.size)) else {
      return nil
    }
    let cell = format.cell
    let box = cell.reached(by: visible, in: format.size)
    let drawn = try block.draw(box.shifted(x: -origin.x, y: -origin.y))
    try ColourConversion.graphics(format)?.convert(drawn)
    return try BlendPicture(drawn, rect: box, cell: cell, matrix: YCbCrMatrix(format))
  }

  /// The lines of a text, the pixel of the frame at their top left, and the rectangle that is placed: that of the
  /// lines, or of the box around them.
  static func block(
    _ text: StyledText, fonts: TextFonts, inputs: [String: any ByteSource], placement: OverlayPlacement,
    format: VideoTaskFormat
  ) throws(RenderError) -> (block: TextBlock, origin: (x: Int, y: Int), outer: PixelRect) {
    let padding = text.box?.padding ?? 0
    let wrapWidth = text.width ?? max(1, placement.wrapWidth(in: format.size) - 2 * padding)
    let block = try TextBlock(text, fonts: fonts, inputs: inputs, wrapWidth: wrapWidth)
    let outer = PixelSize(width: block.size.width + 2 * padding, height: block.size.height + 2 * padding)
    let corner = placement.origin(of: outer, in: format.size)
    return (block, (corner.x + padding, corner.y + padding), PixelRect(x: corner.x, y: corner.y, size: outer))
  }
}

extension OverlayPlacement {
  /// The top left corner, in pixels of the frame, of an overlay of this size. It may be outside the frame. Halves of a
  /// pixel are rounded to the left and up.
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

  /// The width at which a text without a width of its own is wrapped: the frame's width less the insets on both sides;
  /// from a point, the distance to the frame's right edge. At least 1.
  fileprivate func wrapWidth(in frame: PixelSize) -> Int {
    switch self {
    case .point(let x, _): max(1, frame.width - max(0, x))
    case .anchor(_, let inset): max(1, frame.width - 2 * inset)
    }
  }
}
