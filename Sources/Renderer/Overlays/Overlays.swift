import CompositionModel
import Media
import RenderTasks

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
    let size = source.video.presentationSize.overlaySize(width: width, height: height)
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

  /// A text at its placement, cut at the frame's edges; nil if none of its ink is in the frame.
  ///
  /// The placement is that of the block of lines, or of its box, and not of the ink, so that two texts of one size have
  /// the same baseline whatever their letters. Glyphs, outlines and shadows may extend beyond the block.
  /// - Parameter fonts: Those of this text, or of one that has its characters.
  static func text(
    _ text: StyledText, fonts: FontSet, placement: OverlayPlacement, format: VideoTaskFormat
  ) throws(RenderError) -> BlendPicture? {
    let (block, origin, _) = try block(text, fonts: fonts, placement: placement, format: format)
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
    _ text: StyledText, fonts: FontSet, placement: OverlayPlacement, format: VideoTaskFormat
  ) throws(RenderError) -> (block: TextBlock, origin: (x: Int, y: Int), outer: PixelRect) {
    let padding = text.box?.padding ?? 0
    let wrapWidth = placement.wrapWidth(of: text, in: format.size)
    let block = try TextBlock(text, fonts: fonts, wrapWidth: wrapWidth)
    let outer = PixelSize(width: block.size.width + 2 * padding, height: block.size.height + 2 * padding)
    let corner = placement.origin(of: outer, in: format.size)
    return (block, (corner.x + padding, corner.y + padding), PixelRect(x: corner.x, y: corner.y, size: outer))
  }
}
