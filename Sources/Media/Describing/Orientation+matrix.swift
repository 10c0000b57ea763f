internal import CompositionModel

extension Orientation {
  /// The nearest of the eight to a display matrix in the form of ISO 14496-12: a point (x, y), y downward, is shown at
  /// (m0·x + m3·y, m1·x + m4·y).
  init(displayMatrix matrix: [Int32]) {
    let (a, b, c, d) = (Int64(matrix[0]), Int64(matrix[1]), Int64(matrix[3]), Int64(matrix[4]))
    if abs(b) + abs(c) > abs(a) + abs(d) {
      let isMirrored = (b > 0) == (c > 0)
      // Without a mirror, x goes down when turned 90° clockwise; with it, when turned 270°.
      self.init(clockwise: (b > 0) != isMirrored ? 90 : 270, isMirrored: isMirrored)
    } else {
      let isMirrored = (a < 0) != (d < 0)
      self.init(clockwise: d < 0 ? 180 : 0, isMirrored: isMirrored)
    }
  }
}
