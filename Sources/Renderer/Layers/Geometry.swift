import CompositionModel
import RenderTasks

extension PixelRect {
  var isEmpty: Bool { size.width <= 0 || size.height <= 0 }

  /// The pixels in both; nil if there are none.
  func intersection(_ other: PixelRect) -> PixelRect? {
    guard !isEmpty, !other.isEmpty else { return nil }
    let shared = PixelRect(x: columns.clamped(to: other.columns), y: rows.clamped(to: other.rows))
    return shared.isEmpty ? nil : shared
  }

  /// The part of this rectangle outside another: at most four rectangles that do not overlap, above, left, right and
  /// below.
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
