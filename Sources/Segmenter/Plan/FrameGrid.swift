import CompositionModel

/// The output's frames on composition time: frame n is at exactly n·frameDuration (DESIGN 5).
struct FrameGrid {
  let frameDuration: MediaTime
  let frameCount: Int

  /// The first frame at or after a time, within 0…frameCount.
  func firstFrame(atOrAfter time: Rational) throws(TimeError) -> Int {
    let frame = try (time / frameDuration.exact).ceiling
    return Int(min(max(frame, 0), Int128(frameCount)))
  }

  func firstFrame(atOrAfter time: MediaTime) throws(TimeError) -> Int {
    try firstFrame(atOrAfter: time.exact)
  }

  /// The frames whose times are in a range.
  func frames(in range: MediaTimeRange) throws(TimeError) -> Range<Int> {
    try firstFrame(atOrAfter: range.start)..<firstFrame(atOrAfter: range.end)
  }

  func time(of frame: Int) throws(TimeError) -> MediaTime {
    try frameDuration * Rational(frame)
  }
}
