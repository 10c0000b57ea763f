package import CompositionModel

extension PixelRect {
  package init(_ size: PixelSize) {
    self.init(x: 0, y: 0, size: size)
  }

  package init(x: Range<Int>, y: Range<Int>) {
    self.init(x: x.lowerBound, y: y.lowerBound, size: PixelSize(width: x.count, height: y.count))
  }

  package var columns: Range<Int> { x..<(x + size.width) }
  package var rows: Range<Int> { y..<(y + size.height) }
}

extension ChromaCell {
  /// The smallest rectangle of whole cells around one within the frame. If the frame's edge cuts a cell, it ends there.
  package func enclosing(_ rect: PixelRect, in frame: PixelSize) -> PixelRect {
    let right = (rect.columns.upperBound + width - 1) & ~(width - 1)
    let bottom = (rect.rows.upperBound + height - 1) & ~(height - 1)
    return PixelRect(
      x: (rect.x & ~(width - 1))..<min(right, frame.width), y: (rect.y & ~(height - 1))..<min(bottom, frame.height))
  }

  /// The smallest rectangle of whole cells around all pixels and chroma samples that a picture with coverage in a
  /// rectangle of the frame changes: a chroma sample that lies at a pixel also depends on the pixels next to it.
  package func reached(by rect: PixelRect, in frame: PixelSize) -> PixelRect {
    func grown(_ range: Range<Int>, _ side: Int, _ place: ChromaSite.Place, _ end: Int) -> Range<Int> {
      guard side > 1 else { return range }
      // Of a sample at its cell's last pixel the one behind the cell is a part too, which is zero there.
      return max(
        0, range.lowerBound - (place == .last ? 1 : 0))..<min(
          end, range.upperBound + (place == .middle ? 0 : 1))
    }
    return enclosing(
      PixelRect(
        x: grown(rect.columns, width, site.across, frame.width), y: grown(rect.rows, height, site.down, frame.height)),
      in: frame)
  }

  /// The chroma samples of a rectangle that starts on a cell.
  package func chroma(_ rect: PixelRect) -> PixelRect {
    PixelRect(
      x: rect.x >> horizontalShift, y: rect.y >> verticalShift,
      size: PixelSize(
        width: (rect.size.width + width - 1) >> horizontalShift,
        height: (rect.size.height + height - 1) >> verticalShift))
  }
}

/// How a source's picture is fitted into the frame: all of it is scaled to the size `scaled`, and the part `shown` of
/// the result is drawn at `target`.
///
/// The exact size is the presentation size times the fit's factor. Each side is rounded to the nearest whole number of
/// chroma cells (halves up, at least one), except that a side equal to the frame's stays so. A picture larger than the
/// frame is cut, and a smaller one leaves a border; both are centred, and the first column and row are rounded down to
/// a chroma cell. So a picture is at most one pixel from the centre, and the picture and its border share no chroma
/// sample. With the fit `none` nothing is scaled, and an odd last column or row is cut.
package struct Fitting: Sendable, Hashable {
  /// In pixels.
  package let scaled: PixelSize
  /// In pixels of `scaled`; the size is `target`'s.
  package let shown: PixelRect
  /// In pixels of the frame.
  package let target: PixelRect
  /// What the frame shows around `target`, which does not fill it: a copy that does, blurred.
  package let isOverBlur: Bool

  package init(_ presentation: PixelSize, fit: Fit, frame: PixelSize, cell: ChromaCell) {
    let whole = Fitting.scaledSize(presentation, fit: fit, frame: frame, cell: cell)
    let (left, targetX) = Fitting.centre(whole.width, in: frame.width, cell: cell.width)
    let (top, targetY) = Fitting.centre(whole.height, in: frame.height, cell: cell.height)
    scaled = whole
    target = PixelRect(x: targetX, y: targetY)
    shown = PixelRect(x: left, y: top, size: target.size)
    isOverBlur = fit == .blur && target != PixelRect(frame)
  }

  /// Whether the frame is covered from edge to edge.
  package func covers(_ frame: PixelSize) -> Bool { isOverBlur || target == PixelRect(frame) }

  private static func scaledSize(
    _ presentation: PixelSize, fit: Fit, frame: PixelSize, cell: ChromaCell
  ) -> PixelSize {
    let (width, height) = (max(1, presentation.width), max(1, presentation.height))
    // Whether the picture is wider in shape than the frame, so that the frame's width limits it.
    let isWider = width * frame.height >= height * frame.width
    switch fit {
    case .none: return PixelSize(width: width, height: height)
    case .fill: return frame
    case .contain where isWider, .blur where isWider, .cover where !isWider:
      return PixelSize(
        width: frame.width, height: rounded(height * frame.width, over: width, cell: cell.height, frame: frame.height))
    case .contain, .blur, .cover:
      return PixelSize(
        width: rounded(width * frame.height, over: height, cell: cell.width, frame: frame.width), height: frame.height)
    }
  }

  /// numerator / denominator to the nearest multiple of `cell`, or the frame's side if the quotient is exactly that.
  private static func rounded(_ numerator: Int, over denominator: Int, cell: Int, frame: Int) -> Int {
    if numerator == frame * denominator { return frame }
    let cells = (2 * numerator + cell * denominator) / (2 * cell * denominator)
    return max(1, cells) * cell
  }

  /// The first shown pixel of the picture, and the part of the frame that it covers, along one side.
  private static func centre(_ side: Int, in frame: Int, cell: Int) -> (from: Int, target: Range<Int>) {
    if side >= frame { return ((side - frame) / 2 & ~(cell - 1), 0..<frame) }
    let whole = max(min(cell, frame), side & ~(cell - 1))
    let start = (frame - whole) / 2 & ~(cell - 1)
    return (0, start..<(start + whole))
  }
}
