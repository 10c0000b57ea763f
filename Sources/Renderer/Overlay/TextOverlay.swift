import CompositionModel
import Segmenter

enum TextOverlay {
  /// A text where its placement puts it, cut at the frame's edges; nil where none of its ink is in the frame.
  ///
  /// The placement is of the block of lines, not of the ink: glyphs may reach out of it, and two texts of one size stand
  /// on the same line whatever their letters.
  static func picture(
    _ text: StyledText, placement: OverlayPlacement, format: VideoTaskFormat
  ) throws(RenderError) -> BlendPicture? {
    let block = try TextBlock(text, wrapWidth: text.width ?? placement.wrapWidth(in: format.size))
    let origin = placement.origin(of: block.size, in: format.size)
    guard let visible = block.ink.shifted(x: origin.x, y: origin.y).intersection(PixelRect(format.size)) else {
      return nil
    }
    let cell = ChromaCell(format.pixelFormat)
    let box = cell.enclosing(visible, in: format.size)
    let drawn = try block.draw(box.shifted(x: -origin.x, y: -origin.y))
    return try BlendPicture(drawn, rect: box, cell: cell, matrix: YCbCrMatrix(format))
  }
}
