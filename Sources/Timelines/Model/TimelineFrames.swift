import CompositionModel

/// Times as numbers of frames, which the formats have that count them.
struct TimelineFrames: Sendable {
  /// Frames a second.
  let rate: Rational

  /// The nearest number, and whether it is exactly this time.
  func nearest(_ time: Rational) throws(TimeError) -> (count: Int, isExact: Bool) {
    let count = try time * rate
    // So sums of several do not overflow.
    guard let nearest = Int(exactly: count.rounded), nearest.magnitude < 1 << 53 else { throw .overflow }
    return (nearest, count.denominator == 1)
  }

  func seconds(_ count: Int) throws(TimeError) -> Rational { try Rational(count) / rate }
}
