import CompositionModel

/// How a source's picture is laid into the frame: all of it is scaled to `scaled`, and `shown`, a part of that, is put
/// at `target`.
///
/// The rule (FEATURES X4). The exact size is the presentation size times the fit's factor. Each of its sides is rounded to
/// the nearest whole number of chroma cells (halves up, at least one), except that a side which meets the frame's exactly
/// is the frame's. What is larger than the frame is cut, what is smaller is set in; both are centred, and the first
/// column and row are rounded down to a chroma cell. So a picture is at most one pixel from the centre, and no chroma
/// sample is shared by the picture and what is beside it. At its own size (`none`) nothing is scaled: an odd last column
/// or row is cut instead.
struct Fitting: Sendable, Hashable {
  /// In pixels.
  let scaled: PixelSize
  /// In pixels of `scaled`; the size is `target`'s.
  let shown: PixelRect
  /// In pixels of the frame.
  let target: PixelRect

  init(_ presentation: PixelSize, fit: Fit, frame: PixelSize, cell: ChromaCell) {
    let whole = Fitting.scaledSize(presentation, fit: fit, frame: frame, cell: cell)
    let (left, targetX) = Fitting.centre(whole.width, in: frame.width, cell: cell.width)
    let (top, targetY) = Fitting.centre(whole.height, in: frame.height, cell: cell.height)
    scaled = whole
    target = PixelRect(x: targetX, y: targetY)
    shown = PixelRect(x: left, y: top, size: target.size)
  }

  /// Whether the frame is covered from edge to edge.
  func covers(_ frame: PixelSize) -> Bool { target == PixelRect(frame) }

  private static func scaledSize(
    _ presentation: PixelSize, fit: Fit, frame: PixelSize, cell: ChromaCell
  ) -> PixelSize {
    let (width, height) = (max(1, presentation.width), max(1, presentation.height))
    // Whether the picture is wider in shape than the frame, so that the frame's width is what limits it.
    let isWider = width * frame.height >= height * frame.width
    switch fit {
    case .none: return PixelSize(width: width, height: height)
    case .fill: return frame
    case .contain where isWider, .cover where !isWider:
      return PixelSize(
        width: frame.width, height: rounded(height * frame.width, over: width, cell: cell.height, frame: frame.height))
    case .contain, .cover:
      return PixelSize(
        width: rounded(width * frame.height, over: height, cell: cell.width, frame: frame.width), height: frame.height)
    }
  }

  /// numerator / denominator to the nearest multiple of `cell`, or the frame's own side where it is just that.
  private static func rounded(_ numerator: Int, over denominator: Int, cell: Int, frame: Int) -> Int {
    if numerator == frame * denominator { return frame }
    let cells = (2 * numerator + cell * denominator) / (2 * cell * denominator)
    return max(1, cells) * cell
  }

  /// Where to start in the picture, and which part of the frame it takes, along one side.
  private static func centre(_ side: Int, in frame: Int, cell: Int) -> (from: Int, target: Range<Int>) {
    if side >= frame { return ((side - frame) / 2 & ~(cell - 1), 0..<frame) }
    let whole = max(min(cell, frame), side & ~(cell - 1))
    let start = (frame - whole) / 2 & ~(cell - 1)
    return (0, start..<(start + whole))
  }
}
