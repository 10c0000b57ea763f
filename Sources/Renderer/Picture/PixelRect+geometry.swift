import CompositionModel

extension PixelRect {
  init(_ size: PixelSize) {
    self.init(x: 0, y: 0, size: size)
  }

  init(x: Range<Int>, y: Range<Int>) {
    self.init(x: x.lowerBound, y: y.lowerBound, size: PixelSize(width: x.count, height: y.count))
  }

  var columns: Range<Int> { x..<(x + size.width) }
  var rows: Range<Int> { y..<(y + size.height) }
  var isEmpty: Bool { size.width <= 0 || size.height <= 0 }

  /// The pixels in both; nil where there are none.
  func intersection(_ other: PixelRect) -> PixelRect? {
    guard !isEmpty, !other.isEmpty else { return nil }
    let shared = PixelRect(x: columns.clamped(to: other.columns), y: rows.clamped(to: other.rows))
    return shared.isEmpty ? nil : shared
  }

  /// What of this rectangle is not in another: at most four rectangles that don't meet, above, left, right and below.
  func subtracting(_ other: PixelRect) -> [PixelRect] {
    guard let shared = intersection(other) else { return isEmpty ? [] : [self] }
    return [
      PixelRect(x: columns, y: rows.lowerBound..<shared.rows.lowerBound),
      PixelRect(x: columns.lowerBound..<shared.columns.lowerBound, y: shared.rows),
      PixelRect(x: shared.columns.upperBound..<columns.upperBound, y: shared.rows),
      PixelRect(x: columns, y: shared.rows.upperBound..<rows.upperBound),
    ].filter { !$0.isEmpty }
  }

  func shifted(x dx: Int, y dy: Int) -> PixelRect {
    PixelRect(x: x + dx, y: y + dy, size: size)
  }

  func contains(_ other: PixelRect) -> Bool {
    columns.lowerBound <= other.columns.lowerBound && columns.upperBound >= other.columns.upperBound
      && rows.lowerBound <= other.rows.lowerBound && rows.upperBound >= other.rows.upperBound
  }
}

/// The block of luma samples that share one chroma sample; 1 by 1 without subsampling.
struct ChromaCell: Sendable, Hashable {
  let horizontalShift: Int
  let verticalShift: Int

  init(_ format: PixelFormat) {
    (horizontalShift, verticalShift) = format.chromaShift
  }

  var width: Int { 1 << horizontalShift }
  var height: Int { 1 << verticalShift }

  /// The smallest rectangle of whole cells around one within the frame; it ends at the frame's edge, where that cuts a
  /// cell.
  func enclosing(_ rect: PixelRect, in frame: PixelSize) -> PixelRect {
    let right = rect.columns.upperBound + width - 1 & ~(width - 1)
    let bottom = rect.rows.upperBound + height - 1 & ~(height - 1)
    return PixelRect(
      x: (rect.x & ~(width - 1))..<min(right, frame.width), y: (rect.y & ~(height - 1))..<min(bottom, frame.height))
  }

  /// The chroma samples of a rectangle that starts on a cell.
  func chroma(_ rect: PixelRect) -> PixelRect {
    PixelRect(
      x: rect.x >> horizontalShift, y: rect.y >> verticalShift,
      size: PixelSize(
        width: (rect.size.width + width - 1) >> horizontalShift,
        height: (rect.size.height + height - 1) >> verticalShift))
  }
}
